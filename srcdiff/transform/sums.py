"""Long sums of like terms, as loops leave them in backward programs: `g_W` is the sum of `x_t.T @ g_t` over all t.

Guarantees: a `Chain` is a sum of at least `LEAST` terms whose partial sums nothing else reads; the sum over an
iteration's axis that takes its place adds the same terms, in another order.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Any

from srcdiff.core.program import Node
from srcdiff.ops.einsum import einsum
from srcdiff.ops.elementwise import mul
from srcdiff.ops.linalg import matmul
from srcdiff.ops.structural import reshape, sum_to, transpose
from srcdiff.transform.identity import made_by

LEAST = 4
_SMALL = 1024  # elements of products that are better added up after a loop than in it


@dataclass(frozen=True, eq=False, slots=True)
class Chain:
    """A sum: its last addition, all its additions, and its terms in order."""

    top: Node
    members: tuple[Node, ...]
    terms: tuple[Node, ...]


def chains(nodes: Sequence[Node], users: Mapping[Node, Sequence[Node]], outputs: Collection[Node]) -> list[Chain]:
    """The sums whose terms could be added up all at once after a loop."""
    found: list[Chain] = []
    inside: set[Node] = set()
    for top in reversed(nodes):
        if top in inside or not made_by(top, "add") or top.shape == ():
            continue
        members, terms = [top], []
        here = top
        while True:
            a, b = here.operands
            before = next((x for x in (a, b) if _continues(x, top, users, outputs)), None)
            if before is None:
                terms += [b, a]
                break
            terms.append(b if before is a else a)
            members.append(before)
            here = before
        inside.update(members)
        if sum(_adds_up(term, users) for term in terms) >= LEAST and all(term.aval is top.aval for term in terms):
            found.append(Chain(top, tuple(members), tuple(reversed(terms))))
    return found


def _continues(x: Node, top: Node, users: Mapping[Node, Sequence[Node]], outputs: Collection[Node]) -> bool:
    return made_by(x, "add") and len(users[x]) == 1 and x.aval is top.aval and x not in outputs


def _adds_up(term: Node, users: Mapping[Node, Sequence[Node]]) -> bool:
    """Whether the sum of such terms is one operation on stacks of what they are made of."""
    if term.prim is None:
        return False
    if len(users[term]) == 1:
        return is_product(term) or is_outer(term) or is_elementwise(term) or made_by(term, "sum_to")
    return term.prim.elementwise


def is_product(term: Node) -> bool:
    """x @ y of matrices."""
    return made_by(term, "matmul") and all(x.ndim == 2 for x in term.operands)


def is_outer(term: Node) -> bool:
    """x[:, None] * y of vectors; x may be a column itself."""
    if not made_by(term, "mul") or term.ndim != 2:
        return False
    x, y = term.operands
    return x.shape == (term.shape[0], 1) and y.ndim == 1


def is_elementwise(term: Node) -> bool:
    """x * y of small arrays of one shape, which take less time than calling NumPy for them."""
    return made_by(term, "mul") and all(x.aval is term.aval for x in term.operands) and term.aval.size <= _SMALL


def sum_of_products(x: Any, x_turned: bool, y: Any, y_turned: bool) -> Any:
    """The sum of x_t @ y_t over the first axis of two stacks; of x_t.T or y_t.T where turned."""
    k, n = x.shape[0], x.shape[1 if not x_turned else 2]
    left = transpose(reshape(x, shape=(k * x.shape[1], n)), axes=(1, 0)) if x_turned else (
        reshape(transpose(x, axes=(1, 0, 2)), shape=(n, k * x.shape[2]))
    )  # fmt: skip
    right = transpose(y, axes=(0, 2, 1)) if y_turned else y
    return matmul(left, reshape(right, shape=(k * right.shape[1], right.shape[2])))


def sum_of_outers(x: Any, y: Any) -> Any:
    """The sum of x_t[:, None] * y_t over the first axis of two stacks of vectors; the first perhaps of columns."""
    x = reshape(x, shape=x.shape[:2]) if x.ndim == 3 else x
    return matmul(transpose(x, axes=(1, 0)), y)


def sum_of_elementwise(x: Any, y: Any) -> Any:
    """The sum of x_t * y_t over the first axis of two stacks."""
    letters = ascii_lowercase[: x.ndim]
    return einsum(x, y, spec=f"{letters},{letters}->{letters[1:]}", optimize=False)


__all__ = [
    "Chain", "chains", "is_elementwise", "is_outer", "is_product", "mul", "sum_of_elementwise", "sum_of_outers",
    "sum_of_products", "sum_to",
]  # fmt: skip
