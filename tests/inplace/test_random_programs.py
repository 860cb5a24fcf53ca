"""Random NumPy programs of views and writes: `sd.grad` gives their values, effects and finite-difference gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcdiff as sd

N = 4

VIEWS: list[Callable[[Any], Any]] = [
    lambda a: a[1:], lambda a: a[::2], lambda a: a[::-1], lambda a: a[..., 0], lambda a: a[None], lambda a: a.T,
    lambda a: a.reshape(-1), lambda a: np.swapaxes(a[None], 0, -1), lambda a: a[1], lambda a: np.squeeze(a),
    lambda a: a.ravel()[1:3], lambda a: np.flip(a),
]  # fmt: skip
MAPS: list[Callable[[Any], Any]] = [
    lambda a: np.sin(a), lambda a: a * 0.5, lambda a: a * a, lambda a: np.tanh(a), lambda a: a.copy(),
    lambda a: np.exp(-a * a), lambda a: np.outer(a, a) if np.ndim(a) == 1 else a * 1.0,
]  # fmt: skip


def _assign(a: Any, b: Any) -> None:
    a[...] = b


def _shift(a: Any, b: Any) -> None:
    a[1:] += a[:-1]


def _first(a: Any, b: Any) -> None:
    a[0] = np.sin(a[-1])


def _swap(a: Any, b: Any) -> None:
    a[[0, -1]] = a[[-1, 0]]


def _mask(a: Any, b: Any) -> None:
    a[np.abs(a) > 0.7] *= 0.3


def _repeat(a: Any, b: Any) -> None:
    a[np.array([0, 0])] = a[np.array([1, -1])]


def _add_at(a: Any, b: Any) -> None:
    np.add.at(a, np.array([0, 0, 1]), a[np.array([1, 0, 0])] * 0.5)


WRITES: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a.__iadd__(b), lambda a, b: a.__imul__(np.cos(b)), lambda a, b: a.__isub__(a * b),
    lambda a, b: a.__imul__(a), lambda a, b: a.__itruediv__(b * b + 1.0), lambda a, b: a.__ipow__(2),
    lambda a, b: np.multiply(a, b, out=a), lambda a, b: np.sin(a, out=a), lambda a, b: a.fill(0.25),
    lambda a, b: np.copyto(a, b), _assign, _shift, _first, _swap, _mask, _repeat, _add_at,
]  # fmt: skip


def build(seed: int) -> Callable[[Any], Any]:
    """A function that runs a random program; whether a step applies depends on shapes alone."""
    rng = np.random.default_rng(seed)
    steps = [(rng.integers(3), rng.integers(1 << 30), rng.random(2)) for _ in range(rng.integers(5, 12))]

    def program(x: Any) -> Any:
        arrays = [x, np.zeros_like(x), x * 1.0]
        for kind, which, (first, second) in steps:
            a = arrays[int(first * len(arrays))]
            if np.ndim(a) == 0:
                continue
            if kind == 0 or (kind == 1 and a.size > 2 * N):
                view = VIEWS[which % len(VIEWS)]
                arrays.extend([view(a)] if a.shape[0] > 1 else [])
            elif kind == 1:
                arrays.append(MAPS[which % len(MAPS)](a))
            else:
                fitting = [b for b in arrays if b.shape in (a.shape, ())]
                if a.shape[0] > 1:
                    WRITES[which % len(WRITES)](a, fitting[int(second * len(fitting))])
        total = 0.0
        for k, a in enumerate(arrays):
            total = total + np.sum(np.sin(a + 0.1 * k))
        return total

    return program


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("block", range(10))
def test_gradients_of_random_programs(block: int) -> None:
    x = np.array([0.35, -0.55, 0.85, 1.15])
    for seed in range(block * 12, block * 12 + 12):
        program = build(seed)
        mine, numpys = x.copy(), x.copy()
        value, gradient = sd.value_and_grad(program)(mine)
        np.testing.assert_allclose(value, program(numpys), rtol=1e-13, err_msg=f"value of {seed}")
        np.testing.assert_array_equal(mine, numpys, err_msg=f"effect of {seed}")
        h = 1e-6
        slopes = np.array([(program(x + h * row) - program(x - h * row)) / (2 * h) for row in np.eye(N)])
        np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-6, err_msg=f"gradient of {seed}")
        function = sd.grad(program)
        for _ in range(3):
            np.testing.assert_allclose(function(x.copy()), gradient, rtol=1e-12, err_msg=f"compiled gradient of {seed}")
