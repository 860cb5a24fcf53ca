"""Iterations of a loop that are done together, as `bands` cuts it: those of a band, and those that are left over."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from srcdiff.aval import aval
from srcdiff.core.builder import Builder, item, rename, suggest
from srcdiff.core.loop import Carried, Element, Fixed, Loop
from srcdiff.core.primitive import REGISTRY
from srcdiff.core.program import Node, Program
from srcdiff.index import Index
from srcdiff.ops.elementwise import add
from srcdiff.ops.linalg import matmul
from srcdiff.ops.loops import loop
from srcdiff.ops.structural import broadcast_to, reshape, sum_to, transpose
from srcdiff.transform.assemble import sliced
from srcdiff.transform.names import stem

BAND = "band"  # the name of a body that is a band
_EACH = Index((0,), False, True)


class Cut(Protocol):
    """The loop that is cut into bands, and the program that is made."""

    node: Node
    spec: Loop
    builder: Builder
    #: the iterations of a band
    count: int
    #: the results that something reads, by number
    results: dict[int, Node]
    #: what they are in the result of the loop over the bands, and sums too
    results_now: dict[Node, int]
    #: values that have rows of every iteration, made of what the loop leaves, and for the loop alone
    made: set[Node]
    given: set[Node]
    sums: list[Node]

    def value(self, node: Node) -> Node: ...
    def whole(self, read: Element) -> bool: ...


def aligned(x: Node, node: Node) -> bool:
    """Whether the rows of an operand are those of the value."""
    return type(node.aval) is not tuple and x.ndim == node.ndim and x.shape[0] == node.shape[0]


class Part:
    """Iterations that are done together, by a builder of their own or among what is outside the loop."""

    def __init__(self, cut: Cut, builder: Builder, count: int) -> None:
        self.cut, self.builder, self.count = cut, builder, count
        self.here: dict[Node, Node] = {}

    def source(self, x: Node, start: int, each: int) -> Node:
        """The rows of a value from outside, so many for each iteration, the first one's from `start` on."""
        raise NotImplementedError

    def fixed(self, x: Node) -> Node:
        """A value from outside that is the same for all rows."""
        raise NotImplementedError

    def loop(self, states: Sequence[Node]) -> list[Node]:
        """What the loop over these iterations gives, if it begins with these values of what is carried."""
        cut, spec = self.cut, self.cut.spec
        operands: list[Node] = []
        reads: list[Any] = []
        carried = iter(states)
        for read in spec.reads:
            x = cut.node.operands[read.operand]
            if type(read) is Element:
                reads.append(replace(read, operand=len(operands), start=0))
                operands.append(self.rows(x) if cut.whole(read) else self.source(x, read.start, 1))
            else:
                reads.append(replace(read, operand=len(operands)))
                operands.append(next(carried) if type(read) is Carried else self.fixed(x))
        part = replace(spec, trips=self.count, reads=tuple(reads))
        self.builder.source = cut.node.source
        made = self.builder.opaque(loop, tuple(operands), {"spec": part}, part.avals)
        results = [item(made, k) for k in range(len(part.avals))]
        self.here.update({x: results[k] for k, x in cut.results.items()})
        return results

    def sum(self, node: Node) -> Node:
        """What these iterations add to a sum."""
        x, *rest = node.operands
        if node.prim is matmul:
            left, right = self.rows(x.operands[0]), self.rows(*rest)
            self.builder.source = node.source
            return matmul(transpose(left, axes=(1, 0)), right)  # type: ignore[no-any-return]
        rows = self.rows(x)
        self.builder.source = node.source
        return self.added(rows, node)

    def added(self, rows: Node, node: Node) -> Node:
        """The sum of some rows, in the shape of a sum."""
        return sum_to(rows, shape=node.shape)  # type: ignore[no-any-return]

    def rows(self, x: Node) -> Node:
        """The rows of a value that belong to these iterations."""
        made = self.here.get(x)
        if made is not None:
            return made
        if x not in self.cut.made and x not in self.cut.given:
            made = self.source(x, 0, x.shape[0] // self.cut.spec.trips)
        else:
            assert x.prim is not None
            params = x.kwargs
            if x.prim is reshape:
                operands = [self.rows(x.operands[0])]
                params["shape"] = self.shape(x)
            else:
                operands = [self.rows(y) if aligned(y, x) else self.fixed(y) for y in x.operands]
            self.builder.source = x.source
            made = rename(self.builder.emit(x.prim, tuple(operands), params), x.name)
            made = suggest(made, x.hint) if x.hint else made
        self.here[x] = made
        return made

    def shape(self, x: Node) -> tuple[int, ...]:
        """The shape of the rows of a value."""
        return (x.shape[0] // self.cut.spec.trips * self.count, *x.shape[1:])


class Rest(Part):
    """The iterations that are left over, before the bands."""

    def __init__(self, cut: Cut) -> None:
        super().__init__(cut, cut.builder, cut.spec.trips % cut.count)

    def source(self, x: Node, start: int, each: int) -> Node:
        first = self.cut.spec.trips - self.count if self.cut.spec.downwards else 0
        made: Node = sliced(self.cut.value(x), start + each * first, 1, each * self.count)
        return made

    def fixed(self, x: Node) -> Node:
        return self.cut.value(x)


class Bands(Part):
    """The loop over the bands."""

    def __init__(self, cut: Cut, rest: Rest | None) -> None:
        super().__init__(cut, Builder(), cut.count)
        self.rest = rest
        self.trips = cut.spec.trips // cut.count
        self.inputs: dict[Any, tuple[Node, Any]] = {}
        self.operands: dict[Node, int] = {}

    def made(self) -> Node:
        """The operation; what its results stand for is noted."""
        cut, spec = self.cut, self.cut.spec
        given = [cut.value(cut.node.operands[read.operand]) for _, read in spec.carried]
        given = given if self.rest is None else self.rest.loop(given)[: len(given)]
        states = [
            self._input(k, spec.body.inputs[k].aval, spec.body.inputs[k].name, Carried(self._operand(x), number))
            for number, (x, (k, _)) in enumerate(zip(given, spec.carried, strict=True))
        ]
        results = self.loop(states)
        outputs = results[: len(states)]
        for node in cut.sums:
            term = self.sum(node)
            read = Carried(self._operand(self._begun(node)), len(outputs))
            so_far = self._input(node, node.aval, node.name or "total", read)
            cut.results_now[node] = len(outputs)
            self.builder.source = node.source
            outputs.append(add(so_far, term))
        last = [k for k in cut.results if k >= len(states) + len(spec.kept)]
        cut.results_now.update({x: k for k, x in cut.results.items() if k < len(states)})
        cut.results_now.update({cut.results[k]: len(outputs) + j for j, k in enumerate(last)})
        count = len(outputs)
        outputs += [results[k] for k in last]
        reads = tuple(read for _, read in self.inputs.values())
        body = Program(BAND, tuple(x for x, _ in self.inputs.values()), tuple(outputs))
        whole = Loop(body, self.trips, reads, (), tuple(range(count, len(outputs))), spec.downwards)
        cut.builder.source = cut.node.source
        return cut.builder.opaque(loop, tuple(self.operands), {"spec": whole}, whole.avals)

    def _begun(self, node: Node) -> Node:
        """A sum before the first band."""
        if self.rest is not None:
            return self.rest.sum(node)
        zero = self.cut.builder.literal(np.zeros((), node.dtype)[()])
        return broadcast_to(zero, shape=node.shape)  # type: ignore[no-any-return]

    def added(self, rows: Node, node: Node) -> Node:
        if node.dtype.char not in "fd" or node.shape != rows.shape[-1:]:
            return super().added(rows, node)
        # a product with ones takes BLAS a quarter of the time
        count = math.prod(rows.shape[:-1])
        one = self.cut.builder.literal(np.ones((), node.dtype)[()])
        ones = self._fixed(suggest(REGISTRY["full"](one, shape=(count,)), "ones"), "ones")
        return matmul(ones, reshape(rows, shape=(count, *node.shape)))  # type: ignore[no-any-return]

    def source(self, x: Node, start: int, each: int) -> Node:
        first = 0 if self.cut.spec.downwards else self.cut.spec.trips % self.count
        part = sliced(self.cut.value(x), start + each * first, 1, each * self.count * self.trips)
        shape = (each * self.count, *x.shape[1:])
        bands = suggest(reshape(part, shape=(self.trips, *shape)), f"{stem(_whole(x))}_bands")
        read = Element(self._operand(bands), 0, 1, _EACH)
        return self._input((x, start), aval(shape, x.dtype), f"{stem(x)}_t", read)

    def fixed(self, x: Node) -> Node:
        return self.builder.literal(x.literal) if x.is_literal else self._fixed(self.cut.value(x), x.name)

    def _fixed(self, x: Node, called: str | None) -> Node:
        """The input of the body for a value of the new program."""
        return self._input((x, "fixed"), x.aval, called, Fixed(self._operand(x)))

    def _operand(self, x: Node) -> int:
        return self.operands.setdefault(x, len(self.operands))

    def _input(self, key: Any, type_: Any, name: str | None, read: Any) -> Node:
        known = self.inputs.get(key)
        if known is None:
            known = self.inputs[key] = (self.builder.input(type_, name), read)
        return known[0]


def _whole(x: Node) -> Node:
    """What a value is a view of."""
    while x.prim is not None and x.prim.view and x.prim.name != "item":
        x = x.operands[0]
    return x
