"""More ufuncs of scipy.special: transformations by powers, integrals, Airy functions, degrees."""

from __future__ import annotations

import math
from typing import Any, Final

from srcdiff.core.primitive import Primitive
from srcdiff.ops.elementwise import conj
from srcdiff.ops.families import elementwise
from srcdiff.ops.special_scipy import ellipe, ellipk, exprel_slope, of_x, series
from srcdiff.ops.structural import cast
from srcdiff.ops.transcendental import cos, exp, log, log1p, sin, sqrt

_ROOT_PI: Final = math.sqrt(math.pi)
_DEGREE: Final = math.pi / 180.0

# -------------------------------------------------------------------------------------------- transformations by powers


def _boxcox1p_exponent(t: Any, out: Any, x: Any, power: Any) -> Any:
    """boxcox1p is log1p(x) * exprel(power * log1p(x))."""
    scale = log1p(x)
    return t * cast(scale * scale * exprel_slope(power * scale), dtype=t.dtype)


def _inverse_exponent(x: Any, y: Any, power: Any) -> Any:
    """x = (1 + power * y) ** (1 / power), differentiated in the power; a series next to 0."""
    far = lambda u: (1.0 / (1.0 + u) - log1p(u) / u) / u
    return x * (y * y) * series(power * y, (-1 / 2, 2 / 3, -3 / 4, 4 / 5, -5 / 6, 6 / 7), far)


boxcox1p = elementwise(
    "boxcox1p", "x power", "rt.special.boxcox1p(x, power)",
    [lambda t, out, x, power: t * (1.0 + x) ** (power - 1.0), _boxcox1p_exponent],
)  # fmt: skip
inv_boxcox = elementwise(
    "inv_boxcox", "y power", "rt.special.inv_boxcox(y, power)",
    [lambda t, out, y, power: t * out ** (1.0 - power),
     lambda t, out, y, power: t * cast(_inverse_exponent(out, y, power), dtype=t.dtype)],
)  # fmt: skip
inv_boxcox1p = elementwise(
    "inv_boxcox1p", "y power", "rt.special.inv_boxcox1p(y, power)",
    [lambda t, out, y, power: t * (1.0 + out) ** (1.0 - power),
     lambda t, out, y, power: t * cast(_inverse_exponent(1.0 + out, y, power), dtype=t.dtype)],
)  # fmt: skip
powm1 = elementwise(
    "powm1", "x y", "rt.special.powm1(x, y)",
    [lambda t, out, x, y: t * (y * x ** (y - 1.0)), lambda t, out, x, y: t * cast((out + 1.0) * log(x), dtype=t.dtype)],
)  # fmt: skip


def _bend(delta: Any, r: Any) -> Any:
    ratio = r / delta
    return sqrt(1.0 + ratio * ratio)


pseudo_huber = elementwise(
    "pseudo_huber", "delta r", "rt.special.pseudo_huber(delta, r)",
    [lambda t, out, delta, r: t * (2.0 * out / delta - r * r / (delta * _bend(delta, r))),
     lambda t, out, delta, r: t * (r / _bend(delta, r))],
)  # fmt: skip

# ------------------------------------------------------------------------------------------------------------ integrals

erfi = of_x("erfi", lambda out, x: 2.0 / _ROOT_PI * exp(x * x))
wofz = of_x("wofz", lambda out, x: 2j / _ROOT_PI - 2.0 * (x * out))
fresnel_sine = elementwise(
    "fresnel_sine", "x", "rt.special.fresnel(x)[0]", [lambda t, out, x: t * conj(sin(0.5 * math.pi * (x * x)))]
)
fresnel_cosine = elementwise(
    "fresnel_cosine", "x", "rt.special.fresnel(x)[1]", [lambda t, out, x: t * conj(cos(0.5 * math.pi * (x * x)))]
)
ellipkm1 = of_x("ellipkm1", lambda out, p: (ellipk(1.0 - p) - ellipe(1.0 - p) / p) / (2.0 * (1.0 - p)))


def _modulus(phi: Any, m: Any) -> Any:
    s = sin(phi)
    return sqrt(1.0 - m * (s * s))


ellipkinc = elementwise(
    "ellipkinc", "phi m", "rt.special.ellipkinc(phi, m)", [lambda t, out, phi, m: t / _modulus(phi, m), None]
)
ellipeinc = elementwise(
    "ellipeinc", "phi m", "rt.special.ellipeinc(phi, m)", [lambda t, out, phi, m: t * _modulus(phi, m), None]
)

# ------------------------------------------------------------------------------------ differential equations of order 2

airy_ai: Primitive = of_x("airy_ai", lambda out, x: airy_ai_slope(x), "airy(x)[0]")
airy_ai_slope: Primitive = of_x("airy_ai_slope", lambda out, x: x * airy_ai(x), "airy(x)[1]")
airy_bi: Primitive = of_x("airy_bi", lambda out, x: airy_bi_slope(x), "airy(x)[2]")
airy_bi_slope: Primitive = of_x("airy_bi_slope", lambda out, x: x * airy_bi(x), "airy(x)[3]")
hyperu: Primitive = elementwise(
    "hyperu", "a b x", "rt.special.hyperu(a, b, x)",
    [None, None, lambda t, out, a, b, x: -t * (a * hyperu(a + 1, b + 1, x))],
)  # fmt: skip
eval_jacobi: Primitive = elementwise(
    "eval_jacobi", "n a b x", "rt.special.eval_jacobi(n, a, b, x)",
    [
        None, None, None,
        lambda t, out, n, a, b, x: t * conj(0.5 * (n + a + b + 1) * eval_jacobi(n - 1, a + 1, b + 1, x)),
    ],
)  # fmt: skip

# -------------------------------------------------------------------------------------------------------------- degrees

sindg = of_x("sindg", lambda out, x: cosdg(x) * _DEGREE)
cosdg: Primitive = of_x("cosdg", lambda out, x: -sindg(x) * _DEGREE)
tandg = of_x("tandg", lambda out, x: (1.0 + out * out) * _DEGREE)
