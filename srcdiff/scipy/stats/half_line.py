"""Distributions of positive numbers: of normal, Cauchy and logistic ones, and powers."""

from __future__ import annotations

import math
from typing import Any

from srcdiff.ops.elementwise import where
from srcdiff.ops.incomplete import (
    betainc,
    betainccinv,
    betaincinv,
    invgauss_isf,
    invgauss_log_density,
    invgauss_ppf,
)
from srcdiff.ops.neural import log_sigmoid
from srcdiff.ops.special import erf, erfc, erfinv, log_ndtr, logit, ndtr, xlogy
from srcdiff.ops.special_scipy import betaln, i0e, ndtri, xlog1py
from srcdiff.ops.transcendental import arctan, arctanh, exp, expm1, log, log1p, logaddexp, sigmoid, sqrt, tan, tanh
from srcdiff.scipy.stats.continuous import Continuous, inf
from srcdiff.scipy.stats.formulas import LOG_2, LOG_PI, LOG_ROOT_TAU, POSITIVE, choose, defined_where, log1mexp
from srcdiff.scipy.stats.whole_line import log_normal

__all__ = [
    "betaprime",
    "burr",
    "burr12",
    "f",
    "fisk",
    "foldcauchy",
    "foldnorm",
    "gibrat",
    "halfcauchy",
    "halflogistic",
    "halfnorm",
    "invgauss",
    "levy",
    "levy_l",
    "loglaplace",
    "lognorm",
    "lomax",
    "mielke",
    "pareto",
    "powerlognorm",
    "rice",
    "wald",
]

# --------------------------------------------------------------------------------------------- of normal distributions

lognorm = Continuous(
    "lognorm", "s",
    logpdf=lambda y, s: log_normal(log(y) / s) - log(s) - log(y),
    cdf=lambda y, s: ndtr(log(y) / s), logcdf=lambda y, s: log_ndtr(log(y) / s), sf=lambda y, s: ndtr(-log(y) / s),
    logsf=lambda y, s: log_ndtr(-log(y) / s), ppf=lambda q, s: exp(s * ndtri(q)), isf=lambda q, s: exp(-s * ndtri(q)),
    mean=lambda s: exp(0.5 * (s * s)), var=lambda s: exp(s * s) * expm1(s * s), support=POSITIVE,
    entropy=lambda s: 0.5 + LOG_ROOT_TAU + log(s),
)  # fmt: skip
powerlognorm = Continuous(
    "powerlognorm", "c s",
    logpdf=lambda y, c, s: log(c) - log(y) - log(s) + log_normal(log(y) / s) + (c - 1.0) * log_ndtr(-log(y) / s),
    logsf=lambda y, c, s: c * log_ndtr(-log(y) / s), cdf=lambda y, c, s: -expm1(c * log_ndtr(-log(y) / s)),
    ppf=lambda q, c, s: exp(-s * ndtri((1.0 - q) ** (1.0 / c))), isf=lambda q, c, s: exp(-s * ndtri(q ** (1.0 / c))),
    support=POSITIVE,
)  # fmt: skip
gibrat = Continuous(
    "gibrat",
    logpdf=lambda y: log_normal(log(y)) - log(y), cdf=lambda y: ndtr(log(y)), sf=lambda y: ndtr(-log(y)),
    logcdf=lambda y: log_ndtr(log(y)), logsf=lambda y: log_ndtr(-log(y)),
    ppf=lambda q: exp(ndtri(q)), isf=lambda q: exp(-ndtri(q)), support=POSITIVE,
)  # fmt: skip
halfnorm = Continuous(
    "halfnorm",
    logpdf=lambda y: LOG_2 + log_normal(y), cdf=lambda y: erf(y / math.sqrt(2.0)), sf=lambda y: 2.0 * ndtr(-y),
    logsf=lambda y: LOG_2 + log_ndtr(-y), ppf=lambda q: ndtri(0.5 * (1.0 + q)), isf=lambda q: -ndtri(0.5 * q),
    support=POSITIVE,
)  # fmt: skip
foldnorm = Continuous(
    "foldnorm", "c",
    logpdf=lambda y, c: logaddexp(log_normal(y - c), log_normal(y + c)),
    cdf=lambda y, c: ndtr(y - c) - ndtr(-y - c), sf=lambda y, c: ndtr(c - y) + ndtr(-y - c),
    support=POSITIVE, valid=lambda c: c >= 0,
    mean=lambda c: math.sqrt(2.0 / math.pi) * exp(-0.5 * (c * c)) + c * erf(c / math.sqrt(2.0)),
)  # fmt: skip
levy = Continuous(
    "levy",
    logpdf=lambda y: -LOG_ROOT_TAU - 1.5 * log(y) - 0.5 / y, cdf=lambda y: erfc(sqrt(0.5 / y)),
    sf=lambda y: erf(sqrt(0.5 / y)), ppf=lambda q: 1.0 / ndtri(0.5 * q) ** 2, isf=lambda q: 0.5 / erfinv(q) ** 2,
    support=POSITIVE,
)  # fmt: skip
levy_l = Continuous(
    "levy_l",
    logpdf=lambda y: -LOG_ROOT_TAU - 1.5 * log(-y) + 0.5 / y, cdf=lambda y: erf(sqrt(-0.5 / y)),
    sf=lambda y: erfc(sqrt(-0.5 / y)), ppf=lambda q: -0.5 / erfinv(q) ** 2, support=(-inf, 0.0),
    isf=lambda q: -1.0 / ndtri(0.5 * q) ** 2,
)  # fmt: skip


def _log_invgauss_parts(y: Any, mu: Any, sign: float) -> tuple[Any, Any]:
    """Logarithms of the two terms of the distribution function (of its complement, if `sign` is -1)."""
    root = sqrt(y)
    return log_ndtr(sign * (y / mu - 1.0) / root), 2.0 / mu + log_ndtr(-(y / mu + 1.0) / root)


def _invgauss_cdf(y: Any, mu: Any) -> Any:
    near, far = _log_invgauss_parts(y, mu, 1.0)
    return near + log1p(exp(far - near))


def _invgauss_sf(y: Any, mu: Any) -> Any:
    near, far = _log_invgauss_parts(y, mu, -1.0)
    return near + log1mexp(far - near)


invgauss = Continuous(
    "invgauss", "mu",
    logpdf=lambda y, mu: invgauss_log_density(mu, y), logcdf=_invgauss_cdf, logsf=_invgauss_sf,
    ppf=lambda q, mu: invgauss_ppf(mu, q), isf=lambda q, mu: invgauss_isf(mu, q),
    mean=lambda mu: mu, var=lambda mu: mu**3, support=POSITIVE,
)  # fmt: skip
wald = Continuous(
    "wald", logpdf=lambda y: invgauss_log_density(1.0, y), logcdf=lambda y: _invgauss_cdf(y, 1.0),
    logsf=lambda y: _invgauss_sf(y, 1.0), ppf=lambda q: invgauss_ppf(1.0, q), isf=lambda q: invgauss_isf(1.0, q),
    support=POSITIVE,
)  # fmt: skip
rice = Continuous(
    "rice", "b",
    logpdf=lambda y, b: log(y) - 0.5 * (y - b) ** 2 + log(i0e(y * b)), support=POSITIVE, valid=lambda b: b >= 0,
)  # fmt: skip

# ------------------------------------------------------------------------------------------------- Cauchy and logistic

halfcauchy = Continuous(
    "halfcauchy",
    logpdf=lambda y: LOG_2 - LOG_PI - log1p(y * y), cdf=lambda y: 2.0 / math.pi * arctan(y),
    sf=lambda y: 2.0 / math.pi * arctan(1.0 / y), ppf=lambda q: tan(0.5 * math.pi * q),
    isf=lambda q: 1.0 / tan(0.5 * math.pi * q), support=POSITIVE,
)  # fmt: skip
foldcauchy = Continuous(
    "foldcauchy", "c",
    logpdf=lambda y, c: -LOG_PI + logaddexp(-log1p((y - c) ** 2), -log1p((y + c) ** 2)),
    cdf=lambda y, c: (arctan(y - c) + arctan(y + c)) / math.pi, support=POSITIVE, valid=lambda c: c >= 0,
)  # fmt: skip
halflogistic = Continuous(
    "halflogistic",
    logpdf=lambda y: LOG_2 + log_sigmoid(y) + log_sigmoid(-y), cdf=lambda y: tanh(0.5 * y),
    sf=lambda y: 2.0 * sigmoid(-y), ppf=lambda q: 2.0 * arctanh(q), isf=lambda q: log((2.0 - q) / q), support=POSITIVE,
)  # fmt: skip
fisk = Continuous(
    "fisk", "c",
    logpdf=lambda y, c: log(c) - log(y) + log_sigmoid(c * log(y)) + log_sigmoid(-c * log(y)),
    cdf=lambda y, c: sigmoid(c * log(y)), sf=lambda y, c: sigmoid(-c * log(y)),
    logcdf=lambda y, c: log_sigmoid(c * log(y)), logsf=lambda y, c: log_sigmoid(-c * log(y)),
    ppf=lambda q, c: exp(logit(q) / c), isf=lambda q, c: exp(-logit(q) / c), support=POSITIVE,
    entropy=lambda c: 2.0 - log(c),
)  # fmt: skip
loglaplace = Continuous(
    "loglaplace", "c",
    logpdf=lambda y, c: log(0.5 * c) - log(y) - c * abs(log(y)),
    cdf=lambda y, c: choose(y < 1, y, lambda y: 0.5 * y**c, lambda y: 1.0 - 0.5 * y ** (-c), (0.5, 2.0)),
    sf=lambda y, c: choose(y < 1, y, lambda y: 1.0 - 0.5 * y**c, lambda y: 0.5 * y ** (-c), (0.5, 2.0)),
    ppf=lambda q, c: where(q < 0.5, 2.0 * q, 1.0 / (2.0 * (1.0 - q))) ** (1.0 / c),
    isf=lambda q, c: where(q > 0.5, 2.0 * (1.0 - q), 1.0 / (2.0 * q)) ** (1.0 / c),
    support=POSITIVE, entropy=lambda c: log(2.0 / c) + 1.0,
)  # fmt: skip

# ------------------------------------------------------------------------------------------------------ powers of 1 + y

pareto = Continuous(
    "pareto", "b",
    logpdf=lambda y, b: log(b) - (b + 1.0) * log(y), cdf=lambda y, b: -expm1(-b * log(y)),
    logsf=lambda y, b: -b * log(y),
    sf=lambda y, b: y ** (-b), ppf=lambda q, b: (1.0 - q) ** (-1.0 / b), isf=lambda q, b: q ** (-1.0 / b),
    support=(1.0, inf), entropy=lambda b: 1.0 + 1.0 / b - log(b),
    mean=lambda b: defined_where(b > 1, b, lambda b: b / (b - 1.0), inf, 2.0),
    var=lambda b: defined_where(b > 2, b, lambda b: b / ((b - 2.0) * (b - 1.0) ** 2), inf, 3.0),
)  # fmt: skip
lomax = Continuous(
    "lomax", "c",
    logpdf=lambda y, c: log(c) - (c + 1.0) * log1p(y), cdf=lambda y, c: -expm1(-c * log1p(y)),
    logsf=lambda y, c: -c * log1p(y), ppf=lambda q, c: expm1(-log1p(-q) / c), isf=lambda q, c: expm1(-log(q) / c),
    support=POSITIVE, entropy=lambda c: 1.0 + 1.0 / c - log(c),
    mean=lambda c: defined_where(c > 1, c, lambda c: 1.0 / (c - 1.0), inf, 2.0),
    var=lambda c: defined_where(c > 2, c, lambda c: c / ((c - 2.0) * (c - 1.0) ** 2), inf, 3.0),
)  # fmt: skip
burr = Continuous(
    "burr", "c d",
    logpdf=lambda y, c, d: log(c) + log(d) - log(y) + d * log_sigmoid(c * log(y)) + log_sigmoid(-c * log(y)),
    logcdf=lambda y, c, d: d * log_sigmoid(c * log(y)), sf=lambda y, c, d: -expm1(d * log_sigmoid(c * log(y))),
    ppf=lambda q, c, d: expm1(-log(q) / d) ** (-1.0 / c), isf=lambda q, c, d: expm1(-log1p(-q) / d) ** (-1.0 / c),
    support=POSITIVE,
)  # fmt: skip
burr12 = Continuous(
    "burr12", "c d",
    logpdf=lambda y, c, d: log(c) + log(d) + xlogy(c - 1.0, y) - (d + 1.0) * log1p(y**c),
    cdf=lambda y, c, d: -expm1(-d * log1p(y**c)), logsf=lambda y, c, d: -d * log1p(y**c),
    ppf=lambda q, c, d: expm1(-log1p(-q) / d) ** (1.0 / c), isf=lambda q, c, d: expm1(-log(q) / d) ** (1.0 / c),
    support=POSITIVE,
)  # fmt: skip
mielke = Continuous(
    "mielke", "k s",
    logpdf=lambda y, k, s: log(k) + xlogy(k - 1.0, y) - (1.0 + k / s) * log1p(y**s),
    logcdf=lambda y, k, s: k / s * log_sigmoid(s * log(y)),
    ppf=lambda q, k, s: expm1(-s / k * log(q)) ** (-1.0 / s),
    isf=lambda q, k, s: expm1(-s / k * log1p(-q)) ** (-1.0 / s), support=POSITIVE,
)  # fmt: skip


def _odds(q: Any, a: Any, b: Any) -> Any:
    """x / (1 - x) of the quantile x of the beta distribution, with all digits of both."""
    return betaincinv(a, b, q) / betainccinv(b, a, q)


betaprime = Continuous(
    "betaprime", "a b",
    logpdf=lambda y, a, b: xlogy(a - 1.0, y) - xlog1py(a + b, y) - betaln(a, b),
    cdf=lambda y, a, b: betainc(a, b, y / (1.0 + y)), sf=lambda y, a, b: betainc(b, a, 1.0 / (1.0 + y)),
    ppf=lambda q, a, b: _odds(q, a, b), isf=lambda q, a, b: 1.0 / _odds(q, b, a),
    support=POSITIVE, mean=lambda a, b: where(b > 1, a / (where(b > 1, b, 2.0) - 1.0), inf),
)  # fmt: skip
f = Continuous(
    "f", "dfn dfd",
    logpdf=lambda y, n, m: 0.5 * n * log(n) + 0.5 * m * log(m) + xlogy(0.5 * n - 1.0, y)
    - 0.5 * (n + m) * log(m + n * y) - betaln(0.5 * n, 0.5 * m),
    cdf=lambda y, n, m: betainc(0.5 * n, 0.5 * m, n * y / (m + n * y)),
    sf=lambda y, n, m: betainc(0.5 * m, 0.5 * n, m / (m + n * y)),
    ppf=lambda q, n, m: m / n * _odds(q, 0.5 * n, 0.5 * m),
    isf=lambda q, n, m: m / n / _odds(q, 0.5 * m, 0.5 * n), support=POSITIVE,
    mean=lambda n, m: where(m > 2, m / (where(m > 2, m, 3.0) - 2.0), inf),
)  # fmt: skip
