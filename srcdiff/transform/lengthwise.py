"""Arrays of many short rows, worked on with the long axis last.

    diff = x[:, None] - mean      (1000,25,10)    ->    diff = x.T - mean[..., None]      (25,10,1000)
    total = np.sum(diff, axis=2)                        total = np.sum(diff, axis=1)

NumPy calls the loop of an operation once for each run along the last axis: where that has ten elements, the calls cost
more than the arithmetic. Guarantees: elements are computed by the same operations; sums over a short axis are added up
in another order; what comes from outside is laid out anew once, and what goes outside has its own order of axes again.
Nothing is changed where laying out costs more than a quarter of what is gained.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from srcdiff.core.builder import Builder, rename, suggest
from srcdiff.core.primitive import REGISTRY
from srcdiff.core.program import Node, Program
from srcdiff.index import FULL, Index
from srcdiff.ops.families import normalize_axes
from srcdiff.ops.shaping import contiguous
from srcdiff.ops.structural import broadcast_to, reshape, transpose
from srcdiff.transform.identity import made_by

SHORT = 32  # elements of a last axis that is too short
LEAST = 1 << 15  # elements of the operations that gain
GAIN = 4  # how many times more they must be than those laid out anew

_REDUCTIONS = ("sum", "max", "min", "prod")


def lengthwise(program: Program) -> Program:
    """The program with its short rows as columns, or the program itself where that doesn't pay."""
    nodes = program.nodes()
    gains: Counter[int] = Counter()
    for node in nodes:
        size = _gain(node)
        if size:
            gains[_rows(node)] += size
    for rows, gain in gains.most_common(1):
        if gain >= LEAST and rows >= 2 * SHORT:
            region = _Region(program, nodes, rows)
            if gain >= GAIN * region.moved:
                return region.program()
    return program


def _rows(node: Node) -> int:
    """The length of the first axis of what an operation works on."""
    return max(((x.shape or (0,))[0] for x in node.operands if not x.is_literal), default=0)


def _gain(node: Node) -> int:
    """The elements an operation goes through in short runs; 0 if its runs are long, or it is none that can change."""
    if node.prim is None or type(node.aval) is tuple:
        return 0
    xs = [x for x in node.operands if not x.is_literal and type(x.aval) is not tuple]
    if node.prim.elementwise:
        short = node.ndim > 1 and node.shape[-1] <= SHORT
        return node.aval.size if short and any(x.shape not in (node.shape, ()) for x in xs) else 0
    if node.prim.name in _REDUCTIONS or node.prim.name in ("sum_to", "einsum"):
        x = max(xs, key=lambda x: x.aval.size)
        return x.aval.size if x.ndim > 1 and x.shape[-1] <= SHORT else 0
    return 0


class _Region:
    """Which values have their first axis last, and the program in which they do."""

    def __init__(self, program: Program, nodes: Sequence[Node], rows: int) -> None:
        self.old, self.nodes, self.rows = program, nodes, rows
        #: values that have the long axis last
        self.inside: set[Node] = set()
        #: operations that read such values, but leave none
        self.leaving: set[Node] = set()
        for node in nodes:
            if self._stays(node):
                self.inside.add(node)
            elif self._leaves(node):
                self.leaving.add(node)
        self.moved = self._moved()

    def _has_rows(self, x: Node) -> bool:
        if x.is_literal or type(x.aval) is tuple:
            return False
        return x.shape[:1] == (self.rows,) and x.ndim > 1 and x.shape[-1] <= SHORT

    def _stays(self, node: Node) -> bool:
        prim = node.prim
        if prim is None or not self._has_rows(node):
            return False
        if prim.elementwise:
            return any(self._has_rows(x) and x.ndim == node.ndim for x in node.operands)
        first = node.operands[0] if node.operands else node
        if prim.name in _REDUCTIONS:
            return self._has_rows(first) and 0 not in normalize_axes(node.kwargs["axis"], first.ndim)
        if prim.name == "einsum":
            return _letters_differ(node) and any(map(self._has_rows, node.operands))
        if prim.name == "reshape":
            return first.shape[:1] == (self.rows,) and _long(first.shape[1:]) == _long(node.shape[1:])
        if prim.name == "matmul":
            return node.ndim == 2 and all(x.ndim == 2 for x in node.operands)
        return prim.name == "broadcast_to"

    def _leaves(self, node: Node) -> bool:
        """Whether an operation works on the long axis, or takes the others away."""
        if node.prim is None or type(node.aval) is tuple or not node.operands:
            return False
        first = node.operands[0]
        if node.prim.name in (*_REDUCTIONS, "sum_to"):
            return first in self.inside
        if node.prim.name == "einsum":
            return _letters_differ(node) and any(x in self.inside for x in node.operands)
        if node.prim.name == "getitem":
            return self._column(node)
        return node.prim.name == "reshape" and first in self.inside and node.shape == first.shape[:1]

    def _column(self, node: Node) -> bool:
        """x[:, k] of a matrix inside."""
        parts = node.kwargs["index"].parts
        known = node.operands[0] in self.inside and len(node.operands) == 1 and node.operands[0].ndim == 2
        return known and len(parts) == 2 and parts[0] == FULL and type(parts[1]) is int

    def _moved(self) -> int:
        """How many elements must be laid out anew: those that come in, and those that go out."""
        coming: set[Node] = set()
        going: set[Node] = {out for out in self.old.outputs if out in self.inside}
        for node in self.nodes:
            for x in node.operands:
                if node in self.inside or node in self.leaving:
                    if not made_by(node, "matmul") and x not in self.inside and self._turns(x, node):
                        coming.add(x)
                elif x in self.inside and not (made_by(node, "matmul") or made_by(node, "transpose")):
                    going.add(x)
        return sum(x.aval.size for x in (*coming, *going))

    def _turns(self, x: Node, user: Node) -> bool:
        """Whether a value from outside has the long axis that its user has."""
        if x.is_literal or type(x.aval) is tuple or x.shape[:1] != (self.rows,) or x.ndim < 2:
            return False
        return not user.prim.elementwise or x.ndim == user.ndim  # type: ignore[union-attr]

    # -------------------------------------------------------------------------------------------------- the new program

    def program(self) -> Program:
        """The old program with the values inside turned."""
        self.builder = Builder()
        self.plain: dict[Node, Node] = {}
        self.turned: dict[Node, Node] = {}
        for node in self.old.inputs:
            self.plain[node] = self.builder.input(node.aval, node.name, node.source)
        for node in self.nodes:
            if node in self.plain:
                continue
            self.builder.source = node.source
            if node.prim is None:
                self.plain[node] = self.builder.literal(node.literal)
                continue
            if node in self.inside:
                made = self.turned[node] = self._inside(node)
            elif node in self.leaving:
                made = self.plain[node] = self._leaving(node)
            else:
                operands = tuple(map(self._plain, node.operands))
                made = self.plain[node] = self.builder.emit(node.prim, operands, node.kwargs, node.aval)
            if node.hint:
                suggest(made, node.hint)
            if node.name:
                rename(made, node.name)
        outputs = tuple(None if out is None else self._given(out) for out in self.old.outputs)
        return Program(self.old.name, tuple(self.plain[node] for node in self.old.inputs), outputs)

    def _given(self, out: Node) -> Node:
        """An output, in memory of its own order."""
        made = self._plain(out)
        return contiguous(made) if out in self.inside else made

    def _plain(self, x: Node) -> Node:
        """A value with its axes in the order of the old program."""
        known = self.plain.get(x)
        if known is None:
            known = self.plain[x] = transpose(self.turned[x], axes=(x.ndim - 1, *range(x.ndim - 1)))
        return known

    def _turned(self, x: Node) -> Node:
        """A value with its first axis last."""
        known = self.turned.get(x)
        if known is None:
            made = self.plain[x]
            if x.ndim > 1:
                made = contiguous(transpose(made, axes=(*range(1, x.ndim), 0)))
            known = self.turned[x] = made
        return known

    def _beside(self, x: Node, ndim: int) -> Node:
        """An operand of an elementwise operation on values of so many axes."""
        if x.is_literal or x.shape == ():
            return self._plain(x)
        if x.ndim == ndim and x.shape[0] == self.rows:
            return self._turned(x)
        made = self._plain(x)
        shape = x.shape[1:] if x.ndim == ndim else x.shape
        return reshape(made, shape=(*shape, 1))  # type: ignore[no-any-return]

    def _inside(self, node: Node) -> Node:
        prim, builder = node.prim, self.builder
        assert prim is not None
        first = node.operands[0]
        if prim.elementwise:
            return builder.emit(prim, tuple(self._beside(x, node.ndim) for x in node.operands), node.kwargs)
        if prim.name == "einsum":
            return self._einsum(node, turn=True)
        if prim.name == "reshape":
            return reshape(self._turned(first), shape=(*node.shape[1:], self.rows))  # type: ignore[no-any-return]
        if prim.name == "broadcast_to":
            shape = (*node.shape[1:], self.rows)
            return broadcast_to(self._beside(first, node.ndim), shape=shape)  # type: ignore[no-any-return]
        if prim.name == "matmul":
            left, right = (transpose(self._plain(x), axes=(1, 0)) for x in node.operands)
            return builder.emit(prim, (right, left), {})
        axes = tuple(k - 1 for k in normalize_axes(node.kwargs["axis"], first.ndim))
        return self._reduced(prim, first, axes, bool(node.kwargs["keepdims"]))

    def _reduced(self, prim: Any, x: Node, axes: tuple[int, ...], keepdims: bool) -> Node:
        axis = axes[0] if len(axes) == 1 else axes
        return self.builder.emit(prim, (self._turned(x),), {"axis": axis, "keepdims": keepdims})

    def _leaving(self, node: Node) -> Node:
        prim = node.prim
        assert prim is not None
        first = node.operands[0]
        if prim.name == "einsum":
            return self._einsum(node, turn=False)
        if prim.name == "getitem":
            index = Index((node.kwargs["index"].parts[1],), False, True)
            return self.builder.emit(prim, (self._turned(first),), {"index": index})
        if prim.name == "reshape":
            return reshape(self._turned(first), shape=node.shape)  # type: ignore[no-any-return]
        if prim.name == "sum_to":
            gone = first.ndim - node.ndim
            old = [k for k in range(first.ndim) if k < gone or node.shape[k - gone] != first.shape[k]]
            prim = REGISTRY["sum"]
        else:
            old = list(normalize_axes(node.kwargs["axis"], first.ndim))
        made = self._reduced(prim, first, tuple(sorted((k - 1) % first.ndim for k in old)), False)
        return reshape(made, shape=node.shape)  # type: ignore[no-any-return]

    def _einsum(self, node: Node, turn: bool) -> Node:
        given, out = _letters(node)
        texts, operands = [], []
        for x, text in zip(node.operands, given, strict=True):
            turned = x in self.inside or self._turns(x, node)
            operands.append(self._turned(x) if turned else self._plain(x))
            texts.append(text[1:] + text[0] if turned else text)
        result = out[1:] + out[0] if turn else out
        params = {**node.kwargs, "spec": f"{','.join(texts)}->{result}"}
        assert node.prim is not None
        return self.builder.emit(node.prim, tuple(operands), params)


def _letters(node: Node) -> tuple[list[str], str]:
    given, out = node.kwargs["spec"].split("->")
    return given.split(","), out


def _letters_differ(node: Node) -> bool:
    """Whether no operand of an einsum has a letter twice, so that the order of its axes is nothing but that."""
    return all(len(set(text)) == len(text) for text in _letters(node)[0]) and all(x.shape for x in node.operands)


def _long(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n for n in shape if n != 1)
