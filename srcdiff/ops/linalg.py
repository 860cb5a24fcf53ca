"""Products of matrices, decompositions and what is computed from them."""

from __future__ import annotations

from typing import Any

from srcdiff.aval import Aval, aval
from srcdiff.errors import ShapeError
from srcdiff.ops.families import bilinear, broadcast_shapes, result_dtype
from srcdiff.ops.structural import reshape, swap


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
        return reshape(ct, shape=(*ct.shape, 1)) * y if x.ndim > 1 else ct * y
    if x.ndim == 1:
        rows = reshape(ct, shape=(*ct.shape[:-1], 1, ct.shape[-1])) @ swap(y)
        return reshape(rows, shape=(*rows.shape[:-2], rows.shape[-1]))
    return ct @ swap(y)


def _matmul_y(ct: Any, out: Any, x: Any, y: Any) -> Any:
    if x.ndim == 1:
        return ct * x if y.ndim == 1 else _outer_rows(x, ct)
    if y.ndim == 1:
        return ct @ x if x.ndim == 2 else reshape(ct, shape=(*ct.shape, 1)) * x
    return swap(x) @ ct


def _outer_rows(x: Any, ct: Any) -> Any:
    """x[..., None] * ct[..., None, :] for a vector x."""
    return reshape(x, shape=(*x.shape, 1)) * reshape(ct, shape=(*ct.shape[:-1], 1, ct.shape[-1]))


matmul = bilinear("matmul", "x y", "x @ y", adjoint=[_matmul_x, _matmul_y], infer=_matmul_shape, label="Mm",
                  saves=["y", "x"])  # fmt: skip
