"""What identities are made of: the record `Rewrite`, and the questions they ask of a node.

An identity is tried whenever an operation of one of its primitives is about to be built, on operands that are in
simplest form already. It returns a simpler node of the same aval, or None. What it builds goes through all
identities again, so each must lead towards fewer or cheaper operations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from srcdiff.core.builder import Builder
from srcdiff.core.primitive import Primitive
from srcdiff.core.program import Node

#: (primitive, operands, parameters) of the operation to be built -> a simpler node, or None
Rule = Callable[[Primitive, tuple[Node, ...], dict[str, Any]], Node | None]

#: stands for all elementwise primitives in `Rewrite.prims`
ELEMENTWISE = "elementwise"


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A named identity, tried on the primitives named."""

    name: str
    prims: tuple[str, ...]
    rule: Rule


def rewrite(rule: Rule, prims: str) -> Rewrite:
    """The identity that a function states, under the function's name."""
    return Rewrite(rule.__name__, tuple(prims.split()), rule)


class SharingBuilder(Builder):
    """A builder that knows which of its nodes are used more than once in the program that is being rewritten."""

    __slots__ = ("shared",)

    def __init__(self) -> None:
        super().__init__()
        self.shared: set[Node] = set()


def is_shared(node: Node) -> bool:
    """Whether a node is needed anyway, so that rewriting one use of it saves nothing."""
    return node.name is not None or (isinstance(node.builder, SharingBuilder) and node in node.builder.shared)


def is_small(x: Node, beside: Node) -> bool:
    """Whether work on x is negligible beside work on the other: a number beside an array, or a much smaller array."""
    return not x.is_literal and 4 * x.aval.size <= beside.aval.size


def number(node: Node) -> float | None:
    """The value of a literal Python number that is finite and not 0, else None."""
    value = node.literal
    return value if type(value) in (int, float) and value and math.isfinite(value) else None


def is_scalar(node: Node) -> bool:
    """Whether this is one number that is computed, not written into the program."""
    return node.literal is None and type(node.aval) is not tuple and node.shape == ()


def is_array(node: Node) -> bool:
    """Whether this has axes."""
    return node.literal is None and node.shape != ()


def made_by(node: Node, name: str) -> bool:
    """Whether a node is an operation of the primitive of that name."""
    return node.prim is not None and node.prim.name == name


def is_inexact(*nodes: Node) -> bool:
    """Whether none of the nodes that are no literals is an integer or a boolean."""
    return all(node.literal is not None or node.dtype.kind in "fc" for node in nodes)


def is_power_of_two(value: float) -> bool:
    """Whether multiplying by it is exact."""
    return abs(math.frexp(value)[0]) == 0.5 and 1e-30 < abs(value) < 1e30
