"""NumPy's protocols: what `np.f(tensor)` and `np.add.reduce(tensor)` call. Nothing is ignored: a function, method or
keyword that is not covered raises UnsupportedError with its name.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from srcdiff.errors import ShapeError, UnsupportedError
from srcdiff.functions import catalogue  # noqa: F401
from srcdiff.functions.dispatch import FUNCTIONS, UFUNCS, operand
from srcdiff.functions.ufuncs import UFUNC_FUNCTIONS, UFUNC_METHODS, register_scipy
from srcdiff.inplace import write
from srcdiff.origin import where
from srcdiff.tape.modes import modes
from srcdiff.tape.record import describe
from srcdiff.tape.site import is_inside, user_place
from srcdiff.tape.value import TensorBase


def call_function(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A NumPy function on Tensors; `out=` is a write into `out`."""
    implementation = FUNCTIONS.get(func)
    if implementation is None:
        if _are_constants((args, kwargs)):
            return func(*_exported(args), **_exported(kwargs))
        raise _unsupported(_name(func), _name(func))
    out = kwargs.get("out")
    if "out" in kwargs:
        kwargs = {key: value for key, value in kwargs.items() if key != "out"}
    try:
        result = implementation(*args, **kwargs)
    except TypeError as error:
        if "argument" in str(error) and implementation.__name__ in str(error):
            if _are_constants((args, kwargs)) and out is None:
                return func(*_exported(args), **_exported(kwargs))
            raise UnsupportedError(f"{_name(func)}: {error}, at {where(*user_place(3))}") from None
        raise
    except ValueError as error:
        raise _located(error, func, args) from error
    return result if out is None else write_out(out, result, _name(func))


def _of_ufunc(ufunc: Any) -> str:
    name = ufunc.__name__
    if getattr(np, name, None) is ufunc:
        return f"np.{name}"
    special = sys.modules.get("scipy.special")
    return f"scipy.special.{name}" if getattr(special, name, None) is ufunc else name


def _unsupported(name: str, rule_for: str = "") -> UnsupportedError:
    hint = f"; sd.defvjp({rule_for}, ...) gives it a derivative" if rule_for else ""
    return UnsupportedError(f"{name} is not supported on Tensors, at {where(*user_place(4))}{hint}")


def _located(error: ValueError, func: Any, args: tuple[Any, ...]) -> ValueError:
    """A plain ValueError of the library's or NumPy's own with the function, the operands and the user's line added."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if type(error) not in (ValueError, ShapeError) or trace is None or not is_inside(trace.tb_frame.f_code):
        return error
    if ", at " in str(error):
        return error
    arrays = [a for x in args for a in (x if isinstance(x, (list, tuple)) else (x,)) if hasattr(a, "dtype")]
    types = ", ".join(describe(a._value if isinstance(a, TensorBase) else a) for a in arrays)
    return ShapeError(f"{_name(func)}({types}): {error}, at {where(*user_place(3))}")


def call_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A ufunc, or a method of one, with whatever keywords."""
    out = kwargs.pop("out", None)
    if isinstance(out, tuple):
        out = out[0] if len(out) == 1 else out
    name = _of_ufunc(ufunc) + ("" if method == "__call__" else f".{method}")
    if method == "__call__":
        prim = UFUNCS.get(ufunc)
        if prim is None and ufunc not in UFUNC_FUNCTIONS and register_scipy(ufunc):
            prim = UFUNCS.get(ufunc)
        function: Any = prim if prim is not None else UFUNC_FUNCTIONS.get(ufunc)
        if function is None:
            if _are_constants((inputs, kwargs)) and out is None:
                return ufunc(*_exported(inputs), **_exported(kwargs))
            raise _unsupported(name, name)
        result = _elementwise(function, ufunc, name, [operand(x) for x in inputs], out, **kwargs)
    else:
        function = UFUNC_METHODS.get((ufunc, method))
        if function is None:
            if _are_constants((inputs, kwargs)) and out is None:
                return getattr(ufunc, method)(*_exported(inputs), **_exported(kwargs))
            raise _unsupported(name)
        result = function(*inputs, **kwargs)
    return result if out is None else write_out(out, result, name)


def _are_constants(x: Any) -> bool:
    """Whether all Tensors in nested containers were made while tracing, nothing differentiated written there."""
    if isinstance(x, TensorBase):
        return x._traced and x._edge is None
    if isinstance(x, dict):
        return all(map(_are_constants, x.values()))
    return not isinstance(x, (list, tuple)) or all(map(_are_constants, x))


def _exported(x: Any) -> Any:
    """Arrays in place of Tensors, in nested containers."""
    if isinstance(x, TensorBase):
        if modes.recorder is not None:
            modes.recorder.fail("a function that srcdiff does not cover reads a value")
        return x.__array__() if isinstance(x._value, np.ndarray) else x._value
    if type(x) is dict:
        return {key: _exported(value) for key, value in x.items()}
    return type(x)(map(_exported, x)) if type(x) in (list, tuple) else x


#: keywords that one ufunc has
_EXTRA = {"np.vecdot": frozenset({"axis"})}


def _elementwise(
    function: Any, ufunc: Any, name: str, inputs: list[Any], out: Any, where: Any = True, dtype: Any = None,
    casting: str = "same_kind", order: str = "K", subok: bool = True, **rest: Any,
) -> Any:  # fmt: skip
    if rest.keys() - _EXTRA.get(name, frozenset()):
        raise UnsupportedError(f"{name}: keywords {sorted(rest)} are not supported")
    if dtype is not None or casting != "same_kind":
        # NumPy says what each operand becomes, or that this cannot be
        given = [getattr(x, "dtype", type(x)) for x in inputs]
        results = (None,) * ufunc.nout
        signature = (*(None,) * ufunc.nin, *(np.dtype(dtype) if dtype is not None else None,) * ufunc.nout)
        becomes = ufunc.resolve_dtypes((*given, *results), signature=signature, casting=casting)
        inputs = [x.astype(t) if hasattr(x, "astype") else x for x, t in zip(inputs, becomes, strict=False)]
    result = function(*inputs, **rest)
    if where is not True:
        if out is None:
            raise UnsupportedError(f"{name}: where= without out= leaves elements undefined")
        result = np.where(where, result, out)
    return result


def write_out(out: Any, result: Any, name: str) -> Any:
    """Put a result where `out=` says."""
    if isinstance(out, tuple):
        return tuple(o if o is None else write_out(o, r, name) for o, r in zip(out, result, strict=True))
    if isinstance(out, TensorBase):
        return write(out, result)
    if isinstance(result, TensorBase) and result._edge is not None:
        raise UnsupportedError(
            f"{name}: out= is a plain array, which cannot hold a gradient, at {where(*user_place(4))}; "
            "make it with np.zeros_like or np.empty_like of a traced value"
        )
    if modes.recorder is not None:
        modes.recorder.fail("it writes in place")
    out[...] = result._value if isinstance(result, TensorBase) else result
    return out


def _name(func: Any) -> str:
    module = getattr(func, "__module__", "numpy") or "numpy"
    return f"{module.replace('numpy', 'np', 1)}.{getattr(func, '__name__', func)}"
