"""What a well-formed program is, checked.

- every node's operands come before it, and belong to the same builder
- every aval is what the primitive's rule infers from the operands' avals
- parameters are hashable, and are those the primitive declares
- inputs are inputs, and all inputs that the outputs need are declared
"""

from __future__ import annotations

from srcdiff.core.program import Node, Program, format_program
from srcdiff.errors import CompileError


def verify(program: Program) -> Program:
    """The program itself; raises CompileError with the neighbouring lines if it is malformed."""
    declared = set(program.inputs)
    for node in program.inputs:
        if not node.is_input:
            _fail(program, node, "is declared as an input but is none")
    for node in program.nodes():
        if node.is_input:
            if node not in declared:
                _fail(program, node, "is an input that is not declared")
            continue
        if node.prim is None:
            continue
        _check(program, node)
    return program


def _check(program: Program, node: Node) -> None:
    prim = node.prim
    assert prim is not None
    for operand in node.operands:
        if operand.number >= node.number:
            _fail(program, node, f"uses {operand!r} before it is defined")
        if operand.builder is not node.builder:
            _fail(program, node, f"uses {operand!r} of another program")
    names = tuple(name for name, _ in node.params)
    if set(names) != set(prim.params):
        _fail(program, node, f"has parameters {names}, but {prim.name} takes {prim.params}")
    for name, value in node.params:
        try:
            hash(value)
        except TypeError:
            _fail(program, node, f"has an unhashable parameter {name}={value!r}")
    inferred = prim.infer(*(operand.aval for operand in node.operands), **node.kwargs)
    if inferred is not node.aval and inferred != node.aval:
        _fail(program, node, f"is said to be {node.aval}, but {prim.name} gives {inferred}")


def _fail(program: Program, node: Node, what: str) -> None:
    lines = format_program(program).splitlines()
    order = [n for n in program.nodes() if n.prim is not None]
    here = order.index(node) + 1 if node in order else 0
    around = "\n".join(lines[max(0, here - 2) : here + 3])
    raise CompileError(f"malformed program: {node!r} {what}\n{around}")
