"""Functions of matrices as SciPy has them: logarithm, square root, the factors of LU and the polar decomposition.

Derivatives as in Higham, "Functions of Matrices" (2008): the derivative of f at a in direction e is the off-diagonal
block of f([[a, e], [0, a]]), its adjoint the derivative at the conjugate transpose of a.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.aval import Aval, aval
from srcdiff.core.builder import item
from srcdiff.core.primitive import Primitive
from srcdiff.errors import ShapeError
from srcdiff.ops.decompositions import add, frechet
from srcdiff.ops.families import broadcast_shapes, primitive
from srcdiff.ops.linalg import adjoint, real_dtype, solve, solve_triangular, square, working_dtype
from srcdiff.ops.shaping import concatenate, pad, take_at_window, tril, triu

#: the principal logarithm; for real x it has to be real
logm: Primitive = primitive(
    "logm", "x", "rt.logm(x)", [lambda ct, out, x: frechet(logm, adjoint(x), ct)],
    infer=lambda x: aval(square("logm", x), working_dtype(x)), label="LinalgLogm",
    push=lambda t, out, x: frechet(logm, x, t),
)  # fmt: skip
#: the principal square root, whose derivative e has out e + e out = dx; for real x it has to be real
sqrtm: Primitive = primitive(
    "sqrtm", "x", "rt.sqrtm(x)", [lambda ct, out, x: sylvester(adjoint(out), adjoint(out), ct)],
    infer=lambda x: aval(square("sqrtm", x), working_dtype(x)), label="LinalgSqrtm",
)  # fmt: skip

# ------------------------------------------------------------------------------------------------- Sylvester's equation


def _sylvester_shape(a: Aval, b: Aval, q: Aval) -> Aval:
    m, n = square("sylvester", a)[-1], square("sylvester", b)[-1]
    if q.ndim < 2 or q.shape[-2:] != (m, n):
        raise ShapeError(f"sylvester: {a} and {b} do not fit the right-hand side {q}")
    dtype = np.result_type(*(working_dtype(x) for x in (a, b, q)))
    return aval((*broadcast_shapes(a.shape[:-2], b.shape[:-2], q.shape[:-2]), m, n), dtype)


def _sylvester_q(ct: Any, a: Any, b: Any) -> Any:
    return sylvester(adjoint(a), adjoint(b), ct)


#: the solution x of a x + x b = q
sylvester: Primitive = primitive(
    "sylvester", "a b q", "rt.sylvester(a, b, q)",
    [
        lambda ct, out, a, b, q: -(_sylvester_q(ct, a, b) @ adjoint(out)),
        lambda ct, out, a, b, q: -(adjoint(out) @ _sylvester_q(ct, a, b)),
        lambda ct, out, a, b, q: _sylvester_q(ct, a, b),
    ],
    infer=_sylvester_shape, label="LinalgSylvester", saves=["a b out", "a b out", "a b"],
)  # fmt: skip

# ------------------------------------------------------------------------------------------------------- decompositions


def _polar_factor(ct: Any, out: Any, x: Any) -> Any:
    # with x = u p and du = u w + (1 - u u^H) dx inv(p): w is skew and p w + w p = u^H dx - dx^H u
    p = adjoint(out) @ x
    p = (p + adjoint(p)) * 0.5
    along = adjoint(out) @ ct
    w = sylvester(p, p, along)
    made = out @ (w - adjoint(w))
    if x.shape[-2] == x.shape[-1]:
        return made
    return made + adjoint(solve(p, adjoint(ct - out @ along)))


#: the nearest matrix with orthonormal columns, for x of full rank with at least as many rows as columns
polar_factor: Primitive = primitive(
    "polar_factor", "x", "rt.polar_factor(x)", [_polar_factor], infer=lambda x: aval(x.shape, working_dtype(x)),
    label="LinalgPolar",
)  # fmt: skip


def _lu_shapes(x: Aval) -> tuple[Aval, Aval, Aval]:
    *batch, m, n = x.shape
    dtype = working_dtype(x)
    return (
        aval((*batch, m, m), real_dtype(dtype)),
        aval((*batch, m, min(m, n)), dtype),
        aval((*batch, min(m, n), n), dtype),
    )


def _lu(ct: Any, out: Any, x: Any) -> Any:
    # the square part: inv(l) da inv(u) = inv(l) dl + du inv(u), strictly lower and upper; the rest by back substitution
    _, g_low, g_up = ct
    p, low, up = item(out, 0), item(out, 1), item(out, 2)
    m, n = x.shape[-2:]
    k, rank = min(m, n), x.ndim
    rows, columns = rank - 2, rank - 1
    square_low, square_up = take_at_window(low, rows, 0, k), take_at_window(up, columns, 0, k)
    rest = None
    if m > n and g_low is not None:
        rest = _over_upper(take_at_window(g_low, rows, k, m), square_up)
        g_up = add(g_up, -(adjoint(take_at_window(low, rows, k, m)) @ rest))
        g_low = take_at_window(g_low, rows, 0, k)
    if n > m and g_up is not None:
        rest = _under_lower(take_at_window(g_up, columns, k, n), square_low)
        g_low = add(g_low, -(rest @ adjoint(take_at_window(up, columns, k, n))))
        g_up = take_at_window(g_up, columns, 0, k)
    on_low = None if g_low is None else tril(adjoint(square_low) @ g_low, k=-1)
    on_up = None if g_up is None else triu(g_up @ adjoint(square_up), k=0)
    made = _over_upper(_under_lower(add(on_low, on_up), square_low), square_up)
    if m != n:
        axis = rows if m > n else columns
        after = tuple((0, max(m, n) - k if j == axis else 0) for j in range(rank))
        made = pad(made, pad_width=after) if rest is None else concatenate(made, rest, axis=axis)
    return p @ made


def _under_lower(x: Any, low: Any) -> Any:
    """inv(low)^H x, for low with ones on its diagonal."""
    return solve_triangular(adjoint(low), x, lower=False, unit=True)


def _over_upper(x: Any, up: Any) -> Any:
    """x inv(up)^H."""
    return adjoint(solve_triangular(up, adjoint(x), lower=False, unit=False))


#: p, l, u with p l u = x; p exchanges rows and has no derivative
lu: Primitive = primitive("lu", "x", "rt.lu(x)", [_lu], infer=_lu_shapes, multi=True, saves=["out"], label="LinalgLu")
