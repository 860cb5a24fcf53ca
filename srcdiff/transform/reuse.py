"""A builder for backward programs that takes a forward value instead of computing it again.

Guarantee: only values that exist anyway are taken, so nothing more is saved; `x / y` in the derivative of a
quotient becomes the quotient itself where that was saved by some other operation.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from typing import Any

from srcdiff.core.builder import Builder
from srcdiff.core.primitive import Primitive
from srcdiff.core.program import Node


class ReusingBuilder(Builder):
    """Knows `available` forward values by how they were computed. `value` gives the node here that stands for one."""

    __slots__ = ("_forward", "_stands_for", "_value")

    def __init__(self, available: Collection[Node], value: Callable[[Node], Any]) -> None:
        super().__init__()
        self._forward = {
            (node.prim, tuple(map(_identity, node.operands)), node.params): node
            for node in available
            if node.prim is not None and not node.prim.multi
        }
        self._stands_for: dict[Node, Node] = {}
        self._value = value

    def stands_for(self, here: Node, forward: Node) -> None:
        """Remember which forward value an input is."""
        self._stands_for[here] = forward

    def emit(self, prim: Primitive, operands: tuple[Any, ...], params: dict[str, Any], aval: Any = None) -> Node:
        """The node for `prim(*operands, **params)`, an input if that is a forward value."""
        nodes = tuple(map(self.lift, operands))
        forward = [node if node.is_literal else self._stands_for.get(node) for node in nodes]
        if None not in forward and self._forward:
            key = (prim, tuple(_identity(node) for node in forward if node is not None), tuple(params.items()))
            known = self._forward.get(key)
            if known is not None and known.aval is prim.infer(*(node.aval for node in nodes), **params):
                return self.lift(self._value(known))
        return super().emit(prim, nodes, params, aval)


def _identity(node: Node) -> Hashable:
    if not node.is_literal:
        return id(node)
    value = node.literal
    return repr(float(value)) if type(value) in (int, float) else (type(value), repr(value))
