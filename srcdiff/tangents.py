"""The pipeline from a recorded graph to a generated tangent function: forward mode. Read `compile_tangents` first."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from srcdiff.codegen.loops import emit_loops
from srcdiff.compiler import (
    checked,
    differentiate,
    header,
    is_closed,
    lower_graph,
    moved,
    renumber,
    runner,
    shared_outputs,
    value_at,
    without_unused,
)
from srcdiff.config import Options
from srcdiff.core.program import Node, Program
from srcdiff.tape.lower import Slot, edge_node, leading_to
from srcdiff.tape.matcher import Matcher, make_matcher
from srcdiff.tape.node import Edge, GradNode
from srcdiff.transform.forward import forward
from srcdiff.transform.group import group
from srcdiff.transform.pieces import in_pieces
from srcdiff.transform.reroll import reroll
from srcdiff.transform.rewrite import simplify


@dataclass(frozen=True, eq=False, slots=True)
class Linear:
    """A derivative along tangents as a program of them and of saved values, which `slots` finds.

    `seeds[k]` is the position in `wanted` of what input k is the tangent of, `targets[k]` the position in `roots` of
    what output k is the tangent of.
    """

    program: Program
    primal: Program
    slots: tuple[Slot, ...]
    seeds: tuple[int, ...]
    targets: tuple[int, ...]
    #: ids of the nodes on the way, while they are known
    needed: Set[int]
    #: the values of the primal program that have tangents
    wrt: tuple[Node, ...]


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Tangents:
    """A compiled derivative along tangents: `match` finds its saved values in a graph, `run` turns tangents and them
    into tangents of the roots.
    """

    match: Matcher
    run: Callable[..., tuple[Any, ...]]
    source: str
    linear: Linear
    #: which of what is wanted has a tangent
    alive: tuple[bool, ...]
    #: outputs that may share memory with an input or with each other
    shared: tuple[bool, ...]
    saved_bytes: int
    #: every leaf of the graph is wanted
    closed: bool
    exact: bool


def entering(nodes: Sequence[GradNode], wanted: Sequence[Edge], alive: Sequence[bool]) -> list[int]:
    """Positions of those of `wanted` that are alive and an operand of some operation."""
    used = {edge_key(edge) for node in nodes if node.site.prim is not None for edge in node.inputs}
    return [k for k, edge in enumerate(wanted) if alive[k] and edge is not None and edge_key(edge) in used]


def edge_key(edge: Edge) -> tuple[int, int]:
    """What two edges have in common that lead to one output of one node."""
    return (id(edge[0]), edge[1]) if type(edge) is tuple else (id(edge), -1)


def linear_program(
    nodes: Sequence[GradNode], roots: Sequence[Edge], wanted: Sequence[Edge], alive: Sequence[bool], exact: bool
) -> Linear:
    """The derivative of `roots` along tangents of those of `wanted` that are alive, as written by the rules. `nodes`
    are those of the graph, in order of creation.
    """
    seeds = entering(nodes, wanted, alive)
    needed = leading_to(nodes, [wanted[k] for k in seeds])
    inner = [node for node in nodes if id(node) in needed]
    targets = [k for k, edge in enumerate(roots) if id(edge_node(edge)) in needed]
    lowered = lower_graph(inner, [roots[k] for k in targets])
    wrt = [value_at(lowered, inner, wanted[k]) for k in seeds]
    program, slots = differentiate(lowered, wrt, exact, forward)
    position = {id(node): k for k, node in enumerate(nodes)}
    places = tuple(renumber(slot, inner, position) for slot in slots)
    return Linear(program, lowered.program, places, tuple(seeds), tuple(targets), needed, tuple(wrt))


def shortened(written: Linear, options: Options) -> Linear:
    """The same with fewer and smaller operations."""
    short = checked(written.program if options.exact else simplify(written.program), options)
    short, slots = without_unused(short, written.slots, len(written.seeds))
    return replace(written, program=short, slots=tuple(slots), needed=frozenset())


def compile_tangents(
    nodes: Sequence[GradNode], roots: Sequence[Edge], wanted: Sequence[Edge], alive: tuple[bool, ...], options: Options
) -> Tangents:
    """Compile that derivative. No edge may lead out of `nodes`."""
    written = linear_program(nodes, roots, wanted, alive, options.exact)
    linear = shortened(written, options)
    count = len(linear.seeds)
    rolled, groups = group(reroll(linear.program, options.exact))
    rolled = rolled if options.exact else in_pieces(rolled)
    about = header(linear.primal, linear.wrt, rolled, count)
    about = replace(about, forward=True, wrt=tuple(node.name or "t_x" for node in rolled.inputs[:count]))
    source = emit_loops(rolled, about, exact=options.exact)
    values = [moved(part, count) for part in groups[count:]]
    match = make_matcher(nodes, roots, wanted, linear.slots, [], written.needed, values)
    return Tangents(
        match, runner(rolled, source, options), source, linear, alive, shared_outputs(linear.program),
        sum(node.aval.nbytes for node in linear.program.inputs[count:]), is_closed(nodes, wanted),
        options.exact,
    )  # fmt: skip
