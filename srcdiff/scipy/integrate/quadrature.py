"""Integrals of functions. The value is SciPy's; its derivative that of a sum over the subintervals SciPy came to,
which is differentiated in all that the integrand depends on and in the bounds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import integrate, special

from srcdiff.functions.dispatch import plain
from srcdiff.scipy.callbacks import Watched, as_tuple, with_derivative
from srcdiff.scipy.support import constant, needs_gradient, unsupported

__all__ = ["dblquad", "fixed_quad", "quad", "tplquad"]

#: nodes in a subinterval; SciPy has found that 21 are enough, of which this is the better half
_NODES = 16


def quad(
    func: Any, a: Any, b: Any, args: Any = (), full_output: Any = 0, epsabs: float = 1.49e-8, epsrel: float = 1.49e-8,
    limit: int = 50, points: Any = None, weight: Any = None, wvar: Any = None, wopts: Any = None, maxp1: int = 50,
    limlst: int = 50, complex_func: bool = False,
) -> Any:  # fmt: skip
    """As `scipy.integrate.quad`, differentiated in bounds, in `args` and in what `func` takes from outside."""
    watched = Watched(func, as_tuple(args))
    low, high = plain(a), plain(b)
    options: dict[str, Any] = {
        "epsabs": epsabs, "epsrel": epsrel, "limit": limit, "points": constant(points), "weight": weight,
        "wvar": constant(wvar), "wopts": wopts, "maxp1": maxp1, "limlst": limlst, "complex_func": complex_func,
    }  # fmt: skip
    result = integrate.quad(watched, float(low), float(high), full_output=1, **options)
    if len(result) > 3 and not full_output:
        integrate.quad(watched, float(low), float(high), **options)  # for its warning
    kept = result if full_output else result[:2]
    if not watched.found and not needs_gradient(a, b):
        return kept
    if weight is not None or complex_func:
        raise unsupported("scipy.integrate.quad: weight= or complex_func=")
    info = result[2]
    intervals = [(float(info["alist"][k]), float(info["blist"][k])) for k in range(info["last"])]
    return (with_derivative(result[0], _sum(watched, a, b, intervals)), *kept[1:])


def _sum(watched: Watched, a: Any, b: Any, intervals: list[tuple[float, float]]) -> Any:
    """The sum over nodes in the subintervals, which move with the bounds."""
    low, high = float(plain(a)), float(plain(b))
    if low == high:
        return watched.value(a) * (b - a) if np.isfinite(low) else 0.0
    value: Any = watched.value
    if np.isinf(low) and np.isinf(high):
        value, a, b = lambda t: (watched.value(t) + watched.value(-t)) * np.sign(high), 0.0, np.inf
    nodes, weights = special.roots_legendre(_NODES)
    total: Any = 0.0
    for start, stop in intervals:
        for node, w in zip(nodes, weights, strict=True):
            u = start + (stop - start) * (float(node) + 1.0) / 2.0
            t, slope = _place(a, b, u)
            total = total + value(t) * (slope * (float(w) * (stop - start) / 2.0))
    return total


def _place(a: Any, b: Any, u: float) -> tuple[Any, Any]:
    """Where the node u is among the arguments, and how fast it moves there.

    u is in [a, b]; it is in (0, 1], which stands for what is beyond a or b, where the other one is infinite.
    """
    low, high = float(plain(a)), float(plain(b))
    if np.isfinite(low) and np.isfinite(high):
        return a + (b - a) * ((u - low) / (high - low)), (b - a) / (high - low)
    if np.isfinite(low):
        sign = float(np.sign(high))
        return a + sign * (1.0 - u) / u, sign / u**2
    sign = float(np.sign(low))
    return b + sign * (1.0 - u) / u, -sign / u**2


def dblquad(func: Any, a: Any, b: Any, gfun: Any, hfun: Any, args: Any = (), **tolerances: Any) -> Any:
    """As `scipy.integrate.dblquad`, differentiated like `quad`."""
    args = as_tuple(args)
    inner = lambda x: quad(lambda y: func(y, x, *args), _bound(gfun, x), _bound(hfun, x), **tolerances)[0]
    return quad(inner, a, b, **tolerances)


def tplquad(
    func: Any, a: Any, b: Any, gfun: Any, hfun: Any, qfun: Any, rfun: Any, args: Any = (), **tolerances: Any
) -> Any:
    """As `scipy.integrate.tplquad`, differentiated like `quad`."""
    args = as_tuple(args)

    def plane(x: Any) -> Any:
        row = lambda y: quad(
            lambda z: func(z, y, x, *args), _bound(qfun, x, y), _bound(rfun, x, y), **tolerances
        )[0]  # fmt: skip
        return quad(row, _bound(gfun, x), _bound(hfun, x), **tolerances)[0]

    return quad(plane, a, b, **tolerances)


def _bound(bound: Any, *at: Any) -> Any:
    return bound(*at) if callable(bound) else bound


def fixed_quad(func: Any, a: Any, b: Any, args: Any = (), n: int = 5) -> Any:
    """As `scipy.integrate.fixed_quad`."""
    nodes, weights = special.roots_legendre(n)
    if not (np.isfinite(plain(a)) and np.isfinite(plain(b))):
        raise ValueError("Gaussian quadrature is only available for finite limits.")
    places = (b - a) * (np.real(nodes) + 1.0) / 2.0 + a
    return (b - a) / 2.0 * np.sum(weights * func(places, *as_tuple(args)), axis=-1), None
