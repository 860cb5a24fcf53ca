"""Leaving the graph: conversions of a Tensor to Python and NumPy values, and what is refused so that no gradient is
lost.

Eager tensors convert as in PyTorch. A value under differentiation by `sd.grad` and its relatives does not convert
silently: a derivative was asked for and would be lost; `sd.detach(x)` says that it is meant.
"""

from __future__ import annotations

import dis
import sys
import warnings
from typing import Any

import numpy as np

from srcdiff import sparse
from srcdiff.core.primitive import REGISTRY
from srcdiff.counterpart import counterpart
from srcdiff.errors import AutogradError, GradientLostError
from srcdiff.origin import where
from srcdiff.tape.modes import modes
from srcdiff.tape.site import user_place
from srcdiff.tape.storage import export
from srcdiff.tape.value import TensorBase

_STORE_SUBSCR = dis.opmap["STORE_SUBSCR"]
_TO_SCALAR = (
    "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\nConsider using "
    "tensor.detach() first."
)


def lost(what: str, instead: str) -> GradientLostError:
    """The refusal of a conversion that would lose a gradient, with the user's line."""
    return GradientLostError(f"{what} would lose the gradient, at {where(*user_place(3))}: {instead}")


def refuse_unheard(x: Any, frame: Any) -> None:
    """Refuse the value of a function to SciPy's bracketing solvers, which look at it with np.isnan in `frame` before
    code in C converts it. That takes no notice of an error: it would go on, and Python would find the error anywhere.
    """
    if x._edge is not None and modes.grad and frame.f_globals.get("__name__") == "scipy.optimize._zeros_py":
        raise lost("a function of SciPy's that calls float()", counterpart())


class Conversions(TensorBase):
    """Methods that give plain Python or NumPy values."""

    def _leaving(self, what: str) -> Any:
        """The value, if it may leave the graph."""
        if modes.recorder is not None:
            modes.recorder.fail(f"{what} makes a plain value of one that changes from call to call")
        if self._traced and self._edge is not None and modes.grad:
            raise lost(what, "use NumPy functions on the value, or sd.detach(x) if no derivative is wanted")
        return self._value

    def _one(self, what: str) -> Any:
        value = self._value
        if modes.recorder is not None and value.size == 1 and value.dtype.kind in "iub":
            modes.recorder.decides(self, value.item())
        else:
            value = self._leaving(what)
        if value.size != 1:
            raise AutogradError(f"a Tensor with {value.size} elements cannot be converted to Scalar")
        return value

    def item(self, *args: Any) -> Any:
        """The one element as a Python number."""
        if not args and modes.recorder is not None and self._value.size == 1:
            return modes.recorder.number(self)
        if args:
            return self._leaving("item()").item(*args)
        return self._one("item()").item()

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return self._leaving("tolist()").tolist()

    def __float__(self) -> float:
        if self._edge is not None and modes.grad:
            instead = counterpart()
            if instead:
                raise lost("a function of SciPy's that calls float()", instead)
            frame = sys._getframe(1)
            if frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] == _STORE_SUBSCR:
                raise lost(
                    "assigning a value that requires a gradient to an element of a plain array (NumPy calls float() on "
                    "it)",
                    "make the array with np.zeros_like(x) or np.empty_like(x) of a value under differentiation, or as "
                    "a Tensor, or use np.stack; sd.detach(x) if no derivative is wanted",
                )
            if not self._traced:
                warnings.warn(_TO_SCALAR, UserWarning, stacklevel=2)
        return float(self._one("float()").item())

    def __int__(self) -> int:
        value = self._value
        if modes.recorder is not None and value.size == 1 and value.dtype.kind == "f" and self._edge is None:
            whole = int(value.item())
            modes.recorder.decides(REGISTRY["trunc"](self), whole)
            return whole
        return int(self._one("int()").item())

    def __complex__(self) -> complex:
        if self._edge is not None and modes.grad and (instead := counterpart()):
            raise lost("a function of SciPy's that calls complex()", instead)
        return complex(self._one("complex()").item())

    def __index__(self) -> int:
        value = self._one("using it as an index")
        if value.dtype.kind not in "iub":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(value.item())

    def __bool__(self) -> bool:
        value = self._value
        if value.size != 1:
            if value.size == 0:
                raise AutogradError("Boolean value of Tensor with no values is ambiguous")
            raise AutogradError("Boolean value of Tensor with more than one value is ambiguous")
        outcome = bool(value.item())
        if modes.recorder is not None:
            modes.recorder.branch(self, outcome)
        return outcome

    def __format__(self, spec: str) -> str:
        if modes.recorder is not None:
            modes.recorder.fail("formatting a value makes a plain value of it")
        if not spec:
            return str(self)
        if self._value.ndim == 0:
            return format(self._value.item(), spec)
        raise TypeError(f"unsupported format string passed to {type(self).__name__}.__format__")

    def numpy(self, *, force: bool = False) -> np.ndarray[Any, Any]:
        """The ndarray itself, sharing memory. Raises for tensors that require grad while recording, as PyTorch does."""
        if modes.recorder is not None:
            modes.recorder.fail("numpy() makes a plain array of a value that changes from call to call")
        if self._edge is not None and modes.grad and not force:
            if self._traced:
                raise lost("numpy()", "use sd.detach(x) if no derivative is wanted")
            raise AutogradError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        return self._array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if modes.recorder is not None:
            modes.recorder.fail("a plain array was made of a value that changes from call to call")
        if self._edge is not None and modes.recording:
            given = sparse.answer(sys._getframe(1), self)
            if given is not None:
                return given
        if self._edge is not None and modes.grad:
            instead = counterpart()
            if instead:
                raise lost("a function of SciPy's that converts its arguments to plain arrays", instead)
            if self._traced:
                raise lost(
                    "converting a value under differentiation to a plain array (np.asarray, np.array, assignment into "
                    "an array)",
                    "use np.stack or np.concatenate to build arrays of traced values, np.zeros_like(x) for a buffer to "
                    "write to, or sd.detach(x) if no derivative is wanted",
                )
            raise GradientLostError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead. "
                f"(np.asarray or np.array at {where(*user_place(2))}; to build a tensor of tensors use np.stack)"
            )
        array = export(self) if self._traced and not copy and isinstance(self._value, np.ndarray) else self._array
        if copy is False and dtype is not None and array.dtype != dtype:
            raise ValueError("unable to avoid a copy while changing the dtype")
        return np.array(array, dtype=dtype) if copy else np.asarray(array, dtype=dtype)
