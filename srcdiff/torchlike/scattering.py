"""Putting values along a dimension, and combining those that meet: `scatter` and its relatives, as new tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.errors import AutogradError
from srcdiff.index import Dynamic, Index, Slice
from srcdiff.ops import elementwise as el
from srcdiff.ops import indexing as ops
from srcdiff.ops import torchlike as tl
from srcdiff.ops.structural import reshape
from srcdiff.torchlike.indexing import but_axis, check_places
from srcdiff.torchlike.shaping import ravel
from srcdiff.torchlike.support import (
    arrayed,
    at_least_1d,
    integer_index,
    numpy_keywords,
    one_dim,
    relabel,
    value_of,
)


def _scatter_operands(x: Any, dim: int, index: Any, src: Any, name: str) -> tuple[int, Any, Any]:
    """The axis, the positions, and the part of `src` that they use."""
    places = integer_index(index, name)
    axis = one_dim(dim, x.ndim)
    if places.ndim != x.ndim:
        raise AutogradError(f"{name}: Index tensor must have the same number of dimensions as self tensor")
    check_places(places, x.shape[axis] if x.ndim else 1, axis)
    if isinstance(src, (bool, int, float, complex)):
        return axis, places, x.dtype.type(src) if x.dtype.kind not in "fc" else src
    src = arrayed(src)
    if src.dtype != x.dtype:
        raise AutogradError(f"{name}(): Expected self.dtype to be equal to src.dtype")
    if src.shape != places.shape:
        if src.ndim != places.ndim or any(m > n for n, m in zip(src.shape, places.shape, strict=True)):
            raise AutogradError(f"Expected index {list(places.shape)} to be no larger than src {list(src.shape)}")
        parts = tuple(Slice(None, m, None) for m in places.shape)
        src = ops.getitem(src, index=Index(parts, len(parts) > 1))
    return axis, places, src


def _open_grid(places: Any, axis: int) -> tuple[Index, tuple[Any, ...]]:
    """The index that reads along an axis, whose other positions are those of `places` itself."""
    grid: list[Any] = list(np.ix_(*map(range, places.shape)))
    grid[axis] = value_of(places)
    return Index(tuple(map(Dynamic, range(len(grid)))), len(grid) > 1, False), tuple(grid)


@numpy_keywords
def scatter(
    input: Any, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: str | None = None
) -> Any:  # fmt: skip
    """Values put along a dimension: `out[index[i][j]][j] = src[i][j]` for dim 0, and so on."""
    x = arrayed(input)
    given = value if src is None else src
    if reduce is not None:
        if reduce not in ("add", "multiply"):
            raise AutogradError("reduce argument must be either add or multiply.")
        given = given if hasattr(given, "shape") else np.full(np.shape(value_of(index)), given, x.dtype)
        return scatter_reduce(x, dim, index, given, "sum" if reduce == "add" else "prod")
    axis, places, v = _scatter_operands(x, dim, index, given, "scatter")
    if not x.ndim:
        return reshape(scatter(at_least_1d(x), 0, at_least_1d(places), at_least_1d(arrayed(v))), shape=())
    if but_axis(places.shape, axis, 0) == but_axis(x.shape, axis, 0):
        return ops.set_along_axis(x, places, v, axis=axis)
    static, grid = _open_grid(places, axis)
    return relabel(ops.index_set(x, v, *grid, index=static), "Scatter")


@numpy_keywords
def scatter_add(input: Any, dim: int, index: Any, src: Any) -> Any:
    """Values added along a dimension; repeated positions add up."""
    x = arrayed(input)
    axis, places, v = _scatter_operands(x, dim, index, src, "scatter_add")
    return tl.scatter_add(x, places, v, axis=axis)


@numpy_keywords
def scatter_reduce(
    input: Any, dim: int, index: Any, src: Any, reduce: str, *, include_self: bool = True
) -> Any:  # fmt: skip
    """Values combined along a dimension by "sum", "mean", "prod", "amax" or "amin" with each other and with `input`."""
    x = arrayed(input)
    axis, places, v = _scatter_operands(x, dim, index, src, "scatter_reduce")
    ones = np.ones(places.shape, x.dtype)
    hit = tl.scatter_add(np.zeros(x.shape, x.dtype), value_of(places), ones, axis=axis)
    if reduce in ("sum", "mean"):
        start = x if include_self else el.where(el.greater(hit, 0), 0.0 if x.dtype.kind in "fc" else x.dtype.type(0), x)
        total = tl.scatter_add(start, places, v, axis=axis)
        if reduce == "sum":
            return total
        count = np.maximum(hit + include_self, 1).astype(x.dtype)
        return total / count if x.dtype.kind in "fc" else el.floor_divide(total, count)
    static, grid = _open_grid(places, axis)
    if reduce in ("amax", "amin"):
        return _scatter_extreme(x, v, static, grid, reduce, include_self, hit)
    if reduce != "prod":
        raise AutogradError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}.")
    return _scatter_product(x, v, static, grid, include_self, hit)


def _scatter_extreme(x: Any, v: Any, static: Index, grid: Any, reduce: str, include_self: bool, hit: Any) -> Any:
    """The value is found without gradient; what ties with it then shares it evenly, as PyTorch does."""
    ufunc = np.maximum if reduce == "amax" else np.minimum
    low = np.array(-np.inf if reduce == "amax" else np.inf) if x.dtype.kind == "f" else np.array(
        getattr(np.iinfo(x.dtype), "min" if reduce == "amax" else "max")
    )  # fmt: skip
    values, index = np.array(value_of(x)), static(*grid)
    if not include_self:
        values = np.where(hit > 0, low.astype(x.dtype), values)
    best = values.copy()
    ufunc.at(best, index, value_of(v))
    from_self = (value_of(x) == best) & ((hit == 0) | include_self)
    from_src = value_of(v) == best[index]
    count = np.array(from_self, x.dtype)
    np.add.at(count, index, from_src.astype(x.dtype))
    count = np.maximum(count, 1)
    mine = el.where(from_self, x, x.dtype.type(0))
    theirs = el.where(from_src, v, v.dtype.type(0))
    total = ops.index_add(mine, theirs, *grid, index=static, unique=False)
    return total / count if x.dtype.kind in "fc" else el.floor_divide(total, count)


def _scatter_product(x: Any, v: Any, static: Index, grid: Any, include_self: bool, hit: Any) -> Any:
    """The entries that meet in one element are multiplied one round after another, so that zeros differentiate."""
    made = x if include_self else el.where(hit > 0, x.dtype.type(1), x)
    shape = np.broadcast_shapes(*(np.shape(g) for g in grid))
    flat = np.ravel_multi_index([np.broadcast_to(g, shape).ravel() for g in grid], x.shape)
    order = np.argsort(flat, kind="stable")
    sorted_flat = flat[order]
    first = np.concatenate([[True], sorted_flat[1:] != sorted_flat[:-1]]) if flat.size else np.zeros(0, bool)
    turn = np.empty(flat.size, int)
    turn[order] = np.arange(flat.size) - np.maximum.accumulate(np.where(first, np.arange(flat.size), 0))
    made, values = ravel(made), ravel(v)
    for k in range(int(turn.max(initial=-1)) + 1):
        now = np.flatnonzero(turn == k)
        spot = Index((Dynamic(0),), False, True)
        product = ops.getitem(made, flat[now], index=spot) * ops.getitem(values, now, index=spot)
        made = ops.index_set(made, product, flat[now], index=spot)
    return reshape(made, shape=x.shape)
