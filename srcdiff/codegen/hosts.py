"""What a loop goes through is made in the memory of what it leaves: `np.matmul(x, W, out=h[1:])` before a loop that
fills h[1], h[2] and so on, if each element is read just before the one in its place is written.

Guarantee: nothing else reads the values that are made there, and they have the place of the elements that take theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from srcdiff.codegen.elements import is_loop, stacks_of, written_over
from srcdiff.codegen.emit import _ufunc
from srcdiff.codegen.statements import Statement
from srcdiff.core.loop import Loop
from srcdiff.core.program import Node


@dataclass(frozen=True, slots=True)
class Guest:
    """A value that is made in the memory of an array that a loop fills; `over` the one before it there, if any."""

    host: Node
    over: Node | None


def guests(
    statements: Sequence[Statement], items: Mapping[Node, Sequence[Node]], read: Mapping[Node, int]
) -> dict[Node, Guest]:
    """The values that loops go through which can be made so, and what these are made of."""
    found: dict[Node, Guest] = {}
    defined = {each.node for each in statements if each.onto is None}
    for loop in (each.node for each in statements if is_loop(each.node)):
        spec: Loop = loop.kwargs["spec"]
        for host in stacks_of(loop, items):
            if spec.kept[host.kwargs["k"] - len(spec.carried)].initial is None:
                continue  # of one length, so that `schedule` finds it
            here = written_over(loop, host)
            while here is not None and here in defined and read[here] == 1 and here not in found and _writable(here):
                below = next((x for x in here.operands if _continues(x, here, defined, read)), None)
                found[here] = Guest(host, below)
                here = below
    return found


def _continues(x: Node, node: Node, defined: set[Node], read: Mapping[Node, int]) -> bool:
    """Whether the value can be written over this operand."""
    assert node.prim is not None
    return bool(node.prim.elementwise and x in defined and x.aval is node.aval and read[x] == 1 and _writable(x))


def _writable(x: Node) -> bool:
    assert x.prim is not None
    return x.prim.name == "matmul" or (x.prim.elementwise and _ufunc(x) is not None)
