"""Evenly spaced values between Tensors, and functions that apply a function along axes."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.functions.dispatch import implements, operand, plain
from srcdiff.functions.indexing import take
from srcdiff.functions.joining import concatenate, stack
from srcdiff.functions.shaping import arrayed, as_axis, expand_dims, moveaxis, reshape
from srcdiff.ops.structural import cast


def _in_dtype(x: Any, dtype: Any) -> Any:
    return x if dtype is None or x.dtype == np.dtype(dtype) else cast(x, dtype=np.dtype(dtype))


def _type(x: Any) -> Any:
    """What promotes like x: its dtype, or a Python number itself."""
    x = operand(x)
    return x if isinstance(x, (bool, int, float, complex)) else x.dtype


def _steps(num: Any, endpoint: bool, ndim: int, dtype: Any) -> tuple[Any, int]:
    count = operator.index(num)
    if count < 0:
        raise ValueError(f"Number of samples, {count}, must be non-negative.")
    return np.arange(count, dtype=dtype).reshape((-1,) + (1,) * ndim), count - 1 if endpoint else count


@implements(np.linspace)
def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: Any = 0,
    *,
    device: Any = None,
) -> Any:
    exact = np.result_type(_type(start), _type(stop), 0.0)  # Python numbers take the precision of the other end
    start, stop = (_in_dtype(arrayed(x), exact) for x in (start, stop))
    difference = stop - start
    places, parts = _steps(num, endpoint, difference.ndim, exact)
    step = difference / parts if parts > 0 else difference * np.nan
    made = places * (step if parts > 0 else difference) + start
    if endpoint and parts > 0:
        last = reshape(stop + difference * 0, (1, *difference.shape))
        made = concatenate([made[:-1], last])
    if dtype is not None and np.dtype(dtype).kind in "iu":
        made = np.floor(made)
    made = _in_dtype(moveaxis(made, 0, axis) if axis != 0 else made, dtype)
    return (made, step) if retstep else made


@implements(np.logspace)
def logspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: Any = 0
) -> Any:
    if np.ndim(plain(base)):
        start, stop, base = arrayed(start), arrayed(stop), arrayed(base)
        ndim = max(start.ndim, stop.ndim, base.ndim)
        start, stop, base = (reshape(x, (1,) * (ndim - x.ndim) + tuple(x.shape)) for x in (start, stop, base))
        base = expand_dims(base, axis)
    powers = linspace(start, stop, num, endpoint, axis=axis)
    return _in_dtype(base**powers, dtype)


@implements(np.geomspace)
def geomspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None, axis: Any = 0) -> Any:
    exact = np.result_type(_type(start), _type(stop), np.float64)
    start, stop = (_in_dtype(arrayed(x), exact) for x in (start, stop))
    if np.any(plain(start) == 0) or np.any(plain(stop) == 0):
        raise ValueError("Geometric sequence cannot include zero")
    if plain(start).dtype.kind != "c" and plain(stop).dtype.kind != "c":
        sign = np.sign(plain(start))
        if np.any(sign != np.sign(plain(stop))):
            made = np.full((), np.nan) * linspace(start, stop, num, endpoint, axis=0)
        else:
            made = sign * np.exp(linspace(np.log(start * sign), np.log(stop * sign), num, endpoint))
    else:
        made = start * np.exp(linspace(np.log(start / start), np.log(stop / start), num, endpoint))
    if made.shape[0] > 1:
        # the ends exactly
        first = reshape(start + made[0] * 0, (1, *made.shape[1:]))
        last = reshape(stop + made[-1] * 0, (1, *made.shape[1:]))
        ends = [first, made[1:-1], last] if endpoint else [first, made[1:]]
        made = concatenate(ends)
    return _in_dtype(moveaxis(made, 0, axis) if axis != 0 else made, dtype)


@implements(np.apply_along_axis)
def apply_along_axis(func1d: Callable[..., Any], axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Any:
    arr = arrayed(arr)
    axis = as_axis(axis, arr.ndim)
    last = moveaxis(arr, axis, -1)
    outer = tuple(last.shape[:-1])
    if 0 in outer:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    results = [arrayed(func1d(last[where], *args, **kwargs)) for where in np.ndindex(*outer)]
    made = reshape(stack(results), (*outer, *results[0].shape))
    inner = results[0].ndim
    source = tuple(range(len(outer), len(outer) + inner))
    return moveaxis(made, source, tuple(range(axis, axis + inner)))


@implements(np.apply_over_axes)
def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    made = arrayed(a)
    ndim = made.ndim
    for axis in (axes,) if np.ndim(axes) == 0 else axes:
        result = func(made, as_axis(axis, ndim))
        made = result if result.ndim == ndim else expand_dims(result, as_axis(axis, ndim))
        if made.ndim != ndim:
            raise ValueError("function is not returning an array of the correct shape")
    return made


@implements(np.sort_complex)
def sort_complex(a: Any) -> Any:
    a = arrayed(a)
    values = plain(a)
    order = np.argsort(values, axis=-1)
    made = np.take_along_axis(a, order, axis=-1) if a.ndim > 1 else take(a, order)
    return made if values.dtype.kind == "c" else made * (1 + 0j)
