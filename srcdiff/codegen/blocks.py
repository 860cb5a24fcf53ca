"""Prints programs that work block by block: a function for one block, and the loop that calls it.

    for k in range(0, 1000000, 20000):                    # 20000 rows at a time, which stay in the cache
        rows = slice(k, k + 20000)
        part, g_x[rows] = loss_on_rows(x[rows])
        total = total + part

Guarantee: as `emit`. The function for one block keeps all its arrays in buffers, so that they
stay where the cache has them.
"""

from __future__ import annotations

from typing import Any

import gast
import numpy as np

from srcdiff.codegen.emit import _Function
from srcdiff.codegen.header import Header
from srcdiff.codegen.printer import Comments
from srcdiff.codegen.statements import LARGE, Statement
from srcdiff.codegen.template import call, constant, name, store
from srcdiff.core.block import Blocks
from srcdiff.core.program import Node, Program

_LOAD = gast.Load()
SMALLEST = 1 << 12  # bytes of an array that gets a buffer in the function for one block


def has_blocks(program: Program) -> bool:
    """Whether the program works block by block somewhere."""
    return any(node.prim is not None and node.prim.name == "blocks" for node in program.nodes())


def emit_blocks(program: Program, doc: str | Header | None = None, plain: bool = False) -> str:
    """The text of a function that computes the program's outputs, and of the functions for one block it calls."""
    function = _Blocked(program, plain)
    if not plain:
        function.hurry(LARGE)
    text = function.text(doc)
    return "\n\n".join([*function.bodies, text])


class _Blocked(_Function):
    """An emission that knows the operation `blocks`."""

    def __init__(self, program: Program, plain: bool) -> None:
        super().__init__(program, plain)
        self.bodies: list[str] = []

    def _statement(self, statement: Statement, into: Node | None, dead: tuple[Node, ...]) -> list[Any]:
        node = statement.node
        if node.prim is None or node.prim.name != "blocks":
            return super()._statement(statement, into, dead)
        return self._loop(node, node.kwargs["spec"])

    def _loop(self, node: Node, spec: Blocks) -> list[Any]:
        body = _Function(spec.body, self.plain)
        if self.quick:
            body.hurry(SMALLEST)
        body.namer.take(self.program.name)
        self.bodies.append(body.text(f"What is done with {spec.size} rows, which stay in the cache."))
        items = {x.kwargs["k"]: x for x in self.items.get(node, ())}
        counter, rows = self.namer.take("k"), self.namer.take("rows")
        before: list[Any] = []
        after: list[Any] = []
        targets: list[Any] = []
        for k, aval in enumerate(spec.avals):
            here = items.get(k)
            label = self.namer.take("total" if here is None else here.name or here.hint or "total")
            if here is not None:
                self.names[here] = label
            if k < spec.sums:
                part = self.namer.take("part")
                targets.append(store(part))
                before.append(gast.Assign([store(label)], constant(0), None))
                after.append(gast.Assign([store(label)], gast.BinOp(name(label), gast.Add(), name(part)), None))
            else:
                targets.append(gast.Subscript(name(label), name(rows), gast.Store()))
                dtype = [] if aval.dtype == np.float64 else [constant(aval.dtype)]
                shape = constant(aval.shape[0] if len(aval.shape) == 1 else aval.shape)
                before.append(gast.Assign([store(label)], call("np.empty", shape, *dtype), None))
            self.comments[before[-1]] = Comments((), str(aval))
        operands = [
            gast.Subscript(self._operand(x, node), name(rows), _LOAD) if cut else self._operand(x, node)
            for x, cut in zip(node.operands, spec.cut, strict=True)
        ]
        stop = gast.BinOp(name(counter), gast.Add(), constant(spec.size))
        cut_out = gast.Assign([store(rows)], call("slice", name(counter), stop), None)
        called = gast.Assign([gast.Tuple(targets, gast.Store())], call(spec.body.name, *operands), None)
        counted = call("range", constant(0), constant(spec.rows), constant(spec.size))
        loop = gast.For(store(counter), counted, [cut_out, called, *after], [], None)
        self.comments[loop] = Comments((), f"{spec.size} rows at a time")
        return [*before, loop]
