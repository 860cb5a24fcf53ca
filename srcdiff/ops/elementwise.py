"""Arithmetic and the elementary functions: one line each, the derivative as the textbook writes it."""

from __future__ import annotations

from typing import Any

from srcdiff.ops.families import elementwise, nondiff

# ------------------------------------------------------------------------------------------------------- arithmetic

neg = elementwise("neg", "x", "-x", along=[lambda t, out, x: -t])
add = elementwise("add", "x y", "x + y", along=[lambda t, out, x, y: t, lambda t, out, x, y: t])
sub = elementwise("sub", "x y", "x - y", along=[lambda t, out, x, y: t, lambda t, out, x, y: -t])
mul = elementwise("mul", "x y", "x * y", along=[lambda t, out, x, y: t * conj(y), lambda t, out, x, y: conj(x) * t])
div = elementwise(
    "div", "x y", "x / y", along=[lambda t, out, x, y: t / conj(y), lambda t, out, x, y: -t * conj((x / y) / y)]
)


def _pow_base(t: Any, out: Any, x: Any, y: Any) -> Any:
    # x ** 2 and x ** 3 are common enough to be written without a power; at y = 0 the slope is 0 even where x is 0
    if type(y) in (int, float):
        return _pow_static(t, x, y)
    return t * conj(where(equal(y, 0), 0.0, y * x ** where(equal(y, 0), 1.0, y - 1.0)))


def _pow_static(t: Any, x: Any, y: float) -> Any:
    if y == 2:
        return t * (2.0 * conj(x))
    if y == 1:
        return t
    if y == 0:
        return t * 0.0
    return t * conj(y * x ** (y - 1))


def _pow_exponent(t: Any, out: Any, x: Any, y: Any) -> Any:
    # 0 ** y is constant in y for y > 0
    zero = equal(x, 0)
    return t * conj(out * where(zero, 0.0, log(where(zero, 1.0, x))))


pow = elementwise("pow", "x y", "x ** y", along=[_pow_base, _pow_exponent])  # noqa: A001
conjugate = elementwise("conjugate", "x", "np.conj(x)", along=[lambda t, out, x: conj(t)], label="Conj")


def conj(x: Any) -> Any:
    """The complex conjugate; real values and numbers are returned as they are."""
    return conjugate(x) if hasattr(x, "dtype") and x.dtype.kind == "c" else x


# ------------------------------------------------------------------------------------------- comparison and choice

less = nondiff("less", "x y", "x < y")
less_equal = nondiff("less_equal", "x y", "x <= y")
greater = nondiff("greater", "x y", "x > y")
greater_equal = nondiff("greater_equal", "x y", "x >= y")
equal = nondiff("equal", "x y", "x == y")
not_equal = nondiff("not_equal", "x y", "x != y")
where = elementwise(
    "where", "c x y", "np.where(c, x, y)",
    along=[None, lambda t, out, c, x, y: where(c, t, 0.0), lambda t, out, c, x, y: where(c, 0.0, t)],
)  # fmt: skip

# ---------------------------------------------------------------------------------------------- elementary functions

exp = elementwise("exp", "x", "np.exp(x)", along=[lambda t, out, x: t * conj(out)])
log = elementwise("log", "x", "np.log(x)", along=[lambda t, out, x: t / conj(x)])
sqrt = elementwise("sqrt", "x", "np.sqrt(x)", along=[lambda t, out, x: t / (2.0 * conj(out))])
sin = elementwise("sin", "x", "np.sin(x)", along=[lambda t, out, x: t * conj(cos(x))])
cos = elementwise("cos", "x", "np.cos(x)", along=[lambda t, out, x: t * conj(-sin(x))])
tanh = elementwise("tanh", "x", "np.tanh(x)", along=[lambda t, out, x: t * conj(1.0 - out * out)])
