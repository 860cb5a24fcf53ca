"""Decides which values of a program get a statement, and which are written into the expression that uses them.

Guarantees: a value used once, and not named by the user, is written where it is used while that line stays
readable; every other value has one statement; the statements stand in an order in which each reads only what is
defined above it. A sum of many terms, or of terms that are zero but at an index, is accumulated in one variable,
term by term.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import gast

from srcdiff.codegen.template import expression
from srcdiff.core.primitive import Primitive
from srcdiff.core.program import Node, Program
from srcdiff.transform.names import stem

MOST_OPERATORS = 7
WIDTH = 88  # of an expression; the line has an indent and a name as well
DEEPEST = 16
LONG_SUM = 5  # terms of a sum that is accumulated in a variable
SMALL = 1024  # elements; up to here an operation costs little more than calling it
LARGE = 128 * 1024  # bytes; from here on a fresh temporary costs more than the arithmetic on it


@dataclass(frozen=True, eq=False, slots=True)
class Statement:
    """`variable = expression` for a node; or, if `onto` is a statement above, `variable += term` on its variable.

    `reads` are the named values that the expression mentions; `term` is the operand that is added.
    """

    node: Node
    reads: tuple[Node, ...]
    onto: Statement | None = None
    term: Node | None = None
    label: str = ""


@dataclass(frozen=True, slots=True)
class _Pending:
    """A value without a statement so far: what writing it out costs."""

    operators: int
    width: int
    depth: int
    reads: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class _Shape:
    """What an expression adds around its operands, and the places of those it mentions more than once."""

    operators: int
    width: int
    repeated: frozenset[int]


@cache
def _shape(prim: Primitive) -> _Shape:
    tree = expression(prim)
    counted = (gast.BinOp, gast.UnaryOp, gast.Call, gast.Compare, gast.Subscript)
    operators = sum(isinstance(part, counted) for part in gast.walk(tree))
    if prim.name in ("transpose", "item", "getitem"):
        operators = 0
    mentioned: dict[str, int] = {}
    for part in gast.walk(tree):
        if isinstance(part, gast.Name):
            mentioned[part.id] = mentioned.get(part.id, 0) + 1
    width = len(prim.expr) - sum(len(arg) for arg in prim.args)
    if prim.name in ("transpose", "reshape"):
        width = 6
    repeated = frozenset(k for k, arg in enumerate(prim.args) if mentioned.get(arg, 0) > 1)
    return _Shape(min(operators, 2), width, repeated)


class _Partition:
    """The state of one pass over a program."""

    def __init__(self, program: Program, buffers: bool, products: bool, large: int, exact: bool) -> None:
        self.large = large
        self.exact = exact
        self.nodes = program.nodes()
        self.buffers = buffers
        self.products = products
        self.uses: dict[Node, int] = {}
        for node in self.nodes:
            for operand in node.operands:
                self.uses[operand] = self.uses.get(operand, 0) + 1
        self.outputs = {out for out in program.outputs if out is not None}
        self.named: set[Node] = set()
        for node in self.nodes:
            if node.prim is None:
                continue
            if self._needs_name(node):
                self.named.add(node)
            if _is_free(node) and node.operands[0].prim is not None and self.uses.get(node, 0) > 1:
                self.named.add(node.operands[0])
            self.named.update(node.operands[k] for k in _shape(node.prim).repeated)
            if node.prim.name == "blocks":  # its operands are read again for every block
                self.named.update(x for x in node.operands if x.prim is not None)
        self.pending: dict[Node, _Pending] = {}
        #: scatters that are added to a variable
        self.terms: set[Node] = set()
        self.chains = self._chains()
        self.begun: dict[Node, Statement] = {}
        self.statements: list[Statement] = []

    def _needs_name(self, node: Node) -> bool:
        prim = node.prim
        assert prim is not None
        if prim.name == "item":
            return True
        if node in self.outputs or prim.multi or node.name is not None or prim.name == "scatter":
            return True
        placed = prim.elementwise or (self.products and prim.name == "matmul")
        if self.buffers and placed and node.aval.nbytes >= self.large:
            return True
        if self.uses[node] == 2 and self._restated(node):
            return False
        return self.uses[node] > 1 and not _is_free(node)

    def _restated(self, node: Node) -> bool:
        """Whether a value used twice is better written twice, as `1 - p`: one cheap operation with a literal."""
        assert node.prim is not None
        if node.prim.name not in ("add", "sub") or node.aval.size > SMALL:
            return False
        rest = [x for x in node.operands if not x.is_literal]
        return len(rest) == 1 and (rest[0].prim is None or rest[0] in self.named)

    # ------------------------------------------------------------------------------------------------- accumulation

    def _chains(self) -> dict[Node, tuple[Node, Node | None]]:
        """For each member of a sum that is accumulated: its last sum, and the operand that is the sum so far."""
        chains: dict[Node, tuple[Node, Node | None]] = {}
        weight = self._whole_weights()
        for top in reversed(self.nodes):
            if top in chains or not _adds(top):
                continue
            members: list[tuple[Node, Node]] = []
            here = top
            while _adds(here):
                before = next((x for x in here.operands if self._grows(x, here)), None)
                if before is None:
                    break
                members.append((here, before))
                here = before
            terms = [x for member, before in members for x in member.operands if x is not before]
            # a scatter that the sum broadcasts is a value of its own: it has other elements than the sum
            scatters = [
                x for x in terms
                if self._adds_at(x) and x.aval is top.aval and self.uses[x] == 1 and x not in self.outputs
            ]  # fmt: skip
            long = len(members) >= LONG_SUM or weight[top] > MOST_OPERATORS
            if not members or not (scatters or _scatters(here) or long):
                continue
            self.terms.update(scatters)
            chains[here] = (top, None)
            for member, before in members:
                chains[member] = (top, before)
        return chains

    def _adds_at(self, term: Node) -> bool:
        """Whether a term is added where its index says. Entries that meet would be added one by one to what is there,
        not first to each other.
        """
        return _scatters(term) and not (self.exact and not term.kwargs["unique"])

    def _grows(self, x: Node, total: Node) -> bool:
        """Whether the variable of x may become that of the sum: nothing else reads x, and it is a new array."""
        if x.prim is None or self.uses[x] != 1 or x.aval is not total.aval or x in self.outputs:
            return False
        if x.name is not None and x.name != total.name:
            return False
        return _adds(x) or _scatters(x) or x.prim.name == "matmul"

    def _whole_weights(self) -> dict[Node, int]:
        """Operators of each value's expression if all that may be written into it is."""
        weights: dict[Node, int] = {}
        for node in self.nodes:
            if node.prim is not None:
                inner = sum(0 if x in self.named or x.prim is None else weights[x] for x in node.operands)
                weights[node] = _shape(node.prim).operators + inner
        return weights

    # --------------------------------------------------------------------------------------------------- statements

    def run(self) -> list[Statement]:
        for node in self.nodes:
            if node.prim is None or node.prim.name == "item":
                continue
            if node in self.chains:
                self._accumulate(node)
            elif node in self.named and node not in self.terms:
                self._define(node)
            else:
                self.pending[node] = self._cost(node)
        return self.statements

    def _accumulate(self, node: Node) -> None:
        top, before = self.chains[node]
        label = stem(top)
        if before is None:
            statement = Statement(node, self._cost(node).reads, label=label)
        else:
            term = next(x for x in node.operands if x is not before)
            reads = self.pending[term].reads if term in self.pending else (term,) if not term.is_literal else ()
            statement = Statement(node, (before, *reads), self.begun[before], term, label)
        self.begun[node] = statement
        self.named.add(node)
        self.statements.append(statement)

    def _define(self, node: Node) -> None:
        self.named.add(node)
        statement = Statement(node, self._cost(node).reads, label=stem(node))
        self.pending.pop(node, None)
        self.statements.append(statement)

    def _cost(self, node: Node) -> _Pending:
        """What the expression of a node costs, after the heaviest operands have got statements if it is too long."""
        assert node.prim is not None
        around = _shape(node.prim)
        inline = [x for x in dict.fromkeys(node.operands) if x in self.pending]
        while True:
            costs = [self.pending[x] for x in inline]
            operators = around.operators + sum(cost.operators for cost in costs)
            width = around.width + sum(self._width(x) for x in node.operands)
            depth = 1 + max((cost.depth for cost in costs), default=0)
            if not inline or (operators <= MOST_OPERATORS and width <= WIDTH and depth <= DEEPEST):
                break
            if node.prim.name == "loop":  # each operand has a line of its own
                break
            heaviest = max(inline, key=lambda x: (self.pending[x].operators, self.pending[x].width))
            inline.remove(heaviest)
            self._define(heaviest)
        reads: dict[Node, None] = {}
        for x in node.operands:
            if x in self.pending:
                reads.update(dict.fromkeys(self.pending[x].reads))
            elif not x.is_literal:
                reads[x] = None
        return _Pending(operators, width, depth, tuple(reads))

    def _width(self, x: Node) -> int:
        if x in self.pending:
            return self.pending[x].width + 2
        return len(repr(x.literal)) if x.is_literal else len(stem(x))


def _is_free(node: Node) -> bool:
    """Whether a value is written anew at each use rather than given a name: `x.T`, `x[:, None]`."""
    if node.prim is None or node.prim.name != "reshape":
        return node.prim is not None and node.prim.name in ("transpose", "item")
    have = node.operands[0].shape
    return have != () and 1 not in have and tuple(n for n in node.shape if n != 1) == have


def _adds(node: Node) -> bool:
    return node.prim is not None and node.prim.name == "add" and node.shape != ()


def _scatters(node: Node) -> bool:
    return node.prim is not None and node.prim.name == "scatter"


def partition(
    program: Program, buffers: bool = True, products: bool = False, large: int | None = None, exact: bool = False
) -> list[Statement]:
    """The statements of a program in order. With `buffers`, each operation on a large array gets its own, so that
    it can write into memory that is free again; with `products` each large product of matrices as well. With `exact`
    no sum is added up in another order."""
    made = _Partition(program, buffers, products, LARGE if large is None else large, exact)
    return made.run()
