"""Small products with a transposed matrix, `x @ W.T`: the matrix is laid out anew first.

For float32 matrices of up to 128 rows and columns BLAS takes up to three times longer if the right factor is
transposed (20 instead of 7.5 us for 64 rows times 128 x 64), and the copy costs 3 us, once for all products with it.

Guarantee: each product is of the same numbers; BLAS may add them up in another order.
"""

from __future__ import annotations

import numpy as np

from srcdiff.core.builder import Builder, rebuild
from srcdiff.core.program import Node, Program
from srcdiff.ops.linalg import matmul
from srcdiff.ops.shaping import contiguous
from srcdiff.transform.identity import made_by

MOST_ROWS = 64  # of the left factor
SIZES = range(16, 129)  # of the right one
SEVERAL = 3  # products that share a factor pay for its copy if they are smaller still
LEAST_ROWS = 32  # of the left factor, if there is only one
LARGEST = 128 * 64  # numbers in the right factor, for the same; the copy of 128 x 128 takes 11 us


def straighten(program: Program) -> Program:
    """The program with small transposed right factors made contiguous."""
    uses: dict[Node, int] = {}
    for node in program.nodes():
        if made_by(node, "matmul"):
            uses[node.operands[1]] = uses.get(node.operands[1], 0) + 1
    chosen = {node for node in program.nodes() if made_by(node, "matmul") and _pays(node, uses)}
    if not chosen:
        return program

    def rule(builder: Builder, node: Node, operands: tuple[Node, ...]) -> Node | None:
        return matmul(operands[0], contiguous(operands[1])) if node in chosen else None

    return rebuild(program, rule)


def _pays(product: Node, uses: dict[Node, int]) -> bool:
    x, y = product.operands
    if not made_by(y, "transpose") or x.ndim < 2 or y.ndim < 2 or x.dtype != np.float32 or y.dtype != np.float32:
        return False
    axes = y.kwargs["axes"]
    swapped = axes == (*range(y.ndim - 2), y.ndim - 1, y.ndim - 2)
    small = x.shape[-2] <= MOST_ROWS and y.shape[-1] in SIZES and y.shape[-2] in SIZES
    alone = x.shape[-2] >= LEAST_ROWS and 2 * SIZES.start <= y.shape[-2] and y.shape[-1] * y.shape[-2] <= LARGEST
    return swapped and small and (alone or uses[y] >= SEVERAL)
