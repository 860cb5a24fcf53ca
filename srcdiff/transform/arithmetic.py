"""Identities of arithmetic.

Guarantees: each is exact but for the sign of a NaN, except that factors which are single numbers are multiplied
with each other before they meet an array, which may round differently once or twice. Below, `c` and `d` are Python
numbers written into the program, `t` is one number computed at run time, `x` and `y` are anything.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from srcdiff.core.primitive import Primitive
from srcdiff.core.program import Node
from srcdiff.ops.elementwise import add, div, mul, neg, sub
from srcdiff.transform.identity import (
    Rewrite,
    is_array,
    is_inexact,
    is_power_of_two,
    is_scalar,
    is_shared,
    is_small,
    made_by,
    number,
    rewrite,
)

Operands = tuple[Node, ...]
Params = dict[str, Any]


def _again(node: Node, *operands: Any) -> Node:
    """The operation of a node on other operands."""
    assert node.prim is not None
    return node.prim(*operands)  # type: ignore[no-any-return]


def literal_last(prim: Primitive, xs: Operands, params: Params) -> Node | None:
    """c * x -> x * c, so that the others need to look in one place only."""
    x, y = xs
    return mul(y, x) if x.is_literal and not y.is_literal else None


def unit(prim: Primitive, xs: Operands, params: Params) -> Node | None:
    """x * 1, x / 1, x ** 1, x - 0 -> x."""
    x, y = xs
    if x.is_literal or type(y.literal) not in (int, float):
        return None
    return x if y.literal == (0 if prim is sub else 1) and str(y.literal)[0] != "-" else None


def minus_one(prim: Primitive, xs: Operands, params: Params) -> Node | None:
    """x * -1, x / -1 -> -x."""
    x, y = xs
    return neg(x) if number(y) == -1 and is_inexact(x) else None


def double_negation(prim: Primitive, xs: Operands, params: Params) -> Node | None:
    """-(-x) -> x."""
    return xs[0].operands[0] if made_by(xs[0], "neg") else None


def negated_factor(prim: Primitive, xs: Operands, params: Params) -> Node | None:
    """-(x * c) -> x * -c, and so for a small factor and for quotients, unless the product is needed anyway."""
    (product,) = xs
    if not (made_by(product, "mul") or made_by(product, "div")) or not is_inexact(product):
        return None
    if is_array(product) and is_shared(product):
        return None
    x, y = product.operands
    if number(y) is not None or is_small(y, product):
        return _again(product, x, neg(y))
    return _again(product, neg(x), y) if number(x) is not None or is_small(x, product) else None


def signs_outward(prim: Primitive, xs: Operands, params: Params) -> Node | None:
    """-x * y -> -(x * y), so that a sum can take the sign; not from a small factor, where it costs nothing."""
    x, y = xs
    if not (made_by(x, "neg") or made_by(y, "neg")) or not is_inexact(x, y):
        return None
    size = math.prod(np.broadcast_shapes(x.aval.shape, y.aval.shape))
    for this in xs:
        if made_by(this, "neg") and (this.is_literal or 4 * this.aval.size > size):  # or `negated_factor` undoes it
            bare = this.operands[0]
            return neg(prim(bare, y) if this is x else prim(x, bare))  # type: ignore[no-any-return]
    return None


def sign_into_sum(prim: Primitive, xs: Operands, params: Params) -> Node | None:
    """x + -y -> x - y; -x + y -> y - x; x - -y -> x + y."""
    x, y = xs
    if made_by(y, "neg") and is_inexact(x, y):
        return (sub if prim is add else add)(x, y.operands[0])  # type: ignore[no-any-return]
    if prim is add and made_by(x, "neg") and is_inexact(x, y):
        return sub(y, x.operands[0])  # type: ignore[no-any-return]
    return None


def negative_term(prim: Primitive, xs: Operands, params: Params) -> Node | None:
    """x + y * -c -> x - y * c; x - y * -c -> x + y * c; y * -c + x -> x - y * c; wherever in y the sign is."""
    x, y = xs
    if not is_inexact(x, y):
        return None
    positive = _without_sign(y)
    if positive is not None:
        return (sub if prim is add else add)(x, positive)  # type: ignore[no-any-return]
    positive = _without_sign(x) if prim is add else None
    return None if positive is None else sub(y, positive)


def _without_sign(product: Node, depth: int = 4) -> Node | None:
    """The negative of a product or quotient that has a negative factor and is needed nowhere else."""
    if not (made_by(product, "mul") or made_by(product, "div")) or is_shared(product) or not depth:
        return None
    first, second = product.operands
    for place, factor in enumerate((first, second)):
        value = number(factor)
        bare: Any = None
        if value is not None:
            bare = -value if value < 0 else None
        elif made_by(factor, "neg"):
            bare = factor.operands[0]
        elif is_array(factor) or is_scalar(product):
            bare = _without_sign(factor, depth - 1)
        if bare is not None:
            return _again(product, bare, second) if place == 0 else _again(product, first, bare)
    return None


def twice(prim: Primitive, xs: Operands, params: Params) -> Node | None:
    """x + x -> x * 2."""
    x, y = xs
    return mul(x, 2.0) if x is y and is_inexact(x) else None


def merge_literals(prim: Primitive, xs: Operands, params: Params) -> Node | None:
    """x * c * d -> x * (c * d), and so for quotients; for arrays only where that is exact."""
    x, y = xs
    outer = number(y)
    if outer is None or not (made_by(x, "mul") or made_by(x, "div")) or not is_inexact(x, x.operands[0]):
        return None
    inner = number(x.operands[1])
    if is_shared(x) or inner is None or not (is_scalar(x) or is_power_of_two(outer) or is_power_of_two(inner)):
        return None
    base = x.operands[0]
    if prim.name == x.prim.name:  # type: ignore[union-attr]
        together = outer * inner
        limits = np.finfo(base.dtype)
        fits: bool = limits.tiny <= abs(together) <= limits.max
        return prim(base, together) if fits else None
    above, below = (outer, inner) if prim is mul else (inner, outer)
    if below / above == round(below / above):
        return div(base, below / above)  # type: ignore[no-any-return]
    if above / below == round(above / below):
        return mul(base, above / below)  # type: ignore[no-any-return]
    if is_power_of_two(above):
        return div(base, below / above)  # type: ignore[no-any-return]
    return mul(base, above / below) if is_power_of_two(below) else None


def literal_into_scalar(prim: Primitive, xs: Operands, params: Params) -> Node | None:
    """x * c * t -> x * (t * c); x / c * t -> x * (t / c); c / x * t -> t * c / x."""
    for x, t in (xs, xs[::-1]):
        if not is_scalar(t) or not is_array(x) or not is_inexact(x, t):
            continue
        if made_by(x, "mul") or made_by(x, "div"):
            base, factor = x.operands
            if number(factor) is not None and is_inexact(base):
                return mul(base, x.prim(t, factor))  # type: ignore[no-any-return, misc]
            if x.prim is div and number(base) is not None and is_inexact(factor):
                return div(mul(t, base), factor)  # type: ignore[no-any-return]
    return None


def scalar_takes_literal(prim: Primitive, xs: Operands, params: Params) -> Node | None:
    """x * t * c -> x * (t * c), and so for quotients."""
    x, y = xs
    if number(y) is None or not is_array(x) or not (made_by(x, "mul") or made_by(x, "div")):
        return None
    first, second = x.operands
    if not is_inexact(first, second):
        return None
    if is_scalar(second) and is_array(first) and x.prim is mul:
        return mul(first, prim(second, y))  # type: ignore[no-any-return]
    if is_scalar(first) and is_array(second):
        return x.prim(prim(first, y), second)  # type: ignore[no-any-return, misc]
    return None


def literal_to_smaller(prim: Primitive, xs: Operands, params: Params) -> Node | None:
    """x * y * c -> x * (y * c) for a y much smaller than the product and a c that is exact to multiply with."""
    product, y = xs
    factor = number(y)
    if factor is None or not is_power_of_two(factor) or not made_by(product, "mul") or not is_inexact(product):
        return None
    if is_shared(product):
        return None
    first, second = product.operands
    if is_small(first, product) and is_inexact(first) and is_array(first):
        return mul(mul(first, factor), second)  # type: ignore[no-any-return]
    if is_small(second, product) and is_inexact(second) and is_array(second):
        return mul(first, mul(second, factor))  # type: ignore[no-any-return]
    return None


def same_choice(prim: Primitive, xs: Operands, params: Params) -> Node | None:
    """where(c, x, x) -> x."""
    return xs[1] if xs[1] is xs[2] else None


ARITHMETIC: Final[tuple[Rewrite, ...]] = (
    rewrite(literal_last, "mul"),
    rewrite(unit, "mul div pow sub"),
    rewrite(minus_one, "mul div"),
    rewrite(double_negation, "neg"),
    rewrite(negated_factor, "neg"),
    rewrite(signs_outward, "mul div"),
    rewrite(sign_into_sum, "add sub"),
    rewrite(negative_term, "add sub"),
    rewrite(twice, "add"),
    rewrite(merge_literals, "mul div"),
    rewrite(literal_into_scalar, "mul"),
    rewrite(scalar_takes_literal, "mul div"),
    rewrite(literal_to_smaller, "mul"),
    rewrite(same_choice, "where"),
)
