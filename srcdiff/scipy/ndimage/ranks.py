"""Filters that take one of the elements in a window: the largest, the smallest, the median."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import ndimage

from srcdiff.scipy.boundaries import window
from srcdiff.scipy.ndimage.filters import chosen, continued, finished, per_axis
from srcdiff.scipy.signal.convolution import operands
from srcdiff.scipy.support import mirrors

__all__ = [
    "maximum_filter", "maximum_filter1d", "median_filter", "minimum_filter", "minimum_filter1d",
]  # fmt: skip


def _ranked(
    name: str, reduce: Any, input: Any, size: Any, footprint: Any, output: Any, mode: Any, cval: Any, origin: Any,
    axes: Any,
) -> Any:  # fmt: skip
    """A reduction of the elements in the windows of a footprint."""
    (x,) = operands(input)
    along = chosen(x, axes)
    if footprint is None:
        if size is None:
            raise RuntimeError("no footprint provided")
        footprint = np.ones([int(n) for n in per_axis(size, along)], bool)
    footprint = np.asarray(footprint, bool)
    if footprint.ndim != len(along):
        raise RuntimeError("footprint array has incorrect shape.")
    sizes = dict(zip(along, footprint.shape, strict=True))
    origins = dict(zip(along, per_axis(origin, along), strict=True))
    outer = continued(x, sizes, origins, dict(zip(along, per_axis(mode, along), strict=True)), cval)
    parts = []
    for place in np.argwhere(footprint):
        part = outer
        for k, start in zip(along, place, strict=True):
            part = window(part, k, int(start), x.shape[k])
        parts.append(part)
    return finished(name, reduce(np.stack(parts)), output)


def _ranking(name: str, reduce: Any) -> Any:
    def ranked(
        input: Any, size: Any = None, footprint: Any = None, output: Any = None, mode: Any = "reflect",
        cval: Any = 0.0, origin: Any = 0, *, axes: Any = None,
    ) -> Any:  # fmt: skip
        return _ranked(name, reduce, input, size, footprint, output, mode, cval, origin, axes)

    return mirrors(getattr(ndimage, name))(ranked)


def _ranking_along(name: str, reduce: Any) -> Any:
    def ranked(
        input: Any, size: int, axis: int = -1, output: Any = None, mode: Any = "reflect", cval: Any = 0.0,
        origin: int = 0,
    ) -> Any:  # fmt: skip
        return _ranked(name, reduce, input, [size], None, output, mode, cval, [origin], axis)

    return mirrors(getattr(ndimage, name))(ranked)


def _upper_median(stack: Any) -> Any:
    """Of an even number of elements SciPy takes the larger of the two in the middle."""
    return np.sort(stack, axis=0)[stack.shape[0] // 2]


maximum_filter = _ranking("maximum_filter", lambda stack: np.max(stack, axis=0))
minimum_filter = _ranking("minimum_filter", lambda stack: np.min(stack, axis=0))
median_filter = _ranking("median_filter", _upper_median)
maximum_filter1d = _ranking_along("maximum_filter1d", lambda stack: np.max(stack, axis=0))
minimum_filter1d = _ranking_along("minimum_filter1d", lambda stack: np.min(stack, axis=0))
