"""Under `exact` a backward pass has the same bits whether it is walked, compiled or replayed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcdiff as sd

ROWS = np.array([0, 2, 2, 5, 2, 0])


def logistic(w: Any, x: Any) -> Any:
    return np.mean(1 / (1 + np.exp(-(x @ w))))


def logistic_of_what_is_used_again(w: Any, x: Any) -> Any:
    z = x @ w
    power = np.exp(z)
    below = power + 1
    p = 1 / below
    return np.sum(p * np.log(p) * z) + np.sum(np.sqrt(below)) + np.sum(power / 3)


def softmax(w: Any, x: Any) -> Any:
    score = x @ w / 3
    power = np.exp(score - np.max(score, axis=1, keepdims=True))
    return np.mean((power / np.sum(power, axis=1, keepdims=True)) ** 2)


def rows_that_meet(w: Any, x: Any) -> Any:
    """The rows meet among themselves and with what comes before them."""
    return np.sum(np.sin(x) * 0.1) + np.sum(x[ROWS] ** 2) * 0.7 + np.sum(np.cos(x[ROWS]) @ w) + np.sum(x[1] * x[2])


def factors(w: Any, x: Any) -> Any:
    """What simplification would take out of sums, and multiply first."""
    return 0.1 * np.sum((x @ w) * 0.3) - np.mean(x / 7.0 / 3.0) + 0.7 * np.sum(x) / 11 + np.mean((x * 3 - 1) ** 2)


def loop(w: Any, x: Any) -> Any:
    h = x
    for _ in range(6):
        h = np.tanh(h @ w[:, :1] + h * 0.9)
    return np.sum(h * h)


FUNCTIONS = [logistic, logistic_of_what_is_used_again, softmax, rows_that_meet, factors, loop]


def arrays(dtype: Any) -> tuple[Any, Any]:
    rng = np.random.default_rng(5)
    return rng.standard_normal((4, 3)).astype(dtype), rng.standard_normal((6, 4)).astype(dtype)


def gradients(function: Callable[..., Any], args: Any, calls: int, **options: Any) -> tuple[Any, Any]:
    """Those of the last of some calls, and what `cache_info` then says."""
    with sd.config(exact=True, **options):
        step = sd.grad(function, argnums=(0, 1))
        for _ in range(calls):
            found = step(*args)
    return found, step.cache_info()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_compiled_and_replayed_gradients_have_the_bits_of_walked_ones(function: Callable[..., Any], dtype: Any) -> None:
    args = arrays(dtype)
    walked, info = gradients(function, args, 1, replay="never", compile_after=10**9)
    assert (info.hits, info.entries) == (0, 0)
    often, _ = gradients(function, args, 10, replay="never", compile_after=10**9)
    compiled, info = gradients(function, args, 3, replay="never", compile_after=2)
    assert info.entries == 1 and info.hits >= 1
    replayed, info = gradients(function, args, 4, replay="auto")
    assert info.replayed == 1, info
    for found in (often, compiled, replayed):
        for a, b in zip(found, walked, strict=True):
            np.testing.assert_array_equal(a, b, strict=True)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_eager_tensors_get_the_bits_of_the_walk(function: Callable[..., Any]) -> None:
    found = []
    for compile_after in (10**9, 1):
        leaves = [sd.from_numpy(a).requires_grad_() for a in arrays(np.float64)]
        with sd.config(exact=True, compile_after=compile_after):
            function(*leaves).backward()
        found.append([leaf.grad.numpy() for leaf in leaves])
    for walked, compiled in zip(*found, strict=True):
        np.testing.assert_array_equal(walked, compiled)


def test_a_pass_serves_only_calls_of_its_own_exactness() -> None:
    args = arrays(np.float64)
    step = sd.grad(factors, argnums=(0, 1))
    with sd.config(replay="never"):
        results = []
        for exact in (False, True, False, True, False, True):
            with sd.config(exact=exact):
                results.append(step(*args))
    assert step.cache_info().entries == 2
    assert any(not np.array_equal(a, b) for a, b in zip(results[4], results[5], strict=True))
    for a, b in zip(results[4], results[5], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)
    walked, _ = gradients(factors, args, 1, replay="never", compile_after=10**9)
    for a, b in zip(results[5], walked, strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_slope_of_a_logistic_function_is_zero_where_its_exponential_overflows() -> None:
    def f(z: Any) -> Any:
        return np.sum(1 / (1 + np.exp(-z)))

    z = np.array([-800.0, 0.5])
    for compile_after in (1, 10**9):
        with sd.config(exact=True, replay="never", compile_after=compile_after), np.errstate(over="ignore"):
            slope = sd.grad(f)(z)
        p = 1 / (1 + np.exp(-0.5))
        np.testing.assert_array_equal(slope, [0.0, -(p * (p - 1))])
