"""The tree that is found compiles to the function's code, and the rewritten code keeps its lines, columns and names.

Python's standard library serves as a collection of programs.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import dis
import inspect
import statistics
import sys
import textwrap
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

import pytest

from srcdiff.replay import clone, original, rewrite
from srcdiff.replay.active import active
from srcdiff.replay.bytecode import every_code
from tests.replay import programs


def functions(namespace: Any, module: Any) -> Iterator[FunctionType]:
    for value in vars(namespace).values():
        inner = inspect.unwrap(value) if isinstance(value, FunctionType) else getattr(value, "__func__", value)
        if isinstance(inner, FunctionType) and inner.__module__ == module.__name__:
            yield inner
        elif isinstance(value, type) and value.__module__ == module.__name__:
            yield from functions(value, module)


def calls(code: CodeType) -> set[Any]:
    """Where instructions that call are in the source."""
    found = set()
    for part in every_code(code):
        positions = list(part.co_positions())
        found |= {positions[op.offset // 2] for op in dis.get_instructions(part) if op.opname.startswith("CALL")}
    return found


def names(code: CodeType) -> Any:
    return [(part.co_qualname, part.co_varnames, part.co_freevars, set(part.co_names)) for part in every_code(code)]


@pytest.mark.parametrize("module", [argparse, contextlib, difflib, statistics, textwrap, programs])
def test_rewritten_code_keeps_places_and_names(module: Any) -> None:
    made = [f for f in functions(module, module) if not f.__code__.co_filename.startswith("<")]
    assert len(made) > 5
    for f in made:
        source = original.original(f)
        assert source is not None, f.__qualname__
        code = rewrite.rewritten(source, f.__code__.co_qualname, {})
        # the calls of `super`, which the compiler may do without, are not compared
        assert calls(f.__code__) <= calls(code), f.__qualname__
        assert names(code) == names(f.__code__), f.__qualname__
        assert code.co_firstlineno == f.__code__.co_firstlineno


@pytest.mark.parametrize(("f", "args"), programs.SEEN, ids=lambda part: getattr(part, "__name__", str(part)))
def test_a_debugger_sees_the_same_lines(f: Any, args: Any) -> None:
    def lines(g: Any) -> list[Any]:
        seen: list[Any] = []

        def tracer(frame: Any, event: str, _: Any) -> Any:
            if frame.f_code.co_filename != programs.__file__:
                return None
            seen.append((frame.f_code.co_name, event, frame.f_lineno))
            return tracer

        before = sys.gettrace()
        sys.settrace(tracer)
        try:
            g(*args)
        finally:
            sys.settrace(before)
        return seen

    active.depth += 1
    try:
        seen, wanted = lines(clone.cloned(f)), lines(f)
    finally:
        active.depth -= 1
    if f is programs.neighbours and sys.version_info < (3, 13):
        # a chain of methods over several lines begins at its last line, then goes on as in the original
        seen, wanted = sorted(set(seen)), sorted(set(wanted))
    assert seen == wanted
