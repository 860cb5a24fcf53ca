"""Steps on long arrays, done on some thousand rows at a time, so that what is in between stays in the cache.

    y = np.exp(x) * x             for rows in blocks:
    total = np.sum(y)                 part, y[rows] = step_on_rows(x[rows]); total += part

Guarantees: elements are computed by the same operations, so they have the same bits; sums over rows are added up
block by block. Only programs are changed in which, between the inputs and the sums, all work on rows is elementwise.
"""

from __future__ import annotations

from collections.abc import Sequence

from srcdiff.aval import aval
from srcdiff.core.block import Blocks
from srcdiff.core.builder import Builder, item, rename, suggest
from srcdiff.core.program import Node, Program
from srcdiff.ops.families import normalize_axes
from srcdiff.ops.loops import blocks
from srcdiff.transform.identity import made_by
from srcdiff.transform.names import stem

LEAST_BYTES = 1 << 20  # of the longest arrays; shorter ones stay in the cache as they are
LEAST_OPERATIONS = 6
MOST_OUTSIDE = 40  # operations without rows; where there are more, other passes have more to do
BLOCK_BYTES = range(24 << 10, 96 << 10)  # of one array's rows in a block


def in_blocks(program: Program) -> Program:
    """The program with its work on rows done in blocks, or the program itself where that can't be or doesn't pay."""
    nodes = program.nodes()
    largest = max((node for node in nodes if _is_array(node)), key=lambda node: node.aval.nbytes, default=None)
    if largest is None or largest.aval.nbytes < LEAST_BYTES:
        return program
    rows = largest.shape[0]
    size = block_size(rows, largest.aval.nbytes // rows)
    found = _stages(program, nodes, rows)
    if size is None or found is None:
        return program
    done = [node for node in nodes if node.prim is not None]
    inside = sum(node in found.rowwise for node in done)
    if inside < LEAST_OPERATIONS or len(done) - inside - len(found.sums) > MOST_OUTSIDE:
        return program
    return _Blocked(program, nodes, found, rows, size).program()


def block_size(rows: int, row_bytes: int) -> int | None:
    """The largest divisor of `rows` that gives blocks of a good size."""
    fewest, most = rows * row_bytes // BLOCK_BYTES.stop + 1, rows * row_bytes // BLOCK_BYTES.start
    return next((rows // count for count in range(fewest, min(most, rows) + 1) if rows % count == 0), None)


def _is_array(node: Node) -> bool:
    return not node.is_literal and type(node.aval) is not tuple and node.shape != ()


class _Stages:
    """What has rows, the sums over them, and what needs those sums."""

    def __init__(self) -> None:
        self.rowwise: dict[Node, None] = {}
        self.sums: dict[Node, None] = {}
        self.after: dict[Node, None] = {}


def _stages(program: Program, nodes: Sequence[Node], rows: int) -> _Stages | None:
    found = _Stages()
    for node in nodes:
        if any(operand in found.sums or operand in found.after for operand in node.operands):
            if any(operand in found.rowwise for operand in node.operands):
                return None
            found.after[node] = None
        elif any(operand in found.rowwise for operand in node.operands):
            if _adds_up_rows(node):
                found.sums[node] = None
            elif _keeps_rows(node, found.rowwise, rows):
                found.rowwise[node] = None
            else:
                return None
        elif node.is_input and _is_array(node) and node.shape[0] == rows and node.ndim == _ndim(program, rows):
            found.rowwise[node] = None
    return found


def _ndim(program: Program, rows: int) -> int:
    return max((node.ndim for node in program.nodes() if _is_array(node) and node.shape[0] == rows), default=0)


def _keeps_rows(node: Node, rowwise: dict[Node, None], rows: int) -> bool:
    """Whether each row of an elementwise operation's result comes from the same row of the operands that have rows."""
    if node.prim is None or not node.prim.elementwise or node.shape[:1] != (rows,):
        return False
    for operand in node.operands:
        if operand in rowwise:
            if operand.ndim != node.ndim:
                return False
        elif not operand.is_literal and operand.ndim == node.ndim and operand.shape[0] != 1:
            return False
    return True


def _adds_up_rows(node: Node) -> bool:
    (x, *_) = node.operands
    if made_by(node, "sum"):
        return 0 in normalize_axes(node.kwargs["axis"], x.ndim)
    return made_by(node, "sum_to") and (node.ndim < x.ndim or node.shape[0] == 1)


class _Blocked:
    """The new program as it grows."""

    def __init__(self, program: Program, nodes: Sequence[Node], found: _Stages, rows: int, size: int) -> None:
        self.old, self.nodes, self.found = program, nodes, found
        self.rows, self.size = rows, size
        self.builder = Builder()
        self.new = {node: self.builder.input(node.aval, node.name, node.source) for node in program.inputs}

    def program(self) -> Program:
        """Work that needs no rows first, then the blocks, then what needs their sums."""
        found = self.found
        for node in self.nodes:
            if node not in found.rowwise and node not in found.sums and node not in found.after:
                _copy(node, self.new, self.builder)
        outputs = [*found.sums, *self._results()]
        body, operands, cut = self._body(outputs)
        spec = Blocks(body, self.rows, self.size, cut, len(found.sums))
        self.builder.source = next(node for node in found.rowwise if node.prim is not None).source
        made = self.builder.emit(blocks, tuple(self.new[x] for x in operands), {"spec": spec})
        for k, node in enumerate(outputs):
            result = item(made, k)
            self.new[node] = rename(result, node.name) if node.name else suggest(result, node.hint or "total")
        for node in found.after:
            _copy(node, self.new, self.builder)
        outs = tuple(None if out is None else self.new[out] for out in self.old.outputs)
        return Program(self.old.name, tuple(self.new[node] for node in self.old.inputs), outs)

    def _results(self) -> list[Node]:
        """Outputs that have rows, each once."""
        wanted = dict.fromkeys(out for out in self.old.outputs if out in self.found.rowwise)
        return [out for out in wanted if out is not None and out.prim is not None]

    def _body(self, outputs: Sequence[Node]) -> tuple[Program, list[Node], tuple[bool, ...]]:
        builder = Builder()
        new: dict[Node, Node] = {}
        operands: list[Node] = []
        inside = {*self.found.rowwise, *self.found.sums}
        for node in self.nodes:
            if node not in inside:
                continue
            for x in (node, *node.operands) if node.prim is not None else (node,):
                enters = x.is_input or (x not in inside and not x.is_literal)
                if enters and x not in new:
                    rowwise = x in self.found.rowwise
                    shape = (self.size, *x.shape[1:]) if rowwise else x.shape
                    kind = aval(shape, x.dtype) if rowwise else x.aval
                    new[x] = builder.input(kind, stem(x), x.source)
                    operands.append(x)
                elif x.is_literal:
                    new[x] = builder.literal(x.literal)
            if node.prim is not None:
                _copy(node, new, builder)
        body = Program(f"{self.old.name}_on_rows", tuple(new[x] for x in operands), tuple(new[x] for x in outputs))
        return body, operands, tuple(x in self.found.rowwise for x in operands)


def _copy(node: Node, new: dict[Node, Node], builder: Builder) -> None:
    if node in new:
        return
    if node.prim is None:
        new[node] = builder.literal(node.literal)
        return
    builder.source = node.source
    made = builder.emit(node.prim, tuple(new[x] for x in node.operands), node.kwargs)
    if node.hint:
        suggest(made, node.hint)
    new[node] = rename(made, node.name) if node.name else made
