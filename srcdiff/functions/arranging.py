"""NumPy's functions that move elements within an array, and those about its diagonals and triangles."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.functions.dispatch import implements, plain
from srcdiff.functions.shaping import arrayed, as_axes, as_axis, broadcast_to, ravel, reshape, swapaxes
from srcdiff.ops import shaping as ops
from srcdiff.ops.structural import cast

# ------------------------------------------------------------------------------------------------------------- flipping


@implements(np.flip)
def flip(m: Any, axis: Any = None) -> Any:
    m = arrayed(m)
    axes = tuple(range(m.ndim)) if axis is None else tuple(sorted(as_axes(axis, m.ndim)))
    return ops.flip(m, axis=axes[0] if len(axes) == 1 else axes)


@implements(np.fliplr)
def fliplr(m: Any) -> Any:
    if arrayed(m).ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return flip(m, 1)


@implements(np.flipud)
def flipud(m: Any) -> Any:
    if arrayed(m).ndim < 1:
        raise ValueError("Input must be >= 1-d.")
    return flip(m, 0)


@implements(np.rot90)
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    m = arrayed(m)
    if len(tuple(axes)) != 2:
        raise ValueError("len(axes) must be 2.")
    first, second = as_axes(axes, m.ndim, "axes")
    k %= 4
    if k == 0:
        return m
    if k == 2:
        return flip(m, (first, second))
    return swapaxes(flip(m, second), first, second) if k == 1 else flip(swapaxes(m, first, second), second)


@implements(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    a = arrayed(a)
    if axis is None:
        return reshape(roll(ravel(a), shift, 0), a.shape)
    shifts, axes = np.broadcast_arrays(np.atleast_1d(plain(shift)), np.atleast_1d(axis))
    if shifts.ndim > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    where = tuple(as_axis(int(k), a.ndim) for k in axes)
    return _rolled(a, tuple(int(s) for s in shifts), where)


def _rolled(x: Any, shift: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    return ops.roll(x, shift=shift[0], axis=axes[0]) if len(axes) == 1 else ops.roll(x, shift=shift, axis=axes)


@implements(np.fft.fftshift)
def fftshift(x: Any, axes: Any = None) -> Any:
    x = arrayed(x)
    where = tuple(range(x.ndim)) if axes is None else as_axes(axes, x.ndim)
    return _rolled(x, tuple(x.shape[k] // 2 for k in where), where)


@implements(np.fft.ifftshift)
def ifftshift(x: Any, axes: Any = None) -> Any:
    x = arrayed(x)
    where = tuple(range(x.ndim)) if axes is None else as_axes(axes, x.ndim)
    return _rolled(x, tuple(-(x.shape[k] // 2) for k in where), where)


# ------------------------------------------------------------------------------------------------- diagonals, triangles


@implements(np.diagonal, method="diagonal")
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    a = arrayed(a)
    if a.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    first, second = as_axes((axis1, axis2), a.ndim, "axis1, axis2")
    return ops.diagonal(a, offset=int(offset), axis1=first, axis2=second)


@implements(np.linalg.diagonal)
def matrix_diagonal(x: Any, *, offset: int = 0) -> Any:
    return diagonal(x, offset, -2, -1)


@implements(np.trace, method="trace")
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    a = arrayed(a)
    if a.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    first, second = as_axes((axis1, axis2), a.ndim, "axis1, axis2")
    a = a if dtype is None else cast(a, dtype=np.dtype(dtype))
    made = ops.trace(a, offset=int(offset), axis1=first, axis2=second)
    return made if dtype is None else cast(made, dtype=np.dtype(dtype))


@implements(np.linalg.trace)
def matrix_trace(x: Any, *, offset: int = 0, dtype: Any = None) -> Any:
    return trace(x, offset, -2, -1, dtype)


@implements(np.diag)
def diag(v: Any, k: int = 0) -> Any:
    v = arrayed(v)
    if v.ndim == 2:
        return diagonal(v, k)
    if v.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    return ops.diag(v, k=int(k))


@implements(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Any:
    return diag(ravel(v), k)


@implements(np.tril)
def tril(m: Any, k: int = 0) -> Any:
    return ops.tril(_rows(m), k=int(k))


@implements(np.triu)
def triu(m: Any, k: int = 0) -> Any:
    return ops.triu(_rows(m), k=int(k))


def _rows(m: Any) -> Any:
    """NumPy makes a square matrix of a vector by repeating it."""
    m = arrayed(m)
    return m if m.ndim != 1 else broadcast_to(m, (m.shape[0], m.shape[0]))
