"""Sums of arrays that are zero but for one row each, as loops over `x[t]` leave them in backward programs, or for a
part of a row, as those over `x[t, 0]` do: the rows put together.

Guarantee: the values are those before, but for the signs of zeros.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from srcdiff.core.builder import Builder, rebuild
from srcdiff.core.program import Node, Program
from srcdiff.index import Index, Slice
from srcdiff.ops.elementwise import add
from srcdiff.ops.indexing import scatter
from srcdiff.ops.shaping import stack
from srcdiff.transform.identity import made_by

LEAST = 4  # rows


def gathered(program: Program) -> Program:
    """The program with such sums as `np.stack` of the rows, in the place of these rows."""
    nodes = program.nodes()
    if not any(made_by(node, "scatter") for node in nodes):
        return program
    counts: dict[Node, int] = {}
    for x in (*(x for node in nodes for x in node.operands), *(out for out in program.outputs if out is not None)):
        counts[x] = counts.get(x, 0) + 1
    sums: dict[Node, tuple[list[list[Node]], list[Node]]] = {}
    inside: set[Node] = set()
    for top in reversed(nodes):
        if made_by(top, "add") and top not in inside:
            members, terms = _terms(top, counts)
            inside.update(members)
            groups: dict[Any, list[Node]] = {}
            for term in terms:
                found = _row(term) if counts[term] == 1 else None
                groups.setdefault(None if found is None else (found[1:], term.operands[0].aval), []).append(term)
            rows = [each for key, each in groups.items() if key and len(each) >= LEAST and _next_to_each_other(each)]
            if rows:
                together = {term for each in rows for term in each}
                sums[top] = rows, [term for term in terms if term not in together]
    if not sums:
        return program
    new: dict[Node, Node] = {}

    def put_together(builder: Builder, node: Node, operands: tuple[Node, ...]) -> Node | None:
        new.update(zip(node.operands, operands, strict=True))
        if node not in sums:
            return None
        rows, others = sums[node]
        parts = [*(_together(each, new) for each in rows), *(new[term] for term in others)]
        return reduce(add, parts)

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


def _row(term: Node) -> tuple[Any, ...] | None:
    """Which row of zeros this puts a value in, and what part of it; None if it does something else."""
    if not made_by(term, "scatter") or len(term.operands) != 1:
        return None
    place, *rest = term.kwargs["index"].parts
    if type(place) is not int or not all(type(part) in (int, Slice) for part in rest):
        return None
    return place if place >= 0 else place + term.shape[0], *rest


def _place(term: Node) -> int:
    found = _row(term)
    assert found is not None
    return int(found[0])


def _next_to_each_other(rows: Sequence[Node]) -> bool:
    """Whether these are different rows, with none missing between them."""
    places = sorted(map(_place, rows))
    return places == list(range(places[0], places[0] + len(places)))


def _together(rows: Sequence[Node], new: Mapping[Node, Node]) -> Node:
    """Their sum."""
    ordered = sorted(rows, key=_place)
    first, count, shape = _place(ordered[0]), len(ordered), ordered[0].shape
    values: Node = stack(*(new[row.operands[0]] for row in ordered), axis=0)
    _, *rest = _row(ordered[0]) or ()
    if count == shape[0] and not rest:
        return values
    part = Slice(first or None, first + count if first + count < shape[0] else None, None)
    return scatter(values, index=Index((part, *rest), bool(rest), True), shape=shape, unique=True)  # type: ignore[no-any-return]
