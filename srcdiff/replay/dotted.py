"""What a dotted name stands for: `scipy.special.expit`, `helpers.loss`, `stats.norm.logpdf`, `Mode.FAST`.

A name that is followed by attributes at once stands for one object, if what it begins with is a module, or another
namespace that is known to change by assignment alone. So the object can be looked at, and not only what it is called.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

from srcdiff.replay.enums import is_member, is_plain_enum
from srcdiff.replay.findings import MISSING, Read
from srcdiff.replay.objects import is_srcdiff

#: a method of one of srcdiff's objects that does nothing but compute
METHOD = object()


@dataclass(frozen=True, slots=True)
class Step:
    """One attribute of a dotted name: `index` is the instruction that reads it."""

    index: int
    owner: Any
    name: str
    value: Any
    reads: tuple[Read, ...]


def follow(value: Any, instructions: list[Any], k: int) -> list[Step]:
    """The attributes that the instructions after number k, which loads `value`, read one of the other."""
    steps: list[Step] = []
    while True:
        k += 1
        while k < len(instructions) and instructions[k].opname == "EXTENDED_ARG" and not instructions[k].is_jump_target:
            k += 1
        if k >= len(instructions):
            return steps
        instruction = instructions[k]
        if instruction.opname not in ("LOAD_ATTR", "LOAD_METHOD") or instruction.is_jump_target:
            return steps
        found = _part(value, instruction.argval)
        if found is None:
            return steps
        part, reads = found
        steps.append(Step(k, value, instruction.argval, part, reads))
        value = part


def is_namespace(value: Any) -> bool:
    """Whether attributes of it are looked at with their names."""
    if isinstance(value, ModuleType):
        return type(value) is ModuleType or is_srcdiff(value)
    return is_member(value) or is_plain_enum(value) or hasattr(type(value), "replayed_methods")


def _part(value: Any, name: str) -> tuple[Any, tuple[Read, ...]] | None:
    """The attribute, and what has to stay as it is for it to be that; None if that cannot be told."""
    if isinstance(value, ModuleType):
        return _of_module(value, name)
    if is_plain_enum(value) and name in value.__members__:
        member = value.__members__[name]
        return member, (Read("found", value, name, member),)
    if is_member(value) and name in ("value", "name"):
        found = getattr(value, name)
        return found, (Read("found", value, name, found),)
    if is_srcdiff(type(value)) and name in getattr(type(value), "replayed_methods", ()):
        return _method(value, name)
    return None


def _of_module(module: Any, name: str) -> tuple[Any, tuple[Read, ...]] | None:
    namespace = vars(module)
    if name in namespace:
        if type(module) is not ModuleType and not is_srcdiff(module):
            return None
        return namespace[name], (Read("module", namespace, name, namespace[name]),)
    if not is_srcdiff(module):
        return None
    value = getattr(module, name, MISSING)  # what is imported, or taken from SciPy, when it is named
    if value is MISSING:
        return None
    if name in namespace:
        return value, (Read("module", namespace, name, value),)
    return value, (Read("found", module, name, value),)


def _method(instance: Any, name: str) -> tuple[Any, tuple[Read, ...]] | None:
    """METHOD."""
    for base in type(instance).__mro__:
        if name in vars(base):
            before = type(instance).__mro__[: type(instance).__mro__.index(base)]
            reads = [Read("class attribute", each, name, MISSING) for each in before]
            reads.append(Read("class attribute", base, name, vars(base)[name]))
            reads.append(Read("attribute", vars(instance), name, MISSING))
            return (METHOD, tuple(reads)) if name not in vars(instance) else None
    return None
