"""What may be written, with PyTorch's messages: `guard` before anything happens, `check_fits` when the value is known.

Guarantee: both raise before memory, versions or the graph have changed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.dtypes import default_dtype
from srcdiff.errors import AutogradError, DTypeError, GradientLostError, ShapeError
from srcdiff.inplace.memory import address, owner, part
from srcdiff.origin import where
from srcdiff.tape.modes import modes
from srcdiff.tape.record import forbidden_view
from srcdiff.tape.site import user_place
from srcdiff.tape.storage import is_exported
from srcdiff.tape.value import TensorBase

_LEAF = "a leaf Variable that requires grad is being used in an in-place operation."
_INFERENCE = (
    "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal "
    "tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details."
)
_OVERLAP = (
    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please "
    "clone() the tensor before performing the operation."
)

_NAMES = {
    "float16": "Half", "float32": "Float", "float64": "Double", "complex64": "ComplexFloat",
    "complex128": "ComplexDouble", "int8": "Char", "int16": "Short", "int32": "Int", "int64": "Long", "uint8": "Byte",
    "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64", "bool": "Bool",
}  # fmt: skip


class WriteShapeError(ShapeError, AutogradError):
    """A value that does not fit where it is to be written: a ValueError as in NumPy, a RuntimeError as in PyTorch."""


class WriteDTypeError(DTypeError, AutogradError):
    """A value whose dtype cannot be written: a TypeError as in NumPy, a RuntimeError as in PyTorch."""


def guard(target: TensorBase, *operands: Any, through_view: bool = False) -> bool:
    """Whether a write of what is made of `operands` into `target` must be recorded. Raises if it is forbidden.

    `through_view` says that PyTorch would write to a view made for it, as `x[0] = v` does, and calls it so.
    """
    if target._inference and not modes.inference:
        raise AutogradError(_INFERENCE)
    array = target._value
    if isinstance(array, np.ndarray) and (not array.flags.writeable or 0 in array.strides):
        _check_memory(target, array)
    if modes.recorder is not None and not modes.unwatched():
        return True  # nothing to differentiate, but a recorder must see it
    if not modes.recording:
        return False
    view = target._view
    root = target if view is None else view.base
    if view is not None and not view.steps and target._edge is not None:
        raise AutogradError(forbidden_view(view, "is being"))
    arriving = any(isinstance(o, TensorBase) and o._edge is not None for o in operands)
    if not arriving and root._edge is None and not target._requires:
        return modes.recorder is not None  # nothing to differentiate, but a recorder must see it
    if root._traced:
        if arriving and is_exported(root):
            raise GradientLostError(
                f"a value that requires a gradient is written into memory that a plain array shares, at "
                f"{where(*user_place(2))}: the array, made earlier by converting the written-to array, cannot hold a "
                "gradient; convert a copy of it"
            )
        return True
    if view is not None:
        if view.no_grad or view.multi:
            raise AutogradError(forbidden_view(view, "is being"))
        if root._requires:
            raise AutogradError("a view of " + _LEAF)
    if target._requires:
        raise AutogradError("a view of " + _LEAF if through_view else _LEAF)
    return True


def _check_memory(target: TensorBase, array: np.ndarray[Any, Any]) -> None:
    if array.size and any(step == 0 and length > 1 for step, length in zip(array.strides, array.shape, strict=True)):
        if not target._traced:
            raise WriteShapeError(_OVERLAP)
        raise ShapeError(
            f"assignment destination is read-only, at {where(*user_place(2))}: it was broadcast; copy it first"
        )
    if array.flags.writeable:
        return
    # np.diagonal, np.broadcast_to and sliding_window_view give read-only views of what PyTorch's views may write
    view = target._view
    memory = None if target._traced or view is None else owner(view.base._value)
    if memory is None and modes.recorder is not None:
        modes.recorder.fail("it writes into an argument, which the caller sees")
    if memory is None or not memory.flags.writeable:
        raise ShapeError(f"assignment destination is read-only, at {where(*user_place(2))}")
    target._value = part(memory, array, address(array) - address(memory))


def check_fits(target: TensorBase, value: Any, *operands: Any) -> None:
    """Raise PyTorch's errors if the result `value` of an operation cannot be written over all of `target`.

    `operands` are what it was computed from: they decide which dtype PyTorch names.
    """
    array = target._value
    if value.shape != array.shape:
        try:
            fits = np.broadcast_shapes(value.shape, array.shape) == array.shape
        except ValueError:
            fits = False
        if not fits:
            raise WriteShapeError(
                f"output with shape {list(array.shape)} doesn't match the broadcast shape {list(value.shape)}"
            )
    if value.dtype != array.dtype and not can_cast(value.dtype, array.dtype):
        weak = value.dtype.kind == "f" and all(getattr(o, "dtype", array.dtype).kind in "biu" for o in operands)
        made = default_dtype() if weak else value.dtype
        raise WriteDTypeError(
            f"result type {_NAMES.get(made.name, made.name)} can't be cast to the desired output type "
            f"{_NAMES.get(array.dtype.name, array.dtype.name)}"
        )


def can_cast(made: np.dtype[Any], into: np.dtype[Any]) -> bool:
    """Whether an operation may write results of one dtype into another: never complex ones into real numbers, floats
    into integers, numbers into truth values."""
    rank = "biufc"
    here, there = rank.index(made.kind), rank.index(into.kind)
    return here <= there or (here in (1, 2) and there in (1, 2))


def check_selected(value: Any, selected: tuple[int, ...], basic: bool) -> None:
    """Raise if a value does not fit a selection of that shape; leading axes of length 1 may go, as in NumPy."""
    shape = getattr(value, "shape", ())
    if shape == selected or not shape:
        return
    while len(shape) > len(selected) and shape[0] == 1:
        shape = shape[1:]
    try:
        if np.broadcast_shapes(shape, selected) == selected:
            return
    except ValueError:
        pass
    if not basic:
        raise WriteShapeError(
            f"shape mismatch: value tensor of shape {list(shape)} cannot be broadcast to indexing result of shape "
            f"{list(selected)}"
        )
    if len(shape) > len(selected):
        raise WriteShapeError(
            f"expand(shape {list(shape)}, size={list(selected)}): the number of sizes provided ({len(selected)}) must "
            f"be greater or equal to the number of dimensions in the tensor ({len(shape)})"
        )
    offset = len(selected) - len(shape)
    axis = max(k for k, n in enumerate(shape) if n not in (1, selected[k + offset]))
    raise WriteShapeError(
        f"The expanded size of the tensor ({selected[axis + offset]}) must match the existing size ({shape[axis]}) at "
        f"non-singleton dimension {axis + offset}.  Target sizes: {list(selected)}.  Tensor sizes: {list(shape)}"
    )


def refuse_plain(name: str, *values: Any) -> None:
    """Raise if a value with a gradient is about to be written into a plain array."""
    if modes.recording and any(isinstance(v, TensorBase) and v._edge is not None for v in values):
        raise GradientLostError(
            f"{name}: the written-to array is a plain ndarray, which cannot hold a gradient, at "
            f"{where(*user_place(3))}; make it with np.zeros_like or np.empty_like of a traced value, or as a Tensor"
        )
