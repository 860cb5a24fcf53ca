"""What plain NumPy and Python code writes besides calls of NumPy's functions differentiates as well."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff.errors import GradientLostError, UnsupportedError
from tests.replay import spellings

pytestmark = pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")  # of NumPy 2.5

X = np.array([0.3, 0.72, 0.56])


def named(f: Any) -> str:
    return str(f.__name__)


def numerical(f: Any, x: Any) -> Any:
    """Central differences of fourth order; the error is of order 1e-11."""
    h, g = 1e-3, np.zeros_like(x)
    for i in range(x.size):
        e = np.zeros_like(x)
        e[i] = h
        g[i] = (8 * (f(x + e) - f(x - e)) - (f(x + 2 * e) - f(x - 2 * e))) / (12 * h)
    return g


every = pytest.mark.parametrize("f", spellings.FUNCTIONS, ids=named)


@every
def test_gradients_agree_with_differences(f: Any) -> None:
    gradient = sd.grad(f)
    want = numerical(f, X)
    for _ in range(3):
        np.testing.assert_allclose(gradient(X.copy()), want, rtol=1e-7, atol=1e-8)


@every
def test_values_are_those_of_numpy(f: Any) -> None:
    value, _ = sd.value_and_grad(f)(X.copy())
    np.testing.assert_allclose(value, f(X.copy()), rtol=1e-14)


@every
def test_forward_mode_agrees_with_reverse_mode(f: Any) -> None:
    direction = np.array([0.2, -0.7, 1.3])
    _, tangent = sd.jvp(f, (X.copy(),), (direction,))
    np.testing.assert_allclose(tangent, sd.grad(f)(X.copy()) @ direction, rtol=1e-12)


@every
def test_second_derivatives_agree_with_differences(f: Any) -> None:
    gradient = sd.grad(f)
    got = sd.grad(lambda x: np.sum(gradient(x) * np.array([1.0, 2.0, -1.0])))(X.copy())
    want = numerical(lambda x: np.sum(gradient(x) * np.array([1.0, 2.0, -1.0])), X)
    np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-8)


# ----------------------------------------------------------------------------------------------------------------- text


def test_texts_keep_what_the_builtins_do() -> None:
    assert spellings.seen_by_texts(1.0) == spellings.SEEN
    seen: list[Any] = []
    assert sd.grad(lambda x: seen.append(spellings.seen_by_texts(x)) or x)(1.0) == 1.0  # type: ignore[func-returns-value]
    assert seen == [spellings.SEEN]


def test_a_text_warns_as_it_does_without_a_trace() -> None:
    plain, traced = [], []
    spellings.warned_by_a_text(1.0, plain)
    sd.grad(spellings.warned_by_a_text)(1.0, traced)
    assert plain == traced and len(plain) == 1


def test_errors_in_a_text_name_it() -> None:
    with pytest.raises(GradientLostError, match=r"model.txt:3"):
        sd.grad(spellings.fails_in_a_text)(X)


# ------------------------------------------------------------------------------------------------------------- refusals


def test_what_cannot_be_differentiated_is_refused() -> None:
    def integers(x: Any) -> Any:
        return np.sum(np.vectorize(lambda a: 1 if a < 0.5 else a)(x))

    def buffered(x: Any) -> Any:
        return sum(v for v in np.nditer(x, flags=["external_loop"]))

    def bits(x: Any) -> Any:
        return np.sum(x.view(np.float32))

    def matrix(x: Any) -> Any:
        return np.sum(np.r_["r", x, x])

    def shared(x: Any) -> Any:
        z = x * 1j
        z.view(float)[0] = x[0]
        return np.sum(abs(z))

    for f, kind, text in (
        (integers, GradientLostError, r"otypes=\[float\]"),
        (buffered, UnsupportedError, "flag 'external_loop'"),
        (bits, GradientLostError, "have no derivative"),
        (matrix, UnsupportedError, "matrices"),
        (shared, ValueError, "read-only"),
    ):
        with pytest.raises(kind, match=text):
            sd.grad(f)(X)


def test_generators_refuse_parameters_and_draw_from_arrays() -> None:
    def drawn(x: Any, make: Any = np.random.default_rng) -> Any:
        rng = make(3)
        return np.sum(rng.permutation(x) * [1, 2, 3]) + np.sum(rng.choice(x, 2, replace=False) ** 2) * make(1).random()

    for make in (np.random.default_rng, np.random.RandomState):
        value, gradient = sd.value_and_grad(lambda x, make=make: drawn(x, make))(X)
        assert value == drawn(X, make)
        np.testing.assert_allclose(gradient, numerical(lambda x, make=make: drawn(x, make), X), rtol=1e-9)

    def normal(x: Any) -> Any:
        rng = np.random.default_rng(0)
        return np.sum(rng.normal(x, 1.0) * np.zeros(3))

    with pytest.raises(sd.errors.NotDifferentiableError, match=r"normal of a random generator .* loc \+ scale"):
        sd.grad(normal)(X)


def test_pythons_functions_raise_what_they_raise() -> None:
    for f, x, kind in (
        (lambda x: math.sqrt(x), -1.0, ValueError),
        (lambda x: math.exp(x), 1e4, OverflowError),
        (lambda x: math.log(x), 0.0, ValueError),
        (lambda x: float(np.array([x, x])), 1.0, TypeError),
    ):
        with pytest.raises(kind):
            f(x)
        with pytest.raises(kind):
            sd.grad(f)(x)


def test_resizing_keeps_numpys_rules() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        view = y[1:]
        with pytest.raises(ValueError, match="resize"):
            y.resize(5)
        with pytest.raises(ValueError, match="negative"):
            y.resize(-1)
        with pytest.raises(ValueError, match="reshape"):
            y.shape = (2, 2)
        return np.sum(view)

    assert sd.grad(f)(X).tolist() == [0.0, 1.0, 1.0]
