"""The pipeline from a recorded graph to a generated backward function. Read `compile_backward` first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from srcdiff import runtime
from srcdiff.aval import aval
from srcdiff.codegen.header import Header
from srcdiff.codegen.loader import load
from srcdiff.codegen.loops import emit_loops
from srcdiff.config import Options
from srcdiff.core.builder import Builder, interpret, item
from srcdiff.core.program import Node, Program, Source
from srcdiff.core.verify import verify
from srcdiff.origin import Origin, describe
from srcdiff.tape.lower import Lowered, Slot, collect, edge_node, leading_to, lower
from srcdiff.tape.matcher import Matcher, make_matcher
from srcdiff.tape.node import AccumulateGrad, Edge, GradNode, InputNode
from srcdiff.transform.group import group
from srcdiff.transform.pieces import in_pieces
from srcdiff.transform.reroll import reroll, written_out
from srcdiff.transform.reverse import reverse
from srcdiff.transform.rewrite import prepare, prepare_exactly, simplify, used_inputs
from srcdiff.transform.values import Derived


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class Executable:
    """A compiled backward pass: `match` finds its saved values in a graph, `run` turns cotangents and them into
    gradients.

    `targets[k]` says what output k belongs to: a position in `wanted`, or in the leaves that `match` returns.
    """

    match: Matcher
    run: Callable[..., tuple[Any, ...]]
    source: str
    forward: Program
    program: Program
    targets: tuple[int, ...]
    #: outputs that may share memory with an input or with each other, and must be copied before the user gets them
    shared: tuple[bool, ...]
    saved_bytes: int
    #: every leaf of the graph is wanted
    closed: bool
    #: compiled with `exact`: it gives the bits that the walk gives
    exact: bool


def compile_backward(
    roots: Sequence[Edge], wanted: Sequence[Edge] | None, options: Options, nodes: Sequence[GradNode] | None = None
) -> Executable:
    """Compile the backward pass from `roots` to `wanted` (None: to all leaves that accumulate)."""
    if nodes is None:
        nodes = collect(roots)
    needed = None if wanted is None else leading_to(nodes, wanted)
    inner = nodes if needed is None else [node for node in nodes if id(node) in needed]
    live = roots if needed is None else [edge for edge in roots if id(edge_node(edge)) in needed]
    lowered = lower_graph(inner, live)
    targets, edges = _targets(inner, wanted)
    wrt = [value_at(lowered, inner, edge) for edge in edges]
    backward, slots = differentiate(lowered, wrt, options.exact)
    backward = checked(backward if options.exact else simplify(backward), options)
    if len(live) < len(roots):
        backward = _with_dead_roots(backward, roots, [edge in live for edge in roots])
    backward, slots = without_unused(backward, slots, len(roots))
    rolled, groups = group(reroll(backward, options.exact))
    rolled = rolled if options.exact else in_pieces(rolled)
    source = emit_loops(rolled, header(lowered.program, wrt, rolled, len(roots)), exact=options.exact)
    position = {id(node): k for k, node in enumerate(nodes)}
    slots = [renumber(slot, inner, position) for slot in slots]
    leaves = [position[id(edge_node(edge))] for edge in edges] if wanted is None else []
    values = [moved(part, len(roots)) for part in groups[len(roots) :]]
    match = make_matcher(nodes, roots, wanted, slots, leaves, needed, values)
    return Executable(
        match, runner(rolled, source, options), source, lowered.program, backward, targets, shared_outputs(backward),
        sum(node.aval.nbytes for node in backward.inputs[len(roots) :]), is_closed(nodes, wanted),
        options.exact,
    )  # fmt: skip


def moved(group: int | tuple[int, ...], count: int) -> int | tuple[int, ...]:
    return group - count if isinstance(group, int) else tuple(k - count for k in group)


def differentiate(
    lowered: Lowered, wrt: Sequence[Node], exact: bool, transform: Callable[..., Derived] = reverse
) -> tuple[Program, list[Slot]]:
    """The vjp program, or the jvp program if `transform` is `forward`; and where the saved values are that it takes
    after the cotangents or tangents.
    """
    entering: dict[Node, Node] = {}
    if exact:
        primal, now, entering = prepare_exactly(lowered.program, lowered.slots.keys(), wrt)
    else:
        primal, now = prepare(lowered.program, lowered.slots.keys(), wrt)
    available = {now[value]: slot for value, slot in lowered.slots.items() if value in now}
    available.update({node: lowered.slots[value] for node, value in entering.items()})
    derived = transform(primal, [now[node] for node in wrt], available.keys())
    return derived.program, [available[value] for value in derived.saved]


def _with_dead_roots(program: Program, roots: Sequence[Edge], alive: Sequence[bool]) -> Program:
    """The program with an unused input for each root that leads to nothing wanted: callers pass every cotangent."""
    seeds = iter(program.inputs)
    builder = Builder()
    made = [
        next(seeds) if lives else builder.input(_aval_at(edge), "g_unused")
        for edge, lives in zip(roots, alive, strict=True)
    ]
    return Program(program.name, (*made, *seeds), program.outputs)


def _aval_at(edge: Edge) -> Any:
    site = edge_node(edge).site
    if site.prim is None:
        return aval((), np.dtype(np.float64))
    return site.out_aval[edge[1]] if type(edge) is tuple else site.out_aval


def without_unused(program: Program, slots: Sequence[Slot], roots: int) -> tuple[Program, list[Slot]]:
    """Saved values that simplification has made useless are not passed."""
    used = used_inputs(program)
    inputs = tuple(node for k, node in enumerate(program.inputs) if k < roots or used[k])
    kept = [slot for k, slot in enumerate(slots) if used[k + roots]]
    return Program(program.name, inputs, program.outputs), kept


def checked(program: Program, options: Options) -> Program:
    """The program, verified if the options ask for it."""
    if options.verify:
        verify(program)
    return program


def runner(program: Program, source: str, options: Options) -> Callable[..., Any]:
    """The function that runs a program: generated, or interpreted if the options say so."""
    if options.backend == "interpret":
        return lambda *values: interpret(program, values)
    return load(source, program.name, program.name, {"np": np, "rt": runtime})


def header(forward: Program, wrt: Sequence[Node], program: Program, roots: int) -> Header:
    """What the docstring of a generated function says."""
    out = forward.outputs[0]
    place = f"{out.source.file}:{out.source.line}" if out is not None and out.source.file else ""
    inputs = tuple((node.name or "x", node.aval) for node in wrt)
    saved = tuple(node for node in program.inputs[roots:])
    return Header(forward.name, place, tuple(node.name or "x" for node in wrt), inputs, saved, written_out(program))


# ------------------------------------------------------------------------------------------------------------- details


def lower_graph(nodes: Sequence[GradNode], roots: Sequence[Edge]) -> Lowered:
    """The forward program of these nodes, with the user's names."""
    # nodes of one site, such as the iterations of a loop leave, come from one place
    samples = {node.site: node for node in nodes if node.site.prim is not None}
    places = {site: origin_of(node) for site, node in samples.items()}
    called = {site: operand_names(samples[site], o) for site, o in places.items() if o is not None}
    written = {site: Source(o.target, o.file, o.line, o.text, site) for site, o in places.items() if o is not None}
    origins = {node: places[node.site] for node in nodes if node.site.prim is not None}
    sources = {node: written[node.site] for node, o in origins.items() if o is not None}
    names = {node: called[node.site] for node, o in origins.items() if o is not None}
    for node in nodes:
        if type(node) is InputNode:
            sources[node] = Source(_label(node.label))
        known = names.get(node, ())
        for edge, name in zip(node.inputs, known, strict=False):
            if edge is not None and type(edge) is not tuple and edge.site.prim is None and name:
                sources.setdefault(edge, Source(name))
    return lower(nodes, roots, _leaf_avals(nodes), sources, program_name(roots, origins), names)


def _leaf_avals(nodes: Sequence[GradNode]) -> dict[GradNode, Any]:
    """The types of the values at leaves, as the operations on them know them; of custom functions that give several,
    as far as these are used.
    """
    avals: dict[GradNode, Any] = {}
    parts: dict[GradNode, dict[int, Any]] = {}
    for node in nodes:
        if node.site.prim is None:
            continue
        for edge, known in zip(node.inputs, node.site.avals, strict=True):
            if edge is None or edge_node(edge).site.prim is not None:
                continue
            if type(edge) is tuple:
                parts.setdefault(edge[0], {})[edge[1]] = known
            else:
                avals.setdefault(edge, known)
    number = aval((), np.dtype(np.float64))
    for leaf, used in parts.items():
        avals[leaf] = tuple(used.get(k, number) for k in range(max(used) + 1))
    for node in nodes:
        if node.site.prim is None and node not in avals:
            value = node.variable._value if isinstance(node, AccumulateGrad) else None
            avals[node] = number if value is None else aval(value.shape, value.dtype)
    return avals


def operand_names(node: GradNode, origin: Origin) -> tuple[str | None, ...]:
    """What the user calls the operands. In `xp.matmul(a, b)` with a local `xp`, which looks like a method's receiver,
    the first name is dropped if the rest fit the operands.
    """
    names, site = origin.operands, node.site
    count = len(site.kinds)
    if len(names) == count + 1 and not any(origin.literal[1:]) and (count > 1 or not site.params):
        return names[1:]
    return names


def _label(label: Any) -> str | None:
    """The name of a differentiated argument, from what the trace noted about it."""
    return label if isinstance(label, str) or label is None else label[0](*label[1:])


def origin_of(node: GradNode) -> Origin | None:
    """Where a node was recorded."""
    place = node.site.place()
    return None if place is None else describe(*place)


def program_name(roots: Sequence[Edge], origins: dict[GradNode, Origin | None]) -> str:
    """What the generated function is called after: the user's function, or the variable that holds the root."""
    origin = origins.get(edge_node(roots[0]))
    if origin is None:
        return "program"
    if origin.function.isidentifier():
        return origin.function
    return origin.target or ("function" if origin.function == "<lambda>" else "program")


def _targets(nodes: Sequence[GradNode], wanted: Sequence[Edge] | None) -> tuple[tuple[int, ...], list[Edge]]:
    """Positions and edges of the values whose gradients the program returns."""
    if wanted is None:  # the leaves, in the order in which they were first used
        met = dict.fromkeys(edge_node(edge) for node in nodes for edge in node.inputs if edge is not None)
        leaves = [node for node in (*met, *(node for node in nodes if node not in met)) if type(node) is AccumulateGrad]
        return tuple(range(len(leaves))), list(leaves)
    present = {id(node) for node in nodes}
    found = [(k, e) for k, e in enumerate(wanted) if e is not None and id(edge_node(e)) in present]
    return tuple(k for k, _ in found), [e for _, e in found]


def value_at(lowered: Lowered, nodes: Sequence[GradNode], edge: Edge) -> Node:
    value = lowered.values[[id(node) for node in nodes].index(id(edge_node(edge)))]
    return item(value, edge[1]) if type(edge) is tuple else value


def renumber(slot: Slot, inner: Sequence[GradNode], position: dict[int, int]) -> Slot:
    return Slot(position[id(inner[slot.node])], slot.position, slot.output, slot.cell)


def shared_outputs(program: Program) -> tuple[bool, ...]:
    """Which outputs are an input, a view, or returned twice."""
    flags = []
    for k, out in enumerate(program.outputs):
        alias = out is not None and (out.prim is None or out.prim.view or out in program.outputs[:k])
        flags.append(bool(alias))
    return tuple(flags)


def is_closed(nodes: Sequence[GradNode], wanted: Sequence[Edge] | None) -> bool:
    known = {id(edge_node(edge)) for edge in wanted or () if edge is not None}
    return all(node.site.prim is not None or id(node) in known for node in nodes)
