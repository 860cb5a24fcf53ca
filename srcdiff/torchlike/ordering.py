"""Largest, sorted, middle: what depends on the order of elements. The gradient goes to the elements that were chosen.

Functions with a dimension give values and indices; equal elements are found at their first position, sorting is
stable, NaN counts as larger than any number.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from srcdiff.errors import AutogradError
from srcdiff.ops import elementwise as el
from srcdiff.ops import reductions, selection
from srcdiff.ops import torchlike as tl
from srcdiff.ops.shaping import copy, flip, squeeze, stack, take_at_window
from srcdiff.ops.structural import reshape
from srcdiff.torchlike import support
from srcdiff.torchlike.shaping import ravel
from srcdiff.torchlike.support import arrayed, at_least_1d, lift, numpy_keywords, one_dim, result, value_of


def _pick(x: Any, places: Any, axis: int, keepdim: bool, label: str) -> tuple[Any, Any]:
    """The elements at positions (which have the axis, of length 1) and the positions, without the axis if so asked."""
    if not keepdim:
        places = squeeze(places, axis=(axis,))
    prim = tl.picked if keepdim else tl.picked_one
    return prim(x, places, axis=axis, label=label), places


def _chosen(input: Any, dim: Any, keepdim: bool, label: str, find: Any, named: Any) -> Any:
    """Values and indices of what `find(x, axis)` chooses along a dimension; it keeps the axis, with length 1."""
    x = arrayed(input)
    axis = one_dim(dim, x.ndim)
    if not x.ndim:
        return named(copy(x), result(np.zeros((), np.int64), x))
    if not x.shape[axis]:
        name = named.__name__.removesuffix("_result")
        raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")
    return named(*_pick(x, find(x, axis), axis, keepdim, label))


# ---------------------------------------------------------------------------------------------- largest and smallest


@numpy_keywords
def max(input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """The largest element; with a dimension, values and indices; with another tensor, the larger of each pair."""
    return _extreme(
        input, dim, keepdim, other, "Max", reductions.max_, selection.maximum, reductions.argmax, support.max_result
    )


@numpy_keywords
def min(input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """The smallest element; with a dimension, values and indices; with another tensor, the smaller of each pair."""
    return _extreme(
        input, dim, keepdim, other, "Min", reductions.min_, selection.minimum, reductions.argmin, support.min_result
    )


def _extreme(
    input: Any, dim: Any, keepdim: bool, other: Any, label: str, reduce: Any, pairwise: Any, find: Any, named: Any
) -> Any:  # fmt: skip
    if other is not None or (dim is not None and hasattr(dim, "shape") and hasattr(dim, "dtype")):
        return pairwise(lift(input), lift(dim if other is None else other))
    if dim is None:
        x = arrayed(input)
        if not math.prod(x.shape):
            raise AutogradError(
                f"{label.lower()}(): Expected reduction dim to be specified for input.numel() == 0. Specify "
                "the reduction "
                "dim with the 'dim' argument."
            )
        return reduce(x, axis=None, keepdims=False)
    return _chosen(input, dim, keepdim, label, lambda x, axis: find(x, axis=axis, keepdims=True), named)


# ------------------------------------------------------------------------------------------------------------- sorting


def order_of(x: Any, axis: int, descending: bool) -> Any:
    """The stable order of the elements; NaN last, or first if descending."""
    if not descending:
        return selection.argsort(x, axis=axis)
    backward = selection.argsort(flip(x, axis=(axis,)), axis=axis)
    return flip((x.shape[axis] - 1) - backward, axis=(axis,))


@numpy_keywords
def sort(input: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """The elements in order along a dimension, and the positions they had."""
    x = arrayed(input)
    axis = one_dim(dim, x.ndim)
    if not x.ndim:
        return support.sort_result(copy(x), result(np.zeros((), np.int64), x))
    order = order_of(x, axis, descending)
    return support.sort_result(selection.permute_along(x, order, axis=axis), order)


@numpy_keywords
def argsort(input: Any, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """The positions that put the elements in order."""
    x = arrayed(input)
    axis = one_dim(dim, x.ndim)
    return order_of(x, axis, descending) if x.ndim else result(np.zeros((), np.int64), x)


def msort(input: Any) -> Any:
    """The elements in order along the first dimension."""
    return sort(input, 0)[0]


@numpy_keywords
def topk(input: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The k largest (or smallest) elements of a dimension, in order, and their positions."""
    x = arrayed(input)
    axis = one_dim(dim, x.ndim)
    if not 0 <= k <= (x.shape[axis] if x.ndim else 1):
        raise AutogradError("selected index k out of range")
    if not x.ndim:
        return support.topk_result(copy(x), result(np.zeros((), np.int64), x))
    order = take_at_window(order_of(x, axis, largest), axis, 0, k)
    return support.topk_result(*_pick(x, order, axis, True, "Topk"))


@numpy_keywords
def kthvalue(input: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The k-th smallest element of a dimension, counting from 1."""
    x = arrayed(input)
    if not 1 <= k <= (x.shape[one_dim(dim, x.ndim)] if x.ndim else 1):
        raise AutogradError("kthvalue(): selected number k out of range for dimension")
    return _chosen(
        x, dim, keepdim, "Kthvalue", lambda x, axis: take_at_window(order_of(x, axis, False), axis, k - 1, k),
        support.kthvalue_result,
    )  # fmt: skip


# -------------------------------------------------------------------------------------------------------------- middle


def _middle(values: Any, axis: int, skip_nan: bool) -> Any:
    """The position of the lower middle element; of the first NaN if there is one and it is not skipped."""
    order = np.argsort(values, axis=axis, kind="stable")
    missing = np.isnan(values) if values.dtype.kind in "fc" else np.zeros(values.shape, bool)
    count = values.shape[axis] - (np.count_nonzero(missing, axis, keepdims=True) if skip_nan else 0)
    place = np.take_along_axis(order, np.broadcast_to(np.maximum(count - 1, 0) // 2, _one(values.shape, axis)), axis)
    if skip_nan:
        return place
    return np.where(missing.any(axis, keepdims=True), np.argmax(missing, axis=axis, keepdims=True), place)


def _one(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], 1, *shape[axis + 1 :])


def _median(input: Any, dim: Any, keepdim: bool, skip_nan: bool, label: str, named: Any) -> Any:
    def find(x: Any, axis: int) -> Any:
        return result(_middle(value_of(x), axis, skip_nan), x)

    if dim is not None:
        return _chosen(input, dim, keepdim, label, find, named)
    flat = ravel(input)
    if not flat.shape[0]:
        return result(np.full((), np.nan, flat.dtype), flat)
    return _chosen(flat, 0, False, label, find, named)[0]


@numpy_keywords
def median(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The middle element, the lower of two; with a dimension, values and indices."""
    return _median(
        input, dim, keepdim, False, "=MedianBackward1" if dim is not None else "Median", support.median_result
    )


@numpy_keywords
def nanmedian(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The middle of what is not NaN, the lower of two; with a dimension, values and indices."""
    return _median(
        input, dim, keepdim, True, "=NanmedianBackward1" if dim is not None else "Nanmedian", support.nanmedian_result
    )


@numpy_keywords
def mode(input: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent element of a dimension, the smallest of several, and its last position."""

    def find(x: Any, axis: int) -> Any:
        def last_of_mode(row: Any) -> Any:
            found, counts = np.unique(row, return_counts=True)
            return np.flatnonzero(row == found[np.argmax(counts)])[-1:]

        return result(np.apply_along_axis(last_of_mode, axis, value_of(x)), x)

    return _chosen(input, dim, keepdim, "Mode", find, support.mode_result)


def _interpolated(
    input: Any, q: Any, dim: Any, keepdim: bool, interpolation: str, skip_nan: bool
) -> Any:  # fmt: skip
    """Between the two neighbours in the sorted elements, as `np.quantile` has it."""
    x = arrayed(input)
    shape = x.shape
    x, axis = (ravel(x), 0) if dim is None else (at_least_1d(x), one_dim(dim, x.ndim))
    if x.dtype.kind != "f":
        raise AutogradError("quantile() input tensor must be either float or double dtype")
    levels = np.asarray(value_of(lift(q)), x.dtype)
    if levels.ndim > 1 or np.any((levels < 0) | (levels > 1)):
        raise AutogradError("quantile() q values must be in the range [0, 1]")
    ordered = sort(x, axis)[0]
    missing = np.isnan(value_of(x))
    count = x.shape[axis] - (
        np.count_nonzero(missing, axis, keepdims=True) if skip_nan else np.zeros(_one(x.shape, axis), int)
    )
    moved = levels.reshape(-1, *(1,) * x.ndim)
    rank = moved * np.maximum(count - 1, 0)
    low, high = np.floor(rank), np.ceil(rank)
    weight = {
        "linear": rank - low,
        "lower": 0.0 * rank,
        "higher": np.ceil(rank - low),
        "midpoint": np.where(low == high, 0.0, 0.5),
        "nearest": np.rint(rank) - low,
    }.get(interpolation)
    if weight is None:
        raise AutogradError(
            f"quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but "
            f"got {interpolation}"
        )
    rows = []
    for k in range(moved.shape[0]):
        below, above = (tl.picked(ordered, p[k].astype(np.int64), axis=axis, label="Gather") for p in (low, high))
        row = below + (above - below) * weight[k].astype(x.dtype)
        if not skip_nan:
            row = el.where(missing.any(axis, keepdims=True), np.asarray(np.nan, x.dtype), row)
        rows.append(row)
    kept = (1,) * len(shape) if dim is None else _one(x.shape, axis)
    target = kept if keepdim else () if dim is None else (*x.shape[:axis], *x.shape[axis + 1 :])
    if levels.ndim == 0:
        return reshape(rows[0], shape=target)
    return stack(*[reshape(row, shape=target) for row in rows], axis=0)


@numpy_keywords
def quantile(input: Any, q: Any, dim: Any = None, keepdim: bool = False, *, interpolation: str = "linear") -> Any:
    """The q-quantiles along a dimension or of all elements; a vector of q adds a first dimension."""
    return _interpolated(input, q, dim, keepdim, interpolation, False)


@numpy_keywords
def nanquantile(input: Any, q: Any, dim: Any = None, keepdim: bool = False, *, interpolation: str = "linear") -> Any:
    """`quantile` of what is not NaN."""
    return _interpolated(input, q, dim, keepdim, interpolation, True)


# ------------------------------------------------------------------------------------------------------------- running


def _running(input: Any, dim: Any, ufunc: Any, label: str, named: Any) -> Any:
    x = arrayed(input)
    axis = one_dim(dim, x.ndim)
    if not x.ndim:
        return named(copy(x), result(np.zeros((), np.int64), x))
    values = value_of(x)
    best = ufunc.accumulate(values, axis)
    # the last position so far that attains the extreme
    attained = (values == best) | (np.isnan(values) if values.dtype.kind in "fc" else False)
    steps = np.arange(values.shape[axis]).reshape((-1, *(1,) * (values.ndim - 1 - axis)))
    places = np.maximum.accumulate(np.where(attained, steps, 0), axis)
    return named(*_pick(x, result(places, x), axis, True, label))


@numpy_keywords
def cummax(input: Any, dim: int) -> Any:
    """The largest element up to each, and its (last) position."""
    return _running(input, dim, np.maximum, "Cummax", support.cummax_result)


@numpy_keywords
def cummin(input: Any, dim: int) -> Any:
    """The smallest element up to each, and its (last) position."""
    return _running(input, dim, np.minimum, "Cummin", support.cummin_result)
