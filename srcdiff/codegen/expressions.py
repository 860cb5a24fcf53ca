"""Prints expressions with the fewest parentheses.

Guarantees: parsing the text gives the tree back; no pair of parentheses around an operand can be removed; chains of
operators are printed by a loop, so their length is unbounded. The only module that imports astunparse.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from astunparse import Unparser

from srcdiff.codegen.literals import literal

# Binding strengths, loosest first. An operand is put in parentheses when it binds less tightly than its place demands.
_TEST, _OR, _AND, _NOT, _COMPARE, _BIT_OR, _BIT_XOR, _BIT_AND, _SHIFT, _SUM, _PRODUCT, _SIGN, _POWER, _ATOM = range(14)

_KINDS = {"IfExp": _TEST, "Lambda": _TEST, "Compare": _COMPARE}
_BOOLEAN = {"Or": (" or ", _OR), "And": (" and ", _AND)}
_UNARY = {"Not": ("not ", _NOT), "USub": ("-", _SIGN), "UAdd": ("+", _SIGN), "Invert": ("~", _SIGN)}
_BINARY = {  # text, strength, what the left operand must have, what the right one must have
    "BitOr": (" | ", _BIT_OR, _BIT_OR, _BIT_XOR),
    "BitXor": (" ^ ", _BIT_XOR, _BIT_XOR, _BIT_AND),
    "BitAnd": (" & ", _BIT_AND, _BIT_AND, _SHIFT),
    "LShift": (" << ", _SHIFT, _SHIFT, _SUM),
    "RShift": (" >> ", _SHIFT, _SHIFT, _SUM),
    "Add": (" + ", _SUM, _SUM, _PRODUCT),
    "Sub": (" - ", _SUM, _SUM, _PRODUCT),
    "Mult": (" * ", _PRODUCT, _PRODUCT, _SIGN),
    "MatMult": (" @ ", _PRODUCT, _PRODUCT, _SIGN),
    "Div": (" / ", _PRODUCT, _PRODUCT, _SIGN),
    "FloorDiv": (" // ", _PRODUCT, _PRODUCT, _SIGN),
    "Mod": (" % ", _PRODUCT, _PRODUCT, _SIGN),
    "Pow": (" ** ", _POWER, _ATOM, _SIGN),
}


def _strength(tree: Any) -> int:
    kind = type(tree).__name__
    if kind == "BinOp":
        return _BINARY[type(tree.op).__name__][1]
    if kind == "UnaryOp":
        return _UNARY[type(tree.op).__name__][1]
    if kind == "BoolOp":
        return _BOOLEAN[type(tree.op).__name__][1]
    if kind == "Constant":
        return literal(tree.value)[1]
    return _KINDS.get(kind, _ATOM)


class Expressions(Unparser):  # type: ignore[misc]
    """Writes tokens; every operand is printed here, the rest by the base class where its form is right already."""

    def __init__(self) -> None:
        self.tokens: list[str] = []  # of the line being written
        self.write = self.tokens.append
        self.future_imports: list[str] = []  # read by the base class
        self._indent = 0

    def dispatch(self, tree: Any) -> None:
        getattr(self, "_" + type(tree).__name__)(tree)

    def _operand(self, tree: Any, strength: int) -> None:
        if _strength(tree) >= strength:
            self.dispatch(tree)
            return
        self.write("(")
        self.dispatch(tree)
        self.write(")")

    def _separated(self, trees: Iterable[Any], glue: str = ", ", strength: int = _TEST) -> None:
        for place, tree in enumerate(trees):
            if place:
                self.write(glue)
            self._operand(tree, strength)

    def _bare(self, tree: Any) -> None:
        """A tuple without its parentheses, where the grammar allows that; anything else as it is."""
        if type(tree).__name__ != "Tuple" or not tree.elts:
            self.dispatch(tree)
            return
        self._separated(tree.elts)
        if len(tree.elts) == 1:
            self.write(",")

    def _BinOp(self, tree: Any) -> None:
        pending = []
        while True:  # down the left edge, which is where chains are deep
            text, _, left, right = _BINARY[type(tree.op).__name__]
            closing = _strength(tree.left) < left
            if closing:
                self.write("(")
            pending.append((closing, text, tree.right, right))
            tree = tree.left
            if type(tree).__name__ != "BinOp":
                break
        self.dispatch(tree)
        for closing, text, operand, strength in reversed(pending):
            if closing:
                self.write(")")
            self.write(text)
            self._operand(operand, strength)

    def _UnaryOp(self, tree: Any) -> None:
        text, strength = _UNARY[type(tree.op).__name__]
        self.write(text)
        self._operand(tree.operand, strength)

    def _BoolOp(self, tree: Any) -> None:
        text, strength = _BOOLEAN[type(tree.op).__name__]
        self._separated(tree.values, text, strength + 1)

    def _Compare(self, tree: Any) -> None:
        self._operand(tree.left, _BIT_OR)
        for op, operand in zip(tree.ops, tree.comparators, strict=True):
            self.write(f" {self.cmpops[type(op).__name__]} ")
            self._operand(operand, _BIT_OR)

    def _IfExp(self, tree: Any) -> None:
        self._operand(tree.body, _OR)
        self.write(" if ")
        self._operand(tree.test, _OR)
        self.write(" else ")
        self.dispatch(tree.orelse)

    def _Lambda(self, tree: Any) -> None:
        self.write("lambda")
        self._parameters(tree.args, first=" ")
        self.write(": ")
        self.dispatch(tree.body)

    def _Constant(self, tree: Any) -> None:
        self.write(literal(tree.value)[0])

    def _Attribute(self, tree: Any) -> None:
        bare_int = type(tree.value).__name__ == "Constant" and type(tree.value.value) is int
        self._operand(tree.value, _ATOM + bare_int)  # 1.real would be read as a float
        self.write("." + tree.attr)

    def _Subscript(self, tree: Any) -> None:
        self._operand(tree.value, _ATOM)
        self.write("[")
        index = tree.slice
        if type(index).__name__ == "Tuple" and index.elts:
            self._arguments_of(index.elts)
            self.write("," if len(index.elts) == 1 else "")
        else:
            self.dispatch(index)
        self.write("]")

    def _Call(self, tree: Any) -> None:
        self._operand(tree.func, _ATOM)
        self.write("(")
        if len(tree.args) == 1 and not tree.keywords and type(tree.args[0]).__name__ == "GeneratorExp":
            self._comprehended(tree.args[0])
        else:
            self._arguments_of([*tree.args, *tree.keywords])
        self.write(")")

    def _arguments_of(self, trees: Iterable[Any]) -> None:
        """Like `_separated`, but a star takes any expression here, not only an operand of `|`."""
        for place, tree in enumerate(trees):
            if place:
                self.write(", ")
            if type(tree).__name__ == "Starred":
                self.write("*")
                tree = tree.value
            self.dispatch(tree)

    def _Starred(self, tree: Any) -> None:
        self.write("*")
        self._operand(tree.value, _BIT_OR)

    def _Tuple(self, tree: Any) -> None:
        self.write("(")
        if tree.elts:
            self._bare(tree)
        self.write(")")

    def _Dict(self, tree: Any) -> None:
        self.write("{")
        for place, (key, value) in enumerate(zip(tree.keys, tree.values, strict=True)):
            if place:
                self.write(", ")
            if key is None:
                self.write("**")
                self._operand(value, _BIT_OR)
                continue
            self.dispatch(key)
            self.write(": ")
            self.dispatch(value)
        self.write("}")

    def _GeneratorExp(self, tree: Any) -> None:
        self.write("(")
        self._comprehended(tree)
        self.write(")")

    def _comprehended(self, tree: Any) -> None:
        self.dispatch(tree.elt)
        for generator in tree.generators:
            self.dispatch(generator)

    def _comprehension(self, tree: Any) -> None:
        self.write(" for ")
        self._bare(tree.target)
        self.write(" in ")
        self._operand(tree.iter, _OR)
        for condition in tree.ifs:
            self.write(" if ")
            self._operand(condition, _OR)

    def _arguments(self, tree: Any) -> None:
        self._parameters(tree, first="")

    def _parameters(self, tree: Any, first: str) -> None:
        """The parameters of a function, after the text `first` if there are any."""
        named = [*tree.posonlyargs, *tree.args]
        defaults = [None] * (len(named) - len(tree.defaults)) + tree.defaults
        parts: list[tuple[str, Any, Any]] = [("", name, default) for name, default in zip(named, defaults, strict=True)]
        if tree.posonlyargs:
            parts.insert(len(tree.posonlyargs), ("/", None, None))
        if tree.vararg or tree.kwonlyargs:
            parts.append(("*", tree.vararg, None))
        parts += [("", name, default) for name, default in zip(tree.kwonlyargs, tree.kw_defaults, strict=True)]
        if tree.kwarg:
            parts.append(("**", tree.kwarg, None))
        for place, (stars, name, default) in enumerate(parts):
            self.write(", " if place else first)
            self.write(stars + (name.id if name else ""))
            annotation = getattr(name, "annotation", None)
            if annotation is not None:
                self.write(": ")
                self.dispatch(annotation)
            if default is not None:
                self.write(" = " if annotation else "=")
                self.dispatch(default)
