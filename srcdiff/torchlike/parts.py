"""Parts of tensors, diagonals and triangles; elements in another order, and repeated."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from srcdiff.errors import AutogradError
from srcdiff.index import FULL, Index, Slice, at
from srcdiff.ops import shaping as ops
from srcdiff.ops import structural
from srcdiff.ops import torchlike as tl
from srcdiff.ops.indexing import getitem
from srcdiff.torchlike.shaping import ravel, transpose
from srcdiff.torchlike.support import arrayed, as_sizes, at_least_1d, lift, one_dim, result, value_of

# --------------------------------------------------------------------------------------------------------------- parts


def narrow(input: Any, dim: int, start: Any, length: int) -> Any:
    """`length` entries of a dimension from `start` on."""
    x = arrayed(input)
    axis, first = one_dim(dim, x.ndim), operator.index(start)
    n = x.shape[axis]
    if length < 0:
        raise AutogradError("narrow(): length must be non-negative.")
    if not -n <= first <= n:
        raise IndexError(f"start out of range (expected to be in range of [{-n}, {n}], but got {first})")
    first = first + n if first < 0 else first
    if first + length > n:
        raise AutogradError(f"start ({first}) + length ({length}) exceeds dimension size ({n}).")
    return getitem(x, index=Index((*(FULL,) * axis, Slice(first, first + length, None)), axis > 0))


def select(input: Any, dim: int, index: Any) -> Any:
    """One entry of a dimension."""
    x = arrayed(input)
    if not x.ndim:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    axis, k = one_dim(dim, x.ndim), operator.index(index)
    if not -x.shape[axis] <= k < x.shape[axis]:
        raise IndexError(f"select(): index {k} out of range for tensor of size {list(x.shape)} at dimension {axis}")
    return getitem(x, index=at(axis, k % x.shape[axis]))


def unfold(input: Any, dimension: int, size: int, step: int) -> Any:
    """Windows of `size` entries, `step` apart, as a last dimension."""
    x = arrayed(input)
    axis = one_dim(dimension, x.ndim)
    x = at_least_1d(x)
    if size > x.shape[axis]:
        raise AutogradError(f"maximum size for tensor at dimension {axis} is {x.shape[axis]} but size is {size}")
    made = ops.windows(x, window=(size,), axis=(axis,))
    return made if step == 1 else getitem(made, index=Index((*(FULL,) * axis, Slice(None, None, step)), axis > 0))


def diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """The diagonal over two dimensions, as a last dimension."""
    x = arrayed(input)
    axis1, axis2 = one_dim(dim1, x.ndim), one_dim(dim2, x.ndim)
    if axis1 == axis2:
        raise AutogradError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return ops.diagonal(x, offset=offset, axis1=axis1, axis2=axis2)


def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """Matrices with the last dimension on their diagonals."""
    x = arrayed(input)
    ndim = x.ndim + 1
    axis1, axis2 = one_dim(dim1, ndim), one_dim(dim2, ndim)
    n = x.shape[-1] + abs(offset)
    rest = iter(x.shape[:-1])
    shape = tuple(n if k in (axis1, axis2) else next(rest) for k in range(ndim))
    return ops.diagonal_scatter(x, shape=shape, offset=offset, axis1=axis1, axis2=axis2)


def diag(input: Any, diagonal: int = 0) -> Any:
    """The diagonal of a matrix, or the matrix with a vector on its diagonal."""
    x = arrayed(input)
    if x.ndim == 1:
        return diag_embed(x, diagonal)
    if x.ndim != 2:
        raise AutogradError(f"diag(): Supports 1D or 2D tensors. Got {x.ndim}D")
    return ops.diagonal(x, offset=diagonal, axis1=0, axis2=1)


def diagflat(input: Any, offset: int = 0) -> Any:
    """The matrix with all elements on its diagonal."""
    return diag_embed(ravel(input), offset)


def tril(input: Any, diagonal: int = 0) -> Any:
    """The lower triangle of matrices, zeros elsewhere."""
    return ops.tril(arrayed(input), k=diagonal)


def triu(input: Any, diagonal: int = 0) -> Any:
    """The upper triangle of matrices, zeros elsewhere."""
    return ops.triu(arrayed(input), k=diagonal)


def trace(input: Any) -> Any:
    """The sum of the diagonal of a matrix."""
    x = arrayed(input)
    if x.ndim != 2:
        raise AutogradError("trace: expected a matrix")
    return ops.trace(x, offset=0, axis1=0, axis2=1)


# ----------------------------------------------------------------------------------------------------- elements' order


def flip(input: Any, *dims: Any) -> Any:
    """Dimensions reversed (a copy, as in PyTorch)."""
    x = arrayed(input)
    axes = tuple(sorted(one_dim(d, x.ndim) for d in as_sizes(dims)))
    return tl.flip_copy(x, axis=axes)


def fliplr(input: Any) -> Any:
    """The second dimension reversed."""
    return flip(input, 1)


def flipud(input: Any) -> Any:
    """The first dimension reversed."""
    return flip(input, 0)


def roll(input: Any, shifts: Any, dims: Any = None) -> Any:
    """Elements moved along dimensions, those that leave at one end entering at the other."""
    x = arrayed(input)
    moves = tuple(shifts) if isinstance(shifts, (list, tuple)) else (shifts,)
    if dims is None or dims == ():
        flat = ops.roll(ravel(x), shift=moves, axis=(0,))
        return structural.reshape(flat, shape=x.shape)
    axes = tuple(one_dim(d, x.ndim) for d in (dims if isinstance(dims, (list, tuple)) else (dims,)))
    if len(axes) != len(moves):
        raise AutogradError(f"shifts and dimensions must align. shifts: {len(moves)}, dims:{len(axes)}")
    return ops.roll(x, shift=moves, axis=axes)


def rot90(input: Any, k: int = 1, dims: Any = (0, 1)) -> Any:
    """Turned by k right angles from the first of two dimensions toward the second."""
    x = arrayed(input)
    first, second = (one_dim(d, x.ndim) for d in dims)
    turns = k % 4
    if turns == 0:
        return ops.copy(x)
    if turns == 2:
        return flip(x, first, second)
    return transpose(flip(x, second), first, second) if turns == 1 else flip(transpose(x, first, second), second)


# -------------------------------------------------------------------------------------------------------------- copies


def tile(input: Any, *dims: Any) -> Any:
    """Repeated along each dimension; missing counts are 1, in front."""
    x = arrayed(input)
    counts = as_sizes(dims)
    return ops.tile(x, reps=(*(1,) * (x.ndim - len(counts)), *counts))


def repeat(input: Any, *repeats: Any) -> Any:
    """Repeated along each dimension, with a count for every one (PyTorch's `repeat`, NumPy's `tile`)."""
    x = arrayed(input)
    counts = as_sizes(repeats)
    if len(counts) < x.ndim:
        raise AutogradError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"
        )
    return ops.tile(x, reps=counts)


def repeat_interleave(input: Any, repeats: Any = None, dim: Any = None, *, output_size: Any = None) -> Any:
    """Each entry of a dimension repeated in place; without a dimension, of the flattened tensor."""
    x = arrayed(input)
    counts = value_of(lift(repeats)) if repeats is not None else None
    if counts is None:
        given = value_of(x)
        return result(np.repeat(np.arange(len(given)), given), x)
    if dim is None:
        x, dim = ravel(x), 0
    axis = one_dim(dim, x.ndim)
    if np.ndim(counts) == 0 or np.size(counts) == 1:
        return ops.repeat(x, repeats=int(np.reshape(counts, ())), axis=axis)
    return tl.index_select(x, np.repeat(np.arange(x.shape[axis]), counts), axis=axis)
