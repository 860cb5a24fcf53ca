"""Special functions for `runtime`: SciPy's where SciPy is installed, else the same values from Python's `math`.

All take and give plain arrays, elementwise. Narrow types are computed in float32 or wider, as SciPy does. SciPy is
imported at the first use of a function that has something to gain from it, never before.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from statistics import NormalDist
from types import ModuleType
from typing import Any, Final

import numpy as np

Array = Any


@functools.cache
def scipy_special() -> ModuleType | None:
    """`scipy.special`, or None if SciPy is not installed."""
    try:
        import scipy.special  # noqa: PLC0415
    except ImportError:
        return None
    return scipy.special  # type: ignore[no-any-return]


class _Special:
    """All functions of scipy.special as attributes, imported when one is asked for."""

    def __getattr__(self, name: str) -> Any:
        scipy = scipy_special()
        if scipy is None:
            raise ImportError(f"scipy.special.{name} needs SciPy: pip install scipy")
        return getattr(scipy, name)


special: Final = _Special()


def _each(function: Callable[[float], float], x: Array) -> Array:
    """`function` of each element, as an array of at least float32."""
    dtype = np.result_type(np.asarray(x).dtype, np.float32)
    with np.errstate(all="ignore"):  # comparing with NaN in Python sets the flag that NumPy looks at
        return np.asarray(np.frompyfunc(function, 1, 1)(np.asarray(x, float)), dtype)[()]


def erf(x: Array) -> Array:
    """The error function."""
    scipy = scipy_special()
    return scipy.erf(x) if scipy else _each(math.erf, x)


def erfc(x: Array) -> Array:
    """1 - erf(x), accurate where that is small."""
    scipy = scipy_special()
    return scipy.erfc(x) if scipy else _each(math.erfc, x)


def erfinv(x: Array) -> Array:
    """The inverse of the error function; NaN outside [-1, 1]."""
    scipy = scipy_special()
    return scipy.erfinv(x) if scipy else _each(_erfinv, x)


def _erfinv(y: float) -> float:
    if not abs(y) < 1.0:
        return math.copysign(math.inf, y) if abs(y) == 1.0 else math.nan
    x = -NormalDist().inv_cdf((1.0 - abs(y)) / 2.0) / math.sqrt(2.0)
    x -= (math.erf(x) - abs(y)) / (2.0 / math.sqrt(math.pi) * math.exp(-x * x))  # a Newton step, for small y
    return math.copysign(x, y)


def ndtr(x: Array) -> Array:
    """The distribution function of the standard normal distribution."""
    scipy = scipy_special()
    return scipy.ndtr(x) if scipy else _each(lambda x: 0.5 * math.erfc(-x / math.sqrt(2.0)), x)


def log_ndtr(x: Array) -> Array:
    """log(ndtr(x)), finite for every finite x."""
    scipy = scipy_special()
    return scipy.log_ndtr(x) if scipy else _each(_log_ndtr, x)


def _log_ndtr(x: float) -> float:
    if x > 0.0:
        return math.log1p(-0.5 * math.erfc(x / math.sqrt(2.0)))
    if x > -20.0 or x != x:
        return math.log(0.5 * math.erfc(-x / math.sqrt(2.0)))
    if x == -math.inf:
        return x
    series, term = 1.0, 1.0  # Mills' ratio times -x: 1 - 1/x^2 + 3/x^4 - 15/x^6 ...
    for k in range(1, 12):
        term *= -(2 * k - 1) / (x * x)
        series += term
    return -0.5 * x * x - math.log(-x * math.sqrt(2.0 * math.pi)) + math.log(series)


def gammaln(x: Array) -> Array:
    """The logarithm of the absolute value of the gamma function; inf at its poles."""
    scipy = scipy_special()
    return scipy.gammaln(x) if scipy else _each(_lgamma, x)


def _lgamma(x: float) -> float:
    return math.inf if x <= 0.0 and x == math.floor(x) else math.lgamma(x)


def polygamma(x: Array, n: int) -> Array:
    """The n-th derivative of digamma; n = 0 is digamma itself."""
    scipy = scipy_special()
    if not scipy:
        return _each(functools.partial(_polygamma, n=n), x)
    dtype = np.result_type(np.asarray(x).dtype, np.float32)
    return scipy.digamma(x) if n == 0 else scipy.polygamma(n, x).astype(dtype)[()]


#: B_2 ... B_24
_BERNOULLI = (
    1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330,
    854513 / 138, -236364091 / 2730,
)  # fmt: skip


def _polygamma(x: float, n: int) -> float:
    """By the recurrence up to x > 15 + n, then the asymptotic series (Abramowitz and Stegun 6.3.18 and 6.4.11)."""
    if x <= 0.0 and x == math.floor(x):
        return math.nan if n == 0 else math.inf
    if x < -1e4 and n == 0:  # reflection
        return _polygamma(1.0 - x, 0) - math.pi / math.tan(math.pi * x)
    sign = -1.0 if n % 2 == 0 else 1.0
    total = 0.0
    while x < 15 + n:
        total += sign * math.factorial(n) / x ** (n + 1)
        x += 1.0
    if n == 0:
        return total + math.log(x) - 0.5 / x - sum(b / (2 * k * x ** (2 * k)) for k, b in enumerate(_BERNOULLI, 1))
    series = math.factorial(n - 1) / x**n + math.factorial(n) / (2.0 * x ** (n + 1))
    for k, b in enumerate(_BERNOULLI, 1):
        series += b * math.factorial(2 * k + n - 1) / (math.factorial(2 * k) * x ** (2 * k + n))
    return total + sign * series


def sinc(x: Array, n: int) -> Array:
    """The n-th derivative of np.sinc, smooth at 0.

    With u = pi x and f = sin(u)/u, n-fold differentiation of u f = sin u gives f_n = (sin(u + n pi/2) - n f_(n-1)) / u;
    near 0 the Taylor series of f is differentiated term by term instead.
    """
    if n == 0:
        return np.sinc(x)
    u = np.multiply(x, math.pi)
    near = np.abs(u) < n + 1.0
    small = np.where(near, u, 0.0)
    series = sum(
        (-1) ** k / math.factorial(2 * k + 1) * math.perm(2 * k, n) * small ** (2 * k - n)
        for k in range((n + 1) // 2, n + 14)
    )
    far = np.where(near, n + 1.0, u)
    value = np.sin(far) / far
    for k in range(1, n + 1):
        value = (np.sin(far + k * (math.pi / 2)) - k * value) / far
    return np.where(near, series, value)[()] * math.pi**n


def bessel_i(x: Array, n: int) -> Array:
    """The modified Bessel function of the first kind, of integer order n >= 0; order 0 is np.i0.

    By the trapezoidal rule for 1/pi * integral of exp(x cos a) cos(n a) over [0, pi], which converges geometrically.
    """
    if n == 0:
        return np.i0(x)
    x = np.asarray(x)
    reach = float(np.max(np.abs(x), initial=0.0, where=np.isfinite(x)))
    count = int(24 + n + 6 * math.sqrt(reach))
    wide = x.astype(np.result_type(x.dtype, np.float64))
    total = 0.5 * (np.exp(wide) + (-1) ** n * np.exp(-wide))
    for k in range(1, count):
        angle = math.pi * k / count
        total = total + math.cos(n * angle) * np.exp(wide * math.cos(angle))
    return (total / count).astype(np.result_type(x.dtype, np.float32))[()]
