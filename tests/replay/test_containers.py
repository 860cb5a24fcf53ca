"""Lists and dicts of the caller's, in functions that fill arrays and containers of their own: they may be read, and
what changes them happens on every call, just as often as without replays.
"""
# ruff: noqa: PERF401 - lists are to be filled

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import srcdiff as sd

X = np.linspace(-1.0, 1.0, 15).reshape(5, 3)
W = np.array([[0.5, -0.25, 1.0], [1.5, 0.5, -0.5], [0.25, 1.0, 0.75]])
SIZES = [3, 4]
TABLE: dict[str, Any] = {"scale": 2.0, "parts": [1.0, 2.0], "matrix": W}
STATE: dict[str, Any] = {}


@pytest.fixture(autouse=True)
def automatic() -> Iterator[None]:
    STATE.clear()
    with sd.config(replay="auto", exact=True):
        yield


def filled(p: Any, x: Any, n: Any = 1.5) -> Any:
    h = np.zeros((5, 3))
    for t in range(1, 5):
        h[t] = np.tanh(h[t - 1] @ p["w"] * SIZES[0] + x[t] * TABLE["parts"][1])
    done = []
    for row in h:
        done.append(row * p["b"][0])
    return np.sum(np.stack(done)) + len(SIZES)


def with_numbers(p: Any, x: Any, n: Any = 1.5) -> Any:
    out = [0.0] * 3
    for k in range(3):
        out[k] = np.sum(p["w"][k]) * TABLE["scale"] * (k + p["n"])
    return sum(out) * np.sum(x)


@pytest.mark.parametrize("function", [filled, with_numbers])
def test_functions_that_fill_what_they_make_are_replayed(function: Callable[..., Any]) -> None:
    fast, traced = sd.value_and_grad(function), sd.value_and_grad(function)
    for k in range(12):
        given = {"w": W + k / 64, "b": [np.array([0.5]) + k], "n": 1.5 if k < 8 else 2.0 + k}
        with sd.config(replay="never"):
            expected = traced(given, X)
        got = fast(given, X)
        np.testing.assert_array_equal(got[0], expected[0])
        np.testing.assert_array_equal(got[1]["w"], expected[1]["w"])
    assert fast.cache_info().replayed >= 6


def stores_a_count(p: Any, x: Any, n: Any = 1.5) -> Any:
    STATE["count"] = x.shape[0]
    return np.sum(p["w"]) * STATE["count"]


def stores_a_number(p: Any, x: Any, n: Any = 1.5) -> Any:
    STATE["last"] = n
    return np.sum(p["w"]) * 2.0


def appends(p: Any, x: Any, n: Any = 1.5) -> Any:
    STATE.setdefault("log", []).append(len(x))
    return np.sum(p["w"])


def appends_to_what_it_was_given(p: Any, x: Any, n: Any = 1.5) -> Any:
    p["b"].append(np.zeros(1))
    return np.sum(p["w"]) * len(p["b"])


def sets_what_it_was_given(p: Any, x: Any, n: Any = 1.5) -> Any:
    p["n"] = 3
    return np.sum(p["w"]) * p["n"]


def takes_from_what_it_was_given(p: Any, x: Any, n: Any = 1.5) -> Any:
    b = p.pop("b")
    p["b"] = b
    return np.sum(p["w"]) * b[0][0]


def remembers(p: Any, x: Any, n: Any = 1.5) -> Any:
    if "known" not in STATE:
        STATE["known"] = float(len(x))
    return np.sum(p["w"]) * STATE["known"]


def counts_now_and_then(p: Any, x: Any, n: Any = 1.5) -> Any:
    if p["w"][0, 0] > 0.6:
        STATE["high"] = STATE.get("high", 0) + 1
    return np.sum(p["w"] ** 2)


def sorts(p: Any, x: Any, n: Any = 1.5) -> Any:
    STATE.setdefault("order", [3.0, 1.0, 2.0]).sort()
    return np.sum(p["w"]) * STATE["order"][0]


def shortens(p: Any, x: Any, n: Any = 1.5) -> Any:
    order = STATE.setdefault("order", [1.0] * 40)
    order.pop()
    return np.sum(p["w"]) * len(order)


CHANGING = [
    stores_a_count, stores_a_number, appends, appends_to_what_it_was_given, sets_what_it_was_given,
    takes_from_what_it_was_given, remembers, counts_now_and_then, sorts, shortens,
]  # fmt: skip


def told(function: Callable[..., Any], replay: str) -> list[Any]:
    """What can be seen of many calls between which the caller changes things."""
    STATE.clear()
    seen: list[Any] = []
    with sd.config(replay=replay):
        gradient = sd.value_and_grad(function)
        for k in range(24):
            given = {"w": W + (k % 4) / 8, "b": [np.ones(1)], "n": 1.5 if k < 6 else 2 if k < 12 else 2.0 + k}
            if k % 5 == 4:
                STATE["count"] = STATE["last"] = 7
            if k == 15:
                STATE.clear()
            if k == 18 and "order" in STATE:
                STATE["order"].append(0.5)
            try:
                result: Any = gradient(given, X[: 4 + (k > 12)], 1.5 if k < 8 else 2.0 + k)
            except Exception as error:
                result = str(error)
            seen.append(copy.deepcopy((result, given, list(STATE.items()))))
    return seen


@pytest.mark.parametrize("function", CHANGING)
def test_changes_of_the_callers_happen_on_every_call(function: Callable[..., Any]) -> None:
    np.testing.assert_equal(told(function, "auto"), told(function, "never"))
