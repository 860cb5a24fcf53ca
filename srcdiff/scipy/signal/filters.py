"""Recursive and smoothing filters. A recursion is the primitive `all_pole`; all else is convolution and indexing."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from scipy import signal

from srcdiff.functions.dispatch import plain
from srcdiff.functions.shaping import arrayed, as_axis
from srcdiff.ops.filters import all_pole
from srcdiff.scipy.boundaries import extended, window
from srcdiff.scipy.signal.convolution import operands, rows_with_filter
from srcdiff.scipy.support import mirrors, number, unsupported
from srcdiff.tape.value import TensorBase

__all__ = [
    "detrend", "filtfilt", "freqz", "hilbert", "lfilter", "lfilter_zi", "savgol_filter", "sosfilt", "sosfilt_zi",
    "sosfiltfilt",
]  # fmt: skip

# ----------------------------------------------------------------------------------------------------------- recursions


def _coefficients(b: Any, a: Any, *rest: Any) -> tuple[Any, ...]:
    """b and a of equal length with a[0] = 1, and the rest in the same dtype."""
    b, a, *others = operands(b, a, *rest)
    b, a = (np.reshape(c, (1,)) if not c.ndim else c for c in (b, a))
    if b.ndim != 1 or a.ndim != 1:
        raise ValueError("object of too small depth for desired array: b and a must be 1-D")
    if not a.shape[0] or plain(a)[0] == 0:
        raise ValueError("a[0] must not be 0")
    size = max(b.shape[0], a.shape[0])
    b, a = (np.concatenate([c, np.zeros(size - c.shape[0], c.dtype)]) / a[0] for c in (b, a))
    return (b, a, *others)


def _run(b: Any, a: Any, x: Any, start: Any) -> tuple[Any, Any]:
    """The filtered rows, and the state at their end, of coefficients of equal length and a state at their start.

    With y = x filtered: a * y = b * x + start, where * is convolution; what goes beyond the end is the final state.
    """
    n, order = x.shape[-1], a.shape[0] - 1
    driven = rows_with_filter(x, b)
    if start is not None and order:
        start = np.broadcast_to(start, (*x.shape[:-1], order))
        driven = driven + np.concatenate([start, np.zeros((*x.shape[:-1], n), x.dtype)], axis=-1)
    recursive = order and (isinstance(a, TensorBase) or np.any(a[1:]))
    y = all_pole(driven[..., :n], a[1:]) if recursive else driven[..., :n]
    return y, driven[..., n:] - rows_with_filter(y, a)[..., n:] if order else driven[..., n:]


@mirrors(signal.lfilter)
def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    b, a, x, *state = _coefficients(b, a, x, *(() if zi is None else (zi,)))
    axis = as_axis(axis, x.ndim)
    rows = np.moveaxis(x, axis, -1)
    if zi is None:
        return np.moveaxis(_run(b, a, rows, None)[0], -1, axis)
    start = state[0]
    expected = (*x.shape[:axis], a.shape[0] - 1, *x.shape[axis + 1 :])
    if start.ndim != x.ndim or any(have not in (1, n) for have, n in zip(start.shape, expected, strict=True)):
        raise ValueError(f"Unexpected shape for zi: expected {expected}, found {tuple(start.shape)}.")
    y, end = _run(b, a, rows, np.moveaxis(start, axis, -1))
    return np.moveaxis(y, -1, axis), np.moveaxis(end, -1, axis)


@mirrors(signal.lfilter_zi)
def lfilter_zi(b: Any, a: Any) -> Any:
    b, a = _coefficients(b, a)
    n = a.shape[0] - 1
    # the state z of the response to ones: z[k] = z[k + 1] + b[k + 1] - a[k + 1] (z[0] + b[0])
    first = np.concatenate([a[1:, None], np.zeros((n, n - 1), a.dtype)], axis=1) if n > 1 else a[1:, None]
    return np.linalg.solve(first + np.eye(n) - np.eye(n, k=1), b[1:] - a[1:] * b[0])


def _continued(x: Any, padtype: Any, padlen: Any, taps: int) -> tuple[int, Any]:
    """The rows with a stretch before and after them, and its length."""
    if padtype not in ("even", "odd", "constant", None):
        raise ValueError(
            f"Unknown value '{padtype}' given to padtype. padtype must be 'even', 'odd', 'constant', or None."
        )
    edge = 0 if padtype is None else taps * 3 if padlen is None else int(padlen)
    if x.shape[-1] <= edge:
        raise ValueError(f"The length of the input vector x must be greater than padlen, which is {edge}.")
    if not edge:
        return 0, x
    axis = x.ndim - 1
    made = extended(x, axis, edge, edge, "nearest" if padtype == "constant" else "mirror")
    if padtype == "odd":
        ends = extended(x, axis, edge, edge, "nearest")
        inner = np.zeros(made.shape[-1], bool)
        inner[edge:-edge] = True
        made = np.where(inner, made, 2.0 * ends - made)
    return edge, made


def _both_ways(x: Any, axis: int, padtype: Any, padlen: Any, taps: int, once: Any) -> Any:
    """`once` applied forward and then backward to the rows continued at both ends."""
    axis = as_axis(axis, x.ndim)
    edge, rows = _continued(np.moveaxis(x, axis, -1), padtype, padlen, taps)
    for _ in range(2):
        rows = once(rows)[..., ::-1]
    return np.moveaxis(window(rows, x.ndim - 1, edge, x.shape[axis]), -1, axis)


@mirrors(signal.filtfilt)
def filtfilt(
    b: Any, a: Any, x: Any, axis: int = -1, padtype: Any = "odd", padlen: Any = None, method: str = "pad"
) -> Any:
    if method != "pad":
        raise unsupported(f"scipy.signal.filtfilt: method={method!r}")
    b, a, x = _coefficients(b, a, x)
    state = lfilter_zi(b, a) if a.shape[0] > 1 else None
    once = lambda rows: _run(b, a, rows, None if state is None else state * rows[..., :1])[0]
    return _both_ways(x, axis, padtype, padlen, a.shape[0], once)


def _sections(sos: Any, *rest: Any) -> tuple[Any, ...]:
    made = operands(sos, *rest)
    if made[0].ndim != 2 or made[0].shape[1] != 6:
        raise ValueError("sos array must be shape (n_sections, 6)")
    if np.any(plain(made[0])[:, 3] != 1):
        raise ValueError("sos[:, 3] should be all ones")
    return made


@mirrors(signal.sosfilt)
def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    sos, x, *state = _sections(sos, x, *(() if zi is None else (zi,)))
    ends = []
    for k in range(sos.shape[0]):
        if zi is None:
            x = lfilter(sos[k, :3], sos[k, 3:], x, axis)
        else:
            x, end = lfilter(sos[k, :3], sos[k, 3:], x, axis, state[0][k])
            ends.append(end)
    return x if zi is None else (x, np.stack(ends))


@mirrors(signal.sosfilt_zi)
def sosfilt_zi(sos: Any) -> Any:
    (sos,) = _sections(sos)
    scale: Any = 1.0
    states = []
    for k in range(sos.shape[0]):
        b, a = sos[k, :3], sos[k, 3:]
        states.append(scale * lfilter_zi(b, a))
        scale = scale * (np.sum(b) / np.sum(a))
    return np.stack(states)


@mirrors(signal.sosfiltfilt)
def sosfiltfilt(sos: Any, x: Any, axis: int = -1, padtype: Any = "odd", padlen: Any = None) -> Any:
    sos, x = _sections(sos, x)
    values = plain(sos)
    taps = 2 * len(values) + 1 - min(int(np.sum(values[:, 2] == 0)), int(np.sum(values[:, 5] == 0)))
    state = sosfilt_zi(sos)

    def once(rows: Any) -> Any:
        start = state[(slice(None), *(None,) * (rows.ndim - 1))] * rows[..., :1]
        return sosfilt(sos, rows, zi=start)[0]

    return _both_ways(x, axis, padtype, padlen, taps, once)


@mirrors(signal.freqz)
def freqz(
    b: Any, a: Any = 1, worN: Any = 512, whole: bool = False, plot: Any = None, fs: float = 2 * np.pi,
    include_nyquist: bool = False,
) -> Any:  # fmt: skip
    b, a = operands(b, a)
    b, a = (np.reshape(c, (1,)) if not c.ndim else c for c in (b, a))
    if b.ndim != 1 or a.ndim != 1 or plot is not None:
        raise unsupported("scipy.signal.freqz: coefficients with several axes, or plot=")
    w = signal.freqz([1.0], 1, number(worN, "worN"), whole, fs=fs, include_nyquist=include_nyquist)[0]
    turns = np.exp(-2j * np.pi / fs * w[:, None] * np.arange(max(b.shape[0], a.shape[0])))
    return w, np.matmul(turns[:, : b.shape[0]], b) / np.matmul(turns[:, : a.shape[0]], a)


# ------------------------------------------------------------------------------------------------------------ smoothing


@mirrors(signal.detrend)
def detrend(data: Any, axis: int = -1, type: str = "linear", bp: Any = 0) -> Any:
    if type not in ("linear", "l", "constant", "c"):
        raise ValueError("Trend type must be 'linear' or 'constant'.")
    (x,) = operands(data)
    axis = as_axis(axis, x.ndim)
    if type in ("constant", "c"):
        return x - np.mean(x, axis=axis, keepdims=True)
    n = x.shape[axis]
    cuts = np.unique(np.concatenate([[0], np.atleast_1d(bp), [n]]).astype(int))
    if np.any(cuts > n):
        raise ValueError("Breakpoints must be less than length of data along given axis.")
    rows = np.moveaxis(x, axis, -1)
    parts = []
    for start, stop in pairwise(cuts):
        piece = rows[..., start:stop]
        line = np.stack([np.ones(stop - start), np.arange(1.0, stop - start + 1) / (stop - start)], axis=1)
        fitted = np.matmul(np.matmul(piece, np.linalg.pinv(line).T.astype(x.dtype)), line.T.astype(x.dtype))
        parts.append(piece - fitted)
    return np.moveaxis(np.concatenate(parts, axis=-1), -1, axis)


@mirrors(signal.hilbert)
def hilbert(x: Any, N: Any = None, axis: int = -1) -> Any:
    (x,) = operands(x)
    if x.dtype.kind == "c":
        raise ValueError("x must be real.")
    axis = as_axis(axis, x.ndim)
    n = x.shape[axis] if N is None else int(N)
    if n <= 0:
        raise ValueError("N must be positive.")
    weights = np.zeros(n, x.dtype)
    weights[0] = 1.0
    weights[1 : (n + 1) // 2] = 2.0
    if n % 2 == 0:
        weights[n // 2] = 1.0
    spectrum = np.fft.fft(x, n, axis) * np.reshape(weights, [-1 if k == axis else 1 for k in range(x.ndim)])
    return np.fft.ifft(spectrum, axis=axis)


@mirrors(signal.savgol_filter)
def savgol_filter(
    x: Any, window_length: int, polyorder: int, deriv: int = 0, delta: float = 1.0, axis: int = -1,
    mode: str = "interp", cval: float = 0.0,
) -> Any:  # fmt: skip
    if mode not in ("mirror", "constant", "nearest", "interp", "wrap"):
        raise ValueError("mode must be 'mirror', 'constant', 'nearest' 'wrap' or 'interp'.")
    (x,) = operands(arrayed(x))
    axis = as_axis(axis, x.ndim)
    rows = np.moveaxis(x, axis, -1)
    smooth = signal.savgol_coeffs(window_length, polyorder, deriv=deriv, delta=delta).astype(x.dtype)
    half = window_length // 2
    n = x.shape[axis]
    if mode == "interp" and window_length > n:
        raise ValueError("If mode is 'interp', window_length must be less than or equal to the size of x.")
    if mode != "interp":
        rows = extended(rows, x.ndim - 1, half, window_length - 1 - half, mode, cval)
    middle = window(rows_with_filter(rows, smooth), x.ndim - 1, window_length - 1, rows.shape[-1] - window_length + 1)
    if mode != "interp":
        return np.moveaxis(middle, -1, axis)
    # at both ends the values of one polynomial: a matrix that SciPy tells
    ends = signal.savgol_filter(np.eye(window_length), window_length, polyorder, deriv, delta, axis=0).astype(x.dtype)
    first = np.matmul(rows[..., :window_length], ends[:half].T)
    last = np.matmul(rows[..., n - window_length :], ends[window_length - half :].T)
    return np.moveaxis(np.concatenate([first, middle, last], axis=-1), -1, axis)
