"""Forward and backward as one program: what a replayed call runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from srcdiff.config import Options
from srcdiff.core.builder import Builder, rename
from srcdiff.core.program import Node, Program
from srcdiff.transform.reverse import reverse
from srcdiff.transform.rewrite import prepare, simplify


def fuse(
    name: str, inputs: Sequence[Node], result: Node, wrt: Sequence[Node], branches: Sequence[Node], options: Options
) -> Program:
    """The program `inputs -> (result, gradients of wrt..., values that decided branches...)`.

    With `options.exact` the operations are those that eager execution does, in its order; else they are simplified, which
    changes results by a few ulp at most.
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
    for node in forward.inputs:
        new[node] = builder.input(node.aval, node.name, node.source)
    _copy(forward.nodes(), new, builder)
    seed, *saved = vjp.program.inputs
    new[seed] = builder.literal(np.ones((), value.dtype)[()]) if not value.shape else builder.input(value.aval, "g_out")
    for proxy, original in zip(saved, vjp.saved, strict=True):
        new[proxy] = new[original]
    _copy(vjp.program.nodes(), new, builder)
    gradients = tuple(None if out is None else new[out] for out in vjp.program.outputs)
    outputs = (new[value], *gradients, *(new[c] for c in conditions if c is not None))
    program = Program(name, tuple(new[node] for node in forward.inputs), outputs)
    return program if options.exact else simplify(program)


def _copy(nodes: Sequence[Node], new: dict[Node, Node], builder: Builder) -> None:
    """Make nodes anew; equal subexpressions of forward and backward become one."""
    for node in nodes:
        if node in new:
            continue
        if node.prim is None:
            new[node] = builder.literal(node.literal)
            continue
        builder.source = node.source
        made = builder.emit(node.prim, tuple(new[operand] for operand in node.operands), node.kwargs)
        new[node] = rename(made, node.name) if node.name else made


def shared(program: Program) -> tuple[bool, ...]:
    """Which outputs may share memory with an input or another output, and must be copied before the user gets them."""
    flags = []
    for k, out in enumerate(program.outputs):
        flags.append(out is not None and (out.prim is None or out.prim.view or out in program.outputs[:k]))
    return tuple(flags)


