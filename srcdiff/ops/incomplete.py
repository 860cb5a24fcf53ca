"""Distribution functions and their inverses: the incomplete gamma and beta functions and their relatives.

With the order of a derivative in a parameter as its own parameter (`gammainc_slope`, `betainc_slope`, `vonmises_slope`,
`zeta_slope`), the rule in that parameter is the function itself with the order raised. Along x it is the derivative of
the density, in closed form. An inverse has the derivatives of the implicit function theorem.
"""

from __future__ import annotations

import math
from typing import Any, Final

from srcdiff.core.primitive import Primitive
from srcdiff.ops.elementwise import absolute, equal, greater, isinf, less, sign, where
from srcdiff.ops.families import elementwise
from srcdiff.ops.special import digamma, erf, i0, lgamma, log_ndtr, polygamma, xlogy
from srcdiff.ops.special_scipy import betaln, i0e, ive, poch, xlog1py
from srcdiff.ops.structural import cast
from srcdiff.ops.transcendental import cos, exp, log, log1p, sin, sqrt
from srcdiff.runtime_incomplete import bell, beta_slopes, circular_slopes, gamma_slopes

_ROOT_TAU: Final = math.sqrt(2.0 * math.pi)


def _times(t: Any, slope: Any) -> Any:
    """t * slope, in the dtype of t: with numbers for some operands the slope is float64, which t need not be."""
    return t * cast(slope, dtype=t.dtype)


def _log(x: Any) -> Any:
    """log x where x is positive, else 0: what it is multiplied with is 0 or infinite there."""
    return log(where(greater(x, 0), x, 1.0))


def _shift(slope: Any, density: Any) -> Any:
    """slope / density: how fast a quantile moves as the distribution function rises. An end of the support stays."""
    fixed = equal(slope, 0)
    return slope / where(fixed, 1.0, density)


# --------------------------------------------------------------------------------------------- the gamma distribution


def gamma_density(a: Any, x: Any) -> Any:
    """The density of the gamma distribution."""
    return exp(xlogy(a - 1.0, x) - x - lgamma(a))


def _gamma_density_slope(a: Any, x: Any, n: int) -> Any:
    return gamma_density(a, x) * bell(gamma_slopes(a, _log(x), polygamma), n)


gammainc_slope: Primitive = elementwise(
    "gammainc_slope", "a x", "rt.gammainc_slope(a, x, n)",
    [lambda t, out, a, x, *, n: _times(t, gammainc_slope(a, x, n=n + 1)),
     lambda t, out, a, x, *, n: _times(t, _gamma_density_slope(a, x, n))],
    params="n", real=True,
)  # fmt: skip
gammainc = elementwise(
    "gammainc", "a x", "rt.special.gammainc(a, x)",
    [lambda t, out, a, x: _times(t, gammainc_slope(a, x, n=1)), lambda t, out, a, x: _times(t, gamma_density(a, x))],
)  # fmt: skip
gammaincc = elementwise(
    "gammaincc", "a x", "rt.special.gammaincc(a, x)",
    [lambda t, out, a, x: _times(-t, gammainc_slope(a, x, n=1)), lambda t, out, a, x: _times(-t, gamma_density(a, x))],
)  # fmt: skip
gammaincinv = elementwise(
    "gammaincinv", "a p", "rt.special.gammaincinv(a, p)",
    [lambda t, out, a, p: _times(-t, _shift(gammainc_slope(a, out, n=1), gamma_density(a, out))),
     lambda t, out, a, p: _times(t, 1.0 / gamma_density(a, out))],
)  # fmt: skip
gammainccinv = elementwise(
    "gammainccinv", "a p", "rt.special.gammainccinv(a, p)",
    [lambda t, out, a, p: _times(-t, _shift(gammainc_slope(a, out, n=1), gamma_density(a, out))),
     lambda t, out, a, p: _times(-t, 1.0 / gamma_density(a, out))],
)  # fmt: skip

# ---------------------------------------------------------------------------------------------- the beta distribution


def beta_density(a: Any, b: Any, x: Any) -> Any:
    """The density of the beta distribution."""
    return exp(xlogy(a - 1.0, x) + xlog1py(b - 1.0, -x) - betaln(a, b))


def _beta_density_slope(a: Any, b: Any, x: Any, m: int, n: int) -> Any:
    return beta_density(a, b, x) * bell(beta_slopes(a, b, _log(x), _log(1.0 - x), polygamma), m, n)


betainc_slope: Primitive = elementwise(
    "betainc_slope", "a b x", "rt.betainc_slope(a, b, x, m, n)",
    [lambda t, out, a, b, x, *, m, n: _times(t, betainc_slope(a, b, x, m=m + 1, n=n)),
     lambda t, out, a, b, x, *, m, n: _times(t, betainc_slope(a, b, x, m=m, n=n + 1)),
     lambda t, out, a, b, x, *, m, n: _times(t, _beta_density_slope(a, b, x, m, n))],
    params="m n", real=True,
)  # fmt: skip
betainc = elementwise(
    "betainc", "a b x", "rt.special.betainc(a, b, x)",
    [lambda t, out, a, b, x: _times(t, betainc_slope(a, b, x, m=1, n=0)),
     lambda t, out, a, b, x: _times(t, betainc_slope(a, b, x, m=0, n=1)),
     lambda t, out, a, b, x: _times(t, beta_density(a, b, x))],
)  # fmt: skip
betaincc = elementwise(
    "betaincc", "a b x", "rt.special.betaincc(a, b, x)",
    [lambda t, out, a, b, x: _times(-t, betainc_slope(a, b, x, m=1, n=0)),
     lambda t, out, a, b, x: _times(-t, betainc_slope(a, b, x, m=0, n=1)),
     lambda t, out, a, b, x: _times(-t, beta_density(a, b, x))],
)  # fmt: skip
betaincinv = elementwise(
    "betaincinv", "a b p", "rt.special.betaincinv(a, b, p)",
    [lambda t, out, a, b, p: _times(-t, _shift(betainc_slope(a, b, out, m=1, n=0), beta_density(a, b, out))),
     lambda t, out, a, b, p: _times(-t, _shift(betainc_slope(a, b, out, m=0, n=1), beta_density(a, b, out))),
     lambda t, out, a, b, p: _times(t, 1.0 / beta_density(a, b, out))],
)  # fmt: skip
betainccinv = elementwise(
    "betainccinv", "a b p", "rt.special.betainccinv(a, b, p)",
    [lambda t, out, a, b, p: _times(-t, _shift(betainc_slope(a, b, out, m=1, n=0), beta_density(a, b, out))),
     lambda t, out, a, b, p: _times(-t, _shift(betainc_slope(a, b, out, m=0, n=1), beta_density(a, b, out))),
     lambda t, out, a, b, p: _times(-t, 1.0 / beta_density(a, b, out))],
)  # fmt: skip

# ------------------------------------------------------------------------------------------- Student's t distribution


def student_log_density(df: Any, x: Any) -> Any:
    """The logarithm of the density of Student's t distribution; the normal one where df is infinite."""
    normal = isinf(df)
    v = where(normal, 1.0, df)
    log_density = log(poch(0.5 * v, 0.5)) - 0.5 * log(math.pi * v) - 0.5 * (v + 1.0) * log1p(x * x / v)
    return where(normal, -0.5 * (x * x) - math.log(_ROOT_TAU), log_density)


def _stdtr_in_df(df: Any, x: Any) -> Any:
    """stdtr(df, x) is 1/2 + sign(x)/2 * betainc(1/2, df/2, x^2 / (df + x^2)); differentiated in df.

    Where x^2 is above df the complement keeps the digits. Next to 0 the function is 1/2 + x times the density at 0.
    """
    near = less(absolute(x), 1e-8)
    x_far = where(near, 1.0, x)
    square = x_far * x_far
    a, whole = 0.5 * df, df + square
    outer = greater(square, df)
    inner_slope = betainc_slope(0.5, a, where(outer, 0.5, square / whole), m=0, n=1)
    outer_slope = -betainc_slope(a, 0.5, where(outer, df / whole, 0.5), m=1, n=0)
    along_x = exp(a * log(df / whole) - betaln(a, 0.5)) * absolute(x_far) / (df * sqrt(whole))
    far = 0.5 * sign(x_far) * (0.5 * where(outer, outer_slope, inner_slope) - along_x)
    at_0 = poch(a, 0.5) / sqrt(math.pi * df) * 0.5 * (digamma(a + 0.5) - digamma(a) - 1.0 / df)
    return where(near, x * at_0, far)


stdtr = elementwise(
    "stdtr", "df x", "rt.special.stdtr(df, x)",
    [lambda t, out, df, x: _times(t, _stdtr_in_df(df, x)),
     lambda t, out, df, x: _times(t, exp(student_log_density(df, x)))],
)  # fmt: skip
stdtrit = elementwise(
    "stdtrit", "df p", "rt.special.stdtrit(df, p)",
    [lambda t, out, df, p: _times(-t, _stdtr_in_df(df, out) * exp(-student_log_density(df, out))),
     lambda t, out, df, p: _times(t, exp(-student_log_density(df, out)))],
)  # fmt: skip

# ----------------------------------------------------------------------------- the normal distribution, and on a circle

ndtri_exp = elementwise(
    "ndtri_exp", "y", "rt.special.ndtri_exp(y)", [lambda t, out, y: t * (exp(y + 0.5 * (out * out)) * _ROOT_TAU)]
)
owens_t = elementwise(
    "owens_t", "h a", "rt.special.owens_t(h, a)",
    [lambda t, out, h, a: _times(-t, erf(a * h / math.sqrt(2.0)) * exp(-0.5 * (h * h)) / (2.0 * _ROOT_TAU)),
     lambda t, out, h, a: _times(t, exp(-0.5 * (h * h) * (1.0 + a * a)) / (2.0 * math.pi * (1.0 + a * a)))],
)  # fmt: skip


def vonmises_log_density(kappa: Any, x: Any) -> Any:
    """The logarithm of the density of the von Mises distribution."""
    half = sin(0.5 * x)
    small = less(kappa, 1.0)  # exp(-kappa) i0(kappa), even in kappa, is no formula for the slope at 0
    near = log(i0(where(small, kappa, 0.0))) - kappa
    log_scale = where(small, near, log(i0e(where(small, 1.0, kappa))))
    return -2.0 * kappa * (half * half) - math.log(2.0 * math.pi) - log_scale


def _vonmises_density_slope(kappa: Any, x: Any, n: int) -> Any:
    return exp(vonmises_log_density(kappa, x)) * bell(circular_slopes(kappa, cos(x), ive), n)


vonmises_cdf: Primitive = elementwise(
    "vonmises_cdf", "kappa x", "rt.vonmises_cdf(kappa, x, n)",
    [lambda t, out, kappa, x, *, n: _times(t, vonmises_cdf(kappa, x, n=n + 1)),
     lambda t, out, kappa, x, *, n: _times(t, _vonmises_density_slope(kappa, x, n))],
    params="n", real=True,
)  # fmt: skip
vonmises_ppf = elementwise(
    "vonmises_ppf", "kappa q", "rt.vonmises_ppf(kappa, q)",
    [lambda t, out, kappa, q: _times(-t, vonmises_cdf(kappa, out, n=1) * exp(-vonmises_log_density(kappa, out))),
     lambda t, out, kappa, q: _times(t, exp(-vonmises_log_density(kappa, out)))], real=True,
)  # fmt: skip

# ----------------------------------------------------------------------------------- the inverse Gaussian distribution


def invgauss_log_density(mu: Any, x: Any) -> Any:
    """The logarithm of the density of the inverse Gaussian distribution."""
    away = (x - mu) / mu
    return -0.5 * math.log(2.0 * math.pi) - 1.5 * log(x) - away * away / (2.0 * x)


def _invgauss_in_mu(mu: Any, x: Any) -> Any:
    """The derivative in mu of Phi((x/mu - 1) / sqrt(x)) + exp(2/mu) Phi(-(x/mu + 1) / sqrt(x)): densities cancel."""
    far = (x / mu + 1.0) / sqrt(x)
    return -2.0 / (mu * mu) * exp(2.0 / mu + log_ndtr(-far))


invgauss_isf = elementwise(
    "invgauss_isf", "mu q", "rt.invgauss_isf(mu, q)",
    [lambda t, out, mu, q: _times(-t, _invgauss_in_mu(mu, out) * exp(-invgauss_log_density(mu, out))),
     lambda t, out, mu, q: _times(-t, exp(-invgauss_log_density(mu, out)))],
)  # fmt: skip
invgauss_ppf = elementwise(
    "invgauss_ppf", "mu q", "rt.invgauss_ppf(mu, q)",
    [lambda t, out, mu, q: _times(-t, _invgauss_in_mu(mu, out) * exp(-invgauss_log_density(mu, out))),
     lambda t, out, mu, q: _times(t, exp(-invgauss_log_density(mu, out)))], real=True,
)  # fmt: skip

# -------------------------------------------------------------------------------------------------- the zeta function

zeta_slope: Primitive = elementwise(
    "zeta_slope", "s q", "rt.zeta_slope(s, q, n)",
    [lambda t, out, s, q, *, n: _times(t, zeta_slope(s, q, n=n + 1)),
     lambda t, out, s, q, *, n: _times(-t, s * zeta_slope(s + 1.0, q, n=n) + n * zeta_slope(s + 1.0, q, n=n - 1))],
    params="n",
)  # fmt: skip
riemann_zeta = elementwise(
    "riemann_zeta", "s", "rt.special.zeta(s)", [lambda t, out, s: _times(t, zeta_slope(s, 1.0, n=1))], real=True
)
zeta: Primitive = elementwise(
    "zeta", "s q", "rt.special.zeta(s, q)",
    [lambda t, out, s, q: _times(t, zeta_slope(s, q, n=1)), lambda t, out, s, q: _times(-t, s * zeta(s + 1, q))],
)  # fmt: skip
