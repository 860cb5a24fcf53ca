"""Joining and splitting."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from srcdiff.errors import AutogradError, DTypeError, OutOfBoundsError, ShapeError
from srcdiff.ops import shaping as ops
from srcdiff.ops import torchlike as tl
from srcdiff.ops.structural import broadcast_to, reshape
from srcdiff.tape.value import TensorBase
from srcdiff.torchlike.shaping import atleast_1d, atleast_2d, atleast_3d, ravel
from srcdiff.torchlike.support import arrayed, numpy_keywords, one_dim, value_of

# ------------------------------------------------------------------------------------------------------------- joining


@numpy_keywords
def cat(tensors: Any, dim: int = 0) -> Any:
    """The tensors one after the other along a dimension; empty vectors count for nothing."""
    if isinstance(tensors, TensorBase) or not isinstance(tensors, (list, tuple)):
        if not hasattr(tensors, "__iter__"):
            raise DTypeError(f"cat(): argument 'tensors' must be tuple of Tensors, not {type(tensors).__name__}")
        tensors = list(tensors)
    xs = [arrayed(x) for x in tensors]
    if not xs:
        raise ShapeError("torch.cat(): expected a non-empty list of Tensors")
    ranks = {x.ndim for x in xs}
    if 0 in ranks:
        k = next(k for k, x in enumerate(xs) if not x.ndim)
        raise AutogradError(f"zero-dimensional tensor (at position {k}) cannot be concatenated")
    if len(ranks) > 1:
        xs = [x for x in xs if x.shape != (0,)]
    axis = one_dim(dim, xs[0].ndim)
    for k, x in enumerate(xs[1:], 1):
        if x.ndim != xs[0].ndim:
            raise AutogradError(f"Tensors must have same number of dimensions: got {xs[0].ndim} and {x.ndim}")
        for j, (n, m) in enumerate(zip(xs[0].shape, x.shape, strict=True)):
            if j != axis and n != m:
                raise AutogradError(
                    f"Sizes of tensors must match except in dimension {axis}. Expected size {n} but got size {m} for "
                    f"tensor number {k} in the list."
                )
    return ops.concatenate(*xs, axis=axis)


@numpy_keywords
def stack(tensors: Any, dim: int = 0) -> Any:
    """The tensors, all of one shape, along a new dimension."""
    xs = [arrayed(x) for x in tensors]
    if not xs:
        raise AutogradError("stack expects a non-empty TensorList")
    for k, x in enumerate(xs):
        if x.shape != xs[0].shape:
            raise AutogradError(
                f"stack expects each tensor to be equal size, but got {list(xs[0].shape)} at entry 0 and "
                f"{list(x.shape)} at "
                f"entry {k}"
            )
    return ops.stack(*xs, axis=one_dim(dim, xs[0].ndim + 1))


def hstack(tensors: Any) -> Any:
    """Side by side: along the second dimension, of vectors along the first."""
    xs = [atleast_1d(x) for x in tensors]
    return cat(xs, 0 if xs and xs[0].ndim == 1 else 1)


def vstack(tensors: Any) -> Any:
    """One below the other: along the first dimension, vectors being rows."""
    return cat([atleast_2d(x) for x in tensors], 0)


def dstack(tensors: Any) -> Any:
    """One behind the other: along the third dimension."""
    return cat([atleast_3d(x) for x in tensors], 2)


def column_stack(tensors: Any) -> Any:
    """Side by side, vectors being columns."""
    xs = [atleast_1d(x) for x in tensors]
    return cat([reshape(x, shape=(x.shape[0], 1)) if x.ndim == 1 else x for x in xs], 1)


def block_diag(*tensors: Any) -> Any:
    """The matrices along the diagonal of one, zeros elsewhere; vectors are rows."""
    xs = [atleast_2d(x) for x in tensors]
    width = sum(x.shape[1] for x in xs)
    rows, before = [], 0
    for x in xs:
        rows.append(ops.pad(x, pad_width=((0, 0), (before, width - before - x.shape[1]))))
        before += x.shape[1]
    return ops.concatenate(*rows, axis=0)


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Any, ...]:
    """Each vector spread over the grid of all; `indexing` is "ij" (the default) or "xy"."""
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    xs = [ravel(x) for x in given]
    if indexing not in (None, "ij", "xy"):
        raise AutogradError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    places = list(range(len(xs)))
    if indexing == "xy" and len(xs) > 1:
        places[:2] = 1, 0
    shape = [0] * len(xs)
    for x, place in zip(xs, places, strict=True):
        shape[place] = x.shape[0]
    return tuple(
        broadcast_to(reshape(x, shape=_at(place, x.shape[0], len(xs))), shape=tuple(shape))
        for x, place in zip(xs, places, strict=True)
    )


def _at(place: int, n: int, ndim: int) -> tuple[int, ...]:
    return tuple(n if k == place else 1 for k in range(ndim))


def cartesian_prod(*tensors: Any) -> Any:
    """All combinations of one element of each vector, a row for each."""
    if len(tensors) == 1:
        return arrayed(tensors[0])
    return stack([ravel(grid) for grid in meshgrid(*tensors)], 1)


def combinations(input: Any, r: int = 2, with_replacement: bool = False) -> Any:
    """All choices of r elements of a vector, a row for each."""
    x = arrayed(input)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = np.array(list(choose(range(x.shape[0]), r)), np.int64).reshape(-1, r)
    return reshape(tl.index_select(x, rows.ravel(), axis=0), shape=rows.shape)


# ----------------------------------------------------------------------------------------------------------- splitting


def _cut(x: Any, cuts: tuple[int, ...], axis: int) -> tuple[Any, ...]:
    return tuple(ops.split(x, sections=cuts, axis=axis))


@numpy_keywords
def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """Parts of a length along a dimension (the last may be shorter), or parts of the given lengths. Views."""
    x = arrayed(tensor)
    if not x.ndim:
        raise AutogradError("split expects at least a 1-dimensional tensor")
    axis = one_dim(dim, x.ndim)
    n = x.shape[axis]
    if isinstance(split_size_or_sections, (list, tuple)):
        lengths = tuple(map(int, split_size_or_sections))
        if sum(lengths) != n or any(m < 0 for m in lengths):
            raise AutogradError(
                f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at "
                f"dimension {axis}), "
                f"but got split_sizes={list(lengths)}"
            )
        return _cut(x, tuple(itertools.accumulate(lengths))[:-1], axis)
    size = int(split_size_or_sections)
    if size < 0 or (size == 0 and n):
        raise AutogradError(f"split expects split_size be non-negative, but got split_size={size}")
    return _cut(x, tuple(range(size, n, size)) if size else (), axis)


@numpy_keywords
def chunk(input: Any, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    """At most `chunks` parts of equal length, but the last, along a dimension. Views."""
    x = arrayed(input)
    if chunks < 1:
        raise AutogradError("chunk expects `chunks` to be greater than 0, got: " + str(chunks))
    if not x.ndim:
        raise AutogradError("chunk expects at least a 1-dimensional tensor")
    return split(x, max(-(-x.shape[one_dim(dim, x.ndim)] // chunks), 1), dim)


@numpy_keywords
def tensor_split(input: Any, indices_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """That many parts of nearly equal length, or cut at the given positions. Views."""
    x = arrayed(input)
    axis = one_dim(dim, x.ndim)
    given = value_of(indices_or_sections)
    if np.ndim(given):
        return _cut(x, tuple(map(int, given)), axis)
    if given <= 0:
        raise AutogradError(f"number of sections must be larger than 0, got {given}")
    size, longer = divmod(x.shape[axis], int(given))
    return _cut(x, tuple(size * k + min(k, longer) for k in range(1, int(given))), axis)


def hsplit(input: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """`tensor_split` along the second dimension, of vectors along the first."""
    x = arrayed(input)
    return _even_split(x, indices_or_sections, 0 if x.ndim == 1 else 1)


def vsplit(input: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """`tensor_split` along the first dimension."""
    return _even_split(arrayed(input), indices_or_sections, 0)


def dsplit(input: Any, indices_or_sections: Any) -> tuple[Any, ...]:
    """`tensor_split` along the third dimension."""
    return _even_split(arrayed(input), indices_or_sections, 2)


def _even_split(x: Any, sections: Any, dim: int) -> tuple[Any, ...]:
    if isinstance(sections, int) and x.shape[dim] % sections:
        raise AutogradError(
            f"attempting to split along dimension {dim}, but the size of the dimension {x.shape[dim]} "
            "is not divisible by "
            f"the split_size {sections}!"
        )
    return tensor_split(x, sections, dim)


@numpy_keywords
def unbind(input: Any, dim: int = 0) -> tuple[Any, ...]:
    """The entries of a dimension, as views."""
    x = arrayed(input)
    if not x.ndim:
        raise OutOfBoundsError("Dimension specified as 0 but tensor has no dimensions")
    return tuple(ops.unbind(x, axis=one_dim(dim, x.ndim)))
