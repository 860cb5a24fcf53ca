"""Where the values are that an iteration reads from outside its loop.

Guarantees: an `Address` says for every iteration where the value is: in what an earlier or later loop leaves, in an
array, or in a list of values that are written out; raises IrregularError for values that are here and there.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from srcdiff.core.program import Node
from srcdiff.index import Index
from srcdiff.transform.identity import made_by
from srcdiff.transform.runs import Before, Each, Part, Run

LEAST_PACKED = 8  # iterations for which values from outside are listed


class IrregularError(Exception):
    """This run cannot be a loop after all."""

    def __init__(self, run: Run) -> None:
        super().__init__("irregular")
        self.run = run


class DownwardsError(IrregularError):
    """This run cannot count down: what there was before it is needed with what it leaves."""


class LastError(IrregularError):
    """The last iteration of this run, which does less than others, cannot be done like them."""


@dataclass(frozen=True, slots=True)
class Address:
    """For iteration i in order of execution: value `start + step * i` of a list, or of what a run makes there."""

    source: Any  # (run, j), an ArrayPart, or a Pack
    start: int
    step: int


@dataclass(frozen=True, slots=True)
class ArrayPart:
    """Parts of an array at an index one of whose parts is a place."""

    base: Node
    index: Index
    place: int

    @property
    def whole(self) -> bool:
        """Whether the parts are the elements along the first axis."""
        return self.place == 0 and len(self.index.parts) == 1


class Pack:
    """Values from outside, one for each iteration."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = list(nodes)
        #: the place of the first; negative if values were put before the one that was the first at first
        self.first = 0


@dataclass(frozen=True, slots=True)
class Stack:
    """An array of a value of every iteration, in the order of t: a slice of what is kept, of a base, or of a list."""

    source: Any  # (run, j), an ArrayPart, or a Pack
    start: int
    step: int


class Places:
    """What is known of the runs of a program."""

    def __init__(
        self, users: Mapping[Node, Sequence[Node]], runs: Sequence[Run], upwards: Collection[Run] = ()
    ) -> None:
        self.users = users
        self.runs = runs
        self.where = {
            node: (run, t, j)
            for run in runs for t, row in enumerate(run.rows) for j, node in enumerate(row) if node is not None
        }  # fmt: skip
        self.packs: dict[tuple[Node | None, ...], Address] = {}
        self.packed: dict[Node, tuple[Pack, int]] = {}
        self.downwards = {run: run not in upwards and self._goes_down(run) for run in runs}

    def _goes_down(self, run: Run) -> bool:
        """Whether the iterations go through most lists from the end."""
        votes = 0
        for kinds in run.operands:
            if isinstance(kinds, Part):
                votes += 1 if kinds.step > 0 else -1
                continue
            for kind in kinds:
                if isinstance(kind, Each):
                    votes += 1 if self.address(run, kind).step > 0 else -1
        return votes < 0

    def initial(self, run: Run, j: int) -> Node | None:
        """The value before the first iteration of what operation j hands on."""
        for kinds in run.operands:
            for kind in kinds if not isinstance(kinds, Part) else ():
                if type(kind) is Before and kind.j == j:
                    return kind.initial
        return None

    def address(self, run: Run, each: Each) -> Address:
        """Where the values of an operand are; raises IrregularError if they are here and there."""
        known = self.packs.get(each.nodes)
        if known is None:
            inside = next((self.where[x] for x in each.nodes if x in self.where), None)
            if inside is not None:
                known = self._made(run, each, inside[0], inside[2])
            elif (part := part_of_array(each.nodes)) is not None:  # of before the loop, as iterating over an array does
                index = each.nodes[0].kwargs["index"]  # type: ignore[union-attr]
                known = Address(ArrayPart(part.base, index, part.place), part.start, part.step)
            else:
                known = self._listed(run, each)
            self.packs[each.nodes] = known
        return known

    def _made(self, run: Run, each: Each, by: Run, j: int) -> Address:
        initial = self.initial(by, j)
        part = by.operands[j]
        places: list[int | None] = []
        for x in each.nodes:
            found = None if x is None else self.where.get(x)
            if x is None:
                places.append(None)
            elif found is not None and found[0] is by and found[2] == j:
                places.append(found[1])
            elif x is initial:
                places.append(-1)
            else:
                raise IrregularError(run)
        if by is run or places[0] is None or places[1] is None:
            raise IrregularError(run)
        start, step = places[0], places[1] - places[0]
        regular = all(place is None or place == start + step * i for i, place in enumerate(places))
        if not regular or step == 0:
            raise IrregularError(run)
        if type(part) is Part:
            index = by.sample[j].kwargs["index"]
            return Address(ArrayPart(part.base, index, part.place), part.start + part.step * start, part.step * step)
        return Address((by, j), start, step)

    def covers(self, address: Address, trips: int) -> bool:
        """Whether there is a value for each of so many iterations."""
        ends = address.start, address.start + address.step * (trips - 1)
        source = address.source
        if type(source) is Pack:
            return min(ends) >= source.first and max(ends) < source.first + len(source.nodes)
        if type(source) is ArrayPart:
            return min(ends) >= 0 and max(ends) < source.base.shape[source.place]
        by, j = source
        return min(ends) >= (0 if self.initial(by, j) is None else -1) and max(ends) < by.trips

    def _listed(self, run: Run, each: Each) -> Address:
        """Values from outside: lists that overlap are one."""
        nodes = [x for x in each.nodes if x is not None]
        inputs = all(x.prim is None for x in nodes)
        if each.nodes[:-1].count(None) or len(set(nodes)) != len(nodes) or (run.trips < LEAST_PACKED and not inputs):
            raise IrregularError(run)
        if any(x.aval is not nodes[0].aval or x.is_literal for x in nodes):
            raise IrregularError(run)
        down = nodes[0].number > nodes[-1].number
        rising = nodes[::-1] if down else nodes
        part, first = self._joined(rising)
        for k, x in enumerate(part.nodes, part.first):
            self.packed[x] = (part, k)
        return Address(part, first + len(nodes) - 1, -1) if down else Address(part, first, 1)

    def _joined(self, nodes: list[Node]) -> tuple[Pack, int]:
        """The list that has these values next to each other, and where they begin: a known one, longer if need be."""
        k = next((k for k, x in enumerate(nodes) if x in self.packed), None)
        if k is None:
            return Pack(nodes), 0
        part, place = self.packed[nodes[k]]
        first, stop = place - k, place - k + len(nodes)
        end = part.first + len(part.nodes)
        low, high = max(first, part.first), min(stop, end)
        same = part.nodes[low - part.first : high - part.first] == nodes[low - first : high - first]
        new = [*nodes[: low - first], *nodes[high - first :]]
        if not same or any(x in self.packed for x in new):
            return Pack(nodes), 0
        part.nodes = [*nodes[: low - first], *part.nodes, *nodes[high - first :]]
        part.first = min(part.first, first)
        return part, first


def part_of_array(nodes: Sequence[Node | None]) -> Part | None:
    """What values are that are read of an array at places which go up or down regularly; None for others. Values that
    are not there (None) fit.
    """
    first, second = nodes[0], nodes[1]
    assert first is not None and second is not None
    for x in nodes:
        if x is None:
            continue
        if not made_by(x, "getitem") or len(x.operands) != 1 or x.operands[0] is not first.operands[0]:
            return None
    a, b = first.kwargs["index"].parts, second.kwargs["index"].parts
    if len(a) != len(b):
        return None
    places = [k for k, (p, q) in enumerate(zip(a, b, strict=True)) if p != q]
    if len(places) != 1 or type(a[places[0]]) is not int or type(b[places[0]]) is not int:
        return None
    (place,) = places
    start, step = a[place], b[place] - a[place]
    for t, x in enumerate(nodes):
        here = start + step * t
        if x is not None and (here < 0 or x.kwargs["index"].parts != (*a[:place], here, *a[place + 1 :])):
            return None
    return Part(first.operands[0], start, step, place)


def in_order(source: Any, start: int, step: int, count: int, down: bool) -> Stack:
    """By t instead of the order of execution."""
    return Stack(source, start + step * (count - 1), -step) if down else Stack(source, start, step)


def stem_of(run: Run, j: int) -> str | None:
    """The name that all values of an operation share, without their numbers."""
    node = run.sample[j]
    return bare_stem(node.name) if node.name else bare_stem(node.hint) if node.hint else None


def bare_stem(name: str) -> str:
    return re.sub(r"_\d+$", "", name)
