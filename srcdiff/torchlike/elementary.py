"""The elementwise functions that are one primitive each, under PyTorch's names; all are methods of Tensor as well."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from srcdiff.core.primitive import REGISTRY
from srcdiff.errors import DTypeError
from srcdiff.ops import catalogue  # noqa: F401
from srcdiff.tape.record import acceptable, explain, record1, record2
from srcdiff.tape.value import TensorBase
from srcdiff.torchlike.support import lift

_getframe = sys._getframe


def unary(name: str) -> Callable[[Any], Any]:
    """The function of one tensor that a primitive is; call it straight from user code, since it records its caller."""
    prim = REGISTRY[name]
    evaluate = prim.evaluator()

    def apply(input: Any) -> Any:
        if not isinstance(input, TensorBase):
            return prim(lift(input))
        try:
            value = evaluate(input._value)
        except (TypeError, ValueError) as error:
            raise explain(error, prim, (input,)) from error
        return record1(prim, input, value, _getframe(1))

    apply.__name__ = apply.__qualname__ = name.removeprefix("flat_")
    apply.__doc__ = prim.doc or f"`{prim.expr}`, elementwise."
    return apply


def binary(name: str) -> Callable[[Any, Any], Any]:
    """The function of two operands that a primitive is; call it straight from user code."""
    prim = REGISTRY[name]
    evaluate = prim.evaluator()

    def apply(input: Any, other: Any) -> Any:
        x = input if isinstance(input, TensorBase) else acceptable(input)
        y = other if isinstance(other, TensorBase) else acceptable(other)
        if x is NotImplemented or y is NotImplemented:
            raise DTypeError(f"{prim.name}: expected tensors, arrays or numbers, got {type(input)} and {type(other)}")
        if not isinstance(x, TensorBase) and not isinstance(y, TensorBase):
            return prim(x, y)
        try:
            value = evaluate(x._value if isinstance(x, TensorBase) else x, y._value if isinstance(y, TensorBase) else y)
        except (TypeError, ValueError) as error:
            raise explain(error, prim, (x, y)) from error
        return record2(prim, x, y, value, _getframe(1))

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = f"`{prim.expr}`, elementwise with broadcasting."
    return apply


# ------------------------------------------------------------------------------------------ one operand

abs = absolute = unary("abs")
neg = negative = unary("neg")
exp = unary("exp")
exp2 = unary("exp2")
expm1 = unary("expm1")
log = unary("log")
log2 = unary("log2")
log10 = unary("log10")
log1p = unary("log1p")
sqrt = unary("sqrt")
rsqrt = unary("rsqrt")
square = unary("square")
reciprocal = unary("reciprocal")
sin = unary("sin")
cos = unary("cos")
tan = unary("tan")
asin = arcsin = unary("arcsin")
acos = arccos = unary("arccos")
atan = arctan = unary("arctan")
sinh = unary("sinh")
cosh = unary("cosh")
tanh = unary("tanh")
asinh = arcsinh = unary("arcsinh")
acosh = arccosh = unary("arccosh")
atanh = arctanh = unary("arctanh")
deg2rad = unary("deg2rad")
rad2deg = unary("rad2deg")
sigmoid = unary("sigmoid")
relu = unary("relu")
erf = unary("erf")
erfc = unary("erfc")
erfinv = unary("erfinv")
lgamma = unary("lgamma")
digamma = unary("digamma")
sinc = unary("sinc")
i0 = unary("i0")
frac = unary("frac")
sign = unary("flat_sign")
floor = unary("flat_floor")
ceil = unary("flat_ceil")
trunc = fix = unary("flat_trunc")
isnan = unary("isnan")
isinf = unary("isinf")
isfinite = unary("isfinite")
signbit = unary("signbit")
logical_not = unary("logical_not")
bitwise_not = unary("invert")

# ------------------------------------------------------------------------------------------ two operands

mul = multiply = binary("mul")
maximum = binary("maximum")
minimum = binary("minimum")
fmax = binary("fmax")
fmin = binary("fmin")
floor_divide = binary("floor_divide")
remainder = binary("remainder")
fmod = binary("fmod")
pow = binary("pow")
float_power = binary("float_power")
atan2 = arctan2 = binary("arctan2")
hypot = binary("hypot")
logaddexp = binary("logaddexp")
logaddexp2 = binary("logaddexp2")
xlogy = binary("xlogy")
copysign = binary("copysign")
ldexp = binary("ldexp")
heaviside = binary("heaviside")
nextafter = binary("nextafter")
gcd = binary("gcd")
lcm = binary("lcm")
eq = binary("equal")
ne = not_equal = binary("not_equal")
lt = less = binary("less")
le = less_equal = binary("less_equal")
gt = greater = binary("greater")
ge = greater_equal = binary("greater_equal")
logical_and = binary("logical_and")
logical_or = binary("logical_or")
logical_xor = binary("logical_xor")
bitwise_and = binary("bitwise_and")
bitwise_or = binary("bitwise_or")
bitwise_xor = binary("bitwise_xor")
bitwise_left_shift = binary("left_shift")
bitwise_right_shift = binary("right_shift")

#: all of the above
NAMES = (
    "abs absolute neg negative exp exp2 expm1 log log2 log10 log1p sqrt rsqrt square reciprocal sin cos "
    "tan asin arcsin acos arccos atan arctan sinh cosh tanh asinh arcsinh acosh arccosh atanh arctanh "
    "deg2rad rad2deg sigmoid relu erf erfc erfinv lgamma digamma sinc i0 frac sign floor ceil trunc fix "
    "isnan isinf isfinite signbit logical_not bitwise_not mul multiply maximum minimum fmax fmin "
    "floor_divide remainder fmod pow float_power atan2 arctan2 hypot logaddexp logaddexp2 xlogy copysign "
    "ldexp heaviside nextafter gcd lcm eq ne not_equal lt less le less_equal gt greater ge greater_equal "
    "logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor bitwise_left_shift "
    "bitwise_right_shift"
)
