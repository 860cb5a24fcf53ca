"""What the proof reads off a few instructions: stores into `self`, context managers, results that are returned."""

from __future__ import annotations

import dis
from types import CodeType
from typing import Any


def into_self(function: Any, code: CodeType, before: Any) -> bool:
    """Whether an instruction stores into the first parameter of the function, which `before` loads."""
    if (
        code is not function.__code__
        or not code.co_argcount
        or before.opname not in ("LOAD_FAST", "LOAD_FAST_LOAD_FAST")
    ):
        return False
    loaded = before.argval[-1] if type(before.argval) is tuple else before.argval
    first = code.co_varnames[0]
    stores = [each for each in dis.get_instructions(code) if each.opname.startswith(("STORE_FAST", "DELETE_FAST"))]
    return bool(loaded == first) and not any(
        first in (each.argval if type(each.argval) is tuple else (each.argval,)) for each in stores
    )


def is_with(instructions: list[Any], k: int) -> bool:
    """Whether an instruction about exceptions belongs to a context manager, not to an `except`."""
    opening = instructions[k].opname == "PUSH_EXC_INFO"
    return not opening or bool(instructions[k + 1].opname == "WITH_EXCEPT_START")


def is_returned(instructions: list[Any], k: int) -> bool:
    """Whether what the method gives that is loaded by instruction k, and called without arguments, is returned, perhaps
    in a tuple or a dict, and nothing else is done with it.
    """
    called = next(n for n in range(k, len(instructions)) if instructions[n].opname == "CALL")
    above = 0  # how many values are on the stack above it
    for instruction in instructions[called + 1 :]:
        name = instruction.opname
        if name == "RETURN_VALUE":
            return above == 0
        if instruction.is_jump_target:
            return False
        effect = dis.stack_effect(instruction.opcode, instruction.arg)
        if name in _BUILDING:
            above = 0 if 1 - effect > above else above + effect
            continue
        taken = 0 if name in _LOADING else 1 if name in _READING else 1 - effect if name in _COMPUTING else above + 1
        if taken > above:
            return False
        above += effect
    return False


#: instructions that put on the stack, look into what is on top of it, put one value in place of several, build of these
_LOADING = frozenset((
    "LOAD_FAST", "LOAD_FAST_LOAD_FAST", "LOAD_CONST", "LOAD_GLOBAL", "LOAD_DEREF", "PUSH_NULL", "CACHE", "KW_NAMES",
))  # fmt: skip
_READING = frozenset(("LOAD_METHOD", "LOAD_ATTR"))
_COMPUTING = frozenset(("PRECALL", "CALL", "CALL_KW", "BINARY_OP", "COMPARE_OP", "BINARY_SUBSCR", "UNARY_NEGATIVE"))
_BUILDING = frozenset(("BUILD_TUPLE", "BUILD_MAP", "BUILD_CONST_KEY_MAP", "BUILD_LIST"))


def is_singleton(instruction: Any) -> bool:
    """Whether an instruction loads a constant whose identity is its value."""
    return instruction is not None and instruction.opname == "LOAD_CONST" and instruction.argval in (None, True, False)
