"""Python's numbers and the functions of `math` and `cmath` on traced values, which they differentiate like NumPy's.

Python's own function is called first, on the value: what it raises, and what it returns for arguments that are not
traced, is what the original gives. A traced result is of NumPy's scalar type, which is a `float` (`complex`) too.
"""

from __future__ import annotations

import cmath
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.core.primitive import REGISTRY
from srcdiff.functions.assembly import differentiated
from srcdiff.functions.dispatch import plain
from srcdiff.ops.structural import cast, real_part
from srcdiff.replay.constructors import array
from srcdiff.replay.number import Number, of_math
from srcdiff.tape.modes import modes
from srcdiff.tape.value import TensorBase

_DOUBLE, _COMPLEX = np.dtype(float), np.dtype(complex)


def number(x: Any, dtype: np.dtype[Any] = _DOUBLE) -> Any:
    """A traced value of one element as a number of the dtype, anything else as it is."""
    if not isinstance(x, TensorBase):
        return x
    if x._value.dtype.kind == "c" and dtype.kind == "f":
        x = real_part(x)
    if x._value.shape:
        x = REGISTRY["reshape"](x, shape=())
    x = x if x._value.dtype == dtype else cast(x, dtype=dtype)
    return x[()] if isinstance(x._value, np.ndarray) else x


def _value(x: Any) -> Any:
    """What stands behind a traced value, in lists too."""
    if isinstance(x, TensorBase):
        return x._value
    return [_value(part) for part in x] if type(x) in (list, tuple) else x


def _checked(function: Callable[..., Any], derived: Callable[..., Any], dtype: np.dtype[Any]) -> Callable[..., Any]:
    """`function`, and for traced arguments `derived` of them as numbers of the dtype."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not (differentiated(args) or differentiated(tuple(kwargs.values()))):
            if any(type(x) is Number for x in args):
                return of_math(function, args)
            return function(*args, **kwargs)
        args = tuple(
            list(x) if isinstance(x, TensorBase) and x._value.ndim == 1 and x._value.size > 1 else x for x in args
        )
        function(*map(_value, args), **{key: _value(x) for key, x in kwargs.items()})
        given = (number(x, dtype) if isinstance(x, TensorBase) else x for x in args)
        if modes.recorder is not None:
            modes.recorder.raises = True
        return derived(*given, **{key: number(x, dtype) for key, x in kwargs.items()})

    return call


# ------------------------------------------------------------------------------------------------- where NumPy has none


def _log(x: Any, base: Any = None) -> Any:
    return np.log(x) if base is None else np.log(x) / np.log(base)


def _remainder(x: Any, y: Any) -> Any:
    quotient = round((plain(x) - math.remainder(plain(x), plain(y))) / plain(y))
    return x - quotient * y


def _hypot(*xs: Any) -> Any:
    return functools.reduce(np.hypot, xs, 0.0)


def _distance(p: Any, q: Any) -> Any:
    return np.linalg.norm(array(list(p)) - array(list(q)))


def _sum_of_products(p: Any, q: Any) -> Any:
    return np.dot(array(list(p)), array(list(q)))


def _product(parts: Any, *, start: Any = 1) -> Any:
    return functools.reduce(lambda a, b: a * b, parts, start)


def _sum(parts: Any) -> Any:
    return np.sum(array(list(parts)))


def _named(name: str) -> Callable[..., Any]:
    return lambda x: REGISTRY[name](x)


def _finite(name: str) -> Callable[..., Any]:
    """The primitive, for functions that raise where it gives what is not finite, of which NumPy hears nothing."""

    def call(x: Any) -> Any:
        made = REGISTRY[name](x)
        if modes.recorder is not None and not np.isfinite(made):
            modes.recorder.fail(f"math.{name} gives a value that is not finite")
        return made

    return call


_SAME = """
    acos acosh asin asinh atan atan2 atanh cbrt copysign cos cosh degrees exp exp2 expm1 fabs fmod frexp ldexp log10
    log1p log2 modf nextafter pow radians sin sinh sqrt tan tanh
"""
_OTHERS: dict[str, Callable[..., Any]] = {
    "log": _log, "remainder": _remainder, "hypot": _hypot, "dist": _distance, "sumprod": _sum_of_products,
    "prod": _product, "fsum": _sum, "gamma": _finite("gamma"), "lgamma": _finite("lgamma"), "erf": _named("erf"),
    "erfc": _named("erfc"), "fma": lambda x, y, z: x * y + z,
    # piecewise constant
    "floor": lambda x: int(np.floor(x)), "ceil": lambda x: int(np.ceil(x)), "trunc": lambda x: int(np.trunc(x)),
    "isfinite": lambda x: bool(np.isfinite(x)), "isinf": lambda x: bool(np.isinf(x)),
    "isnan": lambda x: bool(np.isnan(x)),
}  # fmt: skip
_OF_COMPLEX = "acos acosh asin asinh atan atanh cos cosh exp log10 sin sinh sqrt tan tanh"


# ----------------------------------------------------------------------------------------------------- types of numbers


def float_(*args: Any) -> Any:
    """`float(x)`: of a traced value, the value as a double."""
    if len(args) == 1 and type(args[0]) is Number:
        return of_math(float, args)
    if len(args) != 1 or not isinstance(args[0], TensorBase) or not differentiated(args[0]):
        return float(*args)
    float(args[0]._value)
    return number(args[0])


def complex_(*args: Any, **kwargs: Any) -> Any:
    """`complex(x)` and `complex(re, im)`."""
    given = (*args, *kwargs.values())
    if not any(isinstance(x, TensorBase) and differentiated(x) for x in given):
        return complex(*args, **kwargs)
    complex(*map(_value, args), **{key: _value(x) for key, x in kwargs.items()})
    names = dict(zip(("real", "imag"), args, strict=False)) | kwargs
    real, imag = names.get("real", 0.0), names.get("imag")
    return number(real + 0j if imag is None else real + 1j * imag, _COMPLEX)


def round_(number: Any, ndigits: Any = None) -> Any:
    """`round(x, digits)`, which has no slope; an int without digits."""
    if not isinstance(number, TensorBase):
        return round(number) if ndigits is None else round(number, ndigits)
    return int(np.rint(number)) if ndigits is None else np.round(number, ndigits)


NUMBERS: dict[Any, Callable[..., Any]] = {
    float: float_,
    complex: complex_,
    round: round_,
    **{
        getattr(math, name): _checked(getattr(math, name), getattr(np, name), _DOUBLE)
        for name in _SAME.split()
        if hasattr(np, name)
    },
    **{
        getattr(math, name): _checked(getattr(math, name), derived, _DOUBLE)
        for name, derived in _OTHERS.items()
        if hasattr(math, name)
    },
    **{
        getattr(cmath, name): _checked(getattr(cmath, name), getattr(np, name), _COMPLEX)
        for name in _OF_COMPLEX.split()
    },
    cmath.log: _checked(cmath.log, _log, _COMPLEX),
    cmath.phase: _checked(cmath.phase, np.angle, _COMPLEX),
    cmath.polar: _checked(cmath.polar, lambda z: (np.abs(z), np.angle(z)), _COMPLEX),
    cmath.rect: _checked(cmath.rect, lambda r, phi: r * np.exp(1j * phi), _DOUBLE),
}
