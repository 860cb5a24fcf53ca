"""Which values of a step live in buffers that are kept from call to call.

Guarantees: a buffer holds only values that nothing outside the step can see: no output lives in it, nor a view of it.
Two values that live in one buffer are those that `schedule` lets share memory. A step with buffers needs hardly more
memory than without: values that come and go, so that others take their place, have none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from typing import Any

import gast

from srcdiff.codegen.template import call, constant, name, store
from srcdiff.core.program import Node
from srcdiff.transform.schedule import Plan, Step, last_uses, roots, size_of

SLACK = 8


def buffered(
    steps: Sequence[Step], plan: Plan, outputs: Collection[Node], able: Collection[Node], smallest: int
) -> dict[Node, Node]:
    """For each value that lives in a buffer, the first one that does. `able` are those that can be written there."""
    place: dict[Node, Node] = {}
    root: dict[Node, Node] = {}
    for step, into in zip(steps, plan.into, strict=True):
        base = step.memory
        root[step.defines] = step.defines if base is step.defines else root.get(base, base)
        if step.fresh:
            place[step.defines] = step.defines if into is None else place[into]
    seen = {place.get(here, here) for here in (root.get(out, out) for out in outputs)}
    return {
        value: first
        for value, first in place.items()
        if first in able and first.aval.nbytes >= smallest and first not in seen
    }


def affordable(
    steps: Sequence[Step], plan: Plan, outputs: Collection[Node], buffers: Mapping[Node, Node]
) -> dict[Node, Node]:
    """All buffers, if a step with them needs more memory at once than if each value is freed after its use by no more
    than one part in `SLACK`; else those with which it needs no more, without those used for the shortest time.
    """
    root = roots(steps)
    last = last_uses(steps, root)
    place: dict[Node, Node] = {}
    for step, into in zip(steps, plan.into, strict=True):
        if step.memory is step.defines:
            place[step.defines] = step.defines if into is None else place[into]
    born: dict[Node, int] = {}
    gone: dict[Node, int] = {}
    kept = {root.get(out, out) for out in outputs}
    for k, step in enumerate(steps):
        if step.defines in place:
            born.setdefault(place[step.defines], k)
    for value, here in place.items():
        gone[here] = max(gone.get(here, 0), len(steps) if value in kept else last[value])

    def peak(lent: Collection[Node]) -> int:
        change = [0] * (len(steps) + 2)
        for here in born.keys() - lent:
            change[born[here]] += size_of(here)
            change[gone[here] + 1] -= size_of(here)
        return sum(map(size_of, lent)) + max(accumulate(change))

    most = peak(())
    if SLACK * peak(set(buffers.values())) <= (SLACK + 1) * most:
        return dict(buffers)
    longest = sorted(set(buffers.values()), key=lambda here: born[here] - gone[here])
    few, many = 0, len(longest) + 1  # with `few` it fits, with `many` it may not
    while many - few > 1:
        count = (few + many) // 2
        if peak(set(longest[:count])) <= most:
            few = count
        else:
            many = count
    lent = set(longest[:few])
    return {value: first for value, first in buffers.items() if first in lent}


def declaration(arena: str, firsts: Sequence[Node]) -> Any:
    """`buffers = rt.Arena(((1000, 10), np.float64), ...)`, one for each buffer."""
    types = [gast.Tuple([constant(node.shape), constant(node.dtype)], gast.Load()) for node in firsts]
    return gast.Assign([store(arena)], call("rt.Arena", *types), None)


def taking(arena: str, lent: str, labels: Sequence[str]) -> Any:
    """`buffer_1, buffer_2 = lent = buffers.take()`."""
    names = gast.Tuple([store(label) for label in labels], gast.Store())
    return gast.Assign([names, store(lent)], call(f"{arena}.take"), None)


def giving(arena: str, lent: str) -> Any:
    """`buffers.give(lent)`."""
    return gast.Expr(call(f"{arena}.give", name(lent)))
