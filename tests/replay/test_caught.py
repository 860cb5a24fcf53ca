"""Exceptions and context managers: replayed where what is raised follows from what is guarded, traced where it follows
from values, and never other than traced.
"""
# ruff: noqa: PLE0643 - what is bound to raise is what is tested

from __future__ import annotations

import contextlib
import math
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import srcdiff as sd

X = np.array([0.5, 1.25, -0.75])


@pytest.fixture(autouse=True)
def automatic() -> Iterator[None]:
    with sd.config(replay="auto", exact=True):
        yield


class Scaled:
    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __enter__(self) -> float:
        return self.factor

    def __exit__(self, *exception: object) -> bool:
        return False


class Forgiving(Scaled):
    def __exit__(self, *exception: object) -> bool:
        return True


@contextlib.contextmanager
def doubled(factor: float) -> Iterator[float]:
    try:
        yield 2.0 * factor
    finally:
        factor = 0.0


def a_key(x: Any) -> Any:
    try:
        return np.sum(x) * {"a": 1.0}["b"]
    except KeyError as error:
        return np.sum(x * x) * len(error.args)


def raised(x: Any) -> Any:
    try:
        raise ValueError("no")
    except (TypeError, ValueError):
        y = x * x
    else:
        y = x
    finally:
        scale = 3.0
    return np.sum(y) * scale


def deleted(x: Any) -> Any:
    table = {"a": x, "b": x * x}
    del table["a"]
    return sum(map(np.sum, table.values()))


def managed(x: Any) -> Any:
    with Scaled(2.0) as a, doubled(3.0) as b, contextlib.nullcontext(x * a) as y:
        return np.sum(y * y) * b


def suppressed(x: Any) -> Any:
    y = x
    with contextlib.suppress(KeyError, IndexError):
        y = x * [1.0][2]
    with Forgiving(1.0):
        y = y * {}["a"]
    return np.sum(y * y)


def silent(x: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        y = np.log(np.abs(x))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = y * x
    return np.sum(y)


def decided(x: Any) -> Any:
    try:
        if x[0] > 0.6:
            raise RuntimeError
        return np.sum(x * x)
    except RuntimeError:
        return np.sum(x)


def in_another(x: Any) -> Any:
    def inner(y: Any) -> Any:
        return y[7] if len(y) > 5 else [y][1]

    try:
        return np.sum(inner(x))
    except IndexError:
        return np.sum(x * x)


REPLAYED = [a_key, raised, deleted, managed, suppressed, silent, decided, in_another]


@pytest.mark.parametrize("function", REPLAYED)
def test_replayed(function: Callable[[Any], Any]) -> None:
    before, filters = sys.gettrace(), list(warnings.filters)
    fast, traced = sd.value_and_grad(function), sd.value_and_grad(function)
    for k in range(24):
        x = X * (1 + k / 64)
        with sd.config(replay="never"):
            expected = traced(x)
        for got, want in zip(fast(x), expected, strict=True):
            np.testing.assert_array_equal(got, want)
    assert fast.cache_info().replayed >= 15
    assert sys.gettrace() is before
    assert warnings.filters == filters


# ------------------------------------------------------------------------------------ of values: each in both orders


def a_factor(x: Any) -> Any:
    a = np.outer(x, x) + x[0] * np.eye(3)
    try:
        return np.sum(np.linalg.cholesky(a))
    except np.linalg.LinAlgError:
        return np.sum(a)


def a_logarithm(x: Any) -> Any:
    try:
        return x[0] * math.log(x[0])
    except ValueError:
        return np.sum(x)


def a_division(x: Any) -> Any:
    try:
        with np.errstate(all="raise"):
            return np.sum(np.sqrt(x[:1])) * 3
    except FloatingPointError:
        return np.sum(x)


def a_suppressed_error(x: Any) -> Any:
    y = np.sum(x)
    with contextlib.suppress(ValueError):
        y = y * math.sqrt(x[0])
    return y


def a_forgiven_error(x: Any) -> Any:
    y = np.sum(x)
    with Forgiving(1.0):
        y = y * math.sqrt(x[0])
    return y * 2


def a_hidden_error(x: Any) -> Any:
    class_ = Hiding(x)
    return class_.root * np.sum(x)


class Hiding:
    def __init__(self, x: Any) -> None:
        self.x = x

    @property
    def root(self) -> Any:
        try:
            return np.linalg.cholesky(np.outer(self.x, self.x) + self.x[0] * np.eye(3))[0, 0]
        except np.linalg.LinAlgError:
            return 1.0


def an_index(x: Any) -> Any:
    try:
        return x[np.argmin(np.abs(x)) + 2] * 2
    except IndexError:
        return np.sum(x * x)


def an_error_that_returns(x: Any) -> Any:
    y = 1.0
    for _ in range(2):
        try:
            y = y * math.sqrt(x[0])
        finally:
            continue  # noqa: B012
    return y * np.sum(x)


def a_gamma(x: Any) -> Any:
    try:
        return np.sum(x) * math.lgamma(np.floor(2 * x[0]))
    except ValueError:
        return np.sum(x * x)


OF_VALUES = [
    a_factor, a_logarithm, a_division, a_suppressed_error, a_forgiven_error, a_hidden_error, an_index,
    an_error_that_returns, a_gamma,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("errors", ["warn", "ignore"])
@pytest.mark.parametrize("first", [0.5, -0.5])
@pytest.mark.parametrize("function", OF_VALUES)
def test_exceptions_of_values(function: Callable[[Any], Any], first: float, errors: Any) -> None:
    fast, traced = sd.value_and_grad(function), sd.value_and_grad(function)
    for k in range(16):
        x = np.array([first if k < 6 or k > 12 else -first, 1.25, -0.75]) * (1 + k / 64)
        with np.errstate(all=errors):
            with sd.config(replay="never"):
                expected = traced(x)
            for got, want in zip(fast(x), expected, strict=True):
                np.testing.assert_array_equal(got, want)


def test_python_raises_where_numpy_is_silent() -> None:
    fast = sd.grad(lambda x: np.sum(x) * math.sqrt(x[0]) * math.gamma(x[1]))
    for _ in range(5):
        fast(X)
    assert fast.cache_info().replayed
    with np.errstate(all="ignore"):
        fast(X)
        with pytest.raises(ValueError, match="math domain error"):
            fast(-X)
        with pytest.raises(ValueError, match="math domain error"):
            fast(np.array([1.0, -2.0, 1.0]))


def test_the_reason() -> None:
    fast = sd.grad(a_logarithm)
    for _ in range(4):
        fast(-X)
    assert "it catches the ValueError of a computation" in fast.explain(-X)


def test_filters_that_stay_changed_are_an_effect() -> None:
    def f(x: Any) -> Any:
        warnings.simplefilter("ignore", ResourceWarning)
        return np.sum(x)

    fast = sd.grad(f)
    with warnings.catch_warnings():
        for _ in range(4):
            fast(X)
            warnings.simplefilter("default", ResourceWarning)
        assert fast.cache_info().replayed == 0
        assert "it changes the filters of warnings" in fast.explain(X)


def test_numpys_errors_told_in_another_way() -> None:
    def f(x: Any) -> Any:
        with np.errstate(divide="raise"):
            return np.sum(1 / x)

    fast = sd.grad(f)
    for _ in range(5):
        fast(X)
    with np.errstate(all="ignore"), pytest.raises(FloatingPointError):
        fast(np.zeros(3))


def test_a_step_that_catches() -> None:
    def made() -> tuple[Any, Callable[[float], float]]:
        w = sd.tensor([1.0, 2.0], requires_grad=True)

        def step(scale: float) -> float:
            try:
                rate = {"a": 0.5}["b"]
            except KeyError:
                rate = 0.25
            loss = (w * w).sum() * scale
            loss.backward()
            with sd.no_grad():
                w.sub_(w.grad * rate)
            w.grad = None
            return loss.item()

        return w, step

    (w, step), (v, plain) = made(), made()
    fast = sd.compile(step)
    for _ in range(8):
        assert fast(0.125) == plain(0.125)
    assert fast.cache_info().replayed >= 4
    np.testing.assert_array_equal(w.detach().numpy(), v.detach().numpy())
