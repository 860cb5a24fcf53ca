"""Objects of the user's and of srcdiff's that a function reads from outside: what of them the proof has to look at.

    a list, a dict, ...        all that is in it; the guard compares the identity of each part
    an instance of a class     of the attributes that the code names: what is in its dict or slots, or the functions of
                               its class; all fields if it may be compared, or text be made of it
    a module of `srcdiff.nn`   the whole of its dict, its parameters and parts, and `forward` if that is the user's
    an optimizer, a schedule   that its methods are srcdiff's, or are called again at each replay as effects
    a Tensor                   what it is; its value is read again on each call

A class that can do more than functions and plain attributes tell (`__getattr__`, metaclasses) is refused.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from types import FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

import numpy as np

from srcdiff.replay.alike import ANYTHING, FEW
from srcdiff.replay.classes import (
    is_generated,
    is_plain_base,
    is_plain_class,
    is_plain_error,
    is_space,
    makes_plain_instances,
    state_of,
)
from srcdiff.replay.containers import KINDS, WRITABLE, content_of
from srcdiff.replay.findings import MISSING, Findings, Read, RefusedError
from srcdiff.tape import record
from srcdiff.tape.effects import is_effect
from srcdiff.tape.value import TensorBase

Look = Callable[[Any, str, Findings], None]

#: where a Module has its parameters and parts
TABLES = ("_parameters", "_buffers", "_modules")
#: entries of a Module's dict that no forward reads
_ASIDE = frozenset(("_non_persistent_buffers_set",))


def is_srcdiff(cls: Any) -> bool:
    """Whether a class, function or module is one of this package's."""
    return str(getattr(cls, "__module__", None) or getattr(cls, "__name__", "")).partition(".")[0] == "srcdiff"


def accept(value: Any, what: str, findings: Findings, look: Look) -> bool:
    """Look at an object, whose parts are looked at by `look`. False if it is none of the kinds above."""
    kind = type(value)
    if id(value) in findings.seen:
        return True
    if isinstance(value, TensorBase):
        if kind.__module__.partition(".")[0] != "srcdiff":
            return False
        _remember(value, findings)
        findings.tensors[id(value)] = (value, what.rpartition(" ")[2])
        return True
    if kind in KINDS:
        _remember(value, findings)
        _container(value, what, findings, look)
        if kind in WRITABLE:
            findings.containers.append((value, what))
        return True
    if kind is MethodType:
        _remember(value, findings)
        look(value.__self__, what, findings)
        look(value.__func__, what, findings)
        return True
    if kind is type and makes_plain_instances(value):
        _remember(value, findings)
        _sizes(value, findings)
        findings.classes.append((value, what))
        return True
    if kind is type and is_plain_error(value):
        _remember(value, findings)
        _sizes(value, findings)
        return True
    base = _kind_of_srcdiff(kind)
    if base is None and not is_instance(value):
        return False
    _remember(value, findings)
    if value is not findings.bound:
        findings.reads.append(Read("type", value, what.rpartition(" ")[2], kind))
    _sizes(kind, findings)
    if base == "module":
        _module(value, what, findings, look)
    findings.instances.append((value, what, frozenset(("forward",)) if base == "module" else frozenset()))
    return True


def _remember(value: Any, findings: Findings) -> None:
    findings.seen.add(id(value))
    findings.kept.append(value)


def _sizes(cls: Any, findings: Findings) -> None:
    """A method that a class of the user's gets later may decide what an operator or an inherited name means."""
    for base in cls.__mro__[:-1]:
        if not is_srcdiff(base) and base.__module__ != "builtins":
            findings.reads.append(Read("class size", base, base.__name__, (len(vars(base)), base.__mro__)))


def _kind_of_srcdiff(cls: Any) -> str | None:
    """ "module" for modules, "owner" for optimizers and schedules, None for others."""
    for base in cls.__mro__:
        name = (base.__module__, base.__qualname__)
        if name == ("srcdiff.nn.module", "Module"):
            return "module"
        if name in (("srcdiff.optim.optimizer", "Optimizer"), ("srcdiff.optim.lr_scheduler.base", "LRScheduler")):
            return "owner"
    return None


def is_instance(value: Any) -> bool:
    """Whether it is an instance of a plain class of the user's."""
    kind = type(value)
    return _kind_of_srcdiff(kind) is None and not is_srcdiff(kind) and is_plain_class(kind) and kind is not object


def is_owner(value: Any) -> bool:
    """Whether it is a module, an optimizer or a schedule, which a step may be given."""
    return not isinstance(value, type) and _kind_of_srcdiff(type(value)) is not None


def _container(value: Any, what: str, findings: Findings, look: Look) -> None:
    keys, parts = content_of(value)
    content = parts if keys is None else (keys, parts)
    findings.reads.append(Read("content", value, what.rpartition(" ")[2], content))
    for part in parts:
        look(part, what, findings)
    if getattr(value, "default_factory", None) not in (None, *_MAKERS):
        look(value.default_factory, what, findings)


def _module(module: Any, what: str, findings: Findings, look: Look) -> None:
    state = module.__dict__
    if module._hooked and any(state[table] for table in state if table.endswith("_hooks")):
        raise RefusedError(f"{what} is a module with hooks")
    few = len(state) <= FEW  # of others all is looked at at once
    values = tuple(ANYTHING if few and name in _ASIDE else value for name, value in state.items())
    findings.reads.append(Read("content", state, "state", (tuple(state), values)))
    for name, part in state.items():
        if name in _ASIDE or name.endswith("_hooks"):
            continue
        if name in TABLES:
            findings.reads.append(Read("content", part, name, (tuple(part), tuple(part.values()))))
            for key, inner in part.items():
                look(inner, f"{what}_{key}", findings)
        else:
            look(part, f"{what}.{name}", findings)
    for base in type(module).__mro__:
        if not is_srcdiff(base) and base is not object and not is_plain_base(base):
            raise RefusedError(f"{what} is a {base.__qualname__}, whose attributes cannot be told beforehand")


def resolve(name: str, known: Any, findings: Findings, look: Look) -> bool:
    """Look at what an attribute of that name is of an instance. Whether there is one."""
    instance, what, _ = known
    state = state_of(instance)
    kind = _kind_of_srcdiff(type(instance))
    if kind == "owner":
        return _of_owner(name, instance, what, findings)
    module = "_parameters" in state and kind == "module"
    if module and (name in state["_parameters"] or name in state["_buffers"] or name in state["_modules"]):
        return True
    base = next((each for each in type(instance).__mro__ if name in vars(each)), None)
    decides = base is not None and not is_srcdiff(base) and hasattr(type(vars(base)[name]), "__set__")
    if name in state and not decides:
        if not module:
            findings.reads.append(Read("attribute", state, name, state[name]))
            look(state[name], f"{what}.{name}", findings)
        return True
    if base is None or base is object or is_space(type(instance)):
        return False
    if is_srcdiff(base):
        _inherited(base, name, type(instance), findings)
        return name in _METHODS_OF_MODULES
    if type(vars(base)[name]) is MemberDescriptorType:
        _inherited(base, name, type(instance), findings)
        value = getattr(instance, name, MISSING)
        findings.reads.append(Read("slot", instance, name, value))
        if value is not MISSING:
            look(value, f"{what}.{name}", findings)
        return True
    if not module and not decides:
        findings.reads.append(Read("attribute", state, name, MISSING))
    _of_class(type(instance), base, name, what, findings, look)
    _of_bases(type(instance), base, name, what, findings, look)
    return True


def _of_owner(name: str, owner: Any, what: str, findings: Findings) -> bool:
    """The same for an optimizer or a schedule, of which nothing but effects may be used: they are called again."""
    state = owner.__dict__
    if name in state:
        raise RefusedError(f"{what}.{name} is an attribute of the {type(owner).__qualname__} itself")
    for base in type(owner).__mro__[:-1]:
        if name in vars(base):
            value = vars(base)[name]
            if not is_effect(value):
                raise RefusedError(f"{what}.{name} is no method that is called again at each replay")
            findings.reads.append(Read("attribute", state, name, MISSING))
            _inherited(base, name, type(owner), findings)
            return True
    return False


def _inherited(base: Any, name: str, cls: Any, findings: Findings) -> None:
    """`cls` has an attribute from `base`: that the attribute is what it is, and none is before it."""
    bases = cls.__mro__[: cls.__mro__.index(base)]
    findings.reads += [Read("class attribute", each, name, MISSING) for each in bases]
    findings.reads.append(Read("class attribute", base, name, vars(base)[name]))


def resolve_class(name: str, cls: Any, what: str, findings: Findings, look: Look) -> bool:
    """Look at what an attribute of that name is of the instances of a class that the function makes itself, as far as
    the class has it: its methods may store into `self`. Whether there is one.
    """
    for base in cls.__mro__[:-1]:
        if name in vars(base):
            value = vars(base)[name]
            if is_generated(value):
                _fields(base, name, what, findings, look)
                return True
            if type(value) is FunctionType:
                findings.methods.add(id(value))
            _of_class(cls, base, name, what, findings, look)
            _of_bases(cls, base, name, what, findings, look)
            return True
    return False


def _of_bases(cls: Any, known: Any, name: str, what: str, findings: Findings, look: Look) -> None:
    """Look at what `super()` may find of that name, after the base that has it first."""
    bases = cls.__mro__[cls.__mro__.index(known) + 1 : -1] if findings.supers else ()
    for base in bases:
        value = vars(base).get(name, MISSING)
        findings.reads.append(Read("class attribute", base, name, value))
        if type(value) is FunctionType:
            findings.methods.add(id(value))
        if value is not MISSING:
            _part_of_class(value, f"{what}.{name}", findings, look)


def _fields(cls: Any, name: str, what: str, findings: Findings, look: Look) -> None:
    """Look at a method that `dataclasses` has written."""
    findings.reads.append(Read("class attribute", cls, name, vars(cls)[name]))
    for field in dataclasses.fields(cls):
        findings.fields.add(field.name)
        if field.default_factory not in (dataclasses.MISSING, *_MAKERS):
            look(field.default_factory, f"{what}.{field.name}", findings)


_MAKERS = (list, dict, set, tuple, int, float)
#: what may be called on modules of srcdiff
_METHODS_OF_MODULES = frozenset((
    "forward", "parameters", "named_parameters", "modules", "children", "named_children", "named_modules", "training",
    "zero_grad", "append", "extend", "insert", "pop", "keys", "values", "items", "__call__",
))  # fmt: skip


def _of_class(cls: Any, base: Any, name: str, what: str, findings: Findings, look: Look) -> None:
    """Look at an attribute that instances of `cls` have from `base`, a class of the user's."""
    _inherited(base, name, cls, findings)
    _part_of_class(vars(base)[name], f"{what}.{name}", findings, look)


def _part_of_class(value: Any, what: str, findings: Findings, look: Look) -> None:
    if type(value) is MemberDescriptorType:  # a slot of an instance that the function makes
        return
    if isinstance(value, property):
        parts: tuple[Any, ...] = (value.fget,)
    elif isinstance(value, (staticmethod, classmethod)):
        parts = (value.__func__,)
    elif is_srcdiff(type(value)) and type(getattr(value, "_function", None)) is FunctionType:
        parts = (value._function,)  # a method under a transformation
    elif type(value) is FunctionType or not hasattr(type(value), "__get__"):
        parts = (value,)
    else:
        raise RefusedError(f"{what} is a {type(value).__qualname__}, which may do anything")
    for part in parts:
        look(part, what, findings)


def may_be_something_else(name: str) -> bool:
    """Whether arrays, Tensors, containers or numbers have an attribute of that name."""
    return any(hasattr(kind, name) for kind in (record.Tensor, *_KINDS))


_KINDS: tuple[Any, ...] = (
    np.ndarray, np.float64, *KINDS, tuple, str, int, float, set, ModuleType, FunctionType,
)  # fmt: skip
