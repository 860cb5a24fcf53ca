"""The ufuncs of scipy.special that only SciPy can evaluate. Declaring them does not import it.

Derivatives with respect to an order (`v`, `n`) or another parameter that have no closed form are refused: None.
Quotients that are smooth where their denominator is 0 are replaced there by their series: all derivatives are right.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from srcdiff.core.primitive import Primitive
from srcdiff.ops.elementwise import absolute, conj, equal, less, less_equal, logical_and, sign, trunc, where
from srcdiff.ops.families import elementwise, nondiff
from srcdiff.ops.selection import clip, maximum
from srcdiff.ops.special import digamma, i0, sinc
from srcdiff.ops.structural import cast
from srcdiff.ops.transcendental import cos, exp, expm1, log, log1p, sin

_ROOT_PI: Final = math.sqrt(math.pi)
_NEAR: Final = 1e-3
_FLOAT: Final = np.dtype(float)


def of_x(name: str, along: Callable[[Any, Any], Any], call: str = "") -> Primitive:
    """A function of x alone with slope `along(out, x)`, both always saved; `call` is SciPy's name for it."""
    expr = f"rt.special.{call or name + '(x)'}"
    return elementwise(name, "x", expr, [lambda t, out, x: t * conj(along(out, x))], saves="x out")


def _of_order(name: str, order: str, along: Callable[[Any, Any, Any], Any], real: bool = False) -> Primitive:
    """A function of an order and x with slope `along(out, order, x)` in x, and none known in the order."""
    rule = lambda t, out, v, x: t * conj(along(out, v, x))
    return elementwise(
        name, f"{order} x", f"rt.special.{name}({order}, x)", [None, rule], saves=["", f"{order} x out"], real=real
    )


def whole(n: Any) -> Any:
    """An order of which SciPy takes the whole part."""
    return n if type(n) is int or getattr(n, "dtype", _FLOAT).kind in "iub" else trunc(n)


def series(x: Any, coefficients: tuple[float, ...], otherwise: Callable[[Any], Any]) -> Any:
    """The power series where |x| is small, else `otherwise(x)`."""
    near = less(absolute(x), _NEAR)
    total: Any = coefficients[-1]
    for c in reversed(coefficients[:-1]):
        total = total * x + c
    return where(near, total, otherwise(where(near, 1.0, x)))


# ------------------------------------------------------------------------------------------- error functions, integrals

erfcx = of_x("erfcx", lambda out, x: 2.0 * (x * out) - 2.0 / _ROOT_PI)
dawsn = of_x("dawsn", lambda out, x: 1.0 - 2.0 * (x * out))
erfcinv = of_x("erfcinv", lambda out, x: exp(out * out) * (-0.5 * _ROOT_PI))
ndtri = of_x("ndtri", lambda out, x: exp(0.5 * (out * out)) * math.sqrt(2.0 * math.pi))
exp1 = of_x("exp1", lambda out, x: -exp(-x) / x)
expi = of_x("expi", lambda out, x: exp(x) / x)


def _expn_slope(out: Any, n: Any, x: Any) -> Any:
    """-expn(n - 1, x); by the recurrence in n where SciPy does not have that or n is not known beforehand."""
    if type(n) is int and n >= 1:
        return -expn(n - 1, x)
    n = whole(n)
    return ((n - 1) * out - exp(-x)) / x


expn: Primitive = _of_order("expn", "n", _expn_slope)
exp10 = of_x("exp10", lambda out, x: out * math.log(10.0))
cosm1 = of_x("cosm1", lambda out, x: -sin(x))
entr = of_x("entr", lambda out, x: -log(x) - 1.0)
sine_integral = elementwise(
    "sine_integral", "x", "rt.special.sici(x)[0]", [lambda t, out, x: t * conj(sinc(x / math.pi))]
)
cosine_integral = elementwise("cosine_integral", "x", "rt.special.sici(x)[1]", [lambda t, out, x: t * conj(cos(x) / x)])


def exprel_slope(x: Any) -> Any:
    """The derivative of (exp(x) - 1) / x."""
    far = lambda x: (exp(x) - expm1(x) / x) / x
    return series(x, (1 / 2, 1 / 3, 1 / 8, 1 / 30, 1 / 144), far)


exprel = of_x("exprel", lambda out, x: exprel_slope(x))
spence = of_x("spence", lambda out, x: series(x - 1.0, (-1.0, 1 / 2, -1 / 3, 1 / 4, -1 / 5), lambda u: -log1p(u) / u))

# --------------------------------------------------------------------------------------------------- elliptic integrals

_K_SLOPE: Final = tuple(0.5 * math.pi * c for c in (1 / 4, 9 / 32, 75 / 256, 1225 / 4096, 19845 / 65536))
_E_SLOPE: Final = tuple(0.5 * math.pi * c for c in (-1 / 4, -3 / 32, -15 / 256, -175 / 4096, -2205 / 65536))
ellipk: Primitive = of_x(
    "ellipk",
    lambda out, m: series(m, _K_SLOPE, lambda m: (ellipe(m) / (1.0 - m) - ellipk(m)) / (2.0 * m)),
)
ellipe: Primitive = of_x("ellipe", lambda out, m: series(m, _E_SLOPE, lambda m: (ellipe(m) - ellipk(m)) / (2.0 * m)))

# ---------------------------------------------------------------------------------------------------- Bessel functions

jv: Primitive = _of_order("jv", "v", lambda out, v, x: 0.5 * (jv(v - 1, x) - jv(v + 1, x)))
yv: Primitive = _of_order("yv", "v", lambda out, v, x: 0.5 * (yv(v - 1, x) - yv(v + 1, x)))
yn: Primitive = _of_order("yn", "n", lambda out, n, x: 0.5 * (yn(whole(n) - 1, x) - yn(whole(n) + 1, x)))
iv: Primitive = _of_order("iv", "v", lambda out, v, x: 0.5 * (iv(v - 1, x) + iv(v + 1, x)))
kv: Primitive = _of_order("kv", "v", lambda out, v, x: -0.5 * (kv(v - 1, x) + kv(v + 1, x)))
kn: Primitive = _of_order("kn", "n", lambda out, n, x: -0.5 * (kn(whole(n) - 1, x) + kn(whole(n) + 1, x)))
# scaled by exp(-|x|) and exp(x)
ive: Primitive = _of_order(
    "ive", "v", lambda out, v, x: 0.5 * (ive(v - 1, x) + ive(v + 1, x)) - sign(x) * out, real=True
)
kve: Primitive = _of_order("kve", "v", lambda out, v, x: out - 0.5 * (kve(v - 1, x) + kve(v + 1, x)))
j0: Primitive = of_x("j0", lambda out, x: -j1(x))
j1: Primitive = of_x("j1", lambda out, x: 0.5 * (j0(x) - jv(2, x)))
y0: Primitive = of_x("y0", lambda out, x: -y1(x))
y1: Primitive = of_x("y1", lambda out, x: 0.5 * (y0(x) - yv(2, x)))
i1: Primitive = of_x("i1", lambda out, x: 0.5 * (i0(x) + iv(2, x)))
k0: Primitive = of_x("k0", lambda out, x: -k1(x))
k1: Primitive = of_x("k1", lambda out, x: -0.5 * (k0(x) + kv(2, x)))
i0e: Primitive = of_x("i0e", lambda out, x: i1e(x) - sign(x) * out)
i1e: Primitive = of_x("i1e", lambda out, x: 0.5 * (i0e(x) + ive(2, x)) - sign(x) * out)
k0e: Primitive = of_x("k0e", lambda out, x: out - k1e(x))
k1e: Primitive = of_x("k1e", lambda out, x: out - 0.5 * (k0e(x) + kve(2, x)))

# ------------------------------------------------------------------------------------ the gamma function and its family

gamma = of_x("gamma", lambda out, x: out * digamma(x))
loggamma = of_x("loggamma", lambda out, x: digamma(x))
gammasgn = nondiff("gammasgn", "x", "rt.special.gammasgn(x)")
beta = elementwise(
    "beta", "a b", "rt.special.beta(a, b)",
    [lambda t, out, a, b: t * (out * (digamma(a) - digamma(a + b))),
     lambda t, out, a, b: t * (out * (digamma(b) - digamma(a + b)))],
)  # fmt: skip
betaln = elementwise(
    "betaln", "a b", "rt.special.betaln(a, b)",
    [lambda t, out, a, b: t * (digamma(a) - digamma(a + b)), lambda t, out, a, b: t * (digamma(b) - digamma(a + b))],
)  # fmt: skip
poch = elementwise(
    "poch", "z m", "rt.special.poch(z, m)",
    [lambda t, out, z, m: t * (out * (digamma(z + m) - digamma(z))), lambda t, out, z, m: t * (out * digamma(z + m))],
)  # fmt: skip
binom = elementwise(
    "binom", "n k", "rt.special.binom(n, k)",
    [lambda t, out, n, k: t * (out * (digamma(n + 1.0) - digamma(n - k + 1.0))),
     lambda t, out, n, k: t * (out * (digamma(n - k + 1.0) - digamma(k + 1.0)))],
)  # fmt: skip

# ---------------------------------------------------------------------------------------------- divergences and losses


def _tame(t: Any, x: Any, y: Any) -> Any:
    """y in the dtype of t, and 0 where x is 0 and log1p y is infinite or NaN: there x log1p y is 0, as are its
    slopes.
    """
    return cast(where(logical_and(equal(x, 0), less_equal(y, -1)), 0.0, y), dtype=t.dtype)


xlog1py: Primitive = elementwise(
    "xlog1py", "x y", "rt.special.xlog1py(x, y)",
    [lambda t, out, x, y: xlog1py(t, _tame(t, x, y)), lambda t, out, x, y: t * (x / (1.0 + _tame(t, x, y)))], real=True,
)  # fmt: skip
rel_entr = elementwise(
    "rel_entr", "x y", "rt.special.rel_entr(x, y)",
    [lambda t, out, x, y: t * (log(x / y) + 1.0), lambda t, out, x, y: -t * (x / y)],
)  # fmt: skip
kl_divergence = elementwise(
    "kl_divergence", "x y", "rt.special.kl_div(x, y)",
    [lambda t, out, x, y: t * log(x / y), lambda t, out, x, y: t * (1.0 - x / y)],
)  # fmt: skip
huber = elementwise(
    "huber", "delta r", "rt.special.huber(delta, r)",
    [lambda t, out, delta, r: where(less_equal(absolute(r), delta), 0.0, t * (absolute(r) - delta)),
     lambda t, out, delta, r: t * clip(r, -delta, delta)],
)  # fmt: skip


def _boxcox_exponent(t: Any, out: Any, x: Any, power: Any) -> Any:
    """boxcox is log(x) * exprel(power * log(x))."""
    scale = log(x)
    return t * cast(scale * scale * exprel_slope(power * scale), dtype=t.dtype)


boxcox = elementwise(
    "boxcox", "x power", "rt.special.boxcox(x, power)",
    [lambda t, out, x, power: t * x ** (power - 1.0), _boxcox_exponent],
)  # fmt: skip

# ------------------------------------------------------------------------------ hypergeometric functions, polynomials

hyp0f1: Primitive = elementwise(
    "hyp0f1", "v x", "rt.special.hyp0f1(v, x)", [None, lambda t, out, v, x: t * conj(hyp0f1(v + 1, x) / v)]
)
hyp1f1: Primitive = elementwise(
    "hyp1f1", "a b x", "rt.special.hyp1f1(a, b, x)",
    [None, None, lambda t, out, a, b, x: t * conj(a / b * hyp1f1(a + 1, b + 1, x))],
)  # fmt: skip
hyp2f1: Primitive = elementwise(
    "hyp2f1", "a b c x", "rt.special.hyp2f1(a, b, c, x)",
    [None, None, None, lambda t, out, a, b, c, x: t * conj(a * b / c * hyp2f1(a + 1, b + 1, c + 1, x))],
)  # fmt: skip
lambertw = elementwise(
    "lambertw", "x k tol", "rt.special.lambertw(x, k, tol)",
    [lambda t, out, x, k, tol: t * conj(exp(-out) / (1.0 + out)), None, None],
)  # fmt: skip
eval_gegenbauer: Primitive = elementwise(
    "eval_gegenbauer", "n a x", "rt.special.eval_gegenbauer(n, a, x)",
    [None, None, lambda t, out, n, a, x: t * conj(2 * a * eval_gegenbauer(n - 1, a + 1, x))],
)  # fmt: skip
eval_legendre = _of_order("eval_legendre", "n", lambda out, n, x: eval_gegenbauer(n - 1, 1.5, x))
eval_chebyt = _of_order("eval_chebyt", "n", lambda out, n, x: n * eval_gegenbauer(n - 1, 1.0, x))
eval_chebyu = _of_order("eval_chebyu", "n", lambda out, n, x: 2 * eval_gegenbauer(n - 1, 2.0, x))
eval_hermite: Primitive = _of_order("eval_hermite", "n", lambda out, n, x: 2 * n * eval_hermite(maximum(n - 1, 0), x))
eval_genlaguerre: Primitive = elementwise(
    "eval_genlaguerre", "n a x", "rt.special.eval_genlaguerre(n, a, x)",
    [None, None, lambda t, out, n, a, x: -t * conj(eval_genlaguerre(n - 1, a + 1, x))],
)  # fmt: skip
eval_laguerre = _of_order("eval_laguerre", "n", lambda out, n, x: -eval_genlaguerre(n - 1, 1.0, x))
