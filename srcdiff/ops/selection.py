"""Choosing among values: the larger, the nearest within bounds, those in order. Gradients go to what was chosen."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.aval import Aval, aval
from srcdiff.core.primitive import Primitive
from srcdiff.ops.elementwise import (
    equal,
    greater,
    greater_equal,
    isfinite,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_or,
    where,
)
from srcdiff.ops.families import elementwise, linear, nondiff

# ------------------------------------------------------------------------------------------------- larger and smaller


def _to_first(t: Any, loses: Any, ties: Any) -> Any:
    """All to the winner, half to each of two that tie."""
    return where(loses, 0.0, where(ties, 0.5 * t, t))


maximum = elementwise(
    "maximum", "x y", "np.maximum(x, y)",
    along=[
        lambda t, out, x, y: _to_first(t, less(x, y), equal(x, y)),
        lambda t, out, x, y: _to_first(t, greater(x, y), equal(x, y)),
    ], selects=True,
)  # fmt: skip
minimum = elementwise(
    "minimum", "x y", "np.minimum(x, y)",
    along=[
        lambda t, out, x, y: _to_first(t, greater(x, y), equal(x, y)),
        lambda t, out, x, y: _to_first(t, less(x, y), equal(x, y)),
    ], selects=True,
)  # fmt: skip
# fmax and fmin pass NaN over; of two that tie the first is taken, as in PyTorch
fmax = elementwise(
    "fmax", "x y", "np.fmax(x, y)",
    along=[
        lambda t, out, x, y: where(logical_or(greater_equal(x, y), isnan(y)), t, 0.0),
        lambda t, out, x, y: where(logical_or(greater_equal(x, y), isnan(y)), 0.0, t),
    ], selects=True,
)  # fmt: skip
fmin = elementwise(
    "fmin", "x y", "np.fmin(x, y)",
    along=[
        lambda t, out, x, y: where(logical_or(less_equal(x, y), isnan(y)), t, 0.0),
        lambda t, out, x, y: where(logical_or(less_equal(x, y), isnan(y)), 0.0, t),
    ], selects=True,
)  # fmt: skip


def _crossed(x: Any, low: Any, high: Any) -> Any:
    """Where the upper bound is below the lower one, or both are one that x is below."""
    return logical_or(less(high, low), logical_and(equal(high, low), less(x, low)))


# At a bound the value still is x; where the bounds cross, the upper one is the result.
clip = elementwise(
    "clip", "x low high", "np.clip(x, low, high)",
    along=[
        lambda t, out, x, low, high: where(logical_and(greater_equal(x, low), less_equal(x, high)), t, 0.0),
        lambda t, out, x, low, high: where(logical_and(less(x, low), less(low, high)), t, 0.0),
        lambda t, out, x, low, high: where(logical_or(greater(x, high), _crossed(x, low, high)), t, 0.0),
    ],
    fast="rt.clip(x, low, high)", label="Clamp", selects=True,
)  # fmt: skip
nan_to_num = elementwise(
    "nan_to_num", "x", "np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)",
    along=[lambda t, out, x, *, nan, posinf, neginf: where(isfinite(x), t, 0.0)], params="nan posinf neginf",
    selects=True,
)  # fmt: skip

# ------------------------------------------------------------------------------------------------------------- order


def _like_x(x: Aval, order: Aval, *, axis: int) -> Aval:
    return aval(order.shape, x.dtype)


def _indices(x: Aval, **params: Any) -> Aval:
    return aval(x.shape, np.dtype(np.intp))


argsort = nondiff("argsort", "x", 'np.argsort(x, axis=axis, kind="stable")', _indices, "axis")
# where the running maximum or minimum was last attained
cummax_index = nondiff("cummax_index", "x", "rt.cummax_index(x, axis)", _indices, "axis")
cummin_index = nondiff("cummin_index", "x", "rt.cummin_index(x, axis)", _indices, "axis")
argpartition = nondiff("argpartition", "x", "np.argpartition(x, kth, axis=axis)", _indices, "kth axis")


def _places(x: Aval, *, count: int) -> tuple[Aval, ...]:
    return (aval((count,), np.dtype(np.intp)),) * len(x.shape)


# where x is not zero, along each axis: `count` elements, or else the call is another one than was recorded
places = nondiff("places", "x", "rt.places(x, count)", _places, "count", multi=True, label="Nonzero")
searchsorted = nondiff(
    "searchsorted", "table x", "np.searchsorted(table, x, side)",
    lambda table, x, *, side: aval(x.shape, np.dtype(np.intp)), "side",
)  # fmt: skip
isclose = nondiff("isclose", "x y", "np.isclose(x, y, rtol, atol, equal_nan)", None, "rtol atol equal_nan")
# x rearranged along an axis: `order` holds a permutation there, whose inverse is its argsort. Sorting is this with
# the order found beforehand, so that, as in PyTorch, it saves no more than the order.
permute_along: Primitive = linear(
    "permute_along", "x order", "np.take_along_axis(x, order, axis=axis)",
    lambda ct, out, x, order, *, axis: permute_along(ct, argsort(order, axis=axis), axis=axis),
    infer=_like_x, params="axis", label="Sort",
)  # fmt: skip
