"""Loops of users' programs that come back as loops, though their first or last iteration is not like the others."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcdiff as sd

STEPS, STATES, INPUTS = 20, 4, 5


def logsumexp(a: Any, axis: int) -> Any:
    shifted = np.exp(a - np.max(a, axis=axis, keepdims=True))
    return np.log(np.sum(shifted, axis=axis)) + np.max(a, axis=axis)


def begun_with_the_first(change: Any, emit: Any, start: Any, x: Any) -> Any:
    """The forward algorithm of a hidden Markov model: the first observation comes before the loop."""
    state = start + emit @ x[0]
    for t in range(1, len(x)):
        state = logsumexp(state[:, None] + change, 0) + emit @ x[t]
    return logsumexp(state, 0)


def all_alike(change: Any, emit: Any, start: Any, x: Any) -> Any:
    state = start
    for t in range(len(x)):
        state = logsumexp(state[:, np.newaxis] + change, 0) + emit @ x[t]
    return np.sum(state)


def columns(change: Any, emit: Any, start: Any, x: Any) -> Any:
    state = start
    for row in x:
        state = np.tanh(np.sum(change * state[..., None], axis=0) + emit @ row)
    return np.sum(state * state)


def backwards(change: Any, emit: Any, start: Any, x: Any) -> Any:
    state = start + emit @ x[-1]
    for t in range(len(x) - 2, -1, -1):
        state = np.sin(change @ state + emit @ x[t])
    return np.sum(state * state)


def written_into_zeros(change: Any, emit: Any, start: Any, x: Any) -> Any:
    state = start
    for t in range(len(x)):
        full = np.zeros((STATES, 2))
        full[:, 0] = change @ state
        full[:, 1] = emit @ x[t]
        state = np.tanh(full.sum(axis=1))
    return np.sum(state)


def last_one_apart(change: Any, emit: Any, start: Any, x: Any) -> Any:
    state = start
    for t in range(len(x) - 1):
        state = np.tanh(change @ state + emit @ x[t])
    return np.sum(change @ state + emit @ x[-1])


def normalised(change: Any, emit: Any, start: Any, x: Any) -> Any:
    """The same model in probabilities, each step divided by its sum, whose logarithms are added up."""
    state, total = np.exp(start), 0.0
    for t in range(len(x)):
        state = (state @ np.exp(change)) * np.exp(emit @ x[t])
        total = total + np.log(np.sum(state))
        state = state / np.sum(state)
    return total


def outputs(change: Any, emit: Any, start: Any, x: Any) -> Any:
    state, found = start, []
    for t in range(len(x)):
        state = np.tanh(change @ state + emit @ x[t])
        found.append(state)
    return np.mean(np.stack(found) ** 2)


def trajectory(change: Any, emit: Any, start: Any, x: Any) -> Any:
    states = [start]
    for row in x:
        states.append(np.tanh(change @ states[-1] + emit @ row))
    path = np.array(states)
    return np.sum((path[1:] - path[:-1]) ** 2)


def turned_round(change: Any, emit: Any, start: Any, x: Any) -> Any:
    state, found = start, []
    for t in range(len(x)):
        state = np.tanh(change @ state + emit @ x[t])
        found.append(state)
    return np.sum(np.stack(found[::-1])[1:] ** 3)


def weights_of_each_step(change: Any, emit: Any, start: Any, x: Any) -> Any:
    """As in a deep network whose layers' parameters are one array, or the controls of a trajectory."""
    state = start
    for t in range(len(x)):
        state = np.sin(change @ state) * x[t, 1:] + np.sum(emit) * x[t, 0]
    return np.sum(state**2)


def two_columns(change: Any, emit: Any, start: Any, x: Any) -> Any:
    state = start
    for t in range(len(x)):
        state = np.sin(change @ state * x[t, 0]) + np.sum(emit) * x[t, 1] + x[t, 1:]
    return np.sum(state**2)


def element_by_element(change: Any, emit: Any, start: Any, x: Any) -> Any:
    """Recurrent units that see nothing of each other: their gradients are sums of products of arrays of one shape."""
    inputs = x @ emit.T
    state, found = change[0], []
    for t in range(len(x)):
        state = np.tanh(start * state + change[1] * inputs[t])
        found.append(state)
    return np.sum(np.stack(found) ** 2)


PROGRAMS = [
    begun_with_the_first, all_alike, columns, backwards, written_into_zeros, last_one_apart, normalised, outputs,
    trajectory, turned_round, weights_of_each_step, two_columns,
    element_by_element,
]  # fmt: skip


def arguments(dtype: Any) -> list[Any]:
    rng = np.random.default_rng(3)
    shapes = [(STATES, STATES), (STATES, INPUTS), (STATES,), (STEPS, INPUTS)]
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("function", PROGRAMS)
def test_gradients_are_those_of_tracing(function: Callable[..., Any], exact: bool, dtype: Any) -> None:
    with sd.config(exact=exact):
        fast = sd.value_and_grad(function, argnums=(0, 1, 2, 3))
        args = arguments(dtype)
        for _ in range(6):
            value, gradients = fast(*args)
        with sd.config(replay="never"):
            expected, slopes = sd.value_and_grad(function, argnums=(0, 1, 2, 3))(*args)
        assert fast.cache_info().replayed == 3, fast.explain(*args)
        close = {"rtol": 0 if exact else (1e-4 if dtype is np.float32 else 1e-12), "atol": 0 if exact else 1e-6}
        np.testing.assert_allclose(value, expected, **close)
        for mine, other in zip(gradients, slopes, strict=True):
            assert mine.dtype == other.dtype
            np.testing.assert_allclose(mine, other, **close)


@pytest.mark.parametrize("function", PROGRAMS)
def test_a_long_loop_is_no_more_code_than_a_short_one(function: Callable[..., Any]) -> None:
    *params, x = arguments(np.float64)
    counts = []
    for steps in (STEPS, 2 * STEPS, 5 * STEPS):
        fast = sd.value_and_grad(function, argnums=(0, 1, 2, 3))
        longer = np.resize(x, (steps, INPUTS))
        for _ in range(4):
            _, gradients = fast(*params, longer)
        with sd.config(replay="never"):
            expected = sd.grad(function, argnums=(0, 1, 2, 3))(*params, longer)
        for mine, other in zip(gradients, expected, strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-9)
        told = fast.explain(*params, longer)
        assert "written out" not in told
        counts += map(int, re.findall(r"one generated function of (\d+) operations", told))
    assert len(counts) == 3
    assert max(counts) <= min(counts) + 1 < 80


@pytest.mark.parametrize("function", PROGRAMS)
def test_second_derivatives_of_loops(function: Callable[..., Any]) -> None:
    change, *others = arguments(np.float64)
    change *= 0.4  # large ones are chaotic

    def slope(change: Any) -> Any:
        return np.sum(np.sin(sd.grad(function)(change, *others)))

    found = sd.grad(slope)(change)
    step = 1e-6
    for place in ((0, 1), (2, 3)):
        moved = [change.copy(), change.copy()]
        moved[0][place] += step
        moved[1][place] -= step
        numerical = (slope(moved[0]) - slope(moved[1])) / (2 * step)
        np.testing.assert_allclose(found[place], numerical, rtol=1e-5, atol=1e-6)


def test_products_of_each_iteration_are_added_up_after_the_loop() -> None:
    fast = sd.value_and_grad(element_by_element, argnums=(0, 1, 2, 3))
    for _ in range(3):
        fast(*arguments(np.float64))
    text = fast._player.entries[0].source
    assert text.count('np.einsum("ab,ab->b"') == 2
    assert text.count("for t in ") == 2, text  # none that only goes through the elements of an array
