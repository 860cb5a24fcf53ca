"""Variance and what belongs to it, weighted averages, medians and quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.core.primitive import REGISTRY
from srcdiff.errors import DTypeError
from srcdiff.functions.dispatch import implements, no_value, values_of
from srcdiff.functions.reductions import as_array, canonical, flag, masked, mean, number, size
from srcdiff.functions.reductions import sum as sum_
from srcdiff.ops import elementwise as e
from srcdiff.ops import reductions as r
from srcdiff.ops.selection import argsort, maximum, permute_along
from srcdiff.ops.structural import cast, reshape, transpose
from srcdiff.ops.transcendental import sqrt
from srcdiff.tape.heard import warn

average_of = mean


@implements(np.var, method="var")
def var(
    a: Any, axis: Any = None, dtype: Any = None, ddof: Any = 0, keepdims: Any = no_value, *, where: Any = no_value,
    mean: Any = no_value, correction: Any = no_value,
) -> Any:  # fmt: skip
    """np.var."""
    ddof = _degrees(ddof, correction)
    x = as_array(a, dtype)
    axis, keepdims = canonical(axis, x.ndim), flag(keepdims)
    if (where is no_value or where is True) and mean is no_value and isinstance(ddof, (int, float)):
        return r.var(x, axis=axis, ddof=ddof, keepdims=keepdims)
    return _variance(x, axis, ddof, keepdims, where, mean)


@implements(np.std, method="std")
def std(
    a: Any, axis: Any = None, dtype: Any = None, ddof: Any = 0, keepdims: Any = no_value, *, where: Any = no_value,
    mean: Any = no_value, correction: Any = no_value,
) -> Any:  # fmt: skip
    """np.std; where all elements are equal the gradient is 0."""
    ddof = _degrees(ddof, correction)
    x = as_array(a, dtype)
    axis, keepdims = canonical(axis, x.ndim), flag(keepdims)
    if (where is no_value or where is True) and mean is no_value and isinstance(ddof, (int, float)):
        return r.std(x, axis=axis, ddof=ddof, keepdims=keepdims)
    spread = _variance(x, axis, ddof, keepdims, where, mean)
    flat = e.equal(spread, 0)
    return e.where(flat, 0.0, sqrt(e.where(flat, 1.0, spread)))


def _degrees(ddof: Any, correction: Any) -> Any:
    if correction is no_value:
        return ddof
    if ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


def _variance(x: Any, axis: Any, ddof: Any, keepdims: bool, where: Any, centre: Any) -> Any:
    x = x if x.dtype.kind in "fc" else cast(x, dtype=np.dtype(float))
    if centre is no_value:
        centre = average_of(x, axis=axis, keepdims=True, where=where)
    distance = masked(x - centre, where, 0.0)
    squares = distance * distance if x.dtype.kind == "f" else e.real(distance * e.conj(distance))
    total = r.sum(squares, axis=axis, keepdims=keepdims)
    return total / maximum(number(x, axis, keepdims, where) - ddof, 0.0)


@implements(np.average)
def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = no_value) -> Any:
    """np.average."""
    x = as_array(a)
    axis = canonical(axis, x.ndim)
    if weights is None:
        out = average_of(x, axis=axis, keepdims=keepdims)
        return (out, np.full(out.shape, size(x) / max(size(out), 1), out.dtype)[()]) if returned else out
    w = as_array(weights)
    w = as_array(w, np.result_type(x.dtype, w.dtype, *([] if x.dtype.kind in "fc" else [np.float64])))
    if w.shape != x.shape:
        w = _spread_weights(w, x, axis)
    scale = sum_(w, axis=axis, keepdims=keepdims)
    if np.any(np.asarray(e.equal(values_of(scale), 0.0))):
        raise ZeroDivisionError("Weights sum to zero, can't be normalized")
    out = sum_(x * w, axis=axis, keepdims=keepdims) / scale
    return (out, np.broadcast_to(scale, out.shape)) if returned else out


def _spread_weights(w: Any, x: Any, axis: Any) -> Any:
    """Weights for the elements along `axis`, with axes of length 1 for the rest."""
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    axes = axis if isinstance(axis, tuple) else (axis,)
    if tuple(w.shape) != tuple(x.shape[k] for k in axes):
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    return reshape(w, shape=tuple(n if k in axes else 1 for k, n in enumerate(x.shape)))


# ------------------------------------------------------------------------------------------- medians and quantiles

#: alpha and beta of Hyndman and Fan's continuous definitions
_CONTINUOUS = {
    "interpolated_inverted_cdf": (0.0, 1.0), "hazen": (0.5, 0.5), "weibull": (0.0, 0.0), "linear": (1.0, 1.0),
    "median_unbiased": (1 / 3, 1 / 3), "normal_unbiased": (3 / 8, 3 / 8),
}  # fmt: skip


def grouped(x: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
    """x with the reduced axes made one, last; and the reduced shape with axes of length 1 kept."""
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    kept = tuple(k for k in range(x.ndim) if k not in axes)
    if (*kept, *axes) != tuple(range(x.ndim)):
        x_moved = transpose(x, axes=(*kept, *axes))
    else:
        x_moved = x
    rows = tuple(x.shape[k] for k in kept)
    length = int(np.prod([x.shape[k] for k in axes], dtype=int))
    shape = tuple(1 if k in axes else n for k, n in enumerate(x.shape))
    return reshape(x_moved, shape=(*rows, length)), shape


def in_order(x: Any) -> Any:
    """x sorted along its last axis."""
    return permute_along(x, argsort(x, axis=x.ndim - 1), axis=x.ndim - 1)


def _poisoned(out: Any, ordered: Any) -> Any:
    """NaN where there is one among the ordered values: NaN is sorted last."""
    if ordered.dtype.kind != "f":
        return out
    last = ordered[..., -1]
    return e.where(e.isnan(last), last, out)


@implements(np.median)
def median(a: Any, axis: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> Any:
    """np.median."""
    x = as_array(a)
    rows, shape = grouped(x, canonical(axis, x.ndim))
    n = rows.shape[-1]
    if n == 0:
        return np.median(np.zeros(tuple(x.shape), x.dtype), axis=axis, keepdims=keepdims)
    ordered = in_order(rows)
    middle = ordered[..., (n - 1) // 2 : n // 2 + 1]
    out = _poisoned(average_of(middle, axis=-1), ordered)
    return reshape(out, shape=shape) if keepdims else out


def check_quantiles(q: Any) -> None:
    """Raises ValueError if one is not from 0 to 1."""
    points = values_of(q)
    if not np.all((points >= 0) & (points <= 1)):
        raise ValueError("Quantiles must be in the range [0, 1]")


@implements(np.quantile)
def quantile(
    a: Any, q: Any, axis: Any = None, overwrite_input: bool = False, method: str = "linear", keepdims: Any = False, *,
    weights: Any = None,
) -> Any:  # fmt: skip
    """np.quantile; by a definition that picks elements, or with weights, the quantile and the weights have slope 0."""
    x = real_numbers(a, "np.quantile")
    return _quantile(x, as_array(q), result_type(np.quantile, x, q, method), axis, method, keepdims, weights)


def _quantile(x: Any, q: Any, exact: Any, axis: Any, method: str, keepdims: Any, weights: Any) -> Any:
    """The quantile, interpolated with weights of the dtype `exact`."""
    check_quantiles(q)
    rows, shape = grouped(x, canonical(axis, x.ndim))
    n = rows.shape[-1]
    ordered = in_order(rows)
    if weights is not None:
        out = picked(np.quantile, rows, ordered, q, method, grouped_weights(weights, x, axis))
        return reshape(out, shape=(*q.shape, *(shape if keepdims else rows.shape[:-1])))
    out = weighed(ordered, virtual_index(reshape(q, shape=(size(q),)), n, method), n, exact)
    if x.dtype.kind == "f":
        last = ordered[..., -1:]
        out = e.where(e.isnan(last), last, out)
    out = transpose(out, axes=(out.ndim - 1, *range(out.ndim - 1)))
    return reshape(out, shape=(*q.shape, *(shape if keepdims else out.shape[1:])))


def result_type(numpy_function: Any, x: Any, q: Any, method: str) -> Any:
    """The dtype of NumPy's result, which depends on the type of q."""
    return x.dtype if x.dtype == np.float64 else numpy_function(np.zeros(1, x.dtype), values_of(q), method=method).dtype


def real_numbers(a: Any, name: str) -> Any:
    """An array of floats. DTypeError for complex numbers, which have no order."""
    x = as_array(a)
    if x.dtype.kind == "c":
        raise DTypeError(f"{name}: a must be an array of real numbers")
    return x if x.dtype.kind == "f" else cast(x, dtype=np.dtype(float))


def virtual_index(q: Any, n: Any, method: str) -> Any:
    """The place of each quantile among n ordered values, between 0 and n - 1."""
    if method in _CONTINUOUS:
        alpha, beta = _CONTINUOUS[method]
        place = (n - 1) * q if method == "linear" else n * q + (alpha + q * (1.0 - alpha - beta)) - 1.0
        return np.clip(place, 0, n - 1)
    place = (n - 1) * values_of(q)
    if method == "midpoint":
        return 0.5 * (np.floor(place) + np.ceil(place))
    if method in _ROUNDED:
        return _ROUNDED[method](place)
    if method not in _BY_COUNT:
        raise ValueError(
            f"{method!r} is not a valid method. Use one of: {sorted((*_CONTINUOUS, *_ROUNDED, *_BY_COUNT))}"
        )
    place = n * values_of(q) - (1.5 if method == "closest_observation" else 1.0)
    below = np.floor(place)
    return np.clip(below + _BY_COUNT[method](place == below, below), 0, n - 1)


_ROUNDED = {"lower": np.floor, "higher": np.ceil, "nearest": np.rint}
#: how far above the element below the place is, given whether the place is that of an element, and which
_BY_COUNT: dict[str, Any] = {
    "inverted_cdf": lambda hit, below: np.where(hit, 0.0, 1.0),
    "averaged_inverted_cdf": lambda hit, below: np.where(hit, 0.5, 1.0),
    "closest_observation": lambda hit, below: np.where(hit & (below % 2 == 1), 0.0, 1.0),
}


def grouped_weights(weights: Any, x: Any, axis: Any) -> Any:
    """The weights of all elements, arranged as `grouped` arranges x."""
    w = np.asarray(values_of(weights))
    axis = canonical(axis, x.ndim)
    if w.shape != tuple(x.shape):
        w = np.broadcast_to(_spread_weights(w, x, axis), tuple(x.shape))
    return grouped(w, axis)[0]


def picked(numpy_function: Any, rows: Any, ordered: Any, q: Any, method: str, weights: Any) -> Any:
    """The elements of the ordered rows whose ranks are the quantiles of the ranks."""
    values = values_of(rows)
    ranks = np.argsort(np.argsort(values, axis=-1, kind="stable"), axis=-1).astype(float)
    ranks[np.isnan(values)] = np.nan
    found = numpy_function(ranks, np.atleast_1d(values_of(q)).ravel(), axis=-1, method=method, weights=weights)
    found = np.moveaxis(found, 0, -1)
    missing = np.isnan(found)
    out = REGISTRY["take_along_axis"](ordered, np.where(missing, 0, found).astype(int), axis=ordered.ndim - 1)
    out = e.where(missing, np.nan, out) if missing.any() else out
    return transpose(out, axes=(out.ndim - 1, *range(out.ndim - 1)))


def weighed(ordered: Any, places: Any, n: Any, exact: Any) -> Any:
    """The values at fractional places along the last axis, by linear interpolation; rounded as NumPy rounds,
    with weights of the dtype `exact`.

    `places` has shape (quantiles,) or (..., quantiles), and n, the number of values there are, broadcasts against it.
    """
    below = np.clip(np.floor(values_of(places)), 0, n - 1).astype(int)
    above = np.minimum(below + 1, n - 1)
    part = cast(places - below, dtype=exact)
    if below.ndim == 1:
        low, high = ordered[..., below], ordered[..., above]
    else:
        low, high = (REGISTRY["take_along_axis"](ordered, k, axis=ordered.ndim - 1) for k in (below, above))
    return e.where(e.greater_equal(part, 0.5), high - (high - low) * (1.0 - part), low + (high - low) * part)


@implements(np.percentile)
def percentile(
    a: Any, q: Any, axis: Any = None, overwrite_input: bool = False, method: str = "linear", keepdims: Any = False, *,
    weights: Any = None,
) -> Any:  # fmt: skip
    """np.percentile."""
    x = real_numbers(a, "np.percentile")
    return _quantile(x, as_array(q) / 100, result_type(np.percentile, x, q, method), axis, method, keepdims, weights)


# ------------------------------------------------------------------------------------------------------- covariance


@implements(np.cov)
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None, fweights: Any = None,
    aweights: Any = None, *, dtype: Any = None,
) -> Any:  # fmt: skip
    """np.cov."""
    x = _observations(m, rowvar, dtype)
    if y is not None:
        x = np.concatenate((x, _observations(y, rowvar, dtype)), axis=0)
    ddof = (0 if bias else 1) if ddof is None else ddof
    if ddof != int(ddof):
        raise ValueError("ddof must be integer")
    w, total, freedom = _observation_weights(fweights, aweights, x.shape[1], ddof)
    centre = average_of(x, axis=1, keepdims=True) if w is None else sum_(x * w, axis=1, keepdims=True) / total
    x = x - centre
    if values_of(freedom) <= 0:
        warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=2)
        freedom = np.float64(0.0)
    out = x @ transpose(e.conj(x if w is None else x * w), axes=(1, 0)) / freedom
    return reshape(out, shape=()) if out.shape == (1, 1) else out


def _observation_weights(fweights: Any, aweights: Any, count: int, ddof: Any) -> tuple[Any, Any, Any]:
    """The weights (None if all are 1), their sum, and what the sum of products is divided by."""
    w: Any = None
    if fweights is not None:
        f = np.asarray(values_of(fweights), dtype=float)
        if not np.all(f == np.around(f)):
            raise TypeError("fweights must be integer")
        _check_weights("fweights", f, count)
        w = f
    if aweights is not None:
        a = as_array(aweights, np.float64)
        _check_weights("aweights", values_of(a), count)
        w = a if w is None else w * a
    if w is None:
        return None, count, count - ddof
    total = sum_(w)
    if ddof == 0:
        return w, total, total
    if aweights is None:
        return w, total, total - ddof
    return w, total, total - ddof * sum_(w * a) / total


def _check_weights(name: str, w: Any, count: int) -> None:
    if w.ndim > 1:
        raise RuntimeError(f"cannot handle multidimensional {name}")
    if w.shape[0] != count:
        raise RuntimeError(f"incompatible numbers of samples and {name}")
    if np.any(w < 0):
        raise ValueError(f"{name} cannot be negative")


def _observations(m: Any, rowvar: bool, dtype: Any) -> Any:
    """One variable a row."""
    x = as_array(m)
    x = as_array(x, dtype if dtype is not None else np.result_type(x.dtype, np.float64))
    if x.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    if x.ndim < 2:
        return reshape(x, shape=(1, size(x)))
    return x if rowvar or x.shape[0] == 1 else transpose(x, axes=(1, 0))


@implements(np.corrcoef)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """np.corrcoef."""
    c = cov(x, y, rowvar, dtype=dtype)
    if not c.ndim:
        return c / c
    deviation = sqrt(e.real(c[np.arange(c.shape[0]), np.arange(c.shape[0])]))
    c = c / reshape(deviation, shape=(*deviation.shape, 1)) / deviation
    if c.dtype.kind == "c":
        return np.clip(e.real(c), -1, 1) + 1j * np.clip(e.imag(c), -1, 1)
    return np.clip(c, -1, 1)
