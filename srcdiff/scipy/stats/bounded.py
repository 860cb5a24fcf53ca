"""Distributions between bounds, and those whose bounds are given by their shape parameters."""

from __future__ import annotations

import math
from typing import Any

from srcdiff.ops.elementwise import where
from srcdiff.ops.incomplete import betainc, betaincc, betainccinv, betaincinv, ndtri_exp
from srcdiff.ops.special import digamma, log_ndtr, logit, ndtr, xlogy
from srcdiff.ops.special_scipy import betaln, exprel, ndtri, xlog1py
from srcdiff.ops.transcendental import arcsin, arctan2, cos, exp, expm1, log, log1p, logaddexp, sigmoid, sin, sqrt
from srcdiff.scipy.stats.continuous import Continuous, inf
from srcdiff.scipy.stats.formulas import (
    LOG_2,
    LOG_PI,
    LOG_ROOT_TAU,
    defined_where,
    finite,
    log1mexp,
    log1p_quotient,
    log_normal_mass,
)
from srcdiff.scipy.stats.whole_line import log_normal

__all__ = [
    "anglit", "arcsine", "beta", "bradford", "cosine", "genextreme", "genpareto", "johnsonsb", "loguniform", "powerlaw",
    "rdist", "reciprocal", "semicircular", "triang", "truncexpon", "truncnorm", "truncpareto", "uniform", "wrapcauchy",
]  # fmt: skip

UNIT = (0.0, 1.0)

# ------------------------------------------------------------------------------------------------------ between 0 and 1

uniform = Continuous(
    "uniform", logpdf=lambda y: where(y == y, 0.0, math.nan), pdf=lambda y: where(y == y, 1.0, math.nan),
    cdf=lambda y: y, sf=lambda y: 1.0 - y, logsf=lambda y: log1p(-y), ppf=lambda q: q, support=UNIT,
)  # fmt: skip
beta = Continuous(
    "beta", "a b",
    logpdf=lambda y, a, b: xlogy(a - 1.0, y) + xlog1py(b - 1.0, -y) - betaln(a, b),
    cdf=lambda y, a, b: betainc(a, b, y), sf=lambda y, a, b: betaincc(a, b, y),
    ppf=lambda q, a, b: betaincinv(a, b, q), isf=lambda q, a, b: betainccinv(a, b, q), support=UNIT,
    mean=lambda a, b: a / (a + b), var=lambda a, b: a * b / ((a + b) ** 2 * (a + b + 1.0)),
    entropy=lambda a, b: betaln(a, b) - (a - 1.0) * digamma(a) - (b - 1.0) * digamma(b)
    + (a + b - 2.0) * digamma(a + b),
)  # fmt: skip
arcsine = Continuous(
    "arcsine", logpdf=lambda y: -LOG_PI - 0.5 * (log(y) + log1p(-y)), cdf=lambda y: 2.0 / math.pi * arcsin(sqrt(y)),
    sf=lambda y: 2.0 / math.pi * arcsin(sqrt(1.0 - y)), ppf=lambda q: sin(0.5 * math.pi * q) ** 2,
    isf=lambda q: cos(0.5 * math.pi * q) ** 2, support=UNIT,
)  # fmt: skip
powerlaw = Continuous(
    "powerlaw", "a",
    logpdf=lambda y, a: log(a) + xlogy(a - 1.0, y), cdf=lambda y, a: y**a, logcdf=lambda y, a: a * log(y),
    sf=lambda y, a: -expm1(a * log(y)), logsf=lambda y, a: log1mexp(a * log(y)), ppf=lambda q, a: q ** (1.0 / a),
    support=UNIT, mean=lambda a: a / (a + 1.0), var=lambda a: a / ((a + 2.0) * (a + 1.0) ** 2),
    entropy=lambda a: 1.0 - 1.0 / a - log(a),
)  # fmt: skip
bradford = Continuous(
    "bradford", "c",
    logpdf=lambda y, c: log(c) - log1p(c * y) - log(log1p(c)), cdf=lambda y, c: log1p(c * y) / log1p(c),
    ppf=lambda q, c: expm1(q * log1p(c)) / c, support=UNIT, mean=lambda c: 1.0 / log1p(c) - 1.0 / c,
    entropy=lambda c: 0.5 * log1p(c) - log(c / log1p(c)),
)  # fmt: skip
johnsonsb = Continuous(
    "johnsonsb", "a b",
    logpdf=lambda y, a, b: log(b) - log(y) - log1p(-y) + log_normal(a + b * logit(y)),
    cdf=lambda y, a, b: ndtr(a + b * logit(y)), sf=lambda y, a, b: ndtr(-a - b * logit(y)),
    ppf=lambda q, a, b: sigmoid((ndtri(q) - a) / b), isf=lambda q, a, b: sigmoid((-ndtri(q) - a) / b),
    support=UNIT, valid=lambda a, b: (b > 0) & (a == a),
)  # fmt: skip


def _triangle(left: Any, c: Any) -> tuple[Any, Any]:
    """The mode c where each side is met, so that neither is divided by 0."""
    return where(left, c, 0.5), where(left, 0.5, c)


def _triang_logpdf(y: Any, c: Any) -> Any:
    rising = y < c
    c_left, c_right = _triangle(rising, c)
    up, down = where(rising, y, 0.5), where(rising, 0.5, y)
    return LOG_2 + where(rising, log(up) - log(c_left), log1p(-down) - log1p(-c_right))


def _triang_cdf(y: Any, c: Any) -> Any:
    c_left, c_right = _triangle(y < c, c)
    return where(y < c, y * y / c_left, 1.0 - (1.0 - y) ** 2 / (1.0 - c_right))


def _triang_sf(y: Any, c: Any) -> Any:
    c_left, c_right = _triangle(y < c, c)
    return where(y < c, 1.0 - y * y / c_left, (1.0 - y) ** 2 / (1.0 - c_right))


def _triang_ppf(q: Any, c: Any) -> Any:
    c_left, c_right = _triangle(q < c, c)
    return where(q < c, sqrt(c_left * q), 1.0 - sqrt((1.0 - c_right) * (1.0 - q)))


triang = Continuous(
    "triang", "c",
    logpdf=_triang_logpdf, cdf=_triang_cdf, sf=_triang_sf, ppf=_triang_ppf, support=UNIT,
    valid=lambda c: (c >= 0) & (c <= 1), mean=lambda c: (1.0 + c) / 3.0, var=lambda c: (1.0 - c + c * c) / 18.0,
    entropy=lambda c: 0.5 - LOG_2 + 0.0 * c,
)  # fmt: skip

# -------------------------------------------------------------------------------------------------- of angles, about 0

anglit = Continuous(
    "anglit", logpdf=lambda y: log(cos(2.0 * y)), cdf=lambda y: sin(y + 0.25 * math.pi) ** 2,
    sf=lambda y: cos(y + 0.25 * math.pi) ** 2, ppf=lambda q: arcsin(sqrt(q)) - 0.25 * math.pi,
    support=(-0.25 * math.pi, 0.25 * math.pi),
)  # fmt: skip


def _less_sine(u: Any) -> Any:
    """u - sin(u), by its series next to 0."""
    near = u < 1.0
    small = where(near, u, 0.0)
    square, series = small * small, 0.0
    for k in range(8, 0, -1):
        series = (1.0 - square * series) / ((2.0 * k) * (2.0 * k + 1.0))
    return where(near, small * square * series, u - sin(u))


cosine = Continuous(
    "cosine", logpdf=lambda y: 2.0 * log(cos(0.5 * y)) - LOG_PI,
    cdf=lambda y: _less_sine(y + math.pi) / (2.0 * math.pi), symmetric=True, support=(-math.pi, math.pi),
)  # fmt: skip
semicircular = Continuous(
    "semicircular", logpdf=lambda y: LOG_2 - LOG_PI + 0.5 * log1p(-y * y),
    cdf=lambda y: 0.5 + (y * sqrt(1.0 - y * y) + arcsin(y)) / math.pi, symmetric=True, support=(-1.0, 1.0),
)  # fmt: skip
rdist = Continuous(
    "rdist", "c",
    logpdf=lambda y, c: (0.5 * c - 1.0) * log1p(-y * y) - betaln(0.5 * c, 0.5),
    cdf=lambda y, c: betainc(0.5 * c, 0.5 * c, 0.5 * (y + 1.0)),
    ppf=lambda q, c: 2.0 * betaincinv(0.5 * c, 0.5 * c, q) - 1.0,
    support=(-1.0, 1.0), symmetric=True, mean=lambda c: 0.0 * c, var=lambda c: 1.0 / (c + 1.0),
)  # fmt: skip
wrapcauchy = Continuous(
    "wrapcauchy", "c",
    logpdf=lambda y, c: log1p(-c * c) - log(2.0 * math.pi * (1.0 + c * c - 2.0 * c * cos(y))),
    cdf=lambda y, c: arctan2((1.0 + c) * sin(0.5 * y), (1.0 - c) * cos(0.5 * y)) / math.pi,
    ppf=lambda q, c: 2.0 * arctan2((1.0 - c) * sin(math.pi * q), (1.0 + c) * cos(math.pi * q)),
    support=(0.0, 2.0 * math.pi), valid=lambda c: (c > 0) & (c < 1),
    entropy=lambda c: log(2.0 * math.pi * (1.0 - c * c)),
)  # fmt: skip

# ------------------------------------------------------------------------------------------------- truncated on purpose


def _truncnorm_log(a: Any, b: Any, c: Any, d: Any) -> Any:
    """The logarithm of the share of (a, b) in the mass there is, the rest being in (c, d)."""
    part, rest = log_normal_mass(a, b), log_normal_mass(c, d)
    whole = logaddexp(part, rest)
    large = part > rest
    return where(large, log1p(-exp(where(large, rest - whole, -1.0))), part - whole)


def _truncnorm_quantile(log_below: Any, log_above: Any, a: Any, b: Any) -> Any:
    """From the tail that has more digits."""
    left = (b <= 0) | ((a < 0) & (log_below <= log_above))
    outer, part = finite(where(left, a, -b)), where(left, log_below, log_above)
    z = ndtri_exp(logaddexp(log_ndtr(outer), part + log_normal_mass(a, b)))
    return where(left, z, -z)


def _truncnorm_edges(a: Any, b: Any) -> tuple[Any, Any, Any]:
    """The densities at the bounds, and what the variance and the entropy have in common."""
    mass = log_normal_mass(a, b)
    a, b = finite(a), finite(b)
    at_a, at_b = exp(log_normal(a) - mass), exp(log_normal(b) - mass)
    return at_a, at_b, a * at_a - b * at_b


truncnorm = Continuous(
    "truncnorm", "a b",
    logpdf=lambda y, a, b: log_normal(y) - log_normal_mass(a, b),
    logcdf=lambda y, a, b: _truncnorm_log(a, y, y, b), logsf=lambda y, a, b: _truncnorm_log(y, b, a, y),
    ppf=lambda q, a, b: _truncnorm_quantile(log(q), log1p(-q), a, b),
    isf=lambda q, a, b: _truncnorm_quantile(log1p(-q), log(q), a, b),
    support=lambda a, b: (a, b), valid=lambda a, b: a < b,
    mean=lambda a, b: _truncnorm_edges(a, b)[0] - _truncnorm_edges(a, b)[1],
    var=lambda a, b: 1.0 + _truncnorm_edges(a, b)[2] - (_truncnorm_edges(a, b)[0] - _truncnorm_edges(a, b)[1]) ** 2,
    entropy=lambda a, b: LOG_ROOT_TAU + 0.5 + log_normal_mass(a, b) + 0.5 * _truncnorm_edges(a, b)[2],
)  # fmt: skip
truncexpon = Continuous(
    "truncexpon", "b",
    logpdf=lambda y, b: -y - log(-expm1(-b)), cdf=lambda y, b: expm1(-y) / expm1(-b),
    sf=lambda y, b: exp(-y) * expm1(y - b) / expm1(-b), ppf=lambda q, b: -log1p(q * expm1(-b)),
    support=lambda b: (0.0, b), mean=lambda b: 1.0 - b / expm1(b),
)  # fmt: skip
truncpareto = Continuous(
    "truncpareto", "b c",
    logpdf=lambda y, b, c: log(b) - log(-expm1(-b * log(c))) - (b + 1.0) * log(y),
    cdf=lambda y, b, c: expm1(-b * log(y)) / expm1(-b * log(c)),
    ppf=lambda q, b, c: exp(-log1p(q * expm1(-b * log(c))) / b),
    support=lambda b, c: (1.0, c), valid=lambda b, c: (b > 0) & (c > 1),
)  # fmt: skip


def _loguniform(name: str) -> Continuous:
    return Continuous(
        name, "a b",
        logpdf=lambda y, a, b: -log(y) - log(log(b) - log(a)),
        cdf=lambda y, a, b: (log(y) - log(a)) / (log(b) - log(a)),
        sf=lambda y, a, b: (log(b) - log(y)) / (log(b) - log(a)),
        ppf=lambda q, a, b: exp(log(a) + q * (log(b) - log(a))), support=lambda a, b: (a, b),
        valid=lambda a, b: (a > 0) & (b > a), mean=lambda a, b: (b - a) / (log(b) - log(a)),
        entropy=lambda a, b: 0.5 * (log(a) + log(b)) + log(log(b) - log(a)),
    )  # fmt: skip


loguniform, reciprocal = _loguniform("loguniform"), _loguniform("reciprocal")

# --------------------------------------------------------------------------- extreme values, all three kinds in one


def _height(y: Any, c: Any) -> Any:
    """log1p(-c y) / c, which is -y where c is 0: the logarithm of -log(cdf)."""
    return -y * log1p_quotient(-c * y)


def _bound(holds: Any, c: Any, otherwise: float) -> Any:
    return defined_where(holds, c, lambda c: 1.0 / c, otherwise, 1.0)


def _at_height(x: Any, c: Any) -> Any:
    return x * exprel(-c * x)


genextreme = Continuous(
    "genextreme", "c",
    logpdf=lambda y, c: _height(y, c) - exp(_height(y, c)) - log1p(-c * y), logcdf=lambda y, c: -exp(_height(y, c)),
    sf=lambda y, c: -expm1(-exp(_height(y, c))), ppf=lambda q, c: _at_height(-log(-log(q)), c),
    isf=lambda q, c: _at_height(-log(-log1p(-q)), c),
    support=lambda c: (_bound(c < 0, c, -inf), _bound(c > 0, c, inf)), valid=lambda c: abs(c) < inf,
)  # fmt: skip
genpareto = Continuous(
    "genpareto", "c",
    logpdf=lambda y, c: -y * log1p_quotient(c * y) - log1p(c * y), logsf=lambda y, c: -y * log1p_quotient(c * y),
    cdf=lambda y, c: -expm1(-y * log1p_quotient(c * y)), ppf=lambda q, c: _at_height(-log1p(-q), -c),
    isf=lambda q, c: _at_height(-log(q), -c), support=lambda c: (0.0, -_bound(c < 0, c, -inf)),
    valid=lambda c: abs(c) < inf, entropy=lambda c: 1.0 + c,
    mean=lambda c: defined_where(c < 1, c, lambda c: 1.0 / (1.0 - c), inf, 0.5),
    var=lambda c: defined_where(c < 0.5, c, lambda c: 1.0 / ((1.0 - c) ** 2 * (1.0 - 2.0 * c)), inf, 0.2),
)  # fmt: skip
