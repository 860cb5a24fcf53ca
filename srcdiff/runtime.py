"""Helpers that primitives' expressions and generated code may call, as `rt.name`. They take and give plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any


def sum_to(x: Array, shape: tuple[int, ...]) -> Array:
    """`x` summed over the axes along which `shape` was broadcast to x's shape; the adjoint of broadcasting.

    `shape` may have fewer axes than x, and size 1 where x is larger.
    """
    have = x.shape
    if have == shape:
        return x
    extra = len(have) - len(shape)
    axes = tuple(range(extra)) + tuple(
        k + extra for k, length in enumerate(shape) if length == 1 and have[k + extra] != 1
    )
    out = np.add.reduce(x, axis=axes)
    return out if out.shape == shape else out.reshape(shape)


def broadcast_to(x: Array, shape: tuple[int, ...]) -> Array:
    """`np.broadcast_to`, some ten times faster for small arrays; the result is read-only."""
    return np.broadcast_to(x, shape)


def index_set(x: Array, index: Any, value: Array) -> Array:
    """A copy of `x` with `x[index] = value` done."""
    out = np.array(x)
    out[index] = value
    return out


def index_add(x: Array, index: Any, value: Array) -> Array:
    """A copy of `x` with `value` added at `index`, repeated entries adding up."""
    out = np.array(x)
    np.add.at(out, index, value)
    return out


def scatter(value: Array, index: Any, shape: tuple[int, ...], unique: bool) -> Array:
    """Zeros of `shape` with `value` added at `index`: the adjoint of `x[index]`.

    `unique` promises that no element is selected twice, so that assignment does it.
    """
    out = np.zeros(shape, value.dtype)
    if unique:
        out[index] = value
    else:
        np.add.at(out, index, value)
    return out
