"""The signature of a graph: equal signatures mean that the same backward code serves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from srcdiff.tape.node import Edge, GradNode


def signature(nodes: Sequence[GradNode], roots: Sequence[Edge], wanted: Sequence[Edge] | None) -> tuple[Any, ...]:
    """Sites, edges by position (None to nodes outside), roots and what is wanted. `nodes` in order of creation."""
    number = {id(node): k for k, node in enumerate(nodes)}
    parts: list[Any] = []
    for node in nodes:
        parts.append(id(node.site))
        for edge in node.inputs:
            if edge is None:
                continue
            parts.append(_position(edge, number))
    return (
        tuple(parts),
        tuple(_position(edge, number) for edge in roots),
        None if wanted is None else tuple(_position(edge, number) for edge in wanted),
    )


def _position(edge: Edge, number: dict[int, int]) -> Any:
    return (number.get(id(edge[0])), edge[1]) if type(edge) is tuple else number.get(id(edge))
