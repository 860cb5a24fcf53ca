"""Powers, exponentials and logarithms, circular and hyperbolic functions.

The derivative uses the result where that is cheaper (`exp`, `tanh`, `sqrt`); then that is saved, as in PyTorch.
"""

from __future__ import annotations

import cmath
import math
from typing import Any, Final

from srcdiff.core.primitive import Primitive
from srcdiff.ops.elementwise import conj, equal, isinf, logical_and, where
from srcdiff.ops.families import elementwise

_LN2: Final = math.log(2.0)
_LN10: Final = math.log(10.0)
_DEGREE: Final = math.pi / 180.0

# ----------------------------------------------------------------------------------------------------------- powers


def _along_base(t: Any, out: Any, x: Any, y: Any) -> Any:
    if type(y) in (int, float):
        return _static_power(t, x, y)
    # 0 ** 0 is 1 whatever the base, though 0 * 0 ** -1 is NaN
    corner = logical_and(equal(x, 0), equal(y, 0))
    return t * conj(where(corner, 0.0, y * x ** where(corner, 1.0, y - 1.0)))


def _static_power(t: Any, x: Any, y: float) -> Any:
    # the squares and cubes of ordinary code, written without a power where there is a shorter way
    if y == 2:
        return t * (2.0 * conj(x))
    if y == 1:
        return t
    if y == 0:
        return None
    return t * conj(y * x ** (y - 1))


def _along_exponent(t: Any, out: Any, x: Any, y: Any) -> Any:
    # 0 ** y is constant in y > 0, though log 0 is infinite
    if type(x) in (int, float):
        if out.dtype.kind == "c" and x != 0:
            return t * conj(out * cmath.log(x))
        return t * conj(out * math.log(x)) if x > 0 else t * conj(out * (math.nan if x < 0 else 0.0))
    zero = equal(x, 0)
    base = where(zero, 1.0, x)
    if out.dtype.kind == "c" and x.dtype.kind != "c":
        base = base + 0j  # the logarithm of a negative number is complex too
    return t * conj(out * where(zero, 0.0, log(base)))


pow = elementwise("pow", "x y", "x ** y", along=[_along_base, _along_exponent], saves=["x y", "x y out"], singular=True)
float_power = elementwise(
    "float_power", "x y", "np.float_power(x, y)", along=[_along_base, _along_exponent], saves=["x y", "x y out"],
    label="Pow", singular=True,
)  # fmt: skip
square = elementwise("square", "x", "np.square(x)", along=[lambda t, out, x: t * (2.0 * conj(x))], label="Pow")
reciprocal = elementwise(
    "reciprocal", "x", "np.reciprocal(x)", along=[lambda t, out, x: -t * conj(out * out)], singular=True
)
sqrt = elementwise(
    "sqrt", "x", "np.sqrt(x)", along=[lambda t, out, x: t / (2.0 * conj(out))], singular=True,
    squared=(lambda t, out, x: t,),
)  # fmt: skip
rsqrt = elementwise(
    "rsqrt", "x", "1.0 / np.sqrt(x)", along=[lambda t, out, x: -0.5 * t * conj(out * out * out)], singular=True
)
cbrt = elementwise("cbrt", "x", "np.cbrt(x)", along=[lambda t, out, x: t / (3.0 * (out * out))], singular=True)


def _along_hypot(t: Any, out: Any, x: Any) -> Any:
    # at the origin, where there is no slope, 0
    return t * (x / where(equal(out, 0), 1.0, out))


hypot = elementwise(
    "hypot", "x y", "np.hypot(x, y)",
    along=[lambda t, out, x, y: _along_hypot(t, out, x), lambda t, out, x, y: _along_hypot(t, out, y)],
    squared=(lambda t, out, x, y: t * (2.0 * x), lambda t, out, x, y: t * (2.0 * y)),
)  # fmt: skip

# ---------------------------------------------------------------------------------------- exponentials and logarithms

exp = elementwise("exp", "x", "np.exp(x)", along=[lambda t, out, x: t * conj(out)])
exp2 = elementwise("exp2", "x", "np.exp2(x)", along=[lambda t, out, x: t * conj(out * _LN2)])
expm1 = elementwise("expm1", "x", "np.expm1(x)", along=[lambda t, out, x: t * conj(out + 1.0)])
log = elementwise("log", "x", "np.log(x)", along=[lambda t, out, x: t / conj(x)], singular=True)
log2 = elementwise("log2", "x", "np.log2(x)", along=[lambda t, out, x: t / conj(x * _LN2)], singular=True)
log10 = elementwise("log10", "x", "np.log10(x)", along=[lambda t, out, x: t / conj(x * _LN10)], singular=True)
log1p = elementwise(
    "log1p", "x", "np.log1p(x)", along=[lambda t, out, x: t / conj(x + 1.0)], label="Log1P", singular=True
)


def _gap(x: Any, y: Any) -> Any:
    """x - y, and 0 where both are the same infinity."""
    return where(logical_and(isinf(x), equal(x, y)), 0.0, x - y)


logaddexp = elementwise(
    "logaddexp", "x y", "np.logaddexp(x, y)",
    along=[lambda t, out, x, y: t * sigmoid(_gap(x, y)), lambda t, out, x, y: t * sigmoid(_gap(y, x))],
)  # fmt: skip
logaddexp2 = elementwise(
    "logaddexp2", "x y", "np.logaddexp2(x, y)",
    along=[
        lambda t, out, x, y: t * sigmoid(_gap(x, y) * _LN2),
        lambda t, out, x, y: t * sigmoid(_gap(y, x) * _LN2),
    ],
)  # fmt: skip
sigmoid: Primitive = elementwise("sigmoid", "x", "rt.sigmoid(x)", along=[lambda t, out, x: t * conj(out * (1.0 - out))])

# ------------------------------------------------------------------------------------------------- circular functions

sin = elementwise("sin", "x", "np.sin(x)", along=[lambda t, out, x: t * conj(cos(x))])
cos: Primitive = elementwise("cos", "x", "np.cos(x)", along=[lambda t, out, x: t * conj(-sin(x))])
tan = elementwise("tan", "x", "np.tan(x)", along=[lambda t, out, x: t * conj(1.0 + out * out)])
arcsin = elementwise(
    "arcsin", "x", "np.arcsin(x)", along=[lambda t, out, x: t / conj(sqrt(1.0 - x * x))], label="Asin", singular=True
)
arccos = elementwise(
    "arccos", "x", "np.arccos(x)", along=[lambda t, out, x: -t / conj(sqrt(1.0 - x * x))], label="Acos", singular=True
)
arctan = elementwise("arctan", "x", "np.arctan(x)", along=[lambda t, out, x: t / conj(1.0 + x * x)], label="Atan")
arctan2 = elementwise(
    "arctan2", "x y", "np.arctan2(x, y)",
    along=[lambda t, out, x, y: t * _turn(y, x, y), lambda t, out, x, y: -t * _turn(x, x, y)], label="Atan2",
)  # fmt: skip


def _turn(part: Any, x: Any, y: Any) -> Any:
    """part / (x**2 + y**2), and 0 at the origin, where the angle jumps."""
    size = hypot(x, y)  # its square may be 0 or infinite where this is not
    size = where(equal(size, 0), 1.0, size)
    return part / size / size


deg2rad = elementwise("deg2rad", "x", "np.deg2rad(x)", along=[lambda t, out, x: t * _DEGREE], label="Deg2Rad")
rad2deg = elementwise("rad2deg", "x", "np.rad2deg(x)", along=[lambda t, out, x: t / _DEGREE], label="Rad2Deg")

# ----------------------------------------------------------------------------------------------- hyperbolic functions

sinh = elementwise("sinh", "x", "np.sinh(x)", along=[lambda t, out, x: t * conj(cosh(x))])
cosh: Primitive = elementwise("cosh", "x", "np.cosh(x)", along=[lambda t, out, x: t * conj(sinh(x))])
tanh = elementwise("tanh", "x", "np.tanh(x)", along=[lambda t, out, x: t * conj(1.0 - out * out)])
arcsinh = elementwise(
    "arcsinh", "x", "np.arcsinh(x)", along=[lambda t, out, x: t / conj(sqrt(x * x + 1.0))], label="Asinh"
)
# sqrt(x - 1) * sqrt(x + 1), not sqrt(x * x - 1): the right branch for complex x
arccosh = elementwise(
    "arccosh",
    "x",
    "np.arccosh(x)",
    along=[lambda t, out, x: t / conj(sqrt(x - 1.0) * sqrt(x + 1.0))],
    label="Acosh",
    singular=True,
)
arctanh = elementwise(
    "arctanh", "x", "np.arctanh(x)", along=[lambda t, out, x: t / conj(1.0 - x * x)], label="Atanh", singular=True
)
