"""Puts a program together from the runs found in it: each becomes an operation `loop` and items of its results.

Guarantee: nothing but sums of terms of all iterations is computed in another order than before. Raises
IrregularError if a run cannot be a loop.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from srcdiff.core.builder import Builder, item, rename, suggest
from srcdiff.core.primitive import REGISTRY
from srcdiff.core.program import Node, Program
from srcdiff.index import Index, Slice
from srcdiff.ops.elementwise import add
from srcdiff.ops.loops import pack, pick, stacked
from srcdiff.ops.shaping import concatenate, stack
from srcdiff.ops.structural import sum_to
from srcdiff.transform.body import Body
from srcdiff.transform.names import stem
from srcdiff.transform.needs import Batch, Needs
from srcdiff.transform.places import ArrayPart, IrregularError, Pack, Stack, bare_stem, stem_of
from srcdiff.transform.runs import Before, Run
from srcdiff.transform.sums import Chain, is_elementwise, is_outer, sum_of_elementwise, sum_of_outers, sum_of_products


class Assembly(Needs):
    """The state of putting one program together."""

    def __init__(
        self, program: Program, nodes: Sequence[Node], users: Mapping[Node, Sequence[Node]], runs: Sequence[Run],
        sums: Sequence[Chain], stretch: float, upwards: Collection[Run] = (),
    ) -> None:  # fmt: skip
        super().__init__(users, runs, sums, stretch, upwards)
        self.old = program
        self.nodes = nodes
        self.builder = Builder()
        self.begins = self._beginnings()
        self.new: dict[Node, Node] = {}
        self.loops: dict[Run, Node] = {}
        self.results: dict[Run, dict[Any, int]] = {}
        self.making: set[Run] = set()
        self.lists: dict[int, Node] = {}
        self.terms: dict[Batch, Any] = {}

    def _beginnings(self) -> dict[Node, str | None]:
        """Names of values that nothing reads but the first iteration of a loop: those of the variables there."""
        names: dict[Node, str | None] = {}
        for run in self.runs:
            for kind in (kind for j in range(len(run.operands)) for kind in run.kinds(j)):
                if not isinstance(kind, Before) or kind.initial.prim is None or not kind.initial.name:
                    continue
                if all(user in self.where and self.where[user][0] is run for user in self.users[kind.initial]):
                    names[kind.initial] = stem_of(run, kind.j)
        return names

    def program(self) -> Program:
        """The program with loops."""
        outputs = [out for out in self.old.outputs if out is not None]
        self.demand(outputs)
        for node in self.old.inputs:
            self.new[node] = self.builder.input(node.aval, node.name, node.source)
        for node in self.nodes:
            if node in self.live:
                self.value(node)
        return Program(
            self.old.name, tuple(self.new[node] for node in self.old.inputs),
            tuple(None if out is None else self.value(out) for out in self.old.outputs),
        )  # fmt: skip

    def value(self, node: Node) -> Node:
        """The node that stands for a value."""
        made = self.new.get(node)
        if made is not None:
            return made
        builder = self.builder
        if node in self.where and not self.is_part(node):
            made = self._result(node)
        elif node in self.chains:
            made = self._sum(node)
        elif node in self.rows:
            made = self._stacked(node)
        elif node.prim is None:
            made = builder.literal(node.literal)
        else:
            operands = tuple(map(self.value, node.operands))
            builder.source = node.source
            made = builder.opaque(node.prim, operands, node.kwargs, node.aval, self.begins.get(node, node.name))
            if node.hint:
                suggest(made, node.hint)
        self.new[node] = made
        return made

    def _stacked(self, node: Node) -> Node:
        """What `np.stack` gives, of what a loop leaves."""
        rows = self.rows[node]
        ends = [[self.value(x) for x in values] for values in (rows.before, rows.after)]
        made = self._sliced(rows.inside, rows.count)
        self.builder.source = node.source
        before, after = ([stack(*values, axis=0)] if values else [] for values in ends)
        if before or after:
            made = concatenate(*before, made, *after, axis=0)
        return rename(made, node.name) if node.name and made.name is None else made

    def _result(self, node: Node) -> Node:
        run, t, j = self.where[node]
        made = self.loop(run)
        self.builder.source = node.source
        if t == run.trips - 1 and j in self.last[run]:
            found = item(made, self.results[run]["last", j])
            return rename(found, stem_of(run, j)) if found.name is None else found
        return pick(self.kept_of(run, j), k=self.index(run, j, t))  # type: ignore[no-any-return]

    def index(self, run: Run, j: int, t: int) -> int:
        """Where the value of the iteration executed as number t is kept; -1 is the one before the first."""
        return (run.trips - 1 - t if self.downwards[run] else t) + self.kept[run, j][1]

    def kept_of(self, run: Run, j: int) -> Node:
        """The array or list of all values of an operation."""
        made = self.loop(run)
        found = item(made, self.results[run]["kept", j])
        name = stem_of(run, j)
        return rename(found, name or f"{stem(run.sample[j])}s")

    def listed(self, values: Pack) -> Node:
        """The list of values from outside."""
        found = self.lists.get(id(values))
        if found is None:
            found = pack(*map(self.value, values.nodes))
            stems = {bare_stem(x.name or x.hint or "") for x in values.nodes}
            name = min(stems)
            found = self.lists[id(values)] = rename(found, name if len(stems) == 1 and name else None)
        return found

    def _sum(self, top: Node) -> Node:
        total: Any = None
        for part in self.batches[top]:
            if type(part) is Batch:
                self.loop(part.run)
            term = self.terms[part] if type(part) is Batch else self.value(part)
            self.builder.source = top.source
            total = term if total is None else add(total, term)
        if top.name:
            return rename(total, top.name) if total.name is None else total
        return suggest(total, top.hint) if top.hint else total

    def _added_up(self, batch: Batch, top: Node) -> Any:
        run, j = batch.run, batch.j
        if batch.stacks is None:
            made = self.loop(run)
            found = item(made, self.results[run]["added", j])
            return rename(found, bare_stem(top.name or top.hint or "total"))
        stacks = [self._sliced(each, batch.count) for each in batch.stacks]
        self.builder.source = top.source
        node = run.sample[j]
        if len(stacks) == 1:
            return sum_to(stacks[0], shape=node.shape)
        if is_outer(node):
            return sum_of_outers(*stacks)
        if is_elementwise(node):
            return sum_of_elementwise(*stacks)
        return sum_of_products(stacks[0], batch.turned[0], stacks[1], batch.turned[1])

    def _sliced(self, stack: Stack, count: int) -> Any:
        source, start, step = stack.source, stack.start, stack.step
        if type(source) is Pack:
            return sliced(stacked(self.listed(source)), start - source.first, step, count)
        if type(source) is ArrayPart:
            return sliced(self.value(source.base), start, step, count)
        run, j = source
        whole = self.kept_of(run, j)
        first = self.index(run, j, start)
        return sliced(whole, first, -step if self.downwards[run] else step, count)

    def loop(self, run: Run) -> Node:
        """The operation that a run becomes."""
        made = self.loops.get(run)
        if made is None:
            if run in self.making:
                raise IrregularError(run)
            self.making.add(run)
            made = self.loops[run] = Body(self, run).made()
            self.making.discard(run)
            for k in range(len(made.aval)):  # next to the loop, so that a loop around it finds them there
                item(made, k)
            for top, parts in self.batches.items():
                for part in parts:
                    if type(part) is Batch and part.run is run:
                        self.terms[part] = self._added_up(part, top)
        return made


def sliced(whole: Any, start: int, step: int, count: int) -> Any:
    """`whole[start::step]` with so many elements."""
    if start == 0 and step == 1 and whole.shape[0] == count:
        return whole
    stop: int | None = start + step * count
    if stop is not None and stop < 0:
        stop = None
    part = Slice(start or None, stop if stop != whole.shape[0] else None, step if step != 1 else None)
    if step < 0:
        part = Slice(start if start != whole.shape[0] - 1 else None, stop, step)
    return REGISTRY["getitem"](whole, index=Index((part,), False, True))
