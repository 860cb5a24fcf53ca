"""Changing memory, and the graph with it.

For the tape a write is functional: the tensor (or, through a view, the tensor that owns the memory) takes the place
in the graph of a new value computed from the old one; the memory is really written, and the array stays the same
object. The order is always: `guard`, compute and check, `Storage.before_write`, write the memory, record, `attach`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import ref

import numpy as np

from srcdiff.aval import SCALARS
from srcdiff.core.primitive import REGISTRY, Primitive
from srcdiff.index import Index
from srcdiff.inplace.graph import attach, relabel, value_of
from srcdiff.inplace.memory import address
from srcdiff.inplace.rules import check_fits, check_selected, guard
from srcdiff.ops import catalogue  # noqa: F401
from srcdiff.tape.modes import modes
from srcdiff.tape.record import explain, note, record2
from srcdiff.tape.storage import Cell, storage_of
from srcdiff.tape.value import TensorBase

WHOLE = Index((Ellipsis,), False)
_index_set, _index_add = (REGISTRY[name] for name in ("index_set", "index_add"))
_reshape, _broadcast_to, _cast, _identity = (REGISTRY[name] for name in ("reshape", "broadcast_to", "cast", "identity"))
COPY = "=CopyBackwards"


# ----------------------------------------------------------------------------------------------------- all of a tensor


def write(target: TensorBase, result: Any) -> TensorBase:
    """`target[...] = result`, recorded: what `out=` means. The result must broadcast to the target's shape."""
    if target._traced and not isinstance(target._value, np.ndarray):
        raise TypeError("return arrays must be of ArrayType")  # for NumPy it is a scalar
    needed = guard(target, result)
    check_fits(target, np.asarray(value_of(result)))
    if needed and target._cell is not None:
        _keep_saved(result, target._cell)
    overwrite(target, result, needed)
    return target


def _keep_saved(result: Any, cell: Cell) -> None:
    """Let the node of `result`, which will overwrite the operand in `cell`, keep that operand's old value."""
    edge = result._edge if isinstance(result, TensorBase) else None
    node = edge[0] if type(edge) is tuple else edge
    if node is not None and node.saved and any(s is cell for s in node.saved):
        kept = Cell(cell.array.copy())
        node.saved = tuple(kept if s is cell else s for s in node.saved)


def update(
    target: TensorBase, function: Callable[..., Any], *operands: Any, label: str = "", **params: Any
) -> TensorBase:
    """`target[...] = function(target, *operands, **params)`, recorded as that function is.

    As in PyTorch the function may need the old value for its derivative: it is copied if so.
    """
    needed = guard(target, *operands)
    target.materialise()
    if not needed:
        made = function(target._value, *map(value_of, operands), **params)
        check_fits(target, np.asarray(made), *operands)
        overwrite(target, made, False)
        return target
    array = target._value
    if modes.pack_hooks:
        target._value = array.copy()  # what hooks take away must not change with the write
    own: Cell | None = Cell(target._value)
    before, target._cell = target._cell, own
    watch = ref(own)
    own = None
    try:
        result = function(target, *operands, **params)
    finally:
        own, target._cell, target._value = watch(), before, array
    value = value_of(result)
    check_fits(target, value, *operands)
    if own is not None:
        own.array = own.array.copy()
    overwrite(target, result, True, label)
    return target


def update2(target: TensorBase, prim: Primitive, evaluate: Callable[[Any, Any], Any], y: Any, frame: Any) -> TensorBase:
    """The same for an operator: `y` is a Tensor, array or number, `frame` the caller's."""
    if modes.pack_hooks:
        return update(target, prim, y)
    needed = guard(target, y)
    array = target.materialise()
    try:
        value = evaluate(array, y._value if isinstance(y, TensorBase) else y)
    except (TypeError, ValueError) as error:
        raise explain(error, prim, (target, y)) from error
    if value.dtype != array.dtype or value.shape != array.shape:
        check_fits(target, value, y)
    result = record2(prim, target, y, value, frame) if needed else value
    if target._cell is not None:
        _keep_saved(result, target._cell)
    overwrite(target, result, needed)
    return target


def direct(target: TensorBase, ufunc: Any, other: Any) -> bool:
    """Write without a temporary where nothing is recorded; False if dtypes or shapes stand in the way."""
    array = target._value
    other = other._value if isinstance(other, TensorBase) else other
    if not isinstance(array, np.ndarray) or array.dtype.kind != "f" or modes.recorder is not None:
        return False
    if type(other) not in (int, float) and (other.dtype != array.dtype or other.shape not in (array.shape, ())):
        return False
    guard(target)
    storage_of(target).before_write(snapshot=target._traced or modes.mutation_allowed)
    ufunc(array, other, out=array)
    return True


def overwrite(target: TensorBase, result: Any, needed: bool, label: str = "") -> None:
    """Put `result` into all of the target's memory; with `needed`, into its place in the graph too. No checks."""
    array = target.materialise()
    value = value_of(result)
    storage = storage_of(target)
    storage.before_write(snapshot=target._traced or modes.mutation_allowed)
    np.copyto(array, value, casting="unsafe")
    if not needed or result is target:
        return
    new = _fresh(target, result, label)
    cell = new._cell
    if cell is not None and new is not target and cell.array is new._value:
        # the operation saved its result, which lives in the target's memory from now on
        cell.array, cell.version = array, storage.version
        storage.add_cell(cell)
        target._cell = cell
    attach(target, new)


def _fresh(target: TensorBase, result: Any, label: str) -> Any:
    """`result` as a Tensor of the target's shape and dtype, with a node of its own."""
    array = target._value
    copied = label == COPY
    constant = not isinstance(result, TensorBase) or (result._edge is None and modes.recorder is None)
    if constant or (copied and target._edge is not None and not target._traced):
        # nothing of the old value remains, but as in PyTorch what it depended on still gets its zero gradient
        made = note(_index_set, (target, result if not constant else _constant(result)), {"index": WHOLE}, array)
        return relabel(made, label or "IndexPut")
    if copied or result._storage is not None:
        result = relabel(note(_identity, (result,), {}, result._value), COPY)
    if result._value.shape != array.shape:
        result = note(_broadcast_to, (result,), {"shape": array.shape}, array.astype(result._value.dtype))
    if result._value.dtype != array.dtype:
        result = note(_cast, (result,), {"dtype": array.dtype}, array)
    return relabel(result, label) if label else result


def copy_into(target: TensorBase, src: Any) -> TensorBase:
    """`target[...] = src`, recorded as PyTorch's `copy_`, or its `fill_` for a number."""
    check_selected(src, target._value.shape, True)
    overwrite(target, src, guard(target, src), "Fill" if type(src) in SCALARS else COPY)
    return target


# ---------------------------------------------------------------------------------------------------- selected elements


def store(
    target: TensorBase,
    static: Index,
    dynamic: tuple[Any, ...],
    value: Any,
    add: bool = False,
    label: str = "",
    frame: Any = None,
) -> None:
    """`target[index] = value`, recorded; with `add`, `np.add.at(target, index, value)`."""
    basic = static.basic
    needed = guard(target, value, through_view=basic and not add and not label)
    array = target.materialise()
    places = tuple(map(value_of, dynamic))  # while a call is recorded they may be Tensors
    index = static(*places)
    given = value_of(value)
    selected = array[index] if basic else None
    shape = selected.shape if selected is not None else static.shape(array.shape, *map(np.shape, places))
    if selected is None:
        array[index]  # raises IndexError for what is out of bounds
    check_selected(given, shape, basic)
    storage_of(target).before_write(snapshot=target._traced or modes.mutation_allowed)
    if not add:
        array[index] = given
    elif static.unique:
        array[index] += given.astype(array.dtype) if isinstance(given, np.ndarray) else given
    else:
        np.add.at(array, index, given)
    if not needed:
        return
    if not isinstance(value, TensorBase):
        value = _constant(given, array.dtype)
    elif len(given.shape) > len(shape):
        value = _reshape(value, shape=given.shape[len(given.shape) - len(shape) :])
    params = {"index": static, "unique": static.unique} if add else {"index": static}
    new = note(_index_add if add else _index_set, (target, value, *dynamic), params, array, frame)
    attach(target, relabel(new, label), slices=basic and not add and not label)


def _constant(value: Any, dtype: np.dtype[Any] | None = None) -> Any:
    """A value without gradient as the tape keeps it: 0 and 1 by themselves, other numbers as arrays, so that a
    number that
    changes from one write to the next does not look like another operation."""
    value = value_of(value)
    if type(value) in (int, float) and value in (0, 1):
        return value
    return np.asarray(value, dtype if not hasattr(value, "dtype") else None)


def is_there(target: TensorBase, index: Any, value: TensorBase) -> bool:
    """Whether `target[index]` is `value` already: the second half of `x[i] += v`. `index` selects a view."""
    view = value._view
    if view is None or view.base is not (target if target._view is None else target._view.base):
        return False
    selected, given = target._value[index], value._value
    return (
        isinstance(selected, (np.ndarray, np.generic))
        and given.shape == selected.shape
        and (not given.ndim or given.strides == selected.strides)
        and address(given) == address(target._value[_to_array(index)])
    )


def _to_array(index: Any) -> Any:
    """The index with an ellipsis, which makes what it selects an array even where that is one element."""
    parts = index if type(index) is tuple else (index,)
    return parts if ... in parts else (*parts, ...)


__all__ = ["COPY", "WHOLE", "copy_into", "direct", "is_there", "overwrite", "store", "update", "update2", "write"]
