"""Long products `x.T @ y` in pieces that BLAS does in one thread.

From about a million multiplications on, BLAS shares a product among threads. For tall factors, as sums over the steps
of a loop make them, that gains little where cores are free and costs milliseconds where they are busy. Guarantees:
values are equal up to the order in which products are added up; much longer products stay whole, since threads pay.
"""

from __future__ import annotations

from typing import Any

from srcdiff.core.builder import Builder, rebuild
from srcdiff.core.program import Node, Program
from srcdiff.index import window
from srcdiff.ops.indexing import getitem
from srcdiff.ops.linalg import matmul
from srcdiff.ops.structural import transpose

#: multiplications that BLAS still does in one thread
SINGLE = 1_000_000
#: the most pieces
MOST = 8


def in_pieces(program: Program) -> Program:
    """The program with such products as sums of products of parts of their factors."""
    return rebuild(program, _rule) if any(_pieces(node) for node in program.nodes()) else program


def _pieces(node: Node) -> int:
    """How many pieces a node should be done in; 0 if it should not."""
    if node.prim is not matmul or node.ndim != 2:
        return 0
    x, y = node.operands
    if x.prim is not transpose or x.ndim != 2 or y.ndim != 2 or x.dtype != y.dtype:
        return 0
    rows, columns, length = x.shape[0], y.shape[1], y.shape[0]
    pieces = -(-rows * columns * length // SINGLE)
    return pieces if 1 < pieces <= MOST and length >= 4 * max(rows, columns) else 0


def _rule(builder: Builder, node: Node, operands: tuple[Node, ...]) -> Node | None:
    pieces = _pieces(node)
    if not pieces:
        return None
    x, y = (
        operands[0].operands[0] if operands[0].prim is transpose else transpose(operands[0], axes=(1, 0)),
        operands[1],
    )
    length = y.shape[0]
    step = -(-length // pieces)
    total: Any = None
    for start in range(0, length, step):
        part = window(0, start, min(start + step, length))
        made = matmul(transpose(getitem(x, index=part), axes=(1, 0)), getitem(y, index=part))
        total = made if total is None else total + made
    return total  # type: ignore[no-any-return]
