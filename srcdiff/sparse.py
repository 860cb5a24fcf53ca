"""Products of Tensors with SciPy's sparse matrices, which are constants: `matrix @ x`, `x @ matrix`.

A sparse matrix on the left makes an array of x first. The answer to that is an object (`boxed`), for which SciPy leaves
the product to x.
"""

from __future__ import annotations

import sys
from math import prod
from types import FrameType
from typing import Any

import numpy as np

from srcdiff.ops.linalg import matmul
from srcdiff.ops.sparse import sparse_product
from srcdiff.ops.structural import reshape, swap


def is_sparse(y: Any) -> bool:
    """Whether y is a sparse matrix or array of SciPy's; does not import SciPy."""
    module = sys.modules.get("scipy.sparse")
    return module is not None and bool(module.issparse(y))


def times(matrix: Any, x: Any, transposed: bool = False) -> Any:
    """`matrix @ x`, or that of its transpose."""
    if matrix.ndim != 2:
        dense = matrix.toarray()
        return matmul(dense, x)
    rows = matrix.tocsr()
    return sparse_product(
        x, rows.data, rows.indices, rows.indptr, shape=tuple(map(int, rows.shape)), transposed=transposed
    )


def from_left(x: Any, y: Any) -> Any:
    """`y @ x`, for a sparse y; NotImplemented for anything else."""
    return times(y, x) if is_sparse(y) else NotImplemented


def from_right(x: Any, y: Any) -> Any:
    """`x @ y`, for a sparse y; NotImplemented for anything else."""
    if not is_sparse(y):
        return NotImplemented
    if x.ndim == 1 or y.ndim == 1:
        return times(y, x, True) if y.ndim == 2 else matmul(x, y.toarray())
    flat = reshape(x, shape=(prod(x.shape[:-1]), x.shape[-1])) if x.ndim > 2 else x
    made = swap(times(y, swap(flat), True))
    return reshape(made, shape=(*x.shape[:-1], y.shape[1])) if x.ndim > 2 else made


def star_from_left(x: Any, y: Any) -> Any:
    """`y * x` for a sparse matrix (not array) y, whose `*` is the matrix product."""
    return times(y, x) if _is_matrix(y) else NotImplemented


def star_from_right(x: Any, y: Any) -> Any:
    """`x * y` for a sparse matrix (not array) y."""
    return from_right(x, y) if _is_matrix(y) else NotImplemented


def _is_matrix(y: Any) -> bool:
    return is_sparse(y) and bool(sys.modules["scipy.sparse"].isspmatrix(y))


def answer(frame: FrameType, x: Any) -> np.ndarray[Any, Any] | None:
    """What SciPy gets for the array of x, if it asks because it is about to multiply a sparse matrix with x."""
    code = frame.f_code
    if not str(frame.f_globals.get("__name__", "")).startswith("scipy.sparse"):
        return None
    if code.co_name == "_matmul_dispatch":
        return boxed(x)
    matrix = frame.f_locals.get("self")
    if code.co_name == "dot" and 0 < x.ndim < 3 and getattr(matrix, "ndim", 3) < 3:
        return np.empty(x.shape, object)  # looked at only if x had no shape; then comes `matrix @ x`
    return None


def boxed(x: Any) -> np.ndarray[Any, Any]:
    """x as an array of one object."""
    box: np.ndarray[Any, Any] = np.empty((), object)
    box[()] = x
    return box
