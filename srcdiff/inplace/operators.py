"""`x[...] = v` and the augmented operators.

On values under differentiation they mean what they mean for NumPy: an array is written, a scalar is replaced.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.core.primitive import REGISTRY
from srcdiff.functions.dispatch import operand
from srcdiff.functions.indexing import index_of
from srcdiff.inplace.rules import guard
from srcdiff.inplace.write import copy_into, store, update
from srcdiff.ops import catalogue  # noqa: F401
from srcdiff.tape.modes import modes
from srcdiff.tape.record import acceptable
from srcdiff.tape.storage import storage_of
from srcdiff.tape.value import TensorBase


def augmented(name: str, ufunc: Any, eager: bool = True) -> Callable[[Any, Any], Any]:
    """The augmented operator of a primitive; without `eager`, tensors outside `sd.grad` get a new value, as in PyTorch."""
    prim = REGISTRY[name]

    def apply(self: Any, other: Any) -> Any:
        value = self._value
        if not (isinstance(value, np.ndarray) if self._traced else eager):
            return NotImplemented  # Python falls back on `x = x + y`
        other = acceptable(other) if not isinstance(other, TensorBase) else other
        if other is NotImplemented:
            return NotImplemented
        if not modes.recording and _direct(self, ufunc, other):
            return self
        return update(self, prim, other)

    apply.__name__ = apply.__qualname__ = f"__i{name}__"
    return apply


def _direct(target: TensorBase, ufunc: Any, other: Any) -> bool:
    """Write without a temporary, if nothing is recorded and no dtype or shape stands in the way."""
    array = target._value
    other = other._value if isinstance(other, TensorBase) else other
    if not isinstance(array, np.ndarray) or array.dtype.kind != "f":
        return False
    if type(other) not in (int, float) and (other.dtype != array.dtype or other.shape not in (array.shape, ())):
        return False
    guard(target)
    storage_of(target).before_write(snapshot=target._traced or modes.mutation_allowed)
    ufunc(array, other, out=array)
    return True


class WritingOperators(TensorBase):
    """Operators that write."""

    __iadd__ = augmented("add", np.add)
    __isub__ = augmented("sub", np.subtract)
    __imul__ = augmented("mul", np.multiply)
    __itruediv__ = augmented("div", np.true_divide)
    __ifloordiv__ = augmented("floor_divide", np.floor_divide)
    __imod__ = augmented("remainder", np.remainder)
    __ipow__ = augmented("pow", np.power)
    __imatmul__ = augmented("matmul", np.matmul, eager=False)
    __iand__ = augmented("bitwise_and", np.bitwise_and)
    __ior__ = augmented("bitwise_or", np.bitwise_or)
    __ixor__ = augmented("bitwise_xor", np.bitwise_xor)
    __ilshift__ = augmented("left_shift", np.left_shift)
    __irshift__ = augmented("right_shift", np.right_shift)

    def __setitem__(self, index: Any, value: Any) -> None:
        """Write selected elements, as NumPy does; the gradient of what was overwritten is zero."""
        if self._traced and not isinstance(self._value, np.ndarray):
            raise TypeError(f"'numpy.{self._value.dtype.name}' object does not support item assignment")
        if not isinstance(value, TensorBase):
            value = operand(value)
        static, dynamic = index_of(self, index)
        if static.selects_all(self._value.shape):
            copy_into(self, value)
        else:
            store(self, static, dynamic, value)

    def __delitem__(self, index: Any) -> None:
        raise TypeError("elements of a Tensor cannot be deleted")


__all__ = ["WritingOperators", "augmented"]
