"""What the array API standard asks of functions and NumPy lacks, and NumPy's functions that make arrays of data."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.device import check_device
from srcdiff.dtypes import DType
from srcdiff.functions.assembly import differentiated, values
from srcdiff.functions.creation import full_like
from srcdiff.functions.dispatch import no_value
from srcdiff.interchange import DLPACK_KEYWORDS
from srcdiff.numpy.lift import array, lift, tensors
from srcdiff.tape.value import TensorBase

# ------------------------------------------------------------------------------------------------------ arrays of data


def asarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: bool | None = None, like: Any = None
) -> Any:
    """A Tensor of data, on the memory of an array or Tensor if nothing has to be converted, as `numpy.asarray`.

    ValueError if `copy` is False and a copy is needed.
    """
    return array(a, dtype, copy=copy, order="K" if order is None else order, device=device, like=like)


def asanyarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: bool | None = None, like: Any = None
) -> Any:
    """The same as `asarray`."""
    return asarray(a, dtype, order, device=device, copy=copy, like=like)


def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """A Tensor of data with at least one axis."""
    return array(a, dtype, copy=None, order="C", ndmin=1, like=like)


def asfortranarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """A Tensor of data with at least one axis; the order in memory is that of columns if it is made of plain data."""
    return array(a, dtype, copy=None, order="F", ndmin=1, like=like)


def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    """A Tensor of data. ValueError if an element is infinite or NaN."""
    np.asarray_chkfinite(values(a), dtype, order)
    return asarray(a, dtype, order)


def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", *, device: Any = None, like: Any = None
) -> Any:
    """A Tensor of the shape filled with a value, through which gradients flow if it is a Tensor."""
    check_device(device)
    pattern = np.full(values(shape), values(fill_value), dtype, order, like=like)
    return full_like(pattern, array(fill_value)) if differentiated(fill_value) else tensors(pattern)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """A Tensor on the memory of an array of another library (a copy of it if `copy` is True).

    GradientLostError, which is a BufferError, for a Tensor that requires a gradient.
    """
    check_device(device)
    if DLPACK_KEYWORDS:
        return tensors(np.from_dlpack(x, copy=copy))
    made = np.from_dlpack(x)
    return tensors(made.copy() if copy else made)


class _ArrayKind(type):
    """Decides what is an `ndarray`."""

    def __instancecheck__(cls, x: Any) -> bool:
        return isinstance(x, (TensorBase, np.ndarray))

    def __subclasscheck__(cls, kind: Any) -> bool:
        return issubclass(kind, (TensorBase, np.ndarray))


class ndarray(metaclass=_ArrayKind):  # noqa: N801
    """What Tensors and ndarrays are instances of here. Called, as `numpy.ndarray`, it makes a Tensor."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return tensors(np.ndarray(*args, **kwargs))


# -------------------------------------------------------------------------------------------------------------- sorting

_argsort, _sort = lift(np.argsort), lift(np.sort)
_flip, _take_along_axis = lift(np.flip), lift(np.take_along_axis)


def argsort(
    a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: bool | None = None,
    descending: bool = False,
) -> Any:  # fmt: skip
    """The positions that put the elements in order, as `numpy.argsort`; with `descending`, the largest first, where
    equal elements keep their order."""
    if not descending:
        return _argsort(a, axis, kind, order, stable=stable)
    x = _one_axis(a, axis)
    axis = -1 if axis is None else axis
    backwards = _argsort(_flip(x, axis), axis, order=order, stable=True)
    return x.shape[axis] - 1 - _flip(backwards, axis)


def sort(
    a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: bool | None = None,
    descending: bool = False,
) -> Any:  # fmt: skip
    """A sorted copy, as `numpy.sort`; with `descending`, the largest first."""
    if not descending:
        return _sort(a, axis, kind, order, stable=stable)
    x = _one_axis(a, axis)
    axis = -1 if axis is None else axis
    return _take_along_axis(x, argsort(x, axis, order=order, descending=True), axis)


def _one_axis(a: Any, axis: int | None) -> Any:
    """The array, flattened if no axis is given. AxisError without an axis."""
    x = asarray(a)
    if axis is None:
        return x.ravel()
    np.lib.array_utils.normalize_axis_index(axis, x.ndim)
    return x


# --------------------------------------------------------------------------------------------------------------- limits

_clip = lift(np.clip)


def clip(
    a: Any, min: Any = no_value, max: Any = no_value, out: Any = None, *, a_min: Any = no_value, a_max: Any = no_value,
    **keywords: Any,
) -> Any:  # fmt: skip
    """The nearest values between bounds, either of which may be None; they may be called `a_min` and `a_max` too."""
    if (min is not no_value and a_min is not no_value) or (max is not no_value and a_max is not no_value):
        raise ValueError("clip: a bound is given twice, as min or max and as a_min or a_max")
    low, high = min if a_min is no_value else a_min, max if a_max is no_value else a_max
    if out is not None:
        keywords["out"] = out
    return _clip(a, None if low is no_value else low, None if high is no_value else high, **keywords)


class finfo:  # noqa: N801
    """Limits of a floating-point dtype, or of an array's: what `numpy.finfo` has, with Python's floats for numbers."""

    def __init__(self, dtype: Any) -> None:
        self._info = np.finfo(_dtype(dtype))

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._info, name)
        return float(found) if isinstance(found, (np.float16, np.float32)) else found

    def __repr__(self) -> str:
        return repr(self._info)


def iinfo(int_type: Any) -> Any:
    """Limits of an integer dtype, or of an array's."""
    return np.iinfo(_dtype(int_type))


def _dtype(x: Any) -> Any:
    """The dtype of an array; anything else as it is."""
    return x.dtype if isinstance(x, (TensorBase, np.ndarray, np.generic, DType)) else x
