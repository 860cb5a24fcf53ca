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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from srcdiff.origin import where
from srcdiff.replay.allowed import ATTRIBUTES, BUILTINS, FUNCTIONS, MODULES, MUTATORS


class RefusedError(Exception):
    """The function cannot be proved to be replayable."""


@dataclass(frozen=True, slots=True)
class Read:
    """A value read from outside. `kind` is "global" (holder: the dict), "cell" (holder: the cell), "code" or "defaults"
    (holder: the function)."""

    kind: str
    holder: Any
    name: str
    value: Any


@dataclass(slots=True)
class Findings:
    """What a function reads from outside, and whether it stores into containers that could be the caller's."""

    reads: list[Read] = field(default_factory=list)
    stores: bool = False
    #: it calls isinstance
    asks: bool = False
    seen: set[int] = field(default_factory=set)
    #: attributes read, with code and instruction; and those allowed besides the listed ones (fields of namedtuples)
    attributes: list[tuple[CodeType, int, str]] = field(default_factory=list)
    fields: set[str] = field(default_factory=set)


_FORBIDDEN = frozenset({
    "STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR", "IMPORT_NAME", "IMPORT_FROM", "IMPORT_STAR",
    "LOAD_BUILD_CLASS", "STORE_NAME", "DELETE_NAME", "LOAD_NAME", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF",
    "LOAD_FROM_DICT_OR_GLOBALS", "LOAD_LOCALS", "SETUP_ANNOTATIONS", "PRINT_EXPR", "GET_AWAITABLE", "GET_AITER",
    "GET_ANEXT", "MATCH_CLASS", "LOAD_SUPER_ATTR", "BEFORE_WITH", "BEFORE_ASYNC_WITH", "FORMAT_SIMPLE",
    "IS_OP", "DELETE_SUBSCR", "LOAD_METHOD_SUPER",
    "SETUP_FINALLY", "PUSH_EXC_INFO",
})  # fmt: skip
_WHY = {
    "STORE_GLOBAL": "writes a global", "STORE_ATTR": "writes an attribute", "IMPORT_NAME": "imports a module",
    "LOAD_BUILD_CLASS": "defines a class", "BEFORE_WITH": "uses a context manager",
    "PUSH_EXC_INFO": "handles exceptions", "IS_OP": "compares identities",
}  # fmt: skip


def examine(function: Callable[..., Any], static: tuple[Any, ...] = ()) -> Findings:
    """What `function` reads from outside; `static`: arguments that are no data, as functions. Raises RefusedError."""
    findings = Findings()
    _value(function, "the function", findings)
    for argument in static:
        _value(argument, "an argument", findings)
    for code, here, name in findings.attributes:
        if name in MUTATORS:
            findings.stores = True
        elif name not in ATTRIBUTES and name not in findings.fields:
            raise RefusedError(f"{where(code, here)}: .{name} is not known to be free of effects")
    return findings


def _is_constant(value: Any) -> bool:
    """Whether a value from outside cannot change, nor have an effect when it is called."""
    if _is_numpy_function(value) or isinstance(value, (np.generic, np.dtype, np.ufunc)):
        return True
    if isinstance(value, type) and issubclass(value, np.generic):
        return True
    if isinstance(value, BuiltinFunctionType) and value.__module__ == "math":
        return True
    if any(value is each for each in FUNCTIONS) or getattr(value, "replayable_inside", False) is True:
        return True
    return type(value) in (int, float, bool, complex, str, bytes, type(None), type(Ellipsis))


def _value(value: Any, what: str, findings: Findings) -> None:
    """Accept a value from outside, or raise RefusedError."""
    kind = type(value)
    if _is_constant(value):
        return
    if kind is FunctionType:
        _function(value, findings)
    elif kind is tuple:
        for part in value:
            _value(part, what, findings)
    elif isinstance(value, ModuleType):
        if value not in MODULES and value.__name__ != "srcdiff":
            raise RefusedError(f"{what} is the module {value.__name__}, whose functions may have effects")
    elif kind is np.ndarray:
        if value.nbytes > 32_768:
            raise RefusedError(f"{what} is a large array from outside, which would have to be compared on every call")
        if value.dtype.hasobject:
            raise RefusedError(f"{what} is an array of objects")
    elif hasattr(kind, "replayed_function"):
        _value(value.replayed_function, what, findings)
    elif isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
        if value.__new__.__module__ != f"namedtuple_{value.__name__}":
            raise RefusedError(f"{what} is a {value.__name__} with a constructor of its own")
        findings.fields.update(value._fields, ("_replace",))
    else:
        raise RefusedError(f"{what} is a {kind.__module__}.{kind.__qualname__}, which may change unseen")


def _is_numpy_function(value: Any) -> bool:
    name = getattr(value, "__name__", None)
    return type(value) in _NUMPY_CALLABLES and name in ATTRIBUTES and getattr(np, name, None) is value


_NUMPY_CALLABLES = (type(np.sum), FunctionType, BuiltinFunctionType)


def _function(function: Any, findings: Findings) -> None:
    if id(function) in findings.seen:
        return
    findings.seen.add(id(function))
    code = function.__code__
    findings.reads.append(Read("code", function, code.co_name, code))
    findings.reads.append(Read("defaults", function, code.co_name, (function.__defaults__, function.__kwdefaults__)))
    for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        _value(default, f"a default of {code.co_name}", findings)
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            content = cell.cell_contents
        except ValueError:
            raise RefusedError(f"the variable {name} of {code.co_name} has no value yet") from None
        findings.reads.append(Read("cell", cell, name, content))
        _value(content, f"the variable {name}", findings)
    outer = frozenset(code.co_freevars)
    for inner in _codes(code):
        _scan(inner, function.__globals__, outer, findings)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _codes(const)


def _scan(code: CodeType, namespace: dict[str, Any], outer: frozenset[str], findings: Findings) -> None:
    if code.co_flags & 0x280:  # coroutine, async generator
        raise RefusedError(f"{where(code, 0)}: {code.co_name} is asynchronous")
    for instruction in dis.get_instructions(code):
        name = instruction.opname
        here = instruction.offset
        if name in _FORBIDDEN:
            raise RefusedError(f"{where(code, here)}: {code.co_name} {_WHY.get(name, f'uses {name}')}")
        if name == "STORE_DEREF" and instruction.argval in outer:
            raise RefusedError(f"{where(code, here)}: {code.co_name} writes the outer variable {instruction.argval}")
        if name == "STORE_SUBSCR" or name == "STORE_SLICE":
            findings.stores = True
        elif name in ("LOAD_ATTR", "LOAD_METHOD"):
            findings.attributes.append((code, here, instruction.argval))
        elif name == "LOAD_GLOBAL":
            _global(code, here, instruction.argval, namespace, findings)


def _global(code: CodeType, here: int, name: str, namespace: dict[str, Any], findings: Findings) -> None:
    if name in namespace:
        value = namespace[name]
        findings.reads.append(Read("global", namespace, name, value))
        _value(value, f"{where(code, here)}: {name}", findings)
        return
    if not hasattr(builtins, name):
        raise RefusedError(f"{where(code, here)}: the name {name} is not defined")
    if name not in BUILTINS:
        raise RefusedError(f"{where(code, here)}: {name}() is not known to be free of effects")
    findings.asks = findings.asks or name == "isinstance"
    findings.reads.append(Read("global", namespace, name, MISSING))


class _Missing:
    """What a global that is not there reads as."""


MISSING = _Missing()
