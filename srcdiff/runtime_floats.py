"""Steps that compute with single numbers, run on Python's floats; reached as `rt.in_floats`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np


@cache
def _on_floats(called: str) -> Callable[[float], float]:
    """A function of floats that gives the bits NumPy gives: the C library's, if the two agree on many numbers."""
    ours, theirs = getattr(np, called), getattr(math, called)
    points = np.linspace(0.001, 20.0, 2_001)
    if ours(points).tolist() == list(map(theirs, points.tolist())):
        return theirs  # type: ignore[no-any-return]
    return lambda x: float(ours(x))


def in_floats(steps: Callable[..., tuple[Any, ...]], functions: Sequence[str], *values: Any) -> tuple[Any, ...]:
    """`steps(*values, *functions)` as NumPy computes it with float64 numbers, by Python's floats if nothing is unusual.

    An error, an infinity or a NaN is computed again by NumPy, which warns or not as always.
    """
    try:
        outs = steps(*map(float, values), *map(_on_floats, functions))
        if math.isfinite(math.fsum(out for out in outs if out is not None)):
            return tuple(None if out is None else np.float64(out) for out in outs)
    except (ArithmeticError, ValueError):
        pass
    return steps(*[np.float64(value) for value in values], *[getattr(np, each) for each in functions])
