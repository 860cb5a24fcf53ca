"""Primitives' expressions as trees: parsed once each, filled in with the trees of operands and parameters.

Nodes are substituted, never text, so precedence and quoting take care of themselves. Arguments that say what NumPy
assumes anyway (`keepdims=False`) are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import gast
import numpy as np

from srcdiff.core.primitive import Primitive
from srcdiff.errors import CompileError
from srcdiff.index import Dynamic, Index, Slice, Truth, Window

#: an argument name or parameter name -> the tree of an operand, a list of trees, or a `_Param`
Env = dict[str, Any]

#: keyword arguments left out where they have these values, and whose tuples of one axis are written as the axis
DEFAULTS = {"axis": None, "keepdims": False, "ddof": 0, "optimize": False}
_WITH_DEFAULTS = frozenset({
    "np.sum", "np.mean", "np.prod", "np.max", "np.min", "np.any", "np.all", "np.var", "np.std", "np.argmax",
    "np.argmin", "np.cumsum", "np.cumprod", "np.count_nonzero", "np.nansum", "np.linalg.norm", "np.einsum",
})  # fmt: skip
_LOAD = gast.Load()
#: one more field in the definitions that newer versions of gast make
_TYPED = "type_params" in gast.FunctionDef._fields


def name(identifier: str) -> gast.Name:
    """A read of a variable."""
    return gast.Name(identifier, _LOAD, None, None)


def renamed(tree: Any, old: str, new: str) -> None:
    """Let a variable have another name in a tree made for this place alone."""
    for part in gast.walk(tree):
        if type(part) is gast.Name and part.id == old:
            part.id = new


def store(identifier: str) -> gast.Name:
    """The target of an assignment."""
    return gast.Name(identifier, gast.Store(), None, None)


def parameter(identifier: str) -> gast.Name:
    """A parameter of a function."""
    return gast.Name(identifier, gast.Param(), None, None)


def definition(called: str, parameters: list[Any], body: list[Any]) -> gast.FunctionDef:
    """`def called(*parameters): body`; `parameters` are trees."""
    arguments = gast.arguments(parameters, [], None, [], [], None, [])
    return gast.FunctionDef(called, arguments, body, [], None, None, *[[]] * _TYPED)


def class_definition(called: str, body: list[Any]) -> gast.ClassDef:
    """`class called: body`."""
    return gast.ClassDef(called, [], [], body, [], *[[]] * _TYPED)


def attribute(text: str) -> Any:
    """`np.add.at` and the like."""
    first, *rest = text.split(".")
    tree: Any = name(first)
    for part in rest:
        tree = gast.Attribute(tree, part, _LOAD)
    return tree


def call(function: str, *args: Any, **keywords: Any) -> Any:
    """`function(*args, **keywords)`; the arguments are trees."""
    return gast.Call(attribute(function), list(args), [gast.keyword(key, tree) for key, tree in keywords.items()])


def method(tree: Any, called: str, *args: Any, **keywords: Any) -> Any:
    """`tree.called(*args, **keywords)`."""
    given = [gast.keyword(key, value) for key, value in keywords.items()]
    return gast.Call(gast.Attribute(tree, called, _LOAD), list(args), given)


def constant(value: Any) -> Any:
    """The tree of a static value: None, numbers, strings, dtypes, slices, functions of NumPy, tuples, NumPy scalars."""
    if isinstance(value, tuple):
        return gast.Tuple([constant(part) for part in value], _LOAD)
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
    return gast.Tuple(parts, _LOAD) if len(parts) != 1 else parts[0]


def _part(part: Any, dynamic: list[Any]) -> Any:
    kind = type(part)
    if kind is Dynamic:
        return dynamic[part.k]
    if kind is Slice:
        return gast.Slice(*(None if p is None else constant(p) for p in (part.start, part.stop, part.step)))
    if kind is Window:
        start = dynamic[part.k]
        stop = gast.BinOp(start, gast.Add(), constant(part.length * part.step))
        return gast.Slice(start, stop, None if part.step == 1 else constant(part.step))
    return constant(part.value if kind is Truth else part)


def fill(prim: Primitive, operands: list[Any], params: tuple[tuple[str, Any], ...]) -> Any:
    """The tree of `prim` applied to operand trees."""
    env: Env = {}
    for k, arg in enumerate(prim.args):
        if arg.startswith("*"):
            env[arg[1:]] = operands[k:]
        else:
            env[arg] = operands[k]
    for key, value in params:
        env[key] = _Param(value)
    return template(prim)(env)


@cache
def expression(prim: Primitive) -> Any:
    """The tree of a primitive's expression."""
    return gast.parse(prim.expr, mode="eval").body


@cache
def template(prim: Primitive) -> Callable[[Env], Any]:
    """A function that makes the tree of a primitive's expression."""
    names = frozenset(arg.lstrip("*") for arg in prim.args) | frozenset(prim.params)
    return _maker(expression(prim), names)


class _Param:
    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def tree(self, key: str = "") -> Any:
        """The value as a tree, an axis by itself where it is the only one of a tuple."""
        value = self.value
        return constant(value[0] if key == "axis" and type(value) is tuple and len(value) == 1 else value)


def _resolved(found: Any) -> Any:
    if type(found) is _Param:
        return found.tree()
    return gast.Tuple(list(found), _LOAD) if type(found) is list else found


def _maker(tree: Any, names: frozenset[str]) -> Callable[[Env], Any]:
    """A function from an environment to a copy of `tree` with the names replaced. What has no names in it is shared."""
    if not any(isinstance(part, gast.Name) and part.id in names for part in gast.walk(tree)):
        return lambda env: tree
    if type(tree) is gast.Name:
        key = tree.id
        return lambda env: _resolved(env[key])
    if type(tree) is gast.Call:
        return _call_maker(tree, names)
    if type(tree) is gast.BinOp:
        left, op, right = _maker(tree.left, names), tree.op, _maker(tree.right, names)
        return lambda env: gast.BinOp(left(env), op, right(env))
    kind = type(tree)
    fields = [_field_maker(getattr(tree, field), names) for field in tree._fields]
    return lambda env: kind(*(made(env) for made in fields))


def _field_maker(value: Any, names: frozenset[str]) -> Callable[[Env], Any]:
    if isinstance(value, list):
        return _list_maker(value, names)
    return _maker(value, names) if isinstance(value, gast.AST) else lambda env: value


def _list_maker(trees: list[Any], names: frozenset[str]) -> Callable[[Env], list[Any]]:
    """A starred name becomes the operands it stands for."""
    makers = [_part_maker(tree, names) for tree in trees]
    return lambda env: [part for make in makers for part in make(env)]


def _part_maker(tree: Any, names: frozenset[str]) -> Callable[[Env], list[Any]]:
    if type(tree) is gast.Starred and type(tree.value) is gast.Name and tree.value.id in names:
        key = tree.value.id
        return lambda env: list(env[key])
    make = _field_maker(tree, names)
    return lambda env: [make(env)]


def _call_maker(tree: Any, names: frozenset[str]) -> Callable[[Env], Any]:
    if type(tree.func) is gast.Name and tree.func.id in names:  # index(*args)
        key, starred = tree.func.id, tree.args[0].value.id
        return lambda env: subscript(env[key].value, list(env[starred]))
    function, args = _maker(tree.func, names), _list_maker(tree.args, names)
    sparing = _dotted(tree.func) in _WITH_DEFAULTS
    keywords = [(each.arg, each.value.id if type(each.value) is gast.Name else None, _maker(each.value, names))
                for each in tree.keywords]  # fmt: skip

    def make(env: Env) -> Any:
        given = []
        for key, of, made in keywords:
            value = env.get(of) if of else None
            if sparing and type(value) is _Param and key in DEFAULTS:
                if value.value == DEFAULTS[key] and type(value.value) is type(DEFAULTS[key]):
                    continue
                given.append(gast.keyword(key, value.tree(key)))
            else:
                given.append(gast.keyword(key, made(env)))
        return gast.Call(function(env), args(env), given)

    return make


def _dotted(tree: Any) -> str:
    if type(tree) is gast.Attribute:
        return f"{_dotted(tree.value)}.{tree.attr}"
    return str(tree.id) if type(tree) is gast.Name else ""
