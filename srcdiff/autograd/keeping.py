"""Tensors kept for backward outside recorded primitives: by custom Functions, and as the arguments of checkpoints.

Guarantee: what is kept holds an array and an edge, never the Tensor, so a Function that saves its own result makes no
cycle; reading it back raises PyTorch's errors if it was overwritten in place.
"""

from __future__ import annotations

from typing import Any

from srcdiff.errors import AutogradError
from srcdiff.tape import record
from srcdiff.tape.modes import modes
from srcdiff.tape.node import AccumulateGrad, Edge, GradNode, Packed, stale_message
from srcdiff.tape.storage import Cell, cell_of
from srcdiff.tape.value import TensorBase


class Kept:
    """A tensor's value and place in the graph. `own` says which output of the keeping node it is, None for any
    other.
    """

    __slots__ = ("edge", "own", "traced", "value")

    def __init__(self, tensor: TensorBase, own: int | None = None) -> None:
        self.value: Cell | Packed
        if modes.pack_hooks:
            pack, unpack = modes.pack_hooks[-1]
            self.value = Packed(pack(tensor), unpack)
        else:
            self.value = cell_of(tensor)
        self.edge: Edge = None if own is not None else tensor._edge
        self.own = own
        self.traced = tensor._traced

    def restore(self, node: GradNode, single: bool = True) -> Any:
        """The tensor again; `node` is the one that keeps it, and `single` whether it has a single output."""
        value, edge = self.value, self.edge
        if isinstance(value, Packed):
            array = value.unpack()
        else:
            try:
                array = value.array
            except AttributeError:
                raise AutogradError(stale_message(node, value)) from None
        if type(edge) is AccumulateGrad:
            leaf = edge.variable
            if leaf._value is array:
                return leaf
        out = record.plain(array, self.traced)
        if self.own is not None:
            edge = node if single else (node, self.own)
        if edge is not None:
            out._edge = edge
        return out
