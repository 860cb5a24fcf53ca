"""What is needed of the loops of a program: operations of a body, and values that must be kept for all iterations.

Everything is followed from the outputs. A value of an iteration is needed by a later loop (of the iterations in the
same or the opposite order), by a sum over all iterations, of the last iteration only, or picked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from srcdiff.core.program import Node
from srcdiff.transform.identity import made_by
from srcdiff.transform.places import (
    Address,
    ArrayPart,
    DownwardsError,
    IrregularError,
    LastError,
    Pack,
    Places,
    Stack,
    in_order,
)
from srcdiff.transform.runs import Before, Each, Local, Part, Run, Same
from srcdiff.transform.sums import Chain, is_elementwise, is_outer, is_product

MOST_STACKED = 1 << 24  # bytes of one stack; what is larger is added up in the loop, as it comes
MOST_PICKED = 3  # single iterations of which something else reads values


@dataclass(frozen=True, eq=False, slots=True)
class Batch:
    """The sum of operation j of a run over so many iterations: of stacks, or (None) added up inside the loop."""

    run: Run
    j: int
    count: int
    stacks: tuple[Stack, ...] | None
    turned: tuple[bool, bool] = (False, False)


@dataclass(frozen=True, eq=False, slots=True)
class Rows:
    """The values that `np.stack` puts together: those of so many iterations, and some before and after them."""

    before: tuple[Node, ...]
    inside: Stack
    count: int
    after: tuple[Node, ...]


class Needs(Places):
    """What is needed of each run."""

    def __init__(
        self, users: Mapping[Node, Sequence[Node]], runs: Sequence[Run], sums: Sequence[Chain], stretch: float,
        upwards: Collection[Run] = (),
    ) -> None:  # fmt: skip
        super().__init__(users, runs, upwards)
        self.most = MOST_STACKED / stretch
        self.chains = {chain.top: chain for chain in sums}
        self.live: set[Node] = set()
        self.needed: dict[Run, set[int]] = {run: set() for run in runs}
        self.kept: dict[tuple[Run, int], list[bool]] = {}  # stacked, with the initial value
        self.picked: dict[Run, set[int]] = {run: set() for run in runs}
        self.last: dict[Run, dict[int, None]] = {run: {} for run in runs}
        self.added: dict[Run, dict[int, None]] = {run: {} for run in runs}  # added up in the loop
        self.batches: dict[Node, list[Any]] = {}
        #: arrays of a value of every iteration that the program makes, and where these values are
        self.rows: dict[Node, Rows] = {}

    def demand(self, outputs: Sequence[Node]) -> None:
        """Note what of each run is needed."""
        stack: list[Any] = list(outputs)
        while stack:
            here = stack.pop()
            if type(here) is tuple:
                stack.extend(self._demand_operation(*here))
            elif here not in self.live:
                self.live.add(here)
                if here in self.where and not self.is_part(here):
                    stack.append(self._demand_value(here))
                elif here in self.chains:
                    stack.extend(self._demand_sum(self.chains[here]))
                elif (rows := self._rows(here)) is not None:
                    self.rows[here] = rows
                    stack.extend((*rows.before, *rows.after))
                    stack.extend(self._demand_address(rows.inside, rows.count, True))
                else:
                    stack.extend(here.operands)

    def is_part(self, node: Node) -> bool:
        """Whether a value of an iteration is there without its loop: an element of an array from outside."""
        run, _, j = self.where[node]
        return isinstance(run.operands[j], Part)

    def _rows(self, node: Node) -> Rows | None:
        """Where the values are that `np.stack` puts together, if a loop leaves nearly all of them in that order."""
        if not made_by(node, "stack") or node.kwargs["axis"] != 0 or node.aval.nbytes > self.most:
            return None
        here = [self.where.get(x) for x in node.operands]
        first = next((k for k, found in enumerate(here) if found is not None), None)
        if first is None:
            return None
        run, begin, j = here[first]  # type: ignore[misc]
        initial = self.initial(run, j)
        if first and node.operands[first - 1] is initial and begin == 0 and not self.downwards[run]:
            first, begin = first - 1, -1
        last = first + 1
        step = 0
        for k in range(first + 1, len(here)):
            found = here[k]
            if found is None or found[0] is not run or found[2] != j:
                break
            step = step or found[1] - begin
            if step not in (1, -1) or found[1] != begin + step * (k - first):
                break
            last = k + 1
        apart = len(node.operands) - (last - first)
        if last - first < 2 or apart > MOST_PICKED or isinstance(run.operands[j], Part):
            return None
        return Rows(node.operands[:first], Stack((run, j), begin, step), last - first, node.operands[last:])

    def _demand_value(self, node: Node) -> Any:
        run, t, j = self.where[node]
        if type(node.aval) is tuple:
            raise IrregularError(run)
        if t == run.trips - 1:
            self.last[run][j] = None
        else:
            self.picked[run].add(t)
            if len(self.picked[run]) > MOST_PICKED:
                raise IrregularError(run)
            self.keep(run, j, False)
        return run, j

    def keep(self, run: Run, j: int, stacked: bool, initial: bool = False) -> None:
        """All values of an operation are needed, as an array if stacked; and its value before the first iteration."""
        flags = self.kept.setdefault((run, j), [False, False])
        flags[0] |= stacked
        flags[1] |= initial
        if initial and self.downwards[run]:
            raise DownwardsError(run)

    def _demand_operation(self, run: Run, j: int) -> list[Any]:
        if j in self.needed[run]:
            return []
        self.needed[run].add(j)
        kinds = run.operands[j]
        if isinstance(kinds, Part):
            return [kinds.base]
        found: list[Any] = []
        for kind in kinds:
            if isinstance(kind, Local):
                found.append((run, kind.j))
            elif isinstance(kind, Before):
                found += [(run, kind.j), kind.initial]
            elif isinstance(kind, Same):
                found.append(kind.node)
            elif isinstance(kind, Each):
                address = self.address(run, kind)
                if not self.covers(address, run.trips):
                    raise LastError(run) if None in run.rows[-1] else IrregularError(run)
                found += self._demand_address(address, run.trips, False)
        return found

    def _demand_address(self, address: Address | Stack, trips: int, stacked: bool) -> list[Any]:
        source = address.source
        if type(source) is Pack:
            return list(source.nodes)
        if type(source) is ArrayPart:
            return [source.base]
        run, j = source
        lowest = min(address.start, address.start + address.step * (trips - 1))
        self.keep(run, j, stacked, lowest < 0)
        initial = self.initial(run, j)
        return [(run, j), *([initial] if initial is not None else [])]

    # ------------------------------------------------------------------------------------------------------------- sums

    def _demand_sum(self, chain: Chain) -> list[Any]:
        """Terms that are an operation of all iterations become one batch; the others stay terms."""
        groups: dict[Any, list[Node]] = {}
        for term in chain.terms:
            found = self.where.get(term)
            groups.setdefault(term if found is None else (found[0], found[2]), []).append(term)
        parts: list[Any] = []
        demands: list[Any] = []
        for key, terms in groups.items():
            batch = None
            if type(key) is tuple:
                run, j = key
                if len(terms) == len(set(terms)) == sum(row[j] is not None for row in run.rows):
                    batch = self._batch(run, j, len(terms))
            if batch is not None:
                parts.append(batch)
                if batch.stacks is None:
                    self.added[batch.run][batch.j] = None
                    demands.append(key)
                else:
                    for each in batch.stacks:
                        demands += self._demand_address(each, batch.count, True)
            else:
                parts += terms
                demands += terms
        self.batches[chain.top] = parts
        return demands

    def _batch(self, run: Run, j: int, count: int) -> Batch | None:
        """The sum of the terms of operation j, which the last iteration may lack; None where that is no sum then."""
        stacks, turned = self._stacks(run, j, count)
        if stacks is None and count < run.trips:
            return None
        return Batch(run, j, count, stacks, turned)

    def _stacks(self, run: Run, j: int, count: int) -> tuple[tuple[Stack, ...] | None, tuple[bool, bool]]:
        """What is to be summed up after the loop, if something is, and which factors of it are turned."""
        node, kinds = run.sample[j], run.operands[j]
        turned = (False, False)
        factors: Sequence[Any] = ()
        if isinstance(kinds, Part):
            pass
        elif len(self.users[node]) > 1:
            factors = (Local(j),)
        elif is_product(node):
            (x, x_turned), (y, y_turned) = (self._turned(run, kind) for kind in kinds)
            factors, turned = (x, y), (x_turned, y_turned)
        elif is_outer(node) and type(kinds[0]) is Local:
            column: Any = kinds[0]
            inner = run.operands[column.j]
            if made_by(run.sample[column.j], "reshape") and run.sample[column.j].operands[0].ndim == 1:
                column = None if isinstance(inner, Part) else inner[0]
            factors = (column, kinds[1])
        elif is_elementwise(node) or made_by(node, "sum_to"):
            factors = kinds
        stacks = [self._stack(run, factor, count) for factor in factors]
        found = tuple(stack for stack in stacks if stack is not None)
        return (found, turned) if found and len(found) == len(stacks) else (None, (False, False))

    def _turned(self, run: Run, kind: Any) -> tuple[Any, bool]:
        """The operand under a transpose, and whether there was one."""
        if type(kind) is Local and made_by(run.sample[kind.j], "transpose") and type(run.operands[kind.j]) is tuple:
            return run.operands[kind.j][0], True  # type: ignore[index]
        return kind, False

    def _stack(self, run: Run, kind: Any, count: int) -> Stack | None:
        """The values of an operand in so many iterations, as an array in the order of t; None if that cannot be, or
        costs too much.
        """
        down = self.downwards[run]
        if type(kind) is Local:
            op = run.operands[kind.j]
            if type(op) is Part:
                array = ArrayPart(op.base, run.sample[kind.j].kwargs["index"], op.place)
                if array.whole:
                    return in_order(array, op.start, op.step, count, down)
            node = run.sample[kind.j]
            if type(node.aval) is tuple or count * node.aval.nbytes > self.most or made_by(node, "transpose"):
                return None
            return in_order((run, kind.j), 0, 1, count, down)
        if type(kind) is Before:
            if (
                down
                or count * run.sample[kind.j].aval.nbytes > self.most
                or kind.initial is not self.initial(run, kind.j)
            ):
                return None
            return in_order((run, kind.j), -1, 1, count, down)
        if type(kind) is Each:
            try:
                address = self.address(run, kind)
            except IrregularError:
                return None
            node = next(x for x in kind.nodes if x is not None)
            if count * node.aval.nbytes > self.most or (type(address.source) is ArrayPart and not address.source.whole):
                return None
            return in_order(address.source, address.start, address.step, count, down)
        return None
