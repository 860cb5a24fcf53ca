"""How the places of values in loops are written: `h[t + 1]`, `x[9 - t]`, `np.add(x, y, out=h[t])`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import gast

from srcdiff.codegen.emit import _ufunc, _with_out
from srcdiff.codegen.numbers import _is_computed, _is_number
from srcdiff.codegen.template import constant, name, subscript
from srcdiff.core.loop import Carried, Element, Loop
from srcdiff.core.program import Node, Program
from srcdiff.index import Dynamic, Index


def without_number(label: str) -> str:
    """`h` of `h_2`."""
    return re.sub(r"_\d+$", "", label)


def is_loop(node: Node) -> bool:
    """Whether this is a loop."""
    return node.prim is not None and node.prim.name == "loop"


def count_reads(spec: Loop, operand: int) -> int:
    """How many inputs of the body are made of an operand."""
    return sum(read.operand == operand for read in spec.reads)


def stacks_of(loop: Node, items: Mapping[Node, Sequence[Node]]) -> list[Node]:
    """The results of a loop that are arrays of the values of all iterations, as far as something reads them."""
    spec: Loop = loop.kwargs["spec"]
    first = len(spec.carried)
    stacked = {first + k for k, each in enumerate(spec.kept) if each.stacked}
    return list({x.kwargs["k"]: x for x in items.get(loop, ()) if x.kwargs["k"] in stacked}.values())


def living_on(spec: Loop) -> list[int]:
    """The operands of a loop whose memory may be that of a result: carried, or handed on as they are."""
    inner = any(is_loop(node) for node in spec.body.nodes())
    handed: set[Node] = set()
    for out in spec.body.outputs:
        while out is not None and out.prim is not None and out.prim.view:
            out = out.operands[0]
        if out is not None:
            handed.add(out)
    return [
        read.operand for x, read in zip(spec.body.inputs, spec.reads, strict=True)
        if inner or x in handed or type(read) is Carried
    ]  # fmt: skip


def may_be_element(loop: Node, k: int) -> bool:
    """Whether result k of a loop may be an element of an array that the loop fills."""
    spec: Loop = loop.kwargs["spec"]
    outputs = [*(read.output for _, read in spec.carried), *(each.output for each in spec.kept), *spec.last]
    made = spec.body.outputs[outputs[k]]
    while made is not None and made.prim is not None and made.prim.view and made.prim.name != "item":
        made = made.operands[0]
    if made is None or made.prim is None or made.prim.name == "item":
        return True
    return any(spec.body.outputs[each.output] is made for each in spec.kept)


def written_over(loop: Node, stack: Node) -> Node | None:
    """The operand whose elements may be overwritten with those of a stack: each is read once, for the operation that
    makes the element there. If the stack has the value before the first iteration as well, its other elements take
    the place of the operand.
    """
    spec: Loop = loop.kwargs["spec"]
    each = spec.kept[stack.kwargs["k"] - len(spec.carried)]
    made = spec.body.outputs[each.output]
    if made is None or made.prim is None or not made.prim.elementwise or not _ufunc(made):
        return None
    if each.initial is not None and spec.downwards:
        return None
    nodes = spec.body.nodes()
    needed = {made}
    for node in reversed(nodes):
        if node in needed:
            needed.update(node.operands)
    for x, read in zip(spec.body.inputs, spec.reads, strict=True):
        users = [node for node in nodes for y in node.operands if y is x]
        if len(users) != 1 or users[0] not in needed or not _is_new(users[0]) or x in spec.body.outputs:
            continue
        if type(read) is not Element or (read.start, read.step, len(read.index.parts)) != (0, 1, 1):
            continue
        operand = loop.operands[read.operand]
        fits = operand.shape == (spec.trips, *made.shape) and operand.dtype == made.dtype
        if fits and count_reads(spec, read.operand) == 1 and loop.operands.count(operand) == 1:
            return operand
    return None


def _is_new(node: Node) -> bool:
    return node.prim is not None and node.prim.elementwise and not node.prim.view


def is_zeros(x: Node) -> bool:
    """Whether this is one number, in an array of its own wherever it is written."""
    return x.prim is not None and x.prim.name == "broadcast_to" and x.operands[0].is_literal


def writing_into(tree: Any, place: Any) -> Any:
    """The operation writing into an element of an array."""
    made = _with_out(tree, "_")
    made.keywords[-1].value = place
    return made


def shifted(turn: str, start: int, step: int = 1) -> Any:
    """`t`, `t + 1`, `2 * t - 1`, `9 - t`."""
    if step < 0:
        return gast.BinOp(constant(start), gast.Sub(), _times(turn, -step))
    tree = _times(turn, step)
    if start == 0:
        return tree
    return gast.BinOp(tree, gast.Add() if start > 0 else gast.Sub(), constant(int(abs(start))))


def _times(turn: str, factor: int) -> Any:
    return name(turn) if factor == 1 else gast.BinOp(constant(factor), gast.Mult(), name(turn))


def element_index(read: Element, turn: str) -> Any:
    """What stands between the brackets where a body reads an element."""
    parts = (*read.index.parts[: read.place], Dynamic(0, False), *read.index.parts[read.place + 1 :])
    return subscript(Index(parts, read.index.tuple_like, read.index.unique), [shifted(turn, read.start, read.step)])


def operations(program: Program) -> Iterator[Node]:
    """The operations of a program and of the bodies of its loops."""
    for node in program.nodes():
        if is_loop(node):
            yield from operations(node.kwargs["spec"].body)
        if node.prim is not None:
            yield node


def loops_of_numbers(program: Program) -> bool:
    """Whether everything is a float64 number, or a list of them that loops go through."""
    if not all(map(_is_number, program.inputs)):
        return False
    for node in program.nodes():
        if node.prim is None:
            continue
        if is_loop(node):
            spec = node.kwargs["spec"]
            if any(each.stacked for each in spec.kept) or not loops_of_numbers(spec.body):
                return False
        elif node.prim.name not in ("item", "pick") and not _is_computed(node):
            return False
    return True
