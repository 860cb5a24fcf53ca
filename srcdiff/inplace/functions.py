"""NumPy's functions that write into their first argument: `np.copyto`, `np.put`, `np.add.at` and their like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.core.primitive import REGISTRY
from srcdiff.functions.dispatch import UFUNCS, implements, operand, plain
from srcdiff.functions.indexing import getitem, index_of, positions
from srcdiff.functions.indexing import put_along_axis as put_along_axis_
from srcdiff.functions.ufuncs import UFUNC_METHODS
from srcdiff.index import Dynamic, Index
from srcdiff.inplace.rules import WriteDTypeError, refuse_plain
from srcdiff.inplace.write import copy_into, store, write
from srcdiff.tape.value import TensorBase


@implements(np.copyto)
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """np.copyto: `dst[where] = src` where the cast is allowed."""
    if not isinstance(dst, TensorBase):
        refuse_plain("np.copyto", src)
        np.copyto(dst, plain(src), casting=casting, where=plain(where))  # type: ignore[arg-type]
        return
    src = operand(src)
    if hasattr(src, "dtype") and not np.can_cast(src.dtype, dst._value.dtype, casting):  # type: ignore[arg-type]
        raise WriteDTypeError(
            f"Cannot cast array data from {src.dtype!r} to {dst._value.dtype!r} according to the rule {casting!r}"
        )
    if where is not True:
        where = positions(where)
        src = REGISTRY["where"](where, src, dst)
    copy_into(dst, src)


# ----------------------------------------------------------------------------------------------- positions of elements


def _at_positions(a: Any, positions: np.ndarray[Any, Any], values: Any) -> None:
    """`a.flat[positions] = values`, for values of the same shape or one value."""
    parts = np.unravel_index(positions, a.shape)
    index = Index(tuple(Dynamic(k) for k in range(len(parts))), True, False)
    store(a, index, parts, values)


def _cycled(values: Any, count: int) -> Any:
    """The first `count` elements of values repeated for ever; one value as it is."""
    values = operand(values)
    if np.ndim(plain(values)) == 0:
        return values
    flat = REGISTRY["reshape"](values, shape=(values.size,))
    if flat.shape[0] == count:
        return flat
    return getitem(flat, np.arange(count) % max(flat.shape[0], 1))


def _writer(function: Callable[..., None]) -> Callable[..., None]:
    """Let a function whose first argument is a Tensor take plain arrays too, as long as no gradient is lost."""
    numpy_function = getattr(np, function.__name__)

    def call(a: Any, *args: Any, **kwargs: Any) -> None:
        if isinstance(a, TensorBase):
            function(a, *args, **kwargs)
            return
        refuse_plain(f"np.{function.__name__}", *args, *kwargs.values())
        numpy_function(a, *map(plain, args), **{name: plain(value) for name, value in kwargs.items()})

    call.__name__ = function.__name__
    call.__doc__ = function.__doc__
    return implements(numpy_function)(call)


@_writer
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """np.put: `a.flat[ind] = v`, v repeated as needed."""
    found = np.asarray(plain(ind)).ravel()
    size = a.size
    if mode == "wrap":
        found = found % size
    elif mode == "clip":
        found = np.clip(found, 0, size - 1)
    elif found.size and (found.min() < -size or found.max() >= size):
        raise IndexError(f"index out of bounds for array of size {size}")
    if found.size:
        _at_positions(a, found % size, _cycled(v, found.size))


@_writer
def place(arr: Any, mask: Any, vals: Any) -> None:
    """np.place: the values one after the other where the mask is True, repeated as needed."""
    found = np.flatnonzero(np.broadcast_to(plain(mask), arr.shape))
    if found.size:
        _at_positions(arr, found, _cycled(vals, found.size))


@_writer
def putmask(a: Any, mask: Any, values: Any) -> None:
    """np.putmask: `a.flat[n] = values[n]` where the mask is True, values repeated as needed."""
    found = np.flatnonzero(np.broadcast_to(plain(mask), a.shape))
    values = operand(values)
    if np.ndim(plain(values)):
        flat = REGISTRY["reshape"](values, shape=(values.size,))
        values = getitem(flat, found % flat.shape[0])
    if found.size:
        _at_positions(a, found, values)


@_writer
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """np.fill_diagonal."""
    shape = a.shape
    if len(shape) < 2:
        raise ValueError("array must be at least 2-d")
    if len(shape) == 2:
        step, end = shape[1] + 1, None if wrap else shape[1] * shape[1]
    else:
        if len(set(shape)) > 1:
            raise ValueError("All dimensions of input must be of equal length")
        step, end = 1 + sum(int(np.prod(shape[k + 1 :])) for k in range(len(shape) - 1)), None
    found = np.arange(a.size)[:end:step]
    if found.size:
        _at_positions(a, found, _cycled(val, found.size))


@_writer
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    """np.put_along_axis."""
    write(arr, put_along_axis_(arr, indices, values, axis))


# ----------------------------------------------------------------------------------------------------------- ufunc.at


def _at(ufunc: np.ufunc) -> Callable[..., None]:
    prim = UFUNCS[ufunc]

    def at(a: Any, indices: Any, b: Any = None) -> None:
        operands: tuple[Any, ...] = () if b is None else (operand(b),)
        if not isinstance(a, TensorBase):
            refuse_plain(f"np.{ufunc.__name__}.at", *operands)
            ufunc.at(a, plain(indices), *map(plain, operands))
            return
        static, dynamic = index_of(a, indices)
        if prim.name in ("add", "sub"):
            store(a, static, dynamic, operands[0] if prim.name == "add" else -operands[0], add=True)
            return
        for turn, chosen in _turns(static, dynamic, a.shape):
            values = tuple(_chosen(v, chosen, static.shape(a.shape, *map(np.shape, dynamic))) for v in operands)
            made = prim(getitem(a, turn), *values)
            store(a, *index_of(a, turn), made)

    at.__name__ = f"{ufunc.__name__}.at"
    return at


def _turns(static: Index, dynamic: tuple[Any, ...], shape: tuple[int, ...]) -> list[tuple[Any, Any]]:
    """An index that may name elements several times as indices that do not, in order, with the entries each one has."""
    if static.unique:
        return [(static(*dynamic), None)]
    positions = np.arange(int(np.prod(shape))).reshape(shape)[static(*dynamic)].ravel()
    order = np.argsort(positions, kind="stable")
    ordered = positions[order]
    first = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    start = np.flatnonzero(first)
    turn = np.empty(positions.size, int)
    turn[order] = np.arange(positions.size) - np.repeat(start, np.diff([*start, positions.size]))
    entries = [np.flatnonzero(turn == k) for k in range(int(turn.max(initial=-1)) + 1)]
    return [(np.unravel_index(positions[chosen], shape), chosen) for chosen in entries]


def _chosen(value: Any, chosen: Any, shape: tuple[int, ...]) -> Any:
    """The entries `chosen` of a value broadcast to the shape of the whole selection."""
    if chosen is None or np.ndim(plain(value)) == 0:
        return value
    size = int(np.prod(shape))
    spread = REGISTRY["reshape"](REGISTRY["broadcast_to"](value, shape=shape), shape=(size,))
    return getitem(spread, chosen)


for _ufunc in list(UFUNCS):
    if isinstance(_ufunc, np.ufunc) and _ufunc.nin <= 2 and _ufunc.nout == 1 and _ufunc.signature is None:
        UFUNC_METHODS[_ufunc, "at"] = _at(_ufunc)
