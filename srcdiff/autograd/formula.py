"""Formulas that the walk knows, as the compiler does.

1 / (1 + exp(u))       its slope -p * (1 - p) is 0, not NaN, where exp overflows
norm(x) ** 2           smooth where the norm is 0 and has no slope; so with `abs`, `hypot`, `std`, `sqrt`
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

import numpy as np

from srcdiff.autograd.step import record_step, run_step, tensor_at
from srcdiff.ops.elementwise import add, div, mul
from srcdiff.ops.pull import square_of
from srcdiff.ops.structural import fit
from srcdiff.ops.transcendental import exp, pow, sigmoid, square
from srcdiff.tape.modes import modes
from srcdiff.tape.node import Edge, GradNode, MarkedSite, saved_value
from srcdiff.tape.site import STATIC, Place, Site


def logistic_step(node: GradNode, ct: Any, wanted: Container[int], create_graph: bool) -> list[tuple[Edge, Any]] | None:
    """For the division in `1 / (1 + exp(u))`: the edge of u and its cotangent. None for any other division, and if the
    cotangent of a node in between is `wanted` (by id).
    """
    site = node.site
    if site.kinds[0] is not STATIC or site.values[0] != 1:
        return None
    total = node.inputs[1]
    if not _is(total, add):
        return None
    kinds = total.site.kinds
    one = 0 if kinds[0] is STATIC else 1
    if kinds[one] is not STATIC or total.site.values[one] != 1:
        return None
    power = total.inputs[1 - one]
    if id(total) in wanted or id(power) in wanted:
        return None
    if not _is(power, exp) or power.site.out_aval is not site.out_aval or site.out_aval.dtype.kind != "f":
        return None
    p = 1 / saved_value(node, site.save_list.index(1))
    if create_graph:
        # u is not saved, but exp(u) is; what matters is where in the graph u is, the value only has to be close
        u = tensor_at(np.log(saved_value(power, 0)), power.inputs[0], site.traced)
        p = sigmoid(-u)
    return [(power.inputs[0], fit(ct * (p * (p - 1)), power.site.avals[0]))]


def square_step(node: GradNode, ct: Any, wanted: Container[int], create_graph: bool) -> list[tuple[Edge, Any]] | None:
    """For the square of a norm, a standard deviation or another root: the edges below the root and their cotangents.
    None for anything else, and if the cotangent of the root is `wanted` (by id).
    """
    site, root = node.site, node.inputs[0]
    power = site.values[1] if len(site.kinds) == 2 and site.kinds[1] is STATIC else None
    if not square_of(site.prim, node.inputs, power) or root is None or id(root) in wanted:
        return None
    if type(root) is tuple or type(root.site) is not Site or root.site.prim is None or not root.site.prim.squared:
        return None
    for position in range(len(site.save_list)):
        saved_value(node, position)  # which may have been freed, or written to
    if root.saved is None:
        return None
    step = record_step if create_graph else run_step
    made = step(root, ct, squared=True)
    return [(edge, part) for edge, part in zip(root.inputs, made, strict=True) if edge is not None]


#: by primitive
STEPS = {div: logistic_step, pow: square_step, square: square_step, mul: square_step}


def formula_step(node: GradNode, ct: Any, wanted: Container[int], create_graph: bool) -> list[tuple[Edge, Any]] | None:
    """Where the cotangents of a known formula go, and the cotangents; None if the node ends none."""
    step = STEPS.get(node.site.prim)
    if step is None or node.saved is None:
        return None
    if not create_graph:
        return step(node, ct, wanted, False)
    found: list[tuple[Edge, Any]] | None = at_place(node, lambda: step(node, ct, wanted, True))
    return found


def at_place(node: GradNode, function: Callable[[], Any]) -> Any:
    """What a function gives; what it records belongs to the place of the node."""
    before = modes.place
    place = node.site.place()
    if place is not None:
        modes.place = Place(*place)
    try:
        return function()
    finally:
        modes.place = before


def _is(edge: Edge, prim: Any) -> bool:
    return edge is not None and type(edge) is not tuple and type(edge.site) is not MarkedSite and edge.site.prim is prim
