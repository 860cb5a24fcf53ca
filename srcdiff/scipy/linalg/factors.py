"""Factorisations, and solutions from the factors."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from srcdiff.functions.dispatch import like, plain
from srcdiff.functions.linalg import qr as numpy_qr
from srcdiff.functions.linalg import svd as numpy_svd
from srcdiff.ops import decompositions as parts
from srcdiff.ops import linalg as ops
from srcdiff.ops import matrix_functions as more
from srcdiff.ops.linalg import adjoint
from srcdiff.scipy.linalg.matrices import inexact, matrices, square, transposed, triangle
from srcdiff.scipy.linalg.solving import by_columns, hermitian_from_bands
from srcdiff.scipy.support import mirrors, unsupported

__all__ = [
    "cho_factor", "cho_solve", "cho_solve_banded", "cholesky", "cholesky_banded", "lu", "lu_factor", "lu_solve",
    "orthogonal_procrustes", "polar", "qr", "rq", "svd", "svdvals",
]  # fmt: skip

# ---------------------------------------------------------------------------------------------------------- Cholesky


def lower_factor(a: Any, lower: Any) -> Any:
    """The lower Cholesky factor of the Hermitian matrices with that triangle."""
    return parts.cholesky(a if lower else adjoint(a))


@mirrors(linalg.cholesky)
def cholesky(a: Any, lower: Any = False) -> Any:
    made = lower_factor(square(a), lower)
    return made if lower else adjoint(made)


#: before version 1.18, SciPy left what was given in the triangle that has no meaning
_OTHER_TRIANGLE_STAYS = bool(linalg.cho_factor(np.array([[2.0, 1.0], [1.0, 2.0]]))[0][1, 0])


@mirrors(linalg.cho_factor)
def cho_factor(a: Any, lower: Any = False) -> Any:
    a = square(a)
    made = cholesky(a, lower=lower)
    return made + triangle(a, not lower, 1) if _OTHER_TRIANGLE_STAYS else made, bool(lower)


def _solve_with_factor(factor: Any, lower: Any, b: Any) -> Any:
    """x with L L^H x = b, for L the lower factor (or the adjoint of the upper one) of which one triangle is read."""
    factor = factor if lower else adjoint(factor)
    half = ops.solve_triangular(factor, b, lower=True, unit=False)
    return ops.solve_triangular(adjoint(factor), half, lower=False, unit=False)


@mirrors(linalg.cho_solve)
def cho_solve(c_and_lower: Any, b: Any) -> Any:
    c, lower = c_and_lower
    return by_columns(lambda c, b: _solve_with_factor(c, lower, b), square(c), inexact(b))


def _bands_of(x: Any, outside: Any, lower: Any) -> Any:
    """The diagonals of one triangle as rows, as SciPy's band functions want them; corners are those of `outside`."""
    count, n = outside.shape[-2:]
    band, j = np.arange(count)[:, None], np.arange(n)
    row = j + band if lower else j + band - count + 1
    inside = (row >= 0) & (row < n)
    return np.where(inside, x[..., np.where(inside, row, 0), np.broadcast_to(j, row.shape)], outside)


@mirrors(linalg.cholesky_banded)
def cholesky_banded(ab: Any, lower: Any = False) -> Any:
    ab = matrices(ab)
    made = parts.cholesky(hermitian_from_bands(ab, lower))
    return _bands_of(made if lower else adjoint(made), ab, lower)


@mirrors(linalg.cho_solve_banded)
def cho_solve_banded(cb_and_lower: Any, b: Any) -> Any:
    cb, lower = cb_and_lower
    factor = triangle(hermitian_from_bands(matrices(cb), lower), lower)
    return by_columns(lambda c, b: _solve_with_factor(c, lower, b), factor, inexact(b))


# ---------------------------------------------------------------------------------------------------------------- LU


@mirrors(linalg.lu)
def lu(a: Any, permute_l: Any = False, p_indices: Any = False) -> Any:
    p, lower, upper = more.lu(matrices(a))
    if permute_l:
        return np.matmul(p, lower), upper
    if p_indices:
        order = np.argmax(plain(p), axis=-1).astype(linalg.lu(np.eye(2), p_indices=True)[0].dtype)
        return like(order, a), lower, upper
    return p, lower, upper


@mirrors(linalg.lu_factor)
def lu_factor(a: Any) -> Any:
    a = matrices(a)
    if a.ndim > 2:
        raise unsupported("scipy.linalg.lu_factor: stacks of matrices")
    _, lower, upper = more.lu(a)
    m, n = a.shape
    low, up = np.tril(lower, -1), np.triu(upper)
    if m > n:
        up = np.concatenate([up, np.zeros((m - n, n), a.dtype)])
    elif n > m:
        low = np.concatenate([low, np.zeros((m, n - m), a.dtype)], axis=1)
    return low + up, linalg.lu_factor(plain(a), check_finite=False)[1]


@mirrors(linalg.lu_solve)
def lu_solve(lu_and_piv: Any, b: Any, trans: Any = 0) -> Any:
    packed, piv = lu_and_piv
    packed, b = square(packed), inexact(b)
    if packed.ndim > 2:
        raise unsupported("scipy.linalg.lu_solve: stacks of matrices")
    if packed.shape[0] != b.shape[0]:
        raise ValueError(f"Shapes of lu {tuple(packed.shape)} and b {tuple(b.shape)} are incompatible")
    order = np.arange(packed.shape[0])
    for k, other in enumerate(plain(piv)):
        order[[k, other]] = order[[other, k]]
    solve: Any = lambda x, y, lower: by_columns(
        lambda x, y: ops.solve_triangular(x, y, lower=lower is (trans in (0, "N")), unit=lower),
        transposed(x, trans), y,
    )  # fmt: skip
    if trans in (0, "N"):
        return solve(packed, solve(packed, b[order], True), False)
    return solve(packed, solve(packed, b, False), True)[np.argsort(order)]


# ---------------------------------------------------------------------------------------------------------------- QR


@mirrors(linalg.qr)
def qr(a: Any, mode: str = "full", pivoting: Any = False) -> Any:
    a = matrices(a)
    if mode not in ("full", "r", "economic", "raw"):
        raise ValueError("Mode argument should be one of ['full', 'r', 'economic', 'raw']")
    if mode == "raw":
        raise unsupported("scipy.linalg.qr: mode='raw'")
    order: tuple[Any, ...] = ()
    if pivoting:
        if a.ndim > 2:
            raise unsupported("scipy.linalg.qr: pivoting with stacks of matrices")
        order = (linalg.qr(plain(a), mode="r", pivoting=True, check_finite=False)[1],)
        a = a[:, order[0]]
    m, n = a.shape[-2:]
    q, r = numpy_qr(a)
    if m > n and mode != "economic":
        below = np.zeros((*a.shape[:-2], m - n, n), r.dtype)
        r = np.concatenate([r, below], axis=-2)
        q = q if mode == "r" else numpy_qr(a, "complete")[0]
    return (r, *order) if mode == "r" else (q, r, *order)


@mirrors(linalg.rq)
def rq(a: Any, mode: str = "full") -> Any:
    a = matrices(a)
    m, n = a.shape[-2:]
    if mode not in ("full", "r", "economic"):
        raise ValueError("Mode argument should be one of ['full', 'r', 'economic']")
    # with rows and columns in reverse order, the conjugate transpose of QR
    turned = adjoint(a[..., ::-1, :])
    q, r = numpy_qr(turned)
    q, signs = _as_in_scipy(q, a, "economic")
    r = adjoint(r)[..., ::-1, ::-1] * signs[..., None, :]
    if n > m and mode != "economic":
        r = np.concatenate([np.zeros((*a.shape[:-2], m, n - m), r.dtype), r], axis=-1)
        if mode == "full":
            q, _ = _as_in_scipy(numpy_qr(turned, "complete")[0], a, "full")
    return r if mode == "r" else (r, q)


def _as_in_scipy(q: Any, a: Any, mode: str) -> tuple[Any, Any]:
    """The rows that RQ has, with SciPy's signs, and the signs."""
    q = adjoint(q)[..., ::-1, :]
    theirs = linalg.rq(plain(a), mode=mode, check_finite=False)[1]
    signs = np.sign(np.sum(np.real(theirs * np.conj(plain(q))), axis=-1))
    return q * signs[..., :, None], signs


# --------------------------------------------------------------------------------- singular values, polar decomposition


@mirrors(linalg.svd)
def svd(a: Any, full_matrices: Any = True, compute_uv: Any = True) -> Any:
    made = numpy_svd(matrices(a), bool(full_matrices), bool(compute_uv))
    return tuple(made) if compute_uv else made


@mirrors(linalg.svdvals)
def svdvals(a: Any) -> Any:
    return parts.svd(matrices(a))[1]


@mirrors(linalg.polar)
def polar(a: Any, side: str = "right") -> Any:
    if side not in ("right", "left"):
        raise ValueError("`side` must be either 'right' or 'left'")
    a = matrices(a)
    u = more.polar_factor(a) if a.shape[-2] >= a.shape[-1] else adjoint(more.polar_factor(adjoint(a)))
    p = np.matmul(adjoint(u), a) if side == "right" else np.matmul(a, adjoint(u))
    return u, (p + adjoint(p)) * 0.5


@mirrors(linalg.orthogonal_procrustes)
def orthogonal_procrustes(A: Any, B: Any) -> Any:
    a, b = matrices(A), matrices(B)
    if a.shape != b.shape:
        raise ValueError(f"the shapes of A and B differ ({tuple(a.shape)} vs {tuple(b.shape)})")
    cross = np.matmul(np.swapaxes(b, -1, -2), np.conj(a))
    u = np.swapaxes(more.polar_factor(cross), -1, -2)
    return u, np.sum(svdvals(cross), axis=-1)
