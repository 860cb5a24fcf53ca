"""Arrays made of nested lists with Tensors inside: what `np.array([a, b])` and `np.sum([a, b])` mean for them.

NumPy looks for Tensors among the arguments of a function, not inside lists, and makes arrays of those. Here shape and
dtype are what NumPy finds for the values, and the Tensors are stacked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.aval import SCALARS
from srcdiff.core.primitive import REGISTRY
from srcdiff.ops import shaping
from srcdiff.ops.structural import cast, real_part
from srcdiff.tape.modes import modes
from srcdiff.tape.record import plain
from srcdiff.tape.value import TensorBase

#: a list of these alone, as long ones are, needs no closer look
_NUMBERS = frozenset(SCALARS)


def has_tensor(x: Any) -> bool:
    """Whether x is a Tensor, or a nested list or tuple with one."""
    if isinstance(x, TensorBase):
        return True
    return (type(x) is list or type(x) is tuple) and not _NUMBERS.issuperset(map(type, x)) and any(map(has_tensor, x))


def differentiated(x: Any) -> bool:
    """Whether x is a Tensor with a gradient, or a nested list or tuple with one. To a recorder all that changes from
    call to call matters as much.
    """
    if isinstance(x, TensorBase):
        return x._edge is not None or modes.recorder is not None
    return (
        (type(x) is list or type(x) is tuple) and not _NUMBERS.issuperset(map(type, x)) and any(map(differentiated, x))
    )


def values(x: Any) -> Any:
    """Arrays and numbers in place of Tensors, in nested lists too."""
    if isinstance(x, TensorBase):
        return x._value
    return [values(part) for part in x] if type(x) is list or type(x) is tuple else x


def assembled(x: Any, pattern: np.ndarray[Any, Any], copy: bool | None, traced: bool) -> Any:
    """A Tensor, or a nested list with Tensors inside, as the Tensor that has the values, shape and dtype of `pattern`.

    It is the given Tensor if that has the dtype and no copy is asked for. ValueError if `copy` is False and one is
    needed.
    """
    if isinstance(x, TensorBase) and x._value.dtype == pattern.dtype:
        made = shaping.copy(x) if copy else as_array(x)
    elif copy is False:
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    elif not differentiated(x):
        return plain(pattern, traced)
    else:
        made = built(x, pattern.dtype)
    return made if made._value.shape == pattern.shape else REGISTRY["reshape"](made, shape=pattern.shape)


def as_array(x: Any) -> Any:
    """A traced NumPy scalar as a 0-d array, as `np.asarray` makes it; any other Tensor as it is."""
    return shaping.copy(x) if x._traced and not isinstance(x._value, np.ndarray) else x


def built(x: Any, dtype: np.dtype[Any]) -> Any:
    """Nested lists of Tensors, arrays and numbers as one Tensor, or an array where no Tensor is inside."""
    if isinstance(x, TensorBase):
        if x._value.dtype.kind == "c" and dtype.kind != "c":
            x = real_part(x)
        return x if x._value.dtype == dtype else cast(x, dtype=dtype)
    if has_tensor(x):
        return REGISTRY["stack"](*(built(part, dtype) for part in x), axis=0)
    return np.asarray(x, dtype)


# ----------------------------------------------------------------------------------------------- arguments of functions

#: functions of a list of arrays, for which only lists inside it are arrays
_OF_SEQUENCES = frozenset(
    {np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack, np.select, np.choose}
    | {np.linalg.multi_dot, np.histogramdd}
)
_UNTOUCHED = frozenset({np.block, np.ix_, np.lexsort})


def list_converter(function: Any, array: Callable[[Any], Any]) -> Callable[[Any], Any] | None:
    """What makes an argument of a NumPy function that is a list with differentiated values inside what the function
    takes: `array` of it, or of the lists in it. None for functions that take lists as they are."""
    if function in _UNTOUCHED:
        return None

    def whole(x: Any) -> Any:
        return array(x) if (type(x) is list or type(x) is tuple) and differentiated(x) else x

    def inside(x: Any) -> Any:
        return [whole(part) for part in x] if type(x) is list or type(x) is tuple else x

    return inside if function in _OF_SEQUENCES else whole
