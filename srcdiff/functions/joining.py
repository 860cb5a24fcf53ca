"""NumPy's functions that join arrays and cut them up."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from srcdiff.core.primitive import Operand
from srcdiff.functions.dispatch import implements, plain
from srcdiff.functions.shaping import arrayed, as_axis, atleast_1d, atleast_2d, atleast_3d, ravel, reshape
from srcdiff.ops import shaping as ops
from srcdiff.ops.structural import cast, swap


def parts_of(arrays: Any) -> list[Any]:
    """The arrays to join: of a sequence its elements, of an array its slices along the first axis."""
    if isinstance(arrays, (Operand, np.ndarray)):
        return list(ops.unbind(arrays, axis=0)) if arrays.shape else []  # type: ignore[union-attr]
    return [arrayed(part) for part in arrays]


def _cast_parts(parts: list[Any], dtype: Any, casting: Any) -> list[Any]:
    """The parts in the dtype asked for; TypeError where `casting` forbids that, as in NumPy."""
    if dtype is None and casting == "same_kind":
        return parts
    target = np.dtype(dtype) if dtype is not None else np.result_type(*(part.dtype for part in parts))
    for part in parts:
        if not np.can_cast(part.dtype, target, casting):
            raise TypeError(f"Cannot cast array data from {part.dtype!r} to {target!r} according to {casting!r}")
    if dtype is None:
        return parts
    return [part if part.dtype == target else cast(part, dtype=target) for part in parts]


# ------------------------------------------------------------------------------------------------------------- joining


@implements(np.concatenate, np.concat)
def concatenate(arrays: Any, /, axis: Any = 0, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    parts = parts_of(arrays)
    if not parts:
        raise ValueError("need at least one array to concatenate")
    if axis is None:
        parts, axis = [ravel(part) for part in parts], 0
    if not all(part.ndim for part in parts):
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    first = parts[0]
    axis = as_axis(axis, first.ndim)
    for part in parts[1:]:
        if part.ndim != first.ndim:
            raise ValueError(f"all arrays must have the same number of axes; got {first.ndim} and {part.ndim}")
    return ops.concatenate(*_cast_parts(parts, dtype, casting), axis=axis)


@implements(np.stack)
def stack(arrays: Any, axis: Any = 0, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    parts = parts_of(arrays)
    if not parts:
        raise ValueError("need at least one array to stack")
    if len({tuple(part.shape) for part in parts}) > 1:
        raise ValueError("all input arrays must have the same shape")
    axis = as_axis(axis, parts[0].ndim + 1)
    return ops.stack(*_cast_parts(parts, dtype, casting), axis=axis)


@implements(np.vstack)
def vstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    return concatenate([atleast_2d(part) for part in parts_of(tup)], 0, dtype=dtype, casting=casting)


@implements(np.hstack)
def hstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    parts = [atleast_1d(part) for part in parts_of(tup)]
    return concatenate(parts, 0 if parts and parts[0].ndim == 1 else 1, dtype=dtype, casting=casting)


@implements(np.dstack)
def dstack(tup: Any) -> Any:
    return concatenate([atleast_3d(part) for part in parts_of(tup)], 2)


@implements(np.column_stack)
def column_stack(tup: Any) -> Any:
    return concatenate([swap(atleast_2d(part)) if part.ndim < 2 else part for part in parts_of(tup)], 1)


@implements(np.append)
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    if axis is None:
        return concatenate([ravel(arr), ravel(values)])
    return concatenate([arr, values], axis)


@implements(np.block)
def block(arrays: Any) -> Any:
    depth = _depth(arrays)
    ndim = max(depth, *(part.ndim for part in _leaves(arrays)), 0)

    def join(x: Any, level: int) -> Any:
        if type(x) is not list:
            x = arrayed(x)
            made = reshape(x, (1,) * (ndim - x.ndim) + tuple(x.shape))
            return ops.copy(made) if not depth else made
        return concatenate([join(part, level + 1) for part in x], level - depth)

    return join(arrays, 0)


def _depth(x: Any) -> int:
    if type(x) is tuple:
        raise TypeError("np.block: arrays is a tuple. Only lists can be used to arrange blocks")
    if type(x) is not list:
        return 0
    if not x:
        raise ValueError("np.block: lists cannot be empty")
    depths = {_depth(part) for part in x}
    if len(depths) > 1:
        raise ValueError(f"np.block: list depths are mismatched: {sorted(depths)}")
    return 1 + depths.pop()


def _leaves(x: Any) -> list[Any]:
    return [leaf for part in x for leaf in _leaves(part)] if type(x) is list else [arrayed(x)]


# ------------------------------------------------------------------------------------------------------------- cutting


@implements(np.array_split)
def array_split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> list[Any]:
    ary = arrayed(ary)
    axis = as_axis(axis, ary.ndim)
    n = ary.shape[axis]
    given = plain(indices_or_sections)
    if np.ndim(given):
        cuts = tuple(operator.index(k) for k in given)
    else:
        count = operator.index(given)
        if count <= 0:
            raise ValueError("number sections must be larger than 0.")
        cuts = tuple(k * (n // count) + min(k, n % count) for k in range(1, count))
    return list(ops.split(ary, sections=cuts, axis=axis))


@implements(np.split)
def split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> list[Any]:
    ary = arrayed(ary)
    given = plain(indices_or_sections)
    if not np.ndim(given) and ary.shape[as_axis(axis, ary.ndim)] % given:
        raise ValueError("array split does not result in an equal division")
    return array_split(ary, given, axis)


@implements(np.hsplit)
def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    ary = _at_least("hsplit", ary, 1)
    return split(ary, indices_or_sections, 1 if ary.ndim > 1 else 0)


@implements(np.vsplit)
def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    return split(_at_least("vsplit", ary, 2), indices_or_sections, 0)


@implements(np.dsplit)
def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    return split(_at_least("dsplit", ary, 3), indices_or_sections, 2)


def _at_least(name: str, ary: Any, ndim: int) -> Any:
    ary = arrayed(ary)
    if ary.ndim < ndim:
        raise ValueError(f"{name} only works on arrays of {ndim} or more dimensions")
    return ary


def unstack(x: Any, /, *, axis: Any = 0) -> tuple[Any, ...]:
    """The slices along an axis."""
    x = arrayed(x)
    if not x.ndim:
        raise ValueError("Input array must be at least 1-d.")
    made: Sequence[Any] = ops.unbind(x, axis=as_axis(axis, x.ndim))
    return tuple(made)


if hasattr(np, "unstack"):
    implements(np.unstack)(unstack)
