"""Compiles a long loop as a short one and lengthens the result: the time is that of the short one.

A forward program with a run of n iterations of which nothing but the last is read from outside is the user's
program with a trip count; with a smaller one it is a smaller program of the same form. What is made of it for k, k
+ 1 and k + 2 iterations differs in numbers only: trip counts, sizes of buffers, places in them. If these grow in
steps that are the same twice, they are what they would be for n iterations too.

Guarantee: `Short.program` and `lengthened` give None where anything else differs; then the long program is compiled
as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from srcdiff.aval import Aval, aval
from srcdiff.core.builder import Builder
from srcdiff.core.loop import Loop
from srcdiff.core.program import Node, Program, Source
from srcdiff.index import Slice
from srcdiff.transform.repeat import find_runs
from srcdiff.transform.reroll import TINY, users_of
from srcdiff.transform.runs import Each, Run

LONG = 24  # iterations worth shortening
SHORT = 6


@dataclass(frozen=True, eq=False, slots=True)
class Short:
    """A forward program with runs of equally many iterations that can be left out."""

    whole: Program
    runs: tuple[Run, ...]
    trips: int

    def program(self, trips: int, wrt: Sequence[Node]) -> tuple[Program, list[Node]]:
        """The program with fewer iterations, and what `wrt` is there."""
        left_out: dict[Any, Any] = {
            node: last
            for run in self.runs for node, last in zip(run.rows[-1], run.rows[trips - 1], strict=True)
        }  # fmt: skip
        skipped = {node for run in self.runs for row in run.rows[trips:] for node in row}
        builder = Builder()
        new: dict[Node, Node] = {node: builder.input(node.aval, node.name, node.source) for node in self.whole.inputs}
        for node in self.whole.nodes():
            if node in new or node in skipped:
                continue
            builder.source = node.source
            if node.prim is None:
                new[node] = builder.literal(node.literal)
            else:
                operands = tuple(new[left_out.get(x, x)] for x in node.operands)
                new[node] = builder.opaque(node.prim, operands, node.kwargs, node.aval, node.name)
        outputs = tuple(None if out is None else new[left_out.get(out, out)] for out in self.whole.outputs)
        return Program(self.whole.name, tuple(new[x] for x in self.whole.inputs), outputs), [new[x] for x in wrt]


def shortened(program: Program, wrt: Sequence[Node]) -> Short | None:
    """How to shorten a program, if it has a long loop that can be."""
    nodes = program.nodes()
    if len(nodes) < LONG:
        return None
    users = users_of(program, nodes)
    runs = find_runs([node for node in nodes if node.prim is not None], users, ())
    trips = max(
        (run.trips for run in runs), default=0, key=lambda n: sum(len(r.sample) * n for r in runs if r.trips == n)
    )
    long = tuple(run for run in runs if run.trips == trips and _can_be_cut(run, users, program, wrt))
    if trips < LONG or not long:
        return None
    numbers = [run for run in runs if all(type(node.aval) is not tuple and node.shape == () for node in run.sample)]
    if any(run.trips <= TINY for run in numbers):
        return None
    return Short(program, long, trips)


def _can_be_cut(run: Run, users: dict[Node, list[Node]], program: Program, wrt: Sequence[Node]) -> bool:
    """Whether iterations read only themselves, the one before and what is outside, and only the last is read there."""
    if any(node is None for node in run.rows[-1]):
        return False
    if any(type(kind) is Each for j in range(len(run.operands)) for kind in run.kinds(j)):
        return False
    inside = {node for row in run.rows for node in row if node is not None}
    kept = {*wrt, *(out for out in program.outputs if out is not None)}
    return all(
        node not in kept and all(user in inside for user in users[node])  # type: ignore[index]
        for row in run.rows[:-1] for node in row
    )  # fmt: skip


# --------------------------------------------------------------------------------------------------------- lengthening


class _DifferError(Exception):
    """The programs differ in more than numbers."""


def lengthened(programs: Sequence[Program], steps: int) -> Program | None:
    """What follows `steps` after the first of three programs in a row; None if they do not go on regularly."""
    try:
        return _program(programs, steps)
    except _DifferError:
        return None


def _same(values: Sequence[Any]) -> Any:
    first = values[0]
    if any(type(value) is not type(first) or value != first for value in values[1:]):
        raise _DifferError
    return first


def _program(programs: Sequence[Program], steps: int) -> Program:
    listed = [program.nodes() for program in programs]
    _same([len(nodes) for nodes in listed])
    builder = Builder()
    new: dict[Node, Node] = {}
    numbers: list[dict[Node, int]] = [{} for _ in programs]
    for together in zip(*(program.inputs for program in programs), strict=True):
        first = together[0]
        new[first] = builder.input(
            _grown([x.aval for x in together], steps), _name([x.name for x in together]), first.source
        )
        for known, node in zip(numbers, together, strict=True):
            known[node] = len(known)
    for together in zip(*listed, strict=True):
        first = together[0]
        if first in new:
            if any(node not in known for node, known in zip(together, numbers, strict=True)):
                raise _DifferError
            _same([known[node] for node, known in zip(together, numbers, strict=True)])
            continue
        _same([node.prim for node in together])
        for known, node in zip(numbers, together, strict=True):
            known[node] = len(known)
        if first.prim is None:
            if first.literal is None:
                raise _DifferError
            _same([(type(node.literal), repr(node.literal)) for node in together])
            new[first] = builder.literal(first.literal)
            continue
        _same([tuple(known[x] for x in node.operands) for node, known in zip(together, numbers, strict=True)])
        _same([tuple(key for key, _ in node.params) for node in together])
        params = {
            key: _grown([dict(node.params)[key] for node in together], steps) for key, _ in first.params
        }  # fmt: skip
        types = _grown([node.aval for node in together], steps)
        if first.prim.name == "getitem" and _is_whole(params["index"], new[first.operands[0]]):
            new[first] = new[first.operands[0]]
            continue
        builder.source = _same_source([node.source for node in together])
        made = builder.opaque(
            first.prim, tuple(new[x] for x in first.operands), params, types, _name([x.name for x in together])
        )
        if first.hint:
            object.__setattr__(made, "hint", _name([x.hint for x in together]))
        new[first] = made
    outputs = []
    for each in zip(*(program.outputs for program in programs), strict=True):
        _same([None if out is None else known[out] for out, known in zip(each, numbers, strict=True)])
        outputs.append(None if each[0] is None else new[each[0]])
    return Program(programs[0].name, tuple(new[x] for x in programs[0].inputs), tuple(outputs))


def _is_whole(index: Any, x: Node) -> bool:
    """Whether `x[index]` is all of x: part of a shorter run, but all of the long one."""
    return len(index.parts) == 1 and index.parts[0] in (Slice(None, x.shape[0], None), Slice(0, x.shape[0], None))


def _same_source(sources: Sequence[Source]) -> Source:
    _same([(source.file, source.line) for source in sources])
    return sources[0]


def _name(names: Sequence[str | None]) -> str | None:
    """A name that all share; without its number where that differs."""
    if all(name == names[0] for name in names):
        return names[0]
    stems = {name.rstrip("0123456789").rstrip("_") for name in names if name is not None}
    return min(stems) if len(stems) == 1 and None not in names else None


def _to_the_start(made: Slice) -> Slice:
    """A slice that goes down and has grown as far as to the first element, where -1 would mean the last."""
    if made.step is None or made.step > 0 or made.stop is None or made.stop >= 0:
        return made
    if made.stop < -1:
        raise _DifferError
    return Slice(made.start, None, made.step)


def _grown(values: Sequence[Any], steps: int) -> Any:
    """A value that is the same in all, or whose numbers go on as they began."""
    first = values[0]
    kind = type(first)
    if any(type(value) is not kind for value in values):
        raise _DifferError
    if kind is int:
        step = values[1] - first
        if values[2] - values[1] != step:
            raise _DifferError
        return first + step * steps
    if kind is Aval:
        if all(value is first for value in values):
            return first
        _same([(value.dtype, value.weak) for value in values])
        return aval(_grown([value.shape for value in values], steps), first.dtype)
    if kind is tuple:
        _same([len(value) for value in values])
        return tuple(_grown(parts, steps) for parts in zip(*values, strict=True))
    if kind is Program:
        return _program(values, steps)
    if kind is Loop:
        return Loop(*(
            _grown([getattr(value, name) for value in values], steps)
            for name in ("body", "trips", "reads", "kept", "last", "downwards")
        ))  # fmt: skip
    if is_dataclass(first) and not isinstance(first, type):
        made = kind(*(_grown([getattr(value, f.name) for value in values], steps) for f in fields(first)))
        return _to_the_start(made) if kind is Slice else made
    if isinstance(first, np.dtype):
        return _same(values)
    try:
        return _same(values)
    except ValueError:
        raise _DifferError from None
