"""From a Program to the function a careful person would have written for it.

Guarantees: every statement computes values that later statements or the result use; a value used once is written into the
expression that uses it while the line stays readable; the user's line stands above the statements that come from it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import gast

from srcdiff.codegen.namer import Namer
from srcdiff.codegen.printer import Comments, Note, to_source
from srcdiff.codegen.template import constant, fill, name, store
from srcdiff.core.program import Node, Program

MOST_OPERATORS = 6


@dataclass
class _Function:
    program: Program
    namer: Namer = field(default_factory=Namer)
    names: dict[Node, str] = field(default_factory=dict)
    trees: dict[Node, Any] = field(default_factory=dict)
    weights: dict[Node, int] = field(default_factory=dict)
    body: list[Any] = field(default_factory=list)
    comments: dict[Any, Comments] = field(default_factory=dict)


def emit(program: Program, doc: str | None = None) -> str:
    """The text of a function that takes the program's inputs and returns its outputs."""
    state = _Function(program)
    state.namer.take(program.name)
    for node in program.inputs:
        label = state.names[node] = state.namer.take(node.name or "x")
        state.trees[node] = name(label)
        state.weights[node] = 0
    nodes = program.nodes()
    uses: dict[Node, int] = {}
    for node in nodes:
        for operand in node.operands:
            uses[operand] = uses.get(operand, 0) + 1
    for out in program.outputs:
        if out is not None:
            uses[out] = uses.get(out, 0) + 2
    group: Any = None
    for node in nodes:
        if node in state.trees:
            continue
        if node.prim is None:
            state.trees[node] = constant(node.literal)
            state.weights[node] = 0
            continue
        tree = fill(node.prim, [state.trees[operand] for operand in node.operands], node.kwargs)
        weight = 1 + sum(state.weights[operand] for operand in node.operands)
        if node.prim.name == "item" or (uses[node] == 1 and weight < MOST_OPERATORS):
            state.trees[node] = tree
            state.weights[node] = weight
            continue
        label = state.names[node] = state.namer.take(node.name or node.prim.name)
        statement = gast.Assign([store(label)], tree, None)
        above: tuple[Note, ...] = ()
        if node.source.text and node.source.text != group:
            group = node.source.text
            above = (Note(group, str(node.source)),)
        state.comments[statement] = Comments(above, str(node.aval) if not isinstance(node.aval, tuple) else None)
        state.body.append(statement)
        state.trees[node] = name(label)
        state.weights[node] = 0
    results = [gast.Constant(None, None) if out is None else state.trees[out] for out in program.outputs]
    state.body.append(gast.Return(gast.Tuple(results, gast.Load())))
    if doc:
        state.body.insert(0, gast.Expr(gast.Constant(doc, None)))
    arguments = gast.arguments(
        [gast.Name(state.names[node], gast.Param(), None, None) for node in program.inputs], [], None, [], [], None, []
    )
    function = gast.FunctionDef(state.names.get(None, program.name), arguments, state.body, [], None, None, [])  # type: ignore[call-overload]
    return to_source(function, state.comments)
