"""What the proof finds out about a function: what it reads from outside, and what else decides its calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import CodeType, ModuleType
from typing import Any


class RefusedError(Exception):
    """The function cannot be proved to be replayable."""


class UnclearError(RefusedError):
    """A number that changes cannot be told from a constant that is like it; another call may show which is which."""


class EffectError(RefusedError):
    """A recorded call has done something that is seen outside, and that has been undone."""


class _Missing:
    """What a global that is not there reads as."""


MISSING = _Missing()


@dataclass(frozen=True, slots=True)
class Read:
    """A value read from outside. What `holder` is depends on the kind:
    "global", "module", "attribute"  a dict: of a module, or of an instance
    "cell"                           the cell
    "slot"                           an instance
    "found"                          a module that imports what is named, an enumeration or a member of one
    "code", "defaults"               the function
    "class"                          a class of namedtuples; value: what is in it
    "class attribute"                a class
    "class size"                     a class; value: how many attributes of its own it has, and its bases
    "type"                           an object, whose class is the value, and its dict if it has one
    "partial"                        a functools.partial; value: its function, arguments and keywords
    "content"                        one of `containers`; value: its parts, for a mapping its keys and its parts
    """

    kind: str
    holder: Any
    name: str
    value: Any


@dataclass(slots=True)
class Findings:
    """What a function reads from outside, and whether it stores into containers that could be the caller's."""

    reads: list[Read] = field(default_factory=list)
    stores: bool = False
    #: the function may have effects that are srcdiff's: it is a training step
    step: bool = False
    #: the function itself, and what it is a method of, which is not kept alive
    top: Any = None
    bound: Any = None
    #: numbers taken out of tensors do nothing but be returned
    numbers_returned: bool = True
    #: text may be made of objects; they may be compared; exceptions may be caught; filters of warnings may be changed,
    #: and changed back
    formats: bool = False
    compares: bool = False
    catches: bool = False
    #: by an `except` or a `finally`, not only by context managers
    handles: bool = False
    filters: bool = False
    #: instances may be made of the classes of others
    makes: bool = False
    #: methods of bases may be called; values may be matched with classes
    supers: bool = False
    matches: bool = False
    #: functions that call isinstance or type; whether one calls `sum`
    asks: list[Any] = field(default_factory=list)
    sums: bool = False
    seen: set[int] = field(default_factory=set)
    #: keeps alive what is in `seen`
    kept: list[Any] = field(default_factory=list)
    #: attributes read, with code and instruction; and those allowed besides the listed ones: fields of namedtuples, and
    #: what instances have
    attributes: list[tuple[CodeType, int, str]] = field(default_factory=list)
    fields: set[str] = field(default_factory=set)
    #: what attributes could be read of that the user may have changed
    modules: list[ModuleType] = field(default_factory=list)
    objects: list[Any] = field(default_factory=list)
    #: instances of classes, with how they are called and names that are looked up anyhow
    instances: list[tuple[Any, str, frozenset[str]]] = field(default_factory=list)
    #: classes of instances that the function makes, with how they are called; the ids of their methods; attributes that
    #: these store into `self`
    classes: list[tuple[Any, str]] = field(default_factory=list)
    methods: set[int] = field(default_factory=set)
    stored: list[tuple[CodeType, int, str]] = field(default_factory=list)
    #: attributes that are stored elsewhere: `grad`, `data`
    sets: set[str] = field(default_factory=set)
    #: arrays read from outside; lists and dicts, with how they are called; Tensors, by id, with names for them
    arrays: list[Any] = field(default_factory=list)
    containers: list[tuple[Any, str]] = field(default_factory=list)
    tensors: dict[int, tuple[Any, str]] = field(default_factory=dict)

    @property
    def looks(self) -> tuple[bool, ...]:
        """What may be done with instances that reads attributes which no code names."""
        return self.formats, self.compares, self.makes
