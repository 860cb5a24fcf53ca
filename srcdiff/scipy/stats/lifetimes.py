"""Distributions of positive numbers: the exponential, Weibull and gamma families."""

from __future__ import annotations

import math
from typing import Any

from srcdiff.ops.elementwise import where
from srcdiff.ops.incomplete import (
    gammainc,
    gammaincc,
    gammainccinv,
    gammaincinv,
)
from srcdiff.ops.special import digamma, lgamma, polygamma, xlogy
from srcdiff.ops.special_scipy import gamma as gamma_function
from srcdiff.ops.transcendental import exp, expm1, log, log1p, sqrt
from srcdiff.scipy.stats.continuous import Continuous, inf
from srcdiff.scipy.stats.formulas import EULER, LOG_2, LOG_PI, POSITIVE, defined_where, log1mexp

__all__ = [
    "chi",
    "chi2",
    "erlang",
    "expon",
    "exponpow",
    "exponweib",
    "gamma",
    "gengamma",
    "gompertz",
    "halfgennorm",
    "invgamma",
    "invweibull",
    "loggamma",
    "maxwell",
    "nakagami",
    "rayleigh",
    "weibull_max",
    "weibull_min",
]

# --------------------------------------------------------------------------------------------- the exponential, Weibull

expon = Continuous(
    "expon", logpdf=lambda y: -y, cdf=lambda y: -expm1(-y), logsf=lambda y: -y, logcdf=lambda y: log1mexp(-y),
    ppf=lambda q: -log1p(-q), isf=lambda q: -log(q), support=POSITIVE,
)  # fmt: skip
weibull_min = Continuous(
    "weibull_min", "c",
    logpdf=lambda y, c: log(c) + xlogy(c - 1.0, y) - y**c,
    cdf=lambda y, c: -expm1(-(y**c)), logsf=lambda y, c: -(y**c), logcdf=lambda y, c: log1mexp(-(y**c)),
    ppf=lambda q, c: (-log1p(-q)) ** (1.0 / c), isf=lambda q, c: (-log(q)) ** (1.0 / c), support=POSITIVE,
    mean=lambda c: gamma_function(1.0 + 1.0 / c),
    var=lambda c: gamma_function(1.0 + 2.0 / c) - gamma_function(1.0 + 1.0 / c) ** 2,
    entropy=lambda c: EULER - EULER / c - log(c) + 1.0,
)  # fmt: skip
weibull_max = Continuous(
    "weibull_max", "c",
    logpdf=lambda y, c: log(c) + xlogy(c - 1.0, -y) - (-y) ** c,
    logcdf=lambda y, c: -((-y) ** c), sf=lambda y, c: -expm1(-((-y) ** c)), logsf=lambda y, c: log1mexp(-((-y) ** c)),
    ppf=lambda q, c: -((-log(q)) ** (1.0 / c)), isf=lambda q, c: -((-log1p(-q)) ** (1.0 / c)), support=(-inf, 0.0),
    mean=lambda c: -gamma_function(1.0 + 1.0 / c),
    var=lambda c: gamma_function(1.0 + 2.0 / c) - gamma_function(1.0 + 1.0 / c) ** 2,
    entropy=lambda c: EULER - EULER / c - log(c) + 1.0,
)  # fmt: skip
exponweib = Continuous(
    "exponweib", "a c",
    logpdf=lambda y, a, c: log(a) + log(c) + xlogy(a - 1.0, -expm1(-(y**c))) - y**c + xlogy(c - 1.0, y),
    cdf=lambda y, a, c: (-expm1(-(y**c))) ** a, ppf=lambda q, a, c: (-log1p(-(q ** (1.0 / a)))) ** (1.0 / c),
    isf=lambda q, a, c: (-log(-expm1(log1p(-q) / a))) ** (1.0 / c),
    support=POSITIVE,
)  # fmt: skip
exponpow = Continuous(
    "exponpow", "b",
    logpdf=lambda y, b: 1.0 + log(b) + xlogy(b - 1.0, y) + y**b - exp(y**b),
    cdf=lambda y, b: -expm1(-expm1(y**b)), logsf=lambda y, b: -expm1(y**b),
    ppf=lambda q, b: log1p(-log1p(-q)) ** (1.0 / b), isf=lambda q, b: log1p(-log(q)) ** (1.0 / b), support=POSITIVE,
)  # fmt: skip
invweibull = Continuous(
    "invweibull", "c",
    logpdf=lambda y, c: log(c) - (c + 1.0) * log(y) - y ** (-c),
    logcdf=lambda y, c: -(y ** (-c)), sf=lambda y, c: -expm1(-(y ** (-c))),
    ppf=lambda q, c: (-log(q)) ** (-1.0 / c), isf=lambda q, c: (-log1p(-q)) ** (-1.0 / c), support=POSITIVE,
    entropy=lambda c: 1.0 + EULER + EULER / c - log(c),
)  # fmt: skip
rayleigh = Continuous(
    "rayleigh", logpdf=lambda y: log(y) - 0.5 * (y * y), cdf=lambda y: -expm1(-0.5 * (y * y)),
    logsf=lambda y: -0.5 * (y * y), ppf=lambda q: sqrt(-2.0 * log1p(-q)), isf=lambda q: sqrt(-2.0 * log(q)),
    support=POSITIVE,
)  # fmt: skip
gompertz = Continuous(
    "gompertz", "c",
    logpdf=lambda y, c: log(c) + y - c * expm1(y),
    cdf=lambda y, c: -expm1(-c * expm1(y)), logsf=lambda y, c: -c * expm1(y),
    ppf=lambda q, c: log1p(-1.0 / c * log1p(-q)), isf=lambda q, c: log1p(-log(q) / c), support=POSITIVE,
)  # fmt: skip

# -------------------------------------------------------------------------------------------------- the gamma family


def _gamma(name: str) -> Continuous:
    return Continuous(
        name, "a",
        logpdf=lambda y, a: xlogy(a - 1.0, y) - y - lgamma(a), cdf=lambda y, a: gammainc(a, y),
        sf=lambda y, a: gammaincc(a, y), ppf=lambda q, a: gammaincinv(a, q), isf=lambda q, a: gammainccinv(a, q),
        mean=lambda a: a, var=lambda a: a, entropy=lambda a: a + lgamma(a) + (1.0 - a) * digamma(a), support=POSITIVE,
    )  # fmt: skip


gamma, erlang = _gamma("gamma"), _gamma("erlang")  # erlang is meant for whole numbers a
chi2 = Continuous(
    "chi2", "df",
    logpdf=lambda y, df: xlogy(0.5 * df - 1.0, y) - 0.5 * y - lgamma(0.5 * df) - 0.5 * LOG_2 * df,
    cdf=lambda y, df: gammainc(0.5 * df, 0.5 * y), sf=lambda y, df: gammaincc(0.5 * df, 0.5 * y),
    ppf=lambda q, df: 2.0 * gammaincinv(0.5 * df, q), isf=lambda q, df: 2.0 * gammainccinv(0.5 * df, q),
    support=POSITIVE,
    mean=lambda df: df, var=lambda df: 2.0 * df,
    entropy=lambda df: 0.5 * df + LOG_2 + lgamma(0.5 * df) + (1.0 - 0.5 * df) * digamma(0.5 * df),
)  # fmt: skip


def _chi_mean(df: Any) -> Any:
    return math.sqrt(2.0) * exp(lgamma(0.5 * df + 0.5) - lgamma(0.5 * df))


chi = Continuous(
    "chi", "df",
    logpdf=lambda y, df: LOG_2 - 0.5 * LOG_2 * df - lgamma(0.5 * df) + xlogy(df - 1.0, y) - 0.5 * (y * y),
    cdf=lambda y, df: gammainc(0.5 * df, 0.5 * (y * y)), sf=lambda y, df: gammaincc(0.5 * df, 0.5 * (y * y)),
    ppf=lambda q, df: sqrt(2.0 * gammaincinv(0.5 * df, q)), isf=lambda q, df: sqrt(2.0 * gammainccinv(0.5 * df, q)),
    mean=_chi_mean, var=lambda df: df - _chi_mean(df) ** 2, support=POSITIVE,
)  # fmt: skip
maxwell = Continuous(
    "maxwell",
    logpdf=lambda y: 0.5 * (LOG_2 - LOG_PI) + 2.0 * log(y) - 0.5 * (y * y),
    cdf=lambda y: gammainc(1.5, 0.5 * (y * y)), sf=lambda y: gammaincc(1.5, 0.5 * (y * y)),
    ppf=lambda q: sqrt(2.0 * gammaincinv(1.5, q)), isf=lambda q: sqrt(2.0 * gammainccinv(1.5, q)), support=POSITIVE,
)  # fmt: skip
nakagami = Continuous(
    "nakagami", "nu",
    logpdf=lambda y, nu: LOG_2 + xlogy(nu, nu) - lgamma(nu) + xlogy(2.0 * nu - 1.0, y) - nu * (y * y),
    cdf=lambda y, nu: gammainc(nu, nu * (y * y)), sf=lambda y, nu: gammaincc(nu, nu * (y * y)),
    ppf=lambda q, nu: sqrt(gammaincinv(nu, q) / nu), isf=lambda q, nu: sqrt(gammainccinv(nu, q) / nu), support=POSITIVE,
)  # fmt: skip


def _by_power(c: Any, rising: Any, falling: Any) -> Any:
    """Of y**c: the one function if it rises with y, else the other."""
    return where(c > 0, rising, falling)


gengamma = Continuous(
    "gengamma", "a c",
    logpdf=lambda y, a, c: log(abs(c)) + (c * a - 1.0) * log(y) - y**c - lgamma(a),
    cdf=lambda y, a, c: _by_power(c, gammainc(a, y**c), gammaincc(a, y**c)),
    sf=lambda y, a, c: _by_power(c, gammaincc(a, y**c), gammainc(a, y**c)),
    ppf=lambda q, a, c: _by_power(c, gammaincinv(a, q), gammainccinv(a, q)) ** (1.0 / c),
    isf=lambda q, a, c: _by_power(c, gammainccinv(a, q), gammaincinv(a, q)) ** (1.0 / c),
    support=POSITIVE, valid=lambda a, c: (a > 0) & (c != 0), mean=lambda a, c: exp(lgamma(a + 1.0 / c) - lgamma(a)),
)  # fmt: skip
loggamma = Continuous(
    "loggamma", "c",
    logpdf=lambda y, c: c * y - exp(y) - lgamma(c),
    cdf=lambda y, c: gammainc(c, exp(y)), sf=lambda y, c: gammaincc(c, exp(y)),
    ppf=lambda q, c: log(gammaincinv(c, q)), isf=lambda q, c: log(gammainccinv(c, q)),
    mean=lambda c: digamma(c), var=lambda c: polygamma(c, n=1),
)  # fmt: skip
invgamma = Continuous(
    "invgamma", "a",
    logpdf=lambda y, a: -(a + 1.0) * log(y) - lgamma(a) - 1.0 / y,
    cdf=lambda y, a: gammaincc(a, 1.0 / y), sf=lambda y, a: gammainc(a, 1.0 / y),
    ppf=lambda q, a: 1.0 / gammainccinv(a, q), isf=lambda q, a: 1.0 / gammaincinv(a, q), support=POSITIVE,
    mean=lambda a: defined_where(a > 1, a, lambda a: 1.0 / (a - 1.0), inf, 2.0),
    var=lambda a: defined_where(a > 2, a, lambda a: 1.0 / ((a - 1.0) ** 2 * (a - 2.0)), inf, 3.0),
    entropy=lambda a: a - (a + 1.0) * digamma(a) + lgamma(a),
)  # fmt: skip
halfgennorm = Continuous(
    "halfgennorm", "beta",
    logpdf=lambda y, beta: log(beta) - lgamma(1.0 / beta) - y**beta,
    cdf=lambda y, beta: gammainc(1.0 / beta, y**beta), sf=lambda y, beta: gammaincc(1.0 / beta, y**beta),
    ppf=lambda q, beta: gammaincinv(1.0 / beta, q) ** (1.0 / beta),
    isf=lambda q, beta: gammainccinv(1.0 / beta, q) ** (1.0 / beta), support=POSITIVE,
    entropy=lambda beta: 1.0 / beta - log(beta) + lgamma(1.0 / beta),
)  # fmt: skip
