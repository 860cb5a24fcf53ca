"""A formula that the walk knows, as the compiler does: `1 / (1 + exp(u))`, whose slope `-p * (1 - p)` is 0, not NaN,
where exp overflows.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from srcdiff.ops.elementwise import add, div
from srcdiff.ops.structural import fit
from srcdiff.ops.transcendental import exp
from srcdiff.tape.node import Edge, GradNode, MarkedSite, saved_value
from srcdiff.tape.site import STATIC


def logistic_step(node: GradNode, ct: Any, wanted: Container[int]) -> tuple[Edge, Any] | None:
    """For the division in `1 / (1 + exp(u))`: the edge of u and its cotangent, an array. None for any other node, and
    if the cotangent of a node in between is `wanted` (by id).
    """
    site = node.site
    if site.prim is not div or site.kinds[0] is not STATIC or site.values[0] != 1:
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
    return power.inputs[0], fit(ct * (p * (p - 1)), power.site.avals[0])


def _is(edge: Edge, prim: Any) -> bool:
    return edge is not None and type(edge) is not tuple and type(edge.site) is not MarkedSite and edge.site.prim is prim
