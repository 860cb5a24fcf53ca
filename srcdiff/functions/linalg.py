"""numpy.linalg: inverses, solutions, determinants and decompositions."""

from __future__ import annotations

import operator
from math import prod
from typing import Any, NamedTuple

import numpy as np

from srcdiff.aval import aval
from srcdiff.errors import UnsupportedError
from srcdiff.functions.dispatch import implements, like, no_value, plain
from srcdiff.functions.joining import stack
from srcdiff.functions.shaping import arrayed, as_axes, reshape
from srcdiff.ops import decompositions as parts
from srcdiff.ops import linalg as ops
from srcdiff.ops.elementwise import conj, real
from srcdiff.ops.reductions import sum
from srcdiff.ops.structural import transpose


class EighResult(NamedTuple):
    """Eigenvalues and eigenvectors."""

    eigenvalues: Any
    eigenvectors: Any


class EigResult(NamedTuple):
    """Eigenvalues and eigenvectors."""

    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    """The factors of A = Q R."""

    Q: Any
    R: Any


class SVDResult(NamedTuple):
    """The factors of A = U diag(S) Vh."""

    U: Any
    S: Any
    Vh: Any


class SlogdetResult(NamedTuple):
    """The sign and the logarithm of the absolute value of a determinant."""

    sign: Any
    logabsdet: Any


def matrices(a: Any) -> Any:
    """A stack of matrices; LinAlgError otherwise, as in NumPy."""
    a = arrayed(a)
    if a.ndim < 2:
        raise np.linalg.LinAlgError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
    return a


def square(a: Any) -> Any:
    """A stack of square matrices; LinAlgError otherwise, as in NumPy."""
    a = matrices(a)
    if a.shape[-1] != a.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    return a


def lower_half(a: Any) -> Any:
    """The Hermitian matrices with the lower triangles of a, which is all that NumPy reads of a Hermitian matrix."""
    low = np.tril(a, -1)
    return low + ops.adjoint(low) + np.triu(np.tril(np.real(a)))


# -------------------------------------------------------------------------------------------------- inverses, solutions


@implements(np.linalg.inv)
def inv(a: Any) -> Any:
    return ops.inv(square(a))


@implements(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = no_value) -> Any:
    a = lower_half(square(a)) if hermitian else matrices(a)
    if rcond is not None and rtol is not no_value:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    if rcond is None:
        if rtol is no_value:
            rcond = 1e-15
        else:
            eps = np.finfo(ops.real_dtype(np.dtype(np.result_type(a.dtype, np.float32)))).eps
            rcond = rtol if rtol is not None else max(a.shape[-2:]) * float(eps)
    limits = np.asarray(plain(rcond))
    if not limits.ndim:
        return ops.pinv(a, rcond=float(limits))
    outer = tuple(a.shape[:-2])
    limits = np.broadcast_to(limits, outer)
    found = [ops.pinv(a[k], rcond=float(limits[k])) for k in np.ndindex(*outer)]
    return reshape(stack(found), (*outer, a.shape[-1], a.shape[-2])) if found else ops.pinv(a, rcond=0.0)


@implements(np.linalg.solve)
def solve(a: Any, b: Any) -> Any:
    return ops.solve(square(a), arrayed(b))


@implements(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    a, b = arrayed(a), arrayed(b)
    if axes is not None:
        last = as_axes(axes, a.ndim)
        a = transpose(a, axes=(*(k for k in range(a.ndim) if k not in last), *last))
    shape = tuple(a.shape[b.ndim :])
    if prod(shape) ** 2 != prod(a.shape):
        raise np.linalg.LinAlgError("tensorsolve: a must be square, prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])")
    return reshape(solve(reshape(a, (-1, prod(shape))), reshape(b, -1)), shape)


@implements(np.linalg.tensorinv)
def tensorinv(a: Any, ind: int = 2) -> Any:
    a = arrayed(a)
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    first, last = tuple(a.shape[:ind]), tuple(a.shape[ind:])
    return reshape(inv(reshape(a, (prod(last), -1))), (*last, *first))


@implements(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    a, b = arrayed(a), arrayed(b)
    if a.ndim != 2 or b.ndim not in (1, 2):
        raise np.linalg.LinAlgError("lstsq: a must be a matrix, b a vector or a matrix")
    m, n = a.shape
    if b.shape[0] != m:
        raise np.linalg.LinAlgError("Incompatible dimensions")
    eps = float(np.finfo(ops.real_dtype(ops.working_dtype(aval((), np.dtype(a.dtype))))).eps)
    limit = eps * max(m, n) if rcond is None else eps if rcond < 0 else float(rcond)
    x = ops.matmul(ops.pinv(a, rcond=limit), b)
    s = svdvals(a)
    rank = int(np.count_nonzero(plain(s) > limit * np.max(plain(s), initial=0.0)))
    if rank != n or m <= n:
        residuals: Any = np.zeros(0, plain(s).dtype)
    else:
        error = b - ops.matmul(a, x)
        residuals = reshape(sum(real(error * conj(error)), axis=(0,), keepdims=False), -1)
    return x, residuals, rank, s


@implements(np.linalg.matrix_power)
def matrix_power(a: Any, n: Any) -> Any:
    a, n = square(a), operator.index(n)
    if n == 0:
        one = np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape).copy()
        return like(one, a)
    if n < 0:
        a, n = inv(a), -n
    if n == 3:
        return ops.matmul(ops.matmul(a, a), a)
    made, power = None, a
    while True:
        if n & 1:
            made = power if made is None else ops.matmul(made, power)
        n >>= 1
        if not n:
            return made
        power = ops.matmul(power, power)


# ----------------------------------------------------------------------------------------------- determinants and ranks


@implements(np.linalg.det)
def det(a: Any) -> Any:
    return ops.det(square(a))


@implements(np.linalg.slogdet)
def slogdet(a: Any) -> Any:
    return SlogdetResult(*ops.slogdet(square(a)))


@implements(np.linalg.matrix_rank)
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    return like(np.asarray(np.linalg.matrix_rank(plain(A), plain(tol), hermitian, rtol=plain(rtol))), A)


# ------------------------------------------------------------------------------------------------------- decompositions


@implements(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    a = square(a)
    return ops.adjoint(parts.cholesky(ops.adjoint(a))) if upper else parts.cholesky(a)


@implements(np.linalg.qr)
def qr(a: Any, mode: Any = "reduced") -> Any:
    a = matrices(a)
    if mode == "r":
        return parts.qr(a)[1]
    if mode == "reduced" or (mode == "complete" and a.shape[-2] <= a.shape[-1]):
        return QRResult(*parts.qr(a))
    if mode == "complete":
        return QRResult(*parts.qr_complete(a))
    if mode == "raw":
        raise UnsupportedError("qr: mode='raw' is not supported on Tensors")
    raise ValueError(f"Unrecognized mode '{mode}'")


@implements(np.linalg.svd)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    if hermitian:
        return _hermitian_svd(a, compute_uv)
    a = matrices(a)
    if not compute_uv:
        return svdvals(a)
    if full_matrices and a.shape[-1] != a.shape[-2]:
        return SVDResult(*parts.svd_full(a))
    return SVDResult(*parts.svd(a))


def _hermitian_svd(a: Any, compute_uv: bool) -> Any:
    """The singular values and vectors of a Hermitian matrix, from its eigenvalues and eigenvectors as in NumPy."""
    if not compute_uv:
        sizes = np.abs(eigvalsh(a))
        return np.sort(sizes, axis=-1)[..., ::-1]
    values, vectors = eigh(a)
    order = np.argsort(np.abs(plain(values)), axis=-1)[..., ::-1]
    values = np.take_along_axis(values, order, axis=-1)
    vectors = np.take_along_axis(vectors, order[..., None, :], axis=-1)
    signs = np.sign(plain(values))[..., None, :]
    return SVDResult(vectors, np.abs(values), ops.adjoint(vectors * signs))


@implements(np.linalg.svdvals)
def svdvals(x: Any, /) -> Any:
    return parts.svd(matrices(x))[1]


def _triangle(UPLO: Any) -> str:
    uplo = str(UPLO).upper()
    if uplo not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return uplo


@implements(np.linalg.eigh)
def eigh(a: Any, UPLO: Any = "L") -> Any:
    return EighResult(*parts.eigh(square(a), uplo=_triangle(UPLO)))


@implements(np.linalg.eigvalsh)
def eigvalsh(a: Any, UPLO: Any = "L") -> Any:
    return parts.eigh(square(a), uplo=_triangle(UPLO))[0]


#: before version 2.5, NumPy gave real results where all eigenvalues of a real matrix are real
_REAL_EIGENVALUES = np.linalg.eigvals(np.eye(1)).dtype.kind == "f"


@implements(np.linalg.eig)
def eig(a: Any) -> Any:
    a = square(a)
    w, v = parts.eig(a)
    if _REAL_EIGENVALUES and a.dtype.kind != "c" and not np.any(plain(w).imag):
        w, v = real(w), real(v)
    return EigResult(w, v)


@implements(np.linalg.eigvals)
def eigvals(a: Any) -> Any:
    return eig(a)[0]
