"""NumPy's functions that make an array like another one, and those that merely ask about an array.

What is made is a Tensor without a gradient, so that values with one can be written into it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.core.primitive import Operand
from srcdiff.functions.dispatch import implements, like, operand, plain
from srcdiff.functions.shaping import arrayed, as_shape, broadcast_to
from srcdiff.ops import shaping as ops
from srcdiff.ops.structural import cast
from srcdiff.tape.modes import modes
from srcdiff.tape.value import TensorBase


def seen(x: Any) -> Any:
    """The array behind a Tensor, to look at its shape, dtype and layout only."""
    return x._value if isinstance(x, TensorBase) else plain(x)


def _made(array: Any, source: Any) -> Any:
    """A new array whose contents do not depend on any value, as a Tensor if the source is one."""
    out = like(array, source)
    if modes.recorder is not None and isinstance(out, TensorBase):
        modes.recorder.made(out)
    return out


# --------------------------------------------------------------------------------------------------------- like another


@implements(np.zeros_like)
def zeros_like(
    a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Any:
    return _made(np.zeros_like(seen(a), dtype, order, subok, shape, device=device), a)


@implements(np.ones_like)
def ones_like(
    a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Any:
    return _made(np.ones_like(seen(a), dtype, order, subok, shape, device=device), a)


@implements(np.empty_like)
def empty_like(
    prototype: Any, /, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Any:
    return _made(np.empty_like(seen(prototype), dtype, order, subok, shape, device=device), prototype)


@implements(np.full_like)
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    fill: Any = operand(fill_value)
    if not isinstance(fill, Operand):
        return _made(np.full_like(seen(a), fill, dtype, order, subok, shape, device=device), a)
    target = np.dtype(dtype) if dtype is not None else seen(arrayed(a)).dtype
    size = tuple(arrayed(a).shape) if shape is None else as_shape(shape)
    fill = fill if np.dtype(seen(fill).dtype) == target else cast(fill, dtype=target)
    return ops.full(fill, shape=size) if not fill.shape else ops.copy(broadcast_to(fill, size))


@implements(np.copy)
def copy(a: Any, order: Any = "K", subok: bool = False) -> Any:
    return ops.copy(arrayed(a))


@implements(np.astype)
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    x, target = arrayed(x), np.dtype(dtype)
    if x.dtype == target:
        return ops.copy(x) if copy else x
    return cast(x, dtype=target)


# -------------------------------------------------------------------------------------------------- asking about arrays


@implements(np.shape)
def shape(a: Any) -> Any:
    return tuple(arrayed(a).shape)


@implements(np.ndim)
def ndim(a: Any) -> int:
    return len(arrayed(a).shape)


@implements(np.size)
def size(a: Any, axis: Any = None) -> Any:
    return np.size(seen(arrayed(a)), axis)


def _ask(function: Callable[..., Any], look: Callable[[Any], Any]) -> None:
    """Let a function that gives no array see the arrays behind Tensors."""

    def asked(*args: Any, **kwargs: Any) -> Any:
        return function(*map(look, args), **{key: look(value) for key, value in kwargs.items()})

    asked.__name__ = function.__name__
    asked.__doc__ = function.__doc__
    implements(function)(asked)


for _function in (
    np.may_share_memory, np.shares_memory, np.array_equal, np.array_equiv, np.allclose, np.array2string, np.array_repr,
    np.array_str, np.save, np.savez, np.savez_compressed, np.savetxt,
):  # fmt: skip
    _ask(_function, plain)
for _asked in (np.result_type, np.can_cast, np.min_scalar_type, np.common_type, np.iscomplexobj, np.isrealobj):
    _ask(_asked, seen)
