"""np.emath: elementary functions that leave the real numbers where real arguments have no real result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.functions.dispatch import implements, plain
from srcdiff.functions.shaping import arrayed
from srcdiff.ops.structural import cast


def _complex_if(outside: Callable[[Any], Any], x: Any) -> Any:
    """x, as complex numbers if it is real and an element lies outside."""
    x = arrayed(x)
    if x.dtype.kind == "c" or not np.any(outside(plain(x))):
        return x
    return cast(x, dtype=np.complex128 if x.dtype == np.float16 else np.result_type(x.dtype, np.complex64))


def _negative(x: Any) -> Any:
    return x < 0


def _beyond_one(x: Any) -> Any:
    return abs(x) > 1


def _extends(name: str, function: Callable[[Any], Any], outside: Callable[[Any], Any]) -> None:
    """Registers np.emath's function of that name."""

    def extended(x: Any) -> Any:
        return function(_complex_if(outside, x))

    extended.__name__ = name
    implements(getattr(np.emath, name))(extended)


for _name, _outside in (
    ("sqrt", _negative), ("log", _negative), ("log2", _negative), ("log10", _negative), ("arctanh", _beyond_one),
):  # fmt: skip
    _extends(_name, getattr(np, _name), _outside)


def _inverse(x: Any, function: Callable[[Any], Any], beyond: Callable[[Any], Any], turn: complex) -> Any:
    """An inverse function of the cosine or sine: beyond 1 a constant, and the inverse hyperbolic cosine turned.

    The complex function has its cut there, on which its derivative has two signs.
    """
    x = arrayed(x)
    outside = abs(plain(x)) > 1
    if x.dtype.kind == "c" or not np.any(outside):
        return function(x)
    real = np.where(outside, beyond(plain(x)), function(np.where(outside, 0, x)))
    return real + turn * np.where(outside, np.arccosh(np.where(outside, abs(x), 2)), 0)


@implements(np.emath.arccos)
def arccos(x: Any) -> Any:
    """np.emath.arccos."""
    return _inverse(x, np.arccos, lambda values: np.where(values < 0, np.pi, 0).astype(values.dtype), -1j)


@implements(np.emath.arcsin)
def arcsin(x: Any) -> Any:
    """np.emath.arcsin."""
    return _inverse(x, np.arcsin, lambda values: np.copysign(np.pi / 2, values).astype(values.dtype), 1j)


@implements(np.emath.logn)
def logn(n: Any, x: Any) -> Any:
    """The logarithm to the base n."""
    return np.log(_complex_if(_negative, x)) / np.log(_complex_if(_negative, n))


@implements(np.emath.power)
def power(x: Any, p: Any) -> Any:
    """x to the power p: complex where x is negative, and an integer to a negative power a float."""
    x, p = _complex_if(_negative, x), arrayed(p)
    if p.dtype.kind in "iu" and np.any(plain(p) < 0):
        p = p * 1.0
    return np.power(x, p)
