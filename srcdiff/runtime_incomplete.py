"""Derivatives of distribution functions with respect to their parameters, for `runtime`: plain arrays in and out.

The distribution functions of the gamma, beta and von Mises distributions are integrals of densities exp(L), whose
derivative in a parameter is the integral of the density times a polynomial in the derivatives of L (`bell`). That
integral has no closed form. It is found by a quadrature that converges geometrically; where the density lies to both
sides of x, the side without its bulk is integrated, so that small derivatives are right too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np

from srcdiff.runtime_special import gammaln, polygamma, special

Array = Any

#: The trapezoidal rule in s for an integral over w = exp(s) from 0. What lies below the first point, where the
#: integrand is as it is at 0, is a geometric series of weights.
_STEP: Final = 0.125
_POINTS: Final = np.exp(np.arange(-25.0, 5.6, _STEP))[:, None]
_WEIGHTS: Final = np.full(_POINTS.shape, _STEP)
_WEIGHTS[0] /= -math.expm1(-_STEP)
_BLOCK: Final = 256  # whose 245 points each stay in the cache: twice as fast as thousands


@cache
def _legendre() -> tuple[Array, ...]:
    """Points and weights on [-1, 1], found when first needed: that takes longer than importing this module."""
    return tuple(part[:, None] for part in np.polynomial.legendre.leggauss(80))


def bell(slope: Callable[[int, int], Any], m: int, n: int = 0) -> Any:
    """(d/da)^m (d/db)^n exp(L), divided by exp(L), where `slope(j, k)` is (d/da)^j (d/db)^k L: the Bell polynomials."""
    if m == 0 and n == 0:
        return 1.0
    total: Any = None
    first = (1, 0) if m else (0, 1)
    for j in range(m if m else 1):
        for k in range(n + 1 if m else n):
            ways = math.comb(m - 1, j) * math.comb(n, k) if m else math.comb(n - 1, k)
            rest = bell(slope, m - first[0] - j, n - first[1] - k)
            term = slope(j + first[0], k + first[1])
            term = term if type(rest) is float else term * rest
            term = term if ways == 1 else ways * term
            total = term if total is None else total + term
    return total


def gamma_slopes(a: Any, log_x: Any, polygamma: Callable[..., Any]) -> Callable[[int, int], Any]:
    """The derivatives in a of the logarithm of x^(a-1) exp(-x) / gamma(a)."""
    return lambda j, k: log_x - polygamma(a, n=0) if j == 1 else -polygamma(a, n=j - 1)


def beta_slopes(a: Any, b: Any, log_x: Any, log_y: Any, polygamma: Callable[..., Any]) -> Callable[[int, int], Any]:
    """The derivatives in a and b of the logarithm of x^(a-1) y^(b-1) / beta(a, b)."""

    def slope(j: int, k: int) -> Any:
        both = polygamma(a + b, n=j + k - 1)
        if j and k:
            return both
        own = polygamma(a if j else b, n=j + k - 1)
        return both - own if j + k > 1 else (log_x if j else log_y) + (both - own)

    return slope


def _blockwise(function: Callable[..., Array], *operands: Array) -> Array:
    """`function` of the broadcast operands as flat float64 arrays, some at a time, in the dtype they have together."""
    dtype = np.result_type(*operands)
    dtype = np.promote_types(dtype if dtype.kind == "f" else np.float64, np.float32)
    wide = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in operands))
    flat = [x.ravel() for x in wide]
    out = np.empty(flat[0].size)
    with np.errstate(all="ignore"):
        for start in range(0, out.size, _BLOCK):
            part = slice(start, start + _BLOCK)
            out[part] = function(*(x[part] for x in flat))
    return out.reshape(wide[0].shape).astype(dtype)[()]


def _reach(slope: Array, curvature: Array) -> Array:
    """Where slope * w + curvature * w * w / 2 is 1: how far a density that falls so reaches."""
    return 2.0 / (slope + np.sqrt(slope * slope + 2.0 * curvature))


def _integral(mass: Array, moment: Array) -> Array:
    return np.sum(_WEIGHTS * np.where(mass > 0, mass * moment, 0.0), axis=0)


def gammainc_slope(a: Array, x: Array, n: int) -> Array:
    """(d/da)^n of gammainc(a, x), n >= 1."""
    return _blockwise(lambda a, x: _gammainc_slope(a, x, n), a, x)


def _gammainc_slope(a: Array, x: Array, n: int) -> Array:
    below = x < a
    out = np.where((a > 0) & (x >= 0), 0.0, np.nan)
    good = (a > 0) & (x > 0) & np.isfinite(x) & np.isfinite(a)
    for side, chosen in ((1.0, good & below), (-1.0, good & ~below)):
        if not chosen.any():
            continue
        p, z = a[chosen], x[chosen]
        front = p * np.log(z) - z - gammaln(p)
        if side > 0:  # t = z exp(-w)
            w = _POINTS * np.where(p < 1, 1.0 + 1.0 / p, _reach(p - z, z))
            log_t = np.log(z) - w
            mass = np.exp(front - (p - z) * w - z * (np.expm1(-w) + w)) * w
        else:  # t = z + w
            w = _POINTS * np.where(p > 1, _reach(1.0 - (p - 1.0) / z, np.maximum(p - 1.0, 0.0) / (z * z)), 1.0)
            log_t = np.log(z + w)
            mass = np.exp(front + (p - 1.0) * np.log1p(w / z) - w) * (w / z)
        moment = bell(gamma_slopes(p, log_t, polygamma), n)
        out[chosen] = side * _integral(mass, moment)
    return out


def betainc_slope(a: Array, b: Array, x: Array, m: int, n: int) -> Array:
    """(d/da)^m (d/db)^n of betainc(a, b, x), m + n >= 1."""
    return _blockwise(lambda a, b, x: _betainc_slope(a, b, x, m, n), a, b, x)


def _betainc_slope(a: Array, b: Array, x: Array, m: int, n: int) -> Array:
    out = np.where((a > 0) & (b > 0) & (x >= 0) & (x <= 1), 0.0, np.nan)
    good = (a > 0) & (b > 0) & (x > 0) & (x < 1) & np.isfinite(a + b)
    below = x * (a + b) < a
    for lower in (True, False):
        chosen = good & (below if lower else ~below)
        if chosen.any():
            p, q, z = a[chosen], b[chosen], x[chosen]
            if lower:
                out[chosen] = _beta_tail(p, q, z, 1.0 - z, m, n)
            else:
                out[chosen] = -_beta_tail(q, p, 1.0 - z, z, n, m)
    return out


def _beta_tail(a: Array, b: Array, x: Array, y: Array, m: int, n: int) -> Array:
    """The integral from 0 to x, y = 1 - x, by t = x exp(-w)."""
    more = np.maximum(b - 1.0, 0.0) * x / y
    reach = _reach(a - more, more / y)
    w = _POINTS * np.where(a < 1, np.maximum(reach, 1.0 + 1.0 / a), reach)
    log_t, log_rest = np.log(x) - w, np.log(y - x * np.expm1(-w))
    mass = np.exp(a * log_t + (b - 1.0) * log_rest - special.betaln(a, b)) * w
    moment = bell(beta_slopes(a, b, log_t, log_rest, polygamma), m, n)
    return _integral(mass, moment)


def circular_slopes(kappa: Any, cosine: Any, ive: Callable[..., Any]) -> Callable[[int, int], Any]:
    """The derivatives in kappa of the logarithm of exp(kappa * cosine) / i0(kappa): the cumulants of the cosine."""

    def moment(j: int) -> Any:
        terms = [math.comb(j, i) * 0.5**j * ive(abs(j - 2 * i), kappa) for i in range(j + 1)]
        return sum(terms[1:], start=terms[0]) / ive(0, kappa)

    def cumulant(j: int) -> Any:
        total = moment(j)
        for i in range(1, j):
            total = total - math.comb(j - 1, i - 1) * cumulant(i) * moment(j - i)
        return total

    return lambda j, k: cosine - cumulant(1) if j == 1 else -cumulant(j)


def vonmises_cdf(kappa: Array, x: Array, n: int) -> Array:
    """(d/dkappa)^n of the distribution function of the von Mises distribution."""
    if n:
        return _blockwise(lambda kappa, x: _vonmises_slope(kappa, x, n), kappa, x)
    return _blockwise(_stats().vonmises.cdf, x, kappa)


def vonmises_ppf(kappa: Array, q: Array) -> Array:
    """The inverse of the distribution function of the von Mises distribution."""
    return _blockwise(_stats().vonmises.ppf, q, kappa)


def invgauss_ppf(mu: Array, q: Array) -> Array:
    """The inverse of the distribution function of the inverse Gaussian distribution."""
    return _blockwise(_stats().invgauss.ppf, q, mu)


def invgauss_isf(mu: Array, q: Array) -> Array:
    """The inverse of one minus that, with all digits where it is small."""
    return _blockwise(_stats().invgauss.isf, q, mu)


def _stats() -> Any:
    import scipy.stats  # noqa: PLC0415

    return scipy.stats


def _vonmises_slope(kappa: Array, x: Array, n: int) -> Array:
    """From 0, where the function is 1/2 for all kappa; nothing is left of the density 12 standard deviations away."""
    turn = np.remainder(x + math.pi, 2.0 * math.pi) - math.pi
    end = np.clip(turn, -12.0 / np.sqrt(kappa), 12.0 / np.sqrt(kappa))
    points, weights = _legendre()
    t = 0.5 * end * (points + 1.0)
    density = np.exp(-2.0 * kappa * np.sin(0.5 * t) ** 2) / (2.0 * math.pi * special.ive(0, kappa))
    moment = bell(circular_slopes(kappa, np.cos(t), special.ive), n)
    return 0.5 * end * np.sum(weights * density * moment, axis=0)


#: B_2k / (2k)!
_EULER: Final = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600,
    -3617 / 10670622842880000, 43867 / 5109094217170944000,
)  # fmt: skip
_DIRECT: Final = 12


def zeta_slope(s: Array, q: Array, n: int) -> Array:
    """(d/ds)^n of the Hurwitz zeta function, by the sum of Euler and Maclaurin (DLMF 25.11.28, differentiated in s)."""
    return _blockwise(lambda s, q: _zeta_slope(s, q, n), s, q)


def _zeta_slope(s: Array, q: Array, n: int) -> Array:
    total = np.zeros(s.shape)
    for k in range(_DIRECT):
        total += (-np.log(k + q)) ** n * (k + q) ** -s
    end = _DIRECT + q
    log_end = np.log(end)
    power = end**-s
    total += 0.5 * (-log_end) ** n * power
    for k in range(n + 1):  # end^(1-s) / (s-1)
        tail = math.comb(n, k) * math.factorial(k) * (-1) ** k / (s - 1.0) ** (k + 1)
        total += tail * (-log_end) ** (n - k) * power * end
    for k, weight in enumerate(_EULER):  # s (s+1) ... (s+2k) end^(-s-2k-1)
        rising = np.polynomial.Polynomial.fromroots([-float(i) for i in range(2 * k + 1)])
        for j in range(n + 1):
            factor = rising.deriv(j)(s) if j else rising(s)
            total += weight * math.comb(n, j) * factor * (-log_end) ** (n - j) * power * end ** -(2.0 * k + 1.0)
    return np.where((s > -8) & (s != 1) & (q > 0), total, np.nan)
