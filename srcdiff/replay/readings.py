"""What code reads other than by a name and a dot: by `getattr` and `hasattr`, imports, patterns of classes."""

from __future__ import annotations

import builtins
import sys
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from srcdiff.origin import where
from srcdiff.replay.allowed import STEPS
from srcdiff.replay.findings import MISSING, Findings, Read, RefusedError
from srcdiff.replay.instructions import named_attribute
from srcdiff.replay.number import Number
from srcdiff.replay.objects import Look
from srcdiff.tape import record

_IMPORT = vars(builtins)["__import__"]


def read_by_name(code: CodeType, instructions: list[Any], k: int, findings: Findings) -> None:
    """Look at the attribute that `getattr` or `hasattr`, which instruction k loads, reads. What stands in for an array
    or a number while a call is recorded has to have it where these have it. Raises RefusedError otherwise.
    """
    name, here = named_attribute(instructions, k), instructions[k].offset
    what = f"{where(code, here)}: {instructions[k].argval}()"
    if name is None:
        raise RefusedError(f"{what} is not called with a name that can be told")
    alike = hasattr(np.ndarray, name) == hasattr(record.Tensor, name) and hasattr(float, name) == hasattr(Number, name)
    if not alike or name in STEPS or name == "item":
        raise RefusedError(f"{what} asks for .{name}, which is not the same for what is recorded")
    findings.attributes.append((code, here, name))


def matched(cls: Any, code: CodeType, instructions: list[Any], k: int, findings: Findings) -> bool:
    """Look at what `case cls(...)` reads, whose MATCH_CLASS is instruction k. Whether it is a class that nothing which
    stands in for an array or a number while a call is recorded could be an instance of.
    """
    load = instructions[k - 1]
    if type(cls) is not type or load.opname != "LOAD_CONST" or load.is_jump_target or instructions[k].is_jump_target:
        return False
    findings.matches = True
    if cls in _BUILTINS:
        return True
    if not any(cls is known for known, _ in findings.classes):
        return False
    names = list(load.argval)
    if instructions[k].arg:
        base = next((each for each in cls.__mro__ if "__match_args__" in vars(each)), cls)
        positional = vars(base).get("__match_args__", MISSING)
        findings.reads.append(Read("class attribute", base, "__match_args__", positional))
        names += () if positional is MISSING else positional
    findings.attributes += [(code, instructions[k].offset, name) for name in names]
    return True


_BUILTINS = frozenset((int, bool, str, bytes, list, tuple, dict, set, frozenset))


def imported(code: CodeType, instructions: list[Any], k: int, findings: Findings, look: Look) -> bool:
    """Look at what an `import` inside the function gives; False if that has not been imported before."""
    level, names = instructions[k - 2], instructions[k - 1]
    if level.argval != 0 or names.opname != "LOAD_CONST" or vars(builtins).get("__import__") is not _IMPORT:
        return False
    findings.reads.append(Read("global", vars(builtins), "__import__", _IMPORT))
    path, place = str(instructions[k].argval), where(code, instructions[k].offset)
    first, *rest = path.split(".")
    if names.argval:
        first, rest = path, []
    elif instructions[k + 1].opname != "IMPORT_FROM":
        rest = []
    module = sys.modules.get(first)
    findings.reads.append(Read("module", sys.modules, first, module))
    for name in rest:
        module = _part(module, name, findings)
    if not names.argval:
        look(module, f"{place}: {path}", findings)
    for name in names.argval or ():
        part = _part(module, name, findings)
        if part is None:
            return False
        look(part, f"{place}: {name}", findings)
    return module is not None


def _part(module: Any, name: str, findings: Findings) -> Any:
    """What `from module import name` gives, None if that cannot be told."""
    if type(module) is not ModuleType or name not in vars(module):
        return None
    findings.reads.append(Read("module", vars(module), name, vars(module)[name]))
    return vars(module)[name]
