"""The user's source of a code object, parsed when it is first asked for: expressions by position, statements as text.

The source is looked up with `linecache`, so files, notebook cells and generated code are all found. Whether it is
still what was compiled is for the caller to check.
"""

from __future__ import annotations

import ast
import inspect
import io
import linecache
import re
import tokenize
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from types import CodeType
from typing import Generic, TypeAlias, TypeVar

Span: TypeAlias = tuple[int, int, int, int]  # first line, last line, first column, end column (in bytes of UTF-8)


class Source:
    """The parsed source of one code object: its expressions by position."""

    def __init__(self, tree: ast.AST, lines: Sequence[str], code: CodeType) -> None:
        self.lines = lines
        self.local = frozenset((*code.co_varnames, *code.co_freevars, *code.co_cellvars))
        self.known = self.local.union(code.co_names)
        self.walrus: dict[ast.AST, str] = {}  # the values of `name := value`
        self.lambda_bodies: set[ast.AST] = set()
        self.nodes: dict[Span, tuple[ast.AST, ast.stmt]] = {}
        self._assigned: dict[str, bool] = {}
        self._statements: list[ast.stmt] = []
        self._texts: dict[ast.stmt, str] = {}
        pending: list[tuple[ast.AST, ast.stmt | None]] = [(tree, None)]
        while pending:
            node, statement = pending.pop()
            if isinstance(node, ast.stmt):
                statement = node
                self._statements.append(node)
            if statement is not None and isinstance(node, (ast.expr, ast.AugAssign)):
                for span in _spans(node):
                    self.nodes.setdefault(span, (node, statement))
                if isinstance(node, ast.NamedExpr):
                    self.walrus[node.value] = node.target.id
                elif isinstance(node, ast.Lambda):
                    self.lambda_bodies.add(node.body)
            pending += [(child, statement) for child in ast.iter_child_nodes(node)]

    def statement_around(self, first: int, last: int) -> ast.stmt | None:
        """The smallest statement that covers the lines."""
        around = [s for s in self._statements if s.lineno <= first and last <= (s.end_lineno or 0)]
        return min(around, key=lambda s: ((s.end_lineno or 0) - s.lineno, -s.col_offset), default=None)

    def text(self, statement: ast.stmt) -> str:
        """The statement on one line without comments; of a compound statement its head."""
        if statement not in self._texts:
            self._texts[statement] = _one_line(self._segment(statement))
        return self._texts[statement]

    def _segment(self, statement: ast.stmt) -> str:
        body = getattr(statement, "body", None) or getattr(statement, "cases", None)
        last, end = statement.end_lineno or statement.lineno, statement.end_col_offset or 0
        if body:
            inner = getattr(body[0], "pattern", body[0])
            last, end = inner.lineno, inner.col_offset
        lines = [line.encode() for line in self.lines[statement.lineno - 1 : last]]
        lines[-1] = lines[-1][:end]
        lines[0] = lines[0][statement.col_offset :]
        return b"".join(lines).decode()

    def assigns(self, name: str) -> bool:
        """Whether some line of the file begins with an assignment to `name`."""
        known = self._assigned.get(name)
        if known is None:
            pattern = re.compile(rf"\s*{name}\s*(:[^=]+)?=[^=]")
            known = self._assigned[name] = any(pattern.match(line) for line in self.lines)
        return known


T = TypeVar("T")


class PerCode(Generic[T]):
    """What `make` gives for a code object, made once: found by identity (equal functions of two files are equal code),
    and dropped when the code dies."""

    def __init__(self, make: Callable[[CodeType], T]) -> None:
        self._make = make
        self._of: dict[int, tuple[weakref.ref[CodeType], T]] = {}

    def __len__(self) -> int:
        return len(self._of)

    def __call__(self, code: CodeType) -> T:
        key = id(code)
        known = self._of.get(key)
        if known is None:
            known = weakref.ref(code, lambda _: self._of.pop(key, None)), self._make(code)
            self._of[key] = known
        return known[1]


#: first and last line, first and end column of each instruction: decoded at once, since one alone takes as long
positions_of = PerCode(lambda code: tuple(code.co_positions()))


def _parse(code: CodeType) -> Source | None:
    lines = linecache.getlines(code.co_filename)
    if not lines:
        return None
    if not code.co_name.startswith("<"):  # a def or a class: its own block is enough
        for block in blocks(lines, code.co_firstlineno, code):
            return Source(block, lines, code)
    try:
        return Source(parse("".join(lines)), lines, code)
    except (SyntaxError, ValueError):
        return None


source_of = PerCode(_parse)


def blocks(lines: list[str], first: int, code: CodeType) -> Iterator[ast.Module]:
    """What stands from line `first` on, with the line numbers of the file: first as far as the code reaches and
    statements end, then the block that begins there. To find the end of a block takes longer, the first time 10 ms.
    """
    last = _last_line(code)
    for end in range(last, last + 4):
        tree = _numbered(lines[first - 1 : end], first)
        if tree is not None:
            yield tree
            break
    try:
        block = inspect.getblock(lines[first - 1 :])
    except (SyntaxError, IndexError, tokenize.TokenError):
        return
    tree = _numbered(block, first)
    if tree is not None:
        yield tree


def _last_line(code: CodeType) -> int:
    inner = [_last_line(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return max(code.co_firstlineno, *inner, *(last or 0 for _, last, _, _ in positions_of(code)))


def _numbered(lines: Sequence[str], first: int) -> ast.Module | None:
    """The tree of lines that may be indented, None if they are no statements."""
    text = "".join(lines)
    indented = text[:1] in (" ", "\t")
    try:
        tree = parse("if 1:\n" + text if indented else text)
    except (SyntaxError, ValueError):
        return None
    return ast.increment_lineno(tree, first - (2 if indented else 1))


def parse(text: str) -> ast.Module:
    """The tree of the text. Warnings are left out: the user has seen those of their source already."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def _spans(node: ast.expr | ast.AugAssign) -> Iterator[Span]:
    """The positions that instructions of `node` may carry."""
    last, end = node.end_lineno or node.lineno, node.end_col_offset or 0
    yield node.lineno, last, node.col_offset, end
    if not isinstance(node, ast.Call):
        method = node
    elif isinstance(node.func, ast.Attribute):
        method = node.func
    else:
        return
    if isinstance(method, ast.Attribute) and method.lineno != method.end_lineno:
        # in a chain over several lines the compiler starts at the name of the attribute
        line, stop = method.end_lineno or method.lineno, method.end_col_offset or 0
        yield line, last, stop - len(method.attr.encode()), end


def _one_line(segment: str) -> str:
    """Source text with the lines joined and the comments dropped."""
    if "\n" not in segment and "#" not in segment:
        return segment.strip()
    if not any(mark in segment for mark in "'\"\\"):
        return _joined(segment)
    return _joined_tokens(segment)


def _joined_tokens(segment: str) -> str:
    """Of any text."""
    parts: list[str] = []
    row, column = 1, 0
    for token in tokenize.generate_tokens(io.StringIO(f"({segment}\n)").readline):
        if token.type in (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER):
            continue
        if token.start[0] == row:
            parts.append(" " * (token.start[1] - column))
        elif parts[-1] not in ("(", "[", "{") and token.string not in (")", "]", "}"):
            parts.append(" ")
        parts.append(token.string)
        row, column = token.end
    return " ".join("".join(parts)[1:-1].split("\n")).strip()


def _joined(segment: str) -> str:
    """The same of a text with nothing quoted, without tokens: their pattern takes 10 ms to compile."""
    text = ""
    for line in segment.split("\n"):
        part = line.partition("#")[0].replace("\t", " ").strip()
        if part:
            apart = text and text[-1] not in "([{" and part[0] not in ")]}"
            text += f" {part}" if apart else part
    return text
