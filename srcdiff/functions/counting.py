"""np.bincount and histograms (counts are constant, weights and edges have gradients); np.convolve, np.correlate."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.core.primitive import REGISTRY
from srcdiff.functions.dispatch import has_operand, implements, values_of
from srcdiff.functions.ranges import linspace
from srcdiff.functions.reductions import as_array, size
from srcdiff.ops.elementwise import conj
from srcdiff.ops.structural import cast, reshape, transpose

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


@implements(np.histogram_bin_edges)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """np.histogram_bin_edges: between the least and the greatest value, unless the range or all edges are given."""
    found = np.histogram_bin_edges(*map(values_of, (a, bins, range, weights)))
    return _edges(as_array(a), bins, range, found)


def _edges(a: Any, bins: Any, range: Any, found: Any) -> Any:
    """The edges `found` as they depend on the values, on the range or on given edges."""
    if np.ndim(values_of(bins)) == 1:
        return as_array(bins, found.dtype) if has_operand(bins) else found
    if range is None and not size(a):
        return found
    low, high = (np.min(a), np.max(a)) if range is None else range
    if not has_operand((low, high)):
        return found
    if values_of(low) == values_of(high):
        low, high = low - 0.5, high + 0.5
    return linspace(low, high, len(found), dtype=found.dtype)


@implements(np.histogram)
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """np.histogram. Counts are constant between jumps: the weights, and the edges, have gradients."""
    points = np.asarray(values_of(a))
    found = np.histogram_bin_edges(points, values_of(bins), values_of(range), values_of(weights))
    edges = _edges(as_array(a), bins, range, found)
    if weights is None:
        counts = np.histogram(points, found)[0]
        return (_density(counts, [edges]) if density else counts), edges
    counts, _ = histogramdd(points.reshape(-1, 1), [found], None, False, weights)
    return (_density(counts, [edges]) if density else counts), edges


@implements(np.histogram2d)
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Any, Any, Any]:
    """np.histogram2d."""
    if len(as_array(x)) != len(as_array(y)):
        raise ValueError("x and y must have the same length.")
    if np.ndim(bins) == 1 and len(bins) not in (1, 2):
        bins = [bins, bins]
    counts, edges = histogramdd(np.stack([as_array(x), as_array(y)], axis=1), bins, range, density, weights)
    return counts, edges[0], edges[1]


@implements(np.histogramdd)
def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Any, Any]:
    """np.histogramdd."""
    rows = as_array(sample)
    rows = rows if hasattr(sample, "shape") and rows.ndim == 2 else transpose(np.atleast_2d(rows), axes=(1, 0))
    points = np.asarray(values_of(rows))
    counts, found = np.histogramdd(points, values_of(bins), values_of(range))
    columns = list(transpose(rows, axes=(1, 0)))
    each = [bins] * len(found) if np.ndim(values_of(bins)) == 0 else bins
    spans = [None] * len(found) if range is None else range
    edges = tuple(_edges(c, b, span, one) for c, b, span, one in zip(columns, each, spans, found, strict=True))
    if weights is not None:
        counts = _weighed(points, found, counts, as_array(weights))
    return (_density(counts, edges) if density else counts), edges


def _weighed(points: Any, edges: Any, counts: Any, w: Any) -> Any:
    """The sum of the weights of the points in each bin."""
    w = reshape(w if w.dtype.kind in "fc" else as_array(w, np.float64), shape=(size(w),))
    kept = np.ones(len(points), bool)
    places = []
    for column, limits in zip(points.T, edges, strict=True):
        place = np.searchsorted(limits, column, side="right") - 1
        place[column == limits[-1]] -= 1  # the last bin has both its ends
        kept &= (place >= 0) & (place < len(limits) - 1)
        places.append(place)
    flat = np.ravel_multi_index(tuple(place[kept] for place in places), counts.shape)
    return reshape(_summed(w[np.nonzero(kept)[0]], flat, counts.size), shape=counts.shape)


def _density(counts: Any, edges: Any) -> Any:
    """Counts divided by the size of their bin and by their sum."""
    volume: Any = 1.0
    for k, limits in enumerate(edges):
        volume = volume * np.reshape(np.diff(limits), (-1, *(1,) * (len(edges) - k - 1)))
    return counts / volume / np.sum(counts)


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
