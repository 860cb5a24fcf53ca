"""Helpers of `runtime` for selecting, scattering and decomposing arrays; reached as `rt.name` like all others."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

Array = Any
Shape = tuple[int, ...]


# ------------------------------------------------------------------------------------------------ indexing and its adjoints


def index_set(x: Array, index: Any, value: Array) -> Array:
    """A copy of `x` with `x[index] = value` done."""
    out = np.array(x)
    out[index] = value
    return out


def index_add(x: Array, index: Any, value: Array, unique: bool) -> Array:
    """A copy of `x` with `value` added at `index`, repeated entries adding up (`unique` promises that there are none)."""
    out = np.array(x)
    if unique:
        out[index] += value
    else:
        np.add.at(out, index, value)
    return out


def scatter(value: Array, index: Any, shape: Shape, unique: bool) -> Array:
    """Zeros of `shape` with `value` added at `index`: the adjoint of `x[index]`.

    `unique` promises that no element is selected twice, so that assignment does it. Repeated entries are added up in their
    order; for more than a few this counts flat positions (`np.bincount`), some three times faster than `np.add.at`.
    """
    if unique:
        out = np.zeros(shape, value.dtype)
        out[index] = value
        return out
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


# ------------------------------------------------------------------------------------------------------ linear algebra


def solve_triangular(x: Array, y: Array, lower: bool, unit: bool) -> Array:
    """The solution z of `tril(x) @ z = y` (`triu` if not lower), with ones on the diagonal if `unit`. y is a matrix."""
    a = np.tril(x) if lower else np.triu(x)
    if unit:
        n = np.arange(a.shape[-1])
        a[..., n, n] = 1
    return np.linalg.solve(a, y)


def cofactor(x: Array) -> Array:
    """The matrix of cofactors, det(x) * inv(x).T where that exists; finite for every matrix.

    From x = u diag(s) v the cofactors are cof(u) diag(prod of the other s) cof(v), with cof(u) = det(u) conj(u).
    """
    u, s, v = np.linalg.svd(x)
    return (_cofactor_of_unitary(u) * _products_without(s, 1)[..., None, :]) @ _cofactor_of_unitary(v)


def cofactor_tangent(x: Array, t: Array) -> Array:
    """The derivative of `cofactor` at x in direction t; finite for every matrix.

    With x = u diag(s) v and c = u^H t v^H: of a diagonal matrix entry (i, i) changes by the sum over j != i of
    c[j, j] times the product of all s but i and j, entry (i, j) by -c[j, i] times that product.
    """
    u, s, v = np.linalg.svd(x)
    c = np.conj(np.swapaxes(u, -1, -2)) @ t @ np.conj(np.swapaxes(v, -1, -2))
    others = _products_without(s, 2)
    n = np.arange(s.shape[-1])
    change = -others * np.swapaxes(c, -1, -2)
    change[..., n, n] = (others @ c[..., n, n][..., None])[..., 0]
    return _cofactor_of_unitary(u) @ change @ _cofactor_of_unitary(v)


def _cofactor_of_unitary(u: Array) -> Array:
    return np.linalg.det(u)[..., None, None] * np.conj(u)


def _products_without(s: Array, count: int) -> Array:
    """Products over the last axis without element i, or for count 2 without i and j (0 where i = j)."""
    n = s.shape[-1]
    if count == 1:
        without = np.where(np.eye(n, dtype=bool), 1.0, s[..., None, :])
        return np.prod(without, axis=-1).astype(s.dtype, copy=False)
    out = np.zeros((*s.shape, n), s.dtype)
    for i in range(n):
        rest = np.where(np.arange(n) == i, 1.0, s)
        out[..., i, :] = _products_without(rest, 1)
        out[..., i, i] = 0.0
    return out


def coincide(w: Array) -> Array:
    """Which pairs of values in the last axis are equal but for rounding: the gap is below n eps times the largest."""
    size = np.max(np.abs(w), axis=-1, keepdims=True, initial=0.0)[..., None]
    gap = np.abs(w[..., None, :] - w[..., :, None])
    return gap <= w.shape[-1] * np.finfo(w.dtype).eps * size
