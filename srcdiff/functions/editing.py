"""NumPy's functions that repeat, pad, insert and delete elements."""

from __future__ import annotations

import operator
from math import prod
from typing import Any

import numpy as np

from srcdiff.errors import UnsupportedError
from srcdiff.functions.dispatch import implements, operand, plain
from srcdiff.functions.indexing import along_axis, getitem, setitem, take
from srcdiff.functions.joining import concatenate
from srcdiff.functions.shaping import arrayed, as_axes, as_axis, as_shape, broadcast_to, moveaxis, ravel, reshape
from srcdiff.ops import indexing
from srcdiff.ops import shaping as ops
from srcdiff.ops.structural import cast


def at_axis(axis: int, part: Any) -> tuple[Any, ...]:
    """The index that has `part` at an axis."""
    return (*(slice(None),) * axis, part)


# ------------------------------------------------------------------------------------------------------------ repeating


@implements(np.repeat, method="repeat")
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    a = arrayed(a)
    if axis is None:
        a, axis = ravel(a), 0
    axis = as_axis(axis, a.ndim)
    counts = np.asarray(plain(repeats))
    if counts.size == 1 and counts.dtype.kind in "iub":
        count = int(counts.reshape(()))
        if count < 0:
            raise ValueError("repeats may not contain negative values.")
        return ops.repeat(a, repeats=count, axis=axis)
    return take(a, np.repeat(np.arange(a.shape[axis]), counts), axis)


@implements(np.tile)
def tile(A: Any, reps: Any) -> Any:
    A, counts = arrayed(A), as_shape(reps)
    return ops.tile(A, reps=(1,) * (A.ndim - len(counts)) + counts)


@implements(np.resize)
def resize(a: Any, new_shape: Any) -> Any:
    a, shape = ravel(a), as_shape(new_shape)
    if any(n < 0 for n in shape):
        raise ValueError("all elements of `new_shape` must be non-negative")
    if not prod(a.shape):
        return np.zeros(shape, a.dtype)
    return reshape(take(a, np.arange(prod(shape)) % a.shape[0]), shape)


def _window_axes(x: Any, window_shape: Any, axis: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    window = as_shape(window_shape)
    axes = tuple(range(x.ndim)) if axis is None else tuple(
        as_axis(k, x.ndim) for k in (axis if isinstance(axis, (tuple, list)) else (axis,))
    )  # fmt: skip
    if any(n < 0 for n in window):
        raise ValueError("`window_shape` cannot contain negative values")
    if len(window) != len(axes):
        raise ValueError("Must provide matching length window_shape and axis")
    return window, axes


@implements(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    if writeable:
        raise UnsupportedError("sliding_window_view: writeable=True is not supported")
    x = arrayed(x)
    window, axes = _window_axes(x, window_shape, axis)
    if any(x.shape[a] < n for a, n in zip(axes, window, strict=True)):
        raise ValueError("window shape cannot be larger than input array shape")
    return ops.windows(x, window=window, axis=axes)


# -------------------------------------------------------------------------------------------------------------- padding


def _pairs(value: Any, ndim: int) -> list[tuple[Any, Any]]:
    """Values before and after each axis, from a number, a pair, or a pair for each axis. They may be Tensors."""
    if isinstance(value, (list, tuple)):
        rows = [tuple(row) if isinstance(row, (list, tuple, np.ndarray)) else (row,) for row in value]
        if all(len(row) == 1 for row in rows) and not any(isinstance(row, (list, tuple)) for row in value):
            rows = [tuple(row[0] for row in rows)]
        rows = [row * 2 if len(row) == 1 else row for row in rows]
        rows = rows * ndim if len(rows) == 1 else rows
        if len(rows) != ndim or any(len(row) != 2 for row in rows):
            raise ValueError(f"pad: {value!r} gives no pair of values for each of {ndim} axes")
        return [(row[0], row[1]) for row in rows]
    if isinstance(value, np.ndarray) and value.ndim:
        return [(a, b) for a, b in np.broadcast_to(value, (ndim, 2))]
    return [(value, value)] * ndim


def _pad_width(pad_width: Any, ndim: int) -> tuple[tuple[int, int], ...]:
    if isinstance(pad_width, dict):
        widths: list[Any] = [0] * ndim
        for axis, width in pad_width.items():
            widths[axis] = width
        pad_width = [w if isinstance(w, (tuple, list)) else (w, w) for w in widths]
    given = np.asarray(plain(pad_width))
    if given.dtype.kind not in "iu":
        raise TypeError("`pad_width` must be of integral type.")
    if given.size and given.min() < 0:
        raise ValueError("index can't contain negative values")
    return tuple((int(a), int(b)) for a, b in np.broadcast_to(given, (ndim, 2)))


@implements(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    array = arrayed(array)
    if not array.ndim:
        return array
    widths = _pad_width(pad_width, array.ndim)
    if callable(mode):
        raise UnsupportedError("pad: a function as mode is not supported")
    allowed = _KEYWORDS.get(mode)
    if allowed is None:
        raise ValueError(f"mode '{mode}' is not supported")
    if unexpected := set(kwargs) - allowed:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {unexpected}")
    if mode == "empty":
        return ops.pad(array, pad_width=widths)
    if mode == "constant":
        return _pad_constant(array, widths, _pairs(kwargs.get("constant_values", 0), array.ndim))
    odd = kwargs.get("reflect_type", "even") == "odd"
    if mode in ("edge", "wrap") or (mode in ("reflect", "symmetric") and not odd):
        return _pad_by_index(array, widths, mode)
    if odd:
        return _pad_odd(array, widths, mode)
    if mode == "linear_ramp":
        ends = _pairs(kwargs.get("end_values", 0), array.ndim)
        for axis, (width, end) in enumerate(zip(widths, ends, strict=True)):
            ramps = (_ramp(array, axis, side, n, e) for side, n, e in zip((0, 1), width, end, strict=True))
            array = _join(array, axis, *ramps)
        return array
    lengths = _pairs(kwargs.get("stat_length"), array.ndim)
    for axis, (width, length) in enumerate(zip(widths, lengths, strict=True)):
        sides = (_statistic(array, axis, side, n, m, mode) for side, n, m in zip((0, 1), width, length, strict=True))
        array = _join(array, axis, *sides)
    return array


_KEYWORDS = {
    "constant": {"constant_values"}, "edge": set(), "empty": set(), "linear_ramp": {"end_values"},
    "maximum": {"stat_length"}, "mean": {"stat_length"}, "median": {"stat_length"}, "minimum": {"stat_length"},
    "reflect": {"reflect_type"}, "symmetric": {"reflect_type"}, "wrap": set(),
}  # fmt: skip


def _pad_constant(array: Any, widths: Any, values: list[tuple[Any, Any]]) -> Any:
    out = ops.pad(array, pad_width=widths)
    for axis, ((a, b), (before, after)) in enumerate(zip(widths, values, strict=True)):
        n = out.shape[axis]
        if a and _is_not_zero(before):
            out = setitem(out, at_axis(axis, slice(0, a)), before)
        if b and _is_not_zero(after):
            out = setitem(out, at_axis(axis, slice(n - b, n)), after)
    return out


def _is_not_zero(value: Any) -> bool:
    return not (type(value) in (int, float) and value == 0)


def _pad_by_index(array: Any, widths: Any, mode: Any) -> Any:
    for axis, width in enumerate(widths):
        if any(width):
            array = take(array, np.pad(np.arange(array.shape[axis]), width, mode), axis)
    return array


def _pad_odd(array: Any, widths: Any, mode: Any) -> Any:
    """Reflection at the end points: each reflected element is twice the end minus the element mirrored."""
    for axis, (a, b) in enumerate(widths):
        n = array.shape[axis]
        before = after = None
        skip = 1 if mode == "reflect" else 0
        if max(a, b) > n - skip:
            raise UnsupportedError(f"pad: mode '{mode}' with reflect_type='odd' wider than the array is not supported")
        if a:
            mirrored = np.arange(skip, skip + a)[::-1]
            before = take(array, [0], axis) * 2 - take(array, mirrored, axis)
        if b:
            mirrored = np.arange(n - skip - b, n - skip)[::-1]
            after = take(array, [n - 1], axis) * 2 - take(array, mirrored, axis)
        array = _join(array, axis, before, after)
    return array


def _join(array: Any, axis: int, before: Any, after: Any) -> Any:
    parts = [part for part in (before, array, after) if part is not None]
    return concatenate(parts, axis) if len(parts) > 1 else array


def _ramp(array: Any, axis: int, side: int, width: int, end: Any) -> Any:
    if not width:
        return None
    edge = take(array, [0 if side == 0 else array.shape[axis] - 1], axis)
    steps = np.arange(width) / width
    steps = np.reshape(steps if side == 0 else steps[::-1], (-1,) + (1,) * (array.ndim - axis - 1))
    made = (edge - end) * steps + end
    return made if array.dtype.kind in "fc" else cast(made, dtype=array.dtype)


def _statistic(array: Any, axis: int, side: int, width: int, length: Any, mode: Any) -> Any:
    if not width:
        return None
    n = array.shape[axis]
    length = n if length is None else min(operator.index(length), n)
    if not length and mode in ("maximum", "minimum"):
        raise ValueError("stat_length of 0 yields no value for padding")
    window = slice(0, length) if side == 0 else slice(n - length, n)
    function: Any = {"maximum": np.max, "minimum": np.min, "mean": np.mean, "median": np.median}[mode]
    made: Any = function(getitem(array, at_axis(axis, window)), axis=axis, keepdims=True)
    if array.dtype.kind in "iu" and mode in ("mean", "median"):
        made = np.rint(made)
    made = made if made.dtype == array.dtype else cast(made, dtype=array.dtype)
    return broadcast_to(made, tuple(width if k == axis else m for k, m in enumerate(array.shape)))


@implements(np.trim_zeros)
def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    filt = arrayed(filt)
    trim = trim.lower()
    if trim not in ("fb", "bf", "f", "b"):
        raise ValueError(f"unexpected character(s) in `trim`: {trim!r}")
    places = np.argwhere(plain(filt))
    axes = tuple(range(filt.ndim)) if axis is None else as_axes(axis, filt.ndim)
    index = [slice(None)] * filt.ndim
    for k in axes:
        if not len(places):
            index[k] = slice(0, 0)
            continue
        first, last = int(places[:, k].min()), int(places[:, k].max()) + 1
        index[k] = slice(first if "f" in trim else None, last if "b" in trim else None)
    return getitem(filt, tuple(index))


# ------------------------------------------------------------------------------------------------- inserting, deleting


@implements(np.delete)
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    arr = arrayed(arr)
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = as_axis(axis, arr.ndim)
    return take(arr, np.delete(np.arange(arr.shape[axis]), plain(obj)), axis)


@implements(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    arr = arrayed(arr)
    if axis is None:
        arr, axis = ravel(arr), 0
    axis = as_axis(axis, arr.ndim)
    n = arr.shape[axis]
    values = arrayed(operand(values))
    where = np.asarray(np.arange(*obj.indices(n)) if isinstance(obj, slice) else plain(obj))
    where = np.flatnonzero(where) if where.dtype.kind == "b" and where.ndim else where
    values = values if values.dtype == arr.dtype else cast(values, dtype=arr.dtype)
    if where.size == 1:
        return _insert_at(arr, int(where.reshape(())), values, axis, where.ndim == 0)
    # the places of the new elements among the old ones, as np.insert puts them
    order = np.insert(np.arange(n), where.astype(np.intp), -1)
    new, old = np.flatnonzero(order < 0), np.flatnonzero(order >= 0)
    # several elements inserted at one place stay in order, but the places themselves need not be sorted
    rank = np.argsort(np.argsort(np.where(where < 0, where + n, where), kind="stable"), kind="stable")
    shape = tuple(len(order) if k == axis else m for k, m in enumerate(arr.shape))
    static, dynamic = along_axis(new[rank], axis)
    out = indexing.index_set(np.zeros(shape, arr.dtype), values, *dynamic, index=static)
    static, dynamic = along_axis(old, axis)
    return indexing.index_set(out, arr, *dynamic, index=static)


def _insert_at(arr: Any, place: int, values: Any, axis: int, is_number: bool) -> Any:
    n = arr.shape[axis]
    if not -n <= place <= n:
        raise IndexError(f"index {place} is out of bounds for axis {axis} with size {n}")
    place += n if place < 0 else 0
    values = reshape(values, (1,) * (arr.ndim - values.ndim) + tuple(values.shape))
    if is_number:
        values = moveaxis(values, 0, axis)  # NumPy: with a number, values lack the axis that is indexed
    count = values.shape[axis]
    values = broadcast_to(values, tuple(count if k == axis else m for k, m in enumerate(arr.shape)))
    before, after = getitem(arr, at_axis(axis, slice(0, place))), getitem(arr, at_axis(axis, slice(place, n)))
    return concatenate([before, values, after], axis)
