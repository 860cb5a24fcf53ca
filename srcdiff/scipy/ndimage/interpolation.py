"""Values between the elements: splines of order 0 to 5, differentiated in the array and in the coordinates.

Along an axis a spline is a linear map of the elements to coefficients, a matrix that SciPy tells, and a sum of shifted
basis functions, polynomials in the coordinate.
"""

from __future__ import annotations

from itertools import product
from math import comb, factorial
from typing import Any

import numpy as np
from scipy import ndimage

from srcdiff.functions.dispatch import plain
from srcdiff.functions.shaping import arrayed
from srcdiff.scipy.boundaries import extended
from srcdiff.scipy.ndimage.filters import finished, per_axis
from srcdiff.scipy.signal.convolution import operands
from srcdiff.scipy.support import mirrors, number, unsupported

__all__ = ["affine_transform", "map_coordinates", "rotate", "shift", "spline_filter", "spline_filter1d", "zoom"]

#: modes whose spline has no meaning at the ends: SciPy continues the array by this much first
_PADDED = {"nearest": "nearest", "grid-constant": "constant"}
_PADDING = 12


def _through(x: Any, matrix: Any, axis: int) -> Any:
    """A matrix applied along an axis."""
    return np.moveaxis(np.tensordot(np.asarray(matrix, x.dtype), x, ((1,), (axis,))), 0, axis)


def _coefficients(x: Any, order: int, mode: str, cval: Any, prefilter: bool) -> tuple[Any, int]:
    """The coefficients of the spline through the elements, and how many were added at each end."""
    if order < 2 or not prefilter:
        return x, 0
    added = _PADDING if mode in _PADDED else 0
    for k in range(x.ndim):
        x = extended(x, k, added, added, _PADDED.get(mode, "nearest"), cval)
    for k in range(x.ndim):
        if x.shape[k] > 1:
            x = _through(x, ndimage.spline_filter1d(np.eye(x.shape[k]), order, axis=0, mode=mode), k)
    return x, added


def _basis(order: int, t: Any) -> Any:
    """The centred B-spline of an order at t, as a sum of truncated powers."""
    if order == 0:
        return np.where(np.abs(plain(t)) <= 0.5, 1.0, 0.0)
    if order == 1:
        return 1.0 - np.abs(t)
    total: Any = 0.0
    t = np.abs(t)  # even: fewer and smaller powers on this side
    for k in range(order + 2):
        reach = (order + 1) / 2 - k
        if reach <= 0:
            break
        base = np.maximum(reach - t, 0.0)
        total = total + (-1) ** k * comb(order + 1, k) * base**order
    return total * (1.0 / factorial(order))


def _folded(c: Any, n: int, mode: str) -> tuple[Any, Any]:
    """Coordinates brought into the array as sign * c + offset, and which are outside of it."""
    v = plain(c)
    outside = np.zeros(v.shape, bool)
    sign, offset = np.ones(v.shape), np.zeros(v.shape)
    if mode == "constant":
        outside = (v < 0) | (v > n - 1)
    elif mode == "nearest":
        sign = np.where((v < 0) | (v > n - 1), 0.0, 1.0)
        offset = np.where(v > n - 1, n - 1.0, 0.0)
    elif mode in ("wrap", "grid-wrap"):
        period = n - 1 if mode == "wrap" else n
        beyond = (v < 0) | (v > n - 1)
        offset = np.where(beyond, -period * np.floor(v / period), 0.0) if period else -v
    elif mode == "mirror":
        period = max(2 * (n - 1), 1)
        turns = np.floor((v + (n - 1)) / period)
        rest = v - period * turns
        sign, offset = np.where(rest < 0, -1.0, 1.0), np.where(rest < 0, period * turns, -period * turns)
    elif mode in ("reflect", "grid-mirror"):
        period = 2 * n
        turns = np.floor((v + 0.5 + n) / period)
        rest = v + 0.5 - period * turns
        sign = np.where(rest < 0, -1.0, 1.0)
        offset = np.where(rest < 0, period * turns - 1.0, -period * turns)
    elif mode != "grid-constant":
        raise RuntimeError(f"boundary mode not supported: {mode!r}")
    return c * sign + offset, outside


def _neighbours(start: Any, n: int, mode: str) -> tuple[Any, Any]:
    """Indices within the array, and which were not."""
    beyond = (start < 0) | (start >= n)
    if mode == "grid-constant":
        return np.clip(start, 0, n - 1), beyond
    if mode == "grid-wrap":
        return start % n, np.zeros_like(beyond)
    if mode in ("reflect", "grid-mirror"):
        place = start % (2 * n)
        return np.where(place >= n, 2 * n - 1 - place, place), np.zeros_like(beyond)
    period = max(2 * (n - 1), 1)
    place = start % period
    return np.where(place >= n, period - place, place) if n > 1 else place * 0, np.zeros_like(beyond)


def evaluated(x: Any, coordinates: list[Any], order: int, mode: str, cval: Any, prefilter: bool) -> Any:
    """The spline through x at points given by one array of coordinates for each axis."""
    if not 0 <= order <= 5:
        raise RuntimeError("spline order not supported")
    cval = number(cval, "cval")
    made, added = _coefficients(x, order, mode, cval, prefilter)
    indices, weights, beyonds, outside = [], [], [], np.zeros(np.shape(plain(coordinates[0])), bool)
    for c, length in zip(coordinates, made.shape, strict=True):
        c, out = _folded(c + float(added) if added else c, length, mode)
        outside = outside | out
        at = plain(c)
        start = np.floor(at).astype(int) - order // 2 if order % 2 else np.floor(at + 0.5).astype(int) - order // 2
        found = [_neighbours(start + k, length, mode) for k in range(order + 1)]
        indices.append([place for place, _ in found])
        beyonds.append([beyond for _, beyond in found])
        weights.append([_basis(order, c - (start + k)) for k in range(order + 1)])
    total: Any = 0.0
    for choice in product(range(order + 1), repeat=x.ndim):
        value = made[tuple(places[k] for places, k in zip(indices, choice, strict=True))]
        beyond = np.any([b[k] for b, k in zip(beyonds, choice, strict=True)], axis=0)
        if np.any(beyond):
            value = np.where(beyond, np.asarray(cval, x.dtype), value)
        for w, k in zip(weights, choice, strict=True):
            value = value * w[k]
        total = total + value
    return np.where(outside, np.asarray(cval, x.dtype), total) if np.any(outside) else total


@mirrors(ndimage.map_coordinates)
def map_coordinates(
    input: Any, coordinates: Any, output: Any = None, order: int = 3, mode: str = "constant", cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:  # fmt: skip
    x, c = operands(input, coordinates)
    if c.shape[0] != x.ndim:
        raise RuntimeError("invalid shape for coordinate array")
    return finished(
        "map_coordinates", evaluated(x, [c[k] for k in range(x.ndim)], order, mode, cval, prefilter), output
    )


def _is_fixed(x: Any) -> bool:
    return isinstance(plain(x), (int, float, list, tuple, np.ndarray, np.generic)) and not hasattr(x, "requires_grad")


def _by_axes(name: str, x: Any, amounts: list[Any], options: dict[str, Any]) -> Any:
    """A shift or zoom by fixed amounts: along each axis a matrix that SciPy tells."""
    cval = options["cval"]
    constant = options["mode"] in ("constant", "grid-constant") and cval != 0
    if constant:
        x = x - np.asarray(cval, x.dtype)
    for k, amount in enumerate(amounts):
        columns = [getattr(ndimage, name)(e, amount, **{**options, "cval": 0.0}) for e in np.eye(x.shape[k])]
        x = _through(x, np.stack(columns, axis=1), k)
    return x + np.asarray(cval, x.dtype) if constant else x


@mirrors(ndimage.shift)
def shift(
    input: Any, shift: Any, output: Any = None, order: int = 3, mode: str = "constant", cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:  # fmt: skip
    (x,) = operands(input)
    if _is_fixed(shift):
        options = {"order": order, "mode": mode, "cval": cval, "prefilter": prefilter}
        return finished("shift", _by_axes("shift", x, per_axis(shift, tuple(range(x.ndim))), options), output)
    amounts = arrayed(shift)
    amounts = [amounts[k] if amounts.ndim else amounts for k in range(x.ndim)]
    grid = np.indices(x.shape).astype(float)
    made = evaluated(x, [grid[k] - amounts[k] for k in range(x.ndim)], order, mode, cval, prefilter)
    return finished("shift", made, output)


@mirrors(ndimage.zoom)
def zoom(
    input: Any, zoom: Any, output: Any = None, order: int = 3, mode: str = "constant", cval: Any = 0.0,
    prefilter: bool = True, *, grid_mode: bool = False,
) -> Any:  # fmt: skip
    (x,) = operands(input)
    amounts = per_axis(number(zoom, "zoom, which decides the shape,"), tuple(range(x.ndim)))
    options = {"order": order, "mode": mode, "cval": cval, "prefilter": prefilter, "grid_mode": grid_mode}
    return finished("zoom", _by_axes("zoom", x, amounts, options), output)


@mirrors(ndimage.affine_transform)
def affine_transform(
    input: Any, matrix: Any, offset: Any = 0.0, output_shape: Any = None, output: Any = None, order: int = 3,
    mode: str = "constant", cval: Any = 0.0, prefilter: bool = True,
) -> Any:  # fmt: skip
    x, matrix, offset = operands(input, matrix, offset)
    n = x.ndim
    if matrix.ndim == 2 and matrix.shape[1] == n + 1:
        matrix, offset = matrix[:n, :n], matrix[:n, n]
    if matrix.shape not in ((n,), (n, n)):
        raise RuntimeError("affine matrix has wrong number of rows or columns")
    shape = x.shape if output_shape is None else tuple(int(k) for k in output_shape)
    grid = np.indices(shape).astype(float).reshape(len(shape), -1)
    points = matrix[:, None] * grid if matrix.ndim == 1 else np.matmul(matrix, grid)
    points = np.reshape(points + (offset[:, None] if offset.ndim else offset), (n, *shape))
    made = evaluated(x, [points[k] for k in range(n)], order, mode, cval, prefilter)
    return finished("affine_transform", made, output)


@mirrors(ndimage.rotate)
def rotate(
    input: Any, angle: Any, axes: Any = (1, 0), reshape: bool = True, output: Any = None, order: int = 3,
    mode: str = "constant", cval: Any = 0.0, prefilter: bool = True,
) -> Any:  # fmt: skip
    x, angle = operands(input, angle)
    if x.ndim != 2 or sorted(k % 2 for k in axes) != [0, 1]:
        raise unsupported("scipy.ndimage.rotate: other arrays than matrices")
    radians = angle * (np.pi / 180.0)
    c, s = np.cos(radians), np.sin(radians)
    matrix = np.stack([np.stack([c, s]), np.stack([-s, c])])
    size = np.array(x.shape)
    if reshape:
        corners = plain(matrix) @ np.array([[0, 0, size[0], size[0]], [0, size[1], 0, size[1]]])
        target = (np.ptp(corners, axis=1) + 0.5).astype(int)
    else:
        target = size
    offset = (size - 1) / 2 - np.matmul(matrix, (target - 1) / 2)
    return affine_transform(x, matrix, offset, tuple(target), output, order, mode, cval, prefilter)


# ------------------------------------------------------------------------------------------------------- coefficients


@mirrors(ndimage.spline_filter1d)
def spline_filter1d(input: Any, order: int = 3, axis: int = -1, output: Any = np.float64, mode: str = "mirror") -> Any:
    (x,) = operands(input)
    axis = axis % x.ndim
    matrix = ndimage.spline_filter1d(np.eye(x.shape[axis]), order, axis=0, mode=mode)
    return finished("spline_filter1d", x if order < 2 else _through(x, matrix, axis), output)


@mirrors(ndimage.spline_filter)
def spline_filter(input: Any, order: int = 3, output: Any = np.float64, mode: str = "mirror") -> Any:
    (x,) = operands(input)
    for k in range(x.ndim):
        x = spline_filter1d(x, order, k, x.dtype, mode)
    return finished("spline_filter", x, output)
