"""NumPy's array constructors for code that is being traced: what they make can take traced values.

They give what NumPy gives, as a Tensor without a gradient if it is a fresh float or complex array. An array that
existed before stays what it is, and so do integers, booleans and objects, which are used as indices and shapes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.errors import UnsupportedError
from srcdiff.functions import creation
from srcdiff.functions.assembly import assembled, built, differentiated, has_tensor, values
from srcdiff.ops.structural import cast
from srcdiff.replay.active import active
from srcdiff.tape.modes import modes
from srcdiff.tape.record import plain
from srcdiff.tape.value import TensorBase


def traced(value: Any) -> Any:
    """A fresh array as a traced constant if it could take traced values, else as it is."""
    if type(value) is np.ndarray and value.dtype.kind in "fc" and active.depth:
        made = plain(value, traced=True)
        if modes.recorder is not None:
            modes.recorder.made(made)
        return made
    return value


# --------------------------------------------------------------------------------------------------------------- filled


def _fresh(function: Callable[..., Any]) -> Callable[..., Any]:
    """A constructor whose result never shares memory."""

    @functools.wraps(function)
    def make(*args: Any, **kwargs: Any) -> Any:
        return traced(function(*args, **kwargs))

    return make


def full(shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", **rest: Any) -> Any:
    """`np.full`, where the value may be traced."""
    if not differentiated(fill_value):
        return traced(np.full(shape, values(fill_value), dtype, order, **rest))
    pattern = np.full(shape, values(fill_value), dtype, order, **rest)
    return creation.full_like(pattern, array(fill_value))


def full_like(a: Any, fill_value: Any, *args: Any, **kwargs: Any) -> Any:
    """`np.full_like`, where the value may be traced."""
    if differentiated(fill_value):
        return creation.full_like(a, array(fill_value), *args, **kwargs)
    return traced(np.full_like(a, values(fill_value), *args, **kwargs))


# ------------------------------------------------------------------------------------------------------ from other data


def array(object: Any, dtype: Any = None, *, copy: bool | None = True, order: Any = "K", **rest: Any) -> Any:
    """`np.array`: of nested lists with traced values, their stack."""
    if not has_tensor(object):
        value = np.array(object, dtype, copy=copy, order=order, **rest)
        return traced(value) if copy or (value is not object and value.base is None) else value
    pattern = np.array(values(object), dtype, order=order, **rest)
    if pattern.dtype.kind not in "fc" or not active.depth:
        _refuse_recording()
        return pattern if pattern.dtype.kind != "O" else np.array(object, dtype, order=order, **rest)
    return assembled(object, pattern, copy, traced=True)


def _refuse_recording() -> None:
    if modes.recorder is not None:
        modes.recorder.fail("a plain array is made of values that change from call to call")


def asarray(a: Any, dtype: Any = None, order: Any = None, *, copy: bool | None = None, **rest: Any) -> Any:
    """`np.asarray`: arrays and traced arrays are given back as they are."""
    return array(a, dtype, copy=copy, order="K" if order is None else order, **rest)


def asanyarray(a: Any, dtype: Any = None, order: Any = None, *, copy: bool | None = None, **rest: Any) -> Any:
    """`np.asanyarray`."""
    return array(a, dtype, copy=copy, order="K" if order is None else order, subok=True, **rest)


def ascontiguousarray(a: Any, dtype: Any = None, **rest: Any) -> Any:
    """`np.ascontiguousarray`: of at least one axis."""
    return array(a, dtype, copy=None, order="C", ndmin=1, **rest)


def asfortranarray(a: Any, dtype: Any = None, **rest: Any) -> Any:
    """`np.asfortranarray`: of at least one axis."""
    return array(a, dtype, copy=None, order="F", ndmin=1, **rest)


def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    """`np.asarray_chkfinite`."""
    _refuse_recording()
    np.asarray_chkfinite(values(a), dtype, order)
    return asarray(a, dtype, order)


def copy(a: Any, order: Any = "K", subok: bool = False) -> Any:
    """`np.copy`."""
    return array(a, order=order, subok=subok)


def require(a: Any, dtype: Any = None, requirements: Any = None, **rest: Any) -> Any:
    """`np.require`; of the requirements, only a copy shows in a traced value."""
    if not has_tensor(a):
        return np.require(a, dtype, requirements, **rest)
    pattern = np.require(values(a), dtype, requirements, **rest)
    kept = isinstance(a, TensorBase) and np.may_share_memory(pattern, a._value)
    return asarray(a, pattern.dtype) if kept else array(a, pattern.dtype)


def arange(*args: Any, dtype: Any = None, **rest: Any) -> Any:
    """`np.arange`, whose bounds and step may be traced: how many numbers there are is constant."""
    if not differentiated(args) and not any(map(differentiated, rest.values())):
        return traced(np.arange(*map(values, args), dtype=dtype, **{key: values(x) for key, x in rest.items()}))
    names = ("start", "stop", "step", "dtype") if len(args) > 1 else ("stop",)
    given = dict(zip(names, args, strict=False)) | rest
    dtype = given.pop("dtype", dtype)
    start, step = given.get("start", 0), given.get("step", 1)
    make: Any = np.arange
    pattern = make(values(start), values(given["stop"]), values(step), dtype)
    if pattern.dtype.kind not in "fc":
        return pattern
    made = start + np.arange(pattern.size) * step
    return cast(made, dtype=pattern.dtype) if made.dtype != pattern.dtype else made


def fromiter(iter: Any, dtype: Any, count: int = -1, **rest: Any) -> Any:
    """`np.fromiter`, whose elements may be traced."""
    if count >= 0:
        iter = (part for part, _ in zip(iter, range(count), strict=False))
    parts = list(iter)
    if has_tensor(parts):
        return array(parts, dtype)
    return traced(np.fromiter(parts, dtype, count, **rest))


def kaiser(M: Any, beta: Any) -> Any:
    """`np.kaiser`: i0(beta sqrt(1 - ((2 n - M + 1) / (M - 1))^2)) / i0(beta)."""
    if not differentiated(beta):
        return np.kaiser(values(M), values(beta))
    pattern = np.kaiser(values(M), values(beta))
    if pattern.size < 2:
        return pattern
    centre = (pattern.size - 1) / 2.0
    return np.i0(beta * np.sqrt(1.0 - ((np.arange(pattern.size) - centre) / centre) ** 2)) / np.i0(beta)


def as_strided(x: Any, shape: Any = None, strides: Any = None, **rest: Any) -> Any:
    """`as_strided`; of a traced array a copy of the elements, which cannot be written to."""
    if not differentiated(x):
        return np.lib.stride_tricks.as_strided(values(x), shape, strides, **rest)
    array = x.materialise()
    if not array.flags.c_contiguous:
        raise UnsupportedError("as_strided of a traced array whose elements do not lie in order; copy it first")
    steps = array.strides if strides is None else strides
    if any(step % array.itemsize for step in steps):
        raise UnsupportedError("as_strided of a traced array with strides that are no multiples of its element size")
    places = np.arange(array.size)
    steps = [step // array.itemsize * places.itemsize for step in steps]
    places = np.array(np.lib.stride_tricks.as_strided(places, array.shape if shape is None else shape, steps))
    made = np.reshape(x, -1)[places]
    made._value.flags.writeable = False
    return made


def _listed(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that NumPy dispatches for Tensors, of lists too."""

    @functools.wraps(function)
    def make(*args: Any) -> Any:
        return function(*(asarray(x) if type(x) is list or type(x) is tuple else x for x in args))

    return make


# ----------------------------------------------------------------------------------------------------- scalars, methods


def _scalar(kind: type[np.generic]) -> Callable[..., Any]:
    """A NumPy scalar type called on a traced value: its cast."""
    dtype = np.dtype(kind)

    def convert(*args: Any) -> Any:
        if len(args) == 1 and differentiated(args[0]):
            return built(args[0], dtype)
        return kind(*args)

    convert.__name__ = convert.__qualname__ = kind.__name__
    return convert


def fresh_method(method: Any) -> Callable[..., Any]:
    """`a.copy` or `a.astype` of an array, giving a traced constant."""

    def make(*args: Any, **kwargs: Any) -> Any:
        value = method(*args, **kwargs)
        return value if value is method.__self__ else traced(value)

    make.__name__ = make.__qualname__ = method.__name__
    return make


CONSTRUCTORS: dict[Any, Callable[..., Any]] = {
    **{
        function: _fresh(function)
        for function in (
            np.zeros,
            np.ones,
            np.empty,
            np.eye,
            np.identity,
            np.zeros_like,
            np.ones_like,
            np.empty_like,
            np.linspace,
            np.logspace,
            np.geomspace,
            np.tri,
        )
    },
    **{function: _listed(function) for function in (np.atleast_1d, np.atleast_2d, np.atleast_3d)},
    **{kind: _scalar(kind) for kind in (np.float64, np.float32, np.float16, np.complex128, np.complex64)},
    np.full: full,
    np.full_like: full_like,
    np.array: array,
    np.asarray: asarray,
    np.asanyarray: asanyarray,
    np.ascontiguousarray: ascontiguousarray,
    np.asfortranarray: asfortranarray,
    np.asarray_chkfinite: asarray_chkfinite,
    np.copy: copy,
    np.require: require,
    np.arange: arange,
    np.kaiser: kaiser,
    np.lib.stride_tricks.as_strided: as_strided,
    np.fromiter: fromiter,
}
