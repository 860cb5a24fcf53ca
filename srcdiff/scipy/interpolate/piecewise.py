"""Piecewise polynomials whose coefficients and arguments may be under differentiation. Breakpoints are constants.

The classes are SciPy's, with the coefficients `c` a Tensor where the data are one. Coefficients that are linear in the
data come from the matrix that SciPy makes of the unit vectors.
"""

from __future__ import annotations

import functools
import inspect
from math import factorial
from typing import Any

import numpy as np
from scipy import interpolate

from srcdiff.functions.dispatch import plain
from srcdiff.functions.shaping import arrayed
from srcdiff.scipy.signal.convolution import operands
from srcdiff.scipy.support import any_traced, constant, number
from srcdiff.tape.value import TensorBase

__all__ = [
    "Akima1DInterpolator", "CubicHermiteSpline", "CubicSpline", "PPoly", "PchipInterpolator", "pchip_interpolate",
]  # fmt: skip


def evaluated(c: Any, x: Any, q: Any, first: int, last: int, nu: int = 0) -> Any:
    """The nu-th derivative at q of c[0] t^k + ... + c[k], t = q - x[i], in the pieces first to last."""
    piece = np.clip(np.searchsorted(x, plain(q), side="right") - 1, first, last)
    t = q - x[piece]
    degree = c.shape[0] - 1
    t = np.reshape(t, (*t.shape, *(1,) * (c.ndim - 2)))
    total: Any = 0.0
    for i in range(degree + 1 - nu):
        power = degree - i
        total = total * t + c[i][piece] * (factorial(power) // factorial(power - nu))
    return total if degree >= nu else c[0][piece] * t * 0.0


def placed(made: Any, rank: int, axis: int) -> Any:
    """The axes of the argument, which are the first ones, moved to where the data have theirs."""
    order = list(range(made.ndim))
    return np.transpose(made, order[rank : rank + axis] + order[:rank] + order[rank + axis :]) if axis else made


class Traced:
    """What SciPy's classes of piecewise polynomials get: evaluation of and with Tensors."""

    x: Any
    axis: int
    extrapolate: Any
    _held: Any = None

    def __init_subclass__(cls) -> None:
        """Methods of SciPy's that are not replaced here refuse coefficients under differentiation."""
        for name in dir(cls):
            method = inspect.getattr_static(cls, name)
            if name[0] != "_" and inspect.isfunction(method) and method.__module__.startswith("scipy."):
                setattr(cls, name, _of_constants(method))

    @property
    def c(self) -> Any:
        """The coefficients: a Tensor where the data are one."""
        if self._held is not None:
            return self._held
        return super().c if _theirs(type(self)) is not None else self.__dict__["c"]  # type: ignore[misc]

    @c.setter
    def c(self, value: Any) -> None:
        descriptor = _theirs(type(self))
        if isinstance(value, TensorBase):
            self._held = value
        elif descriptor is not None:
            descriptor.__set__(self, value)
        else:
            self.__dict__["c"] = value

    def _pieces(self) -> tuple[Any, Any, int, int]:
        """Coefficients and breakpoints, and the first and the last piece that is not empty."""
        first = int(np.searchsorted(self.x, self.x[0], side="right")) - 1
        last = int(np.searchsorted(self.x, self.x[-1], side="left")) - 1
        return self.c, self.x, first, last

    def _range(self) -> tuple[float, float]:
        return self.x[0], self.x[-1]

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        if not any_traced((x, self.c), {}):
            return super().__call__(x, nu, extrapolate)  # type: ignore[misc]
        q = arrayed(x)
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        low, high = self._range()
        if extrapolate == "periodic":
            q = q - np.floor((plain(q) - low) / (high - low)) * (high - low)
        made = evaluated(*self._pieces()[:2], q, *self._pieces()[2:], nu)
        if not extrapolate:
            outside = (plain(q) < low) | (plain(q) > high)
            made = np.where(np.reshape(outside, (*outside.shape, *(1,) * (made.ndim - q.ndim))), np.nan, made)
        return placed(made, q.ndim, self.axis)

    def derivative(self, nu: int = 1) -> Any:
        if not isinstance(self.c, TensorBase) or nu <= 0:
            return super().derivative(nu)  # type: ignore[misc]
        c: Any = self.c
        degree = c.shape[0] - 1
        rows = [c[i] * float(factorial(degree - i) // factorial(degree - i - nu)) for i in range(degree + 1 - nu)]
        return PPoly(np.stack(rows) if rows else c[:1] * 0.0, self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> Any:
        if not isinstance(self.c, TensorBase) or nu <= 0:
            return super().antiderivative(nu)  # type: ignore[misc]
        made: Any = self
        for _ in range(nu):
            made = made._integrated()
        return made

    def _integrated(self) -> Any:
        degree = self.c.shape[0] - 1
        rows = [self.c[i] * (1.0 / (degree + 1 - i)) for i in range(degree + 1)]
        h = np.reshape(np.diff(self.x), (-1, *(1,) * (self.c.ndim - 2)))
        pieces: Any = 0.0
        for row in rows:
            pieces = (pieces + row) * h
        before = np.concatenate([pieces[:1] * 0.0, np.cumsum(pieces, axis=0)[:-1]])
        periodic = self.extrapolate == "periodic"
        return PPoly(np.stack([*rows, before]), self.x, False if periodic else self.extrapolate, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        if not any_traced((a, b, self.c), {}):
            return super().integrate(a, b, extrapolate)  # type: ignore[misc]
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        if extrapolate == "periodic":
            number([a, b, self.c], "of a periodic integral")
        whole = PPoly(arrayed(self.c), self.x, extrapolate, self.axis)._integrated()
        return whole(b) - whole(a)


def _theirs(cls: Any) -> Any:
    """What holds the coefficients in SciPy's class: a property or slot, None if the instance does."""
    return getattr(super(Traced, cls), "c", None)


def _of_constants(method: Any) -> Any:
    @functools.wraps(method)
    def call(self: Any, *args: Any, **options: Any) -> Any:
        number([self.c, *args, *options.values()], f"c of {method.__name__}")
        return method(self, *args, **options)

    return call


class PPoly(Traced, interpolate.PPoly):  # type: ignore[misc]
    """As `scipy.interpolate.PPoly`, differentiated in the coefficients and in the argument."""

    def __init__(self, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> None:
        super().__init__(constant(c), number(x, "x, the breakpoints"), extrapolate, axis)
        if any_traced((c,), {}):
            c = arrayed(c)
            self.c = np.moveaxis(np.moveaxis(c, axis + 1, 0), axis + 1, 0) if axis else c


def ahead(y: Any, axis: int) -> Any:
    y = arrayed(y)
    return np.moveaxis(y, axis, 0)


def times(matrix: Any, y: Any) -> Any:
    """A matrix given by (..., n) applied to the first axis of y."""
    return np.tensordot(matrix, y, ((matrix.ndim - 1,), (0,)))


def _hermite(x: Any, y: Any, d: Any) -> Any:
    """Coefficients of the cubics with values y and slopes d at x."""
    h = np.reshape(np.diff(x), (-1, *(1,) * (y.ndim - 1)))
    slope = (y[1:] - y[:-1]) / h
    t = (d[:-1] + d[1:] - 2.0 * slope) / h
    return np.stack([t / h, (slope - d[:-1]) / h - t, d[:-1], y[:-1]])


class CubicHermiteSpline(Traced, interpolate.CubicHermiteSpline):  # type: ignore[misc]
    """As `scipy.interpolate.CubicHermiteSpline`, differentiated in `y`, `dydx` and the argument."""

    def __init__(self, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None) -> None:
        super().__init__(number(x, "x, the breakpoints"), constant(y), constant(dydx), axis, extrapolate)
        if any_traced((y, dydx), {}):
            self.c = _hermite(self.x, ahead(y, axis), ahead(dydx, axis))


class CubicSpline(Traced, interpolate.CubicSpline):  # type: ignore[misc]
    """As `scipy.interpolate.CubicSpline`, differentiated in `y` and the argument."""

    def __init__(self, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None) -> None:
        bc_type = number(bc_type, "bc_type")
        super().__init__(number(x, "x, the breakpoints"), constant(y), axis, bc_type, extrapolate)
        if any_traced((y,), {}):
            self.c = _spline_coefficients(self.x, ahead(y, axis), bc_type)


def _spline_coefficients(x: Any, y: Any, bc_type: Any) -> Any:
    n = len(x)
    make = interpolate.CubicSpline
    if isinstance(bc_type, str) and bc_type == "periodic":
        once = np.eye(n - 1)
        return times(make(x, np.concatenate([once, once[:1]]), bc_type=bc_type).c, y[:-1])
    if isinstance(bc_type, str) or all(isinstance(end, str) for end in bc_type):
        return times(make(x, np.eye(n), bc_type=bc_type).c, y)
    without = tuple(end if isinstance(end, str) else (end[0], np.zeros(n)) for end in bc_type)
    return times(make(x, np.eye(n), bc_type=without).c, y) + make(x, np.zeros(y.shape), bc_type=bc_type).c


class PchipInterpolator(Traced, interpolate.PchipInterpolator):  # type: ignore[misc]
    """As `scipy.interpolate.PchipInterpolator`, differentiated in `y` and the argument."""

    def __init__(self, x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> None:
        super().__init__(number(x, "x, the breakpoints"), constant(y), axis, extrapolate)
        if any_traced((y,), {}):
            (y,) = operands(ahead(y, axis))
            self.c = _hermite(self.x, y, _monotone_slopes(self.x, y))


def _monotone_slopes(x: Any, y: Any) -> Any:
    """Fritsch and Butland 1984: harmonic means of the differences, 0 at extrema; at the ends of three points."""
    h = np.reshape(np.diff(x), (-1, *(1,) * (y.ndim - 1)))
    m = (y[1:] - y[:-1]) / h
    if y.shape[0] == 2:
        return np.concatenate([m, m])
    w1: Any = 2.0 * h[1:] + h[:-1]
    w2: Any = h[1:] + 2.0 * h[:-1]
    same = np.sign(plain(m[1:])) * np.sign(plain(m[:-1])) > 0
    safe: Any = lambda part: np.where(same, part, 1.0)
    inner = np.where(same, (w1 + w2) / (w1 / safe(m[:-1]) + w2 / safe(m[1:])), 0.0)
    return np.concatenate([_end(h[0], h[1], m[0], m[1])[None], inner, _end(h[-1], h[-2], m[-1], m[-2])[None]])


def _end(h0: Any, h1: Any, m0: Any, m1: Any) -> Any:
    d = ((2.0 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    turned = np.sign(plain(d)) != np.sign(plain(m0))
    steep = (np.sign(plain(m0)) != np.sign(plain(m1))) & (np.abs(plain(d)) > 3.0 * np.abs(plain(m0)))
    return np.where(turned, 0.0, np.where(steep, 3.0 * m0, d))


class Akima1DInterpolator(Traced, interpolate.Akima1DInterpolator):  # type: ignore[misc]
    """As `scipy.interpolate.Akima1DInterpolator`, differentiated in `y` and the argument."""

    def __init__(self, x: Any, y: Any, axis: int = 0, **options: Any) -> None:
        super().__init__(number(x, "x, the breakpoints"), constant(y), axis, **options)
        if any_traced((y,), {}):
            (y,) = operands(ahead(y, axis))
            self.c = _hermite(self.x, y, _akima_slopes(self.x, y, options.get("method", "akima")))


def _akima_slopes(x: Any, y: Any, method: str) -> Any:
    """Akima 1970: means of the differences beside a point, weighted with how even they are on the other side."""
    h = np.reshape(np.diff(x), (-1, *(1,) * (y.ndim - 1)))
    m = (y[1:] - y[:-1]) / h
    if y.shape[0] == 2:
        return np.concatenate([m, m])
    before, after = 2.0 * m[0] - m[1], 2.0 * m[-1] - m[-2]
    m = np.concatenate([(2.0 * before - m[0])[None], before[None], m, after[None], (2.0 * after - m[-1])[None]])
    change = np.abs(m[1:] - m[:-1])
    if method == "makima":
        change = change + 0.5 * np.abs(m[1:] + m[:-1])
    left, right = change[2:], change[:-2]
    total = plain(left) + plain(right)
    even = total > 1e-9 * np.max(total, initial=-np.inf)
    weighted = (left * m[1:-2] + right * m[2:-1]) / np.where(even, left + right, 1.0)
    return np.where(even, weighted, 0.0 if method == "makima" else 0.5 * (m[3:] + m[:-3]))


def pchip_interpolate(xi: Any, yi: Any, x: Any, der: Any = 0, axis: int = 0) -> Any:
    """As `scipy.interpolate.pchip_interpolate`, differentiated in `yi` and `x`."""
    made = PchipInterpolator(xi, yi, axis)
    return made(x, der) if np.ndim(der) == 0 else [made(x, k) for k in der]
