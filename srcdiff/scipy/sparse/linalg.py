"""`srcdiff.scipy.sparse.linalg`: equations with a constant sparse matrix, differentiated in the right-hand side.

What SciPy solves by iteration is differentiated as the exact solution; the iteration gives the value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import linalg as _original

from srcdiff.functions.dispatch import like, plain
from srcdiff.functions.shaping import arrayed
from srcdiff.ops.sparse import sparse_solve
from srcdiff.scipy.support import mirrors, needs_gradient, rest_of, unsupported

__all__ = ["bicg", "bicgstab", "cg", "cgs", "gmres", "lgmres", "minres", "qmr", "spsolve", "spsolve_triangular"]

__getattr__ = rest_of(_original)


def _solved(a: Any, b: Any) -> Any:
    if needs_gradient(a):
        raise unsupported("scipy.sparse.linalg: a dense matrix under differentiation (use scipy.linalg.solve) as A")
    rows = sparse.csr_array(a)
    if rows.shape[0] != rows.shape[1]:
        raise ValueError(f"matrix must be square (has shape {rows.shape})")
    return sparse_solve(arrayed(b), rows.data, rows.indices, rows.indptr, transposed=False)


@mirrors(_original.spsolve)
def spsolve(A: Any, b: Any) -> Any:
    made = _solved(A, b)
    return np.reshape(made, (-1,)) if made.ndim == 2 and made.shape[1] == 1 else made


@mirrors(_original.spsolve_triangular)
def spsolve_triangular(A: Any, b: Any, lower: bool = True, unit_diagonal: bool = False) -> Any:
    if unit_diagonal:
        A = sparse.csr_array(A)
        A = (sparse.tril(A, -1) if lower else sparse.triu(A, 1)) + sparse.eye(A.shape[0])
    return _solved(sparse.tril(A) if lower else sparse.triu(A), b)


def _iterative(name: str) -> Any:
    original = getattr(_original, name)

    def solve(A: Any, b: Any, *args: Any, **options: Any) -> Any:
        value, info = original(A, plain(b), *args, **options)
        if not needs_gradient(b):
            return like(value, b), info
        exact = _solved(A, np.reshape(arrayed(b), (-1,)))
        return exact + (value - plain(exact)), info

    return mirrors(original)(solve)


cg, cgs, bicg, bicgstab = map(_iterative, "cg cgs bicg bicgstab".split())
gmres, lgmres, minres, qmr = map(_iterative, "gmres lgmres minres qmr".split())
