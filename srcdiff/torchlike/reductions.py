"""Reductions and running sums. `dim` is None, an int or several; `keepdim` keeps reduced dimensions with length 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.ops import cumulative, linalg, neural
from srcdiff.ops import elementwise as el
from srcdiff.ops import reductions as ops
from srcdiff.ops import torchlike as tl
from srcdiff.ops.decompositions import svd
from srcdiff.ops.shaping import concatenate, take_at_window
from srcdiff.ops.structural import cast, reshape, transpose
from srcdiff.ops.transcendental import exp, log
from srcdiff.torchlike import support
from srcdiff.torchlike.support import (
    arrayed,
    at_least_1d,
    in_dtype,
    lift,
    many_dims,
    numpy_keywords,
    one_dim,
    value_of,
)

# ------------------------------------------------------------------------------------------------------ sums and products


@numpy_keywords
def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum over dimensions; of integers in int64."""
    x = in_dtype(arrayed(input), dtype)
    return ops.sum(x, axis=many_dims(dim, x.ndim), keepdims=keepdim)


@numpy_keywords
def nansum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum of what is not NaN."""
    x = in_dtype(arrayed(input), dtype)
    return ops.nansum(x, axis=many_dims(dim, x.ndim), keepdims=keepdim)


@numpy_keywords
def mean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The mean over dimensions."""
    x = in_dtype(arrayed(input), dtype)
    return ops.mean(x, axis=many_dims(dim, x.ndim), keepdims=keepdim)


@numpy_keywords
def nanmean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The mean of what is not NaN."""
    x = in_dtype(arrayed(input), dtype)
    axis = many_dims(dim, x.ndim)
    present = ops.sum(el.logical_not(el.isnan(x)), axis=axis, keepdims=keepdim)
    return ops.nansum(x, axis=axis, keepdims=keepdim) / cast(present, dtype=x.dtype)


@numpy_keywords
def prod(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The product over one dimension, or of all elements."""
    x = in_dtype(arrayed(input), dtype)
    return ops.prod(x, axis=many_dims(dim, x.ndim), keepdims=keepdim)


# ------------------------------------------------------------------------------------------------------------------ spread


def freedom(unbiased: Any, correction: Any) -> Any:
    """What is subtracted from the number of elements: 1, or as either keyword says."""
    if correction is not None:
        return correction
    return 1 if unbiased is None else int(unbiased)


def _spread_dims(dim: Any, unbiased: Any) -> tuple[Any, Any]:
    """`var(x, False)` means unbiased=False."""
    return (None, dim) if isinstance(dim, bool) and unbiased is None else (dim, unbiased)


@numpy_keywords
def var(
    input: Any, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Any = None,
) -> Any:  # fmt: skip
    """The variance with n - correction in the denominator, n - 1 by default."""
    x = arrayed(input)
    dim, unbiased = _spread_dims(dim, unbiased)
    ddof = freedom(unbiased, correction)
    return ops.var(x, axis=many_dims(dim, x.ndim), ddof=ddof, keepdims=keepdim)


@numpy_keywords
def std(
    input: Any, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Any = None,
) -> Any:  # fmt: skip
    """The standard deviation: the square root of `var`."""
    x = arrayed(input)
    dim, unbiased = _spread_dims(dim, unbiased)
    ddof = freedom(unbiased, correction)
    return ops.std(x, axis=many_dims(dim, x.ndim), ddof=ddof, keepdims=keepdim)


@numpy_keywords
def var_mean(
    input: Any, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Variance and mean."""
    dim, unbiased = _spread_dims(dim, unbiased)
    return var(input, dim, unbiased, keepdim, correction=correction), mean(input, dim, keepdim)


@numpy_keywords
def std_mean(
    input: Any, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Standard deviation and mean."""
    dim, unbiased = _spread_dims(dim, unbiased)
    return std(input, dim, unbiased, keepdim, correction=correction), mean(input, dim, keepdim)


# ---------------------------------------------------------------------------------------------------------------- extremes


@numpy_keywords
def amax(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The largest element; several that tie share the gradient."""
    x = arrayed(input)
    return ops.max_(x, axis=many_dims(dim, x.ndim), keepdims=keepdim)


@numpy_keywords
def amin(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The smallest element; several that tie share the gradient."""
    x = arrayed(input)
    return ops.min_(x, axis=many_dims(dim, x.ndim), keepdims=keepdim)


@numpy_keywords
def aminmax(input: Any, *, dim: Any = None, keepdim: bool = False) -> Any:
    """The smallest and the largest element."""
    return support.aminmax_result(amin(input, dim, keepdim), amax(input, dim, keepdim))


@numpy_keywords
def argmax(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The position of the (first) largest element; in the flattened tensor if no dimension is given."""
    x = arrayed(input)
    return ops.argmax(x, axis=None if dim is None or not x.ndim else one_dim(dim, x.ndim), keepdims=keepdim)


@numpy_keywords
def argmin(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The position of the (first) smallest element; in the flattened tensor if no dimension is given."""
    x = arrayed(input)
    return ops.argmin(x, axis=None if dim is None or not x.ndim else one_dim(dim, x.ndim), keepdims=keepdim)


@numpy_keywords
def all(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Whether all are nonzero."""
    x = arrayed(input)
    return ops.all_(x, axis=many_dims(dim, x.ndim), keepdims=keepdim)


@numpy_keywords
def any(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Whether one is nonzero."""
    x = arrayed(input)
    return ops.any_(x, axis=many_dims(dim, x.ndim), keepdims=keepdim)


@numpy_keywords
def count_nonzero(input: Any, dim: Any = None) -> Any:
    """How many are nonzero."""
    x = arrayed(input)
    return ops.count_nonzero(x, axis=many_dims(dim, x.ndim), keepdims=False)


# ------------------------------------------------------------------------------------------------------- of exponentials


@numpy_keywords
def logsumexp(input: Any, dim: Any, keepdim: bool = False) -> Any:
    """log of the sum of the exponentials, without overflow."""
    x = arrayed(input)
    return ops.logsumexp(x, axis=many_dims(dim, x.ndim), keepdims=keepdim)


@numpy_keywords
def softmax(input: Any, dim: int, dtype: Any = None) -> Any:
    """Exponentials over their sum."""
    return _along(neural.softmax, in_dtype(arrayed(input), dtype), dim)


@numpy_keywords
def log_softmax(input: Any, dim: int, dtype: Any = None) -> Any:
    """The logarithm of `softmax`, without overflow."""
    return _along(neural.log_softmax, in_dtype(arrayed(input), dtype), dim)


def _along(prim: Any, x: Any, dim: Any, **params: Any) -> Any:
    """A primitive along one axis, for 0-d tensors too."""
    axis = one_dim(dim, x.ndim)
    made = prim(at_least_1d(x), axis=axis, **params)
    return made if x.ndim else reshape(made, shape=())


# ------------------------------------------------------------------------------------------------------------ running


@numpy_keywords
def cumsum(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """Sums of the elements up to each."""
    return _along(cumulative.cumsum, in_dtype(arrayed(input), dtype), dim)


@numpy_keywords
def cumprod(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """Products of the elements up to each."""
    return _along(cumulative.cumprod, in_dtype(arrayed(input), dtype), dim)


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
    return made if np.ndim(value_of(arrayed(input))) else reshape(made, shape=())


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


# ---------------------------------------------------------------------------------------------------------------- norms


@numpy_keywords
def norm(input: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """The p-norm of the elements, over dimensions or of all; "nuc" is the sum of a matrix's singular values."""
    x = in_dtype(arrayed(input), dtype)
    if p == "nuc":
        return nuclear_norm(x, dim, keepdim)
    return p_norm(x, 2 if p == "fro" or p is None else p, many_dims(dim, x.ndim), keepdim)


def p_norm(x: Any, p: Any, axis: tuple[int, ...] | None, keepdim: bool) -> Any:
    """The p-norm over axes. Its subgradient at 0 is 0."""
    if p == 2:
        return _two_norm(x, axis, keepdim)
    size = el.absolute(x)
    if p == np.inf:
        return ops.max_(size, axis=axis, keepdims=keepdim)
    if p == -np.inf:
        return ops.min_(size, axis=axis, keepdims=keepdim)
    if p == 0:
        return ops.sum(tl.flat_sign(size), axis=axis, keepdims=keepdim)
    if p == 1:
        return ops.sum(size, axis=axis, keepdims=keepdim)
    total = ops.sum(size**p, axis=axis, keepdims=keepdim)
    if p < 0:
        return total ** (1.0 / p)
    # the root has an infinite slope at 0: nothing passes there
    zero = el.equal(total, 0)
    return el.where(zero, 0.0, el.where(zero, 1.0, total) ** (1.0 / p))


def _two_norm(x: Any, axis: tuple[int, ...] | None, keepdim: bool) -> Any:
    if x.dtype.kind not in "fc":
        x = cast(x, dtype=np.dtype(float))
    if axis is None or len(axis) == x.ndim:
        made = linalg.norm(reshape(x, shape=(x.size,)) if x.ndim != 1 else x, axis=None, keepdims=False)
        return reshape(made, shape=(1,) * x.ndim) if keepdim else made
    if len(axis) == 1:
        return linalg.norm(x, axis=axis[0], keepdims=keepdim)
    if len(axis) == 2:
        return linalg.norm(x, axis=axis, keepdims=keepdim)
    kept = [k for k in range(x.ndim) if k not in axis]
    order = (*kept, *axis)
    flat = reshape(transpose(x, axes=order), shape=(*(x.shape[k] for k in kept), -1))
    made = linalg.norm(flat, axis=len(kept), keepdims=False)
    return reshape(made, shape=tuple(1 if k in axis else n for k, n in enumerate(x.shape))) if keepdim else made


def nuclear_norm(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """The sum of the singular values of the matrices that two dimensions (the last two) form."""
    rows, columns = (one_dim(d, x.ndim) for d in ((-2, -1) if dim is None else dim))
    order = (*(k for k in range(x.ndim) if k not in (rows, columns)), rows, columns)
    s = svd(x if order == tuple(range(x.ndim)) else transpose(x, axes=order))[1]
    made = ops.sum(s, axis=(s.ndim - 1,), keepdims=False)
    if not keepdim:
        return made
    return reshape(made, shape=tuple(1 if k in (rows, columns) else n for k, n in enumerate(x.shape)))


@numpy_keywords
def dist(input: Any, other: Any, p: Any = 2) -> Any:
    """The p-norm of the difference."""
    return p_norm(lift(input) - lift(other), p, None, False)


@numpy_keywords
def renorm(input: Any, p: float, dim: int, maxnorm: float) -> Any:
    """Slices along a dimension scaled down to a norm of at most `maxnorm`."""
    x = arrayed(input)
    axis = one_dim(dim, x.ndim)
    size = p_norm(x, p, tuple(k for k in range(x.ndim) if k != axis), True)
    return el.where(el.greater(size, maxnorm), x * (maxnorm / (size + 1e-7)), x)
