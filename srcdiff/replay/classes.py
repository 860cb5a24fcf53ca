"""Classes whose instances can do no more than their functions and attributes tell: whether a class is one."""

from __future__ import annotations

import dataclasses
import functools
import reprlib
import sys
from collections.abc import Iterator
from types import FunctionType, MemberDescriptorType, SimpleNamespace
from typing import Any

from srcdiff.replay.findings import MISSING

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


def is_plain_class(cls: Any) -> bool:
    """Whether instances are made of a dict, of slots, and of what the class and its bases have."""
    return is_space(cls) or (all(map(is_plain_base, cls.__mro__[:-1])) and _is_all(cls))


def is_space(cls: Any) -> bool:
    """Whether instances are namespaces: a dict, which is compared and shown as a whole."""
    return cls is SimpleNamespace or cls is getattr(sys.modules.get("argparse"), "Namespace", MISSING)


def is_plain_base(base: Any) -> bool:
    names = vars(base)
    if type(base) is not type or not base.__flags__ & _MADE_BY_PYTHON:
        return False
    # a frozen dataclass refuses to be written
    frozen = getattr(names.get("__dataclass_params__"), "frozen", False)
    return all(frozen and is_generated(names[name]) for name in _UNSEEN.intersection(names))


#: Py_TPFLAGS_HEAPTYPE
_MADE_BY_PYTHON = 1 << 9


def _is_all(cls: Any) -> bool:
    """Whether there is no more to the layout of an instance than a dict and slots."""
    bases = cls.__mro__[:-1]
    ways = tuple(name for name in ("__dict__", "__weakref__") if any(name in vars(base) for base in bases))
    return _layout(ways, len(list(slots_of(cls)))) == (cls.__basicsize__, cls.__dictoffset__ == 0)


@functools.cache
def _layout(ways: tuple[str, ...], slots: int) -> tuple[int, bool]:
    """The size of instances with these and so many slots, and whether they have no dict."""
    twin: Any = type("twin", (), {"__slots__": (*ways, *(f"s{k}" for k in range(slots)))})
    return twin.__basicsize__, twin.__dictoffset__ == 0


def slots_of(cls: Any) -> Iterator[str]:
    """The names of the slots of instances."""
    for base in cls.__mro__[:-1]:
        if "__slots__" in vars(base):
            yield from (name for name, value in vars(base).items() if type(value) is MemberDescriptorType)


def state_of(instance: Any) -> dict[str, Any]:
    """The dict of an instance; an empty one if it has slots alone."""
    return getattr(instance, "__dict__", {})


_REPR = (dataclasses.__file__, reprlib.__file__)


def is_generated(value: Any) -> bool:
    """Whether `dataclasses` has written a method, which then looks at fields alone."""
    if getattr(value, "__name__", "") == "__repr__" and value.__code__.co_filename in _REPR:
        value = getattr(value, "__wrapped__", None)  # with what stops it from going round
    return type(value) is FunctionType and value.__code__.co_qualname.startswith("__create_fn__.")
