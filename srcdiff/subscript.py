"""`x[index]` on Tensors: the fast path for integers and slices, and when an index varies.

An integer or slice is part of the site at first; after three different ones at a place it becomes a run-time value
there, so that `W[i]` with a varying i shares one compiled backward. Slices of equal length at varying offsets do
likewise.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np

from srcdiff.core.primitive import REGISTRY
from srcdiff.functions import indexing
from srcdiff.index import Dynamic, Index, split
from srcdiff.tape import record
from srcdiff.tape.extras import finish
from srcdiff.tape.modes import modes
from srcdiff.tape.node import next_seq
from srcdiff.tape.site import find_place, tables
from srcdiff.tape.value import TensorBase

_getframe = sys._getframe
_new = object.__new__
_getitem = REGISTRY["getitem"]


def static_key(index: Any) -> Any:
    """A hashable stand-in for an index of integers, slices, None and Ellipsis; None for any other."""
    kind = type(index)
    if kind is int:
        return index
    if kind is slice:
        parts = (index.start, index.stop, index.step)
        return (slice, parts) if all(p is None or type(p) is int for p in parts) else None
    if kind is tuple:
        keys = []
        for part in index:
            key = part if part is None or part is Ellipsis else static_key(part) if type(part) is not tuple else None
            if key is None and part is not None:
                return None
            keys.append(key)
        return tuple(keys)
    return None


@functools.lru_cache(4096)
def static_index(key: Any, shape: tuple[int, ...]) -> Index:
    """The Index of integers, slices, None and Ellipsis, given as `static_key` gives them."""
    parts = tuple(_part(k) for k in key) if _is_several(key) else _part(key)
    return split(parts, shape)[0]


def _is_several(key: Any) -> bool:
    return type(key) is tuple and not (len(key) == 2 and key[0] is slice)


def _part(key: Any) -> Any:
    return slice(*key[1]) if type(key) is tuple else key


def subscript(x: Any, index: Any) -> Any:
    """`x[index]` for a Tensor x, called from its `__getitem__`."""
    if modes.recording == 3:
        return _watched(x, index)
    key = static_key(index)
    if key is None or x._edge is None or not modes.recording or type(x._value) is not np.ndarray:
        found = indexing.getitem(x, index)
        # an element of an array that was made while tracing is a number, as it is for NumPy
        return found._value if x._traced and x._edge is None and isinstance(found._value, np.generic) else found
    frame = _getframe(2)
    table = tables.get(id(frame.f_code))
    if table is None:
        table, frame = find_place(frame)
    lasti = frame.f_lasti
    site = table.get((lasti, _getitem, x._type, key))
    if site is not None:
        return _known(x, x._value[index], site, ())
    if type(key) is int:
        site = table.get((lasti, _getitem, x._type, int))
        if site is not None:
            return _known(x, x._value[index], site, (index,))
    if not table.varies((table.start(lasti), _getitem), key):
        value = x._value[index]
        params = {"index": static_index(key, x._value.shape)}
        site = record.new_site(table, (lasti, _getitem, x._type, key), _getitem, (x,), params, value, frame)
        return _known(x, value, site, ())
    out = indexing.getitem(x, index, True)
    edge = out._edge
    if type(key) is int and edge is not None and edge.site.prim is _getitem:
        table[lasti, _getitem, x._type, int] = edge.site
    return out


def _known(x: Any, value: Any, site: Any, dynamic: tuple[Any, ...]) -> Any:
    """The Tensor for `value`, at a site that is known."""
    params = site.params
    if not isinstance(value, np.ndarray) and not x._traced:
        value = record.scalar_view(x, _getitem, dynamic, params, value)
    node = _new(site.node_class)
    node.site = site
    node.inputs = (x._edge, None) if dynamic else (x._edge,)
    node.seq = next_seq()
    node.saved = dynamic if site.save_list else ()
    out = _new(record.Tensor)
    out._value = value
    out._type = site.out_type
    out._edge = node
    if site.traced:
        out._traced = True
    if isinstance(value, np.ndarray):
        record.make_view(out, _getitem, (x, *dynamic), params)
    if modes.recording != 1:
        finish(node, record.plain)
    return out


def _watched(x: Any, index: Any) -> Any:
    """The same while a recorder watches: an array of integers that is itself a Tensor stays one, so that it is seen."""
    if isinstance(index, TensorBase) and not index._value.ndim and index._value.dtype.kind in "iu" and x._traced:
        return _getitem(x, index, index=Index((Dynamic(0, False),), False))
    if isinstance(index, TensorBase) and index._value.ndim and index._value.dtype.kind in "iu":
        static, dynamic = split(index._value, x._value.shape)
        if len(dynamic) == 1 and dynamic[0].shape == index._value.shape:
            return _getitem(x, index, index=static)
    return indexing.getitem(x, index)
