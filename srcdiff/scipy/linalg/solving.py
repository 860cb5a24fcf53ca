"""Inverses and solutions of linear equations, by the structure that the matrix has or is said to have."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from srcdiff.functions.dispatch import plain
from srcdiff.functions.linalg import lstsq as numpy_lstsq
from srcdiff.ops import linalg as ops
from srcdiff.ops.linalg import adjoint
from srcdiff.scipy.linalg.matrices import (
    circulant,
    from_triangle,
    inexact,
    matrices,
    square,
    toeplitz,
    transposed,
    triangle,
)
from srcdiff.scipy.support import mirrors, number, unsupported

__all__ = [
    "det", "inv", "lstsq", "matmul_toeplitz", "norm", "pinv", "pinvh", "solve", "solve_banded", "solve_circulant",
    "solve_toeplitz", "solve_triangular", "solveh_banded",
]  # fmt: skip

_SHORT = {
    None: "general", "gen": "general", "sym": "symmetric", "her": "hermitian", "pos": "positive definite",
    "upper triangular": "upper", "lower triangular": "lower",
}  # fmt: skip


def structured(a: Any, assume_a: Any, lower: Any) -> Any:
    """The matrices that SciPy solves with under that assumption: what it does not read is replaced."""
    kind = _SHORT.get(assume_a, assume_a)
    if kind in ("general", "banded"):
        return a
    if kind == "symmetric":
        return triangle(a, lower) + np.swapaxes(triangle(a, lower, 1), -1, -2)
    if kind in ("hermitian", "positive definite"):
        return from_triangle(a, lower)
    if kind in ("upper", "lower"):
        return triangle(a, kind == "lower")
    if kind == "diagonal":
        return np.where(np.eye(a.shape[-1], dtype=bool), a, 0.0)
    if kind == "tridiagonal":
        return np.triu(np.tril(a, 1), -1)
    raise ValueError(f"{assume_a} is not a recognized matrix structure")


def by_columns(solve_with: Any, a: Any, b: Any) -> Any:
    """`solve_with(a, b)`, which takes matrices b, for b of matrices or one vector."""
    if a.shape[-1] != b.shape[0 if b.ndim == 1 else -2]:
        raise ValueError(f"incompatible dimensions: a has shape {tuple(a.shape)}, b {tuple(b.shape)}")
    return solve_with(a, b[:, None])[..., 0] if b.ndim == 1 else solve_with(a, b)


@mirrors(linalg.inv)
def inv(a: Any, *, assume_a: Any = None, lower: Any = False) -> Any:
    return ops.inv(structured(square(a), assume_a, lower))


@mirrors(linalg.solve)
def solve(a: Any, b: Any, lower: Any = False, assume_a: Any = None, transposed: Any = False) -> Any:
    a, b = square(a), inexact(b)
    if transposed and "c" in (a.dtype.kind, b.dtype.kind):
        raise NotImplementedError("scipy.linalg.solve can currently not solve a^T x = b or a^H x = b for complex a.")
    a = structured(a, assume_a, lower)
    if transposed:
        a = np.swapaxes(a, -1, -2)
    return by_columns(ops.solve, a, b)


@mirrors(linalg.solve_triangular)
def solve_triangular(a: Any, b: Any, trans: Any = 0, lower: Any = False, unit_diagonal: Any = False) -> Any:
    a = transposed(square(a), trans)
    is_lower = bool(lower) is (trans in (0, "N"))
    solved = lambda a, b: ops.solve_triangular(a, b, lower=is_lower, unit=bool(unit_diagonal))
    return by_columns(solved, a, inexact(b))


@mirrors(linalg.det)
def det(a: Any) -> Any:
    return ops.det(square(a))


@mirrors(linalg.norm)
def norm(a: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    return np.linalg.norm(inexact(a), ord, axis, bool(keepdims))


# ------------------------------------------------------------------------------------------------------- least squares


def _cutoff(s: Any, atol: Any, rtol: Any, shape: tuple[int, ...]) -> float:
    """The relative size below which SciPy takes singular values for 0."""
    atol = 0.0 if atol is None else float(number(atol, "atol"))
    rtol = max(shape) * float(np.finfo(s.dtype).eps) if rtol is None else float(number(rtol, "rtol"))
    largest = float(np.max(s, initial=0.0))
    if atol < 0 or rtol < 0:
        raise ValueError("atol and rtol values must be positive.")
    return float(rtol + (atol / largest if largest else 0.0))


@mirrors(linalg.pinv)
def pinv(a: Any, *, atol: Any = None, rtol: Any = None, return_rank: bool = False) -> Any:
    a = matrices(a)
    if a.ndim > 2 and (return_rank or atol is not None):
        raise unsupported("scipy.linalg.pinv: return_rank or atol with stacks of matrices")
    s = np.linalg.svd(plain(a), compute_uv=False)
    limit = _cutoff(s, atol, rtol, a.shape[-2:])
    made = ops.pinv(a, rcond=limit)
    return (made, int(np.sum(s > limit * np.max(s, initial=0.0)))) if return_rank else made


@mirrors(linalg.pinvh)
def pinvh(a: Any, atol: Any = None, rtol: Any = None, lower: Any = True, return_rank: bool = False) -> Any:
    return pinv(from_triangle(square(a), lower), atol=atol, rtol=rtol, return_rank=return_rank)


@mirrors(linalg.lstsq)
def lstsq(a: Any, b: Any, cond: Any = None) -> Any:
    a, b = matrices(a), inexact(b)
    if a.ndim > 2:
        raise unsupported("scipy.linalg.lstsq: stacks of matrices")
    if a.shape[0] != b.shape[0]:
        raise ValueError(f"Shape mismatch: a and b should have the same number of rows ({a.shape[0]} != {b.shape[0]}).")
    limit = float(np.finfo(a.dtype).eps) if cond is None else float(number(cond, "cond"))
    x, residues, rank, s = numpy_lstsq(a, b, limit)
    if b.ndim == 1 and residues.shape == (1,):
        residues = residues[0]
    return x, residues, rank, s


# ------------------------------------------------------------------------------------------------------ band matrices


def from_bands(ab: Any, below: int, above: int) -> Any:
    """The square matrices whose diagonals are the rows of `ab`, the highest first."""
    n = ab.shape[-1]
    if ab.shape[-2] != below + above + 1:
        raise ValueError(
            f"invalid values for the number of lower and upper diagonals: l+u+1 ({below + above + 1}) does not equal "
            f"ab.shape[0] ({ab.shape[-2]})"
        )
    i, j = np.arange(n)[:, None], np.arange(n)
    band = above + i - j
    inside = (band >= 0) & (band < below + above + 1)
    return np.where(inside, ab[..., np.where(inside, band, 0), np.broadcast_to(j, (n, n))], 0.0)


def hermitian_from_bands(ab: Any, lower: Any) -> Any:
    """The Hermitian matrices of which `ab` has the diagonals of one triangle."""
    k = ab.shape[-2] - 1
    half = from_bands(ab, k, 0) if lower else from_bands(ab, 0, k)
    return half + adjoint(triangle(half, lower, 1))


@mirrors(linalg.solve_banded)
def solve_banded(l_and_u: Any, ab: Any, b: Any) -> Any:
    below, above = map(int, l_and_u)
    ab, b = matrices(ab), inexact(b)
    return by_columns(ops.solve, from_bands(ab, below, above), b)


@mirrors(linalg.solveh_banded)
def solveh_banded(ab: Any, b: Any, lower: Any = False) -> Any:
    return by_columns(ops.solve, hermitian_from_bands(matrices(ab), lower), inexact(b))


# ------------------------------------------------------------------------------------------------ Toeplitz, circulant


def _toeplitz_of(c_or_cr: Any) -> Any:
    return toeplitz(*c_or_cr) if isinstance(c_or_cr, tuple) else toeplitz(c_or_cr)


@mirrors(linalg.solve_toeplitz)
def solve_toeplitz(c_or_cr: Any, b: Any) -> Any:
    return by_columns(ops.solve, inexact(_toeplitz_of(c_or_cr)), inexact(b))


@mirrors(linalg.matmul_toeplitz)
def matmul_toeplitz(c_or_cr: Any, x: Any) -> Any:
    return np.matmul(inexact(_toeplitz_of(c_or_cr)), inexact(x))


@mirrors(linalg.solve_circulant)
def solve_circulant(c: Any, b: Any) -> Any:
    return by_columns(ops.solve, inexact(circulant(c)), inexact(b))
