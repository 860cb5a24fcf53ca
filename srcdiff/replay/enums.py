"""Enumerations that are nothing but their members: a member is a constant, which its identity tells."""

from __future__ import annotations

import enum
from types import FunctionType
from typing import Any


class _Sample(enum.Enum):
    A = 1


class _Whole(enum.IntEnum):
    A = 1


class _Word(enum.StrEnum):
    A = "a"


class _Flags(enum.Flag):
    A = 1


#: what the classes have besides their members
_OWN = frozenset().union(*map(vars, (_Sample, _Whole, _Word, _Flags))) - {"A"} | frozenset((
    "__annotations__", "__static_attributes__", "__firstlineno__", "__annotate__", "__annotate_func__",
    "__new_member__", "__annotations_cache__", "__dict__", "__weakref__",
))  # fmt: skip
_MODULES = ("enum", "builtins")


def is_plain_enum(cls: Any) -> bool:
    """Whether a class is an enumeration without methods, properties and a `__new__` of the user's."""
    if type(cls) is not enum.EnumMeta or not cls.__members__:
        return False
    if any(base.__module__ not in _MODULES for base in cls.__mro__[1:]):
        return False
    for name, value in vars(cls).items():
        if name not in _OWN and name not in cls._member_map_:
            return False
        value = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
        if type(value) is FunctionType and value.__module__ != "enum":
            return False
    return True


def is_member(value: Any) -> bool:
    """Whether a value is a member of such an enumeration."""
    return isinstance(value, enum.Enum) and is_plain_enum(type(value))
