"""From the tape to the IR: the forward program of what a backward pass reaches, and where its values are saved.

Guarantee: `lower` reads nothing but sites, inputs and saved-slot numbers, so two graphs of the same signature lower to
the same program, and the slots found for one hold the same values in the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from srcdiff.core.builder import Builder, item
from srcdiff.core.program import Node, Program, Source
from srcdiff.tape.node import Edge, GradNode
from srcdiff.tape.site import OUT, STATIC, TENSOR

_by_age = attrgetter("seq")


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a forward value is saved: node number, position in `saved`, output number (None: not a tuple), and whether
    it is in a Cell.
    """

    node: int
    position: int
    output: int | None
    cell: bool


@dataclass(frozen=True, eq=False, slots=True)
class Lowered:
    """A forward program, its value at each tape node, and the slots of saved values."""

    program: Program
    values: tuple[Node, ...]
    slots: dict[Node, Slot]


def edge_node(edge: Edge) -> GradNode:
    """The node an edge leads to."""
    return edge[0] if type(edge) is tuple else edge  # type: ignore[no-any-return]


def collect(roots: Sequence[Edge]) -> list[GradNode]:
    """All nodes reachable from the roots, in order of creation; leaves, which have no order, as they are met."""
    seen: dict[int, GradNode] = {}
    stack = [edge_node(edge) for edge in roots]
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen[id(node)] = node
        stack += [edge[0] if type(edge) is tuple else edge for edge in node.inputs if edge is not None]
    return sorted(seen.values(), key=_by_age)


def collect_inner(roots: Sequence[Edge], start: int) -> tuple[list[GradNode], bool]:
    """The nodes reachable from the roots, none older than `start`, in order, and whether older ones are reached."""
    seen: dict[int, GradNode] = {}
    older = False
    stack = [edge_node(edge) for edge in roots]
    while stack:
        node = stack.pop()
        if node.seq < start:
            older = True
            continue
        if id(node) in seen:
            continue
        seen[id(node)] = node
        stack += [edge[0] if type(edge) is tuple else edge for edge in node.inputs if edge is not None]
    return sorted(seen.values(), key=_by_age), older


def leading_to(nodes: Sequence[GradNode], wanted: Sequence[Edge]) -> set[int]:
    """Ids of the nodes that are wanted, or lie on a path to one that is. `nodes` in order of creation."""
    needed = {id(edge_node(edge)) for edge in wanted if edge is not None}
    for node in nodes:
        if any(edge is not None and id(edge_node(edge)) in needed for edge in node.inputs):
            needed.add(id(node))
    return needed


def lower(
    nodes: Sequence[GradNode],
    roots: Sequence[Edge],
    leaf_avals: dict[GradNode, Any],
    sources: dict[GradNode, Source],
    name: str,
    operand_names: dict[GradNode, tuple[str | None, ...]],
) -> Lowered:
    """Lower `nodes` (as `collect` gives them, or those of them that are needed: what is missing becomes a constant).

    `leaf_avals` has the aval of each leaf among them.
    """
    builder = Builder()
    values: dict[GradNode, Node] = {}
    slots: dict[Node, Slot] = {}
    number = {node: k for k, node in enumerate(nodes)}
    inputs: list[Node] = []
    for node in nodes:
        source = sources.get(node, builder.source)
        site = node.site
        if node in leaf_avals:
            values[node] = builder.input(leaf_avals[node], source.name, source)
            inputs.append(values[node])
            continue
        builder.source = source
        names = operand_names.get(node, ())
        operands: list[Any] = []
        for k, kind in enumerate(site.kinds):
            if kind is STATIC:
                operands.append(builder.literal(site.values[k]))
                continue
            edge = node.inputs[k]
            if edge is not None and edge_node(edge) in values:
                value = values[edge_node(edge)]
                operands.append(item(value, edge[1]) if type(edge) is tuple else value)
            else:
                constant = builder.input(site.avals[k], names[k] if k < len(names) else None, source)
                inputs.append(constant)
                operands.append(constant)
        made = values[node] = _emit(builder, site, operands, source)
        for position, k in enumerate(site.save_list):
            if k != OUT:
                slots.setdefault(operands[k], Slot(number[node], position, None, site.kinds[k] is TENSOR))
            elif site.prim.multi:
                for j in sorted(set(range(len(site.out_aval))) - site.prim.unread):
                    slots.setdefault(item(made, j), Slot(number[node], position, j, True))
            else:
                slots.setdefault(made, Slot(number[node], position, None, True))
    outputs = [values[edge_node(e)] if type(e) is not tuple else item(values[e[0]], e[1]) for e in roots]
    return Lowered(Program(name, tuple(inputs), tuple(outputs)), tuple(values[node] for node in nodes), slots)


def _emit(builder: Builder, site: Any, operands: list[Any], source: Source) -> Node:
    """A forward node with the aval that was observed, never shared: each tape node has a value of its own."""
    return builder.opaque(site.prim, tuple(operands), site.params, site.out_aval, source.name)
