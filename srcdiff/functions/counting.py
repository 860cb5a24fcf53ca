"""np.bincount and histograms (what is counted is constant, the weights have gradients); np.convolve, np.correlate."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.core.primitive import REGISTRY
from srcdiff.functions.dispatch import implements, values_of
from srcdiff.functions.reductions import as_array, size
from srcdiff.ops.elementwise import conj
from srcdiff.ops.structural import cast, reshape

# ---------------------------------------------------------------------------------------------------------- counting


@implements(np.bincount)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """np.bincount; differentiates with respect to the weights."""
    x = np.asarray(values_of(x))
    if weights is None:
        return np.bincount(x, minlength=minlength)
    length = np.bincount(x, minlength=minlength).size
    w = as_array(weights, np.float64)
    if w.shape != x.shape:
        raise ValueError("The weights and list don't have the same length.")
    return _summed(w, x, length)


def _summed(w: Any, places: Any, length: int) -> Any:
    """The weights added up at their places among `length`."""
    return REGISTRY["scatter_along_axis"](w, places, axis=0, shape=(length,))


@implements(np.histogram)
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """np.histogram; differentiates with respect to the weights."""
    a, bins = np.asarray(values_of(a)), values_of(bins)
    if weights is None:
        return np.histogram(a, bins, range, density)
    counts, edges = histogramdd(a.reshape(-1, 1), [bins], None if range is None else [range], density, weights)
    return counts, edges[0]


@implements(np.histogram2d)
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Any, Any, Any]:
    """np.histogram2d; differentiates with respect to the weights."""
    sample = np.stack([np.asarray(values_of(x)), np.asarray(values_of(y))], axis=1)
    if np.ndim(bins) == 1 and len(bins) not in (1, 2):
        bins = [bins, bins]
    counts, edges = histogramdd(sample, bins, range, density, weights)
    return counts, edges[0], edges[1]


@implements(np.histogramdd)
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Any, Any]:
    """np.histogramdd; differentiates with respect to the weights."""
    points, bins = np.asarray(values_of(sample)), values_of(bins)
    counts, edges = np.histogramdd(points, bins, range, density and weights is None)
    if weights is None:
        return counts, edges
    points = points if points.ndim == 2 else np.stack(list(points), axis=-1)
    w = as_array(weights)
    w = reshape(w if w.dtype.kind in "fc" else as_array(w, np.float64), shape=(size(w),))
    kept = np.ones(len(points), bool)
    places = []
    for column, limits in zip(points.T, edges, strict=True):
        place = np.searchsorted(limits, column, side="right") - 1
        place[column == limits[-1]] -= 1  # the last bin has both its ends
        kept &= (place >= 0) & (place < len(limits) - 1)
        places.append(place)
    flat = np.ravel_multi_index(tuple(place[kept] for place in places), counts.shape)
    out = reshape(_summed(w[np.nonzero(kept)[0]], flat, counts.size), shape=counts.shape)
    if density:
        total = REGISTRY["sum"](out, axis=None, keepdims=False)
        volume: Any = 1.0
        for k, limits in enumerate(edges):
            volume = volume * np.diff(limits).reshape(-1, *(1,) * (len(edges) - k - 1))
        out = out / volume / total
    return out, edges


# -------------------------------------------------------------------------------------------------------- convolution


@implements(np.convolve)
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """np.convolve: the products of the shorter operand, turned round, with the windows of the longer."""
    a, v = _vector(a, "a"), _vector(v, "v")
    if v.shape[0] > a.shape[0]:
        a, v = v, a
    start, stop = _span(a.shape[0], v.shape[0], mode)
    return _full(a, v)[start:stop]


@implements(np.correlate)
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """np.correlate: the convolution with v turned round and conjugated."""
    a, v = _vector(a, "a"), conj(_vector(v, "v")[::-1])
    long, short = max(a.shape[0], v.shape[0]), min(a.shape[0], v.shape[0])
    start, stop = _span(long, short, mode)
    if v.shape[0] > a.shape[0]:  # NumPy exchanges them and turns the result round
        start, stop = long + short - 1 - stop, long + short - 1 - start
        return _full(v, a)[start:stop]
    return _full(a, v)[start:stop]


def _vector(x: Any, name: str) -> Any:
    x = as_array(x)
    x = x if x.ndim else reshape(x, shape=(1,))
    if x.ndim != 1:
        raise ValueError("object too deep for desired array")
    if not x.shape[0]:
        raise ValueError(f"{name} cannot be empty")
    return x


def _span(long: int, short: int, mode: str) -> tuple[int, int]:
    """Which part of the full convolution a mode gives."""
    if mode == "full":
        return 0, long + short - 1
    if mode == "same":
        return (short - 1) // 2, (short - 1) // 2 + long
    if mode == "valid":
        return short - 1, long
    raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")


def _full(a: Any, v: Any) -> Any:
    """The full convolution; v is the shorter."""
    n = v.shape[0]
    dtype = np.result_type(a.dtype, v.dtype)
    zeros = np.zeros(n - 1, dtype)
    padded = REGISTRY["concatenate"](zeros, a, zeros, axis=0) if n > 1 else cast(a, dtype=dtype)
    return REGISTRY["windows"](padded, window=(n,), axis=(0,)) @ v[::-1]
