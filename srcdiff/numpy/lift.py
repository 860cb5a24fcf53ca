"""NumPy's functions with Tensors in and out: one wrapper, whatever the function.

    lift(np.exp)([0.0, 1.0])     tensor([1.0000, 2.7183], dtype=float64)

Whether an argument is a Tensor, or a list with Tensors inside, decides who computes: srcdiff's implementation, which
records, or NumPy itself. What comes out as an array of numbers, or as one of NumPy's numbers, is a Tensor without a
gradient in the second case.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.creation import alias
from srcdiff.device import check_device
from srcdiff.errors import UnsupportedError
from srcdiff.functions.assembly import assembled, differentiated, has_tensor, list_converter, values
from srcdiff.functions.dispatch import FUNCTIONS
from srcdiff.origin import where
from srcdiff.replay.active import active
from srcdiff.tape.modes import modes
from srcdiff.tape.record import plain
from srcdiff.tape.site import user_place
from srcdiff.tape.value import TensorBase
from srcdiff.tensor import Tensor

_getframe = sys._getframe
_dispatch: Any = Tensor.__array_function__


def tensors(x: Any) -> Any:
    """Tensors in place of arrays of numbers and of NumPy's numbers, also in lists, tuples and named tuples."""
    if isinstance(x, (np.ndarray, np.generic)):
        return _made(x) if x.dtype.kind in "biufc" else x
    if isinstance(x, TensorBase) and x._stands:
        return alias(x)
    if isinstance(x, tuple):
        return type(x)(*map(tensors, x)) if hasattr(x, "_fields") else tuple(map(tensors, x))
    return list(map(tensors, x)) if type(x) is list else x


def _made(x: Any) -> Any:
    """A Tensor without a gradient."""
    out = plain(x, active.depth > 0)
    if modes.recorder is not None:
        modes.recorder.made(out)
    return out


def array(object: Any, dtype: Any = None, *, copy: bool | None = True, device: Any = None, **keywords: Any) -> Any:
    """A Tensor of numbers, arrays, Tensors or nested lists of them, as `numpy.array`: float64 of Python's floats. Of
    Tensors it is differentiable; it is the given Tensor if there is nothing to change and `copy` is not True.
    """
    check_device(device)
    if not has_tensor(object):
        return tensors(np.array(object, dtype, copy=copy, **keywords))
    pattern = np.array(values(object), dtype, **keywords)
    return assembled(object, pattern, copy, traced=active.depth > 0)


@functools.cache
def lift(function: Any) -> Callable[..., Any]:
    """A NumPy function with Tensors in and out, the same one each time."""
    convert = list_converter(function, array)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs and kwargs.get("device") is not None:
            check_device(kwargs["device"])
            kwargs["device"] = "cpu"
        if not (has_tensor(args) or (kwargs and any(map(has_tensor, kwargs.values())))):
            return tensors(function(*args, **kwargs))
        if function not in FUNCTIONS:
            return tensors(_of_values(function, args, kwargs))
        if convert is not None and (list in map(type, args) or tuple in map(type, args)):
            args = tuple(map(convert, args))
        return tensors(_dispatch(None, function, (), args, kwargs, _getframe(1)))

    call.__module__ = f"srcdiff.{function.__module__}"  # where it is found by pickle, too
    return call


def _of_values(function: Any, args: Any, kwargs: Any) -> Any:
    """NumPy's function of the arrays behind Tensors, none of which may have a gradient to lose."""
    if modes.recorder is not None:
        modes.recorder.fail(f"np.{function.__name__} reads a value")
    if modes.recording and (differentiated(args) or any(map(differentiated, kwargs.values()))):
        raise UnsupportedError(f"np.{function.__name__} has no derivative here, at {where(*user_place(3))}")
    return function(*map(_value, args), **{name: _value(x) for name, x in kwargs.items()})


def _value(x: Any) -> Any:
    return values(x) if has_tensor(x) else x


class Ufunc:
    """One of NumPy's ufuncs, and its methods, with Tensors in and out. Its attributes are the ufunc's."""

    def __init__(self, ufunc: np.ufunc) -> None:
        self.__wrapped__ = ufunc
        self.__name__ = self.__qualname__ = ufunc.__name__
        self.__doc__ = ufunc.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The ufunc of the arguments."""
        if list in map(type, args) or tuple in map(type, args):
            args = tuple(map(_listed, args))
        return tensors(self.__wrapped__(*args, **kwargs))

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.__wrapped__, name)
        if name not in ("reduce", "accumulate", "outer", "reduceat", "at"):
            return found

        @functools.wraps(found)
        def method(*args: Any, **kwargs: Any) -> Any:
            return tensors(found(*map(_listed, args), **kwargs))

        return method

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __reduce__(self) -> Any:
        return (Ufunc, (self.__wrapped__,))


def _listed(x: Any) -> Any:
    """A list with differentiated values inside as a Tensor."""
    return array(x) if (type(x) is list or type(x) is tuple) and differentiated(x) else x
