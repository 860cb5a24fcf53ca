"""np.sum, np.mean, np.max and the other reductions, with all of NumPy's keywords but `out`.

`where=` is a choice before the reduction, `initial=` an operation after it, `dtype=` a cast before it: primitives know
only `axis` and `keepdims`.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from srcdiff.functions.dispatch import implements, no_value, operand
from srcdiff.ops import elementwise as e
from srcdiff.ops import reductions as r
from srcdiff.ops import selection
from srcdiff.ops.families import normalize_axes, reduced_shape
from srcdiff.ops.structural import broadcast_to, cast


def as_array(x: Any, dtype: Any = None) -> Any:
    """`x` as a Tensor or array, of the given dtype if one is given."""
    x = operand(x)
    if isinstance(x, (bool, int, float, complex)):
        x = np.asarray(x)
    return x if dtype is None or x.dtype == dtype else cast(x, dtype=np.dtype(dtype))


def size(x: Any) -> int:
    """The number of elements of a Tensor or array."""
    return math.prod(x.shape)


def canonical(axis: Any, ndim: int) -> Any:
    """`axis` as primitives take it: None, a non-negative int, or an ascending tuple of them."""
    if axis is None or (type(axis) is int and 0 <= axis < ndim):
        return axis
    if isinstance(axis, tuple):
        axes = normalize_axes(tuple(map(operator.index, axis)), ndim)
        return axes[0] if len(axes) == 1 else axes
    return normalize_axes(operator.index(axis), ndim)[0] if ndim else _scalar_axis(axis)


def _scalar_axis(axis: Any) -> Any:
    # NumPy lets axis 0 or -1 of a 0-d array pass
    if operator.index(axis) not in (0, -1):
        raise np.exceptions.AxisError(axis, 0)


def flag(keepdims: Any) -> bool:
    """`keepdims` as a bool."""
    return keepdims is not no_value and bool(keepdims)


def given(value: Any) -> bool:
    """Whether a keyword was given a value."""
    return value is not no_value and value is not None


def masked(x: Any, where: Any, fill: Any) -> Any:
    """x where `where` holds, `fill` elsewhere; all of x if `where` is True or not given."""
    return x if where is True or where is no_value else e.where(operand(where), x, fill)


@implements(np.sum, method="sum")
def sum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: Any = no_value,
    initial: Any = no_value,
    where: Any = no_value,
) -> Any:
    """np.sum."""
    x = as_array(a, dtype)
    out = r.sum(masked(x, where, 0), axis=canonical(axis, x.ndim), keepdims=flag(keepdims))
    return as_array(out + initial if given(initial) else out, dtype)  # sums of small integers are larger ones


@implements(np.prod, method="prod")
def prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: Any = no_value,
    initial: Any = no_value,
    where: Any = no_value,
) -> Any:
    """np.prod."""
    x = as_array(a, dtype)
    out = r.prod(masked(x, where, 1), axis=canonical(axis, x.ndim), keepdims=flag(keepdims))
    return as_array(out * initial if given(initial) else out, dtype)


@implements(np.mean, method="mean")
def mean(a: Any, axis: Any = None, dtype: Any = None, keepdims: Any = no_value, *, where: Any = no_value) -> Any:
    """np.mean."""
    x = as_array(a, dtype)
    axis, keepdims = canonical(axis, x.ndim), flag(keepdims)
    if where is no_value or where is True:
        return as_array(r.mean(x, axis=axis, keepdims=keepdims), dtype)
    x = x if x.dtype.kind in "fc" else cast(x, dtype=np.dtype(float))
    total = r.sum(masked(x, where, 0.0), axis=axis, keepdims=keepdims)
    return as_array(total / number(x, axis, keepdims, where), dtype)


def number(x: Any, axis: Any, keepdims: bool, where: Any) -> Any:
    """How many elements `where` lets into each element of the result, in the (real) dtype of x."""
    mask = operand(where) if where is not True and where is not no_value else np.True_
    count = r.sum(broadcast_to(mask, shape=tuple(x.shape)), axis=axis, keepdims=keepdims)
    return cast(count, dtype=np.zeros(0, x.dtype).real.dtype)


# ---------------------------------------------------------------------------------------------- maximum and minimum


def lowest(dtype: Any) -> Any:
    """The number no greater than any of the dtype."""
    if dtype.kind == "b":
        return False
    return int(np.iinfo(dtype).min) if dtype.kind in "iu" else -np.inf


def highest(dtype: Any) -> Any:
    """The number no less than any of the dtype."""
    if dtype.kind == "b":
        return True
    return int(np.iinfo(dtype).max) if dtype.kind in "iu" else np.inf


def _extreme(
    reduce: Any, combine: Any, neutral: Any, x: Any, axis: Any, keepdims: Any, initial: Any, where: Any
) -> Any:
    axis, keepdims = canonical(axis, x.ndim), flag(keepdims)
    if not given(initial):
        if where is True or where is no_value:
            return reduce(x, axis=axis, keepdims=keepdims)
        raise ValueError(
            f"reduction operation '{combine.name}' does not have an identity, so to use a where mask one has to "
            "specify 'initial'"
        )
    shape = reduced_shape(tuple(x.shape), axis, keepdims)
    if size(x) == 0:
        return broadcast_to(as_array(initial, x.dtype), shape=shape)
    return combine(reduce(masked(x, where, neutral(x.dtype)), axis=axis, keepdims=keepdims), initial)


@implements(np.max, np.amax, method="max")
def max_(a: Any, axis: Any = None, keepdims: Any = no_value, initial: Any = no_value, where: Any = no_value) -> Any:
    """np.max; those that tie share the gradient."""
    return _extreme(r.max_, selection.maximum, lowest, as_array(a), axis, keepdims, initial, where)


@implements(np.min, np.amin, method="min")
def min_(a: Any, axis: Any = None, keepdims: Any = no_value, initial: Any = no_value, where: Any = no_value) -> Any:
    """np.min; those that tie share the gradient."""
    return _extreme(r.min_, selection.minimum, highest, as_array(a), axis, keepdims, initial, where)


@implements(np.ptp)
def ptp(a: Any, axis: Any = None, keepdims: Any = no_value) -> Any:
    """np.ptp: the maximum minus the minimum."""
    return max_(a, axis=axis, keepdims=keepdims) - min_(a, axis=axis, keepdims=keepdims)


# ---------------------------------------------------------------------------------------------- counting and finding


@implements(np.all, method="all")
def truth_of_all(a: Any, axis: Any = None, keepdims: Any = no_value, *, where: Any = no_value) -> Any:
    """np.all."""
    x = as_array(a)
    return r.all_(masked(x, where, True), axis=canonical(axis, x.ndim), keepdims=flag(keepdims))


@implements(np.any, method="any")
def truth_of_any(a: Any, axis: Any = None, keepdims: Any = no_value, *, where: Any = no_value) -> Any:
    """np.any."""
    x = as_array(a)
    return r.any_(masked(x, where, False), axis=canonical(axis, x.ndim), keepdims=flag(keepdims))


@implements(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    """np.count_nonzero."""
    x = as_array(a)
    return r.count_nonzero(x, axis=canonical(axis, x.ndim), keepdims=flag(keepdims))


@implements(np.argmax, method="argmax")
def argmax(a: Any, axis: Any = None, *, keepdims: Any = no_value) -> Any:
    """np.argmax."""
    x = as_array(a)
    return r.argmax(x, axis=canonical(axis, x.ndim), keepdims=flag(keepdims))


@implements(np.argmin, method="argmin")
def argmin(a: Any, axis: Any = None, *, keepdims: Any = no_value) -> Any:
    """np.argmin."""
    x = as_array(a)
    return r.argmin(x, axis=canonical(axis, x.ndim), keepdims=flag(keepdims))
