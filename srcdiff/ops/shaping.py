"""Rearranging and joining arrays: everything that only moves elements, copies them or puts zeros between them.

All are linear, so the adjoint of each is another of them. Axes are non-negative, and ascending where their order has no
meaning.
"""

from __future__ import annotations

import builtins
from itertools import pairwise
from typing import Any

import numpy as np

from srcdiff.aval import Aval, aval
from srcdiff.core.builder import Builder
from srcdiff.core.primitive import Primitive
from srcdiff.core.program import Node
from srcdiff.errors import ShapeError
from srcdiff.ops.families import linear, primitive
from srcdiff.ops.indexing import take_at, take_window
from srcdiff.ops.reductions import sum
from srcdiff.ops.structural import broadcast_to, reshape, sum_to


def _same(x: Aval, **params: Any) -> Aval:
    return aval(x.shape, x.dtype)


def _fold_to_reshape(shape_of: Any) -> Any:
    """In programs, what only adds or drops axes of length 1 is a reshape."""

    def fold(builder: Builder, nodes: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
        (x,) = nodes
        return None if x.is_literal else reshape(x, shape=shape_of(x.shape, **params))

    return fold


# --------------------------------------------------------------------------------------------------- axes of length 1


def squeezed(shape: tuple[int, ...], axis: tuple[int, ...]) -> tuple[int, ...]:
    """The shape without the given axes."""
    return tuple(n for k, n in enumerate(shape) if k not in axis)


def expanded(shape: tuple[int, ...], axis: tuple[int, ...]) -> tuple[int, ...]:
    """The shape with axes of length 1 put in, so that they end up at `axis`."""
    rest = iter(shape)
    return tuple(1 if k in axis else next(rest) for k in range(len(shape) + len(axis)))


squeeze: Primitive = linear(
    "squeeze", "x", "np.squeeze(x, axis)", lambda ct, out, x, *, axis: reshape(ct, shape=x.shape),
    infer=lambda x, *, axis: aval(squeezed(x.shape, axis), x.dtype), params="axis", view=True,
    fold=_fold_to_reshape(squeezed),
)  # fmt: skip
expand_dims: Primitive = linear(
    "expand_dims", "x", "np.expand_dims(x, axis)", lambda ct, out, x, *, axis: reshape(ct, shape=x.shape),
    infer=lambda x, *, axis: aval(expanded(x.shape, axis), x.dtype), params="axis", view=True, label="Unsqueeze",
    fold=_fold_to_reshape(expanded),
)  # fmt: skip
copy: Primitive = linear(
    "copy", "x", "np.array(x)", lambda ct, out, x: ct, infer=_same, label="Clone", fold=lambda b, n, p: n[0],
)  # fmt: skip
#: a copy in C order, where `copy` keeps the order of its operand
compact: Primitive = linear(
    "compact", "x", "np.array(x, order='C')", lambda ct, out, x: ct, infer=_same, label="Clone",
    fold=lambda b, n, p: n[0],
)  # fmt: skip
contiguous: Primitive = linear(
    "contiguous", "x", "np.ascontiguousarray(x)", lambda ct, out, x: ct, infer=_same, label="Contiguous",
    fold=lambda b, n, p: n[0] if n[0].ndim == 0 else None, view=True,
)  # fmt: skip

# ------------------------------------------------------------------------------------------------------------- moving


def _negative(shift: Any) -> Any:
    return tuple(-s for s in shift) if isinstance(shift, tuple) else -shift


flip: Primitive = linear(
    "flip", "x", "np.flip(x, axis)", lambda ct, out, x, *, axis: flip(ct, axis=axis), infer=_same, params="axis",
    view=True,
)  # fmt: skip
roll: Primitive = linear(
    "roll", "x", "np.roll(x, shift, axis)",
    lambda ct, out, x, *, shift, axis: roll(ct, shift=_negative(shift), axis=axis),
    infer=_same, params="shift axis",
)  # fmt: skip

# ------------------------------------------------------------------------------------------------------------- copies


def _repeated(x: Aval, *, repeats: int, axis: int) -> Aval:
    return aval(tuple(n * repeats if k == axis else n for k, n in enumerate(x.shape)), x.dtype)


def _sum_repeats(ct: Any, out: Any, x: Any, *, repeats: int, axis: int) -> Any:
    apart = reshape(ct, shape=(*x.shape[: axis + 1], repeats, *x.shape[axis + 1 :]))
    return sum(apart, axis=(axis + 1,), keepdims=False)


def _tiled(x: Aval, *, reps: tuple[int, ...]) -> Aval:
    return aval(tuple(n * r for n, r in zip(_padded(x.shape, len(reps)), reps, strict=True)), x.dtype)


def _padded(shape: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    return (*(1,) * (ndim - len(shape)), *shape)


def _sum_tiles(ct: Any, out: Any, x: Any, *, reps: tuple[int, ...]) -> Any:
    shape = _padded(x.shape, len(reps))
    apart = reshape(ct, shape=tuple(m for pair in zip(reps, shape, strict=True) for m in pair))
    return reshape(sum(apart, axis=tuple(range(0, 2 * len(reps), 2)), keepdims=False), shape=x.shape)


repeat: Primitive = linear(
    "repeat", "x", "np.repeat(x, repeats, axis)", _sum_repeats, infer=_repeated, params="repeats axis",
    label="RepeatInterleave",
)  # fmt: skip
#: `reps` has an entry for every axis of the result
tile: Primitive = linear("tile", "x", "np.tile(x, reps)", _sum_tiles, infer=_tiled, params="reps", label="Repeat")


def _zero_padded(x: Aval, *, pad_width: tuple[tuple[int, int], ...]) -> Aval:
    return aval(tuple(a + n + b for n, (a, b) in zip(x.shape, pad_width, strict=True)), x.dtype)


#: pads with zeros
pad: Primitive = linear(
    "pad", "x", "np.pad(x, pad_width)",
    lambda ct, out, x, *, pad_width: take_window(
        ct, tuple((a, a + n) for (a, _), n in zip(pad_width, x.shape, strict=True))
    ),
    infer=_zero_padded, params="pad_width", label="ConstantPadNd",
)  # fmt: skip

# ------------------------------------------------------------------------------------------------- diagonals, triangles


def diagonal_length(rows: int, columns: int, offset: int) -> int:
    """How many elements a diagonal of a matrix has."""
    return max(0, min(rows + min(offset, 0), columns - max(offset, 0)))


def _diagonal_shape(shape: tuple[int, ...], offset: int, axis1: int, axis2: int) -> tuple[int, ...]:
    rest = tuple(n for k, n in enumerate(shape) if k not in (axis1, axis2))
    return (*rest, diagonal_length(shape[axis1], shape[axis2], offset))


def on_diagonal(x: Any, shape: tuple[int, ...], offset: int, axis1: int, axis2: int) -> Any:
    """Zeros of `shape` with the last axis of `x` on a diagonal."""
    if x.ndim == 1 and axis1 < axis2 and tuple(shape) == (x.shape[0] + abs(offset),) * 2:
        return diag(x, k=offset)
    return diagonal_scatter(x, shape=tuple(shape), offset=offset, axis1=axis1, axis2=axis2)


diagonal: Primitive = linear(
    "diagonal", "x", "np.diagonal(x, offset, axis1, axis2)",
    lambda ct, out, x, *, offset, axis1, axis2: on_diagonal(ct, x.shape, offset, axis1, axis2),
    infer=lambda x, **params: aval(_diagonal_shape(x.shape, **params), x.dtype), params="offset axis1 axis2", view=True,
    selects=True,
)  # fmt: skip
#: the square matrix with the vector x on its k-th diagonal
diag: Primitive = linear(
    "diag", "x", "np.diag(x, k)", lambda ct, out, x, *, k: diagonal(ct, offset=k, axis1=0, axis2=1),
    infer=lambda x, *, k: aval((x.shape[0] + abs(k),) * 2, x.dtype), params="k", label="DiagEmbed",
)  # fmt: skip
diagonal_scatter: Primitive = linear(
    "diagonal_scatter", "x", "rt.diagonal_scatter(x, shape, offset, axis1, axis2)",
    lambda ct, out, x, *, shape, offset, axis1, axis2: diagonal(ct, offset=offset, axis1=axis1, axis2=axis2),
    infer=lambda x, *, shape, **params: aval(shape, x.dtype), params="shape offset axis1 axis2", label="DiagEmbed",
)  # fmt: skip
trace: Primitive = linear(
    "trace", "x", "np.trace(x, offset, axis1, axis2)",
    lambda ct, out, x, *, offset, axis1, axis2: on_diagonal(
        broadcast_to(reshape(ct, shape=(*ct.shape, 1)), shape=_diagonal_shape(x.shape, offset, axis1, axis2)),
        x.shape, offset, axis1, axis2,
    ),
    infer=lambda x, **params: aval(_diagonal_shape(x.shape, **params)[:-1], np.trace(np.ones((1, 1), x.dtype)).dtype),
    params="offset axis1 axis2", selects=True,
)  # fmt: skip
tril: Primitive = linear(
    "tril", "x", "np.tril(x, k)", lambda ct, out, x, *, k: tril(ct, k=k), infer=_same, params="k", selects=True
)
triu: Primitive = linear(
    "triu", "x", "np.triu(x, k)", lambda ct, out, x, *, k: triu(ct, k=k), infer=_same, params="k", selects=True
)

# ------------------------------------------------------------------------------------------------------------- windows


def _windows_shape(x: Aval, *, window: tuple[int, ...], axis: tuple[int, ...]) -> Aval:
    shape = list(x.shape)
    for a, length in zip(axis, window, strict=True):
        shape[a] -= length - 1
    return aval((*shape, *window), x.dtype)


#: what `np.lib.stride_tricks.sliding_window_view` gives
windows: Primitive = linear(
    "windows", "x", "np.lib.stride_tricks.sliding_window_view(x, window, axis)",
    lambda ct, out, x, *, window, axis: overlap_add(ct, shape=x.shape, axis=axis),
    infer=_windows_shape, params="window axis", view=True, label="Unfold",
)  # fmt: skip
overlap_add: Primitive = linear(
    "overlap_add", "x", "rt.overlap_add(x, shape, axis)",
    lambda ct, out, x, *, shape, axis: windows(ct, window=x.shape[len(shape) :], axis=axis),
    infer=lambda x, *, shape, axis: aval(shape, x.dtype), params="shape axis", label="Fold",
)  # fmt: skip

# ------------------------------------------------------------------------------------------------------------- joining


def _common_dtype(xs: tuple[Aval, ...]) -> Any:
    return np.result_type(*(x.dtype for x in xs))


def _concatenated(*xs: Aval, axis: int) -> Aval:
    first = xs[0].shape
    for x in xs:
        if x.ndim != len(first) or (*x.shape[:axis], *x.shape[axis + 1 :]) != (*first[:axis], *first[axis + 1 :]):
            raise ShapeError(f"concatenate: {', '.join(map(str, xs))} differ elsewhere than along axis {axis}")
    total = builtins.sum(x.shape[axis] for x in xs)
    return aval((*first[:axis], total, *first[axis + 1 :]), _common_dtype(xs))


def _concatenate_part(k: int, ct: Any, out: Any, *xs: Any, axis: int) -> Any:
    start = 0
    for x in xs[:k]:
        start += x.shape[axis]
    return take_at_window(ct, axis, start, start + xs[k].shape[axis])


def take_at_window(x: Any, axis: int, start: int, stop: int) -> Any:
    """`x[..., start:stop]` with the slice at `axis`."""
    return take_window(x, tuple((start, stop) if k == axis else (0, n) for k, n in enumerate(x.shape)))


def _stacked(*xs: Aval, axis: int) -> Aval:
    shape = xs[0].shape
    if any(x.shape != shape for x in xs):
        raise ShapeError(f"stack: {', '.join(map(str, xs))} are not of one shape")
    return aval((*shape[:axis], len(xs), *shape[axis:]), _common_dtype(xs))


concatenate: Primitive = primitive(
    "concatenate", "*xs", "np.concatenate(xs, axis)", _concatenate_part, infer=_concatenated, params="axis",
    saves="", label="Cat", linear="all",
)  # fmt: skip
stack: Primitive = primitive(
    "stack", "*xs", "np.stack(xs, axis)", lambda k, ct, out, *xs, axis: take_at(ct, axis, k), infer=_stacked,
    params="axis", saves="", linear="all",
)  # fmt: skip

# ------------------------------------------------------------------------------------------------------------ splitting


def split_bounds(length: int, sections: tuple[int, ...]) -> list[tuple[int, int]]:
    """Where the parts of an axis begin and end, as `np.split` cuts at `sections`."""
    cuts = [0, *sections, length]
    bounds = []
    for start, stop, _ in (slice(a, b).indices(length) for a, b in pairwise(cuts)):
        bounds.append((start, max(start, stop)))
    return bounds


def _split_parts(x: Aval, *, sections: tuple[int, ...], axis: int) -> tuple[Aval, ...]:
    bounds = split_bounds(x.shape[axis], sections)
    return tuple(aval((*x.shape[:axis], b - a, *x.shape[axis + 1 :]), x.dtype) for a, b in bounds)


def _join_parts(ct: Any, out: Any, x: Any, *, sections: tuple[int, ...], axis: int) -> Any:
    bounds = split_bounds(x.shape[axis], sections)
    in_order = all(b == c for (_, b), (c, _) in pairwise(bounds))
    if in_order and bounds[-1][1] == x.shape[axis] and all(part is not None for part in ct):
        return concatenate(*ct, axis=axis)
    total = None
    for part, (a, b) in zip(ct, bounds, strict=True):
        if part is not None:
            padded = pad(part, pad_width=tuple((a, n - b) if k == axis else (0, 0) for k, n in enumerate(x.shape)))
            total = padded if total is None else total + padded
    return total


def _unbound(x: Aval, *, axis: int) -> tuple[Aval, ...]:
    return (aval((*x.shape[:axis], *x.shape[axis + 1 :]), x.dtype),) * x.shape[axis]


def _stack_parts(ct: Any, out: Any, x: Any, *, axis: int) -> Any:
    if ct and all(part is not None for part in ct):
        return stack(*ct, axis=axis)
    total = None
    for j, part in enumerate(ct):
        if part is not None:
            row = reshape(part, shape=tuple(1 if k == axis else n for k, n in enumerate(x.shape)))
            before_after = ((j, x.shape[axis] - 1 - j) if k == axis else (0, 0) for k in range(len(x.shape)))
            padded = pad(row, pad_width=tuple(before_after))
            total = padded if total is None else total + padded
    return total


split: Primitive = linear(
    "split", "x", "tuple(np.split(x, sections, axis))", _join_parts, infer=_split_parts, params="sections axis",
    multi=True, view=True, saves="", selects=True,
)  # fmt: skip
unbind: Primitive = linear(
    "unbind", "x", "rt.unbind(x, axis)", _stack_parts, infer=_unbound, params="axis", multi=True, view=True,
    saves="", selects=True,
)  # fmt: skip

# ------------------------------------------------------------------------------------------------------------- filling

#: an array of `shape` filled with a 0-d value
full: Primitive = linear(
    "full", "x", "np.full(shape, x)", lambda ct, out, x, *, shape: sum_to(ct, shape=()),
    infer=lambda x, *, shape: aval(shape, x.dtype), params="shape",
)  # fmt: skip
