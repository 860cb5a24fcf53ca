"""Running sums and products, differences, integrals."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.ops import cumulative
from srcdiff.ops import elementwise as el
from srcdiff.ops import reductions as ops
from srcdiff.ops.shaping import concatenate, take_at_window
from srcdiff.ops.structural import reshape
from srcdiff.ops.transcendental import exp, log
from srcdiff.torchlike.reductions import along_axis
from srcdiff.torchlike.support import arrayed, at_least_1d, in_dtype, lift, numpy_keywords, one_dim, value_of


@numpy_keywords
def cumsum(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """Sums of the elements up to each."""
    return in_dtype(along_axis(cumulative.cumsum, in_dtype(arrayed(input), dtype), dim), dtype)


@numpy_keywords
def cumprod(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """Products of the elements up to each."""
    return in_dtype(along_axis(cumulative.cumprod, in_dtype(arrayed(input), dtype), dim), dtype)


@numpy_keywords
def logcumsumexp(input: Any, dim: int) -> Any:
    """Logarithms of the sums of the exponentials up to each element, without overflow.

    Each is the largest so far plus the logarithm of a sum of numbers of which one is 1; that sum is a recurrence.
    """
    x = arrayed(input)
    axis = one_dim(dim, x.ndim)
    x = at_least_1d(x)
    top = np.maximum.accumulate(value_of(x), axis)
    level = np.where(np.isfinite(top), top, 0.0)
    before = np.concatenate([np.take(level, [0], axis), np.take(level, range(level.shape[axis] - 1), axis)], axis)
    grown = cumulative.scan(np.exp(before - level), exp(x - level), axis=axis, reverse=False)
    made = log(grown) + level
    return made if arrayed(input).ndim else reshape(made, shape=())


@numpy_keywords
def diff(input: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Differences of neighbours, n times over."""
    x = arrayed(input)
    axis = one_dim(dim, x.ndim)
    parts = [p for p in (prepend, x, append) if p is not None]
    if len(parts) > 1:
        x = concatenate(*map(lift, parts), axis=axis)
    for _ in range(n):
        length = x.shape[axis]
        after, before = take_at_window(x, axis, 1, length), take_at_window(x, axis, 0, max(length - 1, 0))
        x = el.not_equal(after, before) if x.dtype == bool else after - before
    return x


@numpy_keywords
def trapezoid(y: Any, x: Any = None, *, dx: Any = 1, dim: int = -1) -> Any:
    """The integral of y by the trapezoidal rule."""
    return ops.sum(_trapezoids(y, x, dx, dim), axis=(one_dim(dim, arrayed(y).ndim),), keepdims=False)


@numpy_keywords
def cumulative_trapezoid(y: Any, x: Any = None, *, dx: Any = 1, dim: int = -1) -> Any:
    """The integrals of y up to each position, by the trapezoidal rule."""
    return cumulative.cumsum(_trapezoids(y, x, dx, dim), axis=one_dim(dim, arrayed(y).ndim))


def _trapezoids(y: Any, x: Any, dx: Any, dim: int) -> Any:
    y = arrayed(y)
    axis = one_dim(dim, y.ndim)
    length = y.shape[axis]
    both = take_at_window(y, axis, 1, length) + take_at_window(y, axis, 0, length - 1)
    if x is None:
        return both * (dx / 2.0)
    x = arrayed(x)
    steps = diff(x, dim=-1 if x.ndim == 1 else dim)
    if x.ndim == 1:
        steps = reshape(steps, shape=(length - 1, *(1,) * (y.ndim - 1 - axis)))
    return both * steps * 0.5
