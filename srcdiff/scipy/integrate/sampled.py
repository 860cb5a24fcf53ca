"""Integrals of sampled functions."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import integrate

from srcdiff.functions.shaping import arrayed, as_axis
from srcdiff.scipy.boundaries import window
from srcdiff.scipy.signal.convolution import operands
from srcdiff.scipy.support import mirrors, number

__all__ = ["cumulative_simpson", "cumulative_trapezoid", "romb", "simpson", "trapezoid"]


@mirrors(integrate.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    return np.trapezoid(arrayed(y), x, dx, axis)


def _steps(y: Any, x: Any, dx: Any, axis: int) -> tuple[Any, Any]:
    """The samples along the last axis, and what is between them."""
    if x is None:
        return np.moveaxis(y, axis, -1), dx
    y, x = operands(y, x)
    if x.ndim == 1:
        steps = x[1:] - x[:-1]
    elif x.ndim == y.ndim:
        rows = np.moveaxis(x, axis, -1)
        steps = rows[..., 1:] - rows[..., :-1]
    else:
        raise ValueError("If given, shape of x must be 1-D or the same as y.")
    if steps.shape[-1] != y.shape[axis] - 1:
        raise ValueError("If given, length of x along axis must be the same as y.")
    return np.moveaxis(y, axis, -1), steps


@mirrors(integrate.cumulative_trapezoid)
def cumulative_trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Any:
    (y,) = operands(y)
    axis = as_axis(axis, y.ndim)
    if y.shape[axis] == 0:
        raise ValueError("At least one point is required along `axis`.")
    rows, steps = _steps(y, x, dx, axis)
    made = np.cumsum(steps * (rows[..., 1:] + rows[..., :-1]) * 0.5, axis=-1)
    if initial is not None:
        if initial != 0:
            raise ValueError("`initial` must be `None` or `0`.")
        made = np.concatenate([np.zeros((*made.shape[:-1], 1), made.dtype), made], axis=-1)
    return np.moveaxis(made, -1, axis)


@mirrors(integrate.simpson)
def simpson(y: Any, x: Any = None, *, dx: Any = 1.0, axis: int = -1) -> Any:
    (y,) = operands(y)
    axis = as_axis(axis, y.ndim)
    n = y.shape[axis]
    rows, steps = _steps(y, x, dx, axis)
    if n < 2:
        return np.sum(rows * 0.0, axis=-1)
    h = steps * np.ones(n - 1, y.dtype) if np.ndim(steps) == 0 else steps
    if n == 2:
        return np.sum(h * (rows[..., 1:] + rows[..., :-1]) * 0.5, axis=-1)
    # parabolas through three points each; with an even number of points the last interval has the one before it
    last, pairs = rows.ndim - 1, (n - 1) // 2 * 2
    first, second = h[..., 0:pairs:2], h[..., 1:pairs:2]
    f0, f1, f2 = rows[..., 0:pairs:2], rows[..., 1:pairs:2], rows[..., 2 : pairs + 1 : 2]
    whole = first + second
    total = np.sum(
        whole / 6.0 * ((2.0 - second / first) * f0 + whole**2 / (first * second) * f1 + (2.0 - first / second) * f2),
        axis=-1,
    )
    if n % 2:
        return total
    a, b = h[..., -2], h[..., -1]
    ends = [window(rows, last, n - k, 1)[..., 0] for k in (1, 2, 3)]
    total = total + (2.0 * b**2 + 3.0 * a * b) / (6.0 * (a + b)) * ends[0]
    return total + (b**2 + 3.0 * a * b) / (6.0 * a) * ends[1] - b**3 / (6.0 * a * (a + b)) * ends[2]


def _by_matrix(y: Any, matrix: Any, axis: int) -> Any:
    """A linear map of the samples, given by what SciPy makes of the unit vectors."""
    (y,) = operands(y)
    axis = as_axis(axis, y.ndim)
    made = np.matmul(np.moveaxis(y, axis, -1), matrix(y.shape[axis]))
    return np.moveaxis(made, -1, axis) if made.ndim == y.ndim else made


@mirrors(integrate.cumulative_simpson)
def cumulative_simpson(y: Any, *, x: Any = None, dx: Any = 1.0, axis: int = -1, initial: Any = None) -> Any:
    x, dx, initial = number(x, "x"), number(dx, "dx"), number(initial, "initial")
    return _by_matrix(y, lambda n: integrate.cumulative_simpson(np.eye(n), x=x, dx=dx, initial=initial), axis)


@mirrors(integrate.romb)
def romb(y: Any, dx: Any = 1.0, axis: int = -1) -> Any:
    return _by_matrix(y, lambda n: integrate.romb(np.eye(n)), axis) * dx
