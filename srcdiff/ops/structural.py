"""The operations every transformation needs: casting, (un)broadcasting, reshaping, items of tuples; and `fit`."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.aval import Aval, aval
from srcdiff.core.builder import Builder
from srcdiff.core.primitive import Primitive
from srcdiff.core.program import Node
from srcdiff.errors import ShapeError
from srcdiff.ops.families import broadcast_shapes, linear, nondiff, normalize_axes, result_dtype


def _shape_is(name: str) -> Any:
    """The result has the shape given as the parameter `shape`, and the operand's dtype."""

    def infer(x: Aval, *, shape: tuple[int, ...]) -> Aval:
        return aval(shape, x.dtype)

    return infer


def _reshaped(x: Aval, *, shape: tuple[int, ...]) -> Aval:
    out = aval(shape, x.dtype)
    if out.size != x.size:
        raise ShapeError(f"reshape: cannot reshape {x} into {shape}")
    return out


def _broadcasted(x: Aval, *, shape: tuple[int, ...]) -> Aval:
    try:
        if broadcast_shapes(x.shape, shape) == shape:
            return aval(shape, x.dtype)
    except ValueError:
        pass
    raise ShapeError(f"broadcast_to: {x} does not broadcast to {shape}")


def _identity_fold(builder: Builder, nodes: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    """Changing the shape to what it is does nothing."""
    (x,) = nodes
    if not x.is_literal and x.shape == params["shape"]:
        return x
    if x.prim is not None and x.prim.name == "reshape" and params is not None:
        return None
    return None


def _reshape_fold(builder: Builder, nodes: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    """reshape(x, its own shape) -> x; reshape(reshape(x, a), b) -> reshape(x, b)."""
    (x,) = nodes
    if x.is_literal:
        return None
    if x.shape == params["shape"]:
        return x
    if x.prim is reshape:
        return reshape(x.operands[0], shape=params["shape"])  # type: ignore[no-any-return]
    return None


def _cast_fold(builder: Builder, nodes: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    """Casting to the dtype a value has already does nothing."""
    (x,) = nodes
    if x.aval.weak is None and x.dtype == params["dtype"]:
        return x
    return None


def _permuted(x: Aval, *, axes: tuple[int, ...]) -> Aval:
    return aval(tuple(x.shape[k] for k in axes), x.dtype)


def _transpose_fold(builder: Builder, nodes: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    """transpose by the identity -> x; transpose(transpose(x, a), b) -> transpose(x, a after b)."""
    (x,) = nodes
    axes = params["axes"]
    if axes == tuple(range(len(axes))):
        return x
    if x.prim is transpose:
        inner = x.kwargs["axes"]
        return transpose(x.operands[0], axes=tuple(inner[k] for k in axes))  # type: ignore[no-any-return]
    return None


def inverse(axes: tuple[int, ...]) -> tuple[int, ...]:
    """The permutation that undoes `axes`."""
    out = [0] * len(axes)
    for k, a in enumerate(axes):
        out[a] = k
    return tuple(out)


cast = linear(
    "cast", "x", "np.asarray(x).astype(dtype)", lambda ct, out, x, *, dtype: fit(ct, x),
    infer=lambda x, *, dtype: aval(x.shape, dtype), params="dtype", label="ToCopy", fold=_cast_fold, saves="",
)  # fmt: skip
real_part = linear(
    "real", "x", "np.real(x)", lambda ct, out, x: ct,
    infer=lambda x: aval(x.shape, result_dtype("real", (x,), {})), view=True,
    fold=lambda b, n, p: None if n[0].dtype.kind == "c" else n[0],
)  # fmt: skip
imag_part = linear(
    "imag", "x", "np.imag(x)", lambda ct, out, x: ct * 1j if x.dtype.kind == "c" else None,
    infer=lambda x: aval(x.shape, result_dtype("imag", (x,), {})), view=True,
)  # fmt: skip
reshape: Primitive = linear(
    "reshape", "x", "np.reshape(x, shape)", lambda ct, out, x, *, shape: reshape(ct, shape=x.shape),
    infer=_reshaped, params="shape", view=True, label="View", fold=_reshape_fold,
)  # fmt: skip
transpose: Primitive = linear(
    "transpose", "x", "np.transpose(x, axes)", lambda ct, out, x, *, axes: transpose(ct, axes=inverse(axes)),
    infer=_permuted, params="axes", view=True, label="Permute", fold=_transpose_fold,
)  # fmt: skip
broadcast_to = linear(
    "broadcast_to", "x", "np.broadcast_to(x, shape)", lambda ct, out, x, *, shape: sum_to(ct, shape=x.shape),
    infer=_broadcasted, params="shape", view=True, label="Expand", fold=_identity_fold,
)  # fmt: skip
sum_to: Primitive = linear(
    "sum_to", "x", "rt.sum_to(x, shape)", lambda ct, out, x, *, shape: broadcast_to(ct, shape=x.shape),
    infer=_shape_is("sum_to"), params="shape", label="Sum", fold=_identity_fold,
)  # fmt: skip
item = nondiff(
    "item", "x", "x[k]", params="k", infer=lambda avals, *, k: avals[k],
    reason="differentiated by the transformation itself, as part of the operation whose output it is",
)  # fmt: skip
identity = linear(
    "identity", "x", "x", lambda ct, out, x: ct, infer=lambda x: x, label="Alias", fold=lambda b, n, p: n[0]
)
stop_gradient = nondiff(
    "stop_gradient", "x", "x", infer=lambda x: x, reason="it stops gradients on purpose", fold=lambda b, n, p: n[0]
)


def swap(x: Any) -> Any:
    """`x` with its last two axes exchanged."""
    axes = tuple(range(x.ndim))
    return transpose(x, axes=(*axes[:-2], axes[-1], axes[-2]))


def expand(ct: Any, shape: tuple[int, ...], axis: Any, keepdims: bool) -> Any:
    """Undo a reduction over `axis` of an array of `shape`: put the axes back and broadcast."""
    if not keepdims and shape:
        axes = normalize_axes(axis, len(shape))
        ct = reshape(ct, shape=tuple(1 if k in axes else n for k, n in enumerate(shape)))
    return broadcast_to(ct, shape=shape)


def fit(ct: Any, to: Any) -> Any:
    """A cotangent in the shape and dtype of the value it belongs to (`to`: its aval, or anything with shape and dtype).

    Sums over broadcast axes, broadcasts what a rule left smaller, casts, and takes the real part for real values. The
    one place where broadcasting is differentiated.
    """
    shape, dtype = to.shape, to.dtype
    if not hasattr(ct, "shape"):
        ct = np.asarray(ct, dtype)[()] if not shape else np.full(shape, ct, dtype)
    have = ct.shape
    if have != shape:
        if len(have) >= len(shape) and have != () and _covers(have, shape):
            ct = sum_to(ct, shape=shape)
        else:
            ct = broadcast_to(ct, shape=shape)
    if ct.dtype != dtype:
        if ct.dtype.kind == "c" and dtype.kind != "c":
            ct = real_part(ct)
        ct = cast(ct, dtype=dtype)
    return ct


def _covers(have: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether `have` is a shape that `shape` broadcasts to."""
    tail = have[len(have) - len(shape) :]
    return all(a == b or b == 1 for a, b in zip(tail, shape, strict=True))
