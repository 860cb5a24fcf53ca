"""np.nansum and its like: what is NaN is left out, and gets no gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.functions.dispatch import implements, no_value, operand, values_of
from srcdiff.functions.reductions import as_array, canonical, flag, masked, max_, mean, min_, prod, size
from srcdiff.functions.statistics import (
    check_quantiles,
    grouped,
    grouped_weights,
    in_order,
    picked,
    real_numbers,
    result_type,
    std,
    var,
    virtual_index,
    weighed,
)
from srcdiff.ops import elementwise as e
from srcdiff.ops import reductions as r
from srcdiff.ops.structural import reshape, transpose


def present(x: Any, where: Any = no_value) -> Any:
    """Where x is not NaN (and `where` holds)."""
    kept = e.logical_not(e.isnan(x)) if x.dtype.kind in "fc" else True
    if where is no_value or where is True:
        return kept
    return operand(where) if kept is True else e.logical_and(kept, operand(where))


@implements(np.nansum)
def nansum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: Any = no_value,
    initial: Any = no_value,
    where: Any = no_value,
) -> Any:
    """np.nansum."""
    x = as_array(a, dtype)
    add = r.nansum if x.dtype.kind in "fc" else r.sum
    out = add(masked(x, where, 0), axis=canonical(axis, x.ndim), keepdims=flag(keepdims))
    return as_array(out if initial is no_value or initial is None else out + initial, dtype)


@implements(np.nanprod)
def nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: Any = no_value,
    initial: Any = no_value,
    where: Any = no_value,
) -> Any:
    """np.nanprod."""
    x = as_array(a)
    return prod(x, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=present(x, where))


@implements(np.nanmean)
def nanmean(a: Any, axis: Any = None, dtype: Any = None, keepdims: Any = no_value, *, where: Any = no_value) -> Any:
    """np.nanmean."""
    x = as_array(a)
    return mean(x, axis=axis, dtype=dtype, keepdims=keepdims, where=present(x, where))


@implements(np.nanvar)
def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, ddof: Any = 0, keepdims: Any = no_value, *, where: Any = no_value,
    mean: Any = no_value, correction: Any = no_value,
) -> Any:  # fmt: skip
    """np.nanvar."""
    x = as_array(a)
    kept = present(x, where)
    out = var(x, axis, dtype, ddof, keepdims, where=kept, mean=mean, correction=correction)
    return _of_enough(out, kept, axis, keepdims, ddof if correction is no_value else correction)


@implements(np.nanstd)
def nanstd(
    a: Any, axis: Any = None, dtype: Any = None, ddof: Any = 0, keepdims: Any = no_value, *, where: Any = no_value,
    mean: Any = no_value, correction: Any = no_value,
) -> Any:  # fmt: skip
    """np.nanstd."""
    x = as_array(a)
    kept = present(x, where)
    out = std(x, axis, dtype, ddof, keepdims, where=kept, mean=mean, correction=correction)
    return _of_enough(out, kept, axis, keepdims, ddof if correction is no_value else correction)


def _of_enough(out: Any, kept: Any, axis: Any, keepdims: Any, ddof: Any) -> Any:
    """NaN where there are no degrees of freedom; without `ddof`, no elements have NaN as their variance anyway."""
    if kept is True or (type(ddof) in (int, float) and ddof == 0):
        return out
    count = r.count_nonzero(kept, axis=canonical(axis, kept.ndim), keepdims=flag(keepdims))
    return e.where(e.less_equal(count, ddof), np.nan, out)


def _nan_extreme(reduce: Any, worst: float, a: Any, axis: Any, keepdims: Any, initial: Any, where: Any) -> Any:
    x = as_array(a)
    if x.dtype.kind not in "fc":
        return reduce(x, axis=axis, keepdims=keepdims, initial=initial, where=where)
    kept = present(x)
    out = reduce(e.where(kept, x, worst), axis=axis, keepdims=keepdims, initial=initial, where=where)
    if initial is not no_value:
        return out
    some = r.any_(kept, axis=canonical(axis, x.ndim), keepdims=flag(keepdims))
    return e.where(some, out, np.nan)  # nothing but NaN gives NaN


@implements(np.nanmax)
def nanmax(a: Any, axis: Any = None, keepdims: Any = no_value, initial: Any = no_value, where: Any = no_value) -> Any:
    """np.nanmax."""
    return _nan_extreme(max_, -np.inf, a, axis, keepdims, initial, where)


@implements(np.nanmin)
def nanmin(a: Any, axis: Any = None, keepdims: Any = no_value, initial: Any = no_value, where: Any = no_value) -> Any:
    """np.nanmin."""
    return _nan_extreme(min_, np.inf, a, axis, keepdims, initial, where)


# ------------------------------------------------------------------------------------------- medians and quantiles


@implements(np.nanquantile)
def nanquantile(
    a: Any, q: Any, axis: Any = None, overwrite_input: bool = False, method: str = "linear", keepdims: Any = no_value,
    *, weights: Any = None,
) -> Any:  # fmt: skip
    """np.nanquantile."""
    x = real_numbers(a, "np.nanquantile")
    return _nanquantile(x, as_array(q), result_type(np.nanquantile, x, q, method), axis, method, keepdims, weights)


def _nanquantile(x: Any, q: Any, exact: Any, axis: Any, method: str, keepdims: Any, weights: Any) -> Any:
    """The quantile, interpolated with weights of the dtype `exact`."""
    check_quantiles(q)
    rows, shape = grouped(x, canonical(axis, x.ndim))
    ordered = in_order(rows)  # NaN comes last
    if weights is not None:
        out = picked(np.nanquantile, rows, ordered, q, method, grouped_weights(weights, x, axis))
        return reshape(out, shape=(*q.shape, *(shape if flag(keepdims) else rows.shape[:-1])))
    count = np.sum(~np.isnan(values_of(rows)), axis=-1, keepdims=True)
    places = virtual_index(reshape(q, shape=(size(q),)), np.maximum(count, 1), method)
    out = weighed(ordered, places, np.maximum(count, 1), exact)
    out = transpose(out, axes=(out.ndim - 1, *range(out.ndim - 1)))
    return reshape(out, shape=(*q.shape, *(shape if flag(keepdims) else out.shape[1:])))


@implements(np.nanpercentile)
def nanpercentile(
    a: Any, q: Any, axis: Any = None, overwrite_input: bool = False, method: str = "linear", keepdims: Any = no_value,
    *, weights: Any = None,
) -> Any:  # fmt: skip
    """np.nanpercentile."""
    x = real_numbers(a, "np.nanpercentile")
    exact = result_type(np.nanpercentile, x, q, method)
    return _nanquantile(x, as_array(q) / 100, exact, axis, method, keepdims, weights)


@implements(np.nanmedian)
def nanmedian(a: Any, axis: Any = None, overwrite_input: bool = False, keepdims: Any = no_value) -> Any:
    """np.nanmedian."""
    x = real_numbers(a, "np.nanmedian")
    if not size(x):
        return np.nanmedian(np.zeros(tuple(x.shape), x.dtype), axis=axis, keepdims=flag(keepdims))
    return nanquantile(x, 0.5, axis, keepdims=keepdims)
