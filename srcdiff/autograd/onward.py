"""Tangents carried node by node through a graph with custom operations that have forward rules of their own."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

import numpy as np

from srcdiff.autograd.step import saved_item
from srcdiff.core.builder import interpret
from srcdiff.tangents import linear_program
from srcdiff.tape.lower import edge_node
from srcdiff.tape.node import Edge, GradNode, saved_value
from srcdiff.tape.value import TensorBase


def onward(
    nodes: Sequence[GradNode],
    roots: Sequence[Edge],
    wanted: Sequence[Edge],
    tangents: Sequence[Any],
    needed: Container[int],
    exact: bool,
) -> list[Any] | None:
    """The tangents of the roots, arrays, from those of what is wanted; None if a custom operation has no rule.

    `nodes` are in order of creation; `needed` are the ids of those on the way.
    """
    moving: dict[tuple[int, int], Any] = {}
    for edge, tangent in zip(wanted, tangents, strict=True):
        if edge is not None and tangent is not None:
            moving[_key(edge)] = tangent._value if isinstance(tangent, TensorBase) else tangent
    entries = {key[0] for key in moving}
    for node in nodes:
        if id(node) not in needed or id(node) in entries or not node.inputs:
            continue
        arriving = [None if edge is None else moving.get(_key(edge)) for edge in node.inputs]
        if all(t is None for t in arriving):
            continue
        made = _custom(node, arriving) if node.apply is not None else _step(node, arriving, exact)
        if made is None:
            return None
        for k, tangent in made.items():
            if tangent is not None:
                moving[id(node), k] = tangent
    return [moving.get(_key(edge)) for edge in roots]


def _key(edge: Edge) -> tuple[int, int]:
    return (id(edge[0]), edge[1]) if type(edge) is tuple else (id(edge), 0)


def _custom(node: Any, arriving: list[Any]) -> dict[int, Any] | None:
    """Through a custom operation, by its `push`."""
    push = getattr(getattr(node, "_function", None), "push", None)
    if push is None:
        return None
    rest = iter(arriving)
    given = [None if argument is None else next(rest) for argument in node._arguments[2:]]
    made = push(node.ctx, given)
    if made is None:
        return None
    return {
        k: None if t is None or like is None else np.asarray(t, like.dtype)[()]
        for k, (t, like) in enumerate(zip(made, node._outputs, strict=True))
    }


def _step(node: GradNode, arriving: list[Any], exact: bool) -> dict[int, Any]:
    """Through one operation, by its rules."""
    inputs = dict.fromkeys(edge_node(edge) for edge in node.inputs if edge is not None)
    nodes = [*inputs, node]
    site: Any = node.site
    count = len(site.out_aval) if isinstance(site.out_aval, tuple) else None
    roots: list[Any] = [node] if count is None else [(node, k) for k in range(count)]
    seen: dict[tuple[int, int], tuple[Edge, Any]] = {
        _key(edge): (edge, t) for edge, t in zip(node.inputs, arriving, strict=True) if edge is not None
    }
    wanted = [edge for edge, _ in seen.values()]
    seeds = [t for _, t in seen.values()]
    linear = linear_program(nodes, roots, wanted, [t is not None for t in seeds], exact)
    given = [np.asarray(seeds[k], n.dtype)[()] for k, n in zip(linear.seeds, linear.program.inputs, strict=False)]
    saved = [
        saved_value(nodes[slot.node], slot.position)
        if slot.output is None
        else saved_item(nodes[slot.node], slot.position, slot.output)
        for slot in linear.slots
    ]
    with np.errstate(all="ignore"):
        made = interpret(linear.program, (*given, *saved))
    return dict(zip(linear.targets, made, strict=True))
