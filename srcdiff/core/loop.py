"""A loop as the parameter of one operation: a program that is run so many times, and what it reads and leaves.

The body is a Program. Each of its inputs is the same array in every iteration, or an element of an array or list,
or a value that the iteration before has computed. Each of its outputs goes to the next iteration, is kept for every
iteration, or is wanted of the last one only.

Guarantees: loops are immutable, and equal if they do the same; running one does the operations of the body in the
order of the iterations, so that it gives the bits that the unrolled program gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from srcdiff.aval import Aval, aval
from srcdiff.core.builder import interpret
from srcdiff.core.program import Program
from srcdiff.index import Index


@dataclass(frozen=True, slots=True)
class Fixed:
    """An operand, as it is."""

    operand: int


@dataclass(frozen=True, slots=True)
class Element:
    """`operand[index]`, where part `place` of the index is `start + step * t`."""

    operand: int
    start: int
    step: int
    index: Index
    place: int = 0

    def at(self, t: int) -> Any:
        """What stands between the brackets in iteration t."""
        parts = (*self.index.parts[: self.place], self.start + self.step * t, *self.index.parts[self.place + 1 :])
        return Index(parts, self.index.tuple_like, self.index.unique)()


@dataclass(frozen=True, slots=True)
class Carried:
    """An operand in the first iteration, then output `output` of the iteration before."""

    operand: int
    output: int


@dataclass(frozen=True, slots=True)
class Kept:
    """All values of an output: the one of iteration t at t, as an array or a list.

    With `initial`, a body input that is carried, its value before the first iteration is at 0 and the others at t + 1.
    """

    output: int
    stacked: bool
    initial: int | None = None


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Loop:
    """`for t in range(trips)`, or downwards. The results: what is carried, then `kept`, then `last`."""

    body: Program
    trips: int
    reads: tuple[Fixed | Element | Carried, ...]
    kept: tuple[Kept, ...]
    #: outputs whose last values are results
    last: tuple[int, ...]
    downwards: bool
    key: tuple[Any, ...] = field(init=False)

    def __post_init__(self) -> None:
        key = (self.trips, self.reads, self.kept, self.last, self.downwards, _structure(self.body))
        object.__setattr__(self, "key", key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Loop) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        return f"<{self.trips} times {self.body.name}>"

    @property
    def carried(self) -> tuple[tuple[int, Carried], ...]:
        """Positions of the inputs that are carried, and how."""
        return tuple((k, read) for k, read in enumerate(self.reads) if type(read) is Carried)

    @property
    def iterations(self) -> range:
        """The values of t, in order."""
        return range(self.trips - 1, -1, -1) if self.downwards else range(self.trips)

    @property
    def avals(self) -> tuple[Aval, ...]:
        """The types of the results."""
        outputs = [out.aval for out in self.body.outputs if out is not None]
        kept = [
            aval((self.trips + (each.initial is not None), *outputs[each.output].shape), outputs[each.output].dtype)
            for each in self.kept
        ]
        return (*(outputs[read.output] for _, read in self.carried), *kept, *(outputs[k] for k in self.last))

    def __call__(self, operands: Sequence[Any]) -> tuple[Any, ...]:
        """The results, by interpretation."""
        state = {k: operands[read.operand] for k, read in self.carried}
        kept: list[list[Any]] = [
            [*([] if each.initial is None else [state[each.initial]]), *([None] * self.trips)] for each in self.kept
        ]
        outputs: tuple[Any, ...] = ()
        for t in self.iterations:
            values = tuple(
                state[k] if type(read) is Carried
                else operands[read.operand] if type(read) is Fixed
                else operands[read.operand][read.at(t)]  # type: ignore[union-attr]
                for k, read in enumerate(self.reads)
            )  # fmt: skip
            outputs = interpret(self.body, values)
            for k, read in self.carried:
                state[k] = outputs[read.output]
            for each, found in zip(self.kept, kept, strict=True):
                found[t + (each.initial is not None)] = outputs[each.output]
        stacks = [np.stack(found) if each.stacked else found for each, found in zip(self.kept, kept, strict=True)]
        return (*(state[k] for k, _ in self.carried), *stacks, *(outputs[k] for k in self.last))


def _structure(body: Program) -> tuple[Any, ...]:
    """What the body computes, without the identity of its nodes."""
    number = {node: k for k, node in enumerate(body.inputs)}
    rows: list[Any] = []
    for node in body.nodes():
        if node in number:
            continue
        number[node] = len(number)
        if node.prim is None:
            rows.append((type(node.literal), repr(node.literal)))
        else:
            rows.append((node.prim, node.params, node.aval, node.source.line, tuple(number[x] for x in node.operands)))
    return (*(node.aval for node in body.inputs), *rows, tuple(number[out] for out in body.outputs if out is not None))
