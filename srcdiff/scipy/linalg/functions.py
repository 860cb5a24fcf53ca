"""Functions of matrices, and matrix equations."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from srcdiff.functions.dispatch import plain
from srcdiff.functions.linalg import matrix_power
from srcdiff.ops import decompositions as parts
from srcdiff.ops import linalg as ops
from srcdiff.ops import matrix_functions as more
from srcdiff.ops.linalg import adjoint
from srcdiff.ops.structural import cast
from srcdiff.scipy.linalg.matrices import inexact, matrices, square
from srcdiff.scipy.support import mirrors, number, unsupported

__all__ = [
    "coshm", "cosm", "expm", "expm_frechet", "fractional_matrix_power", "logm", "signm", "sinhm", "sinm",
    "solve_continuous_lyapunov", "solve_discrete_lyapunov", "solve_lyapunov", "solve_sylvester", "sqrtm", "tanhm",
    "tanm",
]  # fmt: skip

# ------------------------------------------------------------------------------------------------ functions of matrices


@mirrors(linalg.expm)
def expm(A: Any) -> Any:
    return parts.expm(square(A))


@mirrors(linalg.expm_frechet)
def expm_frechet(A: Any, E: Any, method: Any = None, compute_expm: Any = True) -> Any:
    if method not in (None, "SPS", "blockEnlarge"):
        raise ValueError(f"Unknown implementation {method}")
    a, e = square(A), square(E)
    if a.shape != e.shape:
        raise ValueError("expected A and E to be the same shape")
    made = parts.frechet(parts.expm, a, e)
    return (parts.expm(a), made) if compute_expm else made


@mirrors(linalg.sqrtm)
def sqrtm(A: Any) -> Any:
    a = square(A)
    x = plain(a)
    # one matrix at a time: SciPy takes stacks from 1.16 on
    each = (linalg.sqrtm(x[where]) for where in np.ndindex(x.shape[:-2]) if x.size)
    if x.dtype.kind != "c" and any(map(np.iscomplexobj, each)):
        a = cast(a, dtype=np.result_type(a.dtype, np.complex64))
    return more.sqrtm(a)


@mirrors(linalg.logm)
def logm(A: Any) -> Any:
    a = square(A)
    if a.dtype.kind != "c" and np.any(np.linalg.eigvals(plain(a)) <= 0):
        raise unsupported("scipy.linalg.logm: a real matrix with an eigenvalue that is not positive, where it jumps,")
    return more.logm(a)


@mirrors(linalg.fractional_matrix_power)
def fractional_matrix_power(A: Any, t: Any) -> Any:
    a, t = square(A), number(t, "t of fractional_matrix_power")
    if t == int(t):
        return matrix_power(a, int(t))
    return parts.expm(logm(a) * t)


def _waves(A: Any, factor: Any) -> tuple[Any, Any]:
    """exp(factor A) and exp(-factor A)."""
    a = square(A)
    return parts.expm(a * factor), parts.expm(a * -factor)


@mirrors(linalg.cosm)
def cosm(A: Any) -> Any:
    plus, minus = _waves(A, 1j)
    return np.real(plus) if _is_real(A) else (plus + minus) * 0.5


@mirrors(linalg.sinm)
def sinm(A: Any) -> Any:
    plus, minus = _waves(A, 1j)
    return np.imag(plus) if _is_real(A) else (plus - minus) * -0.5j


def _is_real(A: Any) -> bool:
    return bool(inexact(A).dtype.kind != "c")


@mirrors(linalg.tanm)
def tanm(A: Any) -> Any:
    return ops.solve(cosm(A), sinm(A))


@mirrors(linalg.coshm)
def coshm(A: Any) -> Any:
    plus, minus = _waves(A, 1.0)
    return (plus + minus) * 0.5


@mirrors(linalg.sinhm)
def sinhm(A: Any) -> Any:
    plus, minus = _waves(A, 1.0)
    return (plus - minus) * 0.5


@mirrors(linalg.tanhm)
def tanhm(A: Any) -> Any:
    return ops.solve(coshm(A), sinhm(A))


@mirrors(linalg.signm)
def signm(A: Any) -> Any:
    a = square(A)
    return ops.solve(sqrtm(np.matmul(a, a)), a)


# --------------------------------------------------------------------------------------------------- matrix equations


@mirrors(linalg.solve_sylvester)
def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    return more.sylvester(square(a), square(b), matrices(q))


@mirrors(linalg.solve_continuous_lyapunov)
def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    a = square(a)
    return more.sylvester(a, adjoint(a), square(q))


solve_lyapunov = mirrors(linalg.solve_lyapunov)(lambda a, q: solve_continuous_lyapunov(a, q))


@mirrors(linalg.solve_discrete_lyapunov)
def solve_discrete_lyapunov(a: Any, q: Any, method: Any = None) -> Any:
    a, q = square(a), square(q)
    method = ("direct" if a.shape[-1] < 10 else "bilinear") if method is None else method.lower()
    if method not in ("direct", "bilinear"):
        raise ValueError(f"Unknown solver {method}")
    if method == "direct" and a.ndim == 2:
        n = a.shape[-1]
        x = ops.solve(np.eye(n * n) - np.kron(a, np.conj(a)), np.reshape(q, (-1,)))
        return np.reshape(x, q.shape)
    # y = (1 + a)^-1 (a - 1) turns a x a^H - x = -q into y x + x y^H = -2 (1 + a)^-1 q (1 + a)^-H
    inverse = ops.inv(a + np.eye(a.shape[-1]))
    y = np.matmul(inverse, a - np.eye(a.shape[-1]))
    return more.sylvester(y, adjoint(y), np.matmul(np.matmul(inverse, q), adjoint(inverse)) * -2.0)
