"""Convolution and pooling, over any number of spatial axes.

A convolution is bilinear in input and filter, and the adjoints in each are products of the same three, so the rules
close. Parameters are tuples with an entry per spatial axis.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.aval import Aval, aval
from srcdiff.core.primitive import Primitive
from srcdiff.errors import ShapeError
from srcdiff.ops.elementwise import conj
from srcdiff.ops.families import bilinear, linear, nondiff, result_dtype
from srcdiff.runtime_conv import window_counts

Shape = tuple[int, ...]


def _kind(x: Aval, y: Aval) -> Any:
    return result_dtype("matmul", (x, y), {}, ndim=2)


def _conv(x: Aval, w: Aval, *, stride: Shape, padding: Shape, dilation: Shape, groups: int) -> Aval:
    if x.ndim != w.ndim or x.ndim != len(stride) + 2 or x.shape[1] != w.shape[1] * groups or w.shape[0] % groups:
        raise ShapeError(f"conv: an input {x} and a filter {w} in {groups} groups do not fit")
    return aval(
        (x.shape[0], w.shape[0], *window_counts(x.shape[2:], w.shape[2:], stride, padding, dilation)), _kind(x, w)
    )


conv: Primitive = bilinear(
    "conv", "x w", "rt.conv(x, w, stride, padding, dilation, groups)",
    [
        lambda ct, out, x, w, *, stride, padding, dilation, groups: conv_input(
            ct, conj(w), size=x.shape[2:], stride=stride, padding=padding, dilation=dilation, groups=groups
        ),
        lambda ct, out, x, w, *, stride, padding, dilation, groups: conv_filter(
            conj(x), ct, kernel=w.shape[2:], stride=stride, padding=padding, dilation=dilation, groups=groups
        ),
    ],
    infer=_conv, params="stride padding dilation groups", label="Convolution", real=True,
)  # fmt: skip
#: the adjoint of `conv` in x: a transposed convolution
conv_input: Primitive = bilinear(
    "conv_input", "y w", "rt.conv_input(y, w, size, stride, padding, dilation, groups)",
    [
        lambda ct, out, y, w, *, size, stride, padding, dilation, groups: conv(
            ct, conj(w), stride=stride, padding=padding, dilation=dilation, groups=groups
        ),
        lambda ct, out, y, w, *, size, stride, padding, dilation, groups: conv_filter(
            ct, conj(y), kernel=w.shape[2:], stride=stride, padding=padding, dilation=dilation, groups=groups
        ),
    ],
    infer=lambda y, w, *, size, stride, padding, dilation, groups: aval(
        (y.shape[0], w.shape[1] * groups, *size), _kind(y, w)
    ),
    params="size stride padding dilation groups", label="Convolution", real=True,
)  # fmt: skip
#: the adjoint of `conv` in w
conv_filter: Primitive = bilinear(
    "conv_filter", "x y", "rt.conv_filter(x, y, kernel, stride, padding, dilation, groups)",
    [
        lambda ct, out, x, y, *, kernel, stride, padding, dilation, groups: conv_input(
            conj(y), ct, size=x.shape[2:], stride=stride, padding=padding, dilation=dilation, groups=groups
        ),
        lambda ct, out, x, y, *, kernel, stride, padding, dilation, groups: conv(
            conj(x), ct, stride=stride, padding=padding, dilation=dilation, groups=groups
        ),
    ],
    infer=lambda x, y, *, kernel, stride, padding, dilation, groups: aval(
        (y.shape[1], x.shape[1] // groups, *kernel), _kind(x, y)
    ),
    params="kernel stride padding dilation groups", label="Convolution", real=True,
)  # fmt: skip

# ------------------------------------------------------------------------------------------------------------- pooling


def _pooled(x: Aval, *, kernel: Shape, stride: Shape, padding: Shape) -> Aval:
    return aval((*x.shape[:2], *window_counts(x.shape[2:], kernel, stride, padding, (1,) * len(kernel))), x.dtype)


sum_pool: Primitive = linear(
    "sum_pool", "x", "rt.sum_pool(x, kernel, stride, padding)",
    lambda ct, out, x, *, kernel, stride, padding: sum_unpool(
        ct, size=x.shape[2:], kernel=kernel, stride=stride, padding=padding
    ),
    infer=_pooled, params="kernel stride padding", label="AvgPool",
)  # fmt: skip
sum_unpool: Primitive = linear(
    "sum_unpool", "y", "rt.sum_unpool(y, size, kernel, stride, padding)",
    lambda ct, out, y, *, size, kernel, stride, padding: sum_pool(ct, kernel=kernel, stride=stride, padding=padding),
    infer=lambda y, *, size, kernel, stride, padding: aval((*y.shape[:2], *size), y.dtype),
    params="size kernel stride padding", label="AvgPool",
)  # fmt: skip
max_pool_index = nondiff(
    "max_pool_index", "x", "rt.max_pool_index(x, kernel, stride, padding, dilation)",
    lambda x, *, kernel, stride, padding, dilation: aval(
        (*x.shape[:2], *window_counts(x.shape[2:], kernel, stride, padding, dilation)), np.dtype(np.int64)
    ),
    "kernel stride padding dilation", reason="it says which elements are the largest",
)  # fmt: skip
