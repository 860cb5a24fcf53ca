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
from srcdiff.ops import selection
from srcdiff.tape.modes import modes
from srcdiff.tape.value import TensorBase

# -------------------------------------------------------------------------------------------------------- x[...] itself


def index_of(x: Any, index: Any, vary: bool = False) -> tuple[Index, tuple[Any, ...]]:
    """The static and the dynamic parts of an index of x; Tensors in it count as their values."""
    if modes.recorder is not None and not vary:
        return _recorded_index(x, index)
    return split(plain(index), x.shape, vary)


def _recorded_index(x: Any, index: Any) -> tuple[Index, tuple[Any, ...]]:
    """The same while a call is recorded: arrays of integers and masks that are Tensors stay such, so that a replay
    computes them again.
    """
    several = isinstance(index, tuple)
    parts = [_decided(part) for part in (index if several else (index,))]
    values = [part._value if isinstance(part, TensorBase) else part for part in parts]
    static, dynamic = split(tuple(values) if several else values[0], x.shape)
    waiting, found = iter(dynamic), []
    for part, value in zip(parts, values, strict=True):
        if not isinstance(value, np.ndarray) or (value.dtype.kind == "b" and not value.ndim):
            continue
        own = [next(waiting) for _ in range(value.ndim if value.dtype.kind == "b" else 1)]
        if isinstance(part, TensorBase):
            own = list(places(part)) if value.dtype.kind == "b" else [part]
        found += own
    return static, tuple(found)


def _decided(part: Any) -> Any:
    """A part of an index: lists and their like as arrays, and what decides by its value as plain."""
    if isinstance(part, (list, tuple, range)):
        return np.asarray(plain(part)) if len(part) else part
    if not isinstance(part, TensorBase) or part._value.ndim:
        return part
    return bool(part) if part._value.dtype.kind == "b" else int(part) if part._value.dtype.kind in "iu" else plain(part)


def places(x: Any) -> tuple[Any, ...]:
    """`np.nonzero(x)` of a Tensor while a call is recorded: how many elements there are is part of what is recorded."""
    return selection.places(x, count=int(np.count_nonzero(x._value)))  # type: ignore[no-any-return]


def positions(x: Any) -> Any:
    """Positions, or truths that say where they are: an array, while a call is recorded a Tensor if it is one."""
    return x if modes.recorder is not None and isinstance(x, TensorBase) else np.asarray(plain(x))


def true_positions(x: Any) -> Any:
    """`np.flatnonzero(x)`, in the same way."""
    x = positions(x)
    return places(ravel(x))[0] if isinstance(x, TensorBase) else np.flatnonzero(x)


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
    indices = positions(indices)
    if indices.dtype.kind not in "iu":
        if indices.dtype.kind != "b" and indices.size:
            raise TypeError(f"take: indices must be integers, not {indices.dtype}")
        indices = indices.astype(np.intp)
    indices = _wrapped(indices, a.shape[axis], mode)
    static, dynamic = along_axis(indices if indices.ndim else int(indices), axis)
    return ops.getitem(a, *dynamic, index=static)


@implements(np.take_along_axis)
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    arr, indices = arrayed(arr), positions(indices)
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
    condition = positions(condition)
    if condition.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    return take(a, true_positions(condition), axis)


METHODS["compress"] = lambda x, condition, axis=None: compress(condition, x, axis)


@implements(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    return take(ravel(operand(arr)), true_positions(condition))


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
