"""`sd.linalg`: linear algebra under PyTorch's names."""

from __future__ import annotations

from srcdiff.torchlike.linalg import (
    LinAlgError,
    cholesky,
    cholesky_ex,
    cholesky_inverse,
    cholesky_solve,
    cond,
    cross,
    det,
    diagonal,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    inv,
    inv_ex,
    inverse,
    logdet,
    lstsq,
    matrix_exp,
    matrix_norm,
    matrix_power,
    matrix_rank,
    multi_dot,
    norm,
    pinv,
    pinverse,
    qr,
    slogdet,
    solve,
    solve_triangular,
    svd,
    svdvals,
    tensorinv,
    tensorsolve,
    vander,
    vecdot,
    vector_norm,
)
from srcdiff.torchlike.products import matmul

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cholesky_inverse", "cholesky_solve", "cond", "cross", "det",
    "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "inv_ex", "inverse", "logdet", "lstsq", "matmul",
    "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot", "norm", "pinv", "pinverse", "qr",
    "slogdet", "solve", "solve_triangular", "svd", "svdvals", "tensorinv", "tensorsolve", "vander", "vecdot",
    "vector_norm",
]  # fmt: skip
