"""`TensorBase`: what recording needs to know of a Tensor. The public class adds methods, not state.

State, most of it with defaults on the class so that a result costs three assignments:
    _value     ndarray, or a NumPy scalar for 0-d results that own their memory (`_array` turns it into an ndarray)
    _type      its TensorType; computed on first use for values that need no gradient
    _edge      where its gradient goes: None, a GradNode, or (node, k); computed on first use for leaves and stale views
    _storage   its Storage, None while it owns its memory alone and was never written
    _cell      the Cell of its present value if something saved it
    _view      how it was made from the tensor whose memory it shares, or None
    _traced    being differentiated by `sd.grad` or a relative, where NumPy's rules hold for writing
    _stands    takes the place of an array in a call that is watched
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from srcdiff.aval import TensorType, aval
from srcdiff.core.primitive import Operand, Primitive
from srcdiff.tape.modes import modes
from srcdiff.tape.node import AccumulateGrad, Edge
from srcdiff.tape.storage import Cell, Storage


class View:
    """A view is `base` after a chain of view operations: (primitive, dynamic operands, parameters). No steps: a custom
    Function, named by `multi`, made it."""

    # a plain class: frozen dataclasses take three times as long to make
    __slots__ = ("base", "multi", "no_grad", "steps")

    def __init__(
        self,
        base: TensorBase,
        steps: tuple[tuple[Primitive, tuple[Any, ...], dict[str, Any]], ...],
        no_grad: bool = False,
        multi: str = "",
    ) -> None:
        self.base = base
        self.steps = steps
        #: made in no_grad mode: may not be written to while recording
        self.no_grad = no_grad
        #: name of the operation it came from, if that gives several views: likewise
        self.multi = multi


class TensorBase(Operand):
    """An array with a place in the graph."""

    # `_edge` is a slot, not in the instance dict, which a leaf's AccumulateGrad holds and must not be reached from
    __slots__ = ("__dict__", "__weakref__", "_edge")

    _value: Any
    _type: TensorType
    _edge: Edge
    _storage: Storage | None = None
    _cell: Cell | None = None
    _view: View | None = None
    _traced: bool = False
    _stands: bool = False
    _grad: TensorBase | None = None
    _inference: bool = False
    _detached: bool = False
    _requires: bool = False
    _priority = 2

    def __getattr__(self, name: str) -> Any:
        # only reached for what is not set: see the table above
        if name == "_edge":
            return self._find_edge()
        if name == "_type":
            return self._find_type()
        if self._traced and self._edge is None and name[:1] != "_" and hasattr(np.ndarray, name):
            if modes.recorder is not None:
                modes.recorder.fail(f".{name} reads a value")
            return getattr(self._value, name)  # an array made while tracing has all that arrays have
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _find_edge(self) -> Edge:
        if self._requires:
            self._edge = AccumulateGrad(self)
        elif self._view is not None:
            from_view(self)
        else:
            self._edge = None
        return self._edge

    def _find_type(self) -> TensorType:
        needs = self._edge is not None
        value = self._value
        kind = aval(value.shape, value.dtype).types[needs + 2 * self._traced]
        self._type = kind
        return kind

    @property
    def _array(self) -> np.ndarray[Any, Any]:
        """The ndarray. An eager 0-d result held as a NumPy scalar becomes an array for good; a traced one remains
        what it is for NumPy, a value that `+=` does not change for others who hold it."""
        value = self._value
        if isinstance(value, np.ndarray):
            return value
        return np.asarray(value) if self._traced else self.materialise()

    def materialise(self) -> np.ndarray[Any, Any]:
        """The ndarray, in which a NumPy scalar now lives for good."""
        value = self._value
        if isinstance(value, np.ndarray):
            return value
        array = self._value = np.asarray(value)
        if self._cell is not None:
            self._cell.array = array
        return array

    def forget_place(self) -> None:
        """Have `_edge` and `_type` worked out again on their next use."""
        self.__dict__.pop("_type", None)
        with suppress(AttributeError):
            del self._edge


def from_view(tensor: TensorBase) -> None:
    """Give a view whose base has changed its place in the graph again. Replaced by `record` at import."""
    _regenerate[0](tensor)


_regenerate: list[Any] = []
