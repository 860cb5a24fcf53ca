"""How the places of values in loops are written: `h[t + 1]`, `x[9 - t]`, `np.add(x, y, out=h[t])`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import gast

from srcdiff.codegen.emit import _with_out
from srcdiff.codegen.numbers import _is_computed, _is_number
from srcdiff.codegen.template import constant, name, subscript
from srcdiff.core.loop import Element, Loop
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
