"""Forward and backward as one program: what a replayed call runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from srcdiff.config import Options
from srcdiff.core.builder import Builder, rebuild, rename
from srcdiff.core.primitive import REGISTRY
from srcdiff.core.program import Node, Program
from srcdiff.transform.block import in_blocks
from srcdiff.transform.cheaper import CHEAPER
from srcdiff.transform.contract import contract
from srcdiff.transform.reverse import reverse
from srcdiff.transform.rewrite import prepare, prepare_exactly, simplify
from srcdiff.transform.straighten import straighten


def fuse(
    name: str, inputs: Sequence[Node], result: Node, wrt: Sequence[Node], branches: Sequence[Node], options: Options
) -> Program:
    """The program `inputs -> (result, gradients of wrt..., values that decided branches...)`.

    With `options.exact` the operations are those that eager execution does, in its order; else they are simplified,
    which changes results by a few ulp at most.
    """
    if options.exact:
        return _fused_exactly(name, inputs, (result, *branches), wrt)
    program = Program(name, tuple(inputs), (result, *branches))
    if all(node.is_input for node in wrt):
        # elements that are read twice get one gradient; not so if one of two like values were asked for
        shared = rebuild(program, _as_it_is)
        now = dict(zip(program.inputs, shared.inputs, strict=True))
        program, wrt = shared, [now[node] for node in wrt]
    return optimised(_fused(program, wrt))


def _as_it_is(builder: Builder, node: Node, operands: tuple[Node, ...]) -> Node | None:
    """The operation; that of an equal one only if it is a view, whose gradients are those of its elements."""
    prim = node.prim
    return None if prim is None or prim.view else builder.opaque(prim, operands, node.kwargs, node.aval)


def optimised(program: Program) -> Program:
    """The program with fewer and cheaper operations, to rounding."""
    return straighten(contract(in_blocks(simplify(program, more=CHEAPER))))


def _fused(program: Program, wrt: Sequence[Node]) -> Program:
    inputs = program.inputs
    forward, mapping = prepare(program, None, wrt)
    now: dict[Node, Node] = {node: node for node in inputs} | mapping
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
    return _with_gradients(forward, [now[node] for node in inputs], [now[node] for node in wrt], new, builder)


def _fused_exactly(name: str, inputs: Sequence[Node], outputs: Sequence[Node], wrt: Sequence[Node]) -> Program:
    """The forward as it is; only the backward is made from a program that was prepared."""
    forward = Program(name, tuple(inputs), tuple(outputs))
    prepared, now, entering = prepare_exactly(forward, None, wrt)
    builder = Builder()
    new: dict[Node, Node] = {}
    for node in inputs:
        new[node] = new[now[node]] = builder.input(node.aval, now[node].name, node.source)
    for node in forward.nodes():
        _copy(node, new, builder)
        new[now[node]] = rename(new[node], now[node].name) if now[node].name else new[node]
    new.update({node: new[value] for node, value in entering.items()})
    for node in prepared.nodes():
        _copy(node, new, builder)
    return _with_gradients(prepared, [now[node] for node in inputs], [now[node] for node in wrt], new, builder)


def _with_gradients(
    forward: Program, inputs: Sequence[Node], wrt: Sequence[Node], new: dict[Node, Node], builder: Builder
) -> Program:
    """The forward program that was made in `builder`, and the gradients of its first output."""
    value, *conditions = forward.outputs
    assert value is not None
    vjp = reverse(Program(forward.name, forward.inputs, (value,)), wrt, None, forward.name)
    seed, *saved = vjp.program.inputs
    one = builder.literal(np.ones((), value.dtype)[()])
    new[seed] = builder.emit(REGISTRY["full"], (one,), {"shape": value.shape}) if value.shape else one
    for proxy, original in zip(saved, vjp.saved, strict=True):
        new[proxy] = new[original]
    for node in vjp.program.nodes():
        _copy(node, new, builder)
    gradients = tuple(None if out is None else new[out] for out in vjp.program.outputs)
    outputs = (new[value], *gradients, *(new[c] for c in conditions if c is not None))
    return Program(forward.name, tuple(new[node] for node in inputs), outputs)


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
