"""Interpolation between samples: `interp1d`, and tables over regular grids."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from scipy import interpolate

from srcdiff.functions.dispatch import plain
from srcdiff.functions.shaping import arrayed
from srcdiff.scipy.interpolate.piecewise import evaluated, placed
from srcdiff.scipy.interpolate.splines import make_interp_spline
from srcdiff.scipy.signal.convolution import operands
from srcdiff.scipy.support import any_traced, constant, number, unsupported

__all__ = ["RegularGridInterpolator", "interp1d", "interpn"]

_DEGREES = {"slinear": 1, "quadratic": 2, "cubic": 3}


class interp1d(interpolate.interp1d):  # type: ignore[misc]  # noqa: N801  SciPy's name
    """As `scipy.interpolate.interp1d`, differentiated in `y` and in the argument."""

    def __init__(self, x: Any, y: Any, kind: Any = "linear", axis: int = -1, **options: Any) -> None:
        x = number(x, "x")
        options = {key: number(value, key) for key, value in options.items()}
        super().__init__(x, constant(y), kind, axis, **options)
        self._given = kind
        values = arrayed(y)
        self._place = axis % values.ndim
        data = np.moveaxis(values, axis, 0)
        x = np.asarray(x)
        order = np.arange(len(x)) if options.get("assume_sorted") else np.argsort(x, kind="mergesort")
        self._points, self._data = x[order], data[order]

    def __call__(self, x: Any) -> Any:
        if not any_traced((x, self._data), {}):
            return super().__call__(x)
        shown = super().__call__(plain(arrayed(x)))  # raises what is to be raised
        q, points, data = arrayed(x), self._points, self._data
        n = len(points)
        outside = (plain(q) < points[0]) | (plain(q) > points[-1])
        if self._given in ("nearest", "nearest-up", "previous", "next", "zero"):
            extrapolating = {"bounds_error": False, "fill_value": "extrapolate"}
            pick = interpolate.interp1d(points, np.arange(n), self._given, **extrapolating)(plain(q))
            made = data[np.clip(np.nan_to_num(pick), 0, n - 1).astype(int)]
        elif self._given == "linear":
            (data,) = operands(data)
            h = np.reshape(np.diff(points), (-1, *(1,) * (data.ndim - 1)))
            made = evaluated(np.stack([(data[1:] - data[:-1]) / h, data[:-1]]), points, q, 0, n - 2)
        else:
            degree = _DEGREES.get(self._given, self._given)
            made = make_interp_spline(points, data, degree)(q)
        made = placed(made, q.ndim, self._place)
        if np.any(outside) and not getattr(self, "_extrapolate", False):
            shape = (*(1,) * self._place, *outside.shape, *(1,) * (made.ndim - self._place - outside.ndim))
            made = np.where(np.reshape(outside, shape), shown, made)
        return made


class RegularGridInterpolator(interpolate.RegularGridInterpolator):  # type: ignore[misc]
    """As `scipy.interpolate.RegularGridInterpolator`, differentiated in `values` and in the argument, for the methods
    "linear" and "nearest".
    """

    def __init__(self, points: Any, values: Any, method: str = "linear", *args: Any, **options: Any) -> None:
        points = number(tuple(points), "points")
        super().__init__(points, constant(values), method, *args, **options)
        self._table = arrayed(values)
        for k, p in enumerate(points):
            if len(p) > 1 and p[0] > p[-1]:
                self._table = self._table[(slice(None),) * k + (slice(None, None, -1),)]

    def __call__(self, xi: Any, method: Any = None, **options: Any) -> Any:
        if not any_traced((xi, self._table), {}):
            return super().__call__(xi, method, **options)
        shown = super().__call__(constant(xi), method, **options)  # raises what is to be raised
        method = self.method if method is None else method
        if method not in ("linear", "nearest") or any(np.any(v) for v in options.values()):
            raise unsupported(f"scipy.interpolate.RegularGridInterpolator: method={method!r} or nu=")
        axes = len(self.grid)
        if isinstance(xi, tuple):
            parts = [arrayed(part) for part in xi]
            shape = np.broadcast_shapes(*(part.shape for part in parts))
            columns = [np.reshape(np.broadcast_to(part, shape), (-1,)) for part in parts]
        else:
            q = np.reshape(arrayed(xi), (-1, axes))
            columns = [q[:, k] for k in range(axes)]
        made = self._looked_up(columns, method)
        outside = np.zeros(np.shape(columns[0]), bool)
        for c, grid in zip(columns, self.grid, strict=True):
            outside |= (plain(c) < grid[0]) | (plain(c) > grid[-1])
        made = np.reshape(made, np.shape(shown))
        if np.any(outside) and self.fill_value is not None:
            rank = np.ndim(shown) - (self._table.ndim - axes)
            mask = np.reshape(outside, (*np.shape(shown)[:rank], *(1,) * (self._table.ndim - axes)))
            made = np.where(mask, shown, made)
        return made

    def _looked_up(self, columns: list[Any], method: str) -> Any:
        places, shares = [], []
        for c, grid in zip(columns, self.grid, strict=True):
            place = np.clip(np.searchsorted(grid, plain(c)) - 1, 0, max(len(grid) - 2, 0))
            width = np.diff(grid)[place] if len(grid) > 1 else np.ones(place.shape)
            places.append(place)
            shares.append((c - grid[place]) / width)
        trailing = (1,) * (self._table.ndim - len(columns))
        if method == "nearest":
            index = (np.where(plain(share) <= 0.5, p, p + 1) for p, share in zip(places, shares, strict=True))
            return self._table[tuple(index)]
        total: Any = 0.0
        for corner in product((0, 1), repeat=len(columns)):
            if any(up and len(grid) == 1 for up, grid in zip(corner, self.grid, strict=True)):
                continue
            weight: Any = 1.0
            for up, share, grid in zip(corner, shares, self.grid, strict=True):
                weight = weight * (share if up else 1.0 - share) if len(grid) > 1 else weight
            value = self._table[tuple(p + up for p, up in zip(places, corner, strict=True))]
            total = total + value * (np.reshape(weight, (*weight.shape, *trailing)) if np.ndim(weight) else weight)
        return total


def interpn(
    points: Any, values: Any, xi: Any, method: str = "linear", bounds_error: bool = True, fill_value: Any = np.nan
) -> Any:
    """As `scipy.interpolate.interpn`, differentiated in `values` and `xi`, for the methods "linear" and "nearest"."""
    if not any_traced((values, xi), {}):
        return interpolate.interpn(points, values, xi, method, bounds_error, fill_value)
    made = RegularGridInterpolator(points, values, method, bounds_error, fill_value)
    return made(xi)
