"""Identities for steps that are replayed many times: what they leave is cheaper in NumPy, and equal up to
a few roundings.

Guarantees: the terms and factors are those of the program before; each identity leads to fewer operations on arrays.
"""

from __future__ import annotations

from typing import Any, Final

from srcdiff.core.primitive import Primitive
from srcdiff.core.program import Node
from srcdiff.ops.elementwise import add, div, mul, neg
from srcdiff.ops.families import reduced_shape
from srcdiff.ops.indexing import ROWS, scatter_scaled
from srcdiff.ops.reductions import counted, sum
from srcdiff.ops.structural import reshape, sum_to
from srcdiff.transform.identity import (
    Rewrite,
    SharingBuilder,
    is_inexact,
    is_power_of_two,
    made_by,
    number,
    rewrite,
)
from srcdiff.transform.matrices import einsum_is_product, tensordot_is_product

Operands = tuple[Node, ...]
Params = dict[str, Any]

_DEEPEST = 4
_LARGEST_COUNT = 2**24  # beyond, a float32 is not exact


def mean_is_sum(prim: Primitive, xs: Operands, params: Params) -> Node | None:
    """mean(x) -> sum(x) / n, which is how it is computed."""
    (x,) = xs
    count = counted(x.shape, params["axis"])
    if x.is_literal or x.dtype.char not in "fd" or not 0 < count < _LARGEST_COUNT:
        return None
    return div(sum(x, **params), count)  # type: ignore[no-any-return]


def reduced_once(prim: Primitive, xs: Operands, params: Params) -> Node | None:
    """max(x, axis) -> max(x, axis, keepdims=True), reshaped, where there is that."""
    (x,) = xs
    if params["keepdims"] or x.is_literal or not isinstance(x.builder, SharingBuilder):
        return None
    made = x.builder.known(prim, xs, {**params, "keepdims": True})
    return None if made is None else reshape(made, shape=reduced_shape(x.shape, params["axis"], False))


def divided_after_sum(prim: Primitive, xs: Operands, params: Params) -> Node | None:
    """sum(x / t) -> sum(x) / t; sum(x * (y / t)) -> sum(x * y) / t; for a t that is the same along what is summed."""
    (x,) = xs
    if not is_inexact(x) or _is_used_again(x):
        return None
    if made_by(x, "div"):
        above, below = x.operands
    elif made_by(x, "mul"):
        quotient = next((y for y in x.operands if made_by(y, "div") and not _is_used_again(y)), None)
        if quotient is None:
            return None
        other = x.operands[1] if quotient is x.operands[0] else x.operands[0]
        above, below = mul(other, quotient.operands[0]), quotient.operands[1]
    else:
        return None
    total_shape = params["shape"] if prim is sum_to else reduced_shape(x.shape, params["axis"], True)
    if below.is_literal or above.shape != x.shape or below.shape != total_shape or below.shape == x.shape:
        return None
    total = prim(above, **params)
    return div(total, reshape(below, shape=total.shape))  # type: ignore[no-any-return]


def signs_meet(prim: Primitive, xs: Operands, params: Params) -> Node | None:
    """-x - y -> -(x + y), so that what comes next can take the sign."""
    x, y = xs
    return neg(add(x.operands[0], y)) if made_by(x, "neg") and is_inexact(x, y) else None


def common_factor(prim: Primitive, xs: Operands, params: Params) -> Node | None:
    """x * y + x * z -> x * (y + z); x / y - z / y -> (x - z) / y; where the products serve nothing else."""
    x, y = xs
    if x.prim is not y.prim or _is_used_again(x) or _is_used_again(y) or x is y or not is_inexact(x, y):
        return None
    if made_by(x, "div") and x.operands[1] is y.operands[1]:
        return div(prim(x.operands[0], y.operands[0]), x.operands[1])  # type: ignore[no-any-return]
    if not made_by(x, "mul"):
        return None
    for k, factor in enumerate(x.operands):
        for j, other in enumerate(y.operands):
            if factor is other:
                return mul(factor, prim(x.operands[1 - k], y.operands[1 - j]))  # type: ignore[no-any-return]
    return None


def literals_meet(prim: Primitive, xs: Operands, params: Params) -> Node | None:
    """(x * c * y) * d -> x * y * (c * d); x * c * (y * d) -> x * y * (c * d); -(x * c * y) -> x * y * -c."""
    if not is_inexact(*xs) or (prim.name == "neg" and xs[0].is_literal):
        return None
    first = _without_number(xs[0])
    if first is None:
        return None
    bare, value = first
    if prim is neg:
        return mul(bare, -value)  # type: ignore[no-any-return]
    outer = number(xs[1])
    if outer is None:
        second = _without_number(xs[1])
        if second is None or xs[0].aval.size != xs[1].aval.size:
            return None
        bare, outer = mul(bare, second[0]), second[1]
    together = value * outer
    return mul(bare, together) if 1e-30 < abs(together) < 1e30 else None


def _without_number(x: Node, depth: int = _DEEPEST) -> tuple[Node, float] | None:
    """A product without the number that is among its factors, and the number."""
    if not (made_by(x, "mul") or made_by(x, "div")) or _is_used_again(x) or not depth or x.dtype.char not in "fdFD":
        return None
    first, second = x.operands
    value = number(second)
    if value is not None:
        if x.prim is mul:
            return first, value
        return (first, 1 / value) if is_power_of_two(value) else None
    for k, factor in enumerate(x.operands if x.prim is mul else x.operands[:1]):
        if factor.is_literal or factor.aval.size != x.aval.size:
            continue
        found = _without_number(factor, depth - 1)
        if found is not None:
            bare = x.prim(found[0], second) if k == 0 else mul(first, found[0])  # type: ignore[misc]
            return bare, found[1]
    return None


def rows_are_scaled_where_they_go(prim: Primitive, xs: Operands, params: Params) -> Node | None:
    """scatter(x * s[:, None], places) -> scatter_scaled(x, s, places), in which the products are no array."""
    value, *places = xs
    rows = params["index"].parts == ROWS.parts and not params["unique"] and value.ndim == 2 and places[0].ndim == 1
    if not rows or value.dtype.char not in "fd" or not made_by(value, "mul") or _is_used_again(value):
        return None
    for x, scale in (value.operands, value.operands[::-1]):
        if x.aval is value.aval and scale.shape == (x.shape[0], 1) and scale.dtype == x.dtype and x.shape[1] > 1:
            scale = reshape(scale, shape=(x.shape[0],))
            return scatter_scaled(x, scale, places[0], rows=params["shape"][0])  # type: ignore[no-any-return]
    return None


def _is_used_again(x: Node) -> bool:
    return isinstance(x.builder, SharingBuilder) and x in x.builder.shared


CHEAPER: Final[tuple[Rewrite, ...]] = (
    rewrite(reduced_once, "max min sum mean prod"),
    rewrite(mean_is_sum, "mean"),
    rewrite(divided_after_sum, "sum sum_to"),
    rewrite(signs_meet, "sub"),
    rewrite(common_factor, "add sub"),
    rewrite(literals_meet, "mul neg"),
    rewrite(rows_are_scaled_where_they_go, "scatter"),
    rewrite(einsum_is_product, "einsum"),
    rewrite(tensordot_is_product, "tensordot"),
)
