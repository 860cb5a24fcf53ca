"""Primitives' expressions as trees: parsed once each, filled in with the trees of operands and parameters.

Nodes are substituted, never text, so precedence and quoting take care of themselves.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import gast
import numpy as np

from srcdiff.core.primitive import Primitive
from srcdiff.errors import CompileError
from srcdiff.index import Dynamic, Index, Slice


def name(identifier: str) -> gast.Name:
    """A read of a variable."""
    return gast.Name(identifier, gast.Load(), None, None)


def store(identifier: str) -> gast.Name:
    """The target of an assignment."""
    return gast.Name(identifier, gast.Store(), None, None)


def attribute(text: str) -> Any:
    """`np.add.at` and the like."""
    first, *rest = text.split(".")
    tree: Any = name(first)
    for part in rest:
        tree = gast.Attribute(tree, part, gast.Load())
    return tree


def constant(value: Any) -> Any:
    """The tree of a static value: None, numbers, strings, dtypes, tuples of these, NumPy scalars."""
    if isinstance(value, tuple):
        return gast.Tuple([constant(part) for part in value], gast.Load())
    if isinstance(value, np.dtype):
        return attribute(f"np.{value.name}" if value.name != "bool" else "np.bool_")
    if isinstance(value, np.generic):
        return gast.Call(constant(value.dtype), [constant(value.item())], [])
    if value is None or value is Ellipsis or isinstance(value, (bool, int, float, complex, str)):
        return gast.Constant(value, None)
    if isinstance(value, type) and issubclass(value, np.generic):
        return attribute(f"np.{value.__name__}")
    raise CompileError(f"a parameter of type {type(value).__name__} cannot be printed")


def subscript(index: Index, dynamic: list[Any]) -> Any:
    """What stands between the brackets."""
    parts = [_part(part, dynamic) for part in index.parts]
    return gast.Tuple(parts, gast.Load()) if index.tuple_like else parts[0]


def _part(part: Any, dynamic: list[Any]) -> Any:
    if type(part) is Dynamic:
        return dynamic[part.k]
    if type(part) is Slice:
        return gast.Slice(*(None if p is None else _part(p, dynamic) for p in (part.start, part.stop, part.step)))
    return constant(part)


@lru_cache(maxsize=None)
def _parsed(expr: str) -> Any:
    return gast.parse(expr, mode="eval").body


def fill(prim: Primitive, operands: list[Any], params: dict[str, Any]) -> Any:
    """The tree of `prim` applied to operand trees."""
    env: dict[str, Any] = {}
    for k, arg in enumerate(prim.args):
        if arg.startswith("*"):
            env[arg[1:]] = operands[k:]
        else:
            env[arg] = operands[k]
    env.update({key: _Param(value) for key, value in params.items()})
    return _fill(_parsed(prim.expr), env)


class _Param:
    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def _fill(tree: Any, env: dict[str, Any]) -> Any:
    kind = type(tree)
    if kind is gast.Name:
        found = env.get(tree.id)
        if found is None:
            return tree
        if type(found) is _Param:
            return constant(found.value)
        return gast.Tuple(list(found), gast.Load()) if type(found) is list else found
    if kind is gast.Constant:
        return tree
    if kind is gast.Call and type(tree.func) is gast.Name and type(env.get(tree.func.id)) is _Param:
        index = env[tree.func.id].value
        (starred,) = tree.args
        return subscript(index, list(env[starred.value.id]))
    if kind is gast.Starred:
        return [_fill_one(part) for part in env[tree.value.id]]
    fields = {}
    for field in tree._fields:
        value = getattr(tree, field)
        if isinstance(value, list):
            filled: list[Any] = []
            for part in value:
                made = _fill(part, env) if isinstance(part, gast.AST) else part
                filled.extend(made) if isinstance(made, list) else filled.append(made)
            value = filled
        elif isinstance(value, gast.AST):
            value = _fill(value, env)
        fields[field] = value
    return kind(**fields)


def _fill_one(tree: Any) -> Any:
    return tree
