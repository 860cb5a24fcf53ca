"""Selecting, replacing and adding elements by index. What writes gives a new tensor (methods ending in _ are
elsewhere)."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from srcdiff.errors import AutogradError
from srcdiff.functions.indexing import index_of
from srcdiff.index import FULL, Index, Slice, at
from srcdiff.ops import elementwise as el
from srcdiff.ops import indexing as ops
from srcdiff.ops import shaping
from srcdiff.ops import torchlike as tl
from srcdiff.ops.structural import broadcast_to, reshape
from srcdiff.tape.modes import modes
from srcdiff.tape.value import TensorBase
from srcdiff.torchlike.shaping import ravel
from srcdiff.torchlike.support import (
    arrayed,
    at_least_1d,
    in_dtype,
    integer_index,
    lift,
    numpy_keywords,
    one_dim,
    relabel,
    result,
    value_of,
)

# ----------------------------------------------------------------------------------------------------------- selecting


@numpy_keywords
def index_select(input: Any, dim: int, index: Any) -> Any:
    """The entries of a dimension that a vector of positions names."""
    x, rows = arrayed(input), at_least_1d(integer_index(index, "index_select"))
    if rows.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    axis = one_dim(dim, x.ndim)
    _in_bounds(rows, x.shape[axis] if x.ndim else 1)
    made = tl.index_select(at_least_1d(x), rows, axis=axis)
    return made if x.ndim else reshape(made, shape=())


def _are_within(places: Any, n: int) -> bool:
    """Whether all positions are from 0 to n - 1. Replays look again."""
    if modes.recorder is not None and isinstance(places, TensorBase) and places.shape:
        return bool(((places >= 0) & (places < n)).all())
    value = value_of(places)
    return not np.size(value) or (value.min() >= 0 and value.max() < n)


def _in_bounds(index: Any, n: int) -> None:
    """PyTorch's functions take no negative positions."""
    if not _are_within(index, n):
        raise IndexError(f"index out of range in self: positions must be from 0 to {n - 1}")


@numpy_keywords
def gather(input: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:
    """`out[i][j] = input[index[i][j]][j]` for dim 0, and so on."""
    x, places = arrayed(input), integer_index(index, "gather")
    axis = one_dim(dim, x.ndim)
    if not x.ndim or not places.ndim:
        return reshape(gather(at_least_1d(x), axis, at_least_1d(places)), shape=places.shape)
    if x.ndim != places.ndim:
        raise AutogradError("Index tensor must have the same number of dimensions as input tensor")
    for k, (n, m) in enumerate(zip(x.shape, places.shape, strict=True)):
        if k != axis and m > n:
            raise AutogradError(
                f"Size does not match at dimension {k} expected index {list(places.shape)} to be no larger than self "
                f"{list(x.shape)} apart from dimension {axis}"
            )
    check_places(places, x.shape[axis], axis)
    return tl.take_within(x, places, axis)


def check_places(places: Any, n: int, axis: int) -> None:
    """AutogradError if a position along an axis is out of bounds."""
    if not _are_within(places, n):
        value = value_of(places)
        wrong = value.min() if value.min() < 0 else value.max()
        raise AutogradError(f"index {wrong} is out of bounds for dimension {axis} with size {n}")


def take(input: Any, index: Any) -> Any:
    """The elements of the flattened tensor at positions."""
    flat = ravel(input)
    places = integer_index(index, "take")
    static, dynamic = index_of(flat, places if places.ndim else value_of(places))
    return relabel(ops.getitem(flat, *dynamic, index=static), "Take")


@numpy_keywords
def take_along_dim(input: Any, indices: Any, dim: Any = None) -> Any:
    """`gather` with broadcasting, of the flattened tensors if no dimension is given."""
    x, places = arrayed(input), integer_index(indices, "take_along_dim")
    if dim is None:
        x, places, dim = ravel(x), ravel(places), 0
    axis = one_dim(dim, x.ndim)
    common = np.broadcast_shapes(
        *(tuple(1 if k == axis else n for k, n in enumerate(shape)) for shape in (x.shape, places.shape))
    )
    x, places = (
        broadcast_to(a, shape=wanted) if a.shape != (wanted := but_axis(common, axis, a.shape[axis])) else a
        for a in (x, places)
    )
    return ops.take_along_axis(x, places, axis=axis)


def but_axis(shape: tuple[int, ...], axis: int, n: int) -> tuple[int, ...]:
    """The shape with another length along one axis."""
    return (*shape[:axis], n, *shape[axis + 1 :])


def masked_select(input: Any, mask: Any) -> Any:
    """The elements where the mask is True, in one dimension."""
    x, m = arrayed(input), _mask(mask, "masked_select")
    shape = np.broadcast_shapes(x.shape, m.shape)
    x = x if x.shape == shape else broadcast_to(x, shape=shape)
    static, dynamic = index_of(at_least_1d(x), np.broadcast_to(value_of(m), shape or (1,)))
    return relabel(ops.getitem(at_least_1d(x), *dynamic, index=static), "MaskedSelect")


def _mask(mask: Any, name: str) -> Any:
    m = arrayed(mask)
    if m.dtype != bool:
        raise AutogradError(f"{name}: expected BoolTensor for mask, got {m.dtype}")
    return m


def nonzero(input: Any, *, as_tuple: bool = False) -> Any:
    """The positions of what is nonzero: a row for each, or a tensor for each dimension."""
    places = np.nonzero(np.atleast_1d(value_of(lift(input))))
    if as_tuple:
        return tuple(result(place, input) for place in places)
    x = arrayed(input)
    return result(np.stack(places, -1) if x.ndim else np.zeros((len(places[0]), 0), np.int64), input)


def argwhere(input: Any) -> Any:
    """The positions of what is nonzero, a row for each."""
    return nonzero(input)


# ----------------------------------------------------------------------------------------------------------- replacing


def masked_fill(input: Any, mask: Any, value: Any) -> Any:
    """`value` where the mask is True."""
    x = arrayed(input)
    return tl.masked_fill(x, _mask(mask, "masked_fill"), _fitting(value, x))


def _fitting(value: Any, x: Any) -> Any:
    """A value to be put into x: numbers as they are, tensors in the dtype of x."""
    v = lift(value)
    if isinstance(v, (bool, int, float, complex)):
        return x.dtype.type(v) if x.dtype.kind not in "fc" else v
    return in_dtype(v, x.dtype)


def masked_scatter(input: Any, mask: Any, source: Any) -> Any:
    """The elements of `source`, in order, where the mask is True."""
    x, m = arrayed(input), _mask(mask, "masked_scatter")
    shape = np.broadcast_shapes(x.shape, m.shape)
    x = x if x.shape == shape else broadcast_to(x, shape=shape)
    chosen = np.broadcast_to(value_of(m), shape)
    count = int(np.count_nonzero(chosen))
    values = ravel(source)
    if values.shape[0] < count:
        raise AutogradError("masked_scatter: expected self and source to have same number of elements as mask has ones")
    static, dynamic = index_of(x, chosen)
    values = values if values.shape[0] == count else values[:count]
    return relabel(ops.index_set(x, values, *dynamic, index=static), "MaskedScatter")


def index_put(input: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """`input` after `input[indices] = values`, or `+=` (repeated entries adding up)."""
    x = arrayed(input)
    static, dynamic = index_of(x, tuple(indices))
    v = _fitting(values, x)
    if accumulate:
        return ops.index_add(x, v, *dynamic, index=static, unique=static.unique)
    return ops.index_set(x, v, *dynamic, index=static)


def _at(axis: int, index: Any, name: str) -> tuple[Index, Any]:
    rows = at_least_1d(integer_index(index, name))
    if rows.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector")
    return tl.at_axis(axis), rows


@numpy_keywords
def index_add(input: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    """The entries of `source` added at positions of a dimension; repeated positions add up."""
    x = arrayed(input)
    static, rows = _at(one_dim(dim, x.ndim), index, "index_add")
    source = in_dtype(arrayed(source), x.dtype)
    scaled = source if alpha == 1 else el.mul(source, alpha)
    return relabel(ops.index_add(x, scaled, rows, index=static, unique=False), "IndexAdd")


@numpy_keywords
def index_copy(input: Any, dim: int, index: Any, source: Any) -> Any:
    """The entries of `source` put at positions of a dimension."""
    x = arrayed(input)
    static, rows = _at(one_dim(dim, x.ndim), index, "index_copy")
    return relabel(ops.index_set(x, in_dtype(arrayed(source), x.dtype), rows, index=static), "IndexCopy")


@numpy_keywords
def index_fill(input: Any, dim: int, index: Any, value: Any) -> Any:
    """A value put at positions of a dimension."""
    x = arrayed(input)
    static, rows = _at(one_dim(dim, x.ndim), index, "index_fill")
    return relabel(ops.index_set(x, _fitting(value, x), rows, index=static), "IndexFill")


def put(input: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    """Values put (or added) at positions of the flattened tensor."""
    x = arrayed(input)
    made = index_put(
        ravel(x), (ravel(integer_index(index, "put")),), ravel(in_dtype(arrayed(source), x.dtype)), accumulate
    )
    return reshape(made, shape=x.shape)


def select_scatter(input: Any, src: Any, dim: int, index: int) -> Any:
    """`src` put in as one entry of a dimension."""
    x = arrayed(input)
    static = at(one_dim(dim, x.ndim), operator.index(index))
    return relabel(ops.index_set(x, in_dtype(arrayed(src), x.dtype), index=static), "SelectScatter")


def slice_scatter(
    input: Any, src: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Any:  # fmt: skip
    """`src` put in as a slice of a dimension."""
    x = arrayed(input)
    axis = one_dim(dim, x.ndim)
    static = Index((*(FULL,) * axis, Slice(start, end, step)), axis > 0)
    return relabel(ops.index_set(x, in_dtype(arrayed(src), x.dtype), index=static), "SliceScatter")


def diagonal_scatter(input: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """`src` put in as a diagonal."""
    x = arrayed(input)
    axis1, axis2 = one_dim(dim1, x.ndim), one_dim(dim2, x.ndim)
    spot = {"shape": x.shape, "offset": offset, "axis1": axis1, "axis2": axis2}
    placed = shaping.diagonal_scatter(in_dtype(arrayed(src), x.dtype), **spot)
    ones = shaping.diagonal_scatter(np.ones(np.shape(value_of(src)), bool), **spot)
    return el.where(ones, placed, x)
