"""Checking a function of the SciPy mirror: SciPy's value, derivatives of first and second order, both modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import srcdiff as sd

Array = np.ndarray[Any, Any]


def slope(f: Callable[[float], Any], h: float) -> Any:
    """The derivative at 0 of f, by differences of fourth order."""
    return (8.0 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12.0 * h)


def check_function(
    mirrored: Callable[..., Any], original: Callable[..., Any], *xs: Any, rtol: float = 1e-7, h: float = 1e-4
) -> None:
    """`mirrored` has SciPy's values on plain arrays and under differentiation; its first derivative agrees with
    differences of `original`, its second with differences of the first; forward mode agrees with reverse mode.
    """
    xs = tuple(np.asarray(x, float) for x in xs)
    want = np.asarray(original(*xs))
    np.testing.assert_array_equal(np.asarray(mirrored(*xs)), want)  # delegated
    traced = mirrored(*map(sd.tensor, xs))
    assert isinstance(traced, sd.Tensor)
    assert traced.shape == want.shape
    assert traced.dtype == want.dtype
    np.testing.assert_allclose(traced.numpy(), want, rtol=1e-11, atol=1e-15)

    rng = np.random.default_rng(0)
    weights = rng.uniform(0.5, 1.5, want.shape)
    directions = tuple(rng.uniform(-1.0, 1.0, x.shape) for x in xs)
    argnums = tuple(range(len(xs)))

    def moved(step: float) -> tuple[Any, ...]:
        return tuple(x + step * v for x, v in zip(xs, directions, strict=True))

    def total(*xs: Any) -> Any:
        return np.sum(weights * mirrored(*xs))

    def along(gradients: Any) -> float:
        return float(sum(np.sum(g * v) for g, v in zip(gradients, directions, strict=True)))

    gradient = sd.grad(total, argnums=argnums)
    first = along(gradient(*xs))
    wanted = slope(lambda t: float(np.sum(weights * original(*moved(t)))), h)
    np.testing.assert_allclose(first, wanted, rtol=rtol, atol=1e-9)
    again = along(gradient(*xs)), along(gradient(*xs))  # walked, then compiled
    np.testing.assert_allclose(again, first, rtol=1e-12)
    forward = sd.jvp(total, xs, directions)[1]
    np.testing.assert_allclose(forward, first, rtol=1e-10, atol=1e-12)

    second = along(sd.grad(lambda *xs: sum(np.sum(g * v) for g, v in zip(gradient(*xs), directions, strict=True)),
                           argnums=argnums)(*xs))  # fmt: skip
    np.testing.assert_allclose(second, slope(lambda t: along(gradient(*moved(t))), h), rtol=rtol, atol=1e-8)
