"""Discrete distributions: trials, counts, whole numbers with a tail."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.ops.elementwise import where
from srcdiff.ops.incomplete import betainc, gammainc, gammaincc, riemann_zeta, zeta
from srcdiff.ops.special import lgamma, xlogy
from srcdiff.ops.special_scipy import betaln, entr, ive, xlog1py
from srcdiff.ops.transcendental import exp, expm1, log, log1p, sinh, sqrt, tanh
from srcdiff.scipy.stats.discrete import Discrete, inf
from srcdiff.scipy.stats.formulas import defined_where

__all__ = [
    "bernoulli", "betabinom", "binom", "boltzmann", "dlaplace", "geom", "logser", "nbinom", "planck", "poisson",
    "skellam", "yulesimon", "zipf",
]  # fmt: skip


def _probability(p: Any) -> Any:
    return (p >= 0) & (p <= 1)


# ------------------------------------------------------------------------------------------------------------- trials

bernoulli = Discrete(
    "bernoulli", "p",
    logpmf=lambda k, p: xlogy(k, p) + xlog1py(1.0 - k, -p), cdf=lambda k, p: 1.0 - p, sf=lambda k, p: p,
    mean=lambda p: p, var=lambda p: p * (1.0 - p), entropy=lambda p: entr(p) + entr(1.0 - p),
    support=(0.0, 1.0), valid=_probability,
)  # fmt: skip
binom = Discrete(
    "binom", "n p",
    logpmf=lambda k, n, p: lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0) + xlogy(k, p) + xlog1py(n - k, -p),
    cdf=lambda k, n, p: betainc(n - k, k + 1.0, 1.0 - p), sf=lambda k, n, p: betainc(k + 1.0, n - k, p),
    mean=lambda n, p: n * p, var=lambda n, p: n * p * (1.0 - p), support=lambda n, p: (0.0, n), whole="n",
    valid=lambda n, p: (n >= 0) & (n == np.floor(n)) & _probability(p),
)  # fmt: skip
betabinom = Discrete(
    "betabinom", "n a b",
    logpmf=lambda k, n, a, b: -log(n + 1.0) - betaln(n - k + 1.0, k + 1.0) + betaln(k + a, n - k + b) - betaln(a, b),
    mean=lambda n, a, b: n * a / (a + b),
    var=lambda n, a, b: n * (a + b + n) * a * b / ((a + b) ** 2 * (a + b + 1.0)),
    support=lambda n, a, b: (0.0, n), whole="n",
    valid=lambda n, a, b: (n >= 0) & (n == np.floor(n)) & (a > 0) & (b > 0),
)  # fmt: skip
geom = Discrete(
    "geom", "p",
    logpmf=lambda k, p: xlog1py(k - 1.0, -p) + log(p), cdf=lambda k, p: -expm1(xlog1py(k, -p)),
    logsf=lambda k, p: xlog1py(k, -p), mean=lambda p: 1.0 / p, var=lambda p: (1.0 - p) / (p * p),
    entropy=lambda p: (entr(p) + entr(1.0 - p)) / p, support=(1.0, inf), valid=lambda p: (p > 0) & (p <= 1),
)  # fmt: skip
nbinom = Discrete(
    "nbinom", "n p",
    logpmf=lambda k, n, p: lgamma(n + k) - lgamma(k + 1.0) - lgamma(n) + n * log(p) + xlog1py(k, -p),
    cdf=lambda k, n, p: betainc(n, k + 1.0, p), sf=lambda k, n, p: betainc(k + 1.0, n, 1.0 - p),
    mean=lambda n, p: n * (1.0 - p) / p, var=lambda n, p: n * (1.0 - p) / (p * p),
    valid=lambda n, p: (n > 0) & (p > 0) & (p <= 1),
)  # fmt: skip

# ------------------------------------------------------------------------------------------------------------- counts

poisson = Discrete(
    "poisson", "mu",
    logpmf=lambda k, mu: xlogy(k, mu) - lgamma(k + 1.0) - mu, cdf=lambda k, mu: gammaincc(k + 1.0, mu),
    sf=lambda k, mu: gammainc(k + 1.0, mu), mean=lambda mu: mu, var=lambda mu: mu, valid=lambda mu: mu >= 0,
)  # fmt: skip


def _skellam_logpmf(k: Any, first: Any, second: Any) -> Any:
    """log(exp(-a - b) (a/b)^(k/2) I_k(2 sqrt(a b))), the Bessel function scaled."""
    roots = sqrt(first) - sqrt(second)
    return -(roots * roots) + 0.5 * k * (log(first) - log(second)) + log(ive(np.abs(k), 2.0 * sqrt(first * second)))


skellam = Discrete(
    "skellam", "mu1 mu2",
    logpmf=_skellam_logpmf, mean=lambda first, second: first - second, var=lambda first, second: first + second,
    support=(-inf, inf),
)  # fmt: skip
logser = Discrete(
    "logser", "p",
    logpmf=lambda k, p: k * log(p) - log(k) - log(-log1p(-p)), mean=lambda p: p / (p - 1.0) / log1p(-p),
    var=lambda p: -p * (log1p(-p) + p) / ((p - 1.0) ** 2 * log1p(-p) ** 2), support=(1.0, inf),
    valid=lambda p: (p > 0) & (p < 1),
)  # fmt: skip
zipf = Discrete(
    "zipf", "a",
    logpmf=lambda k, a: -a * log(k) - log(riemann_zeta(a)), sf=lambda k, a: zeta(a, k + 1.0) / riemann_zeta(a),
    mean=lambda a: defined_where(a > 2, a, lambda a: riemann_zeta(a - 1.0) / riemann_zeta(a), inf, 3.0),
    support=(1.0, inf), valid=lambda a: a > 1,
)  # fmt: skip
yulesimon = Discrete(
    "yulesimon", "alpha",
    logpmf=lambda k, alpha: log(alpha) + betaln(k, alpha + 1.0), logsf=lambda k, alpha: log(k) + betaln(k, alpha + 1.0),
    mean=lambda alpha: defined_where(alpha > 1, alpha, lambda alpha: alpha / (alpha - 1.0), inf, 2.0),
    support=(1.0, inf),
)  # fmt: skip

# -------------------------------------------------------------------------------------------- discrete exponentials

planck = Discrete(
    "planck", "lambda_",
    logpmf=lambda k, rate: log(-expm1(-rate)) - rate * k, cdf=lambda k, rate: -expm1(-rate * (k + 1.0)),
    logsf=lambda k, rate: -rate * (k + 1.0), mean=lambda rate: 1.0 / expm1(rate),
    var=lambda rate: exp(-rate) / expm1(-rate) ** 2,
    entropy=lambda rate: rate / expm1(rate) - log(-expm1(-rate)),
)  # fmt: skip
boltzmann = Discrete(
    "boltzmann", "lambda_ N",
    logpmf=lambda k, rate, n: log(expm1(-rate) / expm1(-rate * n)) - rate * k,
    cdf=lambda k, rate, n: expm1(-rate * (k + 1.0)) / expm1(-rate * n),
    mean=lambda rate, n: 1.0 / expm1(rate) - n / expm1(rate * n), support=lambda rate, n: (0.0, n - 1.0), whole="N",
)  # fmt: skip


def _dlaplace(k: Any, a: Any, upper: bool) -> Any:
    """The probability of values up to k, or of those above."""
    right = k >= 0
    tail = exp(-a * np.where(right, k, -k - 1.0)) / (exp(a) + 1.0)
    return where(right == upper, tail, 1.0 - tail)


dlaplace = Discrete(
    "dlaplace", "a",
    logpmf=lambda k, a: log(tanh(0.5 * a)) - a * np.abs(k),
    cdf=lambda k, a: _dlaplace(k, a, False), sf=lambda k, a: _dlaplace(k, a, True), mean=lambda a: 0.0 * a,
    var=lambda a: 2.0 * exp(a) / expm1(a) ** 2, entropy=lambda a: a / sinh(a) - log(tanh(0.5 * a)),
    support=(-inf, inf),
)  # fmt: skip
