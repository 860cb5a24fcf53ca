"""Changing the shape, the order of dimensions, or the order of elements. The views PyTorch gives are views here."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from srcdiff.errors import AutogradError, ShapeError
from srcdiff.functions.shaping import contiguous
from srcdiff.ops import shaping as ops
from srcdiff.ops import structural
from srcdiff.ops import torchlike as tl
from srcdiff.size import Size
from srcdiff.tape.value import TensorBase
from srcdiff.torchlike.support import (
    arrayed,
    as_sizes,
    many_dims,
    numpy_keywords,
    one_dim,
)

# ----------------------------------------------------------------------------------------------------------- reshaping


class ReshapeError(ShapeError, AutogradError):
    """A shape with another number of elements, or in which a length cannot be worked out."""


def resolved(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """A shape with its -1 replaced. ReshapeError where it does not fit."""
    if -1 in shape:
        rest = math.prod(n for n in shape if n != -1)
        if shape.count(-1) > 1:
            raise ReshapeError("only one dimension can be inferred")
        if rest == 0 and size == 0:
            raise ReshapeError(
                f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified "
                "dimension size -1 "
                "can be any value and is ambiguous"
            )
        if rest and size % rest == 0:
            return tuple(size // rest if n == -1 else n for n in shape)
    elif math.prod(shape) == size and all(n >= 0 for n in shape):
        return shape
    if any(n < -1 for n in shape):
        raise ReshapeError(f"invalid shape dimension {min(shape)}")
    raise ReshapeError(f"shape '{list(shape)}' is invalid for input of size {size}")


def reshape(input: Any, *shape: Any) -> Any:
    """The elements in another shape: a view if the memory allows it, else a copy."""
    x = arrayed(input)
    return structural.reshape(x, shape=resolved(as_sizes(shape), math.prod(x.shape)))


def view(input: Any, *shape: Any) -> Any:
    """The same memory in another shape. AutogradError where only a copy could have it."""
    x = arrayed(input)
    target = resolved(as_sizes(shape), math.prod(x.shape))
    array = np.asarray(x._value if isinstance(x, TensorBase) else x)  # its layout alone matters
    if not array.flags.c_contiguous and array.size and not np.may_share_memory(array.reshape(target), array):
        raise AutogradError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return structural.reshape(x, shape=target)


@numpy_keywords
def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Dimensions start_dim to end_dim as one."""
    x = arrayed(input)
    first, last = one_dim(start_dim, x.ndim), one_dim(end_dim, x.ndim)
    if first > last:
        raise AutogradError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not x.ndim:
        return structural.reshape(x, shape=(1,))
    if first == last:
        return x
    middle = math.prod(x.shape[first : last + 1])
    return structural.reshape(x, shape=(*x.shape[:first], middle, *x.shape[last + 1 :]))


def unflatten(input: Any, dim: int, sizes: Any) -> Any:
    """One dimension as several."""
    x = arrayed(input)
    axis = one_dim(dim, x.ndim)
    inner = resolved(as_sizes((sizes,)), x.shape[axis])
    return structural.reshape(x, shape=(*x.shape[:axis], *inner, *x.shape[axis + 1 :]))


def ravel(input: Any) -> Any:
    """All elements in one dimension."""
    x = arrayed(input)
    return contiguous(x if x.ndim == 1 else structural.reshape(x, shape=(math.prod(x.shape),)))


# ---------------------------------------------------------------------------------------------- dimensions of length 1


@numpy_keywords
def squeeze(input: Any, dim: Any = None) -> Any:
    """Without the dimensions of length 1, or those of the given ones that have length 1."""
    x = arrayed(input)
    axes = many_dims(dim, x.ndim) if dim is not None else tuple(range(x.ndim))
    return ops.squeeze(x, axis=tuple(k for k in (axes or ()) if x.shape[k] == 1))


@numpy_keywords
def unsqueeze(input: Any, dim: int) -> Any:
    """With a dimension of length 1 put in at `dim`."""
    x = arrayed(input)
    return ops.expand_dims(x, axis=(one_dim(dim, x.ndim + 1),))


def atleast_1d(*tensors: Any) -> Any:
    """With at least one dimension."""
    return _each(tensors, lambda x: x if x.ndim else structural.reshape(x, shape=(1,)))


def atleast_2d(*tensors: Any) -> Any:
    """With at least two dimensions; new ones come first."""
    return _each(tensors, lambda x: x if x.ndim >= 2 else structural.reshape(x, shape=(*(1,) * (2 - x.ndim), *x.shape)))


def atleast_3d(*tensors: Any) -> Any:
    """With at least three dimensions: a vector becomes (1, n, 1), a matrix (m, n, 1)."""

    def widened(x: Any) -> Any:
        if x.ndim >= 3:
            return x
        return structural.reshape(x, shape=((1, 1, 1), (1, *x.shape, 1), (*x.shape, 1))[x.ndim])

    return _each(tensors, widened)


def _each(tensors: tuple[Any, ...], function: Any) -> Any:
    if len(tensors) == 1 and not isinstance(tensors[0], (list, tuple)):
        return function(arrayed(tensors[0]))
    given = tensors[0] if len(tensors) == 1 else tensors
    return tuple(function(arrayed(x)) for x in given)


# --------------------------------------------------------------------------------------------------- dimensions' order


def permute(input: Any, *dims: Any) -> Any:
    """Dimensions in another order."""
    x = arrayed(input)
    axes = tuple(one_dim(d, x.ndim) for d in as_sizes(dims))
    if len(axes) != x.ndim:
        raise AutogradError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {x.ndim} is not equal to len(dims) = {len(axes)}"
        )
    if len(set(axes)) != len(axes):
        raise AutogradError("permute(): duplicate dims are not allowed.")
    return structural.transpose(x, axes=axes)


def transpose(input: Any, dim0: int, dim1: int) -> Any:
    """Two dimensions exchanged."""
    x = arrayed(input)
    first, second = one_dim(dim0, x.ndim), one_dim(dim1, x.ndim)
    return tl.swap_axes(x, axis1=first, axis2=second) if x.ndim else structural.reshape(x, shape=())


def t(input: Any) -> Any:
    """The transpose of a matrix; vectors and scalars are returned as they are."""
    x = arrayed(input)
    if x.ndim > 2:
        raise AutogradError(f"t() expects a tensor with <= 2 dimensions, but self is {x.ndim}D")
    return tl.matrix_t(x)


def adjoint(input: Any) -> Any:
    """The conjugate transpose of matrices."""
    from_x = transpose(input, -2, -1)
    return from_x.conj() if from_x.dtype.kind == "c" else from_x


def movedim(input: Any, source: Any, destination: Any) -> Any:
    """Dimensions moved to other places, the rest in order."""
    x = arrayed(input)
    src, dst = (
        [one_dim(d, x.ndim) for d in (given if isinstance(given, (list, tuple)) else (given,))]
        for given in (source, destination)
    )
    if len(src) != len(dst) or len(set(src)) != len(src) or len(set(dst)) != len(dst):
        raise AutogradError(f"movedim: Invalid source or destination dims: {source} and {destination}")
    order = [k for k in range(x.ndim) if k not in src]
    for to, of in sorted(zip(dst, src, strict=True)):
        order.insert(to, of)
    return structural.transpose(x, axes=tuple(order))


# ----------------------------------------------------------------------------------------------------------- expanding


def expand(input: Any, *sizes: Any) -> Any:
    """Dimensions of length 1 made longer without copying; -1 leaves a length as it is."""
    x = arrayed(input)
    shape = as_sizes(sizes)
    extra = len(shape) - x.ndim
    if extra < 0:
        raise AutogradError(
            f"expand({type(input).__name__}{{{list(x.shape)}}}, size={list(shape)}): the number of sizes provided "
            f"({len(shape)}) must be greater or equal to the number of dimensions in the tensor ({x.ndim})"
        )
    target = []
    for k, n in enumerate(shape):
        have = x.shape[k - extra] if k >= extra else 1
        if n == -1 and k < extra:
            raise AutogradError(
                f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {k}"
            )
        if n not in (-1, have) and have != 1:
            raise AutogradError(
                f"The expanded size of the tensor ({n}) must match the existing size ({have}) at "
                "non-singleton dimension "
                f"{k}.  Target sizes: {list(shape)}.  Tensor sizes: {list(x.shape)}"
            )
        target.append(have if n == -1 else n)
    return structural.broadcast_to(x, shape=tuple(target))


def broadcast_to(input: Any, size: Any) -> Any:
    """Expanded to a shape."""
    return expand(input, size)


def broadcast_tensors(*tensors: Any) -> tuple[Any, ...]:
    """All expanded to the shape they broadcast to."""
    xs = [arrayed(x) for x in tensors]
    shape = broadcast_shapes(*(x.shape for x in xs))
    return tuple(structural.broadcast_to(x, shape=tuple(shape)) for x in xs)


def broadcast_shapes(*shapes: Any) -> Any:
    """The shape that shapes broadcast to."""
    try:
        return Size(np.broadcast_shapes(*((s,) if isinstance(s, int) else tuple(s) for s in shapes)))
    except ValueError as error:
        raise ShapeError(f"Shape mismatch: objects cannot be broadcast to a single shape: {error}") from None
