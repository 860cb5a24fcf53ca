"""Lifetimes of the values of a program, and which memory can be written to again.

Guarantees: memory is reused only if it was allocated by an earlier step, its value and all views of it are dead, no
output may share it, and it has the very aval of the new value; inputs are never written to.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from srcdiff.core.program import Node


@dataclass(frozen=True, eq=False, slots=True)
class Step:
    """One statement: what it defines and reads, and what becomes of memory.

    `memory` is the value whose memory the new one lives in: itself if it is new, another one for a view or an
    update in place. `fresh` says that a new array is allocated, `writable` that the step could write its result
    into given memory.
    """

    defines: Node
    reads: tuple[Node, ...]
    memory: Node
    fresh: bool
    writable: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """For each step: the value whose memory it writes into (None: new memory), and the values to delete after it."""

    into: tuple[Node | None, ...]
    deleted: tuple[tuple[Node, ...], ...]


def schedule(
    steps: Sequence[Step], outputs: Collection[Node], smallest: int, again: bool = False, light: int | None = None
) -> Plan:
    """Reuse and deletion of memory of at least `smallest` bytes. `again`: after the last step comes the first one.

    Smaller arrays of at least `light` bytes are deleted as well, before memory of `smallest` bytes is allocated.
    """
    root = roots(steps)
    last = last_uses(steps, root)
    kept = {root.get(out, out) for out in outputs}
    owned = {step.defines for step in steps if step.fresh and size_of(step.defines) >= smallest}
    place: dict[Node, Node] = {}  # for each owned value the first one that lived in its memory
    holder: dict[Node, Node] = {}  # for each such memory the owned value that lives in it
    free: dict[Node, int] = {}  # memory that nobody reads any more -> since which step
    idle: dict[Any, list[Node]] = {}  # the same by aval, the last one last
    into: list[Node | None] = []
    for k, step in enumerate(steps):
        ending = [value for value in dict.fromkeys(root.get(read, read) for read in step.reads)
                  if value in owned and value not in kept and last[value] == k]  # fmt: skip
        chosen = None
        if step.writable and step.defines in owned:
            aval = step.defines.aval
            chosen = next((place[value] for value in ending if value.aval is aval), None)
            if chosen is None and idle.get(aval):
                chosen = idle[aval].pop()
        into.append(None if chosen is None else holder[chosen])
        for value in ending:
            if place[value] is not chosen:
                free[place[value]] = k
                idle.setdefault(value.aval, []).append(place[value])
        if step.defines in owned:
            here = place[step.defines] = step.defines if chosen is None else chosen
            holder[here] = step.defines
            free.pop(here, None)
    deleted = _deletions(steps, root, place, free, smallest, again)
    if light is not None:
        for k, values in _light(steps, root, last, kept, into, light, smallest):
            deleted[k] += values
    return Plan(tuple(into), tuple(map(tuple, deleted)))


def size_of(node: Node) -> int:
    """The bytes of a value."""
    return sum(a.nbytes for a in node.aval) if isinstance(node.aval, tuple) else int(node.aval.nbytes)


def roots(steps: Sequence[Step]) -> dict[Node, Node]:
    """For each value the value that allocated the memory it lives in."""
    root: dict[Node, Node] = {}
    for step in steps:
        base = step.memory
        root[step.defines] = step.defines if base is step.defines else root.get(base, base)
    return root


def last_uses(steps: Sequence[Step], root: dict[Node, Node]) -> dict[Node, int]:
    """For each value that allocated memory the last step that reads anything in it."""
    last: dict[Node, int] = {}
    for k, step in enumerate(steps):
        last[root[step.defines]] = k
        for read in step.reads:
            last[root.get(read, read)] = k
    return last


def _deletions(
    steps: Sequence[Step],
    root: dict[Node, Node],
    place: dict[Node, Node],
    free: dict[Node, int],
    smallest: int,
    again: bool,
) -> list[list[Node]]:
    """Memory that stays free is given back, if a later step needs as much; under all names it has."""
    final = max((k for k, step in enumerate(steps) if size_of(step.defines) >= smallest), default=-1)
    final = len(steps) if again else final
    values: dict[Node, list[Node]] = {}
    for step in steps:
        here = place.get(root[step.defines])
        if here in free:
            values.setdefault(here, []).append(step.defines)
    deleted: list[list[Node]] = [[] for _ in steps]
    for here, k in free.items():
        if k < final:
            deleted[k] += values[here]
    return deleted


def _light(
    steps: Sequence[Step], root: dict[Node, Node], last: dict[Node, int], kept: Collection[Node],
    into: Sequence[Node | None], least: int, most: int,
) -> Iterator[tuple[int, list[Node]]]:  # fmt: skip
    """Small values that are dead when large memory is allocated, and the step before that."""
    names: dict[Node, list[Node]] = {}
    for step in steps:
        if type(step.defines.aval) is not tuple:
            names.setdefault(root[step.defines], []).append(step.defines)
    allocating = [k for k, step in enumerate(steps) if step.memory is step.defines and into[k] is None
                  and size_of(step.defines) >= most and type(step.defines.aval) is not tuple]  # fmt: skip
    for value, called in names.items():
        k = bisect_right(allocating, last[value])
        if least <= size_of(value) < most and value not in kept and value in called and k < len(allocating):
            yield allocating[k] - 1, called
