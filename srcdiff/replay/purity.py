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
import dataclasses
import dis
import functools
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from srcdiff.origin import where
from srcdiff.replay.allowed import (
    ATTRIBUTES,
    BUILTINS,
    INSTRUCTIONS,
    INTRINSICS,
    MODULES,
    ORIGINAL_BUILTINS,
    STEPS,
)
from srcdiff.replay.attributes import accept_attribute, is_listed_part, resolve_all
from srcdiff.replay.dotted import follow, is_namespace
from srcdiff.replay.enums import is_member
from srcdiff.replay.findings import MISSING, Findings, Read, RefusedError
from srcdiff.replay.instructions import (
    compares_objects,
    follows_super,
    into_self,
    is_called_by_name,
    is_format,
    is_returned,
    is_singleton,
)
from srcdiff.replay.known import compares, filters, is_known, stores
from srcdiff.replay.objects import (
    accept,
    is_srcdiff,
    may_be_something_else,
)
from srcdiff.replay.readings import imported, matched, read_by_name
from srcdiff.replay.records import added
from srcdiff.replay.values import MANAGING, defaults, is_constant, manager, partial, record

#: the largest array read from outside that is compared with what it was on every call
MOST_BYTES = 32_768


_WHY = {
    "STORE_GLOBAL": "writes a global", "DELETE_GLOBAL": "deletes a global", "STORE_ATTR": "writes an attribute",
    "DELETE_ATTR": "deletes an attribute", "IMPORT_NAME": "imports a module", "LOAD_BUILD_CLASS": "defines a class",
    "IS_OP": "compares identities",
    "DELETE_DEREF": "deletes a variable that functions share",
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
    resolve_all(findings, _value)
    if any(name == "linalg" for _, _, name in findings.attributes):
        findings.modules += [inner for module in findings.modules if (inner := vars(module).get("linalg")) in MODULES]
    for _, _, name in findings.stored:
        if not may_be_something_else(name):
            findings.fields.add(name)
    for code, here, name in findings.attributes:
        accept_attribute(code, here, name, findings, _value)
    if findings.stored and findings.instances:
        code, here, name = findings.stored[0]
        raise RefusedError(
            f"{where(code, here)}: .{name} is stored, and {findings.instances[0][1]} is read from outside"
        )
    return findings


def _value(value: Any, what: str, findings: Findings) -> None:
    """Accept a value from outside, or raise RefusedError."""
    kind = type(value)
    if is_known(value):
        if findings.step and (value is np.errstate or filters(value)):
            raise RefusedError(f"{what} changes how errors are told")
        findings.filters = findings.filters or filters(value)
        findings.compares = findings.compares or compares(value)
        findings.makes = findings.makes or value is dataclasses.replace
        findings.stores = findings.stores or stores(value)
        return
    if is_constant(value):
        return
    if kind is FunctionType:
        _function(value, what, findings)
    elif kind is tuple or (isinstance(value, tuple) and added(kind) is not None):
        if kind is not tuple:
            _value(kind, what, findings)
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
    elif getattr(kind, "replayed_function", None) is not None and kind.__module__.startswith("srcdiff."):
        if findings.step and not kind.replayed_in_steps:
            raise RefusedError(f"{what} is a {kind.__qualname__}, whose work inside of a step is not looked into")
        findings.objects.append(value)
        _value(value.replayed_function, what, findings)
    elif kind is functools.partial:
        partial(value, what, findings, _value)
    elif kind is type and issubclass(value, tuple) and hasattr(value, "_fields"):
        record(value, what, findings, _value)
    elif not (accept(value, what, findings, _value) and (findings.step or not findings.tensors)):
        if callable(value) and not isinstance(value, type) and hasattr(value, "__name__"):
            raise RefusedError(f"{what} is not known to be free of effects")
        raise RefusedError(f"{what} is a {kind.__module__}.{kind.__qualname__}, which may change unseen")


def _function(function: Any, what: str, findings: Findings) -> None:
    if id(function) in findings.seen:
        return
    findings.seen.add(id(function))
    findings.top = findings.top or function
    if getattr(function, "replayable_inside", False) is True and function.__module__ == "srcdiff.api.transforms":
        return
    if is_srcdiff(function) and (function.__name__ in ATTRIBUTES or (findings.step and function.__name__ in STEPS)):
        return
    if str(function.__globals__.get("__name__", "")).startswith("srcdiff."):
        raise RefusedError(f"{what} is not known to be free of effects")
    findings.objects.append(function)
    code = function.__code__
    if code is MANAGING:
        manager(function, what, findings, _value)
        return
    here = where(code, 0)
    if type(function.__globals__) is not dict or function.__builtins__ is not vars(builtins):
        raise RefusedError(f"{here}: {code.co_name} has builtins of its own")
    findings.reads.append(Read("code", function, code.co_name, code))
    findings.reads.append(Read("defaults", function, code.co_name, defaults(function)))
    for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        _value(default, f"{here}: a default of {code.co_name}", findings)
    spaces: dict[str, Any] = {}  # variables that stand for modules, wherever they are read
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            content = cell.cell_contents
        except ValueError:
            raise RefusedError(f"{here}: the variable {name} of {code.co_name} has no value yet") from None
        findings.reads.append(Read("cell", cell, name, content))
        if is_namespace(content) and not any(name in inner.co_cellvars for inner in _codes(code)):
            spaces[name] = content
        else:
            _value(content, f"{here}: the variable {name}", findings)
    for inner in _codes(code):
        _scan(inner, function, spaces, findings)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _codes(const)


def _scan(code: CodeType, function: Any, spaces: dict[str, Any], findings: Findings) -> None:
    if code.co_flags & 0x380:  # coroutines, asynchronous generators
        raise RefusedError(f"{where(code, 0)}: {code.co_name} is asynchronous")
    before: Any = None
    outer = function.__code__.co_freevars
    dotted: set[int] = set()  # instructions that read attributes of modules
    fixed: dict[int, Any] = {}  # instructions that give objects which no stand-in is taken for
    instructions = list(dis.get_instructions(code))
    for k, instruction in enumerate(instructions):
        name = instruction.opname
        here = instruction.offset
        listed = name in INSTRUCTIONS and (name != "CALL_INTRINSIC_1" or instruction.arg in INTRINSICS)
        listed = listed or (name == "MATCH_CLASS" and matched(fixed.get(k - 2), code, instructions, k, findings))
        listed = listed or (name == "IMPORT_NAME" and imported(code, instructions, k, findings, _value))
        listed = listed or (
            name == "IS_OP" and not instruction.is_jump_target and (is_singleton(before) or k - 1 in fixed)
        )
        if findings.step and name in ("STORE_ATTR", "DELETE_ATTR") and instruction.argval in ("grad", "data"):
            findings.sets.add(instruction.argval)
            listed = True
        if name == "STORE_ATTR" and not listed and into_self(function, code, instructions, k):
            findings.stored.append((code, here, instruction.argval))
            listed = id(function) in findings.methods
        before = instruction
        if not listed:
            raise RefusedError(f"{where(code, here)}: {code.co_name} {_WHY.get(name, f'uses {name}')}")
        if name == "STORE_DEREF" and instruction.argval in outer:
            raise RefusedError(f"{where(code, here)}: {code.co_name} writes the outer variable {instruction.argval}")
        if name == "PUSH_EXC_INFO":
            findings.catches = True
            findings.handles = findings.handles or instructions[k + 1].opname != "WITH_EXCEPT_START"
        findings.formats = findings.formats or is_format(instruction)
        findings.compares = findings.compares or compares_objects(instruction, instructions[k - 1])
        if name in ("STORE_SUBSCR", "STORE_SLICE", "DELETE_SUBSCR"):
            findings.stores = True
        elif k in dotted:
            continue
        elif name in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"):
            if instruction.argval == "__init__" and follows_super(instructions, k):
                continue
            findings.attributes.append((code, here, instruction.argval))
            first = function is findings.top and code is function.__code__
            if instruction.argval == "item" and not (first and is_returned(instructions, k)):
                findings.numbers_returned = False
        elif name == "LOAD_GLOBAL":
            if instruction.argval in ("isinstance", "type"):
                if not is_called_by_name(instructions, k):
                    raise RefusedError(f"{where(code, here)}: {instruction.argval} is not called where it is named")
                findings.asks.append(function)
                findings.makes = findings.makes or instruction.argval == "type"
            findings.sums = findings.sums or instruction.argval == "sum"
            value = _global(code, here, instruction.argval, function.__globals__, findings)
            if value is not MISSING:
                dotted |= _dotted(value, code, instructions, k, findings, fixed)
            elif isinstance(vars(builtins)[instruction.argval], type):
                fixed[k] = vars(builtins)[instruction.argval]
            if instruction.argval in ("getattr", "hasattr"):
                read_by_name(code, instructions, k, findings)
            elif instruction.argval == "super":
                findings.supers = True
        elif name == "LOAD_DEREF" and instruction.argval in spaces:
            dotted |= _dotted(spaces[instruction.argval], code, instructions, k, findings, fixed)


def _dotted(
    value: Any, code: CodeType, instructions: list[Any], k: int, findings: Findings, fixed: dict[int, Any]
) -> set[int]:
    """Look at what is read by the name that instruction k loads, with the attributes after it; the instructions that
    read these. The last one is added to `fixed` if what it gives has its identity from where it was made.
    """
    place, name = where(code, instructions[k].offset), instructions[k].argval
    steps = follow(value, instructions, k)
    for step in steps:
        findings.reads += step.reads
        name += f".{step.name}"
    if not steps:
        _value(value, f"{place}: {name}", findings)
    elif not is_listed_part(steps[-1], place, findings):
        _value(steps[-1].value, f"{place}: {name}", findings)
    last = steps[-1].value if steps else value
    if isinstance(last, (type, FunctionType, ModuleType)) or type(last) is object or is_member(last):
        fixed[steps[-1].index if steps else k] = last
    return {step.index for step in steps}


def _global(code: CodeType, here: int, name: str, namespace: dict[str, Any], findings: Findings) -> Any:
    """What a global name stands for; MISSING if that is a builtin, which has been looked at."""
    if name in namespace:
        value = namespace[name]
        findings.reads.append(Read("global", namespace, name, value))
        return value
    value = vars(builtins).get(name, MISSING)
    if value is MISSING:
        raise RefusedError(f"{where(code, here)}: the name {name} is not defined")
    if name not in BUILTINS:
        raise RefusedError(f"{where(code, here)}: {name}() is not known to be free of effects")
    if ORIGINAL_BUILTINS.get(name, MISSING) is not value:
        raise RefusedError(f"{where(code, here)}: the builtin {name} is not what it was when srcdiff was imported")
    findings.reads.append(Read("global", namespace, name, MISSING))
    findings.reads.append(Read("global", vars(builtins), name, value))
    return MISSING
