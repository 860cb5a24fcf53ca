"""PyTorch's linear algebra. Matrices are the last two dimensions; stacks of them are allowed everywhere.

What is not here under its own rule is NumPy's function with PyTorch's signature; derivatives are those of
`ops.linalg` and `ops.decompositions`.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from srcdiff.errors import AutogradError
from srcdiff.functions import linalg as np_linalg
from srcdiff.functions import products as np_products
from srcdiff.ops import decompositions, reductions
from srcdiff.ops import elementwise as el
from srcdiff.ops import linalg as ops
from srcdiff.ops import shaping as shaping_ops
from srcdiff.ops.reductions import sum as sum_op
from srcdiff.ops.structural import reshape, swap, transpose
from srcdiff.torchlike import parts
from srcdiff.torchlike.norms import nuclear_norm, p_norm
from srcdiff.torchlike.products import cross_along
from srcdiff.torchlike.support import arrayed, in_dtype, lift, many_dims, numpy_keywords, one_dim, result, value_of

SlogdetResult = namedtuple("SlogdetResult", "sign logabsdet")
QRResult = namedtuple("QRResult", "Q R")
SVDResult = namedtuple("SVDResult", "U S Vh")
EighResult = namedtuple("EighResult", "eigenvalues eigenvectors")
EigResult = namedtuple("EigResult", "eigenvalues eigenvectors")
LstsqResult = namedtuple("LstsqResult", "solution residuals rank singular_values")
InvExResult = namedtuple("InvExResult", "inverse info")
CholeskyExResult = namedtuple("CholeskyExResult", "L info")

LinAlgError = np.linalg.LinAlgError


def _square(name: str, A: Any) -> Any:
    """Matrices, checked to be square and of floating-point or complex numbers."""
    x = arrayed(A)
    if x.ndim < 2:
        raise AutogradError(f"linalg.{name}: The input tensor A must have at least 2 dimensions.")
    if x.shape[-1] != x.shape[-2]:
        raise AutogradError(
            f"linalg.{name}: A must be batches of square matrices, but they are {x.shape[-2]} by {x.shape[-1]} matrices"
        )
    return _inexact(name, x)


def _inexact(name: str, x: Any) -> Any:
    if x.dtype.kind not in "fc":
        raise AutogradError(f"linalg.{name}: Expected a floating point or complex tensor as input. Got {x.dtype}")
    return x


# ------------------------------------------------------------------------------------------- determinants and inverses


def det(A: Any) -> Any:
    """The determinant."""
    return ops.det(_square("det", A))


def slogdet(A: Any) -> Any:
    """The sign of the determinant and the logarithm of its absolute value."""
    return SlogdetResult(*ops.slogdet(_square("slogdet", A)))


def logdet(input: Any) -> Any:
    """The logarithm of the determinant; NaN where it is negative."""
    sign, size = ops.slogdet(_square("logdet", input))
    return el.where(el.less(sign, 0), float("nan"), size) if size.dtype.kind == "f" else size


def inv(A: Any) -> Any:
    """The inverse. LinAlgError if a matrix is singular."""
    return ops.inv(_square("inv", A))


inverse = inv


def inv_ex(A: Any, *, check_errors: bool = False) -> Any:
    """The inverse, and 0 for each matrix (a singular one raises LinAlgError whatever `check_errors`)."""
    x = _square("inv_ex", A)
    return InvExResult(ops.inv(x), result(np.zeros(x.shape[:-2], np.int32), x))


@numpy_keywords
def pinv(A: Any, *, atol: Any = None, rtol: Any = None, rcond: Any = None, hermitian: bool = False) -> Any:
    """The pseudoinverse: singular values up to `rtol` times the largest count as 0."""
    x = _inexact("pinv", arrayed(A))
    if atol is not None:
        raise AutogradError("linalg.pinv: atol is not supported, use rtol")
    given = rtol if rtol is not None else rcond
    return np_linalg.pinv(x, max(x.shape[-2:]) * float(np.finfo(x.dtype).eps) if given is None else value_of(given))


def pinverse(input: Any, rcond: float = 1e-15) -> Any:
    """The pseudoinverse."""
    return pinv(input, rtol=rcond)


def solve(A: Any, B: Any, *, left: bool = True) -> Any:
    """X with A X = B (X A = B unless `left`); B is one vector, a vector for each matrix, or matrices."""
    x, y = _square("solve", A), arrayed(B)
    if not left:
        return swap(solve(swap(x), swap(y)))
    if y.ndim == 1 or (y.ndim == x.ndim - 1 and y.shape == x.shape[:-1]):
        if y.ndim == 1:
            return ops.solve(x, y)
        made = ops.solve(x, reshape(y, shape=(*y.shape, 1)))
        return reshape(made, shape=made.shape[:-1])
    return ops.solve(x, y)


def solve_triangular(A: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    """X with A X = B (X A = B unless `left`) for triangular A, of which one triangle is read."""
    x, y = _square("solve_triangular", A), arrayed(B)
    if not left:
        return swap(solve_triangular(swap(x), swap(y), upper=not upper, unitriangular=unitriangular))
    return ops.solve_triangular(x, y, lower=not upper, unit=unitriangular)


def lstsq(A: Any, B: Any, rcond: Any = None, *, driver: Any = None) -> Any:
    """The least squares solution of A X = B, with residuals, rank and singular values."""
    return LstsqResult(*np_linalg.lstsq(arrayed(A), arrayed(B), rcond))


def matrix_power(A: Any, n: int) -> Any:
    """The n-th power of square matrices; negative powers are those of the inverse."""
    x = _square("matrix_power", A)
    return (
        np_linalg.matrix_power(x, n) if n else el.where(np.eye(x.shape[-1], dtype=bool), 1.0, el.where(False, x, 0.0))
    )


def matrix_exp(A: Any) -> Any:
    """The matrix exponential."""
    return decompositions.expm(_square("matrix_exp", A))


def multi_dot(tensors: Any) -> Any:
    """The product of several matrices, in the cheapest order."""
    return np_products.multi_dot(list(map(lift, tensors)))


def matrix_rank(A: Any, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    """How many singular values count as nonzero."""
    x = arrayed(A)
    return result(np.linalg.matrix_rank(value_of(x), value_of(atol), hermitian, rtol=value_of(rtol)), x)


def cond(A: Any, p: Any = None) -> Any:
    """The condition number: the p-norm of a matrix times that of its inverse."""
    x = arrayed(A)
    if p in (None, 2, -2):
        s = svdvals(x)
        largest = reductions.max_(s, axis=(s.ndim - 1,), keepdims=False)
        smallest = reductions.min_(s, axis=(s.ndim - 1,), keepdims=False)
        return smallest / largest if p == -2 else largest / smallest
    return matrix_norm(x, p) * matrix_norm(inv(x), p)


# ------------------------------------------------------------------------------------------------------ decompositions


def cholesky(A: Any, *, upper: bool = False) -> Any:
    """The triangular factor L with L L^H = A (or U with U^H U = A). LinAlgError if A is not positive definite."""
    made = decompositions.cholesky(_square("cholesky", A))
    return ops.adjoint(made) if upper else made


def cholesky_ex(A: Any, *, upper: bool = False, check_errors: bool = False) -> Any:
    """The triangular factor, and 0 for each matrix (others than positive definite ones raise LinAlgError)."""
    made = cholesky(A, upper=upper)
    return CholeskyExResult(made, result(np.zeros(made.shape[:-2], np.int32), made))


def cholesky_solve(input: Any, L: Any, upper: bool = False) -> Any:
    """X with (L L^H) X = input, given the factor."""
    y, factor = arrayed(input), arrayed(L)
    lower = ops.adjoint(factor) if upper else factor
    half = ops.solve_triangular(lower, y, lower=True, unit=False)
    return ops.solve_triangular(ops.adjoint(lower), half, lower=False, unit=False)


def cholesky_inverse(L: Any, upper: bool = False) -> Any:
    """The inverse of L L^H, given the factor."""
    factor = arrayed(L)
    return cholesky_solve(np.eye(factor.shape[-1], dtype=factor.dtype), factor, upper)


def qr(A: Any, mode: str = "reduced") -> Any:
    """Q with orthonormal columns and upper triangular R with Q R = A; mode "reduced", "complete" or "r"."""
    x = _inexact("qr", arrayed(A))
    if mode == "r":
        return QRResult(result(np.zeros(0, x.dtype), x), decompositions.qr(x)[1])
    if mode not in ("reduced", "complete"):
        raise AutogradError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    return QRResult(
        *(decompositions.qr(x) if mode == "reduced" or x.shape[-2] <= x.shape[-1] else decompositions.qr_complete(x))
    )


def svd(A: Any, full_matrices: bool = True, *, driver: Any = None) -> Any:
    """U, the singular values in descending order, and V^H with U diag(S) V^H = A."""
    return SVDResult(*np_linalg.svd(_inexact("svd", arrayed(A)), full_matrices))


def svdvals(A: Any, *, driver: Any = None) -> Any:
    """The singular values, in descending order."""
    return decompositions.svd(_inexact("svdvals", arrayed(A)))[1]


def eigh(A: Any, UPLO: str = "L") -> Any:
    """The eigenvalues, ascending, and eigenvectors of Hermitian matrices, of which one triangle is read."""
    return EighResult(*decompositions.eigh(_square("eigh", A), uplo=UPLO.upper()))


def eigvalsh(A: Any, UPLO: str = "L") -> Any:
    """The eigenvalues, ascending, of Hermitian matrices."""
    return decompositions.eigh(_square("eigvalsh", A), uplo=UPLO.upper())[0]


def eig(A: Any) -> Any:
    """The eigenvalues and eigenvectors, complex."""
    return EigResult(*decompositions.eig(_square("eig", A)))


def eigvals(A: Any) -> Any:
    """The eigenvalues, complex."""
    return decompositions.eig(_square("eigvals", A))[0]


# --------------------------------------------------------------------------------------------------------------- norms


@numpy_keywords
def norm(A: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The 2-norm of all elements; with `ord` a vector norm over one dimension, a matrix norm over two."""
    x = in_dtype(arrayed(A), dtype)
    if ord is None:
        return p_norm(x, 2, many_dims(dim, x.ndim), keepdim)
    matrix = isinstance(ord, str) or (x.ndim == 2 if dim is None else isinstance(dim, (tuple, list)) and len(dim) == 2)
    if not matrix:
        if dim is None and x.ndim > 1:
            raise AutogradError("linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
                                f"{x.ndim}D.")  # fmt: skip
        return vector_norm(x, ord, dim, keepdim)
    return matrix_norm(x, ord, (-2, -1) if dim is None else dim, keepdim)


@numpy_keywords
def vector_norm(x: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """The ord-norm of the elements over dimensions, or of all."""
    x = in_dtype(arrayed(x), dtype)
    return p_norm(x, ord, many_dims(dim, x.ndim), keepdim)


@numpy_keywords
def matrix_norm(A: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None) -> Any:
    """A matrix norm: "fro", "nuc", 2 and -2 (singular values), 1 and -1 (columns), inf and -inf (rows)."""
    x = in_dtype(arrayed(A), dtype)
    rows, columns = (one_dim(d, x.ndim) for d in dim)
    if ord == "fro":
        return p_norm(x, 2, many_dims(dim, x.ndim), keepdim)
    if ord == "nuc":
        return nuclear_norm(x, dim, keepdim)
    if ord not in (1, -1, 2, -2, np.inf, -np.inf):
        raise AutogradError(f"linalg.matrix_norm: Order {ord} not supported.")
    extreme = reductions.max_ if ord > 0 else reductions.min_
    order = (*(k for k in range(x.ndim) if k not in (rows, columns)), rows, columns)
    last = x if order == tuple(range(x.ndim)) else transpose(x, axes=order)
    if abs(ord) == 2:
        found = svdvals(last)
    else:
        found = sum_op(el.absolute(last), axis=(x.ndim - 2 if abs(ord) == 1 else x.ndim - 1,), keepdims=False)
    made = extreme(found, axis=(found.ndim - 1,), keepdims=False)
    return (
        reshape(made, shape=tuple(1 if k in (rows, columns) else n for k, n in enumerate(x.shape))) if keepdim else made
    )


# -------------------------------------------------------------------------------------------------- vectors and others


def cross(input: Any, other: Any, *, dim: int = -1) -> Any:
    """The vector product along a dimension."""
    x, y = arrayed(input), arrayed(other)
    if x.ndim != y.ndim:
        raise AutogradError("linalg.cross: inputs must have the same number of dimensions.")
    return cross_along(x, y, dim)


def vecdot(x: Any, y: Any, *, dim: int = -1) -> Any:
    """The sum over a dimension of the products of the conjugate of x and y."""
    product = el.conj(arrayed(x)) * arrayed(y)
    return sum_op(product, axis=(one_dim(dim, product.ndim),), keepdims=False)


def diagonal(A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """The diagonals of matrices."""
    return parts.diagonal(A, offset, dim1, dim2)


def tensorinv(A: Any, ind: int = 2) -> Any:
    """The inverse for `tensordot(A, x, ind)`."""
    return np_linalg.tensorinv(arrayed(A), ind)


def tensorsolve(A: Any, B: Any, dims: Any = None) -> Any:
    """X with `tensordot(A, X, X.ndim)` = B."""
    return np_linalg.tensorsolve(arrayed(A), arrayed(B), dims)


def vander(x: Any, *, N: int | None = None) -> Any:
    """The powers 0 to N - 1 of the elements, along a new last dimension."""
    v = arrayed(x)
    count = v.shape[-1] if N is None else N
    return shaping_ops.stack(*(v**k if k else el.where(False, v, 1.0) for k in range(count)), axis=v.ndim)
