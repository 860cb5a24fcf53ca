"""Takes numbers out of sums: y * t / p - w * t / u -> (y / p - w / u) * t; sum(x * t) -> sum(x) * t.

A cotangent that a mean or a sum sends to every element is one number `t`, and rules multiply arrays by it one by
one. Only terms that are used nowhere else are changed, and only where an operation on an array is saved. The terms
may round differently than before.
"""

from __future__ import annotations

from collections.abc import Mapping

from srcdiff.core.builder import Builder, rebuild
from srcdiff.core.program import Node, Program
from srcdiff.ops.elementwise import div, mul, neg
from srcdiff.transform.identity import is_array, is_scalar

DEEPEST = 8
_SUMS = ("add", "sub", "sum", "sum_to")


def take_out_scalars(program: Program, builder: Builder) -> Program:
    """The program with common scalar factors of the terms of sums taken out, made anew in `builder` if any."""
    nodes = program.nodes()
    uses: dict[Node, int] = {}
    for node in nodes:
        for operand in node.operands:
            uses[operand] = uses.get(operand, 0) + 1
    for out in program.outputs:
        if out is not None:
            uses[out] = uses.get(out, 0) + 2
    single = {node: uses[node] == 1 and node.name is None for node in nodes}
    factors = {node: t for node in nodes if (t := _factor(node, node.operands, single)) is not None}
    if not factors:
        return program
    again: dict[Node, bool] = {}

    def rule(builder: Builder, node: Node, operands: tuple[Node, ...]) -> Node | None:
        for old, new in zip(node.operands, operands, strict=True):
            again[new] = single[old]
        t = _factor(node, operands, again) if node in factors else None
        if t is None or node.prim is None:
            return None
        if len(operands) == 1:
            return mul(node.prim(_without(operands[0], t, again), **node.kwargs), t)  # type: ignore[no-any-return]
        return mul(node.prim(*(_without(x, t, again) for x in operands)), t)  # type: ignore[no-any-return]

    return rebuild(program, rule, builder)


def _factor(node: Node, operands: tuple[Node, ...], single: Mapping[Node, bool]) -> Node | None:
    """The number to take out of a sum, if there is one."""
    if node.prim is None or node.prim.name not in _SUMS:
        return None
    if len(operands) == 1:
        return next(iter(_factors(operands[0], single)), None)
    return _common(operands[0], operands[1], single) if is_array(node) else None


def _common(x: Node, y: Node, single: Mapping[Node, bool]) -> Node | None:
    found = _factors(x, single)
    return next((t for t in _factors(y, single) if t in found), None)


def _factors(x: Node, single: Mapping[Node, bool], depth: int = 0) -> list[Node]:
    """The numbers that could be taken out of x, where x is an array used once."""
    if x.prim is None or not is_array(x) or not single.get(x, False) or depth > DEEPEST:
        return []
    if x.prim.name == "mul":
        first, second = x.operands
        # not from an array of less precision, which would then be summed as such
        pairs = ((first, second), (second, first))
        here = [t for t, rest in pairs if is_scalar(t) and rest.aval.dtype == x.aval.dtype]
        return here + [t for operand in x.operands for t in _factors(operand, single, depth + 1)]
    if x.prim.name in ("div", "neg"):
        return _factors(x.operands[0], single, depth + 1)
    return []


def _without(x: Node, t: Node, single: Mapping[Node, bool]) -> Node:
    """x / t, for a t that is among the factors of x."""
    first = x.operands[0]
    if x.prim is neg:
        return neg(_without(first, t, single))  # type: ignore[no-any-return]
    if x.prim is div:
        return div(_without(first, t, single), x.operands[1])  # type: ignore[no-any-return]
    second = x.operands[1]
    if first is t or second is t:
        return second if first is t else first
    if t in _factors(first, single):
        return mul(_without(first, t, single), second)  # type: ignore[no-any-return]
    return mul(first, _without(second, t, single))  # type: ignore[no-any-return]
