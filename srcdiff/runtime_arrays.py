"""Helpers of `runtime` for selecting, scattering and cutting arrays; reached as `rt.name` like all others."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from srcdiff.runtime_rows import add_rows

Array = Any
Shape = tuple[int, ...]


class StrayError(Exception):
    """Raised in a replay that takes another path than the recorded call."""


def places(x: Array, count: int) -> tuple[Array, ...]:
    """`np.nonzero(x)`, of so many elements."""
    found = np.nonzero(x)
    if len(found[0]) != count:
        raise StrayError
    return found


# ------------------------------------------------------------------------------------------- indexing and its adjoints


def index_set(x: Array, index: Any, value: Array) -> Array:
    """A copy of `x` with `x[index] = value` done."""
    out = np.array(x)
    out[index] = value
    return out


def index_add(x: Array, index: Any, value: Array, unique: bool) -> Array:
    """A copy of `x` with `value` added at `index`, repeated ones adding up; `unique` promises there are none."""
    out = np.array(x)
    if unique:
        out[index] += value
    else:
        np.add.at(out, index, value)
    return out


def scatter(value: Array, index: Any, shape: Shape, unique: bool) -> Array:
    """Zeros of `shape` with `value` added at `index`: the adjoint of `x[index]`.

    `unique` promises that no element is selected twice, so that assignment does it. Repeated entries are added up in
    their order: rows by `add_rows`; where there are more than a few numbers, those by `np.bincount` of flat positions,
    up to three times faster than `np.add.at`.
    """
    if unique:
        out = np.zeros(shape, value.dtype)
        out[index] = value
        return out
    if type(index) is np.ndarray and index.dtype.kind in "iu" and index.size >= 64 and prod(shape[1:]) >= 4:
        return add_rows(value.reshape(index.size, -1), index.ravel(), shape[0]).reshape(shape)
    size = prod(shape)
    if value.size < 64 or size > 16 * value.size or value.dtype.char not in "fdFD":
        out = np.zeros(shape, value.dtype)
        np.add.at(out, index, value)
        return out
    place = np.arange(size).reshape(shape)[index].ravel()
    flat = value.ravel()
    if value.dtype.kind == "c":
        out = np.empty(size, value.dtype)
        out.real = np.bincount(place, flat.real, size)
        out.imag = np.bincount(place, flat.imag, size)
    else:
        out = np.bincount(place, flat, size).astype(value.dtype, copy=False)
    return out.reshape(shape)


def scatter_scaled(x: Array, scale: Array, place: Array, rows: int) -> Array:
    """Zeros with so many rows, and the rows of the matrix x, times a number each, added at `place`."""
    return add_rows(x, place, rows, scale)


def last_writes(index: Any, shape: Shape) -> Array:
    """Which entries of `x[index] = value` remain: False where a later entry overwrites the same element."""
    place = np.arange(prod(shape)).reshape(shape)[index]
    turn = np.arange(place.size).reshape(place.shape)
    last = np.empty(prod(shape), turn.dtype)
    last[place] = turn
    return last[place] == turn


def along(indices: Array, axis: int) -> tuple[Array, ...]:
    """The index with which `take_along_axis` reads."""
    index: list[Array] = list(np.ix_(*map(range, indices.shape)))
    index[axis] = indices
    return tuple(index)


def scatter_along_axis(value: Array, indices: Array, axis: int, shape: Shape) -> Array:
    """Zeros of `shape` with `value` added where `take_along_axis` reads: its adjoint."""
    return scatter(value, along(indices, axis), shape, False)


def set_along_axis(x: Array, indices: Array, value: Array, axis: int) -> Array:
    """A copy of `x` with `value` put where `take_along_axis` reads."""
    return index_set(x, along(indices, axis), value)


def last_along_axis(indices: Array, axis: int, shape: Shape) -> Array:
    """`last_writes` for `set_along_axis`."""
    return last_writes(along(indices, axis), shape)


# -------------------------------------------------------------------------------------------------------------- parts


def unbind(x: Array, axis: int) -> tuple[Array, ...]:
    """The slices of `x` along an axis, as views."""
    before = (slice(None),) * axis
    return tuple(x[(*before, k, ...)] for k in range(x.shape[axis]))


def diagonal_scatter(x: Array, shape: Shape, offset: int, axis1: int, axis2: int) -> Array:
    """Zeros of `shape` with the last axis of `x` on a diagonal: the adjoint of `np.diagonal`."""
    out = np.zeros(shape, x.dtype)
    k = np.arange(x.shape[-1])
    np.moveaxis(out, (axis1, axis2), (-2, -1))[..., k + max(-offset, 0), k + max(offset, 0)] = x
    return out


def overlap_add(x: Array, shape: Shape, axis: tuple[int, ...]) -> Array:
    """Sums each window of `x` (its last axes) back where `sliding_window_view` took it from: the adjoint."""
    out = np.zeros(shape, x.dtype)
    ndim = len(shape)
    for offset in np.ndindex(*x.shape[ndim:]):
        where = [slice(None)] * ndim
        first = [0] * ndim
        for a, k in zip(axis, offset, strict=True):
            first[a] += k
        for a in axis:
            where[a] = slice(first[a], first[a] + x.shape[a])
        out[tuple(where)] += x[(..., *offset)]
    return out
