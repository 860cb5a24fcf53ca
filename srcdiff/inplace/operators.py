"""`x[...] = v` and the augmented operators.

On values under differentiation they mean what they mean for NumPy: an array is written, a scalar is replaced.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.core.primitive import REGISTRY
from srcdiff.functions.dispatch import operand
from srcdiff.functions.indexing import index_of
from srcdiff.inplace.write import copy_into, direct, is_there, store, update2
from srcdiff.ops import catalogue  # noqa: F401
from srcdiff.subscript import static_index, static_key
from srcdiff.tape.modes import modes
from srcdiff.tape.record import acceptable
from srcdiff.tape.site import find_place, in_library, tables
from srcdiff.tape.storage import storage_of
from srcdiff.tape.value import TensorBase

_getframe = sys._getframe
_setitem = REGISTRY["index_set"]


def augmented(
    name: str, ufunc: Any, evaluate: Callable[[Any, Any], Any], eager: bool = True
) -> Callable[[Any, Any], Any]:
    """The augmented operator of a primitive. Without `eager` it makes a new value outside `sd.grad`, as in PyTorch."""
    prim = REGISTRY[name]

    def apply(self: Any, other: Any) -> Any:
        value = self._value
        if not (isinstance(value, np.ndarray) if self._traced else eager):
            return NotImplemented  # Python falls back on `x = x + y`
        other = acceptable(other) if not isinstance(other, TensorBase) else other
        if other is NotImplemented:
            return NotImplemented
        if not modes.recording and direct(self, ufunc, other):
            return self
        return update2(self, prim, evaluate, other, _getframe(1))

    apply.__name__ = apply.__qualname__ = f"__i{name}__"
    return apply


class WritingOperators(TensorBase):
    """Operators that write."""

    __iadd__ = augmented("add", np.add, operator.add)
    __isub__ = augmented("sub", np.subtract, operator.sub)
    __imul__ = augmented("mul", np.multiply, operator.mul)
    __itruediv__ = augmented("div", np.true_divide, operator.truediv)
    __ifloordiv__ = augmented("floor_divide", np.floor_divide, operator.floordiv)
    __imod__ = augmented("remainder", np.remainder, operator.mod)
    __ipow__ = augmented("pow", np.power, operator.pow)
    __imatmul__ = augmented("matmul", np.matmul, operator.matmul, eager=False)
    __iand__ = augmented("bitwise_and", np.bitwise_and, operator.and_)
    __ior__ = augmented("bitwise_or", np.bitwise_or, operator.or_)
    __ixor__ = augmented("bitwise_xor", np.bitwise_xor, operator.xor)
    __ilshift__ = augmented("left_shift", np.left_shift, operator.lshift)
    __irshift__ = augmented("right_shift", np.right_shift, operator.rshift)

    def __setitem__(self, index: Any, value: Any) -> None:
        """Write selected elements, as NumPy does; the gradient of what was overwritten is zero."""
        if self._traced and not isinstance(self._value, np.ndarray):
            if not in_library():
                raise TypeError(f"'numpy.{self._value.dtype.name}' object does not support item assignment")
            self.materialise()  # libraries follow the array API standard, for which it is an array without axes
        key = static_key(index)
        if not isinstance(value, TensorBase):
            value = operand(value)
        elif key is not None and value._view is not None and is_there(self, index, value):
            storage_of(self).version += 1
            return
        frame: Any = _getframe(1)
        if key is None:
            static, dynamic = index_of(self, index)
        else:
            table = tables.get(id(frame.f_code))
            if table is None:
                table, frame = find_place(frame)
            if table.varies((table.start(frame.f_lasti), _setitem), key):
                static, dynamic = index_of(self, index, True)
            else:
                static, dynamic = static_index(key, self._value.shape), ()
        if static.selects_all(self._value.shape):
            copy_into(self, value)
        else:
            store(self, static, dynamic, value, frame=frame)

    def __delitem__(self, index: Any) -> None:
        raise TypeError("elements of a Tensor cannot be deleted")


__all__ = ["WritingOperators", "augmented"]
