"""Loops whose iterations leave values for sums alone are done in bands of iterations, whose values are added up.

    for t in reversed(range(50)):                    for band in reversed(range(5)):
        values[t] = g = f(g, h[t])                       for t in reversed(range(10)):
    g_U = h.reshape(-1, 64).T @ values...    ->              values[t] = g = f(g, h[band, t])
                                                         g_U += h[band].reshape(-1, 64).T @ values...

Memory is that of a band then, not that of all iterations, and stays in the cache. What is made of whole arrays for the
loop alone, element by element, is made for a band. Iterations that are left over, where their number is no multiple of
a band's, are done first. Guarantees: the iterations do the same in the same order; sums are added up in the order of
the bands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from srcdiff.core.builder import Builder, item, rename, suggest
from srcdiff.core.loop import Element, Loop
from srcdiff.core.program import Node, Program
from srcdiff.ops.linalg import matmul
from srcdiff.ops.loops import loop
from srcdiff.ops.structural import reshape, transpose
from srcdiff.transform.ahead import is_list
from srcdiff.transform.identity import made_by
from srcdiff.transform.parts import Bands, Rest, aligned
from srcdiff.transform.reroll import users_of

LEAST = 1 << 16  # bytes of the values of all iterations that are worth it
SIZE = 1 << 16  # bytes of the values of a band, or of so many iterations if they are large
FEWEST = 4


def in_bands(program: Program) -> Program:
    """The program with such loops in bands."""
    for node in program.nodes():
        if node.prim is loop and node.kwargs["spec"].kept:
            found = _Cut(program, node)
            if found.possible():
                return in_bands(found.program())
    return program


def length(trips: int, size: int) -> int:
    """The iterations of a band, if each leaves so many bytes; 0 if there are too few for bands."""
    most = min(max(FEWEST, SIZE // max(1, size)), trips // 2)
    if most < FEWEST:
        return 0
    return next((k for k in range(most, max(FEWEST, most * 2 // 3) - 1, -1) if trips % k == 0), most)


class _Cut:
    """A loop, what is made for it and of it, and the bands."""

    def __init__(self, program: Program, node: Node) -> None:
        self.old, self.node = program, node
        self.spec: Loop = node.kwargs["spec"]
        self.nodes = program.nodes()
        self.outputs = set(program.outputs)
        self.users: Mapping[Node, Sequence[Node]] = users_of(program, self.nodes)
        #: the results that something reads, by number
        self.results = {x.kwargs["k"]: x for x in self.users[node]}
        first = len(self.spec.carried)
        self.kept = [x for k, x in self.results.items() if first <= k < first + len(self.spec.kept)]
        #: values that have rows of every iteration and are made of what the loop leaves; those among them turned round
        self.made: set[Node] = set(self.kept)
        self.turned: set[Node] = set()
        self.sums: list[Node] = []
        #: lists that become arrays
        self.lists: set[Node] = set()
        #: values that are made for the loop alone
        self.given: set[Node] = set()
        #: the iterations of a band
        self.count = 0
        self.builder = Builder()
        self.new: dict[Node, Node] = {}
        self.results_now: dict[Node, int] = {}
        self.bands: Node | None = None

    # ------------------------------------------------------------------------------------------------ what can be done

    def possible(self) -> bool:
        """Whether the loop can be done in bands, and is worth it."""
        spec = self.spec
        if (
            not self.kept
            or len(self.results) < len(self.users[self.node])
            or not all(each.stacked and each.initial is None for each in spec.kept)
        ):
            return False
        size = sum(x.aval.nbytes for x in self.kept)
        self.count = length(spec.trips, size // spec.trips)
        if size < LEAST or not self.count or not all(map(self._readable, spec.reads)):
            return False
        if not self.outputs.isdisjoint(self.kept) or not self._follow() or not self.sums:
            return False
        self._precede()
        return True

    def _readable(self, read: Any) -> bool:
        """Whether bands can read an operand as the loop does; a list that a loop leaves becomes an array for that."""
        if type(read) is not Element:
            return True
        x = self.node.operands[read.operand]
        if read.step != 1 or len(read.index.parts) > 1 or not 0 <= read.start <= x.shape[0] - self.spec.trips:
            return False
        if is_list(x):
            if not made_by(x, "item"):
                return False
            self.lists.add(x)
        return True

    def _follow(self) -> bool:
        """Find what is made of the values that the loop leaves; False if it is not sums alone."""
        after: set[Node] = {self.node, *self.results.values()}
        for node in self.nodes:
            if node in after or not any(x in after for x in node.operands):
                continue
            after.add(node)
            if not any(x in self.made or x in self.turned for x in node.operands):
                continue
            if self._is_sum(node):
                self.sums.append(node)
            elif node in self.outputs:
                return False
            elif node.prim is transpose and node.ndim == 2 and node.operands[0] in self.made:
                self.turned.add(node)
            elif self._by_rows(node):
                self.made.add(node)
            else:
                return False
        # what else the sums are made of does not wait for the loop
        return not any(x in after and x not in self.made and x not in self.turned
                       for node in (*self.made, *self.turned, *self.sums) for x in node.operands
                       if node not in self.kept)  # fmt: skip

    def _is_sum(self, node: Node) -> bool:
        """Whether this adds up over all iterations."""
        if node.shape == ():
            return False
        x = node.operands[0]
        if made_by(node, "sum_to"):
            return x in self.made and node.ndim < x.ndim
        if node.prim is not matmul or x.prim is not transpose or x.ndim != 2 or node.operands[1].ndim != 2:
            return False
        return node.operands[1] not in self.turned and self._has_rows(x.operands[0])

    def _by_rows(self, node: Node) -> bool:
        """Whether the rows of each iteration are made of rows of that iteration."""
        if node.prim is None or not self._has_rows(node):
            return False
        if node.prim is reshape:
            return self._has_rows(node.operands[0])
        return node.prim.elementwise and all(aligned(x, node) for x in node.operands if x in self.made)

    def _has_rows(self, x: Node) -> bool:
        return type(x.aval) is not tuple and x.shape != () and x.shape[0] > 0 and x.shape[0] % self.spec.trips == 0

    def whole(self, read: Element) -> bool:
        """Whether the loop reads all elements of the operand."""
        return read.start == 0 and self.node.operands[read.operand].shape[0] == self.spec.trips

    def _precede(self) -> None:
        """Find what is made for the loop alone."""
        inside = {self.node, *self.made, *self.sums}
        fixed = {
            self.node.operands[read.operand] for read in self.spec.reads
            if type(read) is not Element or not self.whole(read)
        }  # fmt: skip
        for node in reversed(self.nodes):
            if node.prim is None or node in inside or node in fixed or node in self.outputs or not self.users[node]:
                continue
            if node.prim.elementwise and self._by_rows(node) and all(
                user in inside and (aligned(node, user) or not user.prim.elementwise)  # type: ignore[union-attr]
                for user in self.users[node]
            ):  # fmt: skip
                self.given.add(node)
                inside.add(node)

    # ----------------------------------------------------------------------------------------------------- the program

    def program(self) -> Program:
        """The program with the loop in bands."""
        self.new.update({x: self.builder.input(x.aval, x.name, x.source) for x in self.old.inputs})
        inside = {self.node, *self.kept, *self.made, *self.turned, *self.given}
        for node in self.nodes:
            if node not in inside:
                self.value(node)
        return Program(
            self.old.name, tuple(self.new[x] for x in self.old.inputs),
            tuple(None if out is None else self.new[out] for out in self.old.outputs),
        )  # fmt: skip

    def value(self, node: Node) -> Node:
        """The node that stands for a value outside the loop."""
        made = self.new.get(node)
        if made is not None:
            return made
        if node in self.sums or node in self.results.values():
            if self.bands is None:
                rest = Rest(self) if self.spec.trips % self.count else None
                self.bands = Bands(self, rest).made()
            self.builder.source = node.source
            made = item(self.bands, self.results_now[node])
            rename(made, node.name)
        elif node.prim is None:
            made = self.builder.literal(node.literal)
        else:
            operands = tuple(map(self.value, node.operands))
            self.builder.source = node.source
            made = self.builder.opaque(node.prim, operands, self._params(node), node.aval, node.name)
        if node.hint:
            suggest(made, node.hint)
        self.new[node] = made
        return made

    def _params(self, node: Node) -> dict[str, Any]:
        """The parameters of an operation; a loop leaves arrays instead of the lists that bands read."""
        params = node.kwargs
        stacks = [x.kwargs["k"] for x in self.lists if x.operands[0] is node]
        if stacks:
            spec: Loop = params["spec"]
            first = len(spec.carried)
            kept = tuple(replace(each, stacked=each.stacked or first + k in stacks) for k, each in enumerate(spec.kept))
            params["spec"] = replace(spec, kept=kept)
        return params
