"""`autograd.functional`: products with Jacobians and Hessians known in closed form, structures, strictness."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff.autograd import functional

X, V = [1.0, 2.0], [1.0, -1.0]
JACOBIAN = np.array([[2.0, 1.0], [2.0, 0.0], [0.0, math.exp(2)]])
HESSIAN = np.array([[6.0, 1.0], [1.0, 12.0]])


def tensor(values: Any, requires_grad: bool = False) -> Any:
    return sd.tensor(values, dtype=sd.float64, requires_grad=requires_grad)


def vector(x: Any) -> Any:
    return sd.stack([x[0] * x[1], x[0] ** 2, x[1].exp()])


def scalar(x: Any) -> Any:
    return (x**3).sum() + x[0] * x[1]


def same(got: Any, expected: Any) -> None:
    np.testing.assert_allclose(got.detach().numpy(), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}])
def test_jacobian(options: dict[str, Any]) -> None:
    x, v = tensor(X), tensor(V)
    same(functional.jacobian(vector, x, **options), JACOBIAN)
    (by_x, by_v), (sum_by_x, sum_by_v) = functional.jacobian(lambda a, b: (a * b, b.sum()), (x, v), **options)
    same(by_x, np.diag(V))
    same(by_v, np.diag(X))
    same(sum_by_x, [0.0, 0.0])
    same(sum_by_v, [1.0, 1.0])
    matrix = tensor(np.random.default_rng(0).standard_normal((2, 3)))
    assert functional.jacobian(lambda m: m.t() @ m, matrix, **options).shape == (3, 3, 2, 3)
    assert functional.jacobian(lambda m: m * 2, tensor(np.zeros((0, 2))), **options).shape == (0, 2, 0, 2)
    same(functional.jacobian(lambda a: sd.ones(2), x, **options), np.zeros((2, 2)))
    assert not x.requires_grad


def test_hessian() -> None:
    x, v = tensor(X), tensor(V)
    for options in ({}, {"vectorize": True}, {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}):
        same(functional.hessian(scalar, x, **options), HESSIAN)
    blocks = functional.hessian(lambda a, b: (a * b).sum() * a[0], (x, v))
    assert [len(row) for row in blocks] == [2, 2]
    same(blocks[0][1], blocks[1][0].detach().numpy().T)
    same(functional.hessian(lambda a: a.sum(), x), np.zeros((2, 2)))
    same(functional.hessian(lambda a: scalar(a).reshape(1), x), HESSIAN)


def test_products() -> None:
    x, v = tensor(X), tensor(V)
    out, product = functional.vjp(vector, x, tensor([1.0, 2.0, 3.0]))
    same(out, [2.0, 1.0, math.exp(2)])
    same(product, np.array([1.0, 2.0, 3.0]) @ JACOBIAN)
    same(functional.jvp(vector, x, v)[1], JACOBIAN @ V)
    for function in (functional.hvp, functional.vhp):
        out, product = function(scalar, x, v)
        same(out, 11.0)
        same(product, HESSIAN @ V)
    outs, products = functional.jvp(lambda a, b: (a * b, a), (x, v), (v, x))
    assert isinstance(outs, tuple)
    same(products[0], np.array(V) ** 2 + np.array(X) ** 2)
    same(functional.vjp(scalar, x)[1], 3 * np.array(X) ** 2 + np.array(X)[::-1])
    same(functional.jvp(lambda t: t**2, tensor(3.0))[1], 6.0)


def test_create_graph_makes_results_differentiable() -> None:
    x = tensor(X, requires_grad=True)
    for function in (functional.jacobian, functional.hessian):
        assert not function(scalar, x).requires_grad
        assert function(scalar, x, create_graph=True).requires_grad
    made = functional.jvp(scalar, x, tensor(V), create_graph=True)[1]
    (g,) = sd.autograd.grad(made, x)
    same(g, HESSIAN @ V)
    made = functional.hvp(lambda t: (t**3).sum(), x, tensor(V), create_graph=True)[1]
    (g,) = sd.autograd.grad(made.sum(), x)
    same(g, 6 * np.array(V))
    assert x.grad is None


def test_results_do_not_depend_on_the_grad_mode() -> None:
    with sd.no_grad():
        same(functional.jacobian(vector, tensor(X)), JACOBIAN)
        same(functional.hvp(scalar, tensor(X), tensor(V))[1], HESSIAN @ V)


def test_strict() -> None:
    x, v = tensor(X), tensor(V)
    with pytest.raises(RuntimeError, match="Output 0 of the user-provided function is independent of input 1"):
        functional.jacobian(lambda a, b: a * 2, (x, v), strict=True)
    with pytest.raises(RuntimeError, match="Output 0 of the user-provided function does not require gradient"):
        functional.jacobian(lambda a: sd.ones(2), x, strict=True)
    with pytest.raises(RuntimeError, match="independent of input 0"):
        functional.hessian(lambda a: a.sum(), x, strict=True)
    with pytest.raises(RuntimeError, match="not supported together"):
        functional.jacobian(vector, x, strict=True, vectorize=True)


def test_misuse_is_refused() -> None:
    x = tensor(X)
    with pytest.raises(TypeError, match="inputs given to jacobian must be either a Tensor or a tuple of Tensors"):
        functional.jacobian(vector, [x])
    with pytest.raises(TypeError, match="outputs of the user-provided function given to jacobian"):
        functional.jacobian(lambda a: 3.0, x)
    with pytest.raises(RuntimeError, match="should contain a single element"):
        functional.hessian(vector, x)
    with pytest.raises(RuntimeError, match="should return a single Tensor"):
        functional.hvp(lambda a: (scalar(a), a), x, x)
    with pytest.raises(RuntimeError, match="v can only be None if the user-provided function returns"):
        functional.vjp(vector, x)
    with pytest.raises(RuntimeError, match="v can only be None if the input"):
        functional.jvp(vector, x)
    with pytest.raises(RuntimeError, match="v has invalid size"):
        functional.vjp(vector, x, x)
    with pytest.raises(RuntimeError, match="tuple of invalid length"):
        functional.vjp(lambda a: (a, a), x, (x,))
    with pytest.raises(AssertionError, match="strategy"):
        functional.jacobian(vector, x, strategy="sideways")
    with pytest.raises(NotImplementedError, match="forward-mode"):
        functional.jacobian(vector, x, strategy="forward-mode")
