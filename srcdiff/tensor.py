"""`Tensor`: one ndarray with a place in the graph.

This module has what makes it an array for Python and NumPy: operators, `__array_ufunc__`, `__array_function__`,
conversions. Its methods come from `array_methods` (NumPy's), `torch_methods` (PyTorch's), `inplace` (all that writes),
`conversion` (leaving the graph) and `autograd.tensor_api` (gradients).
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from srcdiff import sparse
from srcdiff.array_methods import ArrayMethods
from srcdiff.autograd.tensor_api import GradientMethods
from srcdiff.conversion import Conversions, refuse_unheard
from srcdiff.core.primitive import REGISTRY
from srcdiff.dispatch import call_function, call_ufunc
from srcdiff.dtypes import default_dtype
from srcdiff.functions.dispatch import UFUNCS, operand
from srcdiff.inplace import InPlace, set_shape
from srcdiff.interchange import Interchange
from srcdiff.ops import catalogue  # noqa: F401
from srcdiff.printing import format_tensor
from srcdiff.replay.number import Number
from srcdiff.size import Size
from srcdiff.subscript import subscript
from srcdiff.tape import record
from srcdiff.tape.again import ONCE, call_key, learn, repeat
from srcdiff.tape.modes import modes
from srcdiff.tape.node import next_seq
from srcdiff.tape.record import binary, record1, record2, reflected, unary
from srcdiff.tape.site import Site, tables
from srcdiff.tape.value import TensorBase
from srcdiff.torch_methods import TorchMethods

_getframe = sys._getframe
_ISNAN = REGISTRY["isnan"]
_OPERANDS = (TensorBase, np.ndarray, np.generic)


class Tensor(Conversions, Interchange, InPlace, GradientMethods, TorchMethods, ArrayMethods, TensorBase):
    """An array with a place in the graph. `Tensor(data)` copies data into a float tensor of the default dtype, as in
    PyTorch; `sd.tensor` is the usual way to make one.
    """

    def __hash__(self) -> int:
        value = self._value
        if modes.recorder is not None:
            modes.recorder.fail("hash() reads a value")
        return hash(value) if self._traced and isinstance(value, np.generic) else object.__hash__(self)

    _bind = record.bind

    # ------------------------------------------------------------------------------------------------- as an array

    @property
    def shape(self) -> Any:
        """The shape."""
        return Size(self._value.shape)

    @shape.setter
    def shape(self, shape: Any) -> None:
        set_shape(self, shape)

    @property
    def dtype(self) -> Any:
        """The NumPy dtype."""
        return self._value.dtype

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._value.ndim  # type: ignore[no-any-return]

    def __len__(self) -> int:
        if not self._value.ndim:
            raise TypeError("len() of a 0-d tensor")
        return len(self._value)

    def __iter__(self) -> Iterator[Tensor]:
        if not self._value.ndim:
            raise TypeError("iteration over a 0-d tensor")
        return iter([self[k] for k in range(len(self._value))])

    def __contains__(self, x: Any) -> bool:
        if modes.recorder is not None:
            modes.recorder.fail("`in` reads a value")
        return bool(np.any(np.equal(self._value, x._value if isinstance(x, TensorBase) else x)))

    def __getitem__(self, index: Any) -> Any:
        return subscript(self, index)

    # ------------------------------------------------------------------------------------------------ NumPy's protocols

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if modes.recorder is not None and any(type(each) is Number for each in inputs):
            return NotImplemented  # it asks again, with floats
        prim = UFUNCS.get(ufunc)
        if prim is not None and method == "__call__" and not kwargs:
            try:
                if len(inputs) == 1:
                    if prim is _ISNAN:
                        refuse_unheard(inputs[0], _getframe(1))
                    return record1(prim, inputs[0], ufunc(inputs[0]._value), _getframe(1))
                x, y = inputs
                value = ufunc(
                    x._value if isinstance(x, TensorBase) else x, y._value if isinstance(y, TensorBase) else y
                )
            except (TypeError, ValueError) as error:
                raise record.explain(error, prim, inputs) from error
            if not (isinstance(x, _OPERANDS) and isinstance(y, _OPERANDS)):
                x, y = operand(x), operand(y)
            return record2(prim, x, y, value, _getframe(1))
        return call_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any, frame: Any = None) -> Any:
        # `frame` is the caller's where NumPy is not asked first (`srcdiff.numpy`); the first argument is not looked at
        if modes.place is not None:
            return call_function(func, args, kwargs)
        if frame is None:
            frame = _getframe(1)
        table = tables.get(id(frame.f_code)) if modes.recording == 1 else None
        key = known = None
        if table is not None:
            tensors: list[Any] = []
            key = call_key(frame.f_lasti, func, args, kwargs, tensors)
            if key is not None:
                known = table.calls.get(key)
                if type(known) is Site:
                    try:
                        return repeat(known, tensors)
                    except (TypeError, ValueError):
                        pass  # the long way says what is wrong
        modes.place = frame  # spares every primitive inside the search for the user's frame
        try:
            if known is ONCE:
                before = next_seq()
                result = call_function(func, args, kwargs)
                table.calls[key] = learn(result, tensors, before)  # type: ignore[union-attr]
                return result
            if known is None and key is not None:
                if len(table.calls) > 8_192:  # type: ignore[union-attr]
                    table.calls.clear()  # type: ignore[union-attr]
                table.calls[key] = ONCE  # type: ignore[union-attr]
            return call_function(func, args, kwargs)
        finally:
            modes.place = None

    # -------------------------------------------------------------------------------------------------------- operators

    __add__ = binary(REGISTRY["add"], operator.add)
    __radd__ = reflected(REGISTRY["add"], operator.add)
    __sub__ = binary(REGISTRY["sub"], operator.sub)
    __rsub__ = reflected(REGISTRY["sub"], operator.sub)
    __mul__ = binary(REGISTRY["mul"], operator.mul, sparse.star_from_right)
    __rmul__ = reflected(REGISTRY["mul"], operator.mul, sparse.star_from_left)
    __truediv__ = binary(REGISTRY["div"], operator.truediv)
    __rtruediv__ = reflected(REGISTRY["div"], operator.truediv)
    __floordiv__ = binary(REGISTRY["floor_divide"], operator.floordiv)
    __rfloordiv__ = reflected(REGISTRY["floor_divide"], operator.floordiv)
    __mod__ = binary(REGISTRY["remainder"], operator.mod)
    __rmod__ = reflected(REGISTRY["remainder"], operator.mod)
    __matmul__ = binary(REGISTRY["matmul"], operator.matmul, sparse.from_right)
    __rmatmul__ = reflected(REGISTRY["matmul"], operator.matmul, sparse.from_left)
    __pow__ = binary(REGISTRY["pow"], operator.pow)
    __rpow__ = reflected(REGISTRY["pow"], operator.pow)
    __neg__ = unary(REGISTRY["neg"], operator.neg)
    __abs__ = unary(REGISTRY["abs"], operator.abs)
    __invert__ = unary(REGISTRY["invert"], operator.invert)
    __and__ = binary(REGISTRY["bitwise_and"], operator.and_)
    __rand__ = reflected(REGISTRY["bitwise_and"], operator.and_)
    __or__ = binary(REGISTRY["bitwise_or"], operator.or_)
    __ror__ = reflected(REGISTRY["bitwise_or"], operator.or_)
    __xor__ = binary(REGISTRY["bitwise_xor"], operator.xor)
    __rxor__ = reflected(REGISTRY["bitwise_xor"], operator.xor)
    __lshift__ = binary(REGISTRY["left_shift"], operator.lshift)
    __rlshift__ = reflected(REGISTRY["left_shift"], operator.lshift)
    __rshift__ = binary(REGISTRY["right_shift"], operator.rshift)
    __rrshift__ = reflected(REGISTRY["right_shift"], operator.rshift)
    __lt__ = binary(REGISTRY["less"], operator.lt)
    __le__ = binary(REGISTRY["less_equal"], operator.le)
    __gt__ = binary(REGISTRY["greater"], operator.gt)
    __ge__ = binary(REGISTRY["greater_equal"], operator.ge)
    __eq__ = binary(REGISTRY["equal"], operator.eq)
    __ne__ = binary(REGISTRY["not_equal"], operator.ne)

    def __pos__(self) -> Tensor:
        return self

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return other // self, other % self

    def __repr__(self) -> str:
        if modes.recorder is not None:
            modes.recorder.fail("printing a value makes text of it")
        if self._traced and self._edge is None:
            return repr(self._value)  # a plain value of the user's function
        return format_tensor(self._array, suffixes=self._suffixes(), default_dtype=default_dtype())

    def __str__(self) -> str:
        return str(self._value) if self._traced and self._edge is None and modes.recorder is None else repr(self)

    def _suffixes(self) -> list[str]:
        if self._requires:
            return ["requires_grad=True"]
        edge = self._edge
        if edge is None:
            return []
        return [f"grad_fn=<{type(edge[0] if type(edge) is tuple else edge).__name__}>"]


record.set_tensor_class(Tensor)
