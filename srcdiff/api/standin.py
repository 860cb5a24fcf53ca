"""`StandIn`: what a watched call of a step gets in place of an array, so that a recorder sees what is done with it.

Guarantee: the user's code cannot tell it from the array, as far as attributes, shapes and texts go; what NumPy makes of
arrays alone is one as well (`StepRecorder.note`), and where one leaves the call, it is the array (`given`).
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from srcdiff.tape.modes import modes
from srcdiff.tensor import Tensor

_getframe = sys._getframe


class StandIn(Tensor):
    """A Tensor that passes for the array, or the NumPy scalar, behind it."""

    __slots__ = ()
    _stands = True

    @property
    def shape(self) -> Any:
        """The shape, as NumPy has it."""
        return self._value.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        _read("it sets the shape of an array")
        self._value.shape = shape

    def __getattr__(self, name: str) -> Any:
        if name[:1] == "_":
            return super().__getattr__(name)
        kind = type(self._value)
        raise AttributeError(f"'{kind.__module__}.{kind.__qualname__}' object has no attribute '{name}'")

    def __repr__(self) -> str:
        _read("printing a value makes text of it")
        return repr(self._value)

    def __str__(self) -> str:
        _read("printing a value makes text of it")
        return str(self._value)

    def __format__(self, spec: str) -> str:
        _read("formatting a value makes text of it")
        return format(self._value, spec)


def _read(why: str) -> None:
    if modes.recorder is not None:
        modes.recorder.fail(why)


def _hidden(name: str) -> property:
    """An attribute that arrays do not have: srcdiff's own code alone finds it."""

    def get(self: Any) -> Any:
        if str(_getframe(1).f_globals.get("__name__")).partition(".")[0] == "srcdiff":
            return getattr(super(StandIn, self), name)
        raise AttributeError(name)  # `__getattr__` says it as NumPy does

    return property(get)


for _name in dir(Tensor):
    if _name[:1] != "_" and not hasattr(np.ndarray, _name):
        setattr(StandIn, _name, _hidden(_name))
