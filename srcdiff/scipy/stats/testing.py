"""Tests and distances of samples: statistics and p-values, both differentiable."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from srcdiff.ops.elementwise import absolute
from srcdiff.ops.incomplete import stdtr
from srcdiff.ops.transcendental import sqrt
from srcdiff.scipy.stats.bounded import beta
from srcdiff.scipy.stats.descriptive import floats, group_size
from srcdiff.scipy.support import constant, mirrors, unsupported

__all__ = ["energy_distance", "linregress", "pearsonr", "ttest_1samp", "ttest_ind", "ttest_rel", "wasserstein_distance"]


class _Pair(NamedTuple):
    statistic: Any
    pvalue: Any


class Test(_Pair):
    """What a test found: the statistic and the p-value, and the degrees of freedom `df` if there are any."""

    df: Any = None


class _Line(NamedTuple):
    slope: Any
    intercept: Any
    rvalue: Any
    pvalue: Any
    stderr: Any


class Line(_Line):
    """A line through points: a tuple of five, as in SciPy, and the error of the intercept, `intercept_stderr`."""

    intercept_stderr: Any = None


def _tail(name: str, lower: Any, alternative: str, t: Any) -> Any:
    """The p-value, of a distribution that is symmetric about 0 and has the distribution function `lower`."""
    if alternative == "two-sided":
        return 2.0 * lower(-absolute(t))
    if alternative == "less":
        return lower(t)
    if alternative == "greater":
        return lower(-t)
    raise ValueError(f"scipy.stats.{name}: `alternative` must be 'less', 'greater', or 'two-sided'")


def _student(name: str, t: Any, df: Any, alternative: str) -> Test:
    found = Test(t, _tail(name, lambda t: stdtr(df, t), alternative, t))
    found.df = df
    return found


@mirrors(stats.ttest_1samp)
def ttest_1samp(
    a: Any, popmean: Any, axis: Any = 0, alternative: str = "two-sided", *, keepdims: bool = False
) -> Test:  # fmt: skip
    a = floats(a)
    n = group_size(a, axis)
    error = sqrt(np.var(a, axis=axis, ddof=1, keepdims=keepdims) / n)
    return _student("ttest_1samp", (np.mean(a, axis=axis, keepdims=keepdims) - popmean) / error, n - 1.0, alternative)


@mirrors(stats.ttest_rel)
def ttest_rel(a: Any, b: Any, axis: Any = 0, alternative: str = "two-sided", *, keepdims: bool = False) -> Test:
    return ttest_1samp(floats(a) - floats(b), 0.0, axis, alternative=alternative, keepdims=keepdims)


@mirrors(stats.ttest_ind)
def ttest_ind(
    a: Any, b: Any, *, axis: Any = 0, equal_var: bool = True, alternative: str = "two-sided", keepdims: bool = False
) -> Test:  # fmt: skip
    """Student's, or Welch's if not `equal_var`."""
    a, b = floats(a), floats(b)
    n, m = group_size(a, axis), group_size(b, axis)
    of_a, of_b = (np.var(x, axis=axis, ddof=1, keepdims=keepdims) for x in (a, b))
    if equal_var:
        df: Any = n + m - 2.0
        square = ((n - 1.0) * of_a + (m - 1.0) * of_b) / df * (1.0 / n + 1.0 / m)
    else:
        of_a, of_b = of_a / n, of_b / m
        square = of_a + of_b
        df = square * square / (of_a * of_a / (n - 1.0) + of_b * of_b / (m - 1.0))
    difference = np.mean(a, axis=axis, keepdims=keepdims) - np.mean(b, axis=axis, keepdims=keepdims)
    return _student("ttest_ind", difference / sqrt(square), df, alternative)


@mirrors(stats.pearsonr)
def pearsonr(x: Any, y: Any, *, alternative: str = "two-sided", axis: Any = 0) -> Test:
    x, y = np.broadcast_arrays(floats(x), floats(y))
    x, y = x - np.mean(x, axis=axis, keepdims=True), y - np.mean(y, axis=axis, keepdims=True)
    r = np.sum(x * y, axis=axis) / sqrt(np.sum(x * x, axis=axis) * np.sum(y * y, axis=axis))
    n = group_size(x, axis)
    if n < 3:
        raise unsupported(f"scipy.stats.pearsonr of {n} points, whose correlation is constant,")
    shape = 0.5 * n - 1.0
    return Test(r, _tail("pearsonr", lambda r: beta.cdf(r, shape, shape, loc=-1.0, scale=2.0), alternative, r))


@mirrors(stats.linregress)
def linregress(x: Any, y: Any, alternative: str = "two-sided") -> Line:
    x, y = floats(x), floats(y)
    if x.ndim != 1 or y.ndim != 1:
        raise unsupported("scipy.stats.linregress of arrays with several axes")
    n = x.shape[0]
    x_mean, y_mean = np.mean(x), np.mean(y)
    dx, dy = x - x_mean, y - y_mean
    xx, xy, yy = (np.mean(v) for v in (dx * dx, dx * dy, dy * dy))
    r = xy / sqrt(xx * yy)
    slope, rest = xy / xx, 1.0 - r * r
    df = n - 2.0
    t = r * sqrt(df / rest)
    error = sqrt(rest * yy / xx / df)
    pvalue = _student("linregress", t, df, alternative).pvalue
    line = Line(slope, y_mean - slope * x_mean, r, pvalue, error)
    line.intercept_stderr = error * sqrt(xx + x_mean * x_mean)
    return line


# ------------------------------------------------------------------------------------- distances between distributions


def _distance(name: str, u: Any, v: Any, u_weights: Any, v_weights: Any, power: int) -> Any:
    """The integral of |U - V|**power over the two distribution functions, which are constant between the values."""
    u, v = floats(u), floats(v)
    if u.ndim != 1 or v.ndim != 1 or not u.shape[0] or not v.shape[0]:
        raise ValueError(f"scipy.stats.{name}: needs two vectors with elements, got {u.shape} and {v.shape}")
    values = np.sort(np.concatenate((u, v)))
    places = constant(values)[:-1]
    steps = [_steps(x, weights, places) for x, weights in ((u, u_weights), (v, v_weights))]
    return np.sum(absolute(steps[0] - steps[1]) ** power * np.diff(values))


def _steps(x: Any, weights: Any, places: Any) -> Any:
    """The distribution function of a sample at these places."""
    plain = constant(x)
    order = np.argsort(plain)
    below = np.searchsorted(plain[order], places, side="right")
    if weights is None:
        return below / plain.size
    total = np.cumsum(np.concatenate((np.zeros(1), floats(weights)[order])))
    return total[below] / total[-1]


@mirrors(stats.wasserstein_distance)
def wasserstein_distance(u_values: Any, v_values: Any, u_weights: Any = None, v_weights: Any = None) -> Any:
    return _distance("wasserstein_distance", u_values, v_values, u_weights, v_weights, 1)


@mirrors(stats.energy_distance)
def energy_distance(u_values: Any, v_values: Any, u_weights: Any = None, v_weights: Any = None) -> Any:
    return math.sqrt(2.0) * sqrt(_distance("energy_distance", u_values, v_values, u_weights, v_weights, 2))
