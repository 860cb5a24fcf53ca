"""Forward and backward as one program: what a replayed call runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from srcdiff.config import Options
from srcdiff.core.builder import Builder, rename
from srcdiff.core.primitive import REGISTRY
from srcdiff.core.program import Node, Program
from srcdiff.transform.block import in_blocks
from srcdiff.transform.cheaper import CHEAPER
from srcdiff.transform.contract import contract
from srcdiff.transform.reverse import reverse
from srcdiff.transform.rewrite import prepare, simplify
from srcdiff.transform.straighten import straighten


def fuse(
    name: str, inputs: Sequence[Node], result: Node, wrt: Sequence[Node], branches: Sequence[Node], options: Options
) -> Program:
    """The program `inputs -> (result, gradients of wrt..., values that decided branches...)`.

    With `options.exact` the operations are those that eager execution does, in its order; else they are simplified,
    which changes results by a few ulp at most.
    """
    forward = Program(name, tuple(inputs), (result, *branches))
    now: dict[Node, Node] = {node: node for node in (*inputs, *forward.nodes())}
    if not options.exact:
        forward, mapping = prepare(forward, None, wrt)
        now.update(mapping)
    value, conditions = forward.outputs[0], forward.outputs[1:]
    assert value is not None
    vjp = reverse(Program(name, forward.inputs, (value,)), [now[node] for node in wrt], None, name)
    builder = Builder()
    new: dict[Node, Node] = {}
    for node in inputs:
        new[now[node]] = builder.input(node.aval, now[node].name, node.source)
    # values through which nothing flows, such as the maximum inside a softmax, are inputs of the prepared program
    computed = {now[node]: node for node in now if node.prim is not None and now[node].is_input}
    for node in forward.nodes():
        original = computed.get(node)
        if original is None:
            _copy(node, new, builder)
        else:
            operands = tuple(new[now[operand]] for operand in original.operands)
            new[node] = _made(original, operands, builder)
    seed, *saved = vjp.program.inputs
    one = builder.literal(np.ones((), value.dtype)[()])
    new[seed] = builder.emit(REGISTRY["full"], (one,), {"shape": value.shape}) if value.shape else one
    for proxy, original in zip(saved, vjp.saved, strict=True):
        new[proxy] = new[original]
    for node in vjp.program.nodes():
        _copy(node, new, builder)
    gradients = tuple(None if out is None else new[out] for out in vjp.program.outputs)
    outputs = (new[value], *gradients, *(new[c] for c in conditions if c is not None))
    program = Program(name, tuple(new[now[node]] for node in inputs), outputs)
    return program if options.exact else straighten(contract(in_blocks(simplify(program, more=CHEAPER))))


def _copy(node: Node, new: dict[Node, Node], builder: Builder) -> None:
    """Make a node anew, unless it is there; equal subexpressions of forward and backward become one."""
    if node in new:
        return
    if node.prim is None:
        new[node] = builder.literal(node.literal)
    else:
        new[node] = _made(node, tuple(new[operand] for operand in node.operands), builder)


def _made(node: Node, operands: tuple[Node, ...], builder: Builder) -> Node:
    assert node.prim is not None
    builder.source = node.source
    made = builder.emit(node.prim, operands, node.kwargs)
    return rename(made, node.name) if node.name else made


def shared(program: Program) -> tuple[bool, ...]:
    """Which outputs may share memory with an input or another output, and must be copied before the user gets them."""
    flags = []
    for k, out in enumerate(program.outputs):
        flags.append(out is not None and (out.prim is None or out.prim.view or out in program.outputs[:k]))
    return tuple(flags)
