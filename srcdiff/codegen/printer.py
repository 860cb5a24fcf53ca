"""Prints gast trees as Python text with the fewest parentheses, and with comments.

Guarantees: parsing the text gives the tree back, but that a negative or complex constant comes back as the operation
that spells it, inf and nan as `np.inf` and `np.nan`, and a docstring re-indented. Trees have no comments: these come
beside the tree, keyed by statement.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from inspect import cleandoc
from typing import Any

import gast

from srcdiff.codegen.expressions import Expressions
from srcdiff.codegen.layout import break_line

COLUMN = 68  # where trailing comments and the right-hand part of the others begin
WIDTH = 100  # longer lines are broken


@dataclass(frozen=True, slots=True)
class Note:
    """A comment line of its own: `# left` and, aligned with the trailing comments, `right`."""

    left: str
    right: str = ""


@dataclass(frozen=True, slots=True)
class Comments:
    """What is said about one statement: lines above it (an empty string is an empty line) and the end of its own."""

    above: tuple[Note | str, ...] = ()
    trailing: str | None = None


def to_source(
    tree: gast.AST, comments: Mapping[gast.AST, Comments] | None = None, *, column: int = COLUMN, width: int = WIDTH
) -> str:
    """The text of a module, a function or any other statement, ending with a newline."""
    printer = _Printer(comments or {}, column, width)
    printer.dispatch([tree])
    printer.close_line()
    return "\n".join(printer.lines) + "\n"


def expression_source(tree: gast.AST) -> str:
    """The text of one expression on one line."""
    printer = _Printer({}, COLUMN, WIDTH)
    printer.dispatch(tree)
    return "".join(printer.tokens)


def _comment(text: str) -> str:
    """`text` as a comment; it can only be one line."""
    return "# " + " ".join(text.splitlines())


class _Printer(Expressions):
    """Collects lines; the statements whose form is right in the base class of all printers come from there."""

    def __init__(self, comments: Mapping[gast.AST, Comments], column: int, width: int) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._comments, self._column, self._width = comments, column, width
        self._trailing: str | None = None
        self._value: slice | None = None  # the tokens that may get parentheses when the line is too long

    def fill(self, text: str = "") -> None:
        self.close_line()
        self.write("    " * self._indent + text)

    def close_line(self) -> None:
        """Ends the line being written, if any: broken if too long, with its trailing comment."""
        if not self.tokens:
            return
        text = "".join(self.tokens)
        new = [text] if len(text) <= self._width else break_line(self.tokens, self._value, self._width)
        if self._trailing:
            new[-1] = self._aligned(new[-1], _comment(self._trailing))
        self.lines += new
        self.tokens.clear()
        self._trailing = self._value = None

    def _aligned(self, left: str, right: str) -> str:
        return f"{left:<{self._column - 2}}  {right}" if right else left

    def _above(self, notes: Iterable[Note | str]) -> None:
        self.close_line()
        indent = "    " * self._indent
        for note in notes:
            left, right = (note, "") if isinstance(note, str) else (note.left, note.right)
            line = self._aligned(indent + _comment(left), _comment(right)[2:] if right else "")
            self.lines.append(line if left or right else "")

    def _begin(self, tree: Any) -> None:
        """Prints the lines above a statement and remembers the comment of its first line."""
        said = self._comments.get(tree)
        if said is not None:
            self._above(said.above)
            self._trailing = said.trailing

    def dispatch(self, tree: Any) -> None:
        if isinstance(tree, list):
            for place, statement in enumerate(tree):
                self.close_line()
                if place and "FunctionDef" in (type(statement).__name__, type(tree[place - 1]).__name__):
                    self.lines += [""] * (1 if self._indent else 2)
                self._begin(statement)
                getattr(self, "_" + type(statement).__name__)(statement)
            return
        super().dispatch(tree)

    def _bare_value(self, tree: Any) -> None:
        """The expression that ends a statement, or its head: broken in parentheses of its own when too long."""
        start = len(self.tokens)
        self._bare(tree)
        self._value = slice(start, len(self.tokens))

    def _Assign(self, tree: Any) -> None:
        self.fill()
        for target in tree.targets:
            self._bare(target)
            self.write(" = ")
        self._bare_value(tree.value)

    def _AugAssign(self, tree: Any) -> None:
        self.fill()
        self.dispatch(tree.target)
        self.write(f" {self.binop[type(tree.op).__name__]}= ")
        self._bare_value(tree.value)

    def _Expr(self, tree: Any) -> None:
        self.fill()
        self._bare_value(tree.value)

    def _Return(self, tree: Any) -> None:
        self.fill("return")
        if tree.value is not None:
            self.write(" ")
            self._bare_value(tree.value)

    def _For(self, tree: Any) -> None:
        self.fill("for ")
        self._bare(tree.target)
        self.write(" in ")
        self.dispatch(tree.iter)
        self._block(tree.body)
        self._else(tree.orelse)

    def _While(self, tree: Any) -> None:
        self._head("while ", tree)
        self._else(tree.orelse)

    def _If(self, tree: Any) -> None:
        self._head("if ", tree)
        while len(tree.orelse) == 1 and type(tree.orelse[0]).__name__ == "If":
            tree = tree.orelse[0]
            self.close_line()
            self._begin(tree)
            self._head("elif ", tree)
        self._else(tree.orelse)

    def _ExceptHandler(self, tree: Any) -> None:
        self.fill("except")
        if tree.type is not None:
            self.write(" ")
            self.dispatch(tree.type)
        if tree.name is not None:
            self.write(f" as {tree.name.id}")
        self._block(tree.body)

    def _head(self, keyword: str, tree: Any) -> None:
        self.fill(keyword)
        start = len(self.tokens)
        self.dispatch(tree.test)
        self._value = slice(start, len(self.tokens))
        self._block(tree.body)

    def _else(self, body: list[Any]) -> None:
        if body:
            self.fill("else")
            self._block(body)

    def _block(self, body: list[Any]) -> None:
        self.enter()
        self.dispatch(body)
        self.leave()

    def _Module(self, tree: Any) -> None:
        self._with_docstring(tree.body)

    def _FunctionDef(self, tree: Any) -> None:
        for decorator in tree.decorator_list:
            self.fill("@")
            self.dispatch(decorator)
        self.fill("def " + tree.name)
        self.write("(")
        self.dispatch(tree.args)
        self.write(")")
        if tree.returns is not None:
            self.write(" -> ")
            self.dispatch(tree.returns)
        self.enter()
        self._with_docstring(tree.body)
        self.leave()

    def _with_docstring(self, body: list[Any]) -> None:
        first: Any = body[0] if body else None
        if type(first).__name__ == "Expr" and type(getattr(first.value, "value", None)) is str:
            self.close_line()
            self._begin(first)
            self._docstring(cleandoc(first.value.value))
            body = body[1:]
            if body and not self._indent:
                self.close_line()
                self.lines.append("")
        self.dispatch(body)

    def _docstring(self, text: str) -> None:
        if "\\" in text or '"""' in text or text.endswith('"') or not text.replace("\n", "").isprintable():
            self.fill(repr(text))
            return
        first, *rest = text.split("\n")
        self.fill('"""' + first)
        for line in rest:
            self.close_line()
            self.lines.append("    " * self._indent + line if line else "")
        if rest:
            self.fill()
        self.write('"""')
