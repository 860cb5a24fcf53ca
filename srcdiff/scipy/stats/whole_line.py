"""Distributions on the whole line."""

from __future__ import annotations

import math
from typing import Any

from srcdiff.ops.elementwise import absolute, where
from srcdiff.ops.incomplete import (
    gammaincc,
    gammainccinv,
    owens_t,
    stdtr,
    stdtrit,
    student_log_density,
    vonmises_cdf,
    vonmises_log_density,
    vonmises_ppf,
)
from srcdiff.ops.neural import log_sigmoid
from srcdiff.ops.special import digamma, erf, erfc, erfinv, lgamma, log_ndtr, logit, ndtr, polygamma, xlogy
from srcdiff.ops.special_scipy import betaln, erfcinv, gamma, i0e, i1e, ndtri
from srcdiff.ops.transcendental import (
    arcsinh,
    arctan,
    arctan2,
    exp,
    expm1,
    log,
    log1p,
    logaddexp,
    sigmoid,
    sinh,
    sqrt,
    tan,
)
from srcdiff.scipy.stats.continuous import Continuous, inf
from srcdiff.scipy.stats.formulas import (
    EULER,
    LOG_2,
    LOG_PI,
    LOG_ROOT_TAU,
    by_sign,
    choose,
    power_of_size,
    two_sided,
)

__all__ = [
    "cauchy", "dgamma", "dweibull", "exponnorm", "genlogistic", "gennorm", "gumbel_l", "gumbel_r", "hypsecant",
    "johnsonsu", "laplace", "laplace_asymmetric", "logistic", "moyal", "norm", "powernorm", "skewnorm", "t", "vonmises",
]  # fmt: skip

# --------------------------------------------------------------------------------------------------- the normal and kin


def log_normal(y: Any) -> Any:
    """The logarithm of the density of the standard normal distribution."""
    return -0.5 * (y * y) - LOG_ROOT_TAU


norm = Continuous("norm", logpdf=log_normal, cdf=ndtr, logcdf=log_ndtr, ppf=ndtri, symmetric=True)
powernorm = Continuous(
    "powernorm", "c",
    logpdf=lambda y, c: log(c) + log_normal(y) + (c - 1.0) * log_ndtr(-y),
    cdf=lambda y, c: -expm1(c * log_ndtr(-y)), logsf=lambda y, c: c * log_ndtr(-y),
    ppf=lambda q, c: -ndtri((1.0 - q) ** (1.0 / c)), isf=lambda q, c: -ndtri(q ** (1.0 / c)),
)  # fmt: skip
skewnorm = Continuous(
    "skewnorm", "a",
    logpdf=lambda y, a: LOG_2 + log_normal(y) + log_ndtr(a * y),
    cdf=lambda y, a: ndtr(y) - 2.0 * owens_t(y, a), sf=lambda y, a: ndtr(-y) + 2.0 * owens_t(y, a),
    mean=lambda a: math.sqrt(2.0 / math.pi) * a / sqrt(1.0 + a * a),
    var=lambda a: 1.0 - 2.0 / math.pi * (a * a) / (1.0 + a * a),
    valid=lambda a: abs(a) < inf,
)  # fmt: skip
johnsonsu = Continuous(
    "johnsonsu", "a b",
    logpdf=lambda y, a, b: log(b) - 0.5 * log1p(y * y) + log_normal(a + b * arcsinh(y)),
    cdf=lambda y, a, b: ndtr(a + b * arcsinh(y)), sf=lambda y, a, b: ndtr(-a - b * arcsinh(y)),
    ppf=lambda q, a, b: sinh((ndtri(q) - a) / b), isf=lambda q, a, b: sinh((-ndtri(q) - a) / b),
    valid=lambda a, b: (b > 0) & (a == a),
)  # fmt: skip


def _exponnorm_part(y: Any, k: Any) -> Any:
    """The logarithm of what the exponential takes from the normal distribution function."""
    return (0.5 / k - y) / k + log_ndtr(y - 1.0 / k)


exponnorm = Continuous(
    "exponnorm", "K",
    logpdf=lambda y, k: _exponnorm_part(y, k) - log(k),
    cdf=lambda y, k: ndtr(y) - exp(_exponnorm_part(y, k)), sf=lambda y, k: ndtr(-y) + exp(_exponnorm_part(y, k)),
    mean=lambda k: k, var=lambda k: 1.0 + k * k,
)  # fmt: skip
moyal = Continuous(
    "moyal",
    logpdf=lambda y: -0.5 * (y + exp(-y)) - LOG_ROOT_TAU,
    cdf=lambda y: erfc(exp(-0.5 * y) / math.sqrt(2.0)), sf=lambda y: erf(exp(-0.5 * y) / math.sqrt(2.0)),
    ppf=lambda q: -LOG_2 - 2.0 * log(erfcinv(q)), isf=lambda q: -LOG_2 - 2.0 * log(erfinv(q)),
)  # fmt: skip

# ----------------------------------------------------------------------------------------------------- heavier tails


def _t_variance(df: Any) -> Any:
    known = (df > 2) & (df < inf)
    return where(known, 1.0 + 2.0 / (where(known, df, 3.0) - 2.0), where(df > 2, 1.0, where(df > 1, inf, math.nan)))


t = Continuous(
    "t", "df",
    logpdf=lambda y, df: student_log_density(df, y), cdf=lambda y, df: stdtr(df, y),
    ppf=lambda q, df: stdtrit(df, q), symmetric=True,
    mean=lambda df: where(df > 1, 0.0, inf), var=_t_variance,
    entropy=lambda df: 0.5 * (df + 1.0) * (digamma(0.5 * (df + 1.0)) - digamma(0.5 * df)) + 0.5 * log(df)
    + betaln(0.5 * df, 0.5),
)  # fmt: skip
cauchy = Continuous(
    "cauchy",
    logpdf=lambda y: -LOG_PI - log1p(y * y), cdf=lambda y: arctan2(1.0, -y) / math.pi,
    ppf=lambda q: -1.0 / tan(math.pi * q), symmetric=True,
)  # fmt: skip
hypsecant = Continuous(
    "hypsecant",
    logpdf=lambda y: LOG_2 - LOG_PI - logaddexp(y, -y), cdf=lambda y: 2.0 / math.pi * arctan(exp(y)),
    ppf=lambda q: log(tan(0.5 * math.pi * q)), symmetric=True,
)  # fmt: skip
logistic = Continuous(
    "logistic",
    logpdf=lambda y: log_sigmoid(y) + log_sigmoid(-y), cdf=sigmoid, logcdf=log_sigmoid, ppf=logit, symmetric=True,
)  # fmt: skip
genlogistic = Continuous(
    "genlogistic", "c",
    logpdf=lambda y, c: log(c) + c * log_sigmoid(y) + log_sigmoid(-y), logcdf=lambda y, c: c * log_sigmoid(y),
    sf=lambda y, c: -expm1(c * log_sigmoid(y)),
    ppf=lambda q, c: -log(expm1(-log(q) / c)), isf=lambda q, c: -log(expm1(-log1p(-q) / c)),
    mean=lambda c: EULER + digamma(c), var=lambda c: math.pi**2 / 6.0 + polygamma(c, n=1),
    entropy=lambda c: -log(c) + EULER + digamma(c + 1.0) + 1.0,
)  # fmt: skip

# --------------------------------------------------------------------------------------------------- extreme values

gumbel_r = Continuous(
    "gumbel_r",
    logpdf=lambda y: -y - exp(-y), logcdf=lambda y: -exp(-y), sf=lambda y: -expm1(-exp(-y)),
    ppf=lambda q: -log(-log(q)), isf=lambda q: -log(-log1p(-q)),
)  # fmt: skip
gumbel_l = Continuous(
    "gumbel_l",
    logpdf=lambda y: y - exp(y), logsf=lambda y: -exp(y), cdf=lambda y: -expm1(-exp(y)),
    ppf=lambda q: log(-log1p(-q)), isf=lambda q: log(-log(q)),
)  # fmt: skip

# ------------------------------------------------------------------------------------------------------ both sides of 0

laplace = Continuous(
    "laplace",
    logpdf=lambda y: -absolute(y) - LOG_2,
    logcdf=lambda y: by_sign(y, lambda y: log1p(-0.5 * exp(-y)), lambda y: y - LOG_2),
    symmetric=True, **two_sided(lambda y: exp(-y), lambda q: -log(q)),
)  # fmt: skip
dgamma = Continuous(
    "dgamma", "a",
    logpdf=lambda y, a: xlogy(a - 1.0, absolute(y)) - absolute(y) - LOG_2 - lgamma(a),
    symmetric=True, mean=lambda a: 0.0 * a, var=lambda a: a * (a + 1.0),
    entropy=lambda a: a + lgamma(a) + (1.0 - a) * digamma(a) + LOG_2,
    **two_sided(lambda y, a: gammaincc(a, y), lambda q, a: gammainccinv(a, q)),
)  # fmt: skip
dweibull = Continuous(
    "dweibull", "c",
    logpdf=lambda y, c: log(c) - LOG_2 + xlogy(c - 1.0, absolute(y)) - power_of_size(y, c),
    symmetric=True, mean=lambda c: 0.0 * c, var=lambda c: gamma(1.0 + 2.0 / c),
    **two_sided(lambda y, c: exp(-(y**c)), lambda q, c: (-log(q)) ** (1.0 / c)),
)  # fmt: skip


def _gennorm_height(beta: Any) -> Any:
    """The density at 0, by which the distribution function goes next to 0: |y|**beta has no derivative there."""
    return 0.5 * beta * exp(-lgamma(1.0 / beta))


def _gennorm_cdf(y: Any, beta: Any) -> Any:
    near = absolute(y) < 1e-12
    return where(near, 0.5 + _gennorm_height(beta) * y, _gennorm["cdf"](where(near, 1.0, y), beta))


def _gennorm_ppf(q: Any, beta: Any) -> Any:
    near = absolute(q - 0.5) < 1e-12
    return where(near, (q - 0.5) / _gennorm_height(beta), _gennorm["ppf"](where(near, 0.25, q), beta))


_gennorm = two_sided(
    lambda y, beta: gammaincc(1.0 / beta, y**beta), lambda q, beta: gammainccinv(1.0 / beta, q) ** (1.0 / beta)
)
gennorm = Continuous(
    "gennorm", "beta",
    logpdf=lambda y, beta: log(0.5 * beta) - lgamma(1.0 / beta) - power_of_size(y, beta),
    cdf=_gennorm_cdf, ppf=_gennorm_ppf, symmetric=True,
    mean=lambda beta: 0.0 * beta, var=lambda beta: exp(lgamma(3.0 / beta) - lgamma(1.0 / beta)),
    entropy=lambda beta: 1.0 / beta - log(0.5 * beta) + lgamma(1.0 / beta),
)  # fmt: skip


def _left_part(kappa: Any) -> Any:
    """The probability of negative values of the asymmetric Laplace distribution."""
    return kappa * kappa / (1.0 + kappa * kappa)


laplace_asymmetric = Continuous(
    "laplace_asymmetric", "kappa",
    logpdf=lambda y, k: by_sign(y, lambda y: -y * k, lambda y: y / k) - log(k + 1.0 / k),
    cdf=lambda y, k: by_sign(
        y, lambda y: 1.0 - exp(-y * k) * (1.0 - _left_part(k)), lambda y: exp(y / k) * _left_part(k)
    ),
    sf=lambda y, k: by_sign(
        y, lambda y: exp(-y * k) * (1.0 - _left_part(k)), lambda y: 1.0 - exp(y / k) * _left_part(k)
    ),
    ppf=lambda q, k: choose(
        q >= _left_part(k), q, lambda q: -log((1.0 - q) * (1.0 + k * k)) / k, lambda q: k * log(q / _left_part(k)),
        (0.5, 0.5),
    ),
    isf=lambda q, k: choose(
        q <= 1.0 - _left_part(k), q, lambda q: -log(q * (1.0 + k * k)) / k,
        lambda q: k * log((1.0 - q) / _left_part(k)), (0.5, 0.5),
    ),
    mean=lambda k: 1.0 / k - k, var=lambda k: 1.0 / (k * k) + k * k, entropy=lambda k: 1.0 + log(k + 1.0 / k),
)  # fmt: skip

# ---------------------------------------------------------------------------------------------------------- on a circle

vonmises = Continuous(
    "vonmises", "kappa",
    logpdf=lambda y, kappa: vonmises_log_density(kappa, y), cdf=lambda y, kappa: vonmises_cdf(kappa, y, n=0),
    ppf=lambda q, kappa: vonmises_ppf(kappa, q), symmetric=True,
    entropy=lambda kappa: -kappa * i1e(kappa) / i0e(kappa) + log(2.0 * math.pi * i0e(kappa)) + kappa,
    valid=lambda kappa: kappa >= 0,
)  # fmt: skip
