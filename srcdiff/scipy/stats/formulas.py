"""Functions that densities and distribution functions are written with, each smooth wherever the formula is."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from srcdiff.ops.elementwise import absolute, isinf, less, where
from srcdiff.ops.special import log_ndtr, ndtr
from srcdiff.ops.transcendental import exp, expm1, log, log1p

LOG_2: Final = math.log(2.0)
LOG_PI: Final = math.log(math.pi)
LOG_ROOT_TAU: Final = 0.5 * math.log(2.0 * math.pi)
EULER: Final = 0.5772156649015329
POSITIVE: Final = (0.0, math.inf)


def choose(holds: Any, x: Any, yes: Callable[[Any], Any], no: Callable[[Any], Any], inner: Any = (1.0, -1.0)) -> Any:
    """yes(x) where `holds`, else no(x). Each is evaluated at a harmless point elsewhere (`inner`), so that what it is
    there, perhaps infinite, disturbs no derivative.
    """
    return where(holds, yes(where(holds, x, inner[0])), no(where(holds, inner[1], x)))


def by_sign(y: Any, right: Callable[[Any], Any], left: Callable[[Any], Any]) -> Any:
    """right(y) where y is positive, else left(y)."""
    return choose(y > 0, y, right, left)


def log1mexp(x: Any) -> Any:
    """log(1 - exp(x)) for negative x, with all digits."""
    return choose(x > -LOG_2, x, lambda x: log(-expm1(x)), lambda x: log1p(-exp(x)), (-0.5, -1.0))


def log1p_quotient(u: Any) -> Any:
    """log1p(u) / u, which is 1 at 0."""
    near = less(absolute(u), 1e-2)
    small = where(near, u, 0.0)
    series: Any = 1.0 / 9.0
    for k in range(8, 0, -1):
        series = 1.0 / k - small * series
    far = where(near, 1.0, u)
    return where(near, series, log1p(far) / far)


def log_normal_mass(a: Any, b: Any) -> Any:
    """The logarithm of the probability of the standard normal distribution between a and b, a < b, in both tails."""
    right = a > 0
    low, high = finite(where(right, -b, a)), finite(where(right, -a, b))
    tail = high <= 0
    # by differences of logarithms in the tail; else as what is left of 1
    top, bottom = log_ndtr(where(tail, high, 0.0)), log_ndtr(where(tail, low, -1.0))
    middle = log1p(-ndtr(where(tail, -1.0, low)) - ndtr(where(tail, -1.0, -high)))
    return where(tail, top + log1mexp(bottom - top), middle)


def finite(x: Any) -> Any:
    """x, and where it is infinite a number so large that the normal distribution does not tell."""
    return where(isinf(x), where(x > 0, 1e4, -1e4), x)


def power_of_size(y: Any, p: Any) -> Any:
    """|y| ** p, with the derivatives of an even power of y where p is 2 or more."""
    smooth = p >= 2
    even = where(smooth, y * y, 1.0) ** (0.5 * where(smooth, p, 2.0))
    return where(smooth, even, where(smooth, 1.0, absolute(y)) ** where(smooth, 1.0, p))


def two_sided(sf: Callable[..., Any], isf: Callable[..., Any]) -> dict[str, Any]:
    """The functions of the symmetric distribution whose absolute value has these."""
    return {
        "cdf": lambda y, *s: by_sign(y, lambda y: 1.0 - 0.5 * sf(y, *s), lambda y: 0.5 * sf(-y, *s)),
        "ppf": lambda q, *s: choose(
            q > 0.5, q, lambda q: isf(2.0 * (1.0 - q), *s), lambda q: -isf(2.0 * q, *s), (0.75, 0.25)
        ),
    }


def defined_where(holds: Any, x: Any, value: Callable[[Any], Any], otherwise: float, safe: float) -> Any:
    """value(x) where `holds`, else a number; value is evaluated at `safe` there."""
    return where(holds, value(where(holds, x, safe)), otherwise)
