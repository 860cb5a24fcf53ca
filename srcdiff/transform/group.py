"""Inputs that a loop goes through one by one become one input: `h` with `h[t]` instead of h, h_2, h_3 and so on.

Guarantee: the program computes the same from the same values, given as the groups say.
"""

from __future__ import annotations

from srcdiff.core.builder import Builder, suggest
from srcdiff.core.program import Node, Program
from srcdiff.ops.loops import pack, pick

#: the number of an input of the program before, or the numbers of those that are given as a tuple
Groups = tuple[int | tuple[int, ...], ...]


def group(program: Program) -> tuple[Program, Groups]:
    """The program with lists of inputs as one input each, and what its inputs are made of."""
    nodes = program.nodes()
    inputs = set(program.inputs)
    member: dict[Node, tuple[Node, int]] = {}
    for node in nodes:
        if node.prim is pack and all(x in inputs and x not in member for x in node.operands):
            member.update((x, (node, k)) for k, x in enumerate(node.operands))
    if not member:
        return program, tuple(range(len(program.inputs)))
    builder = Builder()
    new: dict[Node, Node] = {}
    entering: list[Node] = []
    groups: list[int | tuple[int, ...]] = []
    number = {node: k for k, node in enumerate(program.inputs)}
    for node in program.inputs:
        if node not in member:
            groups.append(number[node])
            new[node] = builder.input(node.aval, node.name, node.source)
            entering.append(new[node])
        elif member[node][0] not in new:
            whole = member[node][0]
            groups.append(tuple(number[x] for x in whole.operands))
            new[whole] = builder.input(whole.aval, whole.name or node.name, node.source)
            entering.append(new[whole])

    def value(node: Node) -> Node:
        if node not in new:  # a member that is read by itself
            whole, k = member[node]
            new[node] = pick(new[whole], k=k)
        return new[node]

    for node in nodes:
        if node in new or node in member:
            continue
        builder.source = node.source
        if node.prim is None:
            new[node] = builder.literal(node.literal)
            continue
        operands = tuple(map(value, node.operands))
        made = new[node] = builder.opaque(node.prim, operands, node.kwargs, node.aval, node.name)
        if node.hint:
            suggest(made, node.hint)
    outputs = tuple(None if out is None else value(out) for out in program.outputs)
    return Program(program.name, tuple(entering), outputs), tuple(groups)
