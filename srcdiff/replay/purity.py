"""Whether a function's work is decided by its arguments alone: the proof that a recorded call may be replayed.

`examine` reads the bytecode of a function and of every Python function it can reach, before anything runs. It accepts
only what cannot be told apart from replaying: local names, arithmetic, subscripts, loops, branches, and calls of a
fixed list of pure NumPy functions, array methods, builtins and of functions examined likewise. What is read from
outside (globals, closure cells, defaults, the functions themselves) is returned as `Read`s, which the guard looks at
again on every call. Everything else is refused with the reason, the file and the line; the function is then traced on
every call, which is always right.
"""

from __future__ import annotations

import builtins
import dis
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from srcdiff.origin import where
from srcdiff.replay.allowed import (
    ATTRIBUTES,
    BUILTINS,
    FUNCTIONS,
    INSTRUCTIONS,
    INTRINSICS,
    MODULES,
    MUTATORS,
    ORIGINAL_BUILTINS,
    ORIGINALS,
    SCALAR_TYPES,
)
from srcdiff.replay.records import is_plain_record

#: the largest array read from outside that is compared with what it was on every call
MOST_BYTES = 32_768


class RefusedError(Exception):
    """The function cannot be proved to be replayable."""


@dataclass(frozen=True, slots=True)
class Read:
    """A value read from outside. `kind` is "global" or "module" (holder: the dict), "cell" (holder: the cell), "code"
    or "defaults" (holder: the function), "class" (holder: the class of namedtuples, value: what is in it)."""

    kind: str
    holder: Any
    name: str
    value: Any


@dataclass(slots=True)
class Findings:
    """What a function reads from outside, and whether it stores into containers that could be the caller's."""

    reads: list[Read] = field(default_factory=list)
    stores: bool = False
    #: functions that call isinstance
    asks: list[Any] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)
    #: attributes read, with code and instruction; and those allowed besides the listed ones (fields of namedtuples)
    attributes: list[tuple[CodeType, int, str]] = field(default_factory=list)
    fields: set[str] = field(default_factory=set)
    #: what attributes could be read of that the user may have changed
    modules: list[ModuleType] = field(default_factory=list)
    objects: list[Any] = field(default_factory=list)
    #: arrays read from outside
    arrays: list[Any] = field(default_factory=list)


_WHY = {
    "STORE_GLOBAL": "writes a global", "DELETE_GLOBAL": "deletes a global", "STORE_ATTR": "writes an attribute",
    "DELETE_ATTR": "deletes an attribute", "IMPORT_NAME": "imports a module", "LOAD_BUILD_CLASS": "defines a class",
    "BEFORE_WITH": "uses a context manager", "PUSH_EXC_INFO": "handles exceptions", "IS_OP": "compares identities",
    "DELETE_SUBSCR": "deletes elements", "DELETE_DEREF": "deletes a variable that functions share",
    "MATCH_CLASS": "matches a class", "LOAD_SUPER_ATTR": "uses super()", "LOAD_NAME": "looks names up in a dictionary",
}  # fmt: skip


def examine(function: Callable[..., Any], static: tuple[Any, ...] = ()) -> Findings:
    """What `function` reads from outside; `static` are arguments that are no data (functions, modules). Raises
    RefusedError."""
    findings = Findings()
    _value(function, "the function", findings)
    for argument in static:
        _value(argument, "an argument", findings)
    if np in findings.modules and any(name == "linalg" for _, _, name in findings.attributes):
        findings.modules.append(np.linalg)
    for code, here, name in findings.attributes:
        _attribute(code, here, name, findings)
    return findings


def _attribute(code: CodeType, here: int, name: str, findings: Findings) -> None:
    """Accept the attribute of whatever it may be read of."""
    if name in MUTATORS:
        findings.stores = True
    elif name not in ATTRIBUTES and name not in findings.fields:
        raise RefusedError(f"{where(code, here)}: .{name} is not known to be free of effects")
    for holder in findings.objects:
        if name in holder.__dict__:
            raise RefusedError(
                f"{where(code, here)}: .{name} may be the attribute of a function, which may change unseen"
            )
    for module in findings.modules:
        _of_module(module, code, here, name, findings)


def _of_module(module: ModuleType, code: CodeType, here: int, name: str, findings: Findings) -> None:
    namespace = vars(module)
    if name not in namespace:
        return
    value = namespace[name]
    known = ORIGINALS.get(module.__name__)
    if known is not None and known.get(name, MISSING) is not value:
        raise RefusedError(
            f"{where(code, here)}: {module.__name__}.{name} is not what it was when srcdiff was imported"
        )
    findings.reads.append(Read("module", namespace, name, value))


def _value(value: Any, what: str, findings: Findings) -> None:
    """Accept a value from outside, or raise RefusedError."""
    kind = type(value)
    if _is_numpy_function(value) or _is_ufunc(value) or kind in _PLAIN or kind in SCALAR_TYPES:
        return
    if kind is FunctionType:
        _function(value, findings)
    elif kind is tuple:
        for part in value:
            _value(part, what, findings)
    elif isinstance(value, ModuleType):
        if not any(value is module for module in MODULES) and value is not sys.modules.get("srcdiff"):
            raise RefusedError(f"{what} is the module {value.__name__}, whose functions may have effects")
        if not any(value is module for module in findings.modules):
            findings.modules.append(value)
    elif kind is np.ndarray:
        if value.nbytes > MOST_BYTES:
            raise RefusedError(f"{what} is a large array from outside, which would have to be compared on every call")
        if value.dtype.kind not in "?biufc":
            raise RefusedError(f"{what} is an array of {value.dtype}")
        findings.arrays.append(value)
    elif (isinstance(value, np.dtype) and value.names is None) or _is_listed(value):
        return
    elif getattr(kind, "replayed_function", None) is not None and kind.__module__.startswith("srcdiff."):
        findings.objects.append(value)
        _value(value.replayed_function, what, findings)
    elif kind is type and issubclass(value, tuple) and hasattr(value, "_fields"):
        _record(value, what, findings)
    else:
        raise RefusedError(f"{what} is a {kind.__module__}.{kind.__qualname__}, which may change unseen")


_PLAIN = (int, float, bool, complex, str, bytes, type(None), type(Ellipsis))


def _record(cls: Any, what: str, findings: Findings) -> None:
    """Accept a class of namedtuples that has nothing but fields."""
    if not is_plain_record(cls):
        raise RefusedError(f"{what} is a {cls.__name__} with methods of its own")
    findings.fields.update(cls._fields, ("_replace",))
    findings.reads.append(Read("class", cls, cls.__name__, tuple(vars(cls).items())))
    findings.reads.append(Read("defaults", cls.__new__, cls.__name__, _defaults(cls.__new__)))
    for default in cls.__new__.__defaults__ or ():
        _value(default, f"a default of {cls.__name__}", findings)


def _is_listed(value: Any) -> bool:
    """Whether it is a function of `math`, a type of NumPy's numbers, or one of the tools of the standard library."""
    if type(value) is BuiltinFunctionType:
        return value.__module__ == "math"
    return (type(value) is type and value in SCALAR_TYPES) or any(value is each for each in FUNCTIONS)


def _is_numpy_function(value: Any) -> bool:
    name = getattr(value, "__name__", "")
    return type(value) in _NUMPY_CALLABLES and any(known.get(name) is value for known in ORIGINALS.values())


def _is_ufunc(value: Any) -> bool:
    """Whether it is a ufunc of NumPy or SciPy: `np.frompyfunc` makes ufuncs of any Python function."""
    if type(value) is not np.ufunc:
        return False
    special = sys.modules.get("scipy.special")
    name = value.__name__
    return ORIGINALS["numpy"].get(name) is value or getattr(special, name, None) is value


_NUMPY_CALLABLES = (type(np.sum), FunctionType, BuiltinFunctionType)


def _function(function: Any, findings: Findings) -> None:
    if id(function) in findings.seen:
        return
    findings.seen.add(id(function))
    if getattr(function, "replayable_inside", False) is True and function.__module__ == "srcdiff.api.transforms":
        return
    findings.objects.append(function)
    code = function.__code__
    here = where(code, 0)
    if type(function.__globals__) is not dict or function.__builtins__ is not vars(builtins):
        raise RefusedError(f"{here}: {code.co_name} has builtins of its own")
    findings.reads.append(Read("code", function, code.co_name, code))
    findings.reads.append(Read("defaults", function, code.co_name, _defaults(function)))
    for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        _value(default, f"{here}: a default of {code.co_name}", findings)
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            content = cell.cell_contents
        except ValueError:
            raise RefusedError(f"{here}: the variable {name} of {code.co_name} has no value yet") from None
        findings.reads.append(Read("cell", cell, name, content))
        _value(content, f"{here}: the variable {name}", findings)
    outer = frozenset(code.co_freevars)
    for inner in _codes(code):
        _scan(inner, function, outer, findings)


def _defaults(function: Any) -> tuple[Any, Any]:
    keyword = function.__kwdefaults__
    return function.__defaults__, None if keyword is None else dict(keyword)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _codes(const)


def _scan(code: CodeType, function: Any, outer: frozenset[str], findings: Findings) -> None:
    if code.co_flags & 0x380:  # coroutines, asynchronous generators
        raise RefusedError(f"{where(code, 0)}: {code.co_name} is asynchronous")
    before: Any = None
    for instruction in dis.get_instructions(code):
        name = instruction.opname
        here = instruction.offset
        listed = name in INSTRUCTIONS and (name != "CALL_INTRINSIC_1" or instruction.arg in INTRINSICS)
        listed = listed or (name == "IS_OP" and not instruction.is_jump_target and _is_singleton(before))
        before = instruction
        if not listed:
            raise RefusedError(f"{where(code, here)}: {code.co_name} {_WHY.get(name, f'uses {name}')}")
        if name == "STORE_DEREF" and instruction.argval in outer:
            raise RefusedError(f"{where(code, here)}: {code.co_name} writes the outer variable {instruction.argval}")
        if name in ("STORE_SUBSCR", "STORE_SLICE"):
            findings.stores = True
        elif name in ("LOAD_ATTR", "LOAD_METHOD"):
            findings.attributes.append((code, here, instruction.argval))
        elif name == "LOAD_GLOBAL":
            if instruction.argval == "isinstance":
                if not (instruction.arg or 0) & 1:
                    raise RefusedError(f"{where(code, here)}: isinstance is not called where it is named")
                findings.asks.append(function)
            _global(code, here, instruction.argval, function.__globals__, findings)


def _is_singleton(instruction: Any) -> bool:
    """Whether an instruction loads a constant whose identity is its value."""
    return instruction is not None and instruction.opname == "LOAD_CONST" and instruction.argval in (None, True, False)


def _global(code: CodeType, here: int, name: str, namespace: dict[str, Any], findings: Findings) -> None:
    if name in namespace:
        value = namespace[name]
        findings.reads.append(Read("global", namespace, name, value))
        _value(value, f"{where(code, here)}: {name}", findings)
        return
    value = vars(builtins).get(name, MISSING)
    if value is MISSING:
        raise RefusedError(f"{where(code, here)}: the name {name} is not defined")
    if name not in BUILTINS:
        raise RefusedError(f"{where(code, here)}: {name}() is not known to be free of effects")
    if ORIGINAL_BUILTINS.get(name, MISSING) is not value:
        raise RefusedError(f"{where(code, here)}: the builtin {name} is not what it was when srcdiff was imported")
    findings.reads.append(Read("global", namespace, name, MISSING))
    findings.reads.append(Read("global", vars(builtins), name, value))


class _Missing:
    """What a global that is not there reads as."""


MISSING = _Missing()
