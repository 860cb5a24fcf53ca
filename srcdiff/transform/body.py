"""Makes the operation `loop` that a run becomes: its body, what the body reads, and what it leaves."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from srcdiff.core.builder import Builder, suggest
from srcdiff.core.loop import Carried, Element, Fixed, Kept, Loop
from srcdiff.core.program import Node, Program
from srcdiff.index import Index
from srcdiff.ops.elementwise import add
from srcdiff.ops.loops import loop
from srcdiff.ops.structural import broadcast_to
from srcdiff.transform.names import stem
from srcdiff.transform.places import Address, ArrayPart, Pack, bare_stem, stem_of
from srcdiff.transform.runs import Before, Each, Local, Part, Run, Same


class Outer(Protocol):
    """The program that the loop is for."""

    builder: Builder
    needed: dict[Run, set[int]]
    kept: dict[tuple[Run, int], list[bool]]
    last: dict[Run, dict[int, None]]
    added: dict[Run, dict[int, None]]
    downwards: dict[Run, bool]
    results: dict[Run, dict[Any, int]]

    def value(self, node: Node) -> Node: ...
    def initial(self, run: Run, j: int) -> Node | None: ...
    def address(self, run: Run, each: Each) -> Address: ...
    def index(self, run: Run, j: int, t: int) -> int: ...
    def kept_of(self, run: Run, j: int) -> Node: ...
    def listed(self, values: Pack) -> Node: ...


class Body:
    """The making of one loop."""

    def __init__(self, outer: Outer, run: Run) -> None:
        self.outer = outer
        self.run = run
        self.builder = Builder()
        self.inputs: dict[Any, tuple[Node, Any]] = {}
        self.operands: dict[Node, int] = {}
        self.values: dict[int, Node] = {}
        #: values before the first iteration, of what is carried
        self.initials: dict[Any, Node] = {}

    def made(self) -> Node:
        run, outer = self.run, self.outer
        needed = outer.needed[run]
        for j in sorted(needed):
            self.values[j] = self._operation(j)
        outputs: dict[Node, int] = {}

        def output(node: Node) -> int:
            return outputs.setdefault(node, len(outputs))

        added = {j: self._accumulated(j) for j in outer.added[run]}
        for _, j in [key for key, flags in outer.kept.items() if key[0] is run and flags[1]]:
            self._before(Before(j, outer.initial(run, j)))  # type: ignore[arg-type]
        reads: list[Any] = []
        results: dict[Any, int] = {}
        carried = 0
        carries: list[int] = []
        for position, (key, (_, read)) in enumerate(self.inputs.items()):
            if read is None:  # carried
                kind, what, _ = key
                operand = self._operand(self.initials[key])
                reads.append(Carried(operand, output(self.values[what] if kind == "before" else added[what][1])))
                if kind == "added":
                    results["added", what] = carried
                carries.append(position)
                carried += 1
            else:
                reads.append(read)
        kept: list[Kept] = []
        for (owner, j), (stacked, initial) in outer.kept.items():
            if owner is run:
                results["kept", j] = carried + len(kept)
                first = None
                if initial:
                    first = list(self.inputs).index(("before", j, id(outer.initial(run, j))))
                kept.append(Kept(output(self.values[j]), stacked, first))
        last: list[int] = []
        for j in outer.last[run]:
            results["last", j] = carried + len(kept) + len(last)
            last.append(output(self.values[j]))
        body = Program("body", tuple(node for node, _ in self.inputs.values()), tuple(outputs))
        spec = Loop(body, run.trips, tuple(reads), tuple(kept), tuple(last), outer.downwards[run])
        outer.results[run] = results
        outer.builder.source = run.sample[min(needed)].source
        return outer.builder.opaque(loop, tuple(self.operands), {"spec": spec}, spec.avals)

    def _operand(self, node: Node) -> int:
        return self.operands.setdefault(node, len(self.operands))

    def _operation(self, j: int) -> Node:
        run, node, kinds = self.run, self.run.sample[j], self.run.operands[j]
        if isinstance(kinds, Part):
            return self._part(j, kinds)
        operands = tuple(self._read(kind) for kind in kinds)
        self.builder.source = node.source
        made = self.builder.opaque(node.prim, operands, node.kwargs, node.aval, stem_of(run, j) if node.name else None)
        return suggest(made, bare_stem(node.hint)) if node.hint else made

    def _read(self, kind: Any) -> Node:
        if type(kind) is Local:
            return self.values[kind.j]
        if type(kind) is Before:
            return self._before(kind)
        if type(kind) is Same:
            if kind.node.is_literal:
                return self.builder.literal(kind.node.literal)
            return self._input(
                ("same", kind.node), kind.node.aval, kind.node.name, Fixed(self._operand(self.outer.value(kind.node)))
            )
        return self._element(kind)

    def _input(self, key: Any, aval: Any, name: str | None, read: Any) -> Node:
        known = self.inputs.get(key)
        if known is None:
            known = self.inputs[key] = (self.builder.input(aval, name), read)
        return known[0]

    def _before(self, kind: Before) -> Node:
        key = ("before", kind.j, id(kind.initial))
        if key not in self.inputs:
            self.initials[key] = self.outer.value(kind.initial)
        node = self.run.sample[kind.j]
        return self._input(key, node.aval, stem_of(self.run, kind.j) or stem(node), None)

    def _accumulated(self, j: int) -> tuple[Node, Node]:
        aval = self.run.sample[j].aval
        zero = self.outer.builder.literal(np.zeros((), aval.dtype)[()])
        key = ("added", j, None)
        self.initials[key] = broadcast_to(zero, shape=aval.shape)
        so_far = self._input(key, aval, "total", None)
        self.builder.source = self.run.sample[j].source
        return so_far, self.builder.opaque(add, (so_far, self.values[j]), {}, aval)

    def _part(self, j: int, part: Part) -> Node:
        node = self.run.sample[j]
        start, step = self._in_t(part.start, part.step)
        base = self._operand(self.outer.value(part.base))
        read = Element(base, start, step, node.kwargs["index"], part.place)
        return self._input(_key(read), node.aval, part_name(node, part.base), read)

    def _element(self, each: Each) -> Node:
        outer = self.outer
        address = outer.address(self.run, each)
        node = next(x for x in each.nodes if x is not None)
        source = address.source
        if type(source) is Pack:
            base, start, step = outer.listed(source), address.start - source.first, address.step
            name: str | None = bare_stem(node.name or node.hint or "x")
            index, place = Index((0,), False, True), 0
        elif type(source) is ArrayPart:
            base, start, step = outer.value(source.base), address.start, address.step
            name, index, place = part_name(node, source.base), source.index, source.place
        else:
            run, j = source
            base, name = outer.kept_of(run, j), stem_of(run, j)
            index, place = Index((0,), False, True), 0
            start, step = outer.index(run, j, address.start), -address.step if outer.downwards[run] else address.step
        start, step = self._in_t(start, step)
        read = Element(self._operand(base), start, step, index, place)
        return self._input(_key(read), node.aval, name, read)

    def _in_t(self, start: int, step: int) -> tuple[int, int]:
        """A place given by the number of the iteration, by t."""
        return (start + step * (self.run.trips - 1), -step) if self.outer.downwards[self.run] else (start, step)


def _key(read: Element) -> tuple[Any, ...]:
    """What tells elements apart: x[t, 0] is another one than x[t, 1]."""
    parts = read.index.parts
    return read.operand, read.start, read.step, read.place, parts[: read.place], parts[read.place + 1 :]


def part_name(node: Node, base: Node) -> str | None:
    """`xs_t` for xs[t], if the user gave it no name."""
    return bare_stem(node.name) if node.name else f"{base.name}_t" if base.name else None
