"""What `reduce`, `accumulate`, `outer` and `reduceat` of ufuncs do on Tensors, where no function does just that."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.core.primitive import REGISTRY
from srcdiff.functions.dispatch import no_value
from srcdiff.functions.reductions import as_array
from srcdiff.functions.statistics import grouped
from srcdiff.ops import elementwise as e
from srcdiff.ops.families import normalize_axes
from srcdiff.ops.reductions import logsumexp
from srcdiff.ops.structural import broadcast_to, reshape


def logaddexp_reduce(
    x: Any, axis: Any = 0, dtype: Any = None, keepdims: bool = False, initial: Any = no_value, where: Any = True
) -> Any:
    """np.logaddexp.reduce."""
    x = as_array(x, dtype)
    if where is not True:
        x = e.where(where, x, -np.inf)
    axis = tuple(range(x.ndim)) if axis is None else axis
    out = logsumexp(
        x, axis=axis % x.ndim if isinstance(axis, int) else tuple(a % x.ndim for a in axis), keepdims=keepdims
    )
    return out if initial is no_value or initial is None else REGISTRY["logaddexp"](out, initial)


def axis_zero(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with the default axis of a ufunc's `reduce`."""

    @functools.wraps(function)
    def reduce(x: Any, axis: Any = 0, dtype: Any = None, **keywords: Any) -> Any:
        if keywords.get("initial", 0) is None:
            del keywords["initial"]
        return function(x, axis=axis, dtype=dtype, **keywords)

    return reduce


def without_dtype(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which knows no dtype, of x in one."""

    def call(x: Any, axis: Any = 0, dtype: Any = None, **keywords: Any) -> Any:
        return function(as_array(x, dtype), axis=axis, **keywords)

    return call


#: ufuncs whose operands may come in any order, so that several axes may be reduced, besides those with a reduction here
_REORDERABLE = frozenset({
    np.fmax, np.fmin, np.hypot, np.logaddexp2, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.logical_xor, np.gcd,
    np.lcm,
})  # fmt: skip


def fold(
    ufunc: Any, x: Any, axis: Any = 0, dtype: Any = None, keepdims: bool = False, initial: Any = no_value,
    where: Any = True,
) -> Any:  # fmt: skip
    """ufunc.reduce of any binary ufunc, one application after the other."""
    x, name = as_array(x, dtype), ufunc.__name__
    axes = normalize_axes(axis, x.ndim) if x.ndim or axis not in (0, -1) else ()
    if len(axes) > 1 and ufunc not in _REORDERABLE:
        raise ValueError(f"reduction operation '{name}' is not reorderable, so at most one axis may be specified")
    rows, shape = grouped(x, axes)
    parts = _slices(rows, -1)
    state = ufunc.identity if initial is no_value and (where is not True or not parts) else initial
    if state is not no_value and state is not None:
        parts.insert(0, broadcast_to(as_array(state, rows.dtype), shape=tuple(rows.shape[:-1])))
    elif where is not True:
        raise ValueError(
            f"reduction operation '{name}' does not have an identity, so to use a where mask one has to specify "
            "'initial'"
        )
    if not parts:
        raise ValueError(f"zero-size array to reduction operation {name} which has no identity")
    if where is True:
        out = functools.reduce(ufunc, parts)
    else:
        kept = _slices(grouped(np.broadcast_to(where, tuple(x.shape)), axes)[0], -1)
        out = parts[0]
        for part, taken in zip(parts[1:], kept, strict=True):
            out = e.where(taken, ufunc(out, part), out)
    return reshape(out, shape=shape) if keepdims else out


def _slices(x: Any, axis: int) -> list[Any]:
    before = (slice(None),) * (axis % x.ndim)
    return [x[(*before, k)] for k in range(x.shape[axis])]


def _require_axis(x: Any, method: str) -> None:
    if not x.ndim:
        raise TypeError(f"cannot {method} on a scalar")


def accumulate(function: Callable[..., Any], x: Any, *args: Any, **keywords: Any) -> Any:
    """ufunc.accumulate, by a function that takes an axis."""
    _require_axis(as_array(x), "accumulate")
    return function(x, *args, **keywords)


def accumulate_by_folding(ufunc: Any, x: Any, axis: int = 0, dtype: Any = None) -> Any:
    """ufunc.accumulate of any binary ufunc."""
    x = as_array(x, dtype)
    parts = _slices(x, axis)
    for k in range(1, len(parts)):
        parts[k] = ufunc(parts[k - 1], parts[k])
    return REGISTRY["stack"](*parts, axis=axis % x.ndim) if parts else x


def outer(ufunc: Any, x: Any, y: Any, **keywords: Any) -> Any:
    """ufunc.outer: every element of x with every element of y."""
    x, y = as_array(x), as_array(y)
    return ufunc(reshape(x, shape=(*x.shape, *(1,) * y.ndim)), y, **keywords)


def reduceat(ufunc: Any, x: Any, indices: Any, axis: int = 0, dtype: Any = None) -> Any:
    """ufunc.reduceat: reductions of x[i:j] for neighbouring indices i < j, and x[i] where i >= j."""
    x = as_array(x, dtype)
    _require_axis(x, "reduceat")
    starts = [int(i) for i in np.asarray(indices)]
    length = x.shape[axis]
    wrong = next((i for i in starts if not 0 <= i < length), None)
    if wrong is not None:
        raise IndexError(f"index {wrong} out-of-bounds in {ufunc.__name__}.reduceat [0, {length})")
    before = (slice(None),) * (axis % x.ndim)
    if not starts:
        return x[(*before, slice(0, 0))]
    parts = []
    for start, stop in zip(starts, [*starts[1:], x.shape[axis]], strict=True):
        piece = (*before, slice(start, stop)) if start < stop else (*before, start)
        parts.append(ufunc.reduce(x[piece], axis=axis) if start < stop else x[piece])
    return REGISTRY["stack"](*parts, axis=axis % x.ndim)
