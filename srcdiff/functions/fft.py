"""numpy.fft. Lengths are reached by cutting or padding first: the primitives keep the length they are given."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from srcdiff.functions.dispatch import implements
from srcdiff.functions.shaping import arrayed, as_axis
from srcdiff.ops import fourier as ops
from srcdiff.ops.elementwise import conj
from srcdiff.ops.shaping import pad, take_at_window
from srcdiff.ops.structural import cast


def _norm(norm: Any) -> str:
    if norm is None:
        return "backward"
    if norm not in ops.OPPOSITE:
        raise ValueError(f"Invalid norm value {norm}; should be 'backward', 'ortho' or 'forward'.")
    return str(norm)


def _inexact(a: Any) -> Any:
    a = arrayed(a)
    if not a.ndim:
        raise np.exceptions.AxisError(-1, 0)
    return a if a.dtype.kind in "fc" else cast(a, dtype=np.dtype(float))


def _resized(a: Any, n: int, axis: int) -> Any:
    """`a` cut to length n along an axis, or padded with zeros."""
    if n < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    have = a.shape[axis]
    if n <= have:
        return take_at_window(a, axis, 0, n)
    return pad(a, pad_width=tuple((0, n - have) if k == axis else (0, 0) for k in range(a.ndim)))


def _length(n: Any, default: int) -> int:
    return default if n is None else operator.index(n)


def _lengths(a: Any, s: Any, axes: Any, inverse_real: bool = False) -> tuple[list[int], list[int]]:
    """The lengths and axes of a transform along several axes, as NumPy reads `s` and `axes`."""
    if axes is None:
        count = a.ndim if s is None else len(s)
        where = list(range(a.ndim - count, a.ndim))
    else:
        where = [as_axis(k, a.ndim) for k in axes]
    if s is None:
        sizes = [a.shape[k] for k in where]
        if inverse_real and sizes:
            sizes[-1] = 2 * (a.shape[where[-1]] - 1)
    else:
        sizes = [a.shape[k] if n == -1 else operator.index(n) for n, k in zip(s, where, strict=False)]
    if len(sizes) != len(where):
        raise ValueError("Shape and axes have different lengths.")
    return sizes, where


def _complex(transform: Any, a: Any, sizes: list[int], axes: list[int], norm: Any) -> Any:
    for n, axis in zip(sizes, axes, strict=True):
        a = _resized(a, n, axis)
    return transform(a, axes=tuple(axes), norm=_norm(norm)) if axes else a


# ------------------------------------------------------------------------------------------------------------- one axis


@implements(np.fft.fft)
def fft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
    a = _inexact(a)
    axis = as_axis(axis, a.ndim)
    return _complex(ops.fftn, a, [_length(n, a.shape[axis])], [axis], norm)


@implements(np.fft.ifft)
def ifft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
    a = _inexact(a)
    axis = as_axis(axis, a.ndim)
    return _complex(ops.ifftn, a, [_length(n, a.shape[axis])], [axis], norm)


@implements(np.fft.rfft)
def rfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
    a = _inexact(a)
    axis = as_axis(axis, a.ndim)
    if a.dtype.kind == "c":
        raise TypeError("rfft takes real input, this is complex")
    return ops.rfft(_resized(a, _length(n, a.shape[axis]), axis), axis=axis, norm=_norm(norm))


@implements(np.fft.irfft)
def irfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
    a = _inexact(a)
    axis = as_axis(axis, a.ndim)
    n = _length(n, 2 * (a.shape[axis] - 1))
    if n < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    return ops.irfft(_resized(a, n // 2 + 1, axis), n=n, axis=axis, norm=_norm(norm))


@implements(np.fft.hfft)
def hfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
    return irfft(conj(arrayed(a)), n, axis, ops.OPPOSITE[_norm(norm)])


@implements(np.fft.ihfft)
def ihfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None) -> Any:
    return conj(rfft(a, n, axis, ops.OPPOSITE[_norm(norm)]))


# --------------------------------------------------------------------------------------------------------- several axes


@implements(np.fft.fftn)
def fftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    a = _inexact(a)
    return _complex(ops.fftn, a, *_lengths(a, s, axes), norm)


@implements(np.fft.ifftn)
def ifftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    a = _inexact(a)
    return _complex(ops.ifftn, a, *_lengths(a, s, axes), norm)


@implements(np.fft.rfftn)
def rfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    a = _inexact(a)
    sizes, where = _lengths(a, s, axes)
    return _complex(ops.fftn, rfft(a, sizes[-1], where[-1], norm), sizes[:-1], where[:-1], norm)


@implements(np.fft.irfftn)
def irfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None) -> Any:
    a = _inexact(a)
    sizes, where = _lengths(a, s, axes, inverse_real=True)
    return irfft(_complex(ops.ifftn, a, sizes[:-1], where[:-1], norm), sizes[-1], where[-1], norm)


@implements(np.fft.fft2)
def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> Any:
    return fftn(a, s, axes, norm)


@implements(np.fft.ifft2)
def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> Any:
    return ifftn(a, s, axes, norm)


@implements(np.fft.rfft2)
def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> Any:
    return rfftn(a, s, axes, norm)


@implements(np.fft.irfft2)
def irfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None) -> Any:
    return irfftn(a, s, axes, norm)
