"""Where numbers are read: among the arguments of a call, or outside. While a call is recorded, a stand-in can be there
instead.

A number that has changed at its place is not a constant of the guard any more, but an input of the program, if all that
is done with it is arithmetic (`number`).
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import CellType
from typing import Any, NamedTuple

from srcdiff.replay.containers import DICTS, KINDS, MAPPINGS, WRITABLE
from srcdiff.replay.findings import EffectError, Read
from srcdiff.replay.library import is_library
from srcdiff.replay.records import fields_of


class Place(NamedTuple):
    """`holder` is the id of what the number is in, a container, a cell or an instance with slots, and `key` where in
    it; of an argument, 0 and the path to it.
    """

    holder: int
    key: Any

    @property
    def name(self) -> str:
        """What the number is called; nothing if it has no name."""
        last = str(self.key[-1] if self.holder == 0 else self.key)
        return last if last.isidentifier() else ""


def of_argument(path: tuple[Any, ...]) -> Place:
    """The place of an argument, or of a part of one."""
    return Place(0, path)


def is_number(value: Any) -> bool:
    """Whether a value can be an input: a bool is not a number, and what is not finite remains a constant."""
    return type(value) is int or (type(value) is float and value - value == 0)


def in_arguments(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[tuple[Place, Any]]:
    """The numbers among the arguments of a call."""
    for key, value in (*enumerate(args), *kwargs.items()):
        yield from _in(value, (key,))


def _in(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[Place, Any]]:
    kind = type(value)
    if is_number(value):
        yield of_argument(path), value
    elif kind in (list, tuple):
        for k, part in enumerate(value):
            yield from _in(part, (*path, k))
    elif kind in DICTS:
        for key, part in value.items():
            yield from _in(part, (*path, key))
    elif (fields := fields_of(value)) is not None:
        for field in fields:
            yield from _in(getattr(value, field), (*path, field))


def outside(reads: Sequence[Read]) -> Iterator[tuple[Place, Any, Any]]:
    """The numbers that a function reads from outside, and what they are in."""
    for read in reads:
        if read.kind in ("global", "module", "attribute", "cell", "slot"):
            if is_number(read.value):
                yield Place(id(read.holder), read.name), read.value, read.holder
        elif read.kind == "content" and type(read.holder) in WRITABLE:
            mapping = type(read.holder) in MAPPINGS
            keys, parts = read.value if mapping else (range(len(read.value)), read.value)
            for key, part in zip(keys, parts, strict=True):
                if is_number(part) and type(key) in (str, int):
                    yield Place(id(read.holder), key), part, read.holder


def constants_of(
    args: Sequence[Any], kwargs: Mapping[str, Any], reads: Sequence[Read], inputs: Sequence[Place]
) -> dict[Place, Any]:
    """The numbers of a call that are no inputs, by their places."""
    found = dict(in_arguments(args, kwargs))
    found.update((place, value) for place, value, _ in outside(reads))
    return {place: value for place, value in found.items() if place not in inputs}


@contextmanager
def standing_in(stand_ins: Sequence[tuple[Any, Any, Any]]) -> Iterator[None]:
    """Put values where numbers are, for a while: (holder, key, value). Raises EffectError if one of them has been
    replaced in that time.
    """
    before = []
    replaced = False
    try:
        for holder, key, value in stand_ins:
            before.append((holder, key, value, _get(holder, key)))
            _put(holder, key, value)
        yield
    finally:
        for holder, key, value, number in reversed(before):
            try:
                replaced = replaced or _get(holder, key) is not value
                _put(holder, key, number)
            except LookupError:  # a list has become shorter, and will be put right as a whole
                replaced = True
        if replaced:
            raise EffectError("it changes a number from outside")


def _get(holder: Any, key: Any) -> Any:
    if type(holder) is CellType:
        return holder.cell_contents
    return holder[key] if type(holder) in KINDS else getattr(holder, key)


def _put(holder: Any, key: Any, value: Any) -> None:
    if type(holder) is CellType:
        holder.cell_contents = value
    elif type(holder) in KINDS:
        holder[key] = value
    else:
        object.__setattr__(holder, key, value)  # a slot, of a frozen dataclass as well


def alone() -> bool:
    """Whether no other thread runs code of the user's, which could meet a stand-in."""
    me = threading.get_ident()
    for thread, top in sys._current_frames().items():
        frame: Any = top
        while thread != me and frame is not None:
            if not is_library(frame.f_code):
                return False
            frame = frame.f_back
    return True
