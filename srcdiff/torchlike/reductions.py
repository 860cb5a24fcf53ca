"""Reductions and running sums. `dim` is None, an int or several; `keepdim` keeps reduced dimensions with length 1."""

from __future__ import annotations

from typing import Any

from srcdiff.ops import elementwise as el
from srcdiff.ops import neural
from srcdiff.ops import reductions as ops
from srcdiff.ops.structural import cast, reshape
from srcdiff.torchlike import support
from srcdiff.torchlike.support import (
    arrayed,
    at_least_1d,
    in_dtype,
    many_dims,
    numpy_keywords,
    one_dim,
)

# --------------------------------------------------------------------------------------------------- sums and products


@numpy_keywords
def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The sum over dimensions; of integers in int64."""
    x = in_dtype(arrayed(input), dtype)
    return in_dtype(ops.sum(x, axis=many_dims(dim, x.ndim), keepdims=keepdim), dtype)


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
    return in_dtype(ops.prod(x, axis=many_dims(dim, x.ndim), keepdims=keepdim), dtype)


# -------------------------------------------------------------------------------------------------------------- spread


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


# ------------------------------------------------------------------------------------------------------------ extremes


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


# ----------------------------------------------------------------------------------------------------- of exponentials


@numpy_keywords
def logsumexp(input: Any, dim: Any, keepdim: bool = False) -> Any:
    """log of the sum of the exponentials, without overflow."""
    x = arrayed(input)
    return ops.logsumexp(x, axis=many_dims(dim, x.ndim), keepdims=keepdim)


@numpy_keywords
def softmax(input: Any, dim: int, dtype: Any = None) -> Any:
    """Exponentials over their sum."""
    return along_axis(neural.softmax, in_dtype(arrayed(input), dtype), dim)


@numpy_keywords
def log_softmax(input: Any, dim: int, dtype: Any = None) -> Any:
    """The logarithm of `softmax`, without overflow."""
    return along_axis(neural.log_softmax, in_dtype(arrayed(input), dtype), dim)


def along_axis(prim: Any, x: Any, dim: Any, **params: Any) -> Any:
    """A primitive along one axis, for 0-d tensors too."""
    axis = one_dim(dim, x.ndim)
    made = prim(at_least_1d(x), axis=axis, **params)
    return made if x.ndim else reshape(made, shape=())
