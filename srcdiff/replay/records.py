"""Namedtuples and dataclasses: whether instances can do anything but hold their fields, and what these are."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable
from types import FunctionType
from typing import Any

from srcdiff.replay.classes import is_plain_class, slots_of

_SAMPLE: Any = collections.namedtuple("_SAMPLE", "a")
_FIELD = type(vars(_SAMPLE)["a"])
_MODULE = vars(_SAMPLE)["_replace"].__globals__
#: what namedtuple and typing.NamedTuple put into their classes, apart from the fields
_OWN = frozenset(vars(_SAMPLE)) - {"a"} | frozenset((
    "__annotations__", "__orig_bases__", "__static_attributes__", "__firstlineno__", "__annotate__",
    "__annotate_func__", "__annotations_cache__",
))  # fmt: skip


def added(cls: Any) -> dict[str, Any] | None:
    """The functions that a class of namedtuples has besides what `namedtuple` gives it, as methods or behind
    properties; None if it is another class, or has something else.
    """
    if type(cls) is not type or cls.__bases__ != (tuple,):
        return None
    fields: Any = getattr(cls, "_fields", ())
    found = {}
    for name, value in vars(cls).items():
        if name in fields:
            if type(value) is not _FIELD:
                return None
        elif name not in _OWN:
            function = value.fget if type(value) is property else getattr(value, "__func__", value)
            if type(function) is not FunctionType or name[:1] == "_":
                return None
            found[name] = function
    methods = [vars(cls).get(name) for name in ("__repr__", "_replace", "_asdict", "__getnewargs__")]
    made = getattr(cls.__new__, "__globals__", {}).get("__name__") == f"namedtuple_{cls.__name__}"
    return found if made and all(getattr(method, "__globals__", None) is _MODULE for method in methods) else None


def fields_of(value: Any) -> tuple[str, ...] | None:
    """The names of the fields of a namedtuple or dataclass that is nothing but these; None for anything else."""
    cls = type(value)
    if isinstance(value, tuple):
        return cls._fields if cls is not tuple and added(cls) is not None else None
    if not dataclasses.is_dataclass(cls) or not is_plain_class(cls):
        return None
    names = tuple(field.name for field in dataclasses.fields(cls))
    if hasattr(value, "__dict__"):
        return names if tuple(value.__dict__) == names else None
    return names if set(slots_of(cls)) == set(names) and all(hasattr(value, name) for name in names) else None


def maker(cls: Any) -> Callable[..., Any]:
    """A function that makes an instance of its fields, in their order; a dataclass's `__init__` is not run."""
    if issubclass(cls, tuple):
        return cls  # type: ignore[no-any-return]
    names = tuple(field.name for field in dataclasses.fields(cls))

    def make(*parts: Any) -> Any:
        made = object.__new__(cls)
        if hasattr(made, "__dict__"):
            made.__dict__.update(zip(names, parts, strict=True))
        else:
            for name, part in zip(names, parts, strict=True):
                object.__setattr__(made, name, part)  # of a frozen one as well
        return made

    return make
