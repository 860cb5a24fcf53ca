"""What the functions on matrices share, and the matrices that SciPy builds from vectors: all of them are indexing."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from srcdiff.functions.shaping import arrayed
from srcdiff.ops.linalg import adjoint
from srcdiff.ops.shaping import tril, triu
from srcdiff.ops.structural import cast
from srcdiff.scipy.support import mirrors, unsupported

__all__ = [
    "block_diag", "circulant", "companion", "convolution_matrix", "diagsvd", "fiedler", "fiedler_companion", "hankel",
    "khatri_rao", "leslie", "toeplitz",
]  # fmt: skip


def inexact(x: Any) -> Any:
    """`x` as a Tensor or array of floats or complex numbers."""
    x = arrayed(x)
    return x if x.dtype.kind in "fc" else cast(x, dtype=np.dtype(float))


def matrices(x: Any) -> Any:
    """`x` as matrices, the last two axes; ValueError otherwise, as in SciPy."""
    x = inexact(x)
    if x.ndim < 2:
        raise ValueError(f"expected a matrix or a stack of matrices, got an array with {x.ndim} axes")
    return x


def square(x: Any) -> Any:
    """`x` as square matrices; ValueError otherwise, as in SciPy."""
    x = matrices(x)
    if x.shape[-1] != x.shape[-2]:
        raise ValueError(f"expected a square matrix, got shape {tuple(x.shape)}")
    return x


def triangle(x: Any, lower: Any, k: int = 0) -> Any:
    """The lower or the upper triangle, without the k diagonals next to the other one."""
    return tril(x, k=-k) if lower else triu(x, k=k)


def from_triangle(x: Any, lower: Any) -> Any:
    """The Hermitian matrices with that triangle."""
    return triangle(x, lower) + adjoint(triangle(x, lower, 1))


def transposed(x: Any, trans: Any) -> Any:
    """x, its transpose or its conjugate transpose, as `trans` says in SciPy."""
    if trans in (0, "N"):
        return x
    if trans in (1, "T"):
        return np.swapaxes(x, -1, -2)
    if trans in (2, "C"):
        return adjoint(x)
    raise ValueError(f"trans={trans!r}: expected 0, 1, 2, 'N', 'T' or 'C'")


def vectors(x: Any) -> Any:
    """Vectors along the last axis; a number is one of length 1."""
    x = arrayed(x)
    return x if x.ndim else np.reshape(x, (1,))


# ------------------------------------------------------------------------------------------------ built from vectors


@mirrors(linalg.toeplitz)
def toeplitz(c: Any, r: Any = None) -> Any:
    c = vectors(c)
    r = np.conj(c) if r is None else vectors(r)
    rows, columns = np.arange(c.shape[-1])[:, None], np.arange(r.shape[-1])
    c, r = _same_batch(c, r)
    # the values of diagonal j - i, from the last row's first element to the first row's last
    return np.concatenate([c[..., ::-1], r[..., 1:]], axis=-1)[..., columns - rows + c.shape[-1] - 1]


@mirrors(linalg.hankel)
def hankel(c: Any, r: Any = None) -> Any:
    c = vectors(c)
    r = c * 0 if r is None else vectors(r)
    rows, columns = np.arange(c.shape[-1])[:, None], np.arange(r.shape[-1])
    c, r = _same_batch(c, r)
    return np.concatenate([c, r[..., 1:]], axis=-1)[..., rows + columns]


def _same_batch(c: Any, r: Any) -> tuple[Any, Any]:
    batch = np.broadcast_shapes(c.shape[:-1], r.shape[:-1])
    return np.broadcast_to(c, (*batch, c.shape[-1])), np.broadcast_to(r, (*batch, r.shape[-1]))


@mirrors(linalg.circulant)
def circulant(c: Any) -> Any:
    c = vectors(c)
    n = c.shape[-1]
    return c[..., (np.arange(n)[:, None] - np.arange(n)) % max(n, 1)]


@mirrors(linalg.convolution_matrix)
def convolution_matrix(a: Any, n: int, mode: str = "full") -> Any:
    a = vectors(a)
    if n <= 0:
        raise ValueError("n must be a positive integer.")
    m = a.shape[-1]
    if not m:
        raise ValueError("len(a) must be at least 1.")
    if mode not in ("full", "same", "valid"):
        raise ValueError("'mode' argument must be one of ('full', 'valid', 'same')")
    count = {"full": m + n - 1, "same": max(m, n), "valid": max(m, n) - min(m, n) + 1}[mode]
    start = {"full": 0, "same": (min(m, n) - 1) // 2, "valid": min(m, n) - 1}[mode]
    which = np.arange(start, start + count)[:, None] - np.arange(n)
    inside = (which >= 0) & (which < m)
    return np.where(inside, a[..., np.where(inside, which, 0)], 0.0)


@mirrors(linalg.companion)
def companion(a: Any) -> Any:
    a = vectors(a)
    if a.shape[-1] < 2:
        raise ValueError("The length of `a` along the last axis must be at least 2.")
    first = -a[..., 1:] / a[..., :1]
    below = np.eye(first.shape[-1] - 1, first.shape[-1])
    return np.concatenate([first[..., None, :], np.broadcast_to(below, (*first.shape[:-1], *below.shape))], axis=-2)


@mirrors(linalg.leslie)
def leslie(f: Any, s: Any) -> Any:
    f, s = vectors(f), vectors(s)
    if f.shape[-1] != s.shape[-1] + 1:
        raise ValueError("Incorrect lengths for f and s: f must be one longer than s.")
    below = np.concatenate([s[..., :, None] * np.eye(s.shape[-1]), 0.0 * s[..., :, None]], axis=-1)
    return np.concatenate([f[..., None, :], below], axis=-2)


@mirrors(linalg.fiedler)
def fiedler(a: Any) -> Any:
    a = vectors(a)
    return np.abs(a[..., :, None] - a[..., None, :])


@mirrors(linalg.fiedler_companion)
def fiedler_companion(a: Any) -> Any:
    raise unsupported("scipy.linalg.fiedler_companion")


@mirrors(linalg.diagsvd)
def diagsvd(s: Any, M: int, N: int) -> Any:
    s = vectors(s)
    k = s.shape[-1]
    if k not in (M, N):
        raise ValueError("Length of s must be M or N.")
    # the shape of SciPy's: the other dimension is filled with zeros
    return s * np.eye(M, N)[:, :k] if k == N else s[..., :, None] * np.eye(M, N)


@mirrors(linalg.block_diag)
def block_diag(*arrs: Any) -> Any:
    parts = [arrayed(a) for a in arrs]
    parts = [p if p.ndim > 1 else np.reshape(p, (1, -1)) for p in parts]
    batch = np.broadcast_shapes(*(p.shape[:-2] for p in parts))
    columns = [p.shape[-1] for p in parts]
    dtype = np.result_type(*(p.dtype for p in parts))
    rows = []
    for k, part in enumerate(parts):
        height = part.shape[-2]
        before = np.zeros((*batch, height, sum(columns[:k])), dtype)
        after = np.zeros((*batch, height, sum(columns[k + 1 :])), dtype)
        middle = np.broadcast_to(part, (*batch, *part.shape[-2:]))
        rows.append(np.concatenate([before, middle, after], axis=-1))
    return np.concatenate(rows, axis=-2)


@mirrors(linalg.khatri_rao)
def khatri_rao(a: Any, b: Any) -> Any:
    a, b = arrayed(a), arrayed(b)
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] != b.shape[-1]:
        raise ValueError("The number of columns for both arrays should be equal.")
    made = a[..., :, None, :] * b[..., None, :, :]
    return np.reshape(made, (*made.shape[:-3], -1, made.shape[-1]))
