"""Layers that PyTorch records as one node: linear maps, embedding, standardization; and the piecewise activations."""

from __future__ import annotations

import math
from typing import Any

from srcdiff.aval import Aval, aval
from srcdiff.core.primitive import Primitive
from srcdiff.errors import ShapeError
from srcdiff.ops.elementwise import absolute, conj, equal, greater, less, less_equal, logical_and, where
from srcdiff.ops.families import bilinear, elementwise, linear, primitive, result_dtype, same
from srcdiff.ops.linalg import matmul
from srcdiff.ops.reductions import centre, mean
from srcdiff.ops.structural import reshape, swap
from srcdiff.ops.transcendental import sqrt

# --------------------------------------------------------------------------------------------------------- linear maps


def _mapped(x: Aval, w: Aval) -> Aval:
    if w.ndim != 2 or not x.ndim or x.shape[-1] != w.shape[1]:
        raise ShapeError(f"linear: cannot apply a weight {w} to {x}")
    return aval((*x.shape[:-1], w.shape[0]), result_dtype("matmul", (x, w), {}, ndim=2))


def _moved(b: Aval, x: Aval, w: Aval) -> Aval:
    out = _mapped(x, w)
    return aval(out.shape, result_dtype("add", (b, out), {}))


def _rows(x: Any) -> Any:
    """All axes but the last as one."""
    return x if len(x.shape) == 2 else reshape(x, shape=(math.prod(x.shape[:-1]), x.shape[-1]))


def _weight(ct: Any, x: Any) -> Any:
    return matmul(swap(_rows(ct)), conj(_rows(x)))


#: b + x W', one node as in PyTorch; operands in its order
affine = primitive(
    "affine", "b x w", "x @ w.T + b",
    [
        lambda ct, out, b, x, w: ct,
        lambda ct, out, b, x, w: matmul(ct, conj(w)),
        lambda ct, out, b, x, w: _weight(ct, x),
    ],
    infer=_moved, label="Addmm",
)  # fmt: skip
linear_map = bilinear(
    "linear_map", "x w", "x @ w.T", [lambda ct, out, x, w: matmul(ct, conj(w)), lambda ct, out, x, w: _weight(ct, x)],
    infer=_mapped, label="Mm",
)  # fmt: skip

# ----------------------------------------------------------------------------------------------------------- embedding


def _without(ct: Any, index: Any, padding: int | None) -> Any:
    if padding is None:
        return ct
    skipped = reshape(equal(index, padding), shape=(*index.shape, *(1 for _ in ct.shape[len(index.shape) :])))
    return where(skipped, 0.0, ct)


#: rows of w; the row `padding` gets no gradient
embedding: Primitive = linear(
    "embedding", "w index", "rt.embedding(w, index)",
    lambda ct, out, w, index, *, padding: embedding_adjoint(ct, index, rows=w.shape[0], padding=padding),
    infer=lambda w, index, *, padding: aval((*index.shape, *w.shape[1:]), w.dtype), params="padding", saves="index",
    linear="", selects=True,
)  # fmt: skip
embedding_adjoint: Primitive = linear(
    "embedding_adjoint", "ct index", "rt.embedding_adjoint(ct, index, rows, padding)",
    lambda ct, out, x, index, *, rows, padding: _without(embedding(ct, index, padding=None), index, padding),
    infer=lambda ct, index, *, rows, padding: aval((rows, *ct.shape[index.ndim :]), ct.dtype), params="rows padding",
    saves="index", label="EmbeddingDenseBackward", linear="",
)  # fmt: skip

# ----------------------------------------------------------------------------------------------------- standardization


def _scale(x: Any, axis: tuple[int, ...], eps: float) -> tuple[Any, Any]:
    """x standardized, and the factor by which that stretches."""
    centred = centre(x, axis)
    rate = 1.0 / sqrt(mean(centred * centred, axis=axis, keepdims=True) + eps)
    return centred * rate, rate


def _standardize_x(ct: Any, x: Any, axis: tuple[int, ...], eps: float) -> Any:
    unit, rate = _scale(x, axis, eps)
    return rate * (centre(ct, axis) - unit * mean(ct * unit, axis=axis, keepdims=True))


def _norm(params: dict[str, Any]) -> str:
    return "NativeBatchNorm" if params["axis"][0] == 0 else "NativeLayerNorm"


#: (x - mean) / sqrt(var + eps) over the axes
standardize = primitive(
    "standardize", "x", "rt.standardize(x, axis, eps)",
    [lambda ct, out, x, *, axis, eps: _standardize_x(ct, x, axis, eps)], infer=same, params="axis eps",
    label_of=_norm, real=True,
)  # fmt: skip


def _standardize_affine(x: Aval, w: Aval, b: Aval, *, axis: tuple[int, ...], eps: float) -> Aval:
    return aval(x.shape, result_dtype("add", (x, w, b)[:2], {}))


#: the same, times w, plus b, which broadcast to x
standardize_affine = primitive(
    "standardize_affine", "x w b", "rt.standardize(x, axis, eps) * w + b",
    [
        lambda ct, out, x, w, b, *, axis, eps: _standardize_x(ct * w, x, axis, eps),
        lambda ct, out, x, w, b, *, axis, eps: ct * _scale(x, axis, eps)[0],
        lambda ct, out, x, w, b, *, axis, eps: ct,
    ],
    infer=_standardize_affine, params="axis eps",
    label_of=_norm, real=True,
)  # fmt: skip

# ------------------------------------------------------------------------------------------------ piecewise activations


def _inside(x: Any, bound: float) -> Any:
    return logical_and(greater(x, -bound), less(x, bound))


hardsigmoid = elementwise(
    "hardsigmoid", "x", "np.clip(x + 3.0, 0.0, 6.0) / 6.0",
    along=[lambda t, out, x: where(_inside(x, 3.0), t / 6.0, 0.0)], fast="rt.clip(x + 3.0, 0.0, 6.0) / 6.0",
    selects=True,
)  # fmt: skip
hardswish = elementwise(
    "hardswish", "x", "x * np.clip(x + 3.0, 0.0, 6.0) / 6.0",
    along=[lambda t, out, x: where(_inside(x, 3.0), t * (x / 3.0 + 0.5), where(less(x, 0.0), 0.0, t))],
    fast="x * rt.clip(x + 3.0, 0.0, 6.0) / 6.0", real=True,
)  # fmt: skip
softshrink = elementwise(
    "softshrink", "x", "x - np.clip(x, -bound, bound)",
    along=[lambda t, out, x, *, bound: where(less_equal(absolute(x), bound), 0.0, t)], params="bound", selects=True,
    fast="x - rt.clip(x, -bound, bound)",
)  # fmt: skip
hardshrink = elementwise(
    "hardshrink", "x", "np.where(np.abs(x) <= bound, 0.0, x)",
    along=[lambda t, out, x, *, bound: where(less_equal(absolute(x), bound), 0.0, t)], params="bound", selects=True,
    fast="rt.where(np.abs(x) <= bound, 0.0, x)",
)  # fmt: skip
threshold = elementwise(
    "threshold", "x", "np.where(x > level, x, value)",
    along=[lambda t, out, x, *, level, value: where(greater(x, level), t, 0.0)], params="level value", selects=True,
    fast="rt.where(x > level, x, value)",
)  # fmt: skip
prelu = elementwise(
    "prelu", "x w", "np.where(x > 0, x, w * x)",
    along=[
        lambda t, out, x, w: where(greater(x, 0), t, t * w),
        lambda t, out, x, w: where(greater(x, 0), 0.0, t * x),
    ],
    label="PreluKernel", fast="rt.where(x > 0, x, w * x)",
)  # fmt: skip

# --------------------------------------------------------------------------------------------------------------- hooks

#: the operands as they are: one node that sees the cotangents of all of them
identities = primitive(
    "identities", "*xs", "(*xs,)", lambda k, ct, out, *xs: ct[k], infer=lambda *xs: xs, saves=[""], multi=True,
    label="=BackwardHookFunctionBackward", linear="all",
)  # fmt: skip
