"""Jacobians and Hessians: every entry, every structure, every kind of argument."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import srcdiff as sd

X = np.array([0.5, -1.0, 2.0])


def differences(f: Any, x: Any, step: float = 1e-6) -> Any:
    columns = []
    for k in range(x.size):
        e = np.zeros(x.size)
        e[k] = step
        e = e.reshape(x.shape)
        columns.append((f(x + e) - f(x - e)) / (2 * step))
    return np.stack(columns, axis=-1).reshape(*np.shape(columns[0]), *x.shape)


FUNCTIONS: list[Any] = [
    lambda x: np.sin(x),
    lambda x: x[::-1] * x,
    lambda x: np.outer(x, x),
    lambda x: np.sum(x**3),
    lambda x: np.cumsum(np.tanh(x))[1:],
    lambda x: np.stack([x, 2.0 * x, x * x]),
    lambda x: x[:0],
    lambda x: np.linalg.solve(np.outer(x, x) + 3.0 * np.eye(3), x),
]


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("jacobian", [sd.jacobian, sd.jacrev, sd.jacfwd])
def test_every_entry(f: Any, jacobian: Any) -> None:
    for _ in range(3):
        J = jacobian(f)(X)
        assert type(J) is np.ndarray and J.shape == (*np.shape(f(X)), 3)
        np.testing.assert_allclose(J, differences(f, X) if J.size else np.zeros((0, 3)), atol=1e-8)


@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (0,)])
def test_shapes_of_arguments(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).normal(size=shape)
    J = sd.jacobian(lambda x: np.sin(x) * 2.0)(x)
    assert J.shape == shape * 2
    np.testing.assert_allclose(J.reshape(x.size, x.size), np.diag(2 * np.cos(x).reshape(-1)))


def test_python_floats() -> None:
    assert sd.jacobian(lambda x: x**2)(3.0) == 6.0
    assert type(sd.jacobian(lambda x: x**2)(3.0)) is float
    np.testing.assert_allclose(sd.jacobian(lambda t: np.array([1.0, 2.0]) * t)(3.0), [1.0, 2.0])
    assert sd.hessian(lambda x: x**3)(2.0) == 12.0


@pytest.mark.parametrize("jacobian", [sd.jacobian, sd.jacrev, sd.jacfwd])
def test_several_arguments_and_results(jacobian: Any) -> None:
    f = jacobian(lambda a, b: {"ab": a * b, "a": a}, argnums=(0, 1))
    for _ in range(3):
        J = f(X, 2 * X)
        np.testing.assert_allclose(J["ab"][0], np.diag(2 * X))
        np.testing.assert_allclose(J["ab"][1], np.diag(X))
        np.testing.assert_allclose(J["a"][0], np.eye(3))
        np.testing.assert_allclose(J["a"][1], np.zeros((3, 3)))


def test_aux_and_names() -> None:
    J, aux = sd.jacobian(lambda x: (x * x, "aux"), has_aux=True)(X)
    np.testing.assert_allclose(J, np.diag(2 * X))
    assert aux == "aux"
    J = sd.jacobian(lambda x, scale: x * scale, argnames="scale")(X, scale=2.0)
    np.testing.assert_allclose(J, X)


@pytest.mark.parametrize("jacobian", [sd.jacobian, sd.jacrev, sd.jacfwd])
def test_constant_results(jacobian: Any) -> None:
    np.testing.assert_array_equal(jacobian(lambda x: np.ones(2))(X), np.zeros((2, 3)))
    np.testing.assert_array_equal(jacobian(lambda x: (x * 2, np.argmax(x)))(X)[1], np.zeros(3))


def test_columns_where_they_are_fewer() -> None:
    tall, wide = (lambda x: np.outer(x, x)), (lambda x: np.sum(x, keepdims=True) ** 2)
    for f, jacobian, passes in (
        (tall, sd.jacobian, 3),
        (wide, sd.jacobian, 1),
        (tall, sd.jacrev, 9),
        (wide, sd.jacfwd, 3),
    ):
        before = sd.cache_info()
        jacobian(f)(X)
        after = sd.cache_info()
        assert after.hits - before.hits + after.misses - before.misses == passes - 1
    for jacobian in (sd.jacobian, sd.jacfwd):
        inner = lambda x, jacobian=jacobian: np.sum(jacobian(tall)(x) ** 2)
        np.testing.assert_allclose(sd.grad(inner)(X), differences(inner, X), rtol=1e-5)
        np.testing.assert_allclose(jacobian(jacobian(tall))(X), sd.jacrev(sd.jacrev(tall))(X))


def test_columns_of_complex_functions_are_derivatives() -> None:
    z = np.array([1.0 + 2.0j, -0.5j])
    np.testing.assert_allclose(sd.jacfwd(lambda z: z**2)(z), np.diag(2 * z))
    np.testing.assert_allclose(sd.jacfwd(lambda x: np.exp(1j * x))(X), np.diag(1j * np.exp(1j * X)))


def test_tensors() -> None:
    J = sd.jacobian(np.sin)(sd.from_numpy(X))
    assert isinstance(J, sd.Tensor)
    np.testing.assert_allclose(J.numpy(), np.diag(np.cos(X)))


def rosenbrock(x: Any) -> Any:
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def test_hessians() -> None:
    for f in (rosenbrock, lambda x: np.sum(np.sin(x) * x[::-1]), lambda x: np.prod(x), lambda x: np.sum(x)):
        for _ in range(3):
            H = sd.hessian(f)(X)
            np.testing.assert_allclose(H, differences(sd.grad(f), X), atol=1e-5)
            np.testing.assert_allclose(H, H.T)


def test_hessians_of_structures() -> None:
    H = sd.hessian(lambda p: np.sum(p["a"] ** 2 * p["b"]))({"a": X, "b": 2 * X})
    np.testing.assert_allclose(H["a"]["a"], np.diag(4 * X))
    np.testing.assert_allclose(H["a"]["b"], np.diag(2 * X))
    np.testing.assert_allclose(H["b"]["b"], np.zeros((3, 3)))


def test_jacobians_of_gradients_and_gradients_of_jacobians() -> None:
    np.testing.assert_allclose(sd.jacobian(sd.grad(rosenbrock))(X), sd.hessian(rosenbrock)(X))
    trace = sd.grad(lambda x: np.trace(sd.jacobian(lambda y: y**3)(x)))
    for _ in range(3):
        np.testing.assert_allclose(trace(X), 6 * X)


def test_jvp_is_the_jacobian_times_a_vector() -> None:
    v = np.array([1.0, -2.0, 0.5])
    for f in FUNCTIONS[:6]:
        value, tangent = sd.jvp(f, (X,), (v,))
        np.testing.assert_allclose(value, f(X))
        np.testing.assert_allclose(tangent, sd.jacobian(f)(X) @ v, atol=1e-12)


def test_single_precision() -> None:
    assert sd.jacobian(np.sin)(X.astype(np.float32)).dtype == np.float32
    assert sd.hessian(rosenbrock)(X.astype(np.float32)).dtype == np.float32


def test_few_passes_are_compiled_however_many_rows_there_are() -> None:
    f = sd.jacobian(lambda x: np.tanh(np.outer(x, x)))
    x = np.linspace(0.0, 1.0, 20)
    f(x)
    f(x)
    assert f.cache_info().misses <= 1
