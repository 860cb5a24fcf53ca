"""Sums of arrays that are zero but for one row each, as loops over `x[t]` leave them in backward programs, or for a
part of a row, as those over `x[t, 0]` do: the rows put together.

Guarantee: the values are those before, but for the signs of zeros.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import reduce
from itertools import pairwise
from operator import itemgetter
from typing import Any

from srcdiff.core.builder import Builder, rebuild
from srcdiff.core.program import Node, Program
from srcdiff.index import Index, Slice
from srcdiff.ops.elementwise import add
from srcdiff.ops.indexing import scatter
from srcdiff.ops.shaping import stack
from srcdiff.transform.identity import made_by

LEAST = 4  # rows
#: places, and the terms that put something there
_Rows = list[tuple[int, Node]]


def gathered(program: Program) -> Program:
    """The program with such sums as `np.stack` of the rows, in the place of these rows."""
    nodes = program.nodes()
    if not any(made_by(node, "scatter") for node in nodes):
        return program
    counts = Counter(x for node in nodes for x in node.operands)
    counts.update(out for out in program.outputs if out is not None)
    sums: dict[Node, tuple[list[_Rows], list[Node]]] = {}
    inside: set[Node] = set()
    for top in reversed(nodes):
        if made_by(top, "add") and top not in inside:
            members, terms = _terms(top, counts)
            inside.update(members)
            groups: dict[Any, _Rows] = {}
            for term in terms:
                if counts[term] == 1 and (found := _row(term)) is not None:
                    place, rest = found
                    groups.setdefault((rest, term.operands[0].aval), []).append((place, term))
            rows = [sorted(each, key=itemgetter(0)) for each in groups.values() if len(each) >= LEAST]
            rows = [each for each in rows if _next_to_each_other(each)]
            if rows:
                together = {term for each in rows for _, term in each}
                sums[top] = rows, [term for term in terms if term not in together]
    if not sums:
        return program
    new: dict[Node, Node] = {}

    def put_together(builder: Builder, node: Node, operands: tuple[Node, ...]) -> Node | None:
        new.update(zip(node.operands, operands, strict=True))
        if node not in sums:
            return None
        rows, others = sums[node]
        return reduce(add, [*(_together(each, new) for each in rows), *(new[term] for term in others)])

    return rebuild(program, put_together)


def _terms(top: Node, counts: Mapping[Node, int]) -> tuple[list[Node], list[Node]]:
    """The additions of a sum, and its terms."""
    members, terms, waiting = [], [], [top]
    while waiting:
        node = waiting.pop()
        if node is top or (made_by(node, "add") and counts[node] == 1 and node.aval is top.aval):
            members.append(node)
            waiting.extend(node.operands)
        else:
            terms.append(node)
    return members, terms


def _row(term: Node) -> tuple[int, tuple[Any, ...]] | None:
    """Which row of zeros this puts a value in, and what part of it; None if it does something else."""
    if not made_by(term, "scatter") or len(term.operands) != 1:
        return None
    place, *rest = term.kwargs["index"].parts
    if type(place) is not int or not all(type(part) in (int, Slice) for part in rest):
        return None
    return place if place >= 0 else place + int(term.shape[0]), tuple(rest)


def _next_to_each_other(rows: _Rows) -> bool:
    """Whether these are different rows, with none missing between them."""
    return all(above - below == 1 for (below, _), (above, _) in pairwise(rows))


def _together(rows: _Rows, new: Mapping[Node, Node]) -> Node:
    """Their sum."""
    (first, one), count = rows[0], len(rows)
    _, *rest = one.kwargs["index"].parts
    values: Node = stack(*(new[term.operands[0]] for _, term in rows), axis=0)
    if count == one.shape[0] and not rest:
        return values
    part = Slice(first or None, first + count if first + count < one.shape[0] else None, None)
    return scatter(values, index=Index((part, *rest), bool(rest), True), shape=one.shape, unique=True)  # type: ignore[no-any-return]
