"""Work of a loop's iterations that needs nothing of the iteration before is done for all of them at once.

    for t in range(n):                             ahead = x @ W + b
        h = np.tanh(x[t] @ W + h @ U + b)    ->    for t in range(n):
                                                       h = np.tanh(ahead[t] + h @ U)

Guarantees: the iterations do what remains in their order; products are of the same matrices, one by one; terms that
are known ahead are added before the others of a sum. Nothing is done for arrays so large that calling the operations
costs less than the memory of all iterations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from srcdiff.core.builder import Builder, rebuild, rename, suggest
from srcdiff.core.loop import Carried, Element, Fixed, Kept, Loop
from srcdiff.core.program import Node, Program
from srcdiff.index import Index
from srcdiff.ops.elementwise import add
from srcdiff.ops.linalg import matmul
from srcdiff.ops.loops import loop, pack
from srcdiff.ops.structural import reshape, transpose
from srcdiff.transform.assemble import sliced
from srcdiff.transform.identity import made_by
from srcdiff.transform.names import stem

LARGEST = 1 << 16  # bytes of a value of one iteration
MOST = 1 << 22  # bytes of the values of all iterations

_EACH = Index((0,), False, True)


def ahead(program: Program) -> Program:
    """The program, with what can be done ahead of its loops done there."""
    if not any(made_by(node, "loop") for node in program.nodes()):
        return program

    def rule(builder: Builder, node: Node, operands: tuple[Node, ...]) -> Node | None:
        return _Ahead(builder, node.kwargs["spec"], operands).made() if node.prim is loop else None

    return rebuild(program, rule)


def is_list(x: Node) -> bool:
    """Whether a value of all iterations is a list, not an array."""
    if x.prim is pack:
        return True
    if not made_by(x, "item") or x.operands[0].prim is not loop:
        return False
    spec: Loop = x.operands[0].kwargs["spec"]
    k = x.kwargs["k"] - len(spec.carried)
    return 0 <= k < len(spec.kept) and not spec.kept[k].stacked


class _Ahead:
    """One loop, and what is done ahead of it."""

    def __init__(self, builder: Builder, spec: Loop, operands: Sequence[Node]) -> None:
        self.builder, self.operands = builder, list(operands)
        body = _early_terms_first(spec.body, lambda body: self._early(body, spec))
        self.spec = replace(spec, body=body)
        self.early = self._early(body, self.spec)
        self.reads = dict(zip(body.inputs, spec.reads, strict=True))
        #: for what is done ahead, the array of all iterations
        self.stacks: dict[Node, Node] = {}

    def _early(self, body: Program, spec: Loop) -> dict[Node, bool]:
        """For each value of the body that is known ahead, whether it varies."""
        known: dict[Node, bool] = {}
        for x, read in zip(body.inputs, spec.reads, strict=True):
            if type(read) is Fixed:
                known[x] = False
            elif type(read) is Element and len(read.index.parts) == 1 and not is_list(self.operands[read.operand]):
                known[x] = True
        for node in body.nodes():
            if node.is_literal:
                known[node] = False
            elif node not in known and node.prim is not None and all(x in known for x in node.operands):
                varying = [known[x] for x in node.operands]
                if any(varying) and node not in body.outputs and self._fits(node, spec.trips, varying):
                    known[node] = True
        return known

    def _fits(self, node: Node, trips: int, varying: Sequence[bool]) -> bool:
        if type(node.aval) is tuple or node.shape == () or node.aval.nbytes > min(LARGEST, MOST // trips):
            return False
        if made_by(node, "matmul"):
            return varying.count(True) == 1 and all(x.ndim in (1, 2) for x in node.operands) and node.ndim > 0
        return node.prim is not None and node.prim.elementwise

    def made(self) -> Node | None:
        """The loop that remains, or None if nothing can be done ahead of it."""
        body = self.spec.body
        users: Counter[Node] = Counter()
        for node in body.nodes():
            if node not in self.early:
                users.update(x for x in node.operands if x.prim is not None and x in self.early)
        if not users:
            return None
        inner = Builder()
        new: dict[Node, Node] = {}
        inputs: list[Node] = []
        reads: list[Any] = []
        place: dict[int, int] = {}
        later = [node for node in body.nodes() if node not in self.early or node.is_literal]
        wanted = {x for node in later for x in node.operands} | set(body.outputs)
        for k, x in enumerate(body.inputs):
            read = self.reads[x]
            if type(read) is Carried or x in wanted:
                place[k] = len(inputs)
                new[x] = inner.input(x.aval, x.name, x.source)
                inputs.append(new[x])
                reads.append(read)
        for x in users:
            stack = self._stack(x)
            made = inner.input(x.aval, f"{stem(stack)}_t", x.source)
            new[x] = made
            inputs.append(made)
            reads.append(Element(self._operand(stack), 0, 1, _EACH))
        for node in later:
            if node in new:
                continue
            inner.source = node.source
            if node.prim is None:
                new[node] = inner.literal(node.literal)
                continue
            copy = inner.opaque(node.prim, tuple(new[x] for x in node.operands), node.kwargs, node.aval, node.name)
            new[node] = suggest(copy, node.hint) if node.hint else copy
        kept = tuple(
            Kept(each.output, each.stacked, None if each.initial is None else place[each.initial])
            for each in self.spec.kept
        )
        outputs = tuple(new[out] for out in body.outputs if out is not None)
        whole = Program(body.name, tuple(inputs), outputs)
        spec = Loop(whole, self.spec.trips, tuple(reads), kept, self.spec.last, self.spec.downwards)
        spec, operands = _without_unread(spec, self.operands)
        return self.builder.opaque(loop, operands, {"spec": spec}, spec.avals)

    def _operand(self, node: Node) -> int:
        if node not in self.operands:
            self.operands.append(node)
        return self.operands.index(node)

    def _stack(self, x: Node) -> Node:
        """The array of a value of all iterations, by t; or the value itself if it is one and the same."""
        if x.is_literal:
            return self.builder.literal(x.literal)
        known = self.stacks.get(x)
        if known is None:
            known = self.stacks[x] = self._made(x)
        return known

    def _made(self, x: Node) -> Node:
        read = self.reads.get(x)
        if type(read) is Fixed:
            return self.operands[read.operand]
        if type(read) is Element:
            made: Node = sliced(self.operands[read.operand], read.start, read.step, self.spec.trips)
            return made
        assert x.prim is not None
        self.builder.source = x.source
        if made_by(x, "matmul"):
            made = self._product(x)
        else:
            operands = [self._aligned(each, x.ndim) for each in x.operands]
            made = self.builder.emit(x.prim, tuple(operands), x.kwargs)
        label = x.name or x.hint
        return suggest(made, f"{label}s") if label else made

    def _aligned(self, x: Node, ndim: int) -> Node:
        """The stack with axes of length one after the first, so that it broadcasts as the value does."""
        stack = self._stack(x)
        if not self.early[x] or x.ndim == ndim:
            return stack
        made: Node = reshape(stack, shape=(self.spec.trips, *(1,) * (ndim - x.ndim), *x.shape))
        return made

    def _product(self, node: Node) -> Node:
        """All products; each for itself, so that BLAS does not share one long one among threads."""
        x, y = node.operands
        trips = self.spec.trips
        left, right = self._stack(x), self._stack(y)
        if self.early[x] and x.ndim == 1:
            left = reshape(left, shape=(trips, 1, x.shape[0]))
        elif self.early[y] and y.ndim == 1:
            left, right = reshape(right, shape=(trips, 1, y.shape[0])), transpose(left, axes=(1, 0))
        made: Node = reshape(matmul(left, right), shape=(trips, *node.shape))
        return made


def _without_unread(spec: Loop, operands: Sequence[Node]) -> tuple[Loop, tuple[Node, ...]]:
    """The loop without operands that nothing reads any more."""
    used = sorted({read.operand for read in spec.reads})
    now = {k: number for number, k in enumerate(used)}
    reads = tuple(replace(read, operand=now[read.operand]) for read in spec.reads)
    return replace(spec, reads=reads), tuple(operands[k] for k in used)


def _early_terms_first(body: Program, early: Callable[[Program], dict[Node, bool]]) -> Program:
    """The body with `(x + y) + z` as `(x + z) + y` where x and z are known ahead and y is not."""
    known = early(body)
    uses = Counter(x for node in body.nodes() for x in node.operands)
    uses.update(out for out in body.outputs if out is not None)

    def terms(node: Node) -> list[Node]:
        """Those of a sum, in order."""
        found, stack = [], [node]
        while stack:
            here = stack.pop()
            inner = here is node or (uses[here] == 1 and here.name is None and here.aval is node.aval)
            if made_by(here, "add") and inner:
                stack += reversed(here.operands)
            else:
                found.append(here)
        return found

    sums: dict[Node, list[Node]] = {}
    inside: set[Node] = set()
    for node in reversed(body.nodes()):
        if not made_by(node, "add") or node in known or node in inside or node.dtype.kind not in "fc":
            continue
        found = terms(node)
        first = [x for x in found if x in known]
        if len(first) > 1 and len(first) < len(found) and any(known[x] for x in first):
            sums[node] = [*first, *(x for x in found if x not in known)]
            inside.update(x for x in found if x not in body.inputs)
    if not sums:
        return body

    def rule(builder: Builder, node: Node, operands: tuple[Node, ...]) -> Node | None:
        new.update(zip(node.operands, operands, strict=True))
        if node not in sums:
            return None
        total: Any = None
        for x in sums[node]:
            total = new[x] if total is None else add(total, new[x])
        return rename(total, node.name) if node.name else total

    new: dict[Node, Node] = {}
    return rebuild(body, rule)
