"""Products with a constant sparse matrix, given in compressed rows, and solutions of equations with one."""

from __future__ import annotations

import numpy as np

from srcdiff.aval import Aval, aval
from srcdiff.core.primitive import Primitive
from srcdiff.errors import ShapeError
from srcdiff.ops.elementwise import conj
from srcdiff.ops.families import linear

Shape = tuple[int, int]


def _product(x: Aval, data: Aval, indices: Aval, indptr: Aval, *, shape: Shape, transposed: bool) -> Aval:
    rows, columns = shape[::-1] if transposed else shape
    if x.ndim not in (1, 2) or x.shape[0] != columns:
        raise ShapeError(f"sparse matrix of shape {(rows, columns)} @ {x}: the inner sizes differ")
    return aval((rows, *x.shape[1:]), np.result_type(data.dtype, x.dtype))


def _solution(x: Aval, data: Aval, indices: Aval, indptr: Aval, *, transposed: bool) -> Aval:
    n = indptr.shape[0] - 1
    if x.ndim not in (1, 2) or x.shape[0] != n:
        raise ShapeError(f"sparse matrix of shape {(n, n)}: the right-hand side {x} does not fit")
    return aval(x.shape, np.result_type(data.dtype, x.dtype, np.float64))


#: the matrix (its transpose if `transposed`) @ x, for x of one axis or two
sparse_product: Primitive = linear(
    "sparse_product", "x data indices indptr", "rt.sparse_product(x, data, indices, indptr, shape, transposed)",
    lambda ct, out, x, data, indices, indptr, *, shape, transposed: sparse_product(
        ct, conj(data), indices, indptr, shape=shape, transposed=not transposed
    ),
    infer=_product, params="shape transposed", label="SparseMm", saves="data indices indptr",
)  # fmt: skip
#: the solution z of the matrix (its transpose if `transposed`) @ z = x
sparse_solve: Primitive = linear(
    "sparse_solve", "x data indices indptr", "rt.sparse_solve(x, data, indices, indptr, transposed)",
    lambda ct, out, x, data, indices, indptr, *, transposed: sparse_solve(
        ct, conj(data), indices, indptr, transposed=not transposed
    ),
    infer=_solution, params="transposed", label="SparseSolve", saves="data indices indptr",
)  # fmt: skip
