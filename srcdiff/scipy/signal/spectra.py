"""Spectra of segments of a signal. Frequencies, times and errors are those of SciPy's own call on the values."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from scipy import signal

from srcdiff.functions.shaping import as_axis
from srcdiff.scipy.boundaries import extended
from srcdiff.scipy.signal.convolution import operands
from srcdiff.scipy.signal.filters import detrend as without_trend
from srcdiff.scipy.support import constant, mirrors, unsupported

__all__ = ["coherence", "csd", "periodogram", "spectrogram", "stft", "welch"]


def _by_name(original: Any, *given: Any, **named: Any) -> dict[str, Any]:
    """SciPy's arguments by name, with SciPy's defaults."""
    bound = inspect.signature(original).bind(*given, **named)
    bound.apply_defaults()
    return dict(bound.arguments)


def _window(o: dict[str, Any], n: int) -> Any:
    """The window, and with it the length of a segment."""
    given = o["window"]
    if isinstance(given, (str, tuple)):
        length = min(256 if o["nperseg"] is None else int(o["nperseg"]), n)
        return signal.get_window(given, length)
    return np.asarray(constant(given))


def _transformed(x: Any, o: dict[str, Any], window: Any, overlap: int) -> Any:
    """The transforms of the segments of rows: (..., segments, frequencies)."""
    length = window.shape[0]
    nfft = length if o.get("nfft") is None else int(o["nfft"])
    starts = np.arange(0, x.shape[-1] - length + 1, length - overlap)
    frames = x[..., starts[:, None] + np.arange(length)]
    if callable(o["detrend"]):
        frames = o["detrend"](frames)
    elif o["detrend"]:
        frames = without_trend(frames, axis=-1, type=o["detrend"])
    frames = frames * window.astype(x.dtype if x.dtype.kind == "f" else window.dtype)
    return np.fft.rfft(frames, nfft, -1) if _one_sided(x, o) else np.fft.fft(frames, nfft, -1)


def _one_sided(x: Any, o: dict[str, Any]) -> bool:
    return bool(o.get("return_onesided", True)) and x.dtype.kind != "c"


def _power_scale(o: dict[str, Any], window: Any) -> float:
    if o.get("scaling", "density") in ("density", "psd"):
        return 1.0 / (float(o["fs"]) * float(np.sum(window * window)))
    return 1.0 / float(np.sum(window)) ** 2


def _cross(x: Any, y: Any, o: dict[str, Any], overlap: int) -> Any:
    """The cross spectral density of rows, segment by segment: (..., segments, frequencies)."""
    n = max(x.shape[-1], y.shape[-1])
    window = _window(o, n)
    x, y = (extended(v, v.ndim - 1, 0, n - v.shape[-1], "constant") for v in (x, y))
    first = _transformed(x, o, window, overlap)
    second = first if y is x else _transformed(y, o, window, overlap)
    power = np.conj(first) * second * _power_scale(o, window)
    if _one_sided(x, o):
        nfft = window.shape[0] if o["nfft"] is None else int(o["nfft"])
        twice = np.full(power.shape[-1], 2.0)
        twice[0] = 1.0
        if nfft % 2 == 0:
            twice[-1] = 1.0
        power = power * twice
    return power


def _overlap(o: dict[str, Any], length: int, default: int) -> int:
    return default if o.get("noverlap") is None else int(o["noverlap"])


def _averaged(x: Any, y: Any, o: dict[str, Any]) -> Any:
    axis = as_axis(o["axis"], x.ndim)
    same = y is x
    x = np.moveaxis(x, axis, -1)
    y = x if same else np.moveaxis(y, axis, -1)
    length = _window(o, max(x.shape[-1], y.shape[-1])).shape[0]
    power = _cross(x, y, o, _overlap(o, length, length // 2))
    if o.get("average", "mean") == "mean":
        power = np.mean(power, axis=-2)
    else:
        odd = np.arange(1.0, (power.shape[-2] - 1) // 2 + 1) * 2
        bias = 1.0 + float(np.sum(1.0 / (odd + 1.0) - 1.0 / odd))
        parts = [np.median(part, axis=-2) / bias for part in (np.real(power), np.imag(power))]
        power = parts[0] + 1j * parts[1]
    return np.moveaxis(power, -1, axis)


@mirrors(signal.csd)
def csd(x: Any, y: Any, **options: Any) -> Any:
    o = _by_name(signal.csd, x, y, **options)
    freqs = signal.csd(**constant(o))[0]
    same = y is x
    x, y = operands(x, y)
    y = x if same else y
    made = _averaged(x, y, o)
    return freqs, np.real(made) if same else made


@mirrors(signal.welch)
def welch(x: Any, **options: Any) -> Any:
    o = _by_name(signal.welch, x, **options)
    freqs = signal.welch(**constant(o))[0]
    (x,) = operands(x)
    return freqs, np.real(_averaged(x, x, o))


@mirrors(signal.periodogram)
def periodogram(x: Any, **options: Any) -> Any:
    o = _by_name(signal.periodogram, x, **options)
    signal.periodogram(**constant(o))
    axis, nfft = as_axis(o["axis"], x.ndim), o["nfft"]
    window = "boxcar" if o["window"] is None else o["window"]
    if nfft is not None and nfft < x.shape[axis]:
        x, nfft = x[(slice(None),) * axis + (slice(0, nfft),)], None
    rest = {key: o[key] for key in ("fs", "detrend", "return_onesided", "scaling", "axis")}
    return welch(x, window=window, nperseg=x.shape[axis], noverlap=0, nfft=nfft, **rest)


@mirrors(signal.coherence)
def coherence(x: Any, y: Any, **options: Any) -> Any:
    freqs, pxx = welch(x, **options)
    pyy = welch(y, **options)[1]
    pxy = csd(x, y, **options)[1]
    return freqs, np.abs(pxy) ** 2 / pxx / pyy


@mirrors(signal.spectrogram)
def spectrogram(x: Any, **options: Any) -> Any:
    o = _by_name(signal.spectrogram, x, **options)
    freqs, times, _ = signal.spectrogram(**constant(o))
    (x,) = operands(x)
    axis = as_axis(o["axis"], x.ndim)
    rows = np.moveaxis(x, axis, -1)
    window = _window(o, rows.shape[-1])
    overlap = _overlap(o, window.shape[0], window.shape[0] // 8)
    if o["mode"] == "psd":
        made = np.real(_cross(rows, rows, o, overlap))
    else:
        made = _transformed(rows, o, window, overlap) * np.sqrt(_power_scale(o, window))
    made = np.moveaxis(np.swapaxes(made, -1, -2), -2, axis)
    if o["mode"] == "magnitude":
        made = np.abs(made)
    elif o["mode"] in ("angle", "phase"):
        made = np.angle(made)
        if o["mode"] == "phase":
            raise unsupported("scipy.signal.spectrogram: mode='phase'")
    return freqs, times, made


@mirrors(signal.stft)
def stft(x: Any, **options: Any) -> Any:
    o = _by_name(signal.stft, x, **options)
    freqs, times, _ = signal.stft(**constant(o))
    (x,) = operands(x)
    axis = as_axis(o["axis"], x.ndim)
    rows = np.moveaxis(x, axis, -1)
    window = _window(o, rows.shape[-1])
    length = window.shape[0]
    overlap = _overlap(o, length, length // 2)
    if o["boundary"] is not None:
        rows = _with_boundary(rows, length // 2, o["boundary"])
    if o["padded"]:
        missing = -(rows.shape[-1] - length) % (length - overlap) % length
        rows = extended(rows, rows.ndim - 1, 0, missing, "constant")
    made = _transformed(rows, o, window, overlap) * np.sqrt(_power_scale(o, window))
    return freqs, times, np.moveaxis(np.swapaxes(made, -1, -2), -2, axis)


def _with_boundary(rows: Any, n: int, boundary: str) -> Any:
    last = rows.ndim - 1
    if boundary == "odd":
        return 2.0 * extended(rows, last, n, n, "nearest") - extended(rows, last, n, n, "mirror")
    return extended(rows, last, n, n, {"zeros": "constant", "constant": "nearest", "even": "mirror"}[boundary])
