"""What the attributes that code names may be, whatever they are read of: modules, instances, classes, arrays and
containers.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterable, Iterator
from types import CodeType, ModuleType
from typing import Any

from srcdiff.origin import where
from srcdiff.replay.allowed import ATTRIBUTES, MODULES, MUTATORS, ORIGINALS, STEPS
from srcdiff.replay.classes import is_generated, is_space, state_of
from srcdiff.replay.dotted import METHOD
from srcdiff.replay.findings import MISSING, Findings, Read, RefusedError
from srcdiff.replay.known import stores
from srcdiff.replay.objects import TABLES, Look, is_srcdiff, may_be_something_else, resolve, resolve_class

#: methods that run only where they are called by name, which no listed name does
_UNUSED = frozenset((
    "__init__", "__new__", "__repr__", "__str__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__",
    "__copy__", "__deepcopy__", "__init_subclass__", "__class_getitem__", "__sizeof__", "__dir__", "__post_init__",
    "__replace__", "__dict__", "__weakref__", "__annotate__", "__annotate_func__",
))  # fmt: skip
#: of them, those that run where text is made of an instance
_TEXT = frozenset(("__repr__", "__str__"))


def resolve_all(findings: Findings, look: Look) -> None:
    """Look at what the names in the code are as attributes of the instances there are, until there is nothing new."""
    done: set[tuple[int, str]] = set()
    before: tuple[int, ...] = ()
    while before != (now := (len(done), len(findings.modules), len(findings.stored), *findings.looks)):
        before = now
        names = {name for _, _, name in findings.attributes}
        for known in list(findings.instances):
            if is_space(type(known[0])) and (findings.compares or findings.formats):
                look(known[0].__dict__, known[1], findings)
            for name in names.union(implicit(type(known[0]), findings), known[2]):
                if (id(known[0]), name) not in done:
                    done.add((id(known[0]), name))
                    if resolve(name, known, findings, look) and not may_be_something_else(name):
                        findings.fields.add(name)
            if findings.makes and not is_space(type(known[0])):
                look(type(known[0]), known[1], findings)
        for cls, what in list(findings.classes):
            for name in names.union(implicit(cls, findings), ("__init__", "__post_init__")):
                if (id(cls), name) not in done:
                    done.add((id(cls), name))
                    if resolve_class(name, cls, what, findings, look) and not may_be_something_else(name):
                        findings.fields.add(name)
        for module in list(findings.modules):
            for name in names:
                part = vars(module).get(name)
                if isinstance(part, ModuleType) and is_srcdiff(part):
                    look(part, name, findings)


def implicit(cls: Any, findings: Findings) -> Iterator[str]:
    """Names that are looked up on the instances of a class though no code may name them: where text of them is made,
    too, and what the methods of dataclasses read.
    """
    unused = _UNUSED - _TEXT if findings.formats else _UNUSED
    if dataclasses.is_dataclass(cls):
        ordered = is_generated(getattr(cls, "__lt__", None))
        if findings.compares or findings.formats or findings.makes or ordered:
            yield from (field.name for field in dataclasses.fields(cls))
    for base in () if is_space(cls) else cls.__mro__[:-1]:
        if not is_srcdiff(base):
            for name, value in vars(base).items():
                if name[:2] != "__" or name in unused or is_generated(value):
                    continue
                if callable(value) or hasattr(type(value), "__get__"):
                    yield name


def accept_attribute(code: CodeType, here: int, name: str, findings: Findings, look: Look) -> None:
    """Accept the attribute of whatever it may be read of."""
    if name in MUTATORS:
        findings.stores = True
    elif name not in ATTRIBUTES and name not in findings.fields and not (findings.step and name in STEPS):
        raise RefusedError(f"{where(code, here)}: .{name} is not known to be free of effects")
    for holder in findings.objects:
        if name in holder.__dict__:
            raise RefusedError(
                f"{where(code, here)}: .{name} may be the attribute of a function, which may change unseen"
            )
    for module in findings.modules:
        _of_module(module, code, here, name, findings, look)


def _of_module(module: ModuleType, code: CodeType, here: int, name: str, findings: Findings, look: Look) -> None:
    namespace = vars(module)
    if name not in namespace:
        return
    value = namespace[name]
    _check_original(module, name, value, where(code, here))
    if is_srcdiff(module) and not _is_own(module, value):
        look(value, f"{where(code, here)}: {module.__name__}.{name}", findings)
    findings.reads.append(Read("module", namespace, name, value))


def _check_original(module: ModuleType, name: str, value: Any, place: str) -> None:
    known = ORIGINALS.get(module.__name__)
    if known is not None and known.get(name, MISSING) is not value:
        raise RefusedError(f"{place}: {module.__name__}.{name} is not what it was when srcdiff was imported")


def is_listed_part(step: Any, place: str, findings: Findings) -> bool:
    """Whether an attribute of a module or of one of srcdiff's objects is allowed by its name."""
    if not isinstance(step.owner, ModuleType):
        return step.value is METHOD
    listed = step.name in ATTRIBUTES or step.name in MUTATORS or (findings.step and step.name in STEPS)
    if not listed or not (any(step.owner is module for module in MODULES) or is_srcdiff(step.owner)):
        return False
    _check_original(step.owner, step.name, step.value, place)
    if isinstance(step.value, ModuleType) or not _is_own(step.owner, step.value):
        return False
    findings.stores = findings.stores or step.name in MUTATORS or stores(step.value)
    return True


def _is_own(module: ModuleType, value: Any) -> bool:
    """Whether a function of one of srcdiff's modules is not one that the user has put there."""
    return module.__name__ in ORIGINALS or not callable(value) or is_srcdiff(value) or is_srcdiff(type(value))


def stored_in(instance: Any, names: Iterable[str]) -> bool:
    """Whether an instance has attributes of these names, or its class decides what storing them does."""
    state = state_of(instance)
    holders = [state, *(state[each] for each in TABLES if each in state)]
    return any(
        any(name in holder for holder in holders) or inspect.getattr_static(instance, name, None) is not None
        for name in names
    )
