"""Helpers of `runtime` that SciPy computes, reached as `rt.name`. SciPy is imported when the first of them runs."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

Array = Any


def _scipy(module: str) -> Any:
    try:
        return import_module(f"scipy.{module}")
    except ImportError:
        raise ImportError(f"scipy.{module} needs SciPy: pip install scipy") from None


def _over_matrices(function: Callable[[Array], Array], x: Array) -> Array:
    """`function` of each matrix, in x's dtype (float64 for integers)."""
    dtype = np.result_type(x.dtype, np.float32) if x.dtype.kind in "fc" else np.dtype(float)
    if not x.size:
        return np.zeros(x.shape, dtype)
    # SciPy's own single precision loses digits, of which it warns
    stack = x.reshape(-1, *x.shape[-2:]).astype(np.result_type(dtype, np.float64))
    made = np.stack([np.asarray(function(matrix)) for matrix in stack]).reshape(x.shape)
    if made.dtype.kind == "c" and dtype.kind != "c":
        made = made.real
    return made.astype(dtype, copy=False)


def sqrtm(x: Array) -> Array:
    """The principal square root of matrices; the real part for real x."""
    return _over_matrices(_scipy("linalg").sqrtm, x)


def logm(x: Array) -> Array:
    """The principal logarithm of matrices; the real part for real x."""
    return _over_matrices(_scipy("linalg").logm, x)


def sylvester(a: Array, b: Array, q: Array) -> Array:
    """The solution x of a x + x b = q."""
    dtype = np.result_type(a.dtype, b.dtype, q.dtype, np.float32)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2], q.shape[:-2])
    a, b, q = (np.broadcast_to(m, (*batch, *m.shape[-2:])).astype(dtype, copy=False) for m in (a, b, q))
    out = np.zeros(q.shape, dtype)
    solve = _scipy("linalg").solve_sylvester
    for where in np.ndindex(*batch):
        if q[where].size:
            out[where] = solve(a[where], b[where], q[where])
    return out


def lu(x: Array) -> tuple[Array, Array, Array]:
    """The factors p, l, u of x = p l u with row exchanges."""
    *batch, m, n = x.shape
    k = min(m, n)
    real = np.dtype(x.dtype.char.lower())
    out = np.zeros((*batch, m, m), real), np.zeros((*batch, m, k), x.dtype), np.zeros((*batch, k, n), x.dtype)
    factor = _scipy("linalg").lu
    for where in np.ndindex(*batch):
        for made, part in zip(out, factor(x[where]), strict=True):
            made[where] = part
    return out


def polar_factor(x: Array) -> Array:
    """The factor u with orthonormal columns of x = u p, for x with at least as many rows as columns."""
    u, _, v = np.linalg.svd(x, full_matrices=False)
    return u @ v


def trigonometric(x: Array, kind: str, number: int, axis: int, transposed: bool) -> Array:
    """The cosine or sine transform ("dct", "dst") of a type along an axis, or what its transposed matrix gives.

    The matrices of type 4 and the sine one of type 1 are symmetric; the others are so but for columns (type 1 and 3)
    or rows (type 2) that count half.
    """
    transform = getattr(_scipy("fft"), kind)
    if not transposed or number == 4 or (kind, number) == ("dst", 1):
        return transform(x, number, axis=axis)
    halved = {("dct", 1): [0, -1], ("dct", 2): [0], ("dct", 3): [0]}.get((kind, number), [-1])
    weights = np.ones(x.shape[axis], x.dtype)
    weights[halved] = 0.5
    weights = weights.reshape([-1 if k == axis else 1 for k in range(x.ndim)])
    if number == 1:
        return transform(x / weights, 1, axis=axis) * weights
    return transform(x / weights, 3, axis=axis) if number == 2 else transform(x, 2, axis=axis) * weights


def all_pole(x: Array, a: Array) -> Array:
    """y[n] = x[n] - a[0] y[n-1] - a[1] y[n-2] - ... along the last axis."""
    dtype = np.result_type(x.dtype, a.dtype)
    one = np.ones(1, dtype)
    return _scipy("signal").lfilter(one, np.concatenate([one, a]), x.astype(dtype, copy=False), axis=-1)


def sparse_product(
    x: Array, data: Array, indices: Array, indptr: Array, shape: tuple[int, int], transposed: bool
) -> Array:
    """A matrix given in compressed rows, or its transpose, @ x."""
    matrix = _scipy("sparse").csr_array((data, indices, indptr), shape=shape)
    return (matrix.T if transposed else matrix) @ x


def sparse_solve(x: Array, data: Array, indices: Array, indptr: Array, transposed: bool) -> Array:
    """The solution z of a @ z = x, for a given in compressed rows, or for its transpose."""
    n = len(indptr) - 1
    matrix = _scipy("sparse").csr_array((data, indices, indptr), shape=(n, n))
    dtype = np.result_type(data.dtype, x.dtype, np.float64)
    if not x.size:
        return np.zeros(x.shape, dtype)
    solver = _scipy("sparse.linalg").splu((matrix.T if transposed else matrix).tocsc().astype(dtype))
    return solver.solve(x.astype(dtype))
