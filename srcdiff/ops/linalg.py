"""Products of matrices, inverses, solutions, determinants and norms; all but `tensordot` take stacks of matrices.

Derivatives follow from d(inv A) = -inv(A) dA inv(A), d(det A) = <cof A, dA> and the product rule; the adjoint of
multiplication by a complex matrix is multiplication by its conjugate transpose, `adjoint(x)`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from srcdiff.aval import Aval, aval
from srcdiff.core.builder import item
from srcdiff.core.primitive import Primitive
from srcdiff.errors import ShapeError
from srcdiff.ops.elementwise import conj, equal, imag, where
from srcdiff.ops.families import bilinear, broadcast_shapes, primitive, reduced_shape, result_dtype
from srcdiff.ops.reductions import sum
from srcdiff.ops.shaping import tril, triu
from srcdiff.ops.structural import expand, inverse, reshape, swap, transpose

# ------------------------------------------------------------------------------------------------------- small helpers


def adjoint(x: Any) -> Any:
    """The conjugate transpose of (a stack of) matrices."""
    return conj(swap(x))


def columns(w: Any) -> Any:
    """`w[..., None, :]`, which scales the columns of a matrix."""
    return reshape(w, shape=(*w.shape[:-1], 1, w.shape[-1]))


def rows(w: Any) -> Any:
    """`w[..., :, None]`, which scales the rows of a matrix."""
    return reshape(w, shape=(*w.shape, 1))


def scalar(s: Any) -> Any:
    """A number per matrix, to multiply matrices with."""
    return reshape(s, shape=(*s.shape, 1, 1))


def inner(x: Any, y: Any) -> Any:
    """The sum of the products of the entries of two matrices, without conjugation; axes of length 1 stay."""
    return sum(x * y, axis=(x.ndim - 2, x.ndim - 1), keepdims=True)


def square(name: str, x: Aval) -> tuple[int, ...]:
    """The shape of a stack of square matrices; ShapeError otherwise."""
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"{name}: {x} is not a square matrix or a stack of them")
    return x.shape


def working_dtype(x: Aval) -> Any:
    """The dtype in which numpy.linalg computes."""
    return result_dtype("inv", (x,), {}, ndim=2)


def real_dtype(dtype: Any) -> Any:
    """The dtype of absolute values."""
    return np.dtype(dtype.char.lower()) if dtype.kind == "c" else dtype


# ------------------------------------------------------------------------------------------------------------- products


def _matmul_shape(x: Aval, y: Aval) -> Aval:
    if not x.ndim or not y.ndim or x.shape[-1] != y.shape[-2 if y.ndim > 1 else 0]:
        inner = (x.shape[-1:] or ("none",))[0], (y.shape[-2 if y.ndim > 1 else 0 :] or ("none",))[0]
        raise ShapeError(f"matmul: cannot contract {x} with {y} (inner sizes {inner[0]} and {inner[1]})")
    batch = broadcast_shapes(x.shape[:-2], y.shape[:-2])
    rows = x.shape[-2:-1]
    columns = y.shape[-1:] if y.ndim > 1 else ()
    return aval((*batch, *rows, *columns), result_dtype("matmul", (x, y), {}, ndim=2))


def _matmul_x(ct: Any, out: Any, x: Any, y: Any) -> Any:
    if y.ndim == 1:
        return rows(ct) * conj(y) if x.ndim > 1 else ct * conj(y)
    if x.ndim == 1:
        made = columns(ct) @ adjoint(y)
        return reshape(made, shape=(*made.shape[:-2], made.shape[-1]))
    return ct @ adjoint(y)


def _matmul_y(ct: Any, out: Any, x: Any, y: Any) -> Any:
    if x.ndim == 1:
        return ct * conj(x) if y.ndim == 1 else rows(conj(x)) * columns(ct)
    if y.ndim == 1:
        return ct @ conj(x) if x.ndim == 2 else rows(ct) * conj(x)
    if y.ndim == 2 and x.ndim > 2:
        # one product instead of a stack of them that would be summed
        flat = math.prod(x.shape[:-1])
        return adjoint(reshape(x, shape=(flat, x.shape[-1]))) @ reshape(ct, shape=(flat, ct.shape[-1]))
    return adjoint(x) @ ct


matmul: Primitive = bilinear(
    "matmul", "x y", "x @ y", adjoint=[_matmul_x, _matmul_y], infer=_matmul_shape, label="Mm", saves=["y", "x"]
)


def _addmm_shape(b: Aval, x: Aval, w: Aval) -> Aval:
    product = _matmul_shape(x, w)
    return aval(broadcast_shapes(b.shape, product.shape), np.result_type(b.dtype, product.dtype))


addmm: Primitive = primitive(
    "addmm", "b x w", "x @ w + b",
    [
        lambda ct, out, b, x, w: ct,
        lambda ct, out, b, x, w: _matmul_x(ct, out, x, w),
        lambda ct, out, b, x, w: _matmul_y(ct, out, x, w),
    ],
    infer=_addmm_shape, saves=["", "w", "x"],
)  # fmt: skip


def _free(ndim: int, axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(k for k in range(ndim) if k not in axes)


def _tensordot_shape(x: Aval, y: Aval, *, axes: tuple[tuple[int, ...], tuple[int, ...]]) -> Aval:
    if [x.shape[k] for k in axes[0]] != [y.shape[k] for k in axes[1]]:
        raise ShapeError(f"tensordot: cannot contract axes {axes[0]} of {x} with axes {axes[1]} of {y}")
    shape = [x.shape[k] for k in _free(x.ndim, axes[0])] + [y.shape[k] for k in _free(y.ndim, axes[1])]
    return aval(tuple(shape), result_dtype("matmul", (x, y), {}, ndim=2))


def _tensordot_x(ct: Any, out: Any, x: Any, y: Any, *, axes: tuple[tuple[int, ...], tuple[int, ...]]) -> Any:
    free_x, free_y = _free(x.ndim, axes[0]), _free(y.ndim, axes[1])
    last = tuple(range(len(free_x), ct.ndim))
    # axes of the product: those of x that stayed, then the contracted ones in the order in which y has them
    made = tensordot(ct, conj(y), axes=(last, free_y))
    contracted = tuple(axes[0][axes[1].index(k)] for k in sorted(axes[1]))
    return transpose(made, axes=inverse((*free_x, *contracted)))


def _tensordot_y(ct: Any, out: Any, x: Any, y: Any, *, axes: tuple[tuple[int, ...], tuple[int, ...]]) -> Any:
    free_x, free_y = _free(x.ndim, axes[0]), _free(y.ndim, axes[1])
    made = tensordot(conj(x), ct, axes=(free_x, tuple(range(len(free_x)))))
    contracted = tuple(axes[1][axes[0].index(k)] for k in sorted(axes[0]))
    return transpose(made, axes=inverse((*contracted, *free_y)))


tensordot: Primitive = bilinear(
    "tensordot", "x y", "np.tensordot(x, y, axes)", adjoint=[_tensordot_x, _tensordot_y], infer=_tensordot_shape,
    params="axes", saves=["y", "x"],
)  # fmt: skip
#: of vectors along the last axis, which has length 3
cross: Primitive = bilinear(
    "cross", "x y", "np.cross(x, y)",
    adjoint=[lambda ct, out, x, y: cross(conj(y), ct), lambda ct, out, x, y: cross(ct, conj(x))],
    infer=lambda x, y: aval(broadcast_shapes(x.shape, y.shape), np.result_type(x.dtype, y.dtype)), label="LinalgCross",
)  # fmt: skip

# -------------------------------------------------------------------------------------------------- inverses, solutions


def _inverted(x: Aval) -> Aval:
    return aval(square("inv", x), working_dtype(x))


inv: Primitive = primitive(
    "inv", "x", "np.linalg.inv(x)", [lambda ct, out, x: -(adjoint(out) @ ct @ adjoint(out))], infer=_inverted,
    label="LinalgInvEx",
)  # fmt: skip


def _pinv(ct: Any, out: Any, x: Any, *, rcond: float) -> Any:
    # Golub and Pereyra 1973: dP = -P dA P + P P^H dA^H (1 - A P) + (1 - P A) dA^H P^H P, for constant rank
    p, g = adjoint(out), adjoint(ct)
    left = g @ out @ p
    right = p @ out @ g
    return left - x @ (out @ left) + right - (right @ out) @ x - p @ ct @ p


pinv: Primitive = primitive(
    "pinv", "x", "np.linalg.pinv(x, rcond)", [_pinv], params="rcond", label="LinalgPinv", saves=["x out"],
    infer=lambda x, *, rcond: aval((*x.shape[:-2], x.shape[-1], x.shape[-2]), working_dtype(x)),
)  # fmt: skip


def _solved(x: Aval, y: Aval, **params: Any) -> Aval:
    shape = square("solve", x)
    dtype = result_dtype("matmul", (aval((1, 1), working_dtype(x)), y), {}, ndim=2)
    if y.ndim == 1:
        return aval((*shape[:-2], *y.shape), dtype)
    if not y.ndim or y.shape[-2] != shape[-1]:
        raise ShapeError(f"solve: {x} does not fit the right-hand side {y}")
    return aval((*broadcast_shapes(shape[:-2], y.shape[:-2]), *y.shape[-2:]), dtype)


def _solve_y(ct: Any, x: Any, y: Any) -> Any:
    if y.ndim > 1:
        return solve(adjoint(x), ct)
    made = solve(adjoint(x), rows(ct))
    return reshape(made, shape=made.shape[:-1])


def _solve_x(ct: Any, out: Any, x: Any, y: Any) -> Any:
    if y.ndim > 1:
        return -(solve(adjoint(x), ct) @ adjoint(out))
    return -(solve(adjoint(x), rows(ct)) * columns(conj(out)))


#: `y` is one vector if it has one axis, else matrices
solve: Primitive = primitive(
    "solve", "x y", "np.linalg.solve(x, y)", [_solve_x, lambda ct, out, x, y: _solve_y(ct, x, y)], infer=_solved,
    saves=["x out", "x"], label="LinalgSolveEx",
)  # fmt: skip


def _triangular_y(ct: Any, x: Any, lower: bool, unit: bool) -> Any:
    return solve_triangular(adjoint(x), ct, lower=not lower, unit=unit)


def _triangular_x(ct: Any, out: Any, x: Any, y: Any, *, lower: bool, unit: bool) -> Any:
    made = -(_triangular_y(ct, x, lower, unit) @ adjoint(out))
    return tril(made, k=-int(unit)) if lower else triu(made, k=int(unit))


#: reads one triangle of x only, without its diagonal if `unit`; y is a matrix
solve_triangular: Primitive = primitive(
    "solve_triangular", "x y", "rt.solve_triangular(x, y, lower, unit)",
    [_triangular_x, lambda ct, out, x, y, *, lower, unit: _triangular_y(ct, x, lower, unit)],
    infer=_solved, params="lower unit", saves=["x out", "x"], label="LinalgSolveTriangular",
)  # fmt: skip

# -------------------------------------------------------------------------------------------------------- determinants


def _per_matrix(x: Aval) -> Aval:
    return aval(square("det", x)[:-2], working_dtype(x))


def _like_matrix(x: Aval, *rest: Aval) -> Aval:
    return aval(square("cofactor", x), np.result_type(working_dtype(x), *(r.dtype for r in rest)))


def _tangent_x(ct: Any, out: Any, x: Any, t: Any) -> Any:
    # where det(x) != 0 the tangent is (<t, K> K - K t^T K) / det, K the cofactors; differentiate that
    w, x, t, f = conj(ct), x, t, out
    k, d = cofactor(x), scalar(det(x))
    to_k = inner(w, k) * t + inner(t, k) * w - w @ swap(k) @ t - t @ swap(k) @ w
    return conj(cofactor_tangent(x, to_k / d) - (inner(w, f) / d) * k)


det: Primitive = primitive(
    "det", "x", "np.linalg.det(x)", [lambda ct, out, x: scalar(ct) * conj(cofactor(x))], infer=_per_matrix,
    label="LinalgDet",
)  # fmt: skip
cofactor: Primitive = primitive(
    "cofactor", "x", "rt.cofactor(x)", [lambda ct, out, x: conj(cofactor_tangent(x, conj(ct)))], infer=_like_matrix
)
cofactor_tangent: Primitive = primitive(
    "cofactor_tangent", "x t", "rt.cofactor_tangent(x, t)",
    [_tangent_x, lambda ct, out, x, t: conj(cofactor_tangent(x, conj(ct)))], infer=_like_matrix,
)  # fmt: skip


def _slogdet(ct: Any, out: Any, x: Any) -> Any:
    # d(log |det|) = Re tr(inv(A) dA); d(sign) = i sign Im tr(inv(A) dA), nothing for real A
    on_sign, on_log = ct
    scale = on_log
    if on_sign is not None and x.dtype.kind == "c":
        turned = -imag(conj(on_sign) * item(out, 0)) * 1j
        scale = turned if scale is None else scale + turned
    return None if scale is None else scalar(scale) * adjoint(inv(x))


slogdet: Primitive = primitive(
    "slogdet", "x", "np.linalg.slogdet(x)", [_slogdet], multi=True, saves=["x out"], label="LinalgSlogdet",
    infer=lambda x: (_per_matrix(x), aval(x.shape[:-2], real_dtype(working_dtype(x)))),
)  # fmt: skip

# --------------------------------------------------------------------------------------------------------------- norms


def _norm_rule(ct: Any, out: Any, x: Any, *, axis: Any, keepdims: bool) -> Any:
    # the subgradient 0 at x = 0
    zero = equal(out, 0)
    scale = where(zero, 0.0, ct / where(zero, 1.0, out))
    return expand(scale, x.shape, axis, keepdims) * x


def _squared_norm(ct: Any, out: Any, x: Any, *, axis: Any, keepdims: bool) -> Any:
    return expand(2.0 * ct, x.shape, axis, keepdims) * x


#: the square root of the sum of squares; `axis` is None, an int or a pair
norm: Primitive = primitive(
    "norm", "x", "np.linalg.norm(x, axis=axis, keepdims=keepdims)", [_norm_rule], params="axis keepdims",
    squared=(_squared_norm,),
    infer=lambda x, *, axis, keepdims: aval(reduced_shape(x.shape, axis, keepdims), real_dtype(_inexact(x.dtype))),
    label="LinalgVectorNorm",
)  # fmt: skip


def _inexact(dtype: Any) -> Any:
    return dtype if dtype.kind in "fc" else np.dtype(float)
