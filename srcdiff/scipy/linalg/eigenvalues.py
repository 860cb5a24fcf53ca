"""Eigenvalues and vectors, and the Schur form."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from srcdiff.functions.dispatch import plain
from srcdiff.ops import decompositions as parts
from srcdiff.ops import linalg as ops
from srcdiff.ops.linalg import adjoint
from srcdiff.ops.shaping import triu
from srcdiff.ops.structural import cast
from srcdiff.scipy.implicit import settled
from srcdiff.scipy.linalg.factors import lower_factor
from srcdiff.scipy.linalg.matrices import from_triangle, inexact, matrices, square, vectors
from srcdiff.scipy.linalg.solving import hermitian_from_bands
from srcdiff.scipy.support import mirrors, unsupported

__all__ = [
    "eig", "eig_banded", "eigh", "eigh_tridiagonal", "eigvals", "eigvals_banded", "eigvalsh", "eigvalsh_tridiagonal",
    "schur",
]  # fmt: skip


def _standard(a: Any, b: Any, lower: Any, type: int) -> tuple[Any, Any]:
    """A Hermitian matrix with the eigenvalues of the problem, and what makes its vectors theirs."""
    a = from_triangle(square(a), lower)
    if b is None:
        return a, lambda v: v
    factor = lower_factor(square(b), lower)
    if type == 1:
        half = ops.solve_triangular(factor, a, lower=True, unit=False)
        inner = adjoint(ops.solve_triangular(factor, adjoint(half), lower=True, unit=False))
    elif type in (2, 3):
        inner = np.matmul(np.matmul(adjoint(factor), a), factor)
    else:
        raise ValueError('"type" keyword only accepts 1, 2, and 3.')
    if type == 3:
        return inner, lambda v: np.matmul(factor, v)
    return inner, lambda v: ops.solve_triangular(adjoint(factor), v, lower=False, unit=False)


def _subset(w: Any, by_index: Any, by_value: Any) -> Any:
    """Which of the ascending eigenvalues are asked for."""
    if by_index is not None:
        low, high = by_index
        return slice(int(low), int(high) + 1)
    if by_value is not None:
        low, high = by_value
        return slice(int(np.searchsorted(w, low, side="right")), int(np.searchsorted(w, high, side="right")))
    return slice(None)


@mirrors(linalg.eigh)
def eigh(
    a: Any, b: Any = None, *, lower: Any = True, eigvals_only: Any = False, type: int = 1, subset_by_index: Any = None,
    subset_by_value: Any = None,
) -> Any:  # fmt: skip
    matrix, back = _standard(a, b, lower, type)
    w, v = parts.eigh(matrix, uplo="L")
    which = _subset(plain(w), subset_by_index, subset_by_value)
    w, v = w[..., which], v[..., which]
    if eigvals_only:
        return w
    v = back(v)
    if v.ndim > 2:
        return w, v
    options = {"lower": bool(lower), "type": type, "subset_by_index": subset_by_index}
    theirs = linalg.eigh(plain(a), plain(b), subset_by_value=subset_by_value, check_finite=False, **options)[1]
    return w, v * _phases(theirs, plain(v))


def _phases(theirs: Any, ours: Any) -> Any:
    """The signs (or phases) that turn our eigenvectors into SciPy's, which another routine of LAPACK finds."""
    overlap = np.sum(np.conj(ours) * theirs, axis=-2, keepdims=True)
    size = np.abs(overlap)
    return np.where(size > 0, overlap / np.where(size > 0, size, 1.0), 1.0).astype(ours.dtype)


@mirrors(linalg.eigvalsh)
def eigvalsh(
    a: Any, b: Any = None, *, lower: Any = True, type: int = 1, subset_by_index: Any = None, subset_by_value: Any = None
) -> Any:
    return eigh(
        a, b, lower=lower, eigvals_only=True, type=type, subset_by_index=subset_by_index,
        subset_by_value=subset_by_value,
    )  # fmt: skip


def _tridiagonal(d: Any, e: Any) -> Any:
    d, e = vectors(d), vectors(e)
    n = d.shape[-1]
    if e.shape[-1] != n - 1:
        raise ValueError(f"d (size {n}) must have one more element than e (size {e.shape[-1]})")
    below = np.concatenate([e[..., :, None] * np.eye(n - 1), np.zeros((n - 1, 1))], axis=-1)
    below = np.concatenate([np.zeros((1, n)), below])
    return d * np.eye(n) + below + below.T


def _selected(select: Any, select_range: Any) -> dict[str, Any]:
    if select in ("a", 0, "all"):
        return {}
    if select_range is None:
        raise ValueError("select_range is needed with this select")
    return {"subset_by_index" if select in ("i", 2, "index") else "subset_by_value": select_range}


@mirrors(linalg.eigh_tridiagonal)
def eigh_tridiagonal(d: Any, e: Any, eigvals_only: Any = False, select: Any = "a", select_range: Any = None) -> Any:
    made = eigh(inexact(_tridiagonal(d, e)), eigvals_only=eigvals_only, **_selected(select, select_range))
    if eigvals_only:
        return made
    theirs = linalg.eigh_tridiagonal(plain(d), plain(e), False, select, select_range, check_finite=False)[1]
    return made[0], made[1] * _phases(theirs, plain(made[1]))


@mirrors(linalg.eigvalsh_tridiagonal)
def eigvalsh_tridiagonal(d: Any, e: Any, select: Any = "a", select_range: Any = None) -> Any:
    return eigh_tridiagonal(d, e, eigvals_only=True, select=select, select_range=select_range)


@mirrors(linalg.eig_banded)
def eig_banded(
    a_band: Any, lower: Any = False, eigvals_only: Any = False, select: Any = "a", select_range: Any = None
) -> Any:
    full = hermitian_from_bands(matrices(a_band), lower)
    made = eigh(full, eigvals_only=eigvals_only, **_selected(select, select_range))
    if eigvals_only or made[1].ndim > 2:
        return made
    theirs = linalg.eig_banded(plain(a_band), lower, False, select=select, select_range=select_range)[1]
    return made[0], made[1] * _phases(theirs, plain(made[1]))


@mirrors(linalg.eigvals_banded)
def eigvals_banded(a_band: Any, lower: Any = False, select: Any = "a", select_range: Any = None) -> Any:
    return eig_banded(a_band, lower=lower, eigvals_only=True, select=select, select_range=select_range)


@mirrors(linalg.eig)
def eig(a: Any, b: Any = None, left: Any = False, right: Any = True) -> Any:
    if left:
        raise unsupported("scipy.linalg.eig: left=True")
    a = square(a)
    w, v = parts.eig(a if b is None else ops.solve(square(b), a))
    return (w, v) if right else w


@mirrors(linalg.eigvals)
def eigvals(a: Any, b: Any = None) -> Any:
    return eig(a, b, right=False)


# --------------------------------------------------------------------------------------------------------------- Schur


@mirrors(linalg.schur)
def schur(a: Any, output: Any = "real") -> Any:
    a = square(a)
    if a.ndim > 2:
        raise unsupported("scipy.linalg.schur: stacks of matrices")
    if output in ("complex", "c") and a.dtype.kind != "c":
        a = cast(a, dtype=np.result_type(a.dtype, np.complex64))
    elif output not in ("real", "r", "complex", "c"):
        raise ValueError("argument must be 'real', or 'complex'")
    t, z = linalg.schur(plain(a), output=output, check_finite=False)
    if np.any(np.diagonal(t, -1)):
        raise unsupported("scipy.linalg.schur: output='real' for a matrix with complex eigenvalues (use 'complex')")
    similar: Any = lambda z: np.matmul(np.matmul(adjoint(z), a), z)

    def turned(z: Any) -> Any:
        m = similar(z)
        return np.matmul(z, _turn(m, _commutator(triu(m, k=0))))

    z = settled(turned, z, a._traced)
    return triu(similar(z), k=0), z


def _commutator(t: Any) -> Any:
    """The matrix of x -> x t - t x on strictly lower triangles; singular where eigenvalues coincide."""
    n = t.shape[0]
    i, j = np.tril_indices(n, -1)
    units = np.zeros((i.size, n, n))
    units[np.arange(i.size), i, j] = 1.0
    return np.matrix_transpose((np.matmul(units, t) - np.matmul(t, units))[:, i, j])


def _turn(m: Any, system: Any) -> Any:
    """The unitary matrix that makes the lower triangle of m vanish to first order."""
    n = m.shape[0]
    i, j = np.tril_indices(n, -1)
    place = np.zeros((n, n), int)
    place[i, j] = np.arange(i.size)
    lower = np.where(np.tri(n, k=-1, dtype=bool), ops.solve(system, m[i, j])[place], 0.0) if i.size else m * 0
    skew = (lower - adjoint(lower)) * 0.5
    one = np.eye(n)
    return ops.solve(one - skew, one + skew)
