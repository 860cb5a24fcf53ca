"""NumPy's functions that change the shape or the order of the axes."""

from __future__ import annotations

import operator
from math import prod
from typing import Any

import numpy as np

from srcdiff.errors import ShapeError
from srcdiff.functions.dispatch import METHODS, implements, operand, plain
from srcdiff.ops import shaping as ops
from srcdiff.ops import structural
from srcdiff.origin import where
from srcdiff.tape.site import user_place
from srcdiff.tape.value import TensorBase

Shape = tuple[int, ...]


def arrayed(x: Any) -> Any:
    """`x` as a Tensor or an array; numbers become 0-d arrays."""
    x = operand(x)
    return x if hasattr(x, "shape") else np.asarray(x)


def as_axis(axis: Any, ndim: int) -> int:
    """One axis as a non-negative int; raises np.exceptions.AxisError."""
    axis = int(operator.index(axis))
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return int(axis % ndim)


def as_axes(axis: Any, ndim: int, name: str = "axis") -> Shape:
    """An int or several as a tuple of non-negative ints, in the order given; ValueError for an axis named twice."""
    given = tuple(axis) if isinstance(axis, (tuple, list, np.ndarray)) else (axis,)
    axes = tuple(as_axis(a, ndim) for a in given)
    if len(set(axes)) != len(axes):
        raise ValueError(f"repeated axis in `{name}` argument")
    return axes


def as_shape(shape: Any) -> Shape:
    """An int or several as a tuple of ints."""
    if isinstance(shape, (tuple, list, np.ndarray)):
        return tuple(operator.index(n) for n in shape)
    return (operator.index(plain(shape)),)


# -------------------------------------------------------------------------------------------------------------- reshape


def _full_shape(size: int, shape: Shape) -> Shape:
    """The shape with its -1 filled in."""
    unknown = [k for k, n in enumerate(shape) if n < 0]
    if len(unknown) > 1:
        raise ValueError("can only specify one unknown dimension")
    if unknown:
        known = prod(n for n in shape if n >= 0)
        if not known or size % known:
            raise _cannot_reshape(size, shape)
        shape = tuple(size // known if n < 0 else n for n in shape)
    if prod(shape) != size:
        raise _cannot_reshape(size, shape)
    return shape


def _cannot_reshape(size: int, shape: Shape) -> ShapeError:
    return ShapeError(f"reshape: cannot reshape array of size {size} into shape {shape}, at {where(*user_place(2))}")


def _reversed(x: Any) -> Any:
    return structural.transpose(x, axes=tuple(range(x.ndim))[::-1])


def _order(a: Any, order: str) -> str:
    if order in ("C", "F"):
        return order
    if order != "A":
        raise ValueError(f"order must be one of 'C', 'F' or 'A' (got {order!r})")
    flags = np.asarray(plain(a)).flags
    return "F" if flags.f_contiguous and not flags.c_contiguous else "C"


@implements(np.reshape)
def reshape(a: Any, shape: Any, order: str = "C", *, copy: Any = None) -> Any:
    a = arrayed(a)
    full = _full_shape(prod(a.shape), as_shape(shape))
    if copy is False:
        np.reshape(plain(a), full, order, copy=False)  # type: ignore[call-overload]  # raises where it would copy
    if _order(a, order) == "F":
        made = _reversed(structural.reshape(_reversed(a), shape=full[::-1]))
    else:
        made = structural.reshape(a, shape=full)
    return ops.copy(made) if copy is True else made


@implements(np.ravel, method="ravel")
def ravel(a: Any, order: str = "C") -> Any:
    a = arrayed(a)
    if order == "K":
        strides = np.asarray(plain(a)).strides
        a = structural.transpose(a, axes=tuple(int(k) for k in np.argsort([-abs(s) for s in strides], kind="stable")))
        order = "C"
    return contiguous(reshape(a, prod(a.shape), order))


def contiguous(flat: Any) -> Any:
    """A 1-d value in contiguous memory: what `ravel` promises and `reshape` does not."""
    value = flat._value if isinstance(flat, TensorBase) else flat
    return ops.copy(flat) if isinstance(value, np.ndarray) and not value.flags.c_contiguous else flat


def _reshape_method(x: Any, *shape: Any, order: str = "C", copy: Any = None) -> Any:
    return reshape(x, shape[0] if len(shape) == 1 else shape, order, copy=copy)


def _flatten(x: Any, order: str = "C") -> Any:
    return ops.copy(ravel(x, order))


METHODS["reshape"] = _reshape_method
METHODS["flatten"] = _flatten

# ---------------------------------------------------------------------------------------------------- axes of length 1


@implements(np.squeeze, method="squeeze")
def squeeze(a: Any, axis: Any = None) -> Any:
    a = arrayed(a)
    if axis is None:
        axes = tuple(k for k, n in enumerate(a.shape) if n == 1)
    else:
        axes = tuple(sorted(as_axes(axis, a.ndim)))
        if any(a.shape[k] != 1 for k in axes):
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return ops.squeeze(a, axis=axes)


@implements(np.expand_dims)
def expand_dims(a: Any, axis: Any) -> Any:
    a = arrayed(a)
    count = len(axis) if isinstance(axis, (tuple, list)) else 1
    return ops.expand_dims(a, axis=tuple(sorted(as_axes(axis, a.ndim + count))))


def _at_least(a: Any, ndim: int) -> Any:
    a = arrayed(a)
    if a.ndim >= ndim:
        return a
    if ndim == 3 and a.ndim:
        return structural.reshape(a, shape=(1, *a.shape, 1) if a.ndim == 1 else (*a.shape, 1))
    return structural.reshape(a, shape=(1,) * (ndim - a.ndim) + tuple(a.shape))


def _each(arys: tuple[Any, ...], ndim: int) -> Any:
    made = tuple(_at_least(a, ndim) for a in arys)
    return made[0] if len(made) == 1 else made


@implements(np.atleast_1d)
def atleast_1d(*arys: Any) -> Any:
    return _each(arys, 1)


@implements(np.atleast_2d)
def atleast_2d(*arys: Any) -> Any:
    return _each(arys, 2)


@implements(np.atleast_3d)
def atleast_3d(*arys: Any) -> Any:
    return _each(arys, 3)


# ------------------------------------------------------------------------------------------------------- order of axes


@implements(np.transpose, np.permute_dims)
def transpose(a: Any, axes: Any = None) -> Any:
    a = arrayed(a)
    if axes is None:
        return _reversed(a)
    axes = as_axes(axes, a.ndim, "transpose")
    if len(axes) != a.ndim:
        raise ValueError("axes don't match array")
    return structural.transpose(a, axes=axes)


def _transpose_method(x: Any, *axes: Any) -> Any:
    if not axes or axes == (None,):
        return _reversed(x)
    return transpose(x, axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes)


METHODS["transpose"] = _transpose_method


@implements(np.matrix_transpose, np.linalg.matrix_transpose)
def matrix_transpose(x: Any) -> Any:
    x = arrayed(x)
    if x.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return structural.swap(x)


@implements(np.swapaxes, method="swapaxes")
def swapaxes(a: Any, axis1: Any, axis2: Any) -> Any:
    a = arrayed(a)
    axes = list(range(a.ndim))
    i, j = as_axis(axis1, a.ndim), as_axis(axis2, a.ndim)
    axes[i], axes[j] = axes[j], axes[i]
    return structural.transpose(a, axes=tuple(axes))


@implements(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    a = arrayed(a)
    start, end = as_axes(source, a.ndim, "source"), as_axes(destination, a.ndim, "destination")
    if len(start) != len(end):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    axes = [k for k in range(a.ndim) if k not in start]
    for place, axis in sorted(zip(end, start, strict=True)):
        axes.insert(place, axis)
    return structural.transpose(a, axes=tuple(axes))


@implements(np.rollaxis)
def rollaxis(a: Any, axis: Any, start: Any = 0) -> Any:
    a = arrayed(a)
    n = a.ndim
    axis = as_axis(axis, n)
    start = start + n if start < 0 else start
    if not 0 <= start < n + 1:
        raise np.exceptions.AxisError(f"'start' arg requires {-n} <= start < {n + 1}, but {start} was passed in")
    axes = [k for k in range(n) if k != axis]
    axes.insert(start - (axis < start), axis)
    return structural.transpose(a, axes=tuple(axes))


# --------------------------------------------------------------------------------------------------------- broadcasting


@implements(np.broadcast_to)
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    array, shape = arrayed(array), as_shape(shape)
    return array if array.shape == shape else structural.broadcast_to(array, shape=shape)


@implements(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    arrays = [arrayed(a) for a in args]
    shape = np.broadcast_shapes(*(tuple(a.shape) for a in arrays))
    return tuple(broadcast_to(a, shape) for a in arrays)


@implements(np.meshgrid)
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    arrays = [arrayed(x) for x in xi]
    n = len(arrays)
    places = [1, 0, *range(2, n)] if indexing == "xy" and n > 1 else list(range(n))
    out = [
        structural.reshape(x, shape=tuple(prod(x.shape) if k == place else 1 for k in range(n)))
        for x, place in zip(arrays, places, strict=True)
    ]
    made = tuple(out) if sparse or not out else broadcast_arrays(*out)
    return tuple(map(ops.copy, made)) if copy else made
