"""`Parameter` and `Buffer`: tensors that a Module takes note of when they are assigned to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.autograd.tensor_api import set_requires_grad
from srcdiff.dtypes import default_dtype
from srcdiff.errors import AutogradError
from srcdiff.tape.storage import share
from srcdiff.tape.value import TensorBase
from srcdiff.tensor import Tensor


def _fill(out: Any, data: Any) -> None:
    """Make `out` a leaf on the memory of a tensor, array or nothing (an empty tensor), outside the graph."""
    if data is None:
        data = np.empty(0, default_dtype())
    if isinstance(data, TensorBase):
        out._value = data._array
        share(out, data)
    else:
        out._value = np.asarray(data)
    out._edge = None


class Parameter(Tensor):
    """A leaf on the memory of `data` that requires grad, and that `Module.parameters()` gives once it is an attribute.

    Results of operations on parameters are plain Tensors.
    """

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return object.__new__(cls)

    def __init__(self, data: Any = None, requires_grad: bool = True) -> None:
        _fill(self, data)
        if requires_grad:
            if self._value.dtype.kind not in "fc":
                raise AutogradError("Only Tensors of floating point and complex dtype can require gradients")
            set_requires_grad(self, True)

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        found = memo.get(id(self))
        if found is None:
            found = memo[id(self)] = type(self)(self._array.copy(), self._requires)
        return found

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return (_parameter, (type(self), self._array, self._requires))


def _parameter(cls: Any, array: Any, requires_grad: bool) -> Any:
    return cls(array, requires_grad)


class Buffer(Tensor):
    """A tensor without gradient that a Module keeps as part of its state (unless `persistent=False`)."""

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return object.__new__(cls)

    def __init__(self, data: Any = None, *, persistent: bool = True) -> None:
        _fill(self, data)
        self.persistent = persistent

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        found = memo.get(id(self))
        if found is None:
            found = memo[id(self)] = type(self)(self._array.copy(), persistent=self.persistent)
        return found

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return (_buffer, (type(self), self._array, self.persistent))


def _buffer(cls: Any, array: Any, persistent: bool) -> Any:
    return cls(array, persistent=persistent)


class UninitializedParameter(Parameter):
    """A parameter without a shape: not supported, exists so that `isinstance` can be asked."""
