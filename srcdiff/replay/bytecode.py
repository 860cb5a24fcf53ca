"""What code calls, read off its instructions."""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from types import CodeType
from typing import NamedTuple


class Callee(NamedTuple):
    """A dotted name that is called. `root` is "global", "cell", "local", or "" if no name stands in front."""

    root: str
    names: tuple[str, ...]
    as_method: bool  # the call binds no method


def callees(code: CodeType) -> Iterator[Callee | None]:
    """What the code calls, not what code inside it calls; None for what is not a dotted name.

    Who calls pushes a NULL before what is called (since Python 3.13 after it), or with the root or the last attribute.
    """
    found: Callee | None = None
    pending = False
    for op in dis.get_instructions(code):
        name, argument = op.opname, op.argval
        if name in _SILENT:
            continue
        if name in _ROOTS:
            if pending and found:
                yield found
            pending = (pending and not found) or "NULL" in op.argrepr.split()
            found = Callee(_ROOTS[name], (argument[-1] if type(argument) is tuple else argument,), False)
        elif name in ("LOAD_METHOD", "LOAD_ATTR"):
            found = Callee("", (argument,), False) if found is None else found._replace(names=(*found.names, argument))
            if name == "LOAD_METHOD" or "NULL|self" in op.argrepr:
                yield found._replace(as_method=True)
                found, pending = None, False
        elif name == "PUSH_NULL" and _NULL_FIRST:
            if pending:
                yield found
            found, pending = None, True
        else:
            if pending or name in ("PUSH_NULL", "LOAD_SUPER_ATTR"):
                yield found
            found, pending = None, False


_NULL_FIRST = sys.version_info < (3, 13)
_ROOTS = {
    "LOAD_GLOBAL": "global", "LOAD_NAME": "global", "LOAD_DEREF": "cell", "LOAD_CLASSDEREF": "cell",
    "LOAD_FAST": "local", "LOAD_FAST_CHECK": "local", "LOAD_FAST_LOAD_FAST": "local", "LOAD_FAST_AND_CLEAR": "local",
    "LOAD_FROM_DICT_OR_GLOBALS": "global", "LOAD_FROM_DICT_OR_DEREF": "cell",
}  # fmt: skip
_SILENT = frozenset({"CACHE", "RESUME", "PRECALL", "NOP", "EXTENDED_ARG"})


def every_code(code: CodeType) -> Iterator[CodeType]:
    """The code and all code inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from every_code(constant)


def builds_lists(code: CodeType) -> bool:
    """Whether the code, itself, has lists written out or made by comprehensions."""
    return not _LISTS.isdisjoint(code.co_code[::2])


_LISTS = frozenset(dis.opmap[name] for name in ("BUILD_LIST", "LIST_APPEND"))


def imported_names(code: CodeType) -> list[str]:
    """The names that the module imports, as far as it shows: their attributes are called without binding a method."""
    plain: dict[str, None] = {}
    bound = set()
    for part in every_code(code):
        for callee in callees(part):
            if callee is None or len(callee.names) != 2 or not callee.root:
                continue
            if callee.as_method:
                bound.add(callee.names[0])
            else:
                plain[callee.names[0]] = None
    return [name for name in plain if name not in bound]
