"""The tensors of a step: how those that outlive the call are found again, and when what is read of them is there.

A tensor that the call made has a node. One from outside becomes an input of the program when it is read first; if an
effect has changed it by then, in a way that is not looked into, an input that is there after that effect.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from srcdiff.aval import aval
from srcdiff.core.program import Node, Source
from srcdiff.replay.effects import Call, Effect, Target
from srcdiff.replay.recorder import Recorder
from srcdiff.replay.stages import Later
from srcdiff.tape.record import plain


class Tensors(Recorder):
    """`outside` are the tensors that what is guarded leads to, by id, with names for them."""

    def __init__(self, outside: dict[int, tuple[Any, str]]) -> None:
        super().__init__()
        self.outside = outside
        self.effects: list[Effect] = []
        #: tensors from outside that the program reads
        self.reads: list[tuple[Target, Node]] = []
        #: those that it reads after a Call has changed them
        self.later: list[Later] = []
        #: ids of tensors that are not what the recorder would take them for, the tensors, and since which effect
        self._dirty: dict[int, tuple[Any, int]] = {}
        #: those that share the array of one that a Call has changed, by id, and that one
        self._aliases: dict[int, tuple[Any, Any]] = {}
        #: the tensors that have nodes, by id
        self._marked: dict[int, Any] = {}
        #: parameters that effects may change
        self._touched: list[Any] = []

    def tensor_of(self, target: Target) -> Any:
        """The tensor that a target stands for in this call; one like it for a gradient."""
        tensor = target.tensor if target.argument is None else self.arguments[target.argument]
        return plain(tensor._value) if target.gradient else tensor

    def _mark(self, tensor: Any, node: Node) -> None:
        self._marked[id(tensor)] = tensor
        super()._mark(tensor, node)

    def _node_of(self, tensor: Any, writing: bool) -> Node | None:
        base = None if tensor._view is None else tensor._view.base
        if base is not None and (id(base) in self._dirty or id(base) in self._aliases):
            self._found(base)
        node = super()._node_of(tensor, writing)
        if node is None or node.builder is not self.builder:
            return self._found(tensor)
        return node

    def _found(self, tensor: Any) -> Node | None:
        """A tensor that no operation made: it shares the array of one that is known, or comes from outside."""
        known = self._by_value.get(id(tensor._value))
        if known is not None and known[0] is tensor._value:
            self._mark(tensor, known[1])
            return known[1]
        if id(tensor) in self._aliases:
            self._mark(tensor, self._node(self._aliases.pop(id(tensor))[1]))
            return tensor._node  # type: ignore[no-any-return]
        target = self.target(tensor)
        if target is None:
            return None
        if self._is_lost(tensor):
            self._refuse("it reads a gradient that it has changed in a way that is not looked into")
        value = tensor._value
        name = self._name(target)
        node = self.builder.input(aval(value.shape, value.dtype), name, Source(name))
        self._mark(tensor, node)
        _, start = self._dirty.pop(id(tensor), (None, None))
        if start is None:
            self.reads.append((target, node))
        else:
            self.later.append(Later(start, target, node, np.array(value)))
        return node

    def _is_lost(self, tensor: Any) -> bool:
        """Whether a tensor has been changed by a Call, and is a gradient, which may be gone in another call."""
        if id(tensor) not in self._dirty:
            return False
        target = self.target(tensor)
        return target is None or target.gradient

    def target(self, tensor: Any) -> Target | None:
        """How a tensor is found again in another call; None for one that was made in this."""
        known = self.outside.get(id(tensor))
        if known is not None and known[0] is tensor:
            return Target(tensor)
        return next((target for each, target in self._lasting() if each is tensor), None)

    def used(self) -> dict[int, Any]:
        """The tensors from outside that the call read or changed, by id."""
        targets = [*(target for target, _ in self.reads), *(each.target for each in self.later)]
        targets += [effect.target for effect in self.effects if not isinstance(effect, Call)]
        tensors = [*(target.tensor for target in targets if target.argument is None), *self._touched]
        return {id(tensor): tensor for tensor in tensors}

    def _name(self, target: Target) -> str:
        if target.argument is not None:
            name = self.inputs[target.argument].name or "x"
        else:
            name = self.outside[id(target.tensor)][1]
        return f"{name}_grad" if target.gradient else name

    def _lasting(self) -> list[tuple[Any, Target]]:
        """The tensors that outlive the call, as far as they can be reached."""
        found = [(each, Target(None, k)) for k, each in enumerate(self.arguments)]
        found += [(each, Target(each)) for each, _ in self.outside.values()]
        found += [
            (each._grad, Target(target.tensor, target.argument, True))
            for each, target in found
            if each._grad is not None
        ]
        return found

    def _forget(self, tensors: Iterable[Any]) -> None:
        """These may have any value now."""
        for tensor in tensors:
            tensor.__dict__.pop("_node", None)
            self._by_value.pop(id(tensor._value), None)
            self._drawn.pop(id(tensor._value), None)
            self._dirty[id(tensor)] = tensor, len(self.effects)
            for other in self._marked.values():
                if other._value is tensor._value and other is not tensor:
                    other.__dict__.pop("_node", None)
                    self._aliases[id(other)] = other, tensor

    def _unmark(self) -> None:
        for tensor in self._marked.values():
            tensor.__dict__.pop("_node", None)
