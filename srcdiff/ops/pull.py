"""A derivative rule, run on a cotangent that may have structural zeros: what walk and compiler have in common."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from srcdiff.aval import Aval, aval
from srcdiff.core.primitive import Primitive
from srcdiff.ops.masks import holds_everywhere
from srcdiff.ops.structural import broadcast_to, fit
from srcdiff.ops.zeros import Partial, landed, marked, unmarked


@cache
def keeps_zeros(prim: Primitive) -> bool:
    """Whether `pull` through a primitive makes something of structural zeros."""
    return prim.elementwise or prim.selects or _is_linear(prim)


def _is_linear(prim: Primitive) -> bool:
    """Whether the rule is made of operations that know of zeros; a product of matrices is linear in each, and mixes."""
    return prim.linear == "all" or (prim.linear == "each" and prim.rule(1) is None)


def square_of(prim: Primitive, operands: tuple[Any, ...], power: Any = None) -> bool:
    """Whether an operation squares its first operand; `power` is the second if that is a number in the code."""
    if prim.name == "pow":
        return type(power) in (int, float) and power == 2
    return prim.name == "square" or (prim.name == "mul" and operands[0] is operands[1])


def pull(
    prim: Primitive, k: int, ct: Any, out: Any, operands: Any, params: dict[str, Any], to: Aval, squared: bool = False
) -> Any:
    """The cotangent of operand k, whose aval is `to`, or None: the primitive's rule on `ct`, which may be `Partial`.

    With a primitive that selects the result is a `Partial`. `squared`: `ct` is that of the square of the result.
    """
    rule: Any = prim.squared[k] if squared and prim.squared is not None else prim.rule(k)
    if type(ct) is Partial and prim.elementwise and not prim.selects:
        made = _through(ct, prim, k, rule, out, operands, params)
    else:
        change = marked if prim.selects else _unchanged if _is_linear(prim) else landed
        ct = tuple(map(change, ct)) if type(ct) is tuple else change(ct)
        made = rule(ct, out, *operands, **params)
    return None if made is None else unmarked(fit(made, to))


def _unchanged(ct: Any) -> Any:
    return ct


def _through(
    ct: Partial, prim: Primitive, k: int, rule: Any, out: Any, operands: Any, params: dict[str, Any]
) -> Partial | None:
    """A pointwise rule on the numbers of a cotangent; the choice comes afterwards."""
    shape = getattr(out, "shape", ct.shape)
    if ct.shape != shape:  # the tangent of an operand that the operation broadcasts
        ct = broadcast_to(ct, shape=shape)
    place = ct.place
    if place is not None and math.prod(ct.raw.shape) > math.prod(place.shape):
        ct, place = Partial(ct.land(), ct.outline()), None  # an index that repeats: what it picks is more than there is
    if place is not None:
        out, operands = place.pick(out), [place.pick(x) for x in operands]
    made = rule(ct.raw, out, *operands, **params)
    if made is ct.raw and place is ct.place:
        return ct
    if made is None:
        return None
    if getattr(made, "shape", None) != ct.raw.shape:  # a rule may leave its result smaller
        made = fit(made, aval(ct.raw.shape, ct.raw.dtype))
    mask, exact = ct.mask, ct.exact
    # a factor is finite as a rule: the terms of a masked sum of products are not looked at, as those of x @ w are not
    harmless = not mask or not mask.chosen or (mask.copied and prim.name == "mul")
    if mask is not None and exact and _reads(prim, k, operands) and (prim.singular or not harmless):
        if holds_everywhere(mask):
            mask = None
        else:
            exact = False
    return Partial(made, mask, exact, place)


def _reads(prim: Primitive, k: int, operands: Any) -> bool:
    """Whether the slope along operand k depends on values, and so may be infinite."""
    names = prim.saved_for(k)
    return "out" in names or any(
        name in names and not isinstance(x, (bool, int, float, complex))
        for name, x in zip(prim.args, operands, strict=False)
    )
