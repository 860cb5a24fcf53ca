"""Watching a traced call: the program of everything it computes, differentiated or not.

While a `Recorder` is in `modes.recorder`, every operation on Tensors is noted, after it has been done as always: the call stays an
ordinary traced call, and what is noted is thrown away if anything happens that a replay could not repeat (`fail`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.aval import SCALARS, aval, aval_of
from srcdiff.core.builder import Builder, item
from srcdiff.core.primitive import Primitive
from srcdiff.core.program import Node, Source
from srcdiff.origin import describe
from srcdiff.tape.site import user_place
from srcdiff.tape.value import TensorBase


class Recorder:
    """The program of one call as it grows."""

    def __init__(self) -> None:
        self.builder = Builder()
        self.inputs: list[Node] = []
        #: constants made inside the call, with their arrays
        self.constants: list[tuple[Node, Any]] = []
        self._constant_of: dict[int, tuple[Node, Any]] = {}
        #: values whose truth decided what the call did, and the truth
        self.branches: list[tuple[Node, bool]] = []
        self.failed: str | None = None

    def input(self, tensor: Any, name: str | None) -> Node:
        """An argument."""
        value = tensor._value
        node = self.builder.input(aval(value.shape, value.dtype), name, Source(name))
        tensor._node = node
        self.inputs.append(node)
        return node

    def fail(self, reason: str) -> None:
        """This call cannot be replayed; the first reason counts."""
        if self.failed is None:
            self.failed = reason

    def note(self, prim: Primitive, operands: tuple[Any, ...], params: dict[str, Any], out: Any) -> None:
        """An operation was done, with this result: a Tensor or a tuple of them."""
        if self.failed is not None:
            return
        nodes = tuple(self._node(operand) for operand in operands)
        if self.failed is not None:
            return
        place = user_place(3)
        origin = describe(*place)
        self.builder.source = Source(origin.target, origin.file, origin.line, origin.text)
        if prim.multi:
            avals = tuple(aval(o._value.shape, o._value.dtype) for o in out)
            made = self.builder.opaque(prim, nodes, params, avals, origin.target)
            for k, part in enumerate(out):
                part._node = item(made, k)
            return
        value = out._value
        out._node = self.builder.opaque(prim, nodes, params, aval(value.shape, value.dtype), origin.target)

    def _node(self, operand: Any) -> Node:
        if isinstance(operand, TensorBase):
            node = operand.__dict__.get("_node")
            if node is None or node.builder is not self.builder:
                self.fail("it uses a Tensor that did not come from its arguments")
                return self.builder.literal(0.0)
            return node  # type: ignore[no-any-return]
        if type(operand) in SCALARS or isinstance(operand, np.generic):
            return self.builder.literal(operand)
        return self.constant(operand)

    def constant(self, array: Any) -> Node:
        """An array made inside the call of things that are guarded; it is the same in every call."""
        known = self._constant_of.get(id(array))
        if known is not None and known[1] is array:
            return known[0]
        node = self.builder.input(aval_of(array))
        self._constant_of[id(array)] = (node, array)
        self.constants.append((node, np.array(array)))
        return node

    def branch(self, tensor: Any, outcome: bool) -> None:
        """The truth of a value was asked for."""
        if self.failed is None:
            node = self._node(tensor)
            if not node.is_literal:
                self.branches.append((node, outcome))
