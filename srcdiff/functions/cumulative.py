"""Running sums, products and extremes; differences along an axis and the integrals and slopes made of them."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from srcdiff.core.primitive import REGISTRY
from srcdiff.functions.dispatch import implements, no_value, operand, plain
from srcdiff.functions.nanreductions import present
from srcdiff.functions.reductions import as_array, masked, size
from srcdiff.functions.reductions import sum as sum_
from srcdiff.ops import cumulative as c
from srcdiff.ops import elementwise as e
from srcdiff.ops import selection
from srcdiff.ops.families import normalize_axes
from srcdiff.ops.structural import broadcast_to, reshape


def _along(a: Any, axis: Any, dtype: Any = None) -> tuple[Any, int]:
    """x and a non-negative axis; x flattened if no axis is given."""
    x = as_array(a, dtype)
    if axis is None or not x.ndim:
        if axis is not None and operator.index(axis) not in (0, -1):
            raise np.exceptions.AxisError(axis, x.ndim)
        return reshape(x, shape=(size(x),)), 0
    return x, normalize_axes(operator.index(axis), x.ndim)[0]


@implements(np.cumsum, method="cumsum")
def cumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    """np.cumsum."""
    x, axis = _along(a, axis, dtype)
    return as_array(c.cumsum(x, axis=axis), dtype)


@implements(np.cumprod, method="cumprod")
def cumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    """np.cumprod; the gradient is right where factors are 0."""
    x, axis = _along(a, axis, dtype)
    return as_array(c.cumprod(x, axis=axis), dtype)


@implements(np.nancumsum)
def nancumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    """np.nancumsum."""
    x = as_array(a)
    return cumsum(masked(x, present(x), 0), axis, dtype)


@implements(np.nancumprod)
def nancumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    """np.nancumprod."""
    x = as_array(a)
    return cumprod(masked(x, present(x), 1), axis, dtype)


def cummax(a: Any, axis: Any = 0, dtype: Any = None) -> Any:
    """np.maximum.accumulate; the gradient goes to where the maximum was last attained."""
    x, axis = _along(a, axis, dtype)
    return REGISTRY["take_along_axis"](x, selection.cummax_index(x, axis=axis), axis=axis)


def cummin(a: Any, axis: Any = 0, dtype: Any = None) -> Any:
    """np.minimum.accumulate; the gradient goes to where the minimum was last attained."""
    x, axis = _along(a, axis, dtype)
    return REGISTRY["take_along_axis"](x, selection.cummin_index(x, axis=axis), axis=axis)


def _cumulative(run: Any, start: float, x: Any, axis: Any, dtype: Any, include_initial: bool) -> Any:
    x = as_array(x)
    if axis is None:
        if x.ndim > 1:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
        axis = 0
    x, axis = _along(x, axis, dtype)
    out = as_array(run(x, axis=axis), dtype)
    if not include_initial:
        return out
    shape = tuple(1 if k == axis else n for k, n in enumerate(out.shape))
    return REGISTRY["concatenate"](np.full(shape, start, out.dtype), out, axis=axis)


if hasattr(np, "cumulative_sum"):

    @implements(np.cumulative_sum)
    def cumulative_sum(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
        """np.cumulative_sum."""
        return _cumulative(c.cumsum, 0, x, axis, dtype, include_initial)

    @implements(np.cumulative_prod)
    def cumulative_prod(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
        """np.cumulative_prod."""
        return _cumulative(c.cumprod, 1, x, axis, dtype, include_initial)


# ------------------------------------------------------------------------------------------------------- differences


def cut(x: Any, axis: int, start: int | None, stop: int | None, step: int | None = None) -> Any:
    """x[start:stop:step] along an axis."""
    return x[(*(slice(None),) * axis, slice(start, stop, step))]


@implements(np.diff)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = no_value, append: Any = no_value) -> Any:
    """np.diff."""
    x = as_array(a)
    if n == 0:
        return x
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    if not x.ndim:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = normalize_axes(operator.index(axis), x.ndim)[0]
    parts = [_edge(prepend, x, axis), x, _edge(append, x, axis)]
    parts = [part for part in parts if part is not None]
    if len(parts) > 1:
        x = REGISTRY["concatenate"](*parts, axis=axis)
    subtract = e.not_equal if x.dtype.kind == "b" else e.sub
    for _ in range(n):
        x = subtract(cut(x, axis, 1, None), cut(x, axis, None, -1))
    return x


def _edge(value: Any, x: Any, axis: int) -> Any:
    """What `prepend` or `append` adds at one end."""
    if value is no_value:
        return None
    value = as_array(value)
    if value.ndim:
        return value
    return broadcast_to(value, shape=tuple(1 if k == axis else n for k, n in enumerate(x.shape)))


@implements(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """np.ediff1d."""
    x, _ = _along(ary, None)
    for end in (to_begin, to_end):
        if end is not None and not np.can_cast(as_array(end).dtype, x.dtype, "same_kind"):
            raise TypeError(f"np.ediff1d: the dtype of an end, {as_array(end).dtype}, is not of the kind of {x.dtype}")
    ends = [None if end is None else _along(end, None, x.dtype)[0] for end in (to_begin, to_end)]
    parts = [part for part in (ends[0], diff(x), ends[1]) if part is not None]
    return parts[0] if len(parts) == 1 else REGISTRY["concatenate"](*parts, axis=0)


@implements(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """np.trapezoid."""
    y = as_array(y)
    axis = normalize_axes(operator.index(axis), y.ndim)[0]
    if x is None:
        width = operand(dx)
    else:
        x = as_array(x)
        width = diff(x, axis=0 if x.ndim == 1 else axis)
        if x.ndim == 1:
            width = reshape(width, shape=(size(width), *(1,) * (y.ndim - axis - 1)))
    return sum_(width * (cut(y, axis, 1, None) + cut(y, axis, None, -1)) / 2.0, axis=axis)


# ---------------------------------------------------------------------------------------------------------- gradient


@implements(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """np.gradient: second-order differences inside, of order `edge_order` at the ends."""
    x = as_array(f)
    axes = (
        normalize_axes(axis, x.ndim) if axis is None or not isinstance(axis, tuple) else _in_order_given(axis, x.ndim)
    )
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    x = x if x.dtype.kind in "fc" else as_array(x, np.float64)
    slopes = (_slopes(x, k, h, edge_order) for k, h in zip(axes, _spacings(varargs, x, axes), strict=True))
    results = tuple(as_array(slope, x.dtype) for slope in slopes)
    return results[0] if len(axes) == 1 else results


def _in_order_given(axis: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    return tuple(normalize_axes(a, ndim)[0] for a in axis)


def _spacings(varargs: tuple[Any, ...], x: Any, axes: tuple[int, ...]) -> list[Any]:
    """For each axis a number, or the distances between neighbouring coordinates."""
    if not varargs:
        return [1.0] * len(axes)
    given = [as_array(v) for v in varargs]
    if len(given) == 1 and not given[0].ndim:
        given = given * len(axes)
    if len(given) != len(axes):
        raise TypeError("invalid number of arguments")
    out = []
    for h, k in zip(given, axes, strict=True):
        if not h.ndim:
            out.append(h)
            continue
        if h.ndim != 1:
            raise ValueError("distances must be either scalars or 1d")
        if h.shape[0] != x.shape[k]:
            raise ValueError("when 1d, distances must match the length of the corresponding dimension")
        out.append(diff(as_array(h, None if h.dtype.kind in "fc" else np.float64)))
    return out


def _slopes(x: Any, axis: int, h: Any, edge_order: int) -> Any:
    if x.shape[axis] < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, "
            "at least (edge_order + 1) elements are required."
        )
    even = not getattr(h, "ndim", 0)

    def at(k: int) -> Any:
        return cut(x, axis, k, k + 1 or None)

    def step(k: int) -> Any:
        return h if even else h[k]

    if even:
        inside = (cut(x, axis, 2, None) - cut(x, axis, None, -2)) / (2.0 * h)
    else:
        before, after = (reshape(d, shape=(size(d), *(1,) * (x.ndim - axis - 1))) for d in (h[:-1], h[1:]))
        a = -after / (before * (before + after))
        b = (after - before) / (before * after)
        d = before / (after * (before + after))
        inside = a * cut(x, axis, None, -2) + b * cut(x, axis, 1, -1) + d * cut(x, axis, 2, None)
    if edge_order == 1:
        first, last = (at(1) - at(0)) / step(0), (at(-1) - at(-2)) / step(-1)
    else:
        first = _one_sided((at(0), at(1), at(2)), step(0), step(1))
        last = -_one_sided((at(-1), at(-2), at(-3)), step(-1), step(-2))
    return REGISTRY["concatenate"](first, inside, last, axis=axis)


def _one_sided(values: tuple[Any, Any, Any], near: Any, far: Any) -> Any:
    """The slope at the first of three points of the parabola through them."""
    a = -(2.0 * near + far) / (near * (near + far))
    b = (near + far) / (near * far)
    c = -near / (far * (near + far))
    return a * values[0] + b * values[1] + c * values[2]


@implements(np.unwrap)
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * np.pi) -> Any:
    """np.unwrap: jumps of more than half a period are taken out; the slope is 1."""
    x = as_array(p)
    values = plain(x)
    correction = np.unwrap(values, discont=discont, axis=axis, period=period) - values
    return x + correction
