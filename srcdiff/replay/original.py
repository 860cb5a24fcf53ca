"""The syntax tree of a function, if compiling it gives the code that the function runs.

A file may have been edited since it was imported, an import hook may have rewritten what it compiled, a name may be
found twice in a file: so the tree is compiled as it is, and used only if the result is the function's code in every
respect, nested code, constants, lines and columns included. It is compiled in surroundings that give the names the
meaning they had: the free variables are arguments of a function around it, and what stood in a class stands in a class
of that name.
"""

from __future__ import annotations
import __future__

import ast
import inspect
import linecache
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

import gast

from srcdiff.codegen.template import class_definition, definition, parameter
from srcdiff.replay.bytecode import imported_names
from srcdiff.usersource import blocks, parse

#: the flags of code that `from __future__ import ...` sets
FUTURE = sum(
    {getattr(__future__, name).compiler_flag for name in __future__.all_feature_names}  # some share a flag
)
_NESTED = inspect.CO_NESTED


@dataclass(frozen=True, slots=True)
class Original:
    """The tree of a function within a module made for it, and the way to the function's code in the compiled module."""

    module: gast.Module
    node: Any  # the FunctionDef, AsyncFunctionDef or Lambda
    path: tuple[int, ...]  # each time, which of the code objects among the constants
    filename: str
    flags: int

    def compile(self) -> CodeType:
        """The code of the function, from the tree as it is now."""
        return follow(compile_tree(self.module, self.filename, self.flags), self.path)


def original(function: FunctionType) -> Original | None:
    """The verified tree of a function; None if there is none."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:
        return None
    for candidate in _candidates(code, lines):
        node = gast.ast_to_gast(candidate)
        module = _surrounded(node, code)
        flags = code.co_flags & FUTURE
        try:
            compiled = compile_tree(module, code.co_filename, flags)
        except (SyntaxError, ValueError, RecursionError):
            continue
        path = next((path for path, found in _inner(compiled) if same(found, code)), None)
        if path is not None:
            return Original(module, node, path, code.co_filename, flags)
    return None


# --------------------------------------------------------------------------------------------------------- finding it


def _candidates(code: CodeType, lines: list[str]) -> Iterator[ast.AST]:
    """Definitions that begin on the code's first line."""
    first = code.co_firstlineno
    if first > len(lines):
        return
    start = first
    if code.co_name == "<lambda>":  # from the statement in the first column on
        while start > 1 and (lines[start - 1][:1] in " \t\r\n#)]}" or not lines[start - 1]):
            start -= 1
    for block in blocks(lines, start, code):
        yield from (node for node in ast.walk(block) if _defines(node, code))
    if code.co_name == "<lambda>":
        try:
            whole = parse("".join(lines))
        except (SyntaxError, ValueError):
            return
        yield from (node for node in ast.walk(whole) if _defines(node, code))


def _defines(node: ast.AST, code: CodeType) -> bool:
    if isinstance(node, ast.Lambda):
        return code.co_name == "<lambda>" and node.lineno == code.co_firstlineno
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or node.name != code.co_name:
        return False
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) == code.co_firstlineno


# --------------------------------------------------------------------------------------------------- its surroundings


def _surrounded(node: Any, code: CodeType) -> gast.Module:
    """A module in which the definition has the free variables, the class and the imports that the code had."""
    free = [name for name in code.co_freevars if name != "__class__"]
    body = [node if isinstance(node, gast.stmt) else _at(gast.Expr(node), node)]
    around = class_name(code)
    if around is not None:
        body = [_at(class_definition(around, body), node)]
        if around not in free:
            body.insert(0, _at(gast.Global([around]), node))
    if free or code.co_flags & _NESTED:
        body = [_at(definition("_", [_at(parameter(name), node) for name in free], body), node)]
    names = imported_names(code)
    imports = [_at(gast.Import([_at(gast.alias(name, None), node)]), node) for name in names]
    return gast.Module([*imports, *body], [])


def class_name(code: CodeType) -> str | None:
    """The class in whose body, or in a function in whose body, the code was defined: private names carry it."""
    parts = code.co_qualname.split(".")
    for name, following in zip(reversed(parts[:-1]), reversed(parts[1:]), strict=True):
        if name.isidentifier() and following != "<locals>":
            return name
    return None


def _at(node: Any, place: Any) -> Any:
    """`node` at the beginning of `place`."""
    node.lineno = node.end_lineno = place.lineno
    node.col_offset = node.end_col_offset = place.col_offset
    return node


# ------------------------------------------------------------------------------------------------------ compiled code


def compile_tree(module: gast.Module, filename: str, flags: int) -> CodeType:
    """The code of a module given as a gast tree."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code: CodeType = compile(gast.gast_to_ast(module), filename, "exec", flags, dont_inherit=True)
    return code


def inner_codes(code: CodeType) -> list[CodeType]:
    """The code objects among the constants."""
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def _inner(code: CodeType, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], CodeType]]:
    for k, found in enumerate(inner_codes(code)):
        yield (*path, k), found
        yield from _inner(found, (*path, k))


def follow(code: CodeType, path: tuple[int, ...]) -> CodeType:
    """The code object at the end of a path."""
    for k in path:
        code = inner_codes(code)[k]
    return code


_FIELDS = (
    "co_name", "co_filename", "co_firstlineno", "co_flags", "co_argcount", "co_posonlyargcount", "co_kwonlyargcount",
    "co_nlocals", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_code", "co_linetable",
    "co_exceptiontable",
)  # fmt: skip


def same(a: Any, b: Any) -> bool:
    """Whether two code objects, or constants of code objects, are the same in all that shows."""
    if type(a) is not type(b):
        return False
    if isinstance(a, CodeType):
        return all(getattr(a, field) == getattr(b, field) for field in _FIELDS) and same(a.co_consts, b.co_consts)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, frozenset):
        return sorted(map(repr, a)) == sorted(map(repr, b))
    return repr(a) == repr(b)
