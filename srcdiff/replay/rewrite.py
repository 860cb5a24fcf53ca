"""Code in which every call `f(x)` is `rec(f)(x)`, every `eval(text)` evaluates a text that was treated likewise, and
`np.r_[x]` and its relatives are called for what they are.

Lines and columns are those of the original, also where a call is spread over lines, so tracebacks, debuggers and the
names in generated code do not change. `rec` is a constant of the code, not a name: it is in nobody's `locals()`.
Not touched: annotations, which may be kept as text, and `super`, which the compiler treats by name.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable
from types import CodeType
from typing import Any

import gast

from srcdiff.replay.original import Original

#: stand in the tree for what `rewritten` puts into the code
CALL = "\0srcdiff.rec"
TYPE = "\0srcdiff.rec_type"
LISTS = "\0srcdiff.rec_lists"
TEXT = "\0srcdiff.prepared"
GRID = "\0srcdiff.rec_grid"
#: keywords of NumPy's functions that take values, in which NumPy does not look for Tensors
VALUES = frozenset(
    "initial constant_values end_values nan posinf neginf left right prepend append to_begin to_end period discont k "
    "default weights aweights ddof mean ord base range density".split()
)
_UNTOUCHED = frozenset({"super"})
_EVALUATORS = frozenset({"eval", "exec"})
#: objects of NumPy's that make arrays by being subscripted
GRIDS = frozenset({"r_", "c_", "mgrid", "ogrid"})


def rewritten(source: Original, qualname: str, recorders: dict[str, Callable[[Any], Any]]) -> CodeType:
    """The function's code with calls routed through the recorders. Changes the tree."""
    _Calls(_names_of_lists(source.node)).visit(source.node)
    code = source.compile()
    return finished(code, code.co_qualname, qualname, recorders)


def rewritten_text(text: str, filename: str, mode: str, flags: int, optimize: int) -> CodeType:
    """The code of a text with its calls wrapped, the markers still in it. Raises what `compile` raises."""
    compile(text, filename, mode, flags, dont_inherit=True, optimize=optimize)  # warns as the text deserves
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = compile(text, filename, mode, flags | ast.PyCF_ONLY_AST, dont_inherit=True)
        node = gast.ast_to_gast(tree)
        _Calls(_names_of_lists(node)).visit(node)
        code: CodeType = compile(gast.gast_to_ast(node), filename, mode, flags, dont_inherit=True, optimize=optimize)
    return code


class _Calls(gast.NodeTransformer):  # type: ignore[misc]
    """Wraps what is called. `lists` are names that stand for lists somewhere in the function."""

    def __init__(self, lists: frozenset[str]) -> None:
        self.lists = lists

    def visit_Call(self, node: Any) -> Any:
        marker = self._marker(node)
        self.generic_visit(node)
        func = node.func
        if isinstance(func, gast.Name) and func.id in _UNTOUCHED:
            return node
        if isinstance(func, gast.Name) and func.id in _EVALUATORS and node.args:
            node.args[0] = _prepared(func, node.args[0])
        start = func.lineno, func.col_offset
        if isinstance(func, gast.Attribute) and func.lineno != func.end_lineno:
            # where the compiler puts the call of a method in a chain over several lines: at the method's name
            node.lineno, node.col_offset = func.end_lineno, func.end_col_offset - len(func.attr)
        node.func = _wrapped(func, marker, start)
        return node

    def _marker(self, call: Any) -> str:
        func, args = call.func, call.args
        if isinstance(func, gast.Name) and func.id == "type" and len(args) == 1 and not call.keywords:
            return CALL if isinstance(args[0], gast.Starred) else TYPE
        if any(keyword.arg in VALUES for keyword in call.keywords):
            return LISTS
        given = (*args, *(keyword.value for keyword in call.keywords))
        return LISTS if any(_is_list(value) or getattr(value, "id", "") in self.lists for value in given) else CALL

    def visit_Subscript(self, node: Any) -> Any:
        self.generic_visit(node)
        found = node.value
        if isinstance(node.ctx, gast.Load) and (
            getattr(found, "attr", "") in GRIDS or getattr(found, "id", "") in GRIDS
        ):
            node.value = _wrapped(found, GRID, (found.lineno, found.col_offset))
        return node

    def visit_Name(self, node: Any) -> Any:
        return node  # a parameter's annotation is in its Name

    def visit_AnnAssign(self, node: Any) -> Any:
        node.target = self.visit(node.target)
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_FunctionDef(self, node: Any) -> Any:
        node.args = self.visit(node.args)
        node.decorator_list = [_wrapped(self.visit(d), CALL, (d.lineno, d.col_offset)) for d in node.decorator_list]
        node.body = [self.visit(statement) for statement in node.body]
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: Any) -> Any:
        node.decorator_list = [_wrapped(self.visit(d), CALL, (d.lineno, d.col_offset)) for d in node.decorator_list]
        node.bases = [self.visit(base) for base in node.bases]
        node.keywords = [self.visit(keyword) for keyword in node.keywords]
        node.body = [self.visit(statement) for statement in node.body]
        return node

    def visit_TypeAlias(self, node: Any) -> Any:
        return node


def _names_of_lists(function: Any) -> frozenset[str]:
    """The names that are assigned a list somewhere in the function."""
    found = (node for node in gast.walk(function) if isinstance(node, gast.Assign) and _is_list(node.value))
    return frozenset(target.id for node in found for target in node.targets if isinstance(target, gast.Name))


def _is_list(value: Any) -> bool:
    """Whether an expression is a list or tuple by its form, with other than constants in it."""
    if isinstance(value, gast.Call):
        return isinstance(value.func, gast.Name) and value.func.id in ("list", "sorted", "tuple")
    if isinstance(value, (gast.List, gast.Tuple)):
        return not value.elts or not all(isinstance(part, gast.Constant) for part in value.elts)
    return isinstance(value, gast.ListComp)


def _prepared(func: Any, text: Any) -> Any:
    """`prepared(func, text)`, where `text` is; a starred argument as it is."""
    if isinstance(text, gast.Starred):
        return text
    name = gast.copy_location(gast.Name(func.id, gast.Load(), None, None), text)
    made = _wrapped(name, TEXT, (text.lineno, text.col_offset))
    made.args.append(text)
    return made


def _wrapped(func: Any, marker: str, start: tuple[int, int]) -> Any:
    """`rec(func)`, where `func` is."""
    constant = gast.Constant(marker, None)
    constant.lineno, constant.col_offset = constant.end_lineno, constant.end_col_offset = start
    made = gast.copy_location(gast.Call(constant, [func], []), func)
    if isinstance(func, gast.Attribute) and func.lineno != func.end_lineno:
        made.lineno, made.col_offset = func.end_lineno, func.end_col_offset - len(func.attr)
    return made


def finished(code: CodeType, old: str, new: str, recorders: dict[str, Callable[[Any], Any]]) -> CodeType:
    """The recorders in place of their markers, and the qualified names that the original's surroundings gave."""
    constants = tuple(
        finished(constant, old, new, recorders) if isinstance(constant, CodeType)
        else recorders.get(constant, constant) if type(constant) is str
        else constant
        for constant in code.co_consts
    )  # fmt: skip
    name = code.co_qualname
    if name == old or name.startswith(old + "."):
        name = new + name[len(old) :]
    return code.replace(co_consts=constants, co_qualname=name)
