"""Functions that srcdiff has made of others, called in one another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import srcdiff as sd

X = np.array([0.5, -1.0, 2.0])


@pytest.fixture(autouse=True)
def automatic() -> Iterator[None]:
    """Replays are on."""
    with sd.config(replay="auto"):
        yield


def loss(x: Any) -> Any:
    return np.sum(np.tanh(x) * x)


both = sd.value_and_grad(loss)
slope = sd.grad(loss)


def constant(x: Any) -> Any:
    return sd.grad(lambda y: 3.0)(x)


#: steps of one array: they give arrays, and are replayed
STEPS: list[Callable[[Any], Any]] = [
    lambda x: both(x),
    lambda x: slope(x),
    lambda x: x - 0.1 * slope(x),
    lambda x: (slope(x), {"value": both(x)[0] * 2.0}),
    lambda x: slope(x - 0.1 * slope(x)),
    lambda x: sd.grad(lambda y: np.sum(slope(y) ** 2))(x),
    lambda x: slope(x)[0] * x,
    constant,
]


@pytest.mark.parametrize("step", STEPS, ids=range(len(STEPS)))
def test_gradients_inside_of_steps_are_arrays_on_every_call(step: Callable[[Any], Any]) -> None:
    compiled = sd.compile(step)
    for k in range(8):
        found = compiled(X + k)
        with sd.config(replay="never"):
            expected = step(X + k)
        same(found, expected)
    assert compiled.cache_info().replayed == 5, compiled.explain(X)


def same(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    if isinstance(found, dict):
        found, expected = tuple(found.values()), tuple(expected.values())
    if isinstance(found, tuple):
        for one, other in zip(found, expected, strict=True):
            same(one, other)
        return
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_gradients_inside_with_respect_to_arrays_from_outside() -> None:
    compiled = sd.compile(lambda x: slope(X) * x)
    for k in range(6):
        found = compiled(X + k)
        assert type(found) is np.ndarray
        np.testing.assert_allclose(found, slope(X) * (X + k))


def test_gradients_inside_with_respect_to_tensors() -> None:
    w = sd.tensor(X, requires_grad=True)
    compiled = sd.compile(lambda x: (sd.grad(lambda y: (y * y * w).sum())(x), both(x)))
    for k in range(6):
        t = sd.tensor(X + k)
        inner, (value, gradient) = compiled(t)
        assert inner.requires_grad and not value.requires_grad and type(gradient) is sd.Tensor
        np.testing.assert_allclose(inner.detach().numpy(), 2 * (X + k) * X)
        np.testing.assert_allclose(gradient.numpy(), slope(X + k))
