"""Building programs: `Builder.emit` infers the aval, folds local identities and shares equal subexpressions.

Guarantees: within one Builder no two live nodes have the same primitive, operands and parameters; an operation on
literals only is a literal; every node's aval is what NumPy would give.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.aval import SCALARS, Aval, aval_of
from srcdiff.core.primitive import REGISTRY, Primitive
from srcdiff.core.program import NOWHERE, Node, Program, Source
from srcdiff.errors import CompileError

#: the smallest numbers that are not denormal
_NORMAL: dict[str, Any] = {char: np.finfo(char).tiny for char in "efdg"}
#: operations that give 0 only where that is the result, and do not round to it
_EXACT_ZEROS = frozenset(("add", "sub", "neg", "log", "floor", "ceil", "trunc", "rint", "sign", "remainder", "cast"))

Rule = Callable[["Builder", Node, tuple[Node, ...]], Node | None]


class Builder:
    """Makes the nodes of one program."""

    __slots__ = ("_count", "_known", "_literals", "source")

    def __init__(self) -> None:
        self._count = 0
        self._known: dict[tuple[Any, ...], Node] = {}
        self._literals: dict[tuple[Any, ...], Node] = {}
        #: given to the nodes made from here on
        self.source: Source = NOWHERE

    def _number(self) -> int:
        self._count += 1
        return self._count

    def input(self, aval: Any, name: str | None = None, source: Source = NOWHERE) -> Node:
        """A new input."""
        return Node(None, (), (), aval, self, self._number(), source, name)

    def literal(self, value: Any) -> Node:
        """A constant written into the program: a Python number or NumPy scalar."""
        key = (type(value), repr(value))
        node = self._literals.get(key)
        if node is None:
            node = Node(None, (), (), aval_of(value), self, self._number(), literal=value)
            self._literals[key] = node
        return node

    def lift(self, value: Any) -> Node:
        """`value` as a node of this builder."""
        if type(value) is Node:
            if value.builder is not self:
                raise CompileError("a node of another program was used as an operand")
            return value
        if type(value) in SCALARS or isinstance(value, np.generic):
            return self.literal(value)
        if isinstance(value, np.ndarray) and value.ndim == 0:
            return self.literal(value[()])
        if isinstance(value, Aval):
            raise CompileError(f"a rule read a value that its primitive does not save ({value})")
        raise CompileError(f"{type(value).__name__} cannot be an operand of a program")

    def emit(self, prim: Primitive, operands: tuple[Any, ...], params: dict[str, Any], aval: Any = None) -> Node:
        """The node for `prim(*operands, **params)`: an old one if it exists, a simpler one if a fold applies.

        `aval` is the node's, if the caller knows it.
        """
        nodes = tuple(map(self.lift, operands))
        if prim.fold is not None:
            folded = prim.fold(self, nodes, params)
            if folded is not None:
                return self.lift(folded)
        if nodes and all(node.is_literal for node in nodes) and not prim.multi:
            value = _evaluate_literals(prim, nodes, params)
            if value is not None:
                return self.literal(value)
        items = tuple(params.items())
        key = (prim, tuple(map(id, nodes)), items)
        node = self._known.get(key)
        if node is None:
            if aval is None:
                aval = prim.infer(*(n.aval for n in nodes), **params)
            node = Node(prim, nodes, items, aval, self, self._number(), self.source)
            self._known[key] = node
        return node

    def known(self, prim: Primitive, nodes: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
        """The node for `prim(*nodes, **params)` if there is one."""
        return self._known.get((prim, tuple(map(id, nodes)), tuple(params.items())))

    def opaque(
        self, prim: Primitive, nodes: tuple[Node, ...], params: dict[str, Any], aval: Any, name: str | None = None
    ) -> Node:
        """A node as given: not folded, not shared, its aval taken on trust. For programs read off the tape."""
        return Node(prim, nodes, tuple(params.items()), aval, self, self._number(), self.source, name)


def _evaluate_literals(prim: Primitive, nodes: tuple[Node, ...], params: dict[str, Any]) -> Any:
    """The value of an operation on literals, or None where it is no scalar or fails."""
    value: Any
    try:
        with np.errstate(all="ignore"):
            value = prim.eval(*(node.literal for node in nodes), **params)
    except (ArithmeticError, TypeError, ValueError):
        return None
    if isinstance(value, (float, np.floating)) and abs(value) < _NORMAL[np.dtype(type(value)).char]:
        # what is denormal is 0 in some threads: that shows when the program runs
        exact = prim.name in _EXACT_ZEROS or any(node.literal == 0 for node in nodes)
        return value if value == 0 and exact else None
    if type(value) in SCALARS:
        return value
    return value if isinstance(value, np.generic) and value.dtype.kind in "biufc" else None


def item(value: Any, k: int) -> Any:
    """Output k of a primitive with several outputs."""
    return REGISTRY["item"](value, k=k) if isinstance(value, Node) else value[k]


def rebuild(program: Program, rule: Rule, builder: Builder | None = None) -> Program:
    """The program made anew in a fresh Builder; `rule` returns a replacement for a node, or None to keep it.

    A replacement has the aval of what it replaces. `rule(builder, node, operands)` gets the old node and
    its already rebuilt operands.
    """
    builder = builder or Builder()
    new: dict[Node, Node] = {node: builder.input(node.aval, node.name, node.source) for node in program.inputs}
    for node in program.nodes():
        if node in new:
            continue
        if node.prim is None:
            new[node] = builder.literal(node.literal)
            continue
        builder.source = node.source
        operands = tuple(new[operand] for operand in node.operands)
        made = rule(builder, node, operands)
        if made is None:
            made = builder.emit(node.prim, operands, node.kwargs, node.aval)
        if node.hint:
            suggest(made, node.hint)
        new[node] = rename(made, node.name) if node.name else made
    return Program(
        program.name,
        tuple(new[node] for node in program.inputs),
        tuple(None if out is None else new[out] for out in program.outputs),
    )


def rename(node: Node, name: str | None) -> Node:
    """Give a node that has no name yet its printed name; identity is kept."""
    if node.name is None and name is not None and not node.is_literal:
        object.__setattr__(node, "name", name)  # a label, not part of the value
    return node


def suggest(node: Node, hint: str) -> Node:
    """Give a node that has neither name nor hint a hint; identity is kept."""
    if node.name is None and node.hint is None and node.prim is not None:
        object.__setattr__(node, "hint", hint)  # a label, not part of the value
    return node


def interpret(program: Program, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Evaluate a program on arrays, node by node: the oracle of the tests."""
    env: dict[Node, Any] = dict(zip(program.inputs, values, strict=True))
    for node in program.nodes():
        if node in env:
            continue
        if node.prim is None:
            env[node] = node.literal
        else:
            env[node] = node.prim.eval(*(env[operand] for operand in node.operands), **node.kwargs)
    return tuple(None if out is None else env[out] for out in program.outputs)
