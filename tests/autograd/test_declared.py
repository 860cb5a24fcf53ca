"""Functions whose derivative their author gives."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff.errors import DTypeError

X, T = np.array([0.3, 1.2, -0.7]), np.array([1.0, -0.5, 2.0])


def differences(f: Any, x: Any) -> Any:
    g, h = np.zeros_like(x), 1e-4
    for i in range(x.size):
        e = np.zeros_like(x)
        e[i] = h
        g[i] = (8 * (f(x + e) - f(x - e)) - (f(x + 2 * e) - f(x - 2 * e))) / (12 * h)
    return g


@sd.primitive
def logsumexp(x: Any) -> Any:
    """By a loop over plain floats."""
    assert type(x) is np.ndarray
    return math.log(sum(math.exp(v) for v in x))


sd.defvjp(logsumexp, lambda ans, x: lambda g: g * np.exp(x - ans))


@sd.primitive
def scaled(x: Any, y: Any, *, power: int = 1) -> Any:
    return np.asarray([v * w**power for v, w in zip(x, y, strict=True)])


sd.defvjp(
    scaled,
    lambda ans, x, y, power=1: lambda g: g * y**power,
    lambda ans, x, y, power=1: lambda g: g * power * x * y ** (power - 1),
)


@sd.primitive
def split(x: Any) -> Any:
    return np.sin(x), x[0] * x[1]


sd.defvjp(split, lambda ans, x: lambda g: g[0] * np.cos(x) + g[1] * np.stack([x[1], x[0], 0 * x[0]]))


@sd.primitive
def forward_only(x: Any) -> Any:
    return np.array([v**3 for v in x])


sd.defjvp(forward_only, lambda t, ans, x: 3 * x**2 * t)


@sd.primitive
def doubled(x: Any, y: Any) -> Any:
    return np.array([2.0 * v for v in x]) + 0 * y


sd.defjvp(doubled, "same", None)
sd.defvjp(doubled, lambda ans, x, y: lambda g: 2 * g, None)

FUNCTIONS: list[Any] = [
    lambda x: logsumexp(x * 2.0) * x[0],
    lambda x: np.sum(scaled(x, np.exp(x), power=3) ** 2) + np.sum(scaled(x, T)),
    lambda x: np.sum(split(x * x)[0] * x) * split(x)[1],
    lambda x: np.sum(forward_only(np.sin(x)) * x),
    lambda x: np.sum(doubled(x**2, x[0]) * x),
]
every = pytest.mark.parametrize("f", FUNCTIONS)


@every
def test_gradients(f: Any) -> None:
    for _ in range(3):
        np.testing.assert_allclose(sd.grad(f)(X), differences(f, X), rtol=1e-8, atol=1e-9)
    leaf = sd.tensor(X, requires_grad=True)
    f(leaf).backward()
    np.testing.assert_allclose(leaf.grad.numpy(), differences(f, X), rtol=1e-8, atol=1e-9)


@every
def test_forward_mode_and_compiled_functions(f: Any) -> None:
    want = sd.grad(f)(X)
    for _ in range(3):
        np.testing.assert_allclose(sd.jvp(f, (X,), (T,))[1], want @ T, rtol=1e-12)
    leaf = sd.tensor(X, requires_grad=True)
    compiled = sd.compile(f)
    for _ in range(3):
        leaf.grad = None
        compiled(leaf).backward()
        np.testing.assert_allclose(leaf.grad.numpy(), want, rtol=1e-12)


@every
def test_second_derivatives(f: Any) -> None:
    gradient = sd.grad(f)
    want = differences(lambda x: gradient(x) @ T, X)
    np.testing.assert_allclose(sd.grad(lambda x: np.sum(gradient(x) * T))(X), want, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(sd.hessian(f)(X) @ T, want, rtol=1e-7, atol=1e-8)


def test_forward_mode_uses_the_forward_rule() -> None:
    @sd.primitive
    def cube(x: Any) -> Any:
        return np.array([v**3 for v in x])

    def jvp(t: Any, ans: Any, x: Any) -> Any:
        kinds.append((type(t), type(x)))
        return np.array([3 * a * a * b for a, b in zip(x, t, strict=True)])

    kinds: list[Any] = []
    sd.defvjp(cube, lambda ans, x: lambda g: np.array([3 * a * a * b for a, b in zip(x, g, strict=True)]))
    sd.defjvp(cube, jvp)
    _, tangent = sd.jvp(lambda x: np.sum(cube(np.exp(x))), (X,), (T,))
    np.testing.assert_allclose(tangent, np.sum(3 * np.exp(3 * X) * T))
    assert kinds == [(np.ndarray, np.ndarray)]
    np.testing.assert_allclose(sd.grad(lambda x: np.sum(cube(x)))(X), 3 * X**2)


def test_called_with_arrays_it_is_the_function() -> None:
    assert logsumexp(X) == logsumexp.function(X) and type(logsumexp(X)) is float
    assert logsumexp.__name__ == "logsumexp" and "By a loop" in logsumexp.__doc__
    assert sd.primitive(logsumexp) is logsumexp
    assert sd.grad(lambda x: np.sum(x) * logsumexp(X))(X).tolist() == [logsumexp(X)] * 3


def test_methods_are_primitives_of_their_object() -> None:
    class Scale:
        factor = 3.0

        @sd.primitive
        def __call__(self, x: Any) -> Any:
            return self.factor * np.asarray(x)

    sd.defvjp(Scale.__call__, lambda ans, self, x: lambda g: self.factor * g, argnums=[1])
    assert sd.grad(lambda x: np.sum(Scale()(x)))(X).tolist() == [3.0] * 3


def test_what_has_no_rule_is_refused() -> None:
    @sd.primitive
    def f(x: Any, y: Any = 1.0) -> Any:
        return np.asarray(x) * y

    sd.defvjp(f, lambda ans, x, y=1.0: lambda g: g * y)
    assert sd.grad(lambda x: np.sum(f(x, 2.0)))(X).tolist() == [2.0] * 3
    for call, text in (
        (
            lambda x: f(X, x),
            r"f has no derivative with respect to argument 1, at .*sd.defvjp\(f, ..., argnums=\(1,\)\)",
        ),
        (lambda x: f(x, y=x), "the argument y= needs a gradient"),
        (lambda x: f([x[0], 1.0]), "argument 0 needs a gradient"),
    ):
        with pytest.raises((sd.errors.NotDifferentiableError, sd.errors.UnsupportedError), match=text):
            sd.grad(lambda x, call=call: np.sum(call(x)))(X)
    sd.defvjp(f, None, argnums=[1])
    assert sd.grad(lambda x: np.sum(f(X, x)))(X).tolist() == [0.0] * 3


def test_wrong_rules_are_errors() -> None:
    @sd.primitive
    def f(x: Any) -> Any:
        return {"a": x}

    sd.defvjp(f, lambda ans, x: lambda g: g)
    with pytest.raises(sd.errors.DTypeError, match="f has to return an array"):
        sd.grad(lambda x: f(x))(X)
    with pytest.raises(sd.errors.DTypeError, match="a rule is a function or None"):
        sd.defvjp(f, 3)
    with pytest.raises(ValueError, match="2 rules were given for 1 arguments"):
        sd.defvjp(f, None, None, argnums=[0])
    with pytest.raises(sd.errors.DTypeError, match="takes what sd"):
        sd.defvjp(math.sin, None)
    with pytest.raises(ValueError, match="has a derivative already"):
        sd.defvjp(np.sin, None)

    @sd.primitive
    def wrong(x: Any) -> Any:
        return 2 * x

    sd.defvjp(wrong, lambda ans, x: lambda g: np.ones(2))
    with pytest.raises(RuntimeError, match="invalid gradient"):
        sd.grad(lambda x: np.sum(wrong(x)))(X)


def test_a_linear_rule_does_not_serve_reverse_mode() -> None:
    @sd.primitive
    def negated(x: Any) -> Any:
        return np.array([-v for v in x])

    sd.defjvp(negated, "same")
    assert sd.jvp(lambda x: np.sum(negated(x)), (X,), (T,))[1] == -np.sum(T)
    with pytest.raises(sd.errors.NotDifferentiableError, match=r"negated has the rule .same. for argument 0"):
        sd.grad(lambda x: np.sum(negated(x)))(X)


def test_numpys_functions_without_a_derivative_can_be_given_one() -> None:
    with pytest.raises(sd.errors.UnsupportedError, match=r"np.packbits is not supported .*sd.defvjp"):
        sd.grad(lambda x: np.sum(np.packbits(x)))(X)
    square = np.frompyfunc(lambda v: v * v, 1, 1)

    def f(x: Any) -> Any:
        return np.sum(square(x, dtype=object).astype(float) * x)

    with pytest.raises(sd.errors.UnsupportedError, match=r"sd.defvjp"):
        sd.grad(f)(X)
    sd.defvjp(np.unpackbits, None)
    bits = np.array([3, 1], np.uint8)
    assert sd.grad(lambda x: np.sum(np.unpackbits(bits) * x[0]))(X).tolist() == [3.0, 0.0, 0.0]


def test_rules_that_give_no_function_are_refused_by_name() -> None:
    def square(x: Any) -> Any:
        return x**2

    made = sd.primitive(square)
    sd.defvjp(made, lambda ans, x: 2 * x)
    with pytest.raises(DTypeError, match=r"square for argument 0 has to return a function .* not a ndarray"):
        sd.grad(lambda x: np.sum(made(x)))(np.ones(2))
