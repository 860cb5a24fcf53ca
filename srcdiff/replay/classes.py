"""Classes whose instances can do no more than their functions and attributes tell: whether a class is one."""

from __future__ import annotations

import dataclasses
import reprlib
from types import FunctionType
from typing import Any

#: methods that decide what any attribute is, or run where no call is seen
_UNSEEN = frozenset(("__getattr__", "__getattribute__", "__setattr__", "__delattr__", "__del__"))


def makes_plain_instances(cls: Any) -> bool:
    """Whether calling a class makes an instance with a dict and runs `__init__`, and does nothing else."""
    bases = cls.__mro__[:-1]
    return bool(bases) and is_plain_class(cls) and not any("__new__" in vars(base) for base in bases)


def is_plain_error(cls: Any) -> bool:
    """Whether a class is one of exceptions, and has nothing but its name."""
    own = [base for base in cls.__mro__ if base.__module__ != "builtins"]
    return issubclass(cls, Exception) and all(_NAMING.issuperset(vars(base)) for base in own)


_NAMING = frozenset((
    "__module__", "__doc__", "__qualname__", "__weakref__", "__dict__", "__firstlineno__", "__static_attributes__",
    "_module_source",
))  # fmt: skip


class _Plain:
    """The layout of an instance that is a dict and nothing else."""


def is_plain_class(cls: Any) -> bool:
    """Whether instances are made of a dict and of what the class and its bases have."""
    layout = (cls.__basicsize__, cls.__dictoffset__) == (_Plain.__basicsize__, _Plain.__dictoffset__)
    return layout and all(map(is_plain_base, cls.__mro__[:-1]))


def is_plain_base(base: Any) -> bool:
    names = vars(base)
    if type(base) is not type or "__slots__" in names:
        return False
    # a frozen dataclass refuses to be written
    frozen = getattr(names.get("__dataclass_params__"), "frozen", False)
    return all(frozen and is_generated(names[name]) for name in _UNSEEN.intersection(names))


_REPR = (dataclasses.__file__, reprlib.__file__)


def is_generated(value: Any) -> bool:
    """Whether `dataclasses` has written a method, which then looks at fields alone."""
    if getattr(value, "__name__", "") == "__repr__" and value.__code__.co_filename in _REPR:
        value = getattr(value, "__wrapped__", None)  # with what stops it from going round
    return type(value) is FunctionType and value.__code__.co_qualname.startswith("__create_fn__.")
