"""Arithmetic, rounding, complex parts, comparison and choice: one line each, the derivative as the textbook writes it.

Rules are right for complex operands too, in PyTorch's convention: the cotangent of a holomorphic f is ct * conj(f').
"""

from __future__ import annotations

from typing import Any

from srcdiff.core.primitive import Primitive
from srcdiff.ops.families import elementwise, nondiff
from srcdiff.ops.structural import imag_part, real_part

# ------------------------------------------------------------------------------------------------------- arithmetic

neg = elementwise("neg", "x", "-x", along=[lambda t, out, x: -t])
positive = elementwise("positive", "x", "+x", along=[lambda t, out, x: t])
add = elementwise("add", "x y", "x + y", along=[lambda t, out, x, y: t, lambda t, out, x, y: t])
sub = elementwise("sub", "x y", "x - y", along=[lambda t, out, x, y: t, lambda t, out, x, y: -t])
mul = elementwise("mul", "x y", "x * y", along=[lambda t, out, x, y: t * conj(y), lambda t, out, x, y: conj(x) * t])
div = elementwise(
    "div",
    "x y",
    "x / y",
    along=[lambda t, out, x, y: t / conj(y), lambda t, out, x, y: -(t / conj(y)) * conj(x / y)],
    singular=True,
)
conjugate: Primitive = elementwise(
    "conjugate", "x", "np.conj(x)", along=[lambda t, out, x: conj(t)], label="Conj",
    fold=lambda b, n, p: n[0].operands[0] if n[0].prim is conjugate else None,
)  # fmt: skip


def conj(x: Any) -> Any:
    """The complex conjugate; real values and numbers are returned as they are."""
    if type(x) is complex:
        return x.conjugate()
    return conjugate(x) if hasattr(x, "dtype") and x.dtype.kind == "c" else x


# x == (x // y) * y + x % y, with a quotient that is constant between its jumps
floor_divide = nondiff("floor_divide", "x y", "x // y")
remainder = elementwise(
    "remainder", "x y", "x % y", along=[lambda t, out, x, y: t, lambda t, out, x, y: -t * floor_divide(x, y)]
)
fmod = elementwise(
    "fmod", "x y", "np.fmod(x, y)", along=[lambda t, out, x, y: t, lambda t, out, x, y: -t * trunc(x / y)]
)


def _along_abs(t: Any, out: Any, x: Any) -> Any:
    # at 0 the slope is 0, the middle of -1 and 1
    return t * unit(x) if x.dtype.kind == "c" else t * sign(x)


def unit(x: Any) -> Any:
    """x / |x| for complex x, and 0 at 0."""
    size = absolute(x)
    return x / where(equal(size, 0), 1.0, size)


_square_of_abs = (lambda t, out, x: t * (2.0 * x),)
absolute = elementwise("abs", "x", "np.abs(x)", along=[_along_abs], squared=_square_of_abs)
fabs = elementwise(
    "fabs", "x", "np.fabs(x)", along=[lambda t, out, x: t * sign(x)], label="Abs", squared=_square_of_abs
)
copysign = elementwise(
    "copysign", "x y", "np.copysign(x, y)",
    along=[lambda t, out, x, y: t * (sign(x) * sign(out)), lambda t, out, x, y: None],
)  # fmt: skip
heaviside = elementwise(
    "heaviside", "x y", "np.heaviside(x, y)",
    along=[lambda t, out, x, y: None, lambda t, out, x, y: where(equal(x, 0), t, 0.0)], selects=True,
)  # fmt: skip

# ------------------------------------------------------------------------------------- rounding and parts of a number

sign: Primitive = nondiff("sign", "x", "np.sign(x)")
floor = nondiff("floor", "x", "np.floor(x)")
ceil = nondiff("ceil", "x", "np.ceil(x)")
trunc: Primitive = nondiff("trunc", "x", "np.trunc(x)")
rint = nondiff("rint", "x", "np.rint(x)")
round_ = nondiff("round", "x", "np.round(x, decimals)", params="decimals")
spacing = nondiff("spacing", "x", "np.spacing(x)")
nextafter = elementwise(
    "nextafter", "x y", "np.nextafter(x, y)", along=[lambda t, out, x, y: t, lambda t, out, x, y: None]
)
# x == trunc(x) + frac(x), and x == mantissa(x) * 2 ** exponent(x)
frac = elementwise("frac", "x", "np.modf(x)[0]", along=[lambda t, out, x: t])
exponent = nondiff("exponent", "x", "np.frexp(x)[1]")
mantissa = elementwise("mantissa", "x", "np.frexp(x)[0]", along=[lambda t, out, x: ldexp(t, -exponent(x))])
ldexp: Primitive = elementwise("ldexp", "x n", "np.ldexp(x, n)", along=[lambda t, out, x, n: ldexp(t, n), None])
real = real_part
imag = imag_part

# ------------------------------------------------------------------------------------------------- comparison and logic

less = nondiff("less", "x y", "x < y")
less_equal = nondiff("less_equal", "x y", "x <= y")
greater = nondiff("greater", "x y", "x > y")
greater_equal = nondiff("greater_equal", "x y", "x >= y")
equal: Primitive = nondiff("equal", "x y", "x == y")
not_equal = nondiff("not_equal", "x y", "x != y")
isnan = nondiff("isnan", "x", "np.isnan(x)")
isinf = nondiff("isinf", "x", "np.isinf(x)")
isfinite = nondiff("isfinite", "x", "np.isfinite(x)")
signbit = nondiff("signbit", "x", "np.signbit(x)")
logical_and = nondiff("logical_and", "x y", "np.logical_and(x, y)")
logical_or = nondiff("logical_or", "x y", "np.logical_or(x, y)")
logical_xor = nondiff("logical_xor", "x y", "np.logical_xor(x, y)")
logical_not = nondiff("logical_not", "x", "np.logical_not(x)")
bitwise_and = nondiff("bitwise_and", "x y", "x & y")
bitwise_or = nondiff("bitwise_or", "x y", "x | y")
bitwise_xor = nondiff("bitwise_xor", "x y", "x ^ y")
invert = nondiff("invert", "x", "~x")
left_shift = nondiff("left_shift", "x y", "x << y")
right_shift = nondiff("right_shift", "x y", "x >> y")
bitwise_count = nondiff("bitwise_count", "x", "np.bitwise_count(x)")
gcd = nondiff("gcd", "x y", "np.gcd(x, y)")
lcm = nondiff("lcm", "x y", "np.lcm(x, y)")

# ------------------------------------------------------------------------------------------------------------- choice

where: Primitive = elementwise(
    "where", "c x y", "np.where(c, x, y)",
    along=[None, lambda t, out, c, x, y: where(c, t, 0.0), lambda t, out, c, x, y: where(c, 0.0, t)], selects=True,
    fast="rt.where(c, x, y)",
)  # fmt: skip
