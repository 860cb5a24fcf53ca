"""Special functions: the error function, the gamma function, sinc, Bessel functions, x log y.

`sinc`, `bessel_i` and `polygamma` have the order of their derivative as a parameter, so that the rule of each is itself
with the order raised, and every derivative is finite where the function is smooth.
"""

from __future__ import annotations

import math
from typing import Any, Final

from srcdiff.core.primitive import Primitive
from srcdiff.ops.elementwise import conj, equal, less_equal, logical_and, where
from srcdiff.ops.families import elementwise
from srcdiff.ops.transcendental import exp, log

_SLOPE_OF_ERF: Final = 2.0 / math.sqrt(math.pi)
_DENSITY: Final = 1.0 / math.sqrt(2.0 * math.pi)

# --------------------------------------------------------------------------------------------- the error function

erf = elementwise("erf", "x", "rt.erf(x)", along=[lambda t, out, x: t * conj(_SLOPE_OF_ERF * exp(-(x * x)))])
erfc = elementwise("erfc", "x", "rt.erfc(x)", along=[lambda t, out, x: t * conj(-_SLOPE_OF_ERF * exp(-(x * x)))])
erfinv = elementwise("erfinv", "x", "rt.erfinv(x)", along=[lambda t, out, x: t * (exp(out * out) / _SLOPE_OF_ERF)])
ndtr = elementwise(
    "ndtr", "x", "rt.ndtr(x)", along=[lambda t, out, x: t * conj(_DENSITY * exp(-0.5 * (x * x)))], label="SpecialNdtr"
)
log_ndtr = elementwise(
    "log_ndtr", "x", "rt.log_ndtr(x)", along=[lambda t, out, x: t * conj(_DENSITY * exp(-0.5 * (x * x) - out))],
    label="SpecialLogNdtr",
)  # fmt: skip

# --------------------------------------------------------------------------------------------- the gamma function

lgamma = elementwise("lgamma", "x", "rt.gammaln(x)", along=[lambda t, out, x: t * digamma(x)])
digamma: Primitive = elementwise(
    "digamma", "x", "rt.polygamma(x, 0)", along=[lambda t, out, x: t * polygamma(x, n=1)], real=True
)
polygamma: Primitive = elementwise(
    "polygamma",
    "x",
    "rt.polygamma(x, n)",
    along=[lambda t, out, x, *, n: t * polygamma(x, n=n + 1)],
    params="n",
    real=True,
)

# ------------------------------------------------------------------------------------------------------- x log y


def _tame(x: Any, y: Any) -> Any:
    """y, and 1 where x is 0 and log y is infinite or NaN: there x log y is 0, as are its slopes."""
    return where(logical_and(equal(x, 0), less_equal(y, 0)), 1.0, y)


xlogy = elementwise(
    "xlogy", "x y", "rt.xlogy(x, y)",
    along=[lambda t, out, x, y: t * conj(log(_tame(x, y))), lambda t, out, x, y: t * conj(x / _tame(x, y))],
)  # fmt: skip
logit = elementwise("logit", "x", "rt.logit(x)", along=[lambda t, out, x: t / conj(x * (1.0 - x))])

# ------------------------------------------------------------------------------------------- oscillation and growth

sinc = elementwise("sinc", "x", "np.sinc(x)", along=[lambda t, out, x: t * conj(sinc_slope(x, n=1))])
sinc_slope: Primitive = elementwise(
    "sinc_slope", "x", "rt.sinc(x, n)", along=[lambda t, out, x, *, n: t * conj(sinc_slope(x, n=n + 1))], params="n"
)
i0 = elementwise("i0", "x", "np.i0(x)", along=[lambda t, out, x: t * bessel_i(x, n=1)])
bessel_i: Primitive = elementwise(
    "bessel_i", "x", "rt.bessel_i(x, n)",
    along=[lambda t, out, x, *, n: t * (0.5 * (bessel_i(x, n=n - 1) + bessel_i(x, n=n + 1)))], params="n", real=True,
)  # fmt: skip
