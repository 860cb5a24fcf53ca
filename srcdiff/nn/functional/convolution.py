"""Convolution and pooling over one, two or three spatial axes; inputs are (samples, channels, *spatial) or without
samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from srcdiff.errors import ArgumentError, ShapeError, UnsupportedError
from srcdiff.nn.functional.padding import pad
from srcdiff.ops import convolution as ops
from srcdiff.ops.indexing import take_along_axis
from srcdiff.ops.linalg import matmul
from srcdiff.ops.structural import reshape, transpose

Sizes = int | Sequence[int]


def each(value: Any, n: int) -> tuple[int, ...]:
    """A number for each of n axes."""
    if isinstance(value, int):
        return (value,) * n
    sizes = tuple(int(v) for v in value)
    if len(sizes) == 1:
        return sizes * n
    if len(sizes) != n:
        raise ArgumentError(f"expected one number or {n}, got {sizes}")
    return sizes


def _batched(function: Callable[..., Any], x: Any, n: int) -> Any:
    """`function` of x with an axis of samples, which is added and taken off if x has none."""
    if x.ndim == n + 2:
        return function(x)
    if x.ndim != n + 1:
        raise ShapeError(f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input, but got {x.ndim}D")
    out = function(reshape(x, shape=(1, *x.shape)))
    return reshape(out, shape=tuple(out.shape[1:]))


def _biased(out: Any, bias: Any, n: int) -> Any:
    return out if bias is None else out + reshape(bias, shape=(bias.shape[0], *(1,) * n))


# --------------------------------------------------------------------------------------------------------- convolution


def _conv(n: int, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    stride, dilation = each(stride, n), each(dilation, n)
    if padding == "valid":
        padding = 0
    if padding == "same":
        if any(s != 1 for s in stride):
            raise ArgumentError("padding='same' is not supported for strided convolutions")
        totals = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:], strict=True)]
        if any(total % 2 for total in totals):
            x = pad(x, [side for total in reversed(totals) for side in (total // 2, total - total // 2)])
            padding = 0
        else:
            padding = [total // 2 for total in totals]
    padding = each(padding, n)

    def apply(batch: Any) -> Any:
        out = ops.conv(batch, weight, stride=stride, padding=padding, dilation=dilation, groups=groups)
        return _biased(out, bias, n)

    return _batched(apply, x, n)


def conv1d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """Cross-correlation with filters (out channels, in channels / groups, kernel)."""
    return _conv(1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """Cross-correlation with filters (out channels, in channels / groups, *kernel)."""
    return _conv(2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """Cross-correlation with filters (out channels, in channels / groups, *kernel)."""
    return _conv(3, input, weight, bias, stride, padding, dilation, groups)


def _transposed(
    n: int, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, extra: Any, groups: int, dilation: Any
) -> Any:
    stride, padding, extra, dilation = each(stride, n), each(padding, n), each(extra, n), each(dilation, n)
    if any(e >= max(s, d) for e, s, d in zip(extra, stride, dilation, strict=True)):
        raise ArgumentError("output padding must be smaller than either stride or dilation")

    def apply(batch: Any) -> Any:
        size = tuple(
            (m - 1) * s - 2 * p + d * (k - 1) + e + 1
            for m, s, p, d, k, e in zip(
                batch.shape[2:], stride, padding, dilation, weight.shape[2:], extra, strict=True
            )
        )
        out = ops.conv_input(batch, weight, size=size, stride=stride, padding=padding, dilation=dilation, groups=groups)
        return _biased(out, bias, n)

    return _batched(apply, x, n)


def conv_transpose1d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
    groups: int = 1, dilation: Any = 1,
) -> Any:  # fmt: skip
    """The adjoint of `conv1d` in its input; filters are (in channels, out channels / groups, kernel)."""
    return _transposed(1, input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
    groups: int = 1, dilation: Any = 1,
) -> Any:  # fmt: skip
    """The adjoint of `conv2d` in its input; filters are (in channels, out channels / groups, *kernel)."""
    return _transposed(2, input, weight, bias, stride, padding, output_padding, groups, dilation)


# ------------------------------------------------------------------------------------------------------------- pooling


def _max_pool(
    n: int, x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, return_indices: bool
) -> Any:
    if ceil_mode:
        raise UnsupportedError("max_pool: ceil_mode=True is not supported")
    kernel = each(kernel, n)
    stride = kernel if stride is None else each(stride, n)
    padding, dilation = each(padding, n), each(dilation, n)
    if any(2 * p > k for p, k in zip(padding, kernel, strict=True)):
        raise ArgumentError(
            f"pad should be at most half of effective kernel size, but got padding={padding}, {kernel=}"
        )
    if x.ndim == n + 1:
        out = _max_pool(n, reshape(x, shape=(1, *x.shape)), kernel, stride, padding, dilation, False, return_indices)
        parts = [reshape(part, shape=tuple(part.shape[1:])) for part in (out if return_indices else (out,))]
        return tuple(parts) if return_indices else parts[0]
    index = ops.max_pool_index(x, kernel=kernel, stride=stride, padding=padding, dilation=dilation)
    head, counts = tuple(x.shape[:2]), tuple(index.shape[2:])
    flat = reshape(x, shape=(*head, math.prod(x.shape[2:])))
    places = reshape(index, shape=(*head, math.prod(counts)))
    out = reshape(take_along_axis(flat, places, axis=2), shape=(*head, *counts))
    return (out, index) if return_indices else out


def max_pool1d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window; of those that tie the first gets the gradient."""
    return _max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest element of each window; of those that tie the first gets the gradient."""
    return _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def _avg_pool(
    n: int,
    x: Any,
    kernel: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: Any = None,
) -> Any:
    if ceil_mode:
        raise UnsupportedError("avg_pool: ceil_mode=True is not supported")
    kernel = each(kernel, n)
    stride, padding = kernel if stride is None else each(stride, n), each(padding, n)

    def apply(batch: Any) -> Any:
        total = ops.sum_pool(batch, kernel=kernel, stride=stride, padding=padding)
        if divisor is None and not count_include_pad and any(padding):
            ones = np.ones((1, 1, *batch.shape[2:]), batch.dtype)
            return total / ops.sum_pool(ones, kernel=kernel, stride=stride, padding=padding)
        return total / (math.prod(kernel) if divisor is None else divisor)

    return _batched(apply, x, n)


def avg_pool1d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:  # fmt: skip
    """The mean of each window, padding included unless `count_include_pad=False`."""
    return _avg_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad)


def avg_pool2d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Any:  # fmt: skip
    """The mean of each window, padding included unless `count_include_pad=False`."""
    return _avg_pool(2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _averaging(size: int, parts: int, dtype: Any) -> Any:
    """The matrix (size, parts) whose columns average `parts` stretches of an axis."""
    made = np.zeros((size, parts), dtype)
    for k in range(parts):
        start, stop = k * size // parts, -(-(k + 1) * size // parts)
        made[start:stop, k] = 1.0 / (stop - start)
    return made


def adaptive_avg_pool1d(input: Any, output_size: Any) -> Any:
    """The means of `output_size` stretches of the last axis."""
    (parts,) = each(output_size, 1)
    return matmul(input, _averaging(input.shape[-1], parts, input.dtype))


def adaptive_avg_pool2d(input: Any, output_size: Any) -> Any:
    """The means over a grid of `output_size` cells; None keeps an axis as it is."""
    sizes = (output_size, output_size) if isinstance(output_size, int) else tuple(output_size)
    rows, columns = (n if s is None else s for n, s in zip(input.shape[-2:], sizes, strict=True))
    axes = (*range(input.ndim - 2), input.ndim - 1, input.ndim - 2)
    half = transpose(matmul(input, _averaging(input.shape[-1], columns, input.dtype)), axes=axes)
    return transpose(matmul(half, _averaging(input.shape[-2], rows, input.dtype)), axes=axes)
