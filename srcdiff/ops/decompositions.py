"""Cholesky, QR, singular values, eigenvalues, the exponential: functions of one matrix, on stacks of matrices.

Derivatives as in Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation"
(2008), and Seeger et al., "Auto-differentiating linear algebra" (2017). Symmetric arguments get symmetric gradients.

Repeated eigenvalues: eigenvectors then have no derivative. Functions of the eigenvalues alone do, and so do smooth
functions of the matrix that were computed through its eigenvectors; `recovered` finds the gradient of the latter where
it is determined, and NaN stands where it is not. Derivatives with respect to phases of complex vectors do not exist
either: as in PyTorch a loss must not depend on them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.aval import Aval, aval
from srcdiff.core.builder import item
from srcdiff.core.primitive import Primitive
from srcdiff.errors import NotDifferentiableError
from srcdiff.ops.elementwise import conj, real, where
from srcdiff.ops.families import nondiff, primitive
from srcdiff.ops.linalg import adjoint, columns, inv, real_dtype, rows, solve, square, working_dtype
from srcdiff.ops.shaping import concatenate, diagonal, on_diagonal, take_at_window, tril, triu


def diagonal_matrix(w: Any) -> Any:
    """The matrices with `w` on their diagonals."""
    n = w.ndim
    return on_diagonal(w, (*w.shape, w.shape[-1]), 0, n - 1, n)


def diagonal_of(x: Any) -> Any:
    """The diagonals of matrices."""
    return diagonal(x, offset=0, axis1=x.ndim - 2, axis2=x.ndim - 1)


def off_diagonal(x: Any) -> Any:
    """`x` with zeros on the diagonals."""
    return tril(x, k=-1) + triu(x, k=1)


def add(x: Any, y: Any) -> Any:
    """The sum, where None stands for zero."""
    if x is None or y is None:
        return x if y is None else y
    return x + y


# ------------------------------------------------------------------------------------------------ triangular factors


def _cholesky(ct: Any, out: Any, x: Any) -> Any:
    inverse = inv(out)
    m = adjoint(out) @ ct
    half = tril(m, k=-1) + diagonal_matrix(real(diagonal_of(m)) * 0.5)
    return adjoint(inverse) @ ((half + adjoint(half)) * 0.5) @ inverse


#: the lower factor; reads the lower triangle
cholesky: Primitive = primitive(
    "cholesky", "x", "np.linalg.cholesky(x)", [_cholesky], label="LinalgCholeskyEx",
    infer=lambda x: aval(square("cholesky", x), working_dtype(x)),
)  # fmt: skip


def _qr_shapes(x: Aval) -> tuple[Aval, Aval]:
    *batch, m, n = x.shape
    k = min(m, n)
    return aval((*batch, m, k), working_dtype(x)), aval((*batch, k, n), working_dtype(x))


def _qr(ct: Any, out: Any, x: Any) -> Any:
    gq, gr = ct
    q, r = item(out, 0), item(out, 1)
    m, n = x.shape[-2:]
    if m >= n:
        return _qr_tall(gq, gr, q, r)
    # x = [a, b] and r = [u, v] with as many columns in a as rows: a = q u is the tall case, and v = q^H b
    last = x.ndim - 1
    v = take_at_window(r, last, m, n)
    gu, gv = None, where(False, v, 0.0)
    if gr is not None:
        gu, gv = take_at_window(gr, last, 0, m), take_at_window(gr, last, m, n)
        gq = add(gq, q @ v @ adjoint(gv))
    ga = _qr_tall(gq, gu, q, take_at_window(r, last, 0, m))
    return concatenate(ga, q @ gv, axis=last)


def _qr_tall(gq: Any, gr: Any, q: Any, r: Any) -> Any:
    e = add(None if gr is None else r @ adjoint(gr), None if gq is None else -(adjoint(gq) @ q))
    # the Hermitian matrix with the lower triangle of e
    low = tril(e, k=-1)
    hermitian = low + adjoint(low) + diagonal_matrix(real(diagonal_of(e)))
    total = add(gq, q @ hermitian)
    return adjoint(solve(r, adjoint(total)))


#: mode "reduced"
qr: Primitive = primitive(
    "qr", "x", "np.linalg.qr(x)", [_qr], infer=_qr_shapes, multi=True, saves=["out"], label="LinalgQr"
)


qr_complete: Primitive = primitive(
    "qr_complete", "x", "np.linalg.qr(x, 'complete')", [None], multi=True, label="LinalgQr",
    infer=lambda x: (aval((*x.shape[:-1], x.shape[-2]), working_dtype(x)), aval(x.shape, working_dtype(x))),
    reason="the last columns of q are an arbitrary basis (use mode='reduced')",
)  # fmt: skip

# ---------------------------------------------------------------------------------------- singular values, eigenvalues

coincide: Primitive = nondiff(
    "coincide", "w", "rt.coincide(w)", infer=lambda w: aval((*w.shape, w.shape[-1]), np.dtype(bool)),
    reason="it says which values are equal",
)  # fmt: skip
unknown: Primitive = nondiff(
    "unknown", "w", "rt.unknown(w)", infer=lambda w: aval((*w.shape, w.shape[-1]), w.dtype),
    reason="it is zero, or NaN where values coincide",
)  # fmt: skip
#: a second derivative through coinciding values is not known: NaN there, 0 elsewhere
recovered: Primitive = primitive(
    "recovered", "p g w", "rt.recovered(p, g, w)",
    [
        lambda ct, out, p, g, w: unknown(w) * ct,
        lambda ct, out, p, g, w: diagonal_of(unknown(w) * ct),
        lambda ct, out, p, g, w: diagonal_of(unknown(w) * ct),
    ],
    infer=lambda p, g, w: p, saves=["w", "w", "w"],
)  # fmt: skip


def _over_gaps(difference: Any, p: Any, g: Any, w: Any) -> Any:
    """`difference[i, j] / (w[j] - w[i])`, and where the two are equal what `recovered` finds."""
    same = coincide(w)
    gap = where(same, 1.0, columns(w) - rows(w))
    on_values = where(False, w, 0.0) if g is None else g
    return where(same, 0.0, difference / gap) + recovered(p, on_values, w)


def _svd_shapes(x: Aval) -> tuple[Aval, Aval, Aval]:
    *batch, m, n = x.shape
    k, dtype = min(m, n), working_dtype(x)
    return aval((*batch, m, k), dtype), aval((*batch, k), real_dtype(dtype)), aval((*batch, k, n), dtype)


def _svd_full_shapes(x: Aval) -> tuple[Aval, Aval, Aval]:
    *batch, m, n = x.shape
    dtype = working_dtype(x)
    return aval((*batch, m, m), dtype), aval((*batch, min(m, n)), real_dtype(dtype)), aval((*batch, n, n), dtype)


def _svd(ct: Any, out: Any, x: Any) -> Any:
    gu, gs, gv = ct
    u, s, vh = item(out, 0), item(out, 1), item(out, 2)
    m, n = x.shape[-2:]
    k = min(m, n)
    if gu is None and gv is None:
        return (u * columns(gs)) @ vh
    v = adjoint(vh)
    gv = None if gv is None else adjoint(gv)
    a = None if gu is None else adjoint(u) @ gu
    b = None if gv is None else adjoint(v) @ gv
    both = add(a, b)
    apart = add(a, None if b is None else -b)
    middle = _over_gaps((both - adjoint(both)) * 0.5, (both + adjoint(both)) * 0.5, gs, s)
    middle = middle + (apart - adjoint(apart)) * 0.5 / (columns(s) + rows(s))
    if gs is not None:
        middle = middle + diagonal_matrix(gs)
    total = u @ middle @ vh
    if gu is not None and m > k:
        total = total + ((gu - u @ a) / columns(s)) @ vh
    if gv is not None and n > k:
        total = total + (u / columns(s)) @ adjoint(gv - v @ b)
    return total


svd: Primitive = primitive(
    "svd", "x", "np.linalg.svd(x, full_matrices=False)", [_svd], infer=_svd_shapes, multi=True, saves=["out"],
    label="LinalgSvd",
)  # fmt: skip


def _svd_full(ct: Any, out: Any, x: Any) -> Any:
    gu, _, gv = ct
    m, n = x.shape[-2:]
    if (gu is not None and m > n) or (gv is not None and m < n):
        raise NotDifferentiableError(
            "svd with full_matrices=True has no derivative with respect to vectors that complete a basis; use "
            "full_matrices=False"
        )
    return _svd(ct, svd(x), x)


svd_full: Primitive = primitive(
    "svd_full", "x", "np.linalg.svd(x)", [_svd_full], infer=_svd_full_shapes, multi=True, saves=["x"], label="LinalgSvd"
)


def _eigh_shapes(x: Aval, *, uplo: str) -> tuple[Aval, Aval]:
    shape, dtype = square("eigh", x), working_dtype(x)
    return aval(shape[:-1], real_dtype(dtype)), aval(shape, dtype)


def _eigh(ct: Any, out: Any, x: Any, *, uplo: str) -> Any:
    gw, gv = ct
    w, v = item(out, 0), item(out, 1)
    if gv is None:
        return (v * columns(gw)) @ adjoint(v)
    p = adjoint(v) @ gv
    middle = _over_gaps((p - adjoint(p)) * 0.5, (p + adjoint(p)) * 0.5, gw, w)
    if gw is not None:
        middle = middle + diagonal_matrix(gw)
    return v @ middle @ adjoint(v)


#: reads the triangle `uplo`
eigh: Primitive = primitive(
    "eigh", "x", "np.linalg.eigh(x, uplo)", [_eigh], infer=_eigh_shapes, params="uplo", multi=True, saves=["out"],
    label="LinalgEigh",
)  # fmt: skip


def _eig_shapes(x: Aval) -> tuple[Aval, Aval]:
    shape = square("eig", x)
    dtype = np.result_type(working_dtype(x), np.complex64)
    return aval(shape[:-1], dtype), aval(shape, dtype)


def _eig(ct: Any, out: Any, x: Any) -> Any:
    gw, gv = ct
    w, v = item(out, 0), item(out, 1)
    if gv is None:
        middle = diagonal_matrix(gw)
    else:
        p = adjoint(v) @ gv
        # vectors keep length 1: nothing along themselves
        p = p - (adjoint(v) @ v) * columns(real(diagonal_of(p)))
        gap = columns(w) - rows(w) + diagonal_matrix(where(True, 1.0, w))
        middle = off_diagonal(p / conj(gap))
        if gw is not None:
            middle = middle + diagonal_matrix(gw)
    return solve(adjoint(v), middle @ adjoint(v))


#: complex whatever x is
eig: Primitive = primitive(
    "eig", "x", "rt.eig(x)", [_eig], infer=_eig_shapes, multi=True, saves=["out"], label="LinalgEig"
)

# ---------------------------------------------------------------------------------------------------------- exponential


def frechet(function: Any, a: Any, e: Any) -> Any:
    """The derivative of a function of matrices at a in direction e: a block of its value at [[a, e], [0, a]].

    Van Loan 1978 for the exponential, Mathias 1996 for all that are analytic.
    """
    n, rank = a.shape[-1], a.ndim
    top = concatenate(a, e, axis=rank - 1)
    bottom = concatenate(where(False, a, 0.0), a, axis=rank - 1)
    whole = function(concatenate(top, bottom, axis=rank - 2))
    return take_at_window(take_at_window(whole, rank - 2, 0, n), rank - 1, n, 2 * n)


expm: Primitive = primitive(
    "expm", "x", "rt.expm(x)", [lambda ct, out, x: frechet(expm, adjoint(x), ct)],
    infer=lambda x: aval(square("expm", x), working_dtype(x)), label="LinalgMatrixExp",
    push=lambda t, out, x: frechet(expm, x, t),
)  # fmt: skip
