"""What the proof reads off a few instructions: stores into `self`, texts, results that are returned."""

from __future__ import annotations

import dis
from types import CodeType
from typing import Any


def into_self(function: Any, code: CodeType, instructions: list[Any], k: int) -> bool:
    """Whether instruction k, a STORE_ATTR, stores into the first parameter of the function: `self.a = x`, or
    `self.a += x`, where the object has been copied on the stack before.
    """
    before = instructions[k - 1]
    if before.opname == "SWAP":
        before = _loaded_twice(instructions, k)
    if code is not function.__code__ or not code.co_argcount or before.opname not in _FROM_LOCAL:
        return False
    loaded = before.argval[-1] if type(before.argval) is tuple else before.argval
    first = code.co_varnames[0]
    stores = [each for each in dis.get_instructions(code) if each.opname.startswith(("STORE_FAST", "DELETE_FAST"))]
    return bool(loaded == first) and not any(
        first in (each.argval if type(each.argval) is tuple else (each.argval,)) for each in stores
    )


_FROM_LOCAL = frozenset(("LOAD_FAST", "LOAD_FAST_LOAD_FAST", "LOAD_FAST_CHECK"))


def _loaded_twice(instructions: list[Any], k: int) -> Any:
    """Of `x.a += y`, whose STORE_ATTR is number k, the instruction that loads x: it stands before the one that reads
    the attribute at the same place of the text.
    """
    store = instructions[k]
    for n in range(k - 1, 1, -1):
        load = instructions[n]
        if load.opname == "LOAD_ATTR" and load.argval == store.argval and load.positions == store.positions:
            copies = instructions[n - 1].opname == "COPY" and instructions[n - 1].arg == 1
            return instructions[n - 2] if copies and None not in store.positions else store
    return store


def call_of(instructions: list[Any], k: int) -> int | None:
    """The CALL of what instruction k, a LOAD_GLOBAL with a NULL, loads; None if branches lie between."""
    above = 2
    for n in range(k + 1, len(instructions)):
        instruction = instructions[n]
        if instruction.opname in ("PRECALL", "CALL") and above == instruction.arg + 2:
            return n + 1 if instruction.opname == "PRECALL" else n
        if instruction.is_jump_target or instruction.opcode in _JUMPS or instruction.opname in ("KW_NAMES", "CALL_KW"):
            return None
        above += dis.stack_effect(instruction.opcode, instruction.arg)
    return None


_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))


def named_attribute(instructions: list[Any], k: int) -> str | None:
    """The name in `getattr(x, "name")`, `getattr(x, "name", y)` and `hasattr(x, "name")`, whose function instruction k
    loads; None if it cannot be told.
    """
    called = call_of(instructions, k) if is_called_by_name(instructions, k) else None
    if called is None or instructions[called].arg not in (2, 3):
        return None
    arguments = [each for each in instructions[k + 1 : called] if each.opname not in ("PRECALL", "EXTENDED_ARG")]
    default = instructions[called].arg == 3
    if default and not arguments[-1].opname.startswith(("LOAD_CONST", "LOAD_FAST", "LOAD_GLOBAL")):
        return None
    name = arguments[-2 if default else -1]
    return name.argval if name.opname == "LOAD_CONST" and type(name.argval) is str else None


def is_called_by_name(instructions: list[Any], k: int) -> bool:
    """Whether what a LOAD_GLOBAL gives is called, and not passed on: a NULL is pushed for the call with it."""
    return bool((instructions[k].arg or 0) & 1)


def follows_super(instructions: list[Any], k: int) -> bool:
    """Whether instruction k reads an attribute of `super()`."""
    if instructions[k].opname == "LOAD_SUPER_ATTR":
        return True
    before = [each for each in instructions[max(k - 3, 0) : k] if each.opname != "PRECALL"][-2:]
    return [each.opname for each in before] == ["LOAD_GLOBAL", "CALL"] and before[0].argval == "super"


def is_format(instruction: Any) -> bool:
    """Whether an instruction may make text of any object."""
    if instruction.opname == "BINARY_OP":
        return bool(instruction.argrepr[:1] == "%")
    if instruction.opname == "LOAD_GLOBAL":
        return instruction.argval in ("str", "repr")
    return instruction.opname in _FORMATTING or instruction.argval == "format"


_FORMATTING = frozenset(("FORMAT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC", "CONVERT_VALUE"))


def compares_objects(instruction: Any, before: Any) -> bool:
    """Whether an instruction may compare two objects of the user's with each other; `before` is the one before it."""
    if instruction.opname == "COMPARE_OP":
        return bool(instruction.is_jump_target or before.opname != "LOAD_CONST")
    return instruction.opname == "CONTAINS_OP" or (
        instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and instruction.argval in ("index", "count", "remove")
    )


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
