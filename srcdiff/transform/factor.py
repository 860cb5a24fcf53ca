"""Takes a common number out of a sum: y * t / p - w * t / u -> (y / p - w / u) * t.

A cotangent that a mean or a sum sends to every element is one number `t`, and rules multiply arrays by it one by one. Only
terms that are used nowhere else are changed, and only where an operation on an array is saved. The terms may round
differently than before.
"""

from __future__ import annotations

from collections.abc import Mapping

from srcdiff.core.builder import Builder, rebuild
from srcdiff.core.program import Node, Program
from srcdiff.ops.elementwise import div, mul, neg
from srcdiff.transform.identity import is_array, is_scalar

DEEPEST = 8


def take_out_scalars(program: Program, builder: Builder) -> Program:
    """The program with common scalar factors of the terms of sums taken out."""
    uses: dict[Node, int] = {}
    for node in program.nodes():
        for operand in node.operands:
            uses[operand] = uses.get(operand, 0) + 1
    for out in program.outputs:
        if out is not None:
            uses[out] = uses.get(out, 0) + 2
    if not any(node.prim is not None and node.prim.name in ("add", "sub") for node in uses):
        return program
    single: dict[Node, bool] = {}

    def rule(builder: Builder, node: Node, operands: tuple[Node, ...]) -> Node | None:
        for old, new in zip(node.operands, operands, strict=True):
            single[new] = uses[old] == 1 and old.name is None
        if node.prim is None or node.prim.name not in ("add", "sub") or not is_array(node):
            return None
        x, y = operands
        factor = _common(x, y, single)
        if factor is None:
            return None
        return mul(node.prim(_without(x, factor, single), _without(y, factor, single)), factor)  # type: ignore[no-any-return]

    return rebuild(program, rule, builder)


def _common(x: Node, y: Node, single: Mapping[Node, bool]) -> Node | None:
    found = _factors(x, single)
    return next((t for t in _factors(y, single) if t in found), None)


def _factors(x: Node, single: Mapping[Node, bool], depth: int = 0) -> list[Node]:
    """The numbers that could be taken out of x, where x is an array used once."""
    if x.prim is None or not is_array(x) or not single.get(x, False) or depth > DEEPEST:
        return []
    if x.prim.name == "mul":
        here = [operand for operand in x.operands if is_scalar(operand)]
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
