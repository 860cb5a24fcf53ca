"""Filters of fixed or differentiated weights: the array continued beyond its ends, then a valid correlation."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from scipy import ndimage

from srcdiff.functions.shaping import as_axis
from srcdiff.ops.convolution import conv
from srcdiff.ops.structural import cast
from srcdiff.scipy.boundaries import extended, window
from srcdiff.scipy.signal.convolution import full, operands
from srcdiff.scipy.support import mirrors, number, unsupported

__all__ = [
    "convolve", "convolve1d", "correlate", "correlate1d", "gaussian_filter", "gaussian_filter1d",
    "gaussian_gradient_magnitude", "gaussian_laplace", "laplace", "prewitt", "sobel", "uniform_filter",
    "uniform_filter1d",
]  # fmt: skip


def finished(name: str, made: Any, output: Any) -> Any:
    """The result in the dtype that `output` names."""
    if output is None:
        return made
    if isinstance(output, (type, np.dtype, str)):
        return cast(made, dtype=np.dtype(output))
    raise unsupported(f"scipy.ndimage.{name}: an array as output")


def per_axis(given: Any, axes: tuple[int, ...]) -> list[Any]:
    """One value for each axis, from one for all or a sequence."""
    if isinstance(given, (list, tuple, np.ndarray)) and np.ndim(given):
        if len(given) != len(axes):
            raise RuntimeError("sequence argument must have length equal to input rank")
        return list(given)
    return [given] * len(axes)


def chosen(x: Any, axes: Any) -> tuple[int, ...]:
    if axes is None:
        return tuple(range(x.ndim))
    return tuple(as_axis(k, x.ndim) for k in ([axes] if np.ndim(axes) == 0 else axes))


def _start(size: int, origin: int) -> int:
    """How far a window begins before the element it is for."""
    if not 0 <= size // 2 + origin < size:
        raise ValueError("Invalid origin; origin must satisfy -(weights.shape[k] // 2) <= origin <= (size-1) // 2")
    return size // 2 + origin


def continued(x: Any, sizes: dict[int, int], origins: dict[int, int], modes: dict[int, Any], cval: Any) -> Any:
    for k, size in sizes.items():
        before = _start(size, origins[k])
        x = extended(x, k, before, size - 1 - before, modes[k], cval)
    return x


# --------------------------------------------------------------------------------------------------------- correlations


def _along(x: Any, w: Any, axis: int, mode: Any, cval: Any, origin: int) -> Any:
    """The correlation with a vector along one axis."""
    if w.ndim != 1 or not w.shape[0]:
        raise RuntimeError("no filter weights given")
    size = w.shape[0]
    outer = continued(x, {axis: size}, {axis: origin}, {axis: mode}, cval)
    rows = np.moveaxis(outer, axis, -1)
    if x.dtype.kind == "c":
        made = sum(w[k] * window(rows, x.ndim - 1, k, x.shape[axis]) for k in range(size))
    else:
        flat = np.reshape(rows, (-1, 1, rows.shape[-1]))
        flat = conv(flat, w[None, None], stride=(1,), padding=(0,), dilation=(1,), groups=1)
        made = np.reshape(flat, (*rows.shape[:-1], x.shape[axis]))
    return np.moveaxis(made, -1, axis)


@mirrors(ndimage.correlate1d)
def correlate1d(
    input: Any, weights: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
    origin: int = 0,
) -> Any:  # fmt: skip
    x, w = operands(input, weights)
    return finished("correlate1d", _along(x, w, as_axis(axis, x.ndim), mode, cval, origin), output)


@mirrors(ndimage.convolve1d)
def convolve1d(
    input: Any, weights: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
    origin: int = 0,
) -> Any:  # fmt: skip
    x, w = operands(input, weights)
    origin = -origin - (1 - w.shape[0] % 2)
    return finished("convolve1d", _along(x, w[::-1], as_axis(axis, x.ndim), mode, cval, origin), output)


def _over(x: Any, w: Any, axes: tuple[int, ...], mode: Any, cval: Any, origins: list[int]) -> Any:
    """The correlation with an array of weights over some axes."""
    if w.ndim != len(axes) or not prod(w.shape):
        raise RuntimeError("filter weights array has incorrect shape.")
    shape = [1] * x.ndim
    for k, size in zip(axes, w.shape, strict=True):
        shape[k] = size
    if list(axes) != sorted(axes):
        w = np.transpose(w, np.argsort(axes))
    w = np.reshape(w, tuple(shape))
    sizes = dict(zip(axes, (shape[k] for k in axes), strict=True))
    outer = continued(
        x, sizes, dict(zip(axes, origins, strict=True)), dict(zip(axes, per_axis(mode, axes), strict=True)), cval
    )
    made = full(outer, w[(slice(None, None, -1),) * w.ndim], "direct")
    for k, size in sizes.items():
        made = window(made, k, size - 1, x.shape[k])
    return made


@mirrors(ndimage.correlate)
def correlate(
    input: Any, weights: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, *,
    axes: Any = None,
) -> Any:  # fmt: skip
    x, w = operands(input, weights)
    along = chosen(x, axes)
    return finished("correlate", _over(x, w, along, mode, cval, per_axis(origin, along)), output)


@mirrors(ndimage.convolve)
def convolve(
    input: Any, weights: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, *,
    axes: Any = None,
) -> Any:  # fmt: skip
    x, w = operands(input, weights)
    along = chosen(x, axes)
    origins = [-o - (1 - n % 2) for o, n in zip(per_axis(origin, along), w.shape, strict=False)]
    made = _over(x, w[(slice(None, None, -1),) * w.ndim], along, mode, cval, origins)
    return finished("convolve", made, output)


# -------------------------------------------------------------------------------------------------------- fixed weights


def _fixed(x: Any, weights: Any, axis: int, mode: Any, cval: Any, origin: int = 0) -> Any:
    return _along(x, np.asarray(weights, x.dtype if x.dtype.kind == "f" else float), axis, mode, cval, origin)


def _gaussian(x: Any, sigma: Any, axis: int, order: Any, mode: Any, cval: Any, truncate: Any, radius: Any) -> Any:
    """A Gaussian or a derivative of it along an axis: its weights are SciPy's response to an impulse."""
    sigma = float(number(sigma, "sigma"))
    reach = int(truncate * sigma + 0.5) if radius is None else int(radius)
    impulse = np.zeros(2 * reach + 1)
    impulse[reach] = 1.0
    response = ndimage.gaussian_filter1d(impulse, sigma, order=order, mode="constant", truncate=truncate, radius=radius)
    return _fixed(x, response[::-1], axis, mode, cval)


@mirrors(ndimage.gaussian_filter1d)
def gaussian_filter1d(
    input: Any, sigma: Any, axis: int = -1, order: int = 0, output: Any = None, mode: Any = "reflect",
    cval: Any = 0.0, truncate: float = 4.0, *, radius: Any = None,
) -> Any:  # fmt: skip
    (x,) = operands(input)
    made = _gaussian(x, sigma, as_axis(axis, x.ndim), order, mode, cval, truncate, radius)
    return finished("gaussian_filter1d", made, output)


@mirrors(ndimage.gaussian_filter)
def gaussian_filter(
    input: Any, sigma: Any, order: Any = 0, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
    truncate: float = 4.0, *, radius: Any = None, axes: Any = None,
) -> Any:  # fmt: skip
    (x,) = operands(input)
    along = chosen(x, axes)
    sigma = number(sigma, "sigma")
    rows = zip(*(per_axis(v, along) for v in (sigma, order, mode, radius)), strict=True)
    for k, (width, degree, how, reach) in zip(along, rows, strict=True):
        if width > 1e-15:
            x = _gaussian(x, width, k, degree, how, cval, truncate, reach)
    return finished("gaussian_filter", x, output)


@mirrors(ndimage.uniform_filter1d)
def uniform_filter1d(
    input: Any, size: int, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: int = 0
) -> Any:
    (x,) = operands(input)
    if size < 1:
        raise RuntimeError("incorrect filter size")
    made = _fixed(x, np.full(size, 1.0 / size), as_axis(axis, x.ndim), mode, cval, origin)
    return finished("uniform_filter1d", made, output)


@mirrors(ndimage.uniform_filter)
def uniform_filter(
    input: Any, size: Any = 3, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, origin: Any = 0, *,
    axes: Any = None,
) -> Any:  # fmt: skip
    (x,) = operands(input)
    along = chosen(x, axes)
    for k, n, how, o in zip(along, *(per_axis(v, along) for v in (size, mode, origin)), strict=True):
        if n > 1:
            x = uniform_filter1d(x, int(n), k, None, how, cval, o)
    return finished("uniform_filter", x, output)


def _slope(x: Any, axis: int, across: list[float], mode: Any, cval: Any) -> Any:
    """Central differences along one axis, weighted sums along the others."""
    axis = as_axis(axis, x.ndim)
    modes = per_axis(mode, tuple(range(x.ndim)))
    x = _fixed(x, [-1.0, 0.0, 1.0], axis, modes[axis], cval)
    for k in range(x.ndim):
        if k != axis:
            x = _fixed(x, across, k, modes[k], cval)
    return x


@mirrors(ndimage.sobel)
def sobel(input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> Any:
    (x,) = operands(input)
    return finished("sobel", _slope(x, axis, [1.0, 2.0, 1.0], mode, cval), output)


@mirrors(ndimage.prewitt)
def prewitt(input: Any, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0) -> Any:
    (x,) = operands(input)
    return finished("prewitt", _slope(x, axis, [1.0, 1.0, 1.0], mode, cval), output)


@mirrors(ndimage.laplace)
def laplace(input: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None) -> Any:
    (x,) = operands(input)
    along = chosen(x, axes)
    parts = [_fixed(x, [1.0, -2.0, 1.0], k, how, cval) for k, how in zip(along, per_axis(mode, along), strict=True)]
    return finished("laplace", sum(parts[1:], parts[0]), output)


def _gaussians(
    x: Any, sigma: Any, order: int, mode: Any, cval: Any, axes: tuple[int, ...], options: dict[str, Any]
) -> list[Any]:
    """For each axis the Gaussian with a derivative along it."""
    orders = [[order if k == j else 0 for j in axes] for k in axes]
    return [gaussian_filter(x, sigma, o, None, mode, cval, axes=axes, **options) for o in orders]


@mirrors(ndimage.gaussian_laplace)
def gaussian_laplace(
    input: Any, sigma: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None,
    **options: Any,
) -> Any:  # fmt: skip
    (x,) = operands(input)
    parts = _gaussians(x, sigma, 2, mode, cval, chosen(x, axes), options)
    return finished("gaussian_laplace", sum(parts[1:], parts[0]), output)


@mirrors(ndimage.gaussian_gradient_magnitude)
def gaussian_gradient_magnitude(
    input: Any, sigma: Any, output: Any = None, mode: Any = "reflect", cval: Any = 0.0, *, axes: Any = None,
    **options: Any,
) -> Any:  # fmt: skip
    (x,) = operands(input)
    parts = [part * part for part in _gaussians(x, sigma, 1, mode, cval, chosen(x, axes), options)]
    return finished("gaussian_gradient_magnitude", np.sqrt(sum(parts[1:], parts[0])), output)
