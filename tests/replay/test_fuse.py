"""Fused programs: a replayed call gives what a traced one gives, to rounding, and bit for bit under `exact`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcdiff as sd


def cross_entropy(w: Any, x: Any, targets: Any) -> Any:
    logits = np.tanh(x @ w)
    shifted = logits - np.max(logits, axis=1, keepdims=True)
    level = np.log(np.sum(np.exp(shifted), axis=1, keepdims=True))
    return -np.mean(np.sum((shifted - level) * targets, axis=1))


def softmax(w: Any, x: Any, targets: Any) -> Any:
    scores = x @ w * 0.5
    weights = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    weights = weights / np.sum(weights, axis=-1, keepdims=True)
    return np.mean((weights - targets) ** 2)


def evidence(w: Any, x: Any, targets: Any) -> Any:
    score = x @ w - targets
    peak = np.max(score, axis=1, keepdims=True)
    return np.mean(np.log(np.sum(np.exp(score - peak), axis=1)) + peak[:, 0])


def squares(w: Any, x: Any, targets: Any) -> Any:
    return np.mean((x @ w - targets) ** 2) + 1e-3 * np.sum(w * w)


FUNCTIONS = [cross_entropy, softmax, evidence, squares]


def arrays(dtype: Any, rows: int = 6) -> tuple[Any, ...]:
    rng = np.random.default_rng(3)
    w, x = rng.standard_normal((5, 4)).astype(dtype), rng.standard_normal((rows, 5)).astype(dtype)
    return w, x, np.eye(4, dtype=dtype)[rng.integers(0, 4, rows)]


def replayed(function: Callable[..., Any], *args: Any) -> tuple[Any, Any]:
    """What the fourth call gives, which is the first that is replayed and not compared."""
    step = sd.value_and_grad(function, argnums=(0, 1))
    for _ in range(3):
        step(*args)
    result = step(*args)
    assert step.cache_info().replayed == 1, step._player.refused
    return result


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_replayed_call_gives_what_a_traced_one_gives(function: Callable[..., Any], dtype: Any) -> None:
    args = arrays(dtype)
    value, gradients = sd.value_and_grad(function, argnums=(0, 1))(*args)
    with sd.config(replay="auto"):
        other, others = replayed(function, *args)
    eps = float(np.finfo(dtype).eps)
    assert type(other) is type(value)
    np.testing.assert_allclose(other, value, rtol=16 * eps, atol=16 * eps)
    for a, b in zip(others, gradients, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=32 * eps, atol=32 * eps)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_an_exact_replay_gives_the_same_bits(function: Callable[..., Any]) -> None:
    args = arrays(np.float64)
    with sd.autograd.detect_anomaly():  # walked, operation by operation
        value, gradients = sd.value_and_grad(function, argnums=(0, 1))(*args)
    with sd.config(replay="auto", exact=True):
        other, others = replayed(function, *args)
    assert other == value
    for a, b in zip(others, gradients, strict=True):
        np.testing.assert_array_equal(a, b)
