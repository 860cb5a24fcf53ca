"""np.where, np.clip, np.sort and other functions that choose among values, put them in order, or test them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.core.primitive import REGISTRY
from srcdiff.functions.dispatch import has_operand, implements, no_value, operand, values_of
from srcdiff.functions.reductions import as_array, highest, lowest, size
from srcdiff.index import Dynamic, Index
from srcdiff.ops import elementwise as e
from srcdiff.ops import selection as s
from srcdiff.ops import special
from srcdiff.ops.families import normalize_axes
from srcdiff.ops.structural import reshape
from srcdiff.ops.transcendental import arctan2
from srcdiff.tape.modes import modes
from srcdiff.tape.value import TensorBase

# ------------------------------------------------------------------------------------------------------------ choosing


@implements(np.where)
def where(condition: Any, x: Any = no_value, y: Any = no_value, /) -> Any:
    """np.where."""
    if x is no_value and y is no_value:
        return np.nonzero(as_array(condition) if modes.recorder is not None else values_of(as_array(condition)))
    if x is no_value or y is no_value:
        raise ValueError("either both or neither of x and y should be given")
    return e.where(operand(condition), operand(x), operand(y))


@implements(np.clip, method="clip")
def clip(
    a: Any, a_min: Any = no_value, a_max: Any = no_value, *, min: Any = no_value, max: Any = no_value, **keywords: Any
) -> Any:
    """np.clip; at a bound the gradient goes to x."""
    if keywords:
        raise TypeError(f"clip() got an unexpected keyword argument {next(iter(keywords))!r}")
    low = min if a_min is no_value or a_min is None else a_min
    high = max if a_max is no_value or a_max is None else a_max
    low, high = (None if bound is no_value else bound for bound in (low, high))
    x = as_array(a)
    if low is None and high is None:
        return e.positive(x) if x.dtype.kind != "b" else x
    low = lowest(x.dtype) if low is None else operand(low)
    high = highest(x.dtype) if high is None else operand(high)
    return s.clip(x, low, high)


@implements(np.select)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """np.select."""
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if not len(condlist):
        raise ValueError("select with an empty condition list is not possible")
    out = operand(default)
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        out = e.where(as_array(condition), operand(choice), out)
    return out


@implements(np.choose, method="choose")
def choose(a: Any, choices: Any, mode: str = "raise") -> Any:
    """np.choose."""
    index = np.asarray(values_of(as_array(a)))
    options = [choices[k] for k in range(len(choices))]
    n = len(options)
    if mode == "raise" and index.size and not (index.min() >= 0 and index.max() < n):
        raise ValueError("invalid entry in choice array")
    index = index % n if mode == "wrap" else np.clip(index, 0, n - 1)
    out = operand(options[-1])
    for k in range(n - 2, -1, -1):
        out = e.where(index == k, operand(options[k]), out)
    return out if n > 1 else e.where(index == 0, out, out)


@implements(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """np.piecewise: every function sees only the elements it is for."""
    x = as_array(x)
    conditions = [np.asarray(values_of(as_array(c)), bool) for c in _conditions(condlist, x)]
    functions = list(funclist)
    if len(functions) == len(conditions) + 1:
        rest = ~np.any(conditions, axis=0)
        conditions.append(rest)
    elif len(functions) != len(conditions):
        n = len(conditions)
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    out: Any = np.zeros(tuple(x.shape), x.dtype)
    for condition, function in zip(conditions, functions, strict=True):
        full = np.broadcast_to(condition, tuple(x.shape))
        if not full.any():
            continue
        if not callable(function):
            out = e.where(full, operand(function), out)
            continue
        places = np.nonzero(full.ravel())[0]
        chosen = function(reshape(x, shape=(size(x),))[places], *args, **kw)
        out = e.where(full, _put(chosen, places, tuple(x.shape), out.dtype), out)
    return out


def _conditions(condlist: Any, x: Any) -> list[Any]:
    if isinstance(condlist, (list, tuple)) and not all(np.ndim(values_of(c)) == 0 for c in condlist):
        return list(condlist)
    if isinstance(condlist, (list, tuple)) and x.ndim == 0:
        return list(condlist)
    whole = as_array(condlist)
    return [whole] if whole.ndim == x.ndim else [whole[k] for k in range(whole.shape[0])]


def _put(values: Any, places: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """An array of this shape with `values` at the (flat) places."""
    slots = np.zeros(int(np.prod(shape, dtype=int)), int)
    slots[places] = np.arange(places.size)
    values = as_array(values, dtype)
    return reshape(values[slots], shape=shape) if values.ndim else values


@implements(np.nan_to_num)
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    """np.nan_to_num."""
    x = as_array(x)
    if all(v is None or isinstance(v, (int, float)) for v in (nan, posinf, neginf)):
        return s.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)
    if x.dtype.kind == "c":
        real, imaginary = (nan_to_num(part, copy, nan, posinf, neginf) for part in (e.real(x), e.imag(x)))
        return real + 1j * imaginary
    limits = np.finfo(x.dtype)
    out = e.where(e.isnan(x), operand(nan), x)
    out = e.where(e.equal(x, np.inf), limits.max if posinf is None else operand(posinf), out)
    return e.where(e.equal(x, -np.inf), limits.min if neginf is None else operand(neginf), out)


# ---------------------------------------------------------------------------------------------------------- in order


def _axis(x: Any, axis: Any) -> tuple[Any, int]:
    """x and a non-negative axis; None flattens."""
    if axis is None:
        return reshape(x, shape=(size(x),)), 0
    return x, normalize_axes(operator.index(axis), x.ndim)[0]


def _no_fields(order: Any) -> None:
    if order is not None:
        raise ValueError("Cannot specify order when the array has no fields.")


@implements(np.sort)
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """np.sort; elements that tie keep their order."""
    _no_fields(order)
    x, axis = _axis(as_array(a), axis)
    return s.permute_along(x, s.argsort(x, axis=axis), axis=axis)


@implements(np.argsort, method="argsort")
def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """np.argsort, always a stable one."""
    _no_fields(order)
    x, axis = _axis(as_array(a), axis)
    return s.argsort(x, axis=axis)


@implements(np.partition)
def partition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Any:
    """np.partition."""
    x, axis = _axis(as_array(a), axis)
    return s.permute_along(x, argpartition(x, kth, axis, order=order), axis=axis)


@implements(np.argpartition, method="argpartition")
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Any:
    """np.argpartition."""
    _no_fields(order)
    x, axis = _axis(as_array(a), axis)
    kth = tuple(map(int, kth)) if np.ndim(kth) else int(kth)
    return s.argpartition(x, kth=kth, axis=axis)


# ---------------------------------------------------------------------------------------------- parts and special forms


@implements(np.real)
def real(val: Any) -> Any:
    """np.real."""
    x = as_array(val)
    return e.real(x) if x.dtype.kind == "c" else x


@implements(np.imag)
def imag(val: Any) -> Any:
    """np.imag."""
    return e.imag(as_array(val))


@implements(np.angle)
def angle(z: Any, deg: bool = False) -> Any:
    """np.angle."""
    z = as_array(z)
    out = arctan2(e.imag(z), e.real(z)) if z.dtype.kind == "c" else arctan2(np.zeros((), z.dtype)[()], z)
    return out * (180 / np.pi) if deg else out


@implements(np.real_if_close)
def real_if_close(a: Any, tol: float = 100) -> Any:
    """np.real_if_close."""
    x = as_array(a)
    close = not np.iscomplexobj(np.real_if_close(values_of(x), tol))
    return e.real(x) if close and x.dtype.kind == "c" else x


@implements(np.sinc)
def sinc(x: Any) -> Any:
    """np.sinc, smooth at 0."""
    return special.sinc(as_array(x))


@implements(np.i0)
def i0(x: Any) -> Any:
    """np.i0."""
    return special.i0(as_array(x))


@implements(np.round, np.around, method="round")
def round_(a: Any, decimals: int = 0) -> Any:
    """np.round: piecewise constant."""
    return e.round_(as_array(a), decimals=operator.index(decimals))


@implements(np.fix)
def fix(x: Any) -> Any:
    """np.fix: piecewise constant."""
    return e.trunc(as_array(x))


@implements(np.interp)
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """np.interp; differentiates with respect to the points, the table and the values outside."""
    x, xp, fp = (as_array(v, np.float64) if as_array(v).dtype.kind != "c" else as_array(v) for v in (x, xp, fp))
    if period is not None:
        x, xp, fp, left, right = _periodic(x, xp, fp, period)
    n = xp.shape[0]
    if n == 0 or fp.shape[0] != n:
        raise ValueError("array of sample points is empty" if n == 0 else "fp and xp are not of the same length.")
    place = searchsorted(xp, x, side="right") - 1
    below = np.clip(place, 0, max(n - 2, 0))
    above = np.minimum(below + 1, n - 1)
    inside = (place >= 0) & (place < n - 1)
    (x0, y0), (x1, y1) = ([_entries(table, place) for table in (xp, fp)] for place in (below, above))
    run = e.where(inside, x1 - x0, 1.0)
    line = (y1 - y0) / run * (x - x0) + y0
    last = e.equal(x, xp[-1])
    out = e.where(inside, line, e.where(last, fp[-1], fp[-1] if right is None else operand(right)))
    out = e.where(place < 0, fp[0] if left is None else operand(left), out)
    return e.where(e.isnan(x), np.nan, out)


def _entries(table: Any, places: Any) -> Any:
    """`table[places]`; the places may be a Tensor, and the table an array."""
    if isinstance(table, np.ndarray) and isinstance(places, TensorBase):
        return REGISTRY["getitem"](table, places, index=Index((Dynamic(0),), False, False))
    return table[places]


def _periodic(x: Any, xp: Any, fp: Any, period: Any) -> tuple[Any, ...]:
    if values_of(period) == 0:
        raise ValueError("period must be a non-zero value")
    period = abs(period)
    x, xp = x % period, xp % period
    order = np.argsort(values_of(xp))
    xp, fp = xp[order], fp[order]
    join = REGISTRY["concatenate"]
    return x, join(xp[-1:] - period, xp, xp[:1] + period, axis=0), join(fp[-1:], fp, fp[:1], axis=0), None, None


@implements(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    """np.polyval, by Horner's rule."""
    p, x = as_array(p), as_array(x)
    out: Any = np.zeros(tuple(x.shape), x.dtype)
    for k in range(p.shape[0]):
        out = out * x + p[k]
    return out


# ------------------------------------------------------------------------------------------------- without derivative


def unwrapped(x: Any) -> Any:
    """The array behind a Tensor, for what is decided by types and shapes."""
    if isinstance(x, TensorBase):
        return x._value
    return type(x)(map(unwrapped, x)) if type(x) in (list, tuple) else x


def _constant(function: Callable[..., Any], taken_out: Callable[[Any], Any] = values_of) -> None:
    """Register a function whose result is no differentiable function of anything."""

    def call(*args: Any, **keywords: Any) -> Any:
        return function(*map(taken_out, args), **{key: taken_out(value) for key, value in keywords.items()})

    call.__name__ = function.__name__
    call.__doc__ = f"np.{function.__name__}, on the values alone."
    implements(function)(call)


_CONSTANT = """
    array_equiv isreal iscomplex isposinf isneginf nanargmax nanargmin lexsort isin min_scalar_type may_share_memory
    shares_memory
"""
for _name in _CONSTANT.split():
    _constant(getattr(np, _name))
for _name in ("iscomplexobj", "isrealobj", "shape", "size", "ndim", "result_type", "can_cast"):
    _constant(getattr(np, _name), unwrapped)


@implements(np.searchsorted, method="searchsorted")
def searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    """np.searchsorted."""
    if modes.recorder is None or sorter is not None:
        return np.searchsorted(values_of(a), values_of(v), side, values_of(sorter))
    return s.searchsorted(as_array(a), as_array(v), side=side)


@implements(np.digitize)
def digitize(x: Any, bins: Any, right: Any = False) -> Any:
    """np.digitize; of bins that decrease, on the values alone."""
    if modes.recorder is None or not bool(np.all(as_array(bins)[1:] >= as_array(bins)[:-1])):
        return np.digitize(values_of(x), values_of(bins), right)
    return searchsorted(bins, x, "left" if right else "right")


@implements(np.isclose)
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: Any = False) -> Any:
    """np.isclose."""
    if modes.recorder is None or has_operand((rtol, atol)):
        return np.isclose(values_of(a), values_of(b), values_of(rtol), values_of(atol), equal_nan)
    return s.isclose(operand(a), operand(b), rtol=rtol, atol=atol, equal_nan=bool(equal_nan))


@implements(np.allclose)
def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: Any = False) -> Any:
    """np.allclose."""
    return bool(np.all(isclose(a, b, rtol, atol, equal_nan)))


@implements(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: Any = False) -> Any:
    """np.array_equal."""
    if modes.recorder is None or equal_nan:
        return np.array_equal(values_of(a1), values_of(a2), equal_nan)
    a1, a2 = as_array(a1), as_array(a2)
    return tuple(a1.shape) == tuple(a2.shape) and bool(np.all(a1 == a2))
