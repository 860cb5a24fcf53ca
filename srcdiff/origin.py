"""Where in the user's code an operation ran, and what the user calls its result and its operands.

The place of an operation is a code object and the offset of an instruction in it. File and line come from the code
object alone; names and text from the source, which is parsed when code is first printed and never before. Nothing here
raises: where the source is missing, or is not what was compiled, the names are None and the text is empty.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType

from srcdiff.usersource import PerCode, Source, positions_of, source_of


@dataclass(frozen=True, slots=True)
class Origin:
    """What is known about the place of one operation.

    `operands` are those of the expression, in the user's order: of a call the receiver, if it is a value, then the
    arguments; of `x[i]` the value, then the index. `literal` says for each whether the source has a constant there.
    """

    file: str
    line: int
    text: str = ""  # the statement on one line, or its head if it has a body
    target: str | None = None  # what the result is assigned to
    operands: tuple[str | None, ...] = ()
    literal: tuple[bool, ...] = ()
    is_return: bool = False  # the result is what the function returns
    function: str = ""


def location(code: CodeType, lasti: int) -> tuple[str, int]:
    """File name without folders, and line."""
    return os.path.basename(code.co_filename), _position(code, lasti)[0] or code.co_firstlineno


def _position(code: CodeType, lasti: int) -> tuple[int | None, int | None, int | None, int | None]:
    positions, k = positions_of(code), max(lasti, 0) // 2
    return positions[k] if k < len(positions) else (None, None, None, None)


def where(code: CodeType, lasti: int) -> str:
    """For example `model.py:14`."""
    file, line = location(code, lasti)
    return f"{file}:{line}"


def describe(code: CodeType, lasti: int) -> Origin:
    """All that can be said about the operation that the instruction at offset `lasti` ran. Looked up once: loops ask
    many times.
    """
    known = _described(code)
    found = known.get(lasti)
    if found is None:
        file, line = location(code, lasti)
        plain = Origin(file, line, function=code.co_name)
        try:
            found = _describe(code, lasti, plain)
        except Exception:  # sources may be anything at all, and a comment is not worth a failure
            found = plain
        known[lasti] = found
    return found


def _nothing(code: CodeType) -> dict[int, Origin]:
    return {}


_described = PerCode(_nothing)


def _describe(code: CodeType, lasti: int, plain: Origin) -> Origin:
    source = source_of(code)
    first, last, start, end = _position(code, lasti)
    if source is None or first is None or last is None:
        return plain
    found = None
    if start is not None and end is not None:
        found = source.nodes.get((first, last, start, end))
    if found is None:  # not an expression of its own (`with`, `import`), or compiled without columns
        statement = source.statement_around(first, last)
        if statement is None or not _known(statement, source):
            return plain
        return Origin(plain.file, plain.line, source.text(statement), function=code.co_name)
    node, statement = found
    if not _known(node, source):
        return plain
    operands = list(_operands(node, source))
    return Origin(
        plain.file,
        plain.line,
        source.text(statement),
        source.walrus.get(node) or _target(node, statement),
        tuple(map(_name, operands)),
        tuple(map(_is_literal, operands)),
        node in source.lambda_bodies or (isinstance(statement, ast.Return) and statement.value is node),
        code.co_name,
    )


def _known(node: ast.AST, source: Source) -> bool:
    """Whether the code object knows all names in the node: if not, the source has changed since it was compiled."""
    return all(name in source.known or name.startswith("__") for name in _own_names(node))


def _own_names(node: ast.AST) -> Iterator[str]:
    """The names used by the node itself: not in its body, nor in scopes inside it."""
    pending = [node]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name):
            yield node.id
        pending += [child for child in ast.iter_child_nodes(node) if not isinstance(child, _INNER)]


_INNER = (ast.stmt, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _operands(node: ast.AST, source: Source) -> Iterator[ast.expr]:
    match node:
        case ast.BinOp(left=left, right=right) | ast.Compare(left=left, comparators=[right]):
            yield from (left, right)
        case ast.AugAssign(target=target, value=value):
            yield from (target, value)
        case ast.UnaryOp(operand=operand):
            yield operand
        case ast.Subscript(value=value, slice=index):
            yield from (value, index)
        case ast.Attribute(value=value):
            yield value
        case ast.Call(func=func, args=args, keywords=keywords):
            if isinstance(func, ast.Attribute) and _is_value(func.value, source):
                yield func.value
            yield from args
            yield from (keyword.value for keyword in keywords)


def _is_value(receiver: ast.expr, source: Source) -> bool:
    """Whether what stands before the dot of a call is a value, not a module: the `x` of `x.sum()`, not `np.linalg`."""
    root = receiver
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):
        return True
    return root.id in source.local or source.assigns(root.id)


def _name(node: ast.expr) -> str | None:
    """What the user would call the value: `w`, `weight` of `self.weight`, `params_w` of `params["w"]`."""
    match node:
        case ast.Name(id=name) if name != "_":
            return name
        case ast.NamedExpr(target=ast.Name(id=name)):
            return name
        case ast.Attribute(attr=name) if name not in _OF_TENSORS:
            return name
        case ast.Subscript(value=value, slice=ast.Constant(value=str() | int() as key)) if type(key) is not bool:
            stem = _name(value)
            return None if stem is None else re.sub(r"\W", "_", f"{stem}_{key}")
    return None


_OF_TENSORS = frozenset({"T", "mT", "H", "mH", "real", "imag", "data", "grad"})  # they say what, not which


def _is_literal(node: ast.expr) -> bool:
    match node:
        case ast.Constant():
            return True
        case ast.UnaryOp(operand=operand):
            return _is_literal(operand)
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            return all(map(_is_literal, elts))
        case ast.Slice(lower=lower, upper=upper, step=step):
            return all(part is None or _is_literal(part) for part in (lower, upper, step))
    return False


def _target(node: ast.AST, statement: ast.stmt) -> str | None:
    """The name that the value of `node` gets, if it is all that is assigned."""
    if isinstance(node, ast.AugAssign):
        return _name(node.target)
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        return _name(node.value)  # `x[i] = v` gives x a new value
    match statement:
        case ast.Assign(targets=targets, value=value):
            names = (_assigned(target, value, node) for target in targets)
            return next((name for name in names if name), None)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            return _assigned(target, value, node)
    return None


def _assigned(target: ast.expr, value: ast.expr, node: ast.AST) -> str | None:
    if value is node:
        return _name(target)
    if not isinstance(target, (ast.Tuple, ast.List)) or not isinstance(value, (ast.Tuple, ast.List)):
        return None
    pairs = list(zip(target.elts, value.elts, strict=False))
    if len(target.elts) != len(value.elts) or any(isinstance(e, ast.Starred) for pair in pairs for e in pair):
        return None
    return next((name for pair in pairs if (name := _assigned(*pair, node))), None)
