"""Operations that PyTorch records as one node and NumPy has no function for, or has without a gradient.

Those that are another primitive under PyTorch's label (`swap_axes`, `mv`, `masked_fill` ...) become that primitive in
programs. `flat_*` are rounding and sign with the derivative 0, as PyTorch's functions have it; NumPy's functions of
that name give results without a gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.aval import Aval, aval
from srcdiff.core.builder import Builder
from srcdiff.core.primitive import FoldRule, Primitive
from srcdiff.core.program import Node
from srcdiff.errors import ShapeError
from srcdiff.index import FULL, Dynamic, Index
from srcdiff.ops.elementwise import conj, where
from srcdiff.ops.families import bilinear, elementwise, linear, primitive, result_dtype
from srcdiff.ops.indexing import getitem, scatter, scatter_along_axis, take_along_axis
from srcdiff.ops.linalg import matmul
from srcdiff.ops.shaping import flip
from srcdiff.ops.structural import reshape, swap, transpose


def _becomes(made: Any) -> FoldRule:
    """In programs, what `made(*operands, **params)` gives."""

    def fold(builder: Builder, nodes: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
        return None if all(node.is_literal for node in nodes) else made(*nodes, **params)

    return fold


# -------------------------------------------------------------------------------------------------- piecewise constant


def _flat(name: str, expr: str, label: str, params: str = "") -> Primitive:
    return elementwise(
        name, "x", expr, along=[lambda t, out, x, **_: where(False, t, 0.0)], params=params, label=label, real=True
    )


flat_sign = _flat("flat_sign", "np.sign(x)", "Sign")
flat_floor = _flat("flat_floor", "np.floor(x)", "Floor")
flat_ceil = _flat("flat_ceil", "np.ceil(x)", "Ceil")
flat_trunc = _flat("flat_trunc", "np.trunc(x)", "Trunc")
flat_round = _flat("flat_round", "np.round(x, decimals)", "Round", params="decimals")

flat_floor_divide = elementwise(
    "flat_floor_divide", "x y", "x // y",
    along=[lambda t, out, x, y: where(False, t, 0.0), lambda t, out, x, y: where(False, t, 0.0)], label="Div",
)  # fmt: skip

# ------------------------------------------------------------------------------------------------------ transpositions


def exchanged(ndim: int, axis1: int, axis2: int) -> tuple[int, ...]:
    """The permutation that exchanges two axes."""
    axes = list(range(ndim))
    axes[axis1], axes[axis2] = axis2, axis1
    return tuple(axes)


def _swapped(x: Any, *, axis1: int, axis2: int) -> Any:
    return transpose(x, axes=exchanged(x.ndim, axis1, axis2))


def _swapped_aval(x: Aval, *, axis1: int, axis2: int) -> Aval:
    return aval(tuple(x.shape[k] for k in exchanged(x.ndim, axis1, axis2)), x.dtype)


swap_axes: Primitive = linear(
    "swap_axes", "x", "np.swapaxes(x, axis1, axis2)",
    lambda ct, out, x, *, axis1, axis2: swap_axes(ct, axis1=axis1, axis2=axis2),
    infer=_swapped_aval, params="axis1 axis2", view=True, label="Transpose", fold=_becomes(_swapped),
    fast="x.swapaxes(axis1, axis2)",
)  # fmt: skip
matrix_t: Primitive = linear(
    "matrix_t", "x", "x.T", lambda ct, out, x: matrix_t(ct), infer=lambda x: aval(x.shape[::-1], x.dtype), view=True,
    label="T", fold=_becomes(lambda x: transpose(x, axes=tuple(range(x.ndim))[::-1])),
)  # fmt: skip

#: PyTorch's flip is a copy
flip_copy: Primitive = linear(
    "flip_copy", "x", "np.array(np.flip(x, axis))", lambda ct, out, x, *, axis: flip(ct, axis=axis),
    infer=lambda x, *, axis: x, params="axis", label="Flip", fold=_becomes(lambda x, *, axis: flip(x, axis=axis)),
)  # fmt: skip

# ---------------------------------------------------------------------------------------------- products by their name


def _product(name: str, label: str, ranks: tuple[int, int], rules: list[Any]) -> Primitive:
    def infer(x: Aval, y: Aval) -> Aval:
        if (x.ndim, y.ndim) != ranks or x.shape[-1] != y.shape[-2 if y.ndim > 1 else 0] or x.shape[:-2] != y.shape[:-2]:
            raise ShapeError(f"{name}: cannot multiply {x} with {y}")
        shape = (*x.shape[:-1], *y.shape[-1:]) if y.ndim > 1 else x.shape[:-1]
        return aval(shape, result_dtype("matmul", (x, y), {}, ndim=2))

    return bilinear(name, "x y", "x @ y", rules, infer, label=label, saves=["y", "x"], fold=_becomes(matmul))


dot = _product("dot", "Dot", (1, 1), [lambda ct, out, x, y: ct * conj(y), lambda ct, out, x, y: ct * conj(x)])
mv = _product(
    "mv", "Mv", (2, 1),
    [
        lambda ct, out, x, y: reshape(ct, shape=(*ct.shape, 1)) * conj(y),
        lambda ct, out, x, y: matmul(conj(swap(x)), ct),
    ],
)  # fmt: skip
bmm = _product(
    "bmm", "Bmm", (3, 3),
    [lambda ct, out, x, y: matmul(ct, conj(swap(y))), lambda ct, out, x, y: matmul(conj(swap(x)), ct)],
)  # fmt: skip

# ----------------------------------------------------------------------------------------------------- picked elements


def _picked_aval(x: Aval, indices: Aval, *, axis: int, label: str) -> Aval:
    return aval(indices.shape, x.dtype)


def _unpick(ct: Any, out: Any, x: Any, indices: Any, *, axis: int, label: str) -> Any:
    if len(indices.shape) == len(x.shape):
        return scatter_along_axis(ct, indices, axis=axis, shape=x.shape)
    shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    return scatter_along_axis(reshape(ct, shape=shape), reshape(indices, shape=shape), axis=axis, shape=x.shape)


#: the elements at `indices` along an axis, as PyTorch's sort, topk ... select them, with the label of their node
picked: Primitive = linear(
    "picked", "x indices", "np.take_along_axis(x, indices, axis)", _unpick, infer=_picked_aval, params="axis label",
    saves=["indices"], label_of=lambda params: str(params["label"]),
    fold=_becomes(lambda x, indices, *, axis, label: take_along_axis(x, indices, axis=axis)), selects=True,
)  # fmt: skip
#: the same where indices lack the axis
picked_one: Primitive = linear(
    "picked_one", "x indices",
    "np.squeeze(np.take_along_axis(x, np.expand_dims(indices, axis), axis), axis)", _unpick, infer=_picked_aval,
    params="axis label", saves=["indices"], label_of=lambda params: str(params["label"]), selects=True,
)  # fmt: skip

# --------------------------------------------------------------------------------------------- selecting and replacing


def _index_selected(x: Aval, index: Aval, *, axis: int) -> Aval:
    return aval((*x.shape[:axis], *index.shape, *x.shape[axis + 1 :]), x.dtype)


def at_axis(axis: int) -> Index:
    """The index that has an array at one axis and takes all of the others."""
    return Index((*(FULL,) * axis, Dynamic(0)), tuple_like=axis > 0, unique=False)


index_select: Primitive = linear(
    "index_select", "x index", "np.take(x, index, axis)",
    lambda ct, out, x, index, *, axis: scatter(ct, index, index=at_axis(axis), shape=x.shape, unique=False),
    infer=_index_selected, params="axis", saves=["index"],
    fold=_becomes(lambda x, index, *, axis: getitem(x, index, index=at_axis(axis))), selects=True,
)  # fmt: skip
masked_fill: Primitive = elementwise(
    "masked_fill", "x mask value", "np.where(mask, value, x)",
    along=[
        lambda t, out, x, mask, value: where(mask, 0.0, t),
        None,
        lambda t, out, x, mask, value: where(mask, t, 0.0),
    ],
    fold=_becomes(lambda x, mask, value: where(mask, value, x)), selects=True, fast="rt.where(mask, value, x)",
)  # fmt: skip


def _like_x(x: Aval, indices: Aval, v: Aval, *, axis: int) -> Aval:
    return aval(x.shape, np.result_type(x.dtype, v.dtype))


#: x with v added at `indices` along an axis; repeated indices add up
scatter_add: Primitive = primitive(
    "scatter_add", "x indices v", "x + rt.scatter_along_axis(v, indices, axis, x.shape)",
    [
        lambda ct, out, x, indices, v, *, axis: ct,
        None,
        lambda ct, out, x, indices, v, *, axis: take_within(ct, indices, axis),
    ],
    infer=_like_x, params="axis", saves=["", "", "indices"], linear="all",
)  # fmt: skip


def take_within(x: Any, indices: Any, axis: int) -> Any:
    """`take_along_axis` of the part of x that indices, perhaps shorter along the other axes, cover."""
    parts = tuple(FULL if k == axis else _head(n) for k, n in enumerate(indices.shape))
    whole = all(k == axis or n == indices.shape[k] for k, n in enumerate(x.shape))
    return take_along_axis(x if whole else getitem(x, index=Index(parts, len(parts) > 1)), indices, axis=axis)


def _head(n: int) -> Any:
    return type(FULL)(None, n, None)
