"""The format of the sample tables: a `Sample` is one call of a primitive at which every law is checked.

    SAMPLES = {
        "mul": [sample(real(3, 4), real(4)), sample(real(3), 2.0), sample(cplx(2), cplx(2))],
        "sum": [sample(real(2, 3), axis=(0,), keepdims=True)],
        "max": [sample(np.array([1.0, 1.0]), axis=None, keepdims=False, smooth=False)],
    }

An operand is an array, a Python number, or a drawer: a function that draws an array from a generator. Arrays of floats
and complex numbers are differentiated, unless the primitive has no rule for that operand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Drawer = Callable[[np.random.Generator], Array]


@dataclass(frozen=True, eq=False)
class Sample:
    """One call. `smooth` is False where the value has a kink, so that differences say nothing about the derivative;
    `singular` is True where the derivative itself may be infinite or NaN, so that only types are checked."""

    operands: tuple[Any, ...]
    params: dict[str, Any]
    smooth: bool = True
    singular: bool = False

    def values(self, seed: int = 0) -> tuple[Any, ...]:
        """The operands, drawn afresh (equal for equal seeds)."""
        rng = np.random.default_rng(seed)
        return tuple(operand(rng) if callable(operand) else operand for operand in self.operands)

    def __repr__(self) -> str:
        shown = [v.dtype.char + str(v.shape) if isinstance(v, np.ndarray) else repr(v) for v in self.values()]
        return ",".join([*shown, *(f"{key}={value}" for key, value in self.params.items())]).replace(" ", "")


def sample(*operands: Any, smooth: bool = True, singular: bool = False, **params: Any) -> Sample:
    """A Sample of these operands and parameters."""
    return Sample(operands, params, smooth and not singular, singular)


def real(*shape: int, low: float = -2.0, high: float = 2.0) -> Drawer:
    """Uniform float64 values between the bounds."""
    return lambda rng: np.asarray(rng.uniform(low, high, shape))


def positive(*shape: int) -> Drawer:
    """Values between 0.5 and 2."""
    return real(*shape, low=0.5, high=2.0)


def nonzero(*shape: int) -> Drawer:
    """Values of either sign between 0.5 and 2 in size."""
    return lambda rng: np.asarray(rng.uniform(0.5, 2.0, shape) * rng.choice([-1.0, 1.0], shape))


def apart(*shape: int) -> Drawer:
    """Values far from each other and from integers: no ties within reach of a difference step."""

    def draw(rng: np.random.Generator) -> Array:
        size = int(np.prod(shape))
        return np.asarray(rng.permutation(size).reshape(shape) * 0.37 - 0.185 * size + 0.05)

    return draw


def cplx(*shape: int) -> Drawer:
    """Complex values away from 0 and from the cuts of the elementary functions."""
    return lambda rng: np.asarray(rng.uniform(0.5, 1.5, shape) * np.exp(1j * rng.uniform(0.3, 1.2, shape)))


def ints(*shape: int, low: int = 0, high: int = 5) -> Drawer:
    """Integers with low <= value < high."""
    return lambda rng: np.asarray(rng.integers(low, high, shape))


def bools(*shape: int) -> Drawer:
    """Truth values, some of each in all but the smallest arrays."""
    return lambda rng: np.asarray(rng.random(shape) < 0.6)
