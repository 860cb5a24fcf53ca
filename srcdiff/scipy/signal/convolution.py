"""Convolution and correlation: products of the primitives of `ops.convolution`, or of Fourier transforms where long."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from scipy import signal

from srcdiff.functions.shaping import arrayed, as_axis
from srcdiff.ops.convolution import conv
from srcdiff.ops.structural import cast
from srcdiff.scipy.boundaries import extended, window
from srcdiff.scipy.support import mirrors, number

__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "fftconvolve", "oaconvolve", "upfirdn"]

#: number of products above which Fourier transforms are used, unless SciPy is told otherwise
_MANY = 100_000


def operands(*xs: Any) -> tuple[Any, ...]:
    """Arrays or Tensors of one inexact dtype."""
    arrays = [arrayed(x) for x in xs]
    dtype = np.result_type(*(a.dtype for a in arrays))
    if dtype.kind not in "fc":
        dtype = np.dtype(float)
    return tuple(a if a.dtype == dtype else cast(a, dtype=dtype) for a in arrays)


def full(x: Any, y: Any, method: str = "auto") -> Any:
    """The full convolution over all axes."""
    few = prod(x.shape) * prod(y.shape) <= _MANY
    if x.dtype.kind == "c" or method == "fft" or (method == "auto" and not few):
        return by_fft(x, y, tuple(range(x.ndim)))
    return direct(x, y, tuple(min(a, b) - 1 for a, b in zip(x.shape, y.shape, strict=True)))


def direct(x: Any, y: Any, padding: tuple[int, ...]) -> Any:
    """The convolution with the smaller in size as the filter, `padding` zeros around the other one."""
    if prod(x.shape) < prod(y.shape):
        x, y = y, x
    axes = range(x.ndim)
    if any(x.shape[k] < y.shape[k] for k in axes):
        padding = tuple(max(p, y.shape[k] - 1) for k, p in zip(axes, padding, strict=True))
    one = (1,) * x.ndim
    turned = y[(slice(None, None, -1),) * y.ndim]
    made = conv(x[None, None], turned[None, None], stride=one, padding=padding, dilation=one, groups=1)
    return made[0, 0]


def by_fft(x: Any, y: Any, axes: tuple[int, ...]) -> Any:
    """The full convolution along some axes; along others the operands broadcast."""
    sizes = tuple(x.shape[k] + y.shape[k] - 1 for k in axes)
    if x.dtype.kind == "c":
        return np.fft.ifftn(np.fft.fftn(x, sizes, axes) * np.fft.fftn(y, sizes, axes), sizes, axes)
    return np.fft.irfftn(np.fft.rfftn(x, sizes, axes) * np.fft.rfftn(y, sizes, axes), sizes, axes)


def cropped(made: Any, x: Any, y: Any, mode: str, axes: tuple[int, ...], turned: bool = False) -> Any:
    """The part of a full convolution that a mode asks for; "same" rounds the other way if y is `turned`."""
    if mode not in ("full", "same", "valid"):
        raise ValueError("Acceptable mode flags are 'valid', 'same', or 'full'.")
    if mode == "full":
        return made
    if mode == "valid" and len({x.shape[k] >= y.shape[k] for k in axes if x.shape[k] != y.shape[k]}) > 1:
        raise ValueError(
            "For 'valid' mode, one must be at least as large as the other in every dimension"
        )  # fmt: skip
    for k in axes:
        a, b = x.shape[k], y.shape[k]
        start, length = (b // 2 if turned else (b - 1) // 2, a) if mode == "same" else (min(a, b) - 1, abs(a - b) + 1)
        made = window(made, k, start, length)
    return made


def _same_rank(x: Any, y: Any) -> None:
    if x.ndim != y.ndim:
        raise ValueError("in1 and in2 should have the same dimensionality")


def _convolved(x: Any, y: Any, mode: str, method: str) -> Any:
    _same_rank(x, y)
    if method not in ("auto", "direct", "fft"):
        raise ValueError("Acceptable method flags are 'auto', 'direct', or 'fft'.")
    if not x.ndim or not prod(x.shape) or not prod(y.shape):
        return x * y if not x.ndim else np.zeros(0, x.dtype)
    return cropped(full(x, y, method), x, y, mode, tuple(range(x.ndim)))


def _turned(y: Any) -> Any:
    return np.conj(y[(slice(None, None, -1),) * y.ndim])


@mirrors(signal.convolve)
def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    x, y = operands(in1, in2)
    return _convolved(x, y, mode, method)


@mirrors(signal.correlate)
def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    x, y = operands(in1, in2)
    return _convolved(x, _turned(y), mode, method)


@mirrors(signal.fftconvolve)
def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    x, y = operands(in1, in2)
    _same_rank(x, y)
    if not x.ndim:
        return x * y
    if axes is None:
        along = tuple(range(x.ndim))
    else:
        along = tuple(as_axis(k, x.ndim) for k in np.atleast_1d(axes))
    rest = [k for k in range(x.ndim) if k not in along]
    if any(x.shape[k] != y.shape[k] and 1 not in (x.shape[k], y.shape[k]) for k in rest):
        raise ValueError(f"incompatible shapes for in1 and in2: {tuple(x.shape)} and {tuple(y.shape)}")
    return cropped(by_fft(x, y, along), x, y, mode, along)


oaconvolve = mirrors(signal.oaconvolve)(lambda in1, in2, mode="full", axes=None: fftconvolve(in1, in2, mode, axes))


def _in_the_plane(x: Any, y: Any, mode: str, boundary: str, fillvalue: Any, turned: bool = False) -> Any:
    if x.ndim != 2 or y.ndim != 2:
        raise ValueError("convolve2d inputs must both be 2-D arrays")
    kinds = {"fill": "constant", "pad": "constant", "wrap": "wrap", "circular": "wrap", "symm": "symmetric",
             "symmetric": "symmetric"}  # fmt: skip
    if boundary not in kinds:
        raise ValueError("Acceptable boundary flags are 'fill', 'circular' (or 'wrap'), and 'symmetric' (or 'symm').")
    if mode == "valid" or (kinds[boundary] == "constant" and not np.any(number(fillvalue, "fillvalue"))):
        return cropped(full(x, y, "direct"), x, y, mode, (0, 1), turned)
    if mode not in ("full", "same"):
        raise ValueError("Acceptable mode flags are 'valid', 'same', or 'full'.")
    outer = x
    for k in (0, 1):
        outer = extended(outer, k, y.shape[k] - 1, y.shape[k] - 1, kinds[boundary], fillvalue)
    inside = full(outer, y, "direct")
    for k in (0, 1):
        inside = window(inside, k, y.shape[k] - 1, x.shape[k] + y.shape[k] - 1)
    return cropped(inside, x, y, mode, (0, 1), turned)


@mirrors(signal.convolve2d)
def convolve2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Any:
    x, y = operands(in1, in2)
    return _in_the_plane(x, y, mode, boundary, fillvalue)


@mirrors(signal.correlate2d)
def correlate2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Any:
    x, y = operands(in1, in2)
    return _in_the_plane(x, _turned(y), mode, boundary, fillvalue, True)


@mirrors(signal.upfirdn)
def upfirdn(h: Any, x: Any, up: int = 1, down: int = 1, axis: int = -1) -> Any:
    h, x = operands(h, x)
    if h.ndim != 1 or not h.shape[0]:
        raise ValueError("h must be 1-D with non-zero length")
    if up < 1 or down < 1:
        raise ValueError("Both up and down must be >= 1")
    rows = np.moveaxis(x, as_axis(axis, x.ndim), -1)
    n = rows.shape[-1]
    if up > 1:
        gaps = np.zeros((*rows.shape, up - 1), rows.dtype)
        rows = np.reshape(np.concatenate([rows[..., None], gaps], axis=-1), (*rows.shape[:-1], n * up))
        rows = rows[..., : (n - 1) * up + 1]
    made = rows_with_filter(rows, h)[..., ::down]
    return np.moveaxis(made, -1, as_axis(axis, x.ndim))


def rows_with_filter(rows: Any, h: Any) -> Any:
    """The full convolution of each vector along the last axis with one filter."""
    flat = np.reshape(rows, (-1, rows.shape[-1]))
    if h.shape[0] > rows.shape[-1]:
        made = by_fft(flat, h[None], (1,))
    else:
        made = full(flat, h[None])
    return np.reshape(made, (*rows.shape[:-1], made.shape[-1]))
