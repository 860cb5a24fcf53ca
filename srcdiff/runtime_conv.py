"""Helpers of `runtime` for convolution and pooling over any number of spatial axes: plain arrays in, plain arrays out.

Inputs are (samples, channels, *spatial), filters (out channels, in channels of a group, *kernel). All three products
below are one matrix product each per group, of the windows of the padded input laid out as columns.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

Array = Any
Shape = tuple[int, ...]


def window_counts(size: Shape, kernel: Shape, stride: Shape, padding: Shape, dilation: Shape) -> Shape:
    """How many windows fit along each spatial axis."""
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True)
    )


def padded(x: Array, padding: Shape, value: float = 0.0) -> Array:
    """x with `value` around its spatial axes."""
    if not any(padding):
        return x
    shape = (*x.shape[:2], *(n + 2 * p for n, p in zip(x.shape[2:], padding, strict=True)))
    out = np.full(shape, value, x.dtype)
    out[_inside(x.shape[2:], padding)] = x
    return out


def _inside(size: Shape, padding: Shape) -> tuple[Any, ...]:
    return (..., *(slice(p, p + n) for n, p in zip(size, padding, strict=True)))


def conv_windows(x: Array, kernel: Shape, stride: Shape, dilation: Shape) -> Array:
    """A read-only view (samples, channels, *windows, *kernel) of a padded input."""
    counts = window_counts(x.shape[2:], kernel, stride, (0,) * len(kernel), dilation)
    steps = x.strides[2:]
    strides = (
        *x.strides[:2],
        *(a * s for a, s in zip(steps, stride, strict=True)),
        *(a * d for a, d in zip(steps, dilation, strict=True)),
    )
    return as_strided(x, (*x.shape[:2], *counts, *kernel), strides, writeable=False)


def _columns(
    x: Array, kernel: Shape, stride: Shape, padding: Shape, dilation: Shape, groups: int
) -> tuple[Array, Shape]:
    """The windows as (groups, samples * windows, in channels of a group * kernel), and the counts of windows."""
    view = conv_windows(padded(x, padding), kernel, stride, dilation)
    n = len(kernel)
    samples, channels, *counts = view.shape[: 2 + n]
    split = view.reshape(samples, groups, channels // groups, *counts, *kernel) if groups > 1 else view[:, None]
    order = (1, 0, *range(3, 3 + n), 2, *range(3 + n, 3 + 2 * n))
    return split.transpose(order).reshape(groups, samples * prod(counts), -1), tuple(counts)


def _rows(y: Array, groups: int) -> Array:
    """An output (samples, out channels, *windows) as (groups, samples * windows, out channels of a group)."""
    samples, channels, *counts = y.shape
    split = y.reshape(samples, groups, channels // groups, prod(counts))
    return split.transpose(1, 0, 3, 2).reshape(groups, samples * prod(counts), channels // groups)


def conv(x: Array, w: Array, stride: Shape, padding: Shape, dilation: Shape, groups: int) -> Array:
    """Cross-correlation of x with w."""
    columns, counts = _columns(x, w.shape[2:], stride, padding, dilation, groups)
    filters = w.reshape(groups, w.shape[0] // groups, -1)
    out = columns @ filters.transpose(0, 2, 1)
    shaped = out.reshape(groups, x.shape[0], prod(counts), w.shape[0] // groups).transpose(1, 0, 3, 2)
    return np.ascontiguousarray(shaped).reshape(x.shape[0], w.shape[0], *counts)


def conv_input(y: Array, w: Array, size: Shape, stride: Shape, padding: Shape, dilation: Shape, groups: int) -> Array:
    """The adjoint of `conv` in x, whose spatial sizes are `size`."""
    samples, counts, kernel = y.shape[0], y.shape[2:], w.shape[2:]
    columns = _rows(y, groups) @ w.reshape(groups, w.shape[0] // groups, -1)
    inside = columns.reshape(groups, samples, *counts, w.shape[1], *kernel)
    n = len(kernel)
    inside = inside.transpose(1, 0, 2 + n, *range(2, 2 + n), *range(3 + n, 3 + 2 * n))
    inside = inside.reshape(samples, groups * w.shape[1], *counts, *kernel)
    return add_windows(inside, size, stride, padding, dilation)


def conv_filter(
    x: Array, y: Array, kernel: Shape, stride: Shape, padding: Shape, dilation: Shape, groups: int
) -> Array:
    """The adjoint of `conv` in w, whose kernel sizes are `kernel`."""
    columns, _ = _columns(x, kernel, stride, padding, dilation, groups)
    out = _rows(y, groups).transpose(0, 2, 1) @ columns
    return out.reshape(y.shape[1], x.shape[1] // groups, *kernel)


def add_windows(windows: Array, size: Shape, stride: Shape, padding: Shape, dilation: Shape) -> Array:
    """Sums windows (samples, channels, *counts, *kernel) back where `conv_windows` took them from, padding cut off."""
    n = len(size)
    counts, kernel = windows.shape[2 : 2 + n], windows.shape[2 + n :]
    shape = (*windows.shape[:2], *(a + 2 * p for a, p in zip(size, padding, strict=True)))
    out = np.zeros(shape, windows.dtype)
    for offset in np.ndindex(*kernel):
        place: Any = tuple(
            slice(k * d, k * d + s * c, s) for k, d, s, c in zip(offset, dilation, stride, counts, strict=True)
        )
        out[(..., *place)] += windows[(..., *offset)]
    return out[_inside(size, padding)] if any(padding) else out


def sum_pool(x: Array, kernel: Shape, stride: Shape, padding: Shape) -> Array:
    """The sum of each window."""
    n = len(kernel)
    view = conv_windows(padded(x, padding), kernel, stride, (1,) * n)
    return view.sum(tuple(range(2 + n, 2 + 2 * n)))


def sum_unpool(y: Array, size: Shape, kernel: Shape, stride: Shape, padding: Shape) -> Array:
    """The adjoint of `sum_pool`."""
    n = len(kernel)
    spread = np.broadcast_to(y[(..., *(None,) * n)], (*y.shape, *kernel))
    return add_windows(spread, size, stride, padding, (1,) * n)


def max_pool_index(x: Array, kernel: Shape, stride: Shape, padding: Shape, dilation: Shape) -> Array:
    """For each window the flat position, among x's spatial axes, of the first of its largest elements (or of a NaN)."""
    n, size = len(kernel), x.shape[2:]
    view = conv_windows(
        padded(x, padding, -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min), kernel, stride, dilation
    )
    counts = view.shape[2 : 2 + n]
    best = np.unravel_index(view.reshape(*view.shape[: 2 + n], -1).argmax(-1), kernel)
    flat: Any = 0
    for axis in range(n):
        start = np.arange(counts[axis]) * stride[axis] - padding[axis]
        start = start.reshape(-1, *(1,) * (n - 1 - axis))
        flat = flat * size[axis] + start + best[axis] * dilation[axis]
    return flat
