"""The place in the graph of what has been written: of the tensor itself, or, through a view, of the one that owns the
memory, whose other views then find theirs anew."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.core.primitive import REGISTRY, Primitive
from srcdiff.errors import UnsupportedError
from srcdiff.index import Dynamic, Index
from srcdiff.ops import catalogue  # noqa: F401
from srcdiff.tape.modes import modes
from srcdiff.tape.node import MarkedSite, node_class
from srcdiff.tape.record import note
from srcdiff.tape.value import TensorBase, View

_index_set, _getitem, _reshape = (REGISTRY[name] for name in ("index_set", "getitem", "reshape"))
_real, _imag, _add, _mul = (REGISTRY[name] for name in ("real", "imag", "add", "mul"))
_COPY_SLICES = node_class("=CopySlices")


def attach(target: TensorBase, new: Any, slices: bool = False) -> None:
    """Give the target the place in the graph of `new`, or, through a view, its base a new one."""
    view = target._view
    root = target
    if view is not None:
        root, new, slices = view.base, put_back(view, new), True
    if modes.recorder is not None:
        modes.recorder.attached(root, new)
    if not modes.unwatched():  # the recorder alone had to see it, which may have given up by now
        return
    edge = new._edge
    if slices and edge is not None and type(edge) is not tuple:
        edge.__class__ = _COPY_SLICES
    _move_retained(root, edge)
    root._edge = edge
    if new._traced:
        root._traced = True
    if edge is None:
        root.__dict__.pop("_type", None)
    else:
        root._type = new._type
    if target._storage is not None:
        target._storage.renew_views(root)


def put_back(view: View, new: Any) -> Any:
    """The base of a view as it is once the view has become `new`. The memory has been written already."""
    values = [view.base._value]
    for prim, dynamic, params in view.steps:
        values.append(np.asarray(prim.eval(values[-1], *map(value_of, dynamic), **params)))
    sizes = [value.size for value in values]
    if any(a != b and step[0] is not _getitem for a, b, step in zip(sizes, sizes[1:], view.steps, strict=False)):
        return _put_by_position(view, new)
    befores: list[Any] = [view.base]
    for (prim, dynamic, params), value in zip(view.steps[:-1], values[1:], strict=False):
        befores.append(note(prim, (befores[-1], *dynamic), params, value))
    for (prim, dynamic, params), before in zip(reversed(view.steps), reversed(befores), strict=True):
        if prim is _getitem:
            new = note(_index_set, (before, new, *dynamic), params, before._value)
        elif prim is _real or prim is _imag:
            new = _with_part(before, new, prim)
        else:
            # every element is there once: the adjoint puts each back where it was
            rule: Any = prim.rule(0)
            new = rule(new, None, before._value, *dynamic, **params)
    return new


def _with_part(before: Any, part: Any, prim: Primitive) -> Any:
    """A complex value with a new real or imaginary part."""
    value = before._value
    if value.dtype.kind != "c":
        return part
    real = part if prim is _real else note(_real, (before,), {}, value.real)
    imag = part if prim is _imag else note(_imag, (before,), {}, value.imag)
    turned = note(_mul, (imag, 1j), {}, value.imag * 1j)
    return note(_add, (real, turned), {}, value)


def _put_by_position(view: View, new: Any) -> Any:
    """The same for views that are not made of indexing and rearranging alone: diagonals, windows."""
    base = view.base
    array = base._value
    if any(prim is _real or prim is _imag for prim, _, _ in view.steps):
        raise UnsupportedError("writing through a diagonal or window of the real or imaginary part of an array")
    places = np.arange(array.size).reshape(array.shape)
    for prim, dynamic, params in view.steps:
        places = prim.eval(places, *map(value_of, dynamic), **params)
    flat = note(_reshape, (base,), {"shape": (array.size,)}, array.reshape(-1))
    index = Index((Dynamic(0),), False, unique=all(prim.name != "windows" for prim, _, _ in view.steps))
    made = note(_index_set, (flat, new, np.asarray(places)), {"index": index}, flat._value)
    return note(_reshape, (made,), {"shape": array.shape}, array)


def relabel(made: Any, label: str) -> Any:
    """`made`, whose node nobody else has seen yet, under another of PyTorch's names."""
    edge = made._edge
    if label and edge is not None and type(edge) is not tuple:
        edge.__class__ = node_class(label)
    return made


def _move_retained(root: TensorBase, edge: Any) -> None:
    """`retain_grad` holds for the tensor: its request goes along to the tensor's new node."""
    old = root._edge
    node, k = old if type(old) is tuple else (old, 0)
    if node is None or edge is None or type(node.site) is not MarkedSite:
        return
    kept = node.options.retain.get(k)
    if kept is None or kept() is not root:
        return
    del node.options.retain[k]
    new, j = edge if type(edge) is tuple else (edge, 0)
    new.mark()
    new.options.retain[j] = kept


def value_of(x: Any) -> Any:
    """The array of a Tensor; anything else as it is."""
    return x._value if isinstance(x, TensorBase) else x
