"""Linear algebra for `runtime` that NumPy lacks, on stacks of matrices; reached as `rt.name` like all helpers."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any


def solve_triangular(x: Array, y: Array, lower: bool, unit: bool) -> Array:
    """The solution z of `tril(x) @ z = y` (`triu` if not lower), with ones on the diagonal if `unit`. y is a matrix."""
    a = np.tril(x) if lower else np.triu(x)
    if unit:
        n = np.arange(a.shape[-1])
        a[..., n, n] = 1
    return np.linalg.solve(a, y)


def cofactor(x: Array) -> Array:
    """The matrix of cofactors, det(x) * inv(x).T where that exists; finite for every matrix.

    From x = u diag(s) v the cofactors are cof(u) diag(prod of the other s) cof(v), with cof(u) = det(u) conj(u).
    """
    u, s, v = np.linalg.svd(x)
    return (_cofactor_of_unitary(u) * _products_without(s, 1)[..., None, :]) @ _cofactor_of_unitary(v)


def cofactor_tangent(x: Array, t: Array) -> Array:
    """The derivative of `cofactor` at x in direction t; finite for every matrix.

    With x = u diag(s) v and c = u^H t v^H: of a diagonal matrix entry (i, i) changes by the sum over j != i of
    c[j, j] times the product of all s but i and j, entry (i, j) by -c[j, i] times that product.
    """
    u, s, v = np.linalg.svd(x)
    c = np.conj(np.swapaxes(u, -1, -2)) @ t @ np.conj(np.swapaxes(v, -1, -2))
    others = _products_without(s, 2)
    n = np.arange(s.shape[-1])
    change = -others * np.swapaxes(c, -1, -2)
    change[..., n, n] = (others @ c[..., n, n][..., None])[..., 0]
    return _cofactor_of_unitary(u) @ change @ _cofactor_of_unitary(v)


def _cofactor_of_unitary(u: Array) -> Array:
    return np.linalg.det(u)[..., None, None] * np.conj(u)


def _products_without(s: Array, count: int) -> Array:
    """Products over the last axis without element i, or for count 2 without i and j (0 where i = j)."""
    n = s.shape[-1]
    if count == 1:
        without = np.where(np.eye(n, dtype=bool), 1.0, s[..., None, :])
        return np.prod(without, axis=-1).astype(s.dtype, copy=False)
    out = np.zeros((*s.shape, n), s.dtype)
    for i in range(n):
        rest = np.where(np.arange(n) == i, 1.0, s)
        out[..., i, :] = _products_without(rest, 1)
        out[..., i, i] = 0.0
    return out


def coincide(w: Array) -> Array:
    """Which pairs in the (sorted) last axis are equal but for rounding: no gap between them exceeds 16 n eps max."""
    n = w.shape[-1]
    limit = 16 * n * np.finfo(w.dtype).eps * np.max(np.abs(w), axis=-1, keepdims=True, initial=0.0)
    group = np.cumsum(np.abs(np.diff(w, axis=-1, prepend=w[..., :1])) > limit, axis=-1)
    return group[..., :, None] == group[..., None, :]


def unknown(w: Array) -> Array:
    """NaN for pairs of different values in the last axis that coincide, else 0."""
    off_diagonal = ~np.eye(w.shape[-1], dtype=bool)
    return np.where(coincide(w) & off_diagonal, np.nan, np.zeros((), w.dtype))


def recovered(p: Array, g: Array, w: Array) -> Array:
    """The gradient between coinciding eigenvalues w that first derivatives with respect to vectors do not show.

    For a loss tr(C f(A)) + h(w) with A = V diag(w) V^H, the Hermitian part of V^H (dloss/dV) is p = K f(w), with
    K = V^H (C + C^H) V, g = dloss/dw is diag(K) f'(w) / 2 + h'(w), and the gradient wanted is K f'(w) / 2. Within a
    block of equal w these are numbers f, f', h', and so the gradient is a multiple of p, the multiple found from the
    diagonals of p and g. Zero where all w differ or p is diagonal; NaN where the diagonals do not determine it.
    """
    out = np.zeros(p.shape, p.dtype)
    same = coincide(w)
    n = w.shape[-1]
    if np.count_nonzero(same) == same.size // max(n, 1):
        return out
    for where in np.ndindex(*w.shape[:-1]):
        start = 0
        while start < n:
            stop = start + 1
            while stop < n and same[where][stop - 1, stop]:
                stop += 1
            if stop - start > 1:
                block = (*where, slice(start, stop), slice(start, stop))
                out[block] = _multiple_of_block(p[block], g[where][start:stop])
            start = stop
    return out


def _multiple_of_block(p: Array, g: Array) -> Array:
    tolerance = np.sqrt(np.finfo(p.dtype).eps)
    a = np.diagonal(p).real
    rest = p - np.diag(np.diagonal(p))
    if np.max(np.abs(rest)) <= tolerance * np.max(np.abs(a)):
        return np.zeros_like(p)
    accuracy = tolerance * np.max(np.abs(g))
    if a @ a and np.max(np.abs(a * (slope := (a @ g) / (a @ a)) - g)) <= accuracy:
        return rest * slope
    centred = a - np.mean(a)
    spread = centred @ centred
    if spread <= tolerance * (a @ a):
        return rest * np.nan
    slope = (centred @ g) / spread
    fits = np.max(np.abs(centred * slope - (g - np.mean(g)))) <= accuracy
    return rest * (slope if fits else np.nan)


def eig(x: Array) -> tuple[Array, Array]:
    """`np.linalg.eig`, always complex."""
    w, v = np.linalg.eig(x)
    dtype = np.result_type(w.dtype, np.complex64)
    return w.astype(dtype, copy=False), v.astype(dtype, copy=False)


def expm(x: Array) -> Array:
    """The matrix exponential by scaling and squaring of the Taylor polynomial of degree 18.

    Scaled to a 1-norm below 1/2, the remainder is below 1e-22 of the result (Higham, "Functions of Matrices", 10.3).
    """
    size = np.max(np.sum(np.abs(x), axis=-2), initial=0.0)
    squarings = max(0, int(np.ceil(np.log2(size))) + 1) if 0 < size < np.inf else 0
    a = x / 2.0**squarings
    one = np.eye(x.shape[-1], dtype=a.dtype)
    out = one + a / 18.0
    for k in range(17, 0, -1):
        out = one + (a / k) @ out
    for _ in range(squarings):
        out = out @ out
    return out
