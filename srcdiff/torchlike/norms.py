"""Norms of vectors and matrices, and distances. The subgradient at 0 is 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.ops import elementwise as el
from srcdiff.ops import linalg
from srcdiff.ops import reductions as ops
from srcdiff.ops import torchlike as tl
from srcdiff.ops.decompositions import svd
from srcdiff.ops.structural import cast, reshape, transpose
from srcdiff.torchlike.support import arrayed, in_dtype, lift, many_dims, numpy_keywords, one_dim


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
