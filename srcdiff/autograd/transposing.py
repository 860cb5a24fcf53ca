"""Forward derivatives from backward ones, for graphs that no program can be made of: `Transposed` is t -> J t.

u -> J' u, what a backward pass computes, is linear, so its own derivative with respect to u along t is J t.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from srcdiff.autograd.engine import gradients
from srcdiff.autograd.modes import Mode
from srcdiff.tape import record
from srcdiff.tape.node import LEAF, Edge, GradNode, next_seq
from srcdiff.tape.value import TensorBase


class Dummy(GradNode):
    """The end of the graph at a cotangent that is differentiated with respect to, and has no value that matters."""

    __slots__ = ()

    def __init__(self) -> None:
        self.site = LEAF
        self.inputs = ()
        self.saved = ()
        self.seq = next_seq()


class Transposed:
    """The derivative of `outs` (Tensors) with respect to what arrives at `edges`, applied to tangents any number of
    times. With `node`, that of this node alone: `outs` are its outputs (None: one without a gradient), `edges` its
    inputs.
    """

    def __init__(self, outs: Sequence[Any], edges: Sequence[Edge], node: GradNode | None = None) -> None:
        self._outs = outs
        roots, cts = [], []
        self._dummies: list[Dummy | None] = []
        for out in outs:
            edge = out._edge if isinstance(out, TensorBase) else None
            if edge is None:
                self._dummies.append(None)
                continue
            ct = record.plain(np.zeros(out._value.shape, out._value.dtype))
            ct._edge = Dummy()
            self._dummies.append(ct._edge)
            roots.append(edge)
            cts.append(ct)
        pulled: list[Any] = [None] * len(edges)
        if roots:
            with Mode(grad=True):
                if node is None:
                    pulled = gradients(roots, cts, edges, retain=True, create_graph=True)
                else:
                    places = [k for k, dummy in enumerate(self._dummies) if dummy is not None]
                    pulled = node.apply(dict(zip(places, cts, strict=True)), True)  # type: ignore[misc]
        self._pulled = [None if ct is None or ct._edge is None else ct for ct in pulled]

    def __call__(self, tangents: Sequence[Any], create_graph: bool = False) -> list[Any]:
        """For each out its tangent as a Tensor, None where it depends on no edge. A tangent is an array, a Tensor or
        None.
        """
        roots, seeds = [], []
        for ct, tangent in zip(self._pulled, tangents, strict=True):
            if ct is None or tangent is None:
                continue
            roots.append(ct._edge)
            seeds.append(_seed(tangent, ct._value, create_graph))
        wanted = [dummy for dummy in self._dummies if dummy is not None]
        if not roots or not wanted:
            return [None] * len(self._outs)
        found = iter(gradients(roots, seeds, wanted, retain=True, create_graph=create_graph))
        made = [None if dummy is None else next(found) for dummy in self._dummies]
        return [t if t is None or isinstance(t, TensorBase) else record.plain(t) for t in made]


def _seed(tangent: Any, like: Any, create_graph: bool) -> Any:
    """A tangent in the dtype of what it multiplies."""
    if isinstance(tangent, TensorBase):
        if create_graph:
            return tangent if tangent._value.dtype == like.dtype else tangent.astype(like.dtype)
        tangent = tangent._value
    array = np.asarray(tangent, dtype=like.dtype)[()]
    return record.plain(array) if create_graph else array


def transposed(function: Any, like: Any, ct: Any, create_graph: bool) -> Any:
    """The adjoint, applied to `ct`, of a linear function of one Tensor of the shape and dtype of `like`."""
    tangent = record.plain(np.zeros(np.shape(like), np.asarray(like).dtype))
    tangent._edge = Dummy()
    with Mode(grad=True):
        made = function(tangent)
    pairs = list(zip(made, ct, strict=True)) if isinstance(made, tuple) else [(made, ct)]
    roots, seeds = [], []
    for out, seed in pairs:
        if isinstance(out, TensorBase) and out._edge is not None:
            roots.append(out._edge)
            seeds.append(_seed(seed, out._value, create_graph))
    if not roots:
        return None
    return gradients(roots, seeds, [tangent._edge], retain=True, create_graph=create_graph)[0]
