"""Programs of single float64 numbers, written so that they run on Python's floats.

    def loss_of_numbers(x, y, sin): ...         the statements; functions are arguments
    def loss(x, y):
        return rt.in_floats(loss_of_numbers, ("sin",), x, y)

Guarantee: the same statements run on NumPy's numbers if Python's raise an error or give something that is not finite,
so that values are NumPy's, and warnings too unless an infinity on the way leaves no trace. Python's arithmetic gives
the same bits in a tenth of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gast
import numpy as np

from srcdiff.codegen.emit import LONGEST, _Function
from srcdiff.codegen.header import Header
from srcdiff.codegen.printer import to_source
from srcdiff.codegen.template import call, constant, definition, name, parameter
from srcdiff.core.program import Node, Program

FEWEST = 12  # operations; the call of the statements costs as much as these save
_OPERATORS = frozenset(("add", "sub", "mul", "div", "neg"))
FUNCTIONS = ("sin", "cos", "sqrt", "exp", "log", "tanh")


def of_numbers(program: Program) -> bool:
    """Whether everything is a float64 number, computed by operators and a few functions."""
    made = [node for node in program.nodes() if node.prim is not None]
    return FEWEST <= len(made) <= LONGEST and all(map(_is_number, program.inputs)) and all(map(_is_computed, made))


def _is_number(node: Node) -> bool:
    if node.is_literal:
        return type(node.literal) in (int, float)
    return type(node.aval) is not tuple and node.shape == () and node.dtype == np.float64


def _is_computed(node: Node) -> bool:
    assert node.prim is not None
    called = node.prim.name
    power = called == "pow" and type(node.operands[1].literal) in (int, float) and 0 < node.operands[1].literal <= 8
    known = called in _OPERATORS or called in FUNCTIONS or power
    return known and _is_number(node) and all(map(_is_number, node.operands))


def emit_numbers(program: Program, doc: str | Header | None = None) -> str:
    """The text of both functions."""
    used = {node.prim.name for node in program.nodes() if node.prim is not None}
    functions = [each for each in FUNCTIONS if each in used]
    inner = Program(f"{program.name}_of_numbers", program.inputs, program.outputs)
    made = _Numbers(inner, functions)
    text = made.text(doc)
    arguments = [made.names[node] for node in program.inputs]
    given = constant(tuple(functions))
    result = call("rt.in_floats", name(inner.name), given, *map(name, arguments))
    return f"{text}\n\n{made.outer(program.name, arguments, [gast.Return(result)])}"


class _Numbers(_Function):
    """The emission of the statements."""

    def __init__(self, program: Program, functions: Sequence[str]) -> None:
        super().__init__(program, plain=True, reserved=functions)
        self.functions = functions

    def _def(self, called: str, arguments: Sequence[str], body: list[Any]) -> str:
        for line in body:
            _Bare().visit(line)
        return super()._def(called, [*arguments, *self.functions], body)

    def outer(self, called: str, arguments: Sequence[str], body: list[Any]) -> str:
        """The text of a function without comments."""
        return to_source(definition(called, [parameter(argument) for argument in arguments], body))


class _Bare(gast.NodeTransformer):  # type: ignore[misc]
    """np.sin(x) -> sin(x)."""

    def visit_Call(self, tree: Any) -> Any:
        self.generic_visit(tree)
        function = tree.func
        if type(function) is gast.Attribute and function.attr in FUNCTIONS:
            return gast.Call(name(function.attr), tree.args, tree.keywords)
        return tree
