"""Calls of NumPy functions that come again: from the second on, straight to the primitive they led to.

What `np.sum(x, axis=1)` or `np.where(c, x, 0.0)` does is decided by the types of its arguments. A call that has led to
one primitive on its own arguments is remembered at its place in the user's code; the next one with arguments of the
same types evaluates and records that primitive without the way through the function's signature. Calls with plain
arrays among the arguments, whose values may matter, are never remembered.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.tape import record
from srcdiff.tape.node import next_seq
from srcdiff.tape.site import STATIC, TENSOR, Site
from srcdiff.tape.storage import cell_of
from srcdiff.tape.value import TensorBase

_new = object.__new__
#: marks a call that was seen once, and one that does not come down to a primitive
ONCE = object()
NEVER = object()
_PLAIN = frozenset({int, bool, str, type(None)})


def call_key(lasti: int, function: Any, args: Any, kwargs: Any, tensors: list[Any]) -> tuple[Any, ...] | None:
    """What decides the call's meaning, hashable; None if values could. Its Tensors are appended to `tensors`."""
    parts: list[Any] = [lasti, function]
    for argument in args:
        if isinstance(argument, TensorBase):
            parts.append(argument._type)
            tensors.append(argument)
        elif not _append(parts, argument, tensors):
            return None
    for name, argument in kwargs.items():
        parts.append(name)
        if isinstance(argument, TensorBase):
            parts.append(argument._type)
            tensors.append(argument)
        elif not _append(parts, argument, tensors):
            return None
    return tuple(parts)


def _append(parts: list[Any], argument: Any, tensors: list[Any]) -> bool:
    kind = type(argument)
    if kind in _PLAIN:
        parts.append(kind)
        parts.append(argument)
        return True
    if kind is float:
        parts.append(kind)
        parts.append(argument if argument and argument == argument else repr(argument))  # 0.0 == -0.0, nan != nan
        return True
    if kind is tuple or kind is list:
        parts.append((kind, len(argument)))
        for part in argument:
            if isinstance(part, TensorBase):
                parts.append(part._type)
                tensors.append(part)
            elif type(part) is int:
                parts.append(part)
            else:
                return False
        return True
    return False


def learn(result: Any, tensors: list[Any], before: int) -> Any:
    """What to remember of a call that gave `result`: a Site, or NEVER. `before` is a node number from before the
    call.
    """
    edge: Any = result._edge if isinstance(result, TensorBase) else None
    site = getattr(edge, "site", None)
    if type(site) is not Site or site.prim.multi or site.out_type is None or edge.seq != before + 1:
        return NEVER
    count = 0
    values: list[Any] = []
    for k, kind in enumerate(site.kinds):
        if kind is TENSOR:
            if count == len(tensors) or site.avals[k] is not tensors[count]._type.aval:
                return NEVER
            if edge.inputs[k] is not tensors[count]._edge:
                return NEVER
            values.append(tensors[count]._value)
            count += 1
        elif kind is STATIC:
            values.append(site.values[k])
        else:
            return NEVER
    if count != len(tensors):
        return NEVER
    again = site.prim.eval(*values, **site.params)
    return site if _identical(again, result._value) else NEVER


def _identical(a: Any, b: Any) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")


def repeat(site: Site, tensors: list[Any]) -> Any:
    """The Tensor that the remembered call gives for these Tensors."""
    prim = site.prim
    first = tensors[0]
    if len(site.kinds) == 1:
        operands: Any = tensors
        if prim.view and not first._traced:
            first.materialise()
        value = prim.eval(first._value, **site.params)
    else:
        queue = iter(tensors)
        operands = [next(queue) if kind is TENSOR else site.values[k] for k, kind in enumerate(site.kinds)]
        value = prim.eval(*[o._value if isinstance(o, TensorBase) else o for o in operands], **site.params)
    if prim.view and not isinstance(value, np.ndarray) and not first._traced:
        value = record.scalar_view(first, prim, (), site.params, value)
    node = _new(site.node_class)
    node.site = site
    node.inputs = tuple([o._edge if isinstance(o, TensorBase) else None for o in operands])
    node.seq = next_seq()
    out = _new(record.Tensor)
    out._value = value
    out._type = site.out_type
    out._edge = node
    if site.traced:
        out._traced = True
    code = site.save_code
    if code == 0:
        node.saved = ()
    elif code == 1:
        node.saved = (operands[0]._cell or cell_of(operands[0]),)
    else:
        node.saved = record.save(site, tuple(operands), out)
    if prim.view:
        record.link(out, first, (prim, (), site.params))
    return out
