"""Selections whose size depends on values: replayed while as many elements are selected as in the recorded call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import srcdiff as sd


@pytest.fixture(autouse=True)
def automatic() -> Iterator[None]:
    with sd.config(replay="auto", exact=True):
        yield


TABLE = np.array([3.0, 2.0, -0.5])


def written(x: Any) -> Any:
    y = x * 2.0
    y[y < 0] = 0.5
    y[x > 1] *= 3.0
    z = np.zeros_like(x)
    z[x > 0.5] = x[x > 0.5] ** 2
    return np.sum(y * y) + np.sum(z)


def copied(x: Any) -> Any:
    y = x * 1.0
    np.copyto(y, x * x, where=x > 0)
    return np.sum(y)


def looped(x: Any) -> Any:
    total = 0.0
    for k in range(4):
        total = total + np.sum(x[x > 0.25 * k] ** 2)
    return total


def with_positions(x: Any) -> Any:
    (places,) = np.nonzero(x > 0)
    return np.sum(x[places] * np.arange(len(places))) * len(places)


def of_a_matrix(x: Any) -> Any:
    a = np.outer(x, x)
    a[a < 0] = 1.0
    rows, columns = np.where(a > 0.5)
    return np.sum(a[a > 0.5]) + np.sum(a[rows, columns] ** 2) + np.sum(a[x > 0, 1:3]) + np.sum(a[1, x > 0])


def close(x: Any) -> Any:
    return np.sum(x * x) if np.allclose(x, x.mean(), atol=0.75) else np.sum(x)


FUNCTIONS: list[Callable[[Any], Any]] = [
    lambda x: np.sum(x[x > 0] ** 2),
    lambda x: np.mean(x[~np.isnan(x) & (x > 0)]),
    lambda x: np.sum(x) * len(x[x > 0]),
    lambda x: np.sum(x[np.where(x > 0)] ** 2) + np.sum(x[np.flatnonzero(x > 0.5)]),
    lambda x: np.sum(np.compress(x > 0, x) ** 2) + np.sum(np.extract(x > 0, x * x)),
    lambda x: np.sum(x[np.argwhere(x > 0)[:, 0]] ** 3),
    lambda x: np.sum(np.take(x, np.argsort(x)[-2:]) ** 2) + x[1, None][0] * np.sum(x.ravel()),
    lambda x: np.sum(np.take_along_axis(x, np.argsort(-x), 0) * np.arange(6)),
    lambda x: np.sum(np.linspace(-1, 3, 9)[np.searchsorted(np.linspace(-1, 3, 9), x)] * x),
    lambda x: np.sum(np.arange(9.0)[np.digitize(x, np.linspace(-1, 3, 9)) - 1] * x),
    lambda x: np.sum(np.interp(x, np.array([-1.0, 0.0, 1.0]), np.array([1.0, 3.0, 2.0])) * x),
    lambda x: np.sum(np.interp(x, [-1.0, 0.0, 1.0], TABLE) * x) + np.interp(x[0], TABLE[::-1], x[:3]),
    written, copied, looped, with_positions, of_a_matrix, close,
]  # fmt: skip
X = np.array([0.3, 1.2, -0.7, 0.9, 2.1, 0.6])
#: two patterns of the same counts, and others of all counts
PATTERNS = [
    X, X * 1.01, X[::-1], X * 0.99, X[[2, 0, 1, 5, 3, 4]], X * 1.01, X,
    -X, np.abs(X), -np.abs(X), X * 0.1, np.zeros(6), X, -X, X * 1.01, np.full(6, 2.0), X,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", FUNCTIONS)
def test_replayed_where_as_many_are_selected(function: Callable[[Any], Any]) -> None:
    fast, traced = sd.value_and_grad(function), sd.value_and_grad(function)
    for k, x in enumerate([*PATTERNS, *PATTERNS]):
        with sd.config(replay="never"):
            expected = traced(x)
        for got, want in zip(fast(x), expected, strict=True):
            np.testing.assert_array_equal(got, want)
        if k == 6:
            assert fast.cache_info().replayed >= 3


def test_a_selection_of_another_size_each_time_is_traced_after_a_while() -> None:
    fast = sd.grad(lambda x: np.sum(x[x > 0] ** 2))
    for k in range(80):
        x = np.linspace(-1.0, 1.0, 100) + k / 50
        np.testing.assert_array_equal(fast(x), np.where(x > 0, 2 * x, 0))
    info = fast.cache_info()
    assert info.replayed == 0
    assert info.misses <= 6
    assert "traced" in fast.explain(x)


def test_the_generated_code_says_how_many() -> None:
    fast = sd.grad(lambda x: np.sum(x[x > 0] ** 2))
    for _ in range(4):
        fast(X)
    assert "rt.places(x > 0, 5)" in fast._player.entries[0].source


def test_random_selections() -> None:
    rng = np.random.default_rng(5)

    def f(x: Any, m: Any, k: Any) -> Any:
        y = x * x
        y[m & (k > 0)] = x[m & (k > 0)] * 3
        picked = y[k]
        picked[picked > 1] = 1.0
        return np.sum(picked[::2]) + np.sum(y[m])

    fast, traced = sd.value_and_grad(f), sd.value_and_grad(f)
    for n in range(60):
        m = rng.permutation(np.arange(8) < (3 if n < 30 else rng.integers(0, 8)))
        arguments = rng.normal(size=8), m, rng.integers(0, 8, 8)
        with sd.config(replay="never"):
            expected = traced(*arguments)
        for got, want in zip(fast(*arguments), expected, strict=True):
            np.testing.assert_array_equal(got, want)
