"""Identities of broadcasting, reshaping, casting and sums: work is done on the smallest array that has all the
values.

Guarantees: exact, except that the sum of n equal numbers becomes one multiplication by n, and that a product with a
matrix of one row or column becomes the product with a vector, which BLAS may add up in another order.
"""

from __future__ import annotations

import math
from operator import is_
from typing import Any, Final

import numpy as np

from srcdiff.core.primitive import Primitive
from srcdiff.core.program import Node
from srcdiff.ops.elementwise import mul
from srcdiff.ops.families import broadcast_shapes, reduced_shape
from srcdiff.ops.linalg import matmul
from srcdiff.ops.structural import broadcast_to, cast, reshape, sum_to, swap
from srcdiff.transform.identity import ELEMENTWISE, Rewrite, is_power_of_two, is_shared, made_by, rewrite

Operands = tuple[Node, ...]
Params = dict[str, Any]
Shape = tuple[int, ...]


def core(x: Node) -> Node:
    """The smallest node that broadcasting turns into the same values as x: without broadcasts and leading new axes."""
    while x.prim is broadcast_to or x.prim is reshape:
        inner = x.operands[0]
        if inner.is_literal or not _stretches(inner.shape, x):
            break
        x = inner
    return x


def _stretches(inner: Shape, x: Node) -> bool:
    if made_by(x, "broadcast_to"):
        return True
    extra = x.ndim - len(inner)
    return extra > 0 and (x.shape[extra:] == inner or math.prod(inner) == math.prod(x.shape) == 1)


def stretch(x: Node, shape: Shape) -> Node:
    """x broadcast to `shape`; as a reshape where no value is repeated."""
    if math.prod(x.shape) == math.prod(shape):
        return reshape(x, shape=shape)  # type: ignore[no-any-return]
    return broadcast_to(x, shape=shape)  # type: ignore[no-any-return]


def plain_number(prim: Primitive, xs: Operands, params: Params) -> Any:
    """f(broadcast(c), x) and f(c, x) of a number c with a dtype -> f(Python number, x), which has the same dtype."""
    for x in xs:  # nearly always there is none
        if x.prim is broadcast_to or x.prim is reshape or isinstance(x.literal, np.floating):
            break
    else:
        return None
    inner = tuple(map(_number_in, xs))
    shortest = tuple(map(_shortest, inner))
    if all(map(is_, shortest, xs)):
        return None
    shape = broadcast_shapes(*(x.shape for x in xs))
    if all(x.is_literal for x in inner):
        found = prim(*inner, **params)
        return None if found.shape == shape else stretch(found, shape)
    found = prim(*shortest, **params)
    return found if found.shape == shape else stretch(found, shape)


def _number_in(x: Node) -> Node:
    """The number that an array has everywhere; else the operand itself."""
    inner = x
    while inner.prim is broadcast_to or inner.prim is reshape:
        inner = inner.operands[0]
    return inner if inner.is_literal else x


def _shortest(x: Node) -> Any:
    """For a finite number with a dtype the shortest Python number that rounds to it."""
    value = x.literal
    if not isinstance(value, np.floating) or not np.isfinite(value):
        return x
    return float(value) if is_power_of_two(float(value)) else float(str(value))


def broadcast_late(prim: Primitive, xs: Operands, params: Params) -> Node | None:
    """f(broadcast(x), y) -> f(x, y), broadcast afterwards if NumPy does not do it by itself."""
    small = tuple(map(core, xs))
    if all(a is b for a, b in zip(small, xs, strict=True)):
        return None
    shape = broadcast_shapes(*(x.shape for x in xs))
    return stretch(prim(*small, **params), shape)


def cast_before_broadcast(prim: Primitive, xs: Operands, params: Params) -> Node | None:
    """cast(broadcast(x)) -> broadcast(cast(x))."""
    small = core(xs[0])
    return None if small is xs[0] else stretch(cast(small, **params), xs[0].shape)


def reshape_late(prim: Primitive, xs: Operands, params: Params) -> Node | None:
    """f(reshape(x), c) -> reshape(f(x, c)), so that c meets what x was made of."""
    shaped = [x for x in xs if not x.is_literal]
    if len(shaped) != 1 or not made_by(shaped[0], "reshape") or is_shared(shaped[0]):
        return None
    (old,) = shaped
    return reshape(prim(*(old.operands[0] if x is old else x for x in xs), **params), shape=old.shape)  # type: ignore[no-any-return]


def broadcast_once(prim: Primitive, xs: Operands, params: Params) -> Node | None:
    """broadcast(broadcast(x)) -> broadcast(x), and so where x got leading axes of length 1."""
    small = core(xs[0])
    return None if small is xs[0] else stretch(small, params["shape"])


def rearranged_number(prim: Primitive, xs: Operands, params: Params) -> Node | None:
    """A reshape, transpose or selection of one number that was broadcast is that number broadcast."""
    small = core(xs[0])
    if not made_by(xs[0], "broadcast_to") or small.is_literal or small.shape != ():
        return None
    shape = prim.infer(*(x.aval for x in xs), **params).shape
    return broadcast_to(small, shape=shape) if shape else small


def cast_once(prim: Primitive, xs: Operands, params: Params) -> Node | None:
    """cast(cast(x, wide), dtype) -> cast(x, dtype)."""
    (x,) = xs
    if not made_by(x, "cast"):
        return None
    inner = x.operands[0]
    wide = inner.aval.weak is None and np.can_cast(inner.dtype, x.dtype, "safe")
    return cast(inner, dtype=params["dtype"]) if wide else None


def sum_of_equals(prim: Primitive, xs: Operands, params: Params) -> Node | None:
    """The sum of a broadcast over the axes that repeat it: x times the number of repetitions."""
    (x,) = xs
    if not made_by(x, "broadcast_to") or x.operands[0].is_literal:
        return None
    shape = params["shape"] if prim is sum_to else reduced_shape(x.shape, params["axis"], params["keepdims"])
    repeated = math.prod(x.shape) // max(math.prod(shape), 1)
    small = x.operands[0]
    if not repeated or not math.prod(x.shape):
        return None
    if math.prod(small.shape) == 1:
        return stretch(mul(reshape(small, shape=()), repeated), shape)
    return mul(small, repeated) if small.shape == shape and prim is sum_to else None


def sum_of_one(prim: Primitive, xs: Operands, params: Params) -> Node | None:
    """A sum over axes of length 1 is a reshape."""
    (x,) = xs
    shape = params["shape"] if prim is sum_to else reduced_shape(x.shape, params["axis"], params["keepdims"])
    if x.is_literal or x.dtype.kind not in "fc" or math.prod(x.shape) != math.prod(shape) or not math.prod(shape):
        return None
    return reshape(x, shape=shape)  # type: ignore[no-any-return]


def sum_once(prim: Primitive, xs: Operands, params: Params) -> Node | None:
    """sum_to(sum_to(x, a), b) -> sum_to(x, b)."""
    return sum_to(xs[0].operands[0], shape=params["shape"]) if made_by(xs[0], "sum_to") else None


def negative_sum(prim: Primitive, xs: Operands, params: Params) -> Node | None:
    """sum(-x) -> -sum(x)."""
    return -prim(xs[0].operands[0], **params) if made_by(xs[0], "neg") and xs[0].dtype.kind in "fc" else None


def turned_product(prim: Primitive, xs: Operands, params: Params) -> Node | None:
    """(x.T @ y).T -> y.T @ x, and so for x @ y.T and stacks."""
    (x,) = xs
    if not made_by(x, "matmul") or not _swaps(params["axes"]):
        return None
    a, b = x.operands
    if a.ndim != b.ndim or not any(made_by(y, "transpose") and _swaps(y.kwargs["axes"]) for y in (a, b)):
        return None
    return matmul(swap(b), swap(a))  # type: ignore[no-any-return]


def _swaps(axes: tuple[int, ...]) -> bool:
    n = len(axes)
    return n > 1 and axes == (*range(n - 2), n - 1, n - 2)


def vector_product(prim: Primitive, xs: Operands, params: Params) -> Node | None:
    """A matrix of one row or column times a matrix, made a vector again: the product with the vector."""
    (x,) = xs
    if not made_by(x, "matmul") or len(params["shape"]) != 1:
        return None
    a, b = x.operands
    if a.ndim == 2 and b.ndim == 2 and a.shape[0] == 1 and made_by(a, "reshape") and a.operands[0].ndim == 1:
        return matmul(a.operands[0], b)  # type: ignore[no-any-return]
    if a.ndim == 2 and b.ndim == 2 and b.shape[1] == 1 and made_by(b, "reshape") and b.operands[0].ndim == 1:
        return matmul(a, b.operands[0])  # type: ignore[no-any-return]
    return None


SHAPES: Final[tuple[Rewrite, ...]] = (
    rewrite(plain_number, ELEMENTWISE),
    rewrite(broadcast_late, ELEMENTWISE),
    rewrite(reshape_late, ELEMENTWISE),
    rewrite(cast_before_broadcast, "cast"),
    rewrite(broadcast_once, "broadcast_to"),
    rewrite(rearranged_number, "reshape transpose getitem"),
    rewrite(cast_once, "cast"),
    rewrite(sum_of_equals, "sum sum_to"),
    rewrite(sum_of_one, "sum sum_to"),
    rewrite(sum_once, "sum_to"),
    rewrite(negative_sum, "sum sum_to"),
    rewrite(turned_product, "transpose"),
    rewrite(vector_product, "reshape"),
)
