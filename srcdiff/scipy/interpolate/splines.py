"""B-splines whose coefficients and arguments may be under differentiation, evaluated as piecewise polynomials."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import interpolate

from srcdiff.scipy.interpolate.piecewise import PPoly, Traced, ahead, times
from srcdiff.scipy.support import any_traced, constant, number
from srcdiff.tape.value import TensorBase

__all__ = ["BSpline", "make_interp_spline"]


class BSpline(Traced, interpolate.BSpline):  # type: ignore[misc]
    """As `scipy.interpolate.BSpline`, differentiated in the coefficients and in the argument."""

    def __init__(self, t: Any, c: Any, k: Any, extrapolate: Any = True, axis: int = 0) -> None:
        super().__init__(number(t, "t, the knots"), constant(c), k, extrapolate, axis)
        if any_traced((c,), {}):
            self.c = ahead(c, axis)

    def _pieces(self) -> tuple[Any, Any, int, int]:
        n = len(self.t) - self.k - 1
        units = (interpolate.BSpline(self.t, unit, self.k) for unit in np.eye(n))
        powers = np.stack([interpolate.PPoly.from_spline(unit).c for unit in units], axis=-1)
        return times(powers, self.c[:n]), self.t, self.k, n - 1

    def _range(self) -> tuple[float, float]:
        return self.t[self.k], self.t[len(self.t) - self.k - 1]

    def _polynomial(self) -> Any:
        c, x, first, last = self._pieces()
        return PPoly(c[:, first : last + 1], x[first : last + 2], self.extrapolate, self.axis)

    def derivative(self, nu: int = 1) -> Any:
        return self._polynomial().derivative(nu) if isinstance(self.c, TensorBase) else super().derivative(nu)

    def antiderivative(self, nu: int = 1) -> Any:
        return self._polynomial().antiderivative(nu) if isinstance(self.c, TensorBase) else super().antiderivative(nu)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        if not any_traced((a, b, self.c), {}):
            return super().integrate(a, b, extrapolate)
        return self._polynomial().integrate(a, b, extrapolate)


def make_interp_spline(
    x: Any, y: Any, k: int = 3, t: Any = None, bc_type: Any = None, axis: int = 0, check_finite: bool = True
) -> Any:
    """As `scipy.interpolate.make_interp_spline`, differentiated in `y`; the result in its argument as well."""
    x, t, bc_type = number(x, "x"), number(t, "t"), number(bc_type, "bc_type")
    made = interpolate.make_interp_spline(x, constant(y), k, t, bc_type, axis, check_finite)
    c = made.c
    if any_traced((y,), {}):
        y, n = ahead(y, axis), len(np.asarray(x))
        make: Any = lambda data, ends: interpolate.make_interp_spline(x, data, k, t, ends).c
        if isinstance(bc_type, str) and bc_type == "periodic":
            once = np.eye(n - 1)
            c = times(make(np.concatenate([once, once[:1]]), bc_type), y[:-1])
        elif bc_type is None or isinstance(bc_type, str) or all(e is None or isinstance(e, str) for e in bc_type):
            c = times(make(np.eye(n), bc_type), y)
        else:
            none = tuple(
                e if e is None or isinstance(e, str) else [(order, np.zeros(n)) for order, _ in e] for e in bc_type
            )
            c = times(make(np.eye(n), none), y) + make(np.zeros(y.shape), bc_type)
    ours = BSpline.construct_fast(made.t, made.c, made.k, made.extrapolate, made.axis)
    ours.c = c
    return ours
