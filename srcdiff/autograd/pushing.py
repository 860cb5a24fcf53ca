"""Forward derivatives of what is in the graph: finds the compiled function for a graph, or interprets its program.

matched by one of the root's compiled derivatives   -> generated code
seen before                                         -> compile, then generated code
seen for the first time                             -> the program as the rules give it, operation by operation
to be differentiated again                          -> the program on Tensors, hence recorded
custom functions in between                         -> their `jvp`, or their backward passes (`transposing`)
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

import numpy as np

from srcdiff.autograd.cache import STATS, Counts, remember
from srcdiff.autograd.engine import CANDIDATES, why_compiled
from srcdiff.autograd.function_node import FunctionNode
from srcdiff.autograd.step import saved_item, saved_tensor
from srcdiff.autograd.transposing import Transposed
from srcdiff.config import config
from srcdiff.core.builder import interpret
from srcdiff.core.program import Node, Program
from srcdiff.errors import CompileError, DTypeError
from srcdiff.replay.strict import silently
from srcdiff.tangents import Linear, Tangents, compile_tangents, edge_key, entering, linear_program, shortened
from srcdiff.tape import record
from srcdiff.tape.lower import Slot, collect_inner, edge_node, leading_to
from srcdiff.tape.modes import modes
from srcdiff.tape.node import LEAF, Edge, GradNode, MarkedSite, saved_value
from srcdiff.tape.signature import signature
from srcdiff.tape.site import Place, Site
from srcdiff.tape.value import TensorBase


class Pushforward:
    """The derivative of `outs` (Tensors, or values outside the graph) with respect to what arrives at `edges`, applied
    to tangents any number of times. Nodes numbered below `start` are constants.
    """

    def __init__(
        self, outs: Sequence[Any], edges: Sequence[Edge], start: int = 0, counts: Counts | None = None
    ) -> None:
        self._edges = list(edges)
        self._start = start
        self._counts = counts
        self._outs = outs
        given = {edge_key(edge): k for k, edge in enumerate(edges) if edge is not None}
        entries = {number for number, _ in given}
        #: positions of outs that are an entry themselves, with the position of that; and of those with a graph
        self._direct: list[tuple[int, int]] = []
        self._places: list[int] = []
        for k, out in enumerate(outs):
            edge = out._edge if isinstance(out, TensorBase) else None
            if edge is None:
                continue
            if edge_key(edge) in given:
                self._direct.append((k, given[edge_key(edge)]))
            elif id(edge_node(edge)) in entries:
                continue  # another output of the same operation: what enters at one does not flow to it
            elif edge_node(edge).site.prim is not None or edge_node(edge).apply is not None:
                self._places.append(k)
        self._roots = [outs[k]._edge for k in self._places]
        self._site: Any = next((site for edge in self._roots if (site := edge_node(edge).site).prim is not None), LEAF)
        self._transposed: Transposed | None = None
        #: whether older nodes are reached, once that is known
        self._older: bool | None = None

    @property
    def connected(self) -> bool:
        """Whether any out depends on what is in the graph by some operation."""
        return bool(self._roots)

    @property
    def is_open(self) -> bool:
        """Whether the outs depend on something older that requires grad."""
        if self._older is None:
            self._older = bool(self._roots) and collect_inner(self._roots, self._start)[1]
        return self._older or any(edge_node(self._outs[k]._edge).inputs for k, _ in self._direct)

    def __call__(self, tangents: Sequence[Any], create_graph: bool | None = False) -> list[Any]:
        """For each out its tangent, None where it depends on no edge that has one. A tangent is an array of the value's
        shape, a Tensor, or None.

        The results are arrays that share no memory with anything else; Tensors with `create_graph` (None: where
        something older that requires grad is reached, or tangents require it), and while a call is watched.
        """
        is_open = bool(create_graph) or modes.recorder is not None
        if create_graph is None:
            is_open = is_open or any(isinstance(t, TensorBase) and t._edge is not None for t in tangents)
        made: list[Any] = [None] * len(self._outs)
        alive = tuple(t is not None for t in tangents)
        if self._roots and True in alive:
            pushed = self._pushed(tangents, alive, is_open, create_graph is None)
            for place, tangent in zip(self._places, pushed, strict=True):
                made[place] = tangent
        for place, k in self._direct:
            if alive[k]:
                tangent = _fitting(tangents[k], self._outs[place]._value.dtype)
                made[place] = _tensor(tangent) if is_open else _owned(_array(tangent))
        return made

    def tensors(self, tangents: Sequence[Any], create_graph: bool) -> list[Any]:
        """The same with Tensors for arrays."""
        return [t if t is None or isinstance(t, TensorBase) else record.plain(t) for t in self(tangents, create_graph)]

    def compiled(self, alive: tuple[bool, ...]) -> Tangents:
        """The compiled derivative along tangents of the edges that are alive, made now if it has to be. Raises
        CompileError if it cannot be.
        """
        nodes, _ = collect_inner(self._roots, self._start)
        needed = leading_to(nodes, [edge for edge, moves in zip(self._edges, alive, strict=True) if moves])
        if not any(id(edge_node(edge)) in needed for edge in self._roots) or self._is_odd(nodes, needed):
            raise CompileError("there is no generated code for the tangents of this graph")
        options = config.options
        seen = self._site.sightings.get(self._signature(nodes, alive))
        if isinstance(seen, Tangents):
            return seen
        return compile_tangents(nodes, self._roots, self._edges, alive, options)

    def _pushed(self, tangents: Sequence[Any], alive: tuple[bool, ...], is_open: bool, ask: bool) -> list[Any]:
        edges, roots, options = self._edges, self._roots, config.options
        if not is_open:
            for known in self._site.tangents[:CANDIDATES]:
                if known.alive != alive or known.exact is not options.exact or (ask and not known.closed):
                    continue
                if (matched := known.match(roots, edges, False)) is not None:
                    self._older = False if known.closed else self._older
                    self._hit(known)
                    return self._run(known, tangents, matched[1])
        nodes, older = collect_inner(roots, self._start)
        self._older = older
        is_open = is_open or (ask and older)
        needed = leading_to(nodes, [edge for edge, moves in zip(edges, alive, strict=True) if moves])
        if not any(id(edge_node(edge)) in needed for edge in roots):
            return [None] * len(roots)
        try:
            if self._is_odd(nodes, needed):
                return self._by_parts(nodes, needed, tangents, is_open)
            if not entering(nodes, edges, alive):
                return [None] * len(roots)
            if not is_open and not older:
                known = self._compiled(nodes, alive)
                if known is not None and (matched := known.match(roots, edges, False)) is not None:
                    return self._run(known, tangents, matched[1])
            linear = self._linear(nodes, alive, is_open)
        except CompileError:
            if options.verify:
                raise
            return self._by_transposing(tangents, is_open)
        if is_open:
            return self._on_tensors(linear, nodes, tangents)
        seeds = _seeds(linear, tangents)
        with np.errstate(all="ignore"):
            made = interpret(linear.program, (*seeds, *(_saved_array(nodes, slot) for slot in linear.slots)))
        return self._spread(linear, [_owned(value) for value in made])

    def _is_odd(self, nodes: Sequence[GradNode], needed: Container[int]) -> bool:
        """Whether tangents pass nodes that no program knows of."""
        entries = {id(edge_node(edge)) for edge in self._edges if edge is not None}
        return any(node.apply is not None and id(node) in needed and id(node) not in entries for node in nodes)

    def _signature(self, nodes: Sequence[GradNode], alive: tuple[bool, ...], *what: Any) -> Any:
        return (*what, config.options.exact, alive, signature(nodes, self._roots, self._edges))

    def _cachable(self, nodes: Sequence[GradNode]) -> bool:
        return type(self._site) is Site and len(nodes) <= config.largest_graph and not any(map(_is_marked, nodes))

    def _compiled(self, nodes: Sequence[GradNode], alive: tuple[bool, ...]) -> Tangents | None:
        """The compiled derivative if this graph is known or repeats."""
        if not self._cachable(nodes):
            return None
        options, site = config.options, self._site
        key = self._signature(nodes, alive)
        known = site.sightings.get(key, 0)
        counted = (STATS,) if self._counts is None else (STATS, self._counts)
        if isinstance(known, Tangents):
            self._hit(known)
        elif known + 1 < options.compile_after:
            _sighted(site, key, known + 1)
            for each in counted:
                each.walked += 1
            return None
        else:
            known = compile_tangents(nodes, self._roots, self._edges, alive, options)
            for each in counted:
                each.miss(known, why_compiled(site, nodes, site.tangents))
        remember(site, key, known, "tangents")
        return known

    def _linear(self, nodes: Sequence[GradNode], alive: tuple[bool, ...], is_open: bool) -> Linear:
        """The program, kept in its short form for graphs that come back to be differentiated again."""
        options = config.options
        if not is_open or not self._cachable(nodes):
            return linear_program(nodes, self._roots, self._edges, alive, options.exact)
        key = self._signature(nodes, alive, "open")
        known = self._site.sightings.get(key, 0)
        if isinstance(known, Linear):
            return known
        made = linear_program(nodes, self._roots, self._edges, alive, options.exact)
        if known + 1 < options.compile_after:
            _sighted(self._site, key, known + 1)
            return made
        made = shortened(made, options)
        _sighted(self._site, key, made)
        return made

    def _hit(self, known: Tangents) -> None:
        STATS.hit(known)
        if self._counts is not None:
            self._counts.hit(known)

    def _run(self, found: Tangents, tangents: Sequence[Any], values: Sequence[Any]) -> list[Any]:
        """Run generated code; it does not warn."""
        made = silently(found.run, *_seeds(found.linear, tangents), *values)
        copied = [_owned(value) if shared else value for value, shared in zip(made, found.shared, strict=True)]
        return self._spread(found.linear, copied)

    def _on_tensors(self, linear: Linear, nodes: Sequence[GradNode], tangents: Sequence[Any]) -> list[Any]:
        """The program's operations on Tensors, recorded at the places of the operations they belong to."""
        before = modes.grad, modes.recording, modes.place
        seeds = [_tensor(seed) for seed in _seeds(linear, tangents, keep=True)]
        try:
            modes.update(grad=True)
            arguments = [*seeds, *(saved_tensor(nodes[slot.node], slot.position, slot.output) for slot in linear.slots)]
            with np.errstate(all="ignore"):
                made = _evaluated(linear.program, arguments)
        finally:
            modes.grad, modes.recording, modes.place = before
        return self._spread(linear, [t if t is None or isinstance(t, TensorBase) else _tensor(t) for t in made])

    def _spread(self, linear: Linear, made: Sequence[Any]) -> list[Any]:
        out: list[Any] = [None] * len(self._roots)
        for target, value in zip(linear.targets, made, strict=True):
            out[target] = value[()] if isinstance(value, np.ndarray) and not value.ndim else value
        return out

    def _by_parts(
        self, nodes: Sequence[GradNode], needed: Container[int], tangents: Sequence[Any], create_graph: bool
    ) -> list[Any]:
        """Through custom functions one by one, and through what lies between them."""
        entries = [(e, t) for e, t in zip(self._edges, tangents, strict=True) if e is not None]
        known = {id(edge_node(edge)) for edge, _ in entries}
        for node in nodes:
            if node.apply is None or id(node) not in needed or id(node) in known:
                continue
            if not isinstance(node, FunctionNode):
                return self._by_transposing(tangents, create_graph)
            arriving = _through(node.ends(), entries, self._start, create_graph)
            leaving = node.push(arriving, create_graph) if node.has_jvp else None
            if leaving is None:
                leaving = Transposed(node.results(), node.inputs, node)(arriving, create_graph)
            several = node.several
            entries += [((node, k) if several else node, t) for k, t in enumerate(leaving)]
            known.add(id(node))
        return _through([self._outs[k] for k in self._places], entries, self._start, create_graph)

    def _by_transposing(self, tangents: Sequence[Any], create_graph: bool) -> list[Any]:
        if self._transposed is None:
            self._transposed = Transposed([self._outs[k] for k in self._places], self._edges)
        made = self._transposed(tangents, create_graph)
        return made if create_graph else [None if t is None else t._value for t in made]


def _through(outs: Sequence[Any], entries: Sequence[tuple[Edge, Any]], start: int, create_graph: bool) -> list[Any]:
    push = Pushforward(outs, [edge for edge, _ in entries], start)
    return push([tangent for _, tangent in entries], create_graph)


def _sighted(site: Any, key: Any, seen: Any) -> None:
    if len(site.sightings) > 4 * config.cache_size:
        site.sightings = {}
    site.sightings[key] = seen


def _is_marked(node: GradNode) -> bool:
    return type(node.site) is MarkedSite


def _seeds(linear: Linear, tangents: Sequence[Any], keep: bool = False) -> list[Any]:
    """The tangents that a program takes, in the dtypes of their values; arrays, unless Tensors are to be kept."""
    fitting = (
        _fitting(tangents[k] if keep else _array(tangents[k]), node.dtype)
        for k, node in zip(linear.seeds, linear.program.inputs, strict=False)
    )
    return list(fitting)


def _fitting(tangent: Any, dtype: Any) -> Any:
    if tangent.dtype.kind == "c" and dtype.kind != "c":
        raise DTypeError(f"a tangent of dtype {tangent.dtype} was given for a value of dtype {dtype}, which is real")
    return tangent if tangent.dtype == dtype else tangent.astype(dtype)


def _array(tangent: Any) -> Any:
    value = tangent._value if isinstance(tangent, TensorBase) else tangent
    return value[()] if isinstance(value, np.ndarray) and not value.ndim else value


def _tensor(tangent: Any) -> Any:
    if isinstance(tangent, TensorBase):
        return tangent
    made = record.plain(tangent)
    if modes.recorder is not None:
        modes.recorder.made(made)
    return made


def _owned(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


def _saved_array(nodes: Sequence[GradNode], slot: Slot) -> Any:
    node = nodes[slot.node]
    return saved_value(node, slot.position) if slot.output is None else saved_item(node, slot.position, slot.output)


def _evaluated(program: Program, arguments: Sequence[Any]) -> list[Any]:
    """The outputs of a program on Tensors and arrays."""
    env: dict[Node, Any] = dict(zip(program.inputs, arguments, strict=True))
    for node in program.nodes():
        if node.prim is None:
            env.setdefault(node, node.literal)
        elif node.prim.name == "item":
            env[node] = env[node.operands[0]][node.kwargs["k"]]
        else:
            place = None if node.source.site is None else node.source.site.place()
            modes.place = None if place is None else Place(*place)
            env[node] = node.prim(*(env[x] for x in node.operands), **node.kwargs)
    return [None if out is None else env[out] for out in program.outputs]
