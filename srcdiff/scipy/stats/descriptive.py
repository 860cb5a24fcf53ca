"""Statistics of samples: means, moments, standard scores, entropies.

They take SciPy's keywords; `nan_policy` may only be "propagate".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from srcdiff.functions.reductions import as_array
from srcdiff.functions.statistics import average, percentile
from srcdiff.ops.elementwise import where
from srcdiff.ops.special_scipy import entr, rel_entr
from srcdiff.ops.structural import cast, reshape
from srcdiff.ops.transcendental import exp, log, sqrt
from srcdiff.scipy.support import constant, mirrors, number, unsupported

__all__ = [
    "entropy", "gmean", "gstd", "gzscore", "hmean", "iqr", "kstat", "kstatvar", "kurtosis", "median_abs_deviation",
    "moment", "pmean", "sem", "skew", "tmean", "trim_mean", "tsem", "tstd", "tvar", "variation", "zmap", "zscore",
]  # fmt: skip


def floats(a: Any, dtype: Any = None) -> Any:
    """`a` as an array or Tensor of floats."""
    a = as_array(a, dtype)
    return a if a.dtype.kind == "f" else cast(a, dtype=np.dtype(float))


def group_size(a: Any, axis: Any) -> int:
    """How many elements of `a` are reduced to one."""
    axes = range(a.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return math.prod(a.shape[k] for k in axes)


# ---------------------------------------------------------------------------------------------------------------- means


def _average(a: Any, axis: Any, weights: Any, keepdims: bool) -> Any:
    return average(a, axis=axis, weights=None if weights is None else floats(weights), keepdims=keepdims)


@mirrors(stats.gmean)
def gmean(a: Any, axis: Any = 0, dtype: Any = None, weights: Any = None, *, keepdims: bool = False) -> Any:
    return exp(_average(log(floats(a, dtype)), axis, weights, keepdims))


@mirrors(stats.hmean)
def hmean(a: Any, axis: Any = 0, dtype: Any = None, *, weights: Any = None, keepdims: bool = False) -> Any:
    a = floats(a, dtype)
    return _of_positive(a, lambda a: 1.0 / _average(1.0 / a, axis, weights, keepdims), axis, keepdims)


@mirrors(stats.pmean)
def pmean(
    a: Any, p: Any, *, axis: Any = 0, dtype: Any = None, weights: Any = None, keepdims: bool = False
) -> Any:  # fmt: skip
    a, p = floats(a, dtype), number(p, "p of scipy.stats.pmean")
    if p == 0:
        return gmean(a, axis=axis, weights=weights, keepdims=keepdims)
    return _of_positive(a, lambda a: _average(a**p, axis, weights, keepdims) ** (1.0 / p), axis, keepdims)


def _of_positive(a: Any, f: Callable[[Any], Any], axis: Any, keepdims: bool) -> Any:
    """f(a), and NaN for groups with a negative element, which have no such mean."""
    negative = a < 0
    out = f(where(negative, 1.0, a))
    return where(np.any(negative, axis=axis, keepdims=keepdims), np.nan, out)


@mirrors(stats.trim_mean)
def trim_mean(a: Any, proportiontocut: Any, axis: Any = 0, *, keepdims: bool = False) -> Any:
    """The mean without that part of the smallest and of the largest elements."""
    a, part = floats(a), number(proportiontocut, "proportiontocut of scipy.stats.trim_mean")
    if axis is None:
        a, axis, shape = reshape(a, shape=(math.prod(a.shape),)), 0, (1,) * a.ndim
    elif isinstance(axis, tuple):
        raise unsupported(f"scipy.stats.trim_mean: the keyword axis={axis!r}")
    else:
        shape = tuple(1 if k == axis % a.ndim else n for k, n in enumerate(a.shape))
    size = a.shape[axis]
    low = int(part * size)
    if low > size - low:
        raise ValueError("Proportion too big.")
    middle = np.take(np.sort(a, axis=axis), np.arange(low, size - low), axis=axis)
    out = np.mean(middle, axis=axis)
    return reshape(out, shape=shape) if keepdims else out


# -------------------------------------------------------------------------------------------------- spread and scores


@mirrors(stats.sem)
def sem(a: Any, axis: Any = 0, ddof: Any = 1, *, keepdims: bool = False) -> Any:
    a = floats(a)
    return np.std(a, axis=axis, ddof=ddof, keepdims=keepdims) / math.sqrt(group_size(a, axis))


@mirrors(stats.variation)
def variation(a: Any, axis: Any = 0, ddof: Any = 0, *, keepdims: bool = False) -> Any:
    a = floats(a)
    return np.std(a, axis=axis, ddof=ddof, keepdims=keepdims) / np.mean(a, axis=axis, keepdims=keepdims)


@mirrors(stats.gstd)
def gstd(a: Any, axis: Any = 0, ddof: Any = 1, *, keepdims: bool = False) -> Any:
    return exp(np.std(log(floats(a)), axis=axis, ddof=ddof, keepdims=keepdims))


@mirrors(stats.zmap)
def zmap(scores: Any, compare: Any, axis: Any = 0, ddof: Any = 0) -> Any:
    scores, compare = floats(scores), floats(compare)
    mean = np.mean(compare, axis=axis, keepdims=True)
    deviation = np.std(compare, axis=axis, ddof=ddof, keepdims=True)
    first = np.take(compare, [0], axis=axis) if isinstance(axis, int) else np.min(compare, axis=axis, keepdims=True)
    same = np.all(compare == first, axis=axis, keepdims=True)  # no score: NaN
    return (scores - mean) / where(same, np.nan, deviation)


@mirrors(stats.zscore)
def zscore(a: Any, axis: Any = 0, ddof: Any = 0) -> Any:
    return zmap(a, a, axis=axis, ddof=ddof)


@mirrors(stats.gzscore)
def gzscore(a: Any, *, axis: Any = 0, ddof: Any = 0) -> Any:
    return zscore(log(floats(a)), axis=axis, ddof=ddof)


@mirrors(stats.iqr)
def iqr(
    x: Any, axis: Any = None, rng: Any = (25, 75), scale: Any = 1.0, interpolation: str = "linear",
    keepdims: bool = False,
) -> Any:  # fmt: skip
    low, high = percentile(floats(x), sorted(rng), axis=axis, method=interpolation, keepdims=keepdims)
    return (high - low) / _normal_scale(scale, 1.3489795003921634)


@mirrors(stats.median_abs_deviation)
def median_abs_deviation(
    x: Any, axis: Any = 0, center: Any = None, scale: Any = 1.0, *, keepdims: bool = False
) -> Any:  # fmt: skip
    x = floats(x)
    if center not in (None, np.median):
        raise unsupported(f"scipy.stats.median_abs_deviation: the keyword center={center!r}")
    out = np.median(abs(x - np.median(x, axis=axis, keepdims=True)), axis=axis, keepdims=keepdims)
    return out / _normal_scale(scale, 0.6744897501960817)


def _normal_scale(scale: Any, of_normal: float) -> Any:
    if isinstance(scale, str):
        if scale.lower() != "normal":
            raise ValueError(f"{scale} is not a valid scale value.")
        return of_normal
    return scale


# --------------------------------------------------------------------------------------------------- between limits


def _within(name: str, a: Any, limits: Any, inclusive: Any) -> Any:
    """Which elements are within the limits; these are constants."""
    low, high = (None, None) if limits is None else number(limits, f"limits of scipy.stats.{name}")
    inside = np.ones(a.shape, bool)
    plain = constant(a)
    if low is not None:
        inside &= plain >= low if inclusive[0] else plain > low
    if high is not None:
        inside &= plain <= high if inclusive[1] else plain < high
    return inside


@mirrors(stats.tmean)
def tmean(
    a: Any, limits: Any = None, inclusive: Any = (True, True), axis: Any = None, *, keepdims: bool = False
) -> Any:
    a = floats(a)
    return np.mean(a, axis=axis, keepdims=keepdims, where=_within("tmean", a, limits, inclusive))


@mirrors(stats.tvar)
def tvar(
    a: Any, limits: Any = None, inclusive: Any = (True, True), axis: Any = 0, ddof: Any = 1, *, keepdims: bool = False
) -> Any:  # fmt: skip
    a = floats(a)
    return np.var(a, axis=axis, ddof=ddof, keepdims=keepdims, where=_within("tvar", a, limits, inclusive))


@mirrors(stats.tstd)
def tstd(
    a: Any, limits: Any = None, inclusive: Any = (True, True), axis: Any = 0, ddof: Any = 1, *, keepdims: bool = False
) -> Any:  # fmt: skip
    return sqrt(tvar(a, limits, inclusive, axis, ddof, keepdims=keepdims))


@mirrors(stats.tsem)
def tsem(
    a: Any, limits: Any = None, inclusive: Any = (True, True), axis: Any = 0, ddof: Any = 1, *, keepdims: bool = False
) -> Any:  # fmt: skip
    a = floats(a)
    count = np.sum(_within("tsem", a, limits, inclusive), axis=axis, keepdims=keepdims)
    return tstd(a, limits, inclusive, axis, ddof, keepdims=keepdims) / np.sqrt(count)


# -------------------------------------------------------------------------------------------------------------- moments


def _central(a: Any, order: int, axis: Any, keepdims: bool, center: Any = None) -> Any:
    center = np.mean(a, axis=axis, keepdims=True) if center is None else center
    return np.mean((a - center) ** order, axis=axis, keepdims=keepdims)


@mirrors(stats.moment)
def moment(a: Any, order: Any = 1, axis: Any = 0, *, center: Any = None, keepdims: bool = False) -> Any:
    """Moments about the mean, or about `center`; of several orders along a new first axis."""
    a, orders = floats(a), np.asarray(number(order, "order of scipy.stats.moment"))
    if np.any(orders != np.round(orders)):
        raise ValueError("All elements of `order` must be integral.")
    if orders.ndim:
        return np.stack([_central(a, int(k), axis, keepdims, center) for k in orders])
    return _central(a, int(orders), axis, keepdims, center)


@mirrors(stats.skew)
def skew(a: Any, axis: Any = 0, bias: bool = True, *, keepdims: bool = False) -> Any:
    a = floats(a)
    n, second = group_size(a, axis), _central(a, 2, axis, keepdims)
    out = _central(a, 3, axis, keepdims) / (second * sqrt(second))
    return out if bias or n <= 2 else out * (math.sqrt((n - 1.0) * n) / (n - 2.0))


@mirrors(stats.kurtosis)
def kurtosis(a: Any, axis: Any = 0, fisher: bool = True, bias: bool = True, *, keepdims: bool = False) -> Any:
    a = floats(a)
    n, second = group_size(a, axis), _central(a, 2, axis, keepdims)
    out = _central(a, 4, axis, keepdims) / (second * second)
    if not bias and n > 3:
        out = ((n * n - 1.0) * out - 3.0 * (n - 1.0) ** 2) / ((n - 2.0) * (n - 3.0)) + 3.0
    return out - 3.0 if fisher else out


@mirrors(stats.kstat)
def kstat(data: Any, n: Any = 2, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The unbiased estimate of the n-th cumulant, by central moments."""
    a, order = floats(data), number(n, "n of scipy.stats.kstat")
    size = float(group_size(a, axis))
    if order == 1:
        return np.mean(a, axis=axis, keepdims=keepdims)
    if order not in (2, 3, 4):
        raise ValueError("k-statistics only supported for 1<=n<=4")
    second = _central(a, 2, axis, keepdims)
    if order == 2:
        return second * (size / (size - 1.0))
    if order == 3:
        return _central(a, 3, axis, keepdims) * (size * size / ((size - 1.0) * (size - 2.0)))
    fourth = (size + 1.0) * _central(a, 4, axis, keepdims) - 3.0 * (size - 1.0) * second * second
    return fourth * (size * size / ((size - 1.0) * (size - 2.0) * (size - 3.0)))


@mirrors(stats.kstatvar)
def kstatvar(data: Any, n: Any = 2, *, axis: Any = None, keepdims: bool = False) -> Any:
    a, order = floats(data), number(n, "n of scipy.stats.kstatvar")
    size = float(group_size(a, axis))
    second = kstat(a, 2, axis=axis, keepdims=keepdims)
    if order == 1:
        return second / size
    if order != 2:
        raise ValueError("Only n=1 or n=2 supported.")
    fourth = kstat(a, 4, axis=axis, keepdims=keepdims)
    return (2.0 * size * second * second + (size - 1.0) * fourth) / (size * (size + 1.0))


@mirrors(stats.entropy)
def entropy(pk: Any, qk: Any = None, base: Any = None, axis: Any = 0, *, keepdims: bool = False) -> Any:
    """Of shares, which are divided by their sum first; relative to qk if that is given."""
    p = floats(pk)
    p = p / np.sum(p, axis=axis, keepdims=True)
    if qk is None:
        terms = entr(p)
    else:
        q = floats(qk)
        terms = rel_entr(*np.broadcast_arrays(p, q / np.sum(q, axis=axis, keepdims=True)))
    out = np.sum(terms, axis=axis, keepdims=keepdims)
    return out if base is None else out / np.log(base)
