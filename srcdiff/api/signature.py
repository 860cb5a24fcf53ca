"""What calls of one kind have in common, and which numbers among what they depend on are inputs."""

from __future__ import annotations

import contextlib
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from srcdiff.replay.allowed import SCALAR_TYPES
from srcdiff.replay.containers import DICTS
from srcdiff.replay.findings import Findings, RefusedError
from srcdiff.replay.fixed import is_fixed, sort_of
from srcdiff.replay.objects import is_owner
from srcdiff.replay.places import Place, alone, in_arguments, of_argument, outside
from srcdiff.replay.records import fields_of
from srcdiff.tape.value import TensorBase

#: recordings that cannot tell a number from a constant, before numbers are constants
_MOST_UNCLEAR = 6


@dataclass(slots=True)
class Numbers:
    """The numbers of a function's calls, by their places: those that have changed become inputs, unless more than
    arithmetic is done with them.
    """

    inputs: set[Place] = field(default_factory=set)
    constants: set[Place] = field(default_factory=set)
    #: recordings in which one of them could not be told from a constant
    _unclear: int = 0
    #: integers among the arguments, as they were in the last call that was traced
    _last: dict[Place, int] = field(default_factory=dict)

    def notice(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        """Whether a call is the first to differ from the last in an integer that may be an input."""
        found = False
        for place, value in in_arguments(args, kwargs):
            if type(value) is not int or place in self.constants or place in self.inputs:
                continue
            if self._last.setdefault(place, value) != value:
                self.inputs.add(place)
                found = True
        return found

    def changed(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], chosen: Container[Any], findings: Findings,
        known: Iterable[Mapping[Place, Any]],
    ) -> list[Place]:  # fmt: skip
        """The places of the numbers that are to be inputs in a recording of this call: they differ from those in the
        entries, whose constants are `known`, or did so before.
        """
        undisturbed = alone()
        swallows = findings.handles or any(read.value is contextlib.suppress for read in findings.reads)
        if findings.asks or findings.matches or swallows or (findings.sums and not undisturbed):
            return []  # what stands for a number is none, and may raise where a number does not
        now = {place: value for place, value in in_arguments(args, kwargs) if place.key[0] not in chosen}
        if undisturbed:
            now.update((place, value) for place, value, _ in outside(findings.reads))
        for constants in known:
            for place in constants.keys() & now.keys():
                before, value = constants[place], now[place]
                if type(before) is type(value) and before != value:
                    self.inputs.add(place)
        self.inputs -= self.constants
        return [place for place in now if place in self.inputs]

    def keep(self, places: Iterable[Place]) -> None:
        """These are constants from now on."""
        self.constants.update(places)
        self.inputs -= self.constants

    def unclear(self, places: Iterable[Place]) -> None:
        """A recording could not tell one of these from a constant: the next call may show it, but not forever."""
        self._unclear += 1
        if self._unclear > _MOST_UNCLEAR:
            self.keep(places)

    def settle(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
        """Have the integers among the arguments be constants. Whether one of them was an input."""
        places = [place for place, value in in_arguments(args, kwargs) if type(value) is int and place in self.inputs]
        self.keep(places)
        return bool(places)


def signature_of(
    args: Sequence[Any], kwargs: dict[str, Any], chosen: Sequence[Any], style: Any, tensors: bool,
    inputs: Container[Place],
) -> Any:  # fmt: skip
    """What calls of one kind have in common: for numbers at the places `inputs`, the type. `tensors` may be among the
    arguments. Raises RefusedError for arguments that cannot be guarded.
    """

    def kind_of(value: Any, path: tuple[Any, ...]) -> Any:
        """A hashable description of an argument: what the guard will look at."""
        kind = type(value)
        if tensors and isinstance(value, TensorBase) and kind.__module__.partition(".")[0] == "srcdiff":
            return (kind, value._value.shape, value._value.dtype, value._edge is None)
        if tensors and is_owner(value):
            return (kind, id(value))
        if kind is np.ndarray:
            if value.dtype.kind not in "?biufc":
                raise RefusedError(f"an argument is an array of {value.dtype}")
            return (value.shape, value.dtype)
        if kind in SCALAR_TYPES:
            return (kind,)
        if kind in (list, tuple):
            return (kind, tuple(kind_of(part, (*path, k)) for k, part in enumerate(value)))
        if kind in DICTS:
            return (kind, tuple((key, kind_of(part, (*path, key))) for key, part in value.items()))
        if kind is int and of_argument(path) in inputs:
            return (kind,)
        if value is None or kind in (int, bool, str, bytes):
            return (kind, value)
        if kind in (float, complex):
            return (kind,)
        names = fields_of(value)
        if names is not None:
            return (kind, tuple(kind_of(getattr(value, name), (*path, name)) for name in names))
        if is_fixed(value):
            return sort_of(value)
        raise RefusedError(f"an argument is a {kind.__module__}.{kind.__qualname__}")

    by_name = tuple((key, kind_of(value, (key,))) for key, value in kwargs.items())
    return (tuple(kind_of(value, (k,)) for k, value in enumerate(args)), by_name, tuple(chosen), style)
