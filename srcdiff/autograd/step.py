"""One node of the tape, backward: its primitive's rules on its saved values.

`run_step` works on arrays; `record_step` on Tensors, so that what it does is recorded and can be differentiated again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.errors import AutogradError, NotDifferentiableError
from srcdiff.ops.pull import pull
from srcdiff.origin import where
from srcdiff.tape import record
from srcdiff.tape.modes import modes
from srcdiff.tape.node import FREED_MESSAGE, GradNode, Packed, saved_value, stale_message
from srcdiff.tape.site import OUT, STATIC, TENSOR, Site


def _operands(node: GradNode, site: Site) -> tuple[list[Any], Any]:
    """Operands and result as rules take them: what is saved as arrays, what is not as avals, literals as numbers."""
    operands: list[Any] = list(site.avals)
    for k, kind in enumerate(site.kinds):
        if kind is STATIC:
            operands[k] = site.values[k]
    out: Any = site.out_aval
    for position, k in enumerate(site.save_list):
        if k != OUT:
            operands[k] = saved_value(node, position)
        elif site.prim.multi:
            saved_value(node, position)
            out = tuple(saved_item(node, position, j) for j in range(len(site.out_aval)))
        else:
            out = saved_value(node, position)
    return operands, out


def saved_item(node: GradNode, position: int, j: int) -> Any:
    """Output j of an operation that saved its outputs; None if no rule reads it."""
    if node.saved is None:
        raise AutogradError(FREED_MESSAGE)
    cell = node.saved[position][j]
    if type(cell) is Packed:
        return cell.unpack()
    try:
        return cell.array
    except AttributeError:
        raise AutogradError(stale_message(node, cell)) from None


def saved_tensor(node: GradNode, position: int, output: int | None) -> Any:
    """A saved value (output `output` of an operation with several) with its place in the graph; an array if it has
    none.
    """
    site = node.site
    if output is not None:
        return tensor_at(saved_item(node, position, output), (node, output), site.traced)
    k = site.save_list[position]
    value = saved_value(node, position)
    if k == OUT:
        return tensor_at(value, node, site.traced)
    return tensor_at(value, node.inputs[k], site.traced) if site.kinds[k] is TENSOR else value


def run_step(node: GradNode, ct: Any, squared: bool = False) -> list[Any]:
    """The cotangents of a node's operands, as arrays, None where there is none. `ct` is a tuple for several outputs.

    `squared`: it is the cotangent of the square of the node's value.
    """
    site = node.site
    operands, out = _operands(node, site)
    return _apply(site, node, ct, out, operands, squared)


def _apply(site: Any, node: GradNode, ct: Any, out: Any, operands: list[Any], squared: bool) -> list[Any]:
    prim = site.prim
    results: list[Any] = []
    for k, edge in enumerate(node.inputs):
        if edge is None or not site.needs[k]:
            results.append(None)
            continue
        if prim.rule(k) is None:
            place = site.place()
            raise NotDifferentiableError(
                f"{prim.name} has no derivative with respect to {prim.operand_name(k)}"
                + (f": {prim.reason}" if prim.reason else "")
                + (f", recorded at {where(*place)}" if place else "")
            )
        results.append(pull(prim, k, ct, out, operands, site.params, site.avals[k], squared))
    return results


def record_step(node: GradNode, ct: Any, squared: bool = False) -> list[Any]:
    """The same on Tensors: `ct` is a Tensor or a tuple of them, saved values have their place in the graph."""
    site = node.site
    operands, out = _operands(node, site)
    for k in site.save_list:
        if k == OUT:
            if site.prim.multi:
                out = tuple(None if v is None else tensor_at(v, (node, j), site.traced) for j, v in enumerate(out))
            else:
                out = tensor_at(out, node, site.traced)
        elif site.kinds[k] is TENSOR:
            operands[k] = tensor_at(operands[k], node.inputs[k], site.traced)
    return _apply(site, node, ct, out, operands, squared)


def tensor_at(value: Any, edge: Any, traced: bool) -> Any:
    """A saved value as a Tensor in its place in the graph."""
    tensor = record.plain(value, traced)
    if edge is not None:
        tensor._edge = edge
    if modes.recorder is not None:
        modes.recorder.saved(tensor)
    elif isinstance(value, np.ndarray):
        # a value of its own: what is recorded now must not change when the memory it was saved from is written later
        tensor._value = value.copy()
    return tensor
