"""Norms and condition numbers of vectors and matrices."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from srcdiff.functions.dispatch import implements
from srcdiff.functions.linalg import inv, matrices, svdvals
from srcdiff.functions.shaping import arrayed, as_axes, reshape
from srcdiff.ops import linalg as ops
from srcdiff.ops.structural import cast, transpose


def _p_norm(x: Any, p: float, axis: int, keepdims: bool) -> Any:
    """The p-norm along one axis; where it is 0 so is its gradient."""
    total = np.sum(np.abs(x) ** p, axis=axis, keepdims=keepdims)
    zero = np.equal(total, 0.0)
    return np.where(zero, 0.0, np.where(zero, 1.0, total) ** (1.0 / p))


def _along(x: Any, ord: Any, axis: int, keepdims: bool) -> Any:
    """A norm of the vectors along one axis."""
    if ord is None or ord == 2:
        return ops.norm(x, axis=axis, keepdims=keepdims)
    if ord == np.inf:
        return np.max(np.abs(x), axis=axis, keepdims=keepdims)
    if ord == -np.inf:
        return np.min(np.abs(x), axis=axis, keepdims=keepdims)
    if ord == 0:
        made = np.sum(np.not_equal(x, 0), axis=axis, keepdims=keepdims)
        return cast(made, dtype=ops.real_dtype(np.dtype(x.dtype)))
    if ord == 1:
        return np.sum(np.abs(x), axis=axis, keepdims=keepdims)
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    return _p_norm(x, float(ord), axis, keepdims)


def _of_matrices(x: Any, ord: Any, rows: int, columns: int, keepdims: bool) -> Any:
    """A norm of the matrices that two axes make up."""
    if ord in (None, "fro", "f"):
        return ops.norm(x, axis=(rows, columns), keepdims=keepdims)
    if ord in (1, -1, np.inf, -np.inf):
        inner, outer = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = np.sum(np.abs(x), axis=inner, keepdims=True)
        made: Any = (np.max if ord > 0 else np.min)(sums, axis=outer, keepdims=True)
    elif ord in (2, -2, "nuc"):
        rest = tuple(k for k in range(x.ndim) if k not in (rows, columns))
        s = svdvals(transpose(x, axes=(*rest, rows, columns)))
        reduce: Any = {2: np.max, -2: np.min, "nuc": np.sum}[ord]
        made = reduce(s, axis=-1)
        made = reshape(made, tuple(1 if k in (rows, columns) else n for k, n in enumerate(x.shape)))
    else:
        raise ValueError(f"Invalid norm order {ord!r} for matrices.")
    return made if keepdims else reshape(made, tuple(n for k, n in enumerate(x.shape) if k not in (rows, columns)))


@implements(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    x = arrayed(x)
    if x.dtype.kind not in "fc":
        x = cast(x, dtype=np.dtype(float))
    keepdims = bool(keepdims)
    if axis is None:
        if ord is None or (ord in ("f", "fro") and x.ndim == 2) or (ord == 2 and x.ndim == 1):
            made = ops.norm(x if x.ndim < 3 else reshape(x, -1), axis=None, keepdims=False)
            return reshape(made, (1,) * x.ndim) if keepdims else made
        axes: tuple[int, ...] = tuple(range(x.ndim))
    else:
        axes = as_axes(axis, x.ndim)
    if len(axes) == 1:
        return _along(x, ord, axes[0], keepdims)
    if len(axes) == 2:
        return _of_matrices(x, ord, *axes, keepdims)
    raise ValueError("Improper number of dimensions to norm.")


@implements(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    return norm(x, ord, (-2, -1), keepdims)


@implements(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    x = arrayed(x)
    if x.dtype.kind not in "fc":
        x = cast(x, dtype=np.dtype(float))
    axes = tuple(range(x.ndim)) if axis is None else as_axes(axis, x.ndim)
    rest = tuple(k for k in range(x.ndim) if k not in axes)
    flat = reshape(transpose(x, axes=(*axes, *rest)), (-1, *(x.shape[k] for k in rest)))
    made = _along(flat, ord, 0, False)
    return reshape(made, tuple(1 if k in axes else n for k, n in enumerate(x.shape))) if keepdims else made


@implements(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Any:
    x = matrices(x)
    if not prod(x.shape):
        raise np.linalg.LinAlgError("cond is not defined on empty arrays")
    if p in (None, 2, -2):
        s = svdvals(x)
        large, small = s[..., 0], s[..., -1]
        return small / large if p == -2 else large / small
    return norm(x, p, (-2, -1)) * norm(inv(x), p, (-2, -1))
