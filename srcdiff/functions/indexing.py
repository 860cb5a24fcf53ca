"""Selecting elements: `x[...]` and NumPy's functions that select."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.errors import ShapeError
from srcdiff.functions.dispatch import METHODS, implements, operand, plain
from srcdiff.functions.joining import stack
from srcdiff.functions.shaping import arrayed, as_axis, broadcast_to, ravel, reshape
from srcdiff.index import FULL, Dynamic, Index, split
from srcdiff.ops import indexing as ops

# -------------------------------------------------------------------------------------------------------- x[...] itself


def index_of(x: Any, index: Any, vary: bool = False) -> tuple[Index, tuple[Any, ...]]:
    """The static and the dynamic parts of an index of x; Tensors in it count as their values."""
    return split(plain(index), x.shape, vary)


def getitem(x: Any, index: Any, vary: bool = False) -> Any:
    """`x[index]`."""
    static, dynamic = index_of(x, index, vary)
    return ops.getitem(x, *dynamic, index=static)


def setitem(x: Any, index: Any, value: Any, vary: bool = False) -> Any:
    """`x` after `x[index] = value`, as a new array."""
    static, dynamic = index_of(x, index, vary)
    return ops.index_set(x, operand(value), *dynamic, index=static)


def additem(x: Any, index: Any, value: Any) -> Any:
    """`x` after `np.add.at(x, index, value)`, as a new array: repeated entries add up."""
    static, dynamic = index_of(x, index)
    return ops.index_add(x, operand(value), *dynamic, index=static, unique=static.unique)


# --------------------------------------------------------------------------------------------------------------- taking


def _wrapped(indices: Any, n: int, mode: str) -> Any:
    """Indices for `x[...]` under the modes of `np.take`."""
    if mode == "raise":
        return indices
    if mode == "wrap":
        return np.mod(indices, n)
    if mode == "clip":
        return np.clip(indices, 0, n - 1)
    raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")


def along_axis(indices: Any, axis: int) -> tuple[Index, tuple[Any, ...]]:
    """The index that puts an integer or an array of integers at an axis."""
    if type(indices) is int:
        return Index((*(FULL,) * axis, indices), axis > 0), ()
    part = Dynamic(0)
    parts = (*(FULL,) * axis, part)
    return Index(parts, axis > 0, indices.size <= 1), (indices,)


@implements(np.take, method="take")
def take(a: Any, indices: Any, axis: Any = None, mode: str = "raise") -> Any:
    a = arrayed(a)
    if axis is None:
        a, axis = ravel(a), 0
    axis = as_axis(axis, a.ndim)
    indices = np.asarray(plain(indices))
    if indices.dtype.kind not in "iu":
        if indices.dtype.kind != "b" and indices.size:
            raise TypeError(f"take: indices must be integers, not {indices.dtype}")
        indices = indices.astype(np.intp)
    indices = _wrapped(indices, a.shape[axis], mode)
    static, dynamic = along_axis(indices if indices.ndim else int(indices), axis)
    return ops.getitem(a, *dynamic, index=static)


@implements(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    arr, indices = arrayed(arr), np.asarray(plain(indices))
    if axis is None:
        arr, axis = ravel(arr), 0
    if indices.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if arr.ndim != indices.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    axis = as_axis(axis, arr.ndim)
    shape, where = _match(arr.shape, indices.shape, axis)
    return ops.take_along_axis(broadcast_to(arr, shape), np.broadcast_to(indices, where), axis=axis)


def _match(shape: tuple[int, ...], where: tuple[int, ...], axis: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shapes of an array and of indices along an axis of it, broadcast against each other elsewhere."""
    rest = np.broadcast_shapes((*shape[:axis], *shape[axis + 1 :]), (*where[:axis], *where[axis + 1 :]))
    return (*rest[:axis], shape[axis], *rest[axis:]), (*rest[:axis], where[axis], *rest[axis:])


def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> Any:
    """`arr` after `np.put_along_axis(arr, indices, values, axis)`, as a new array."""
    indices = np.asarray(plain(indices))
    values = operand(values)
    if axis is None:
        made = ops.set_along_axis(ravel(arr), indices, _fill(values, indices.shape), axis=0)
        return reshape(made, arr.shape)
    axis = as_axis(axis, arr.ndim)
    shape, where = _match(arr.shape, indices.shape, axis)
    if shape != arr.shape:
        raise ShapeError(f"put_along_axis: indices of shape {indices.shape} do not fit an array of shape {arr.shape}")
    return ops.set_along_axis(arr, np.broadcast_to(indices, where), _fill(values, where), axis=axis)


def _fill(values: Any, shape: tuple[int, ...]) -> Any:
    return values if not hasattr(values, "shape") or values.shape == shape else broadcast_to(values, shape)


@implements(np.compress)
def compress(condition: Any, a: Any, axis: Any = None) -> Any:
    condition = np.asarray(plain(condition))
    if condition.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    return take(a, np.flatnonzero(condition), axis)


METHODS["compress"] = lambda x, condition, axis=None: compress(condition, x, axis)


@implements(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    return take(ravel(operand(arr)), np.flatnonzero(np.ravel(plain(condition))))


@implements(np.choose, method="choose")
def choose(a: Any, choices: Any, mode: str = "raise") -> Any:
    stacked = [operand(c) for c in (choices if isinstance(choices, (list, tuple)) else operand(choices))]
    a = np.asarray(plain(a))
    if mode == "raise" and a.size and (np.min(a) < 0 or np.max(a) >= len(stacked)):
        raise ValueError("invalid entry in choice array")
    a = _wrapped(a, len(stacked), mode)
    shape = np.broadcast_shapes(a.shape, *(np.shape(plain(c)) for c in stacked))
    table = stack([broadcast_to(c, shape) for c in stacked])
    return getitem(table, (np.broadcast_to(a, shape), *np.ix_(*map(range, shape))))
