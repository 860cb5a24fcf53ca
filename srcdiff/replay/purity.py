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
    STEP_INSTRUCTIONS,
    STEPS,
)
from srcdiff.replay.findings import MISSING, Findings, Read, RefusedError
from srcdiff.replay.instructions import into_self, is_returned, is_singleton, is_with
from srcdiff.replay.objects import (
    accept,
    implicit,
    is_srcdiff,
    may_be_something_else,
    resolve,
    resolve_class,
)
from srcdiff.replay.records import is_plain_record

#: the largest array read from outside that is compared with what it was on every call
MOST_BYTES = 32_768


_WHY = {
    "STORE_GLOBAL": "writes a global", "DELETE_GLOBAL": "deletes a global", "STORE_ATTR": "writes an attribute",
    "DELETE_ATTR": "deletes an attribute", "IMPORT_NAME": "imports a module", "LOAD_BUILD_CLASS": "defines a class",
    "BEFORE_WITH": "uses a context manager", "PUSH_EXC_INFO": "handles exceptions", "IS_OP": "compares identities",
    "DELETE_SUBSCR": "deletes elements", "DELETE_DEREF": "deletes a variable that functions share",
    "MATCH_CLASS": "matches a class", "LOAD_SUPER_ATTR": "uses super()", "LOAD_NAME": "looks names up in a dictionary",
}  # fmt: skip


def examine(
    function: Callable[..., Any], bound: Any = None, static: tuple[Any, ...] = (), step: bool = False
) -> Findings:  # fmt: skip
    """What `function` reads from outside; it is a method if there is something that it is `bound` to, `static` are
    arguments that are no data (functions, modules). A training `step` may have srcdiff's own effects. Raises
    RefusedError.
    """
    findings = Findings(step=step, bound=bound)
    _value(function, "the function", findings)
    if bound is not None:
        _value(bound, "self", findings)
    for argument in static:
        _value(argument, "an argument", findings)
    _resolve(findings)
    if any(name == "linalg" for _, _, name in findings.attributes):
        findings.modules += [inner for module in findings.modules if (inner := vars(module).get("linalg")) in MODULES]
    for _, _, name in findings.stored:
        if not may_be_something_else(name):
            findings.fields.add(name)
    for code, here, name in findings.attributes:
        _attribute(code, here, name, findings)
    if findings.stored and findings.instances:
        code, here, name = findings.stored[0]
        raise RefusedError(
            f"{where(code, here)}: .{name} is stored, and {findings.instances[0][1]} is read from outside"
        )
    if findings.stores and findings.containers and not step:
        container, what = findings.containers[0]
        raise RefusedError(f"{what} is a builtins.{type(container).__name__}, and the function stores into containers")
    return findings


def _resolve(findings: Findings) -> None:
    """Look at what the names in the code are as attributes of the instances there are, until there is nothing new."""
    done: set[tuple[int, str]] = set()
    before = -1
    while before != len(done) + len(findings.modules) + len(findings.stored):
        before = len(done) + len(findings.modules) + len(findings.stored)
        names = {name for _, _, name in findings.attributes}
        for known in list(findings.instances):
            for name in names.union(implicit(type(known[0])), known[2]):
                if (id(known[0]), name) not in done:
                    done.add((id(known[0]), name))
                    if resolve(name, known, findings, _value) and not may_be_something_else(name):
                        findings.fields.add(name)
        for cls, what in list(findings.classes):
            for name in names.union(implicit(cls), ("__init__", "__post_init__")):
                if (id(cls), name) not in done:
                    done.add((id(cls), name))
                    if resolve_class(name, cls, what, findings, _value) and not may_be_something_else(name):
                        findings.fields.add(name)
        for module in list(findings.modules):
            for name in names:
                part = vars(module).get(name)
                if isinstance(part, ModuleType) and is_srcdiff(part):
                    _value(part, name, findings)


def _attribute(code: CodeType, here: int, name: str, findings: Findings) -> None:
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
        if not any(value is module for module in MODULES) and not is_srcdiff(value):
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
    elif not (accept(value, what, findings, _value) and (findings.step or not findings.tensors)):
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
    findings.top = findings.top or function
    if getattr(function, "replayable_inside", False) is True and function.__module__ == "srcdiff.api.transforms":
        return
    if is_srcdiff(function) and (function.__name__ in ATTRIBUTES or (findings.step and function.__name__ in STEPS)):
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
    instructions = list(dis.get_instructions(code))
    for k, instruction in enumerate(instructions):
        name = instruction.opname
        here = instruction.offset
        listed = name in INSTRUCTIONS and (name != "CALL_INTRINSIC_1" or instruction.arg in INTRINSICS)
        listed = listed or (name == "IS_OP" and not instruction.is_jump_target and is_singleton(before))
        listed = listed or (findings.step and name in STEP_INSTRUCTIONS and is_with(instructions, k))
        listed = listed or (
            findings.step and name in ("STORE_ATTR", "DELETE_ATTR") and instruction.argval in ("grad", "data")
        )
        if name == "STORE_ATTR" and not listed and into_self(function, code, before):
            findings.stored.append((code, here, instruction.argval))
            listed = id(function) in findings.methods
        before = instruction
        if not listed:
            raise RefusedError(f"{where(code, here)}: {code.co_name} {_WHY.get(name, f'uses {name}')}")
        if name == "STORE_DEREF" and instruction.argval in outer:
            raise RefusedError(f"{where(code, here)}: {code.co_name} writes the outer variable {instruction.argval}")
        if name in ("STORE_SUBSCR", "STORE_SLICE"):
            findings.stores = True
        elif name in ("LOAD_ATTR", "LOAD_METHOD"):
            findings.attributes.append((code, here, instruction.argval))
            first = function is findings.top and code is function.__code__
            if instruction.argval == "item" and not (first and is_returned(instructions, k)):
                findings.numbers_returned = False
        elif name == "LOAD_GLOBAL":
            if instruction.argval == "isinstance":
                if not (instruction.arg or 0) & 1:
                    raise RefusedError(f"{where(code, here)}: isinstance is not called where it is named")
                findings.asks.append(function)
            _global(code, here, instruction.argval, function.__globals__, findings)


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
