"""NumPy's products of vectors, matrices and tensors."""

from __future__ import annotations

import operator
from functools import lru_cache
from typing import Any

import numpy as np

from srcdiff.errors import UnsupportedError
from srcdiff.functions.dispatch import implements, plain
from srcdiff.functions.shaping import arrayed, as_axes, as_axis, moveaxis, reshape
from srcdiff.ops import einsum as einsums
from srcdiff.ops import linalg as ops
from srcdiff.ops.elementwise import conj
from srcdiff.ops.reductions import sum
from srcdiff.ops.shaping import diagonal
from srcdiff.ops.structural import cast, transpose


def _vector(x: Any) -> Any:
    return reshape(x, -1)


@implements(np.dot, method="dot")
def dot(a: Any, b: Any) -> Any:
    a, b = arrayed(a), arrayed(b)
    if not a.ndim or not b.ndim:
        return a * b
    if b.ndim <= 2:
        return ops.matmul(a, b)
    return ops.tensordot(a, b, axes=((a.ndim - 1,), (b.ndim - 2,)))


@implements(np.vdot)
def vdot(a: Any, b: Any, /) -> Any:
    return ops.matmul(conj(_vector(arrayed(a))), _vector(arrayed(b)))


@implements(np.inner)
def inner(a: Any, b: Any, /) -> Any:
    a, b = arrayed(a), arrayed(b)
    if not a.ndim or not b.ndim:
        return a * b
    if b.ndim == 1:
        return ops.matmul(a, b)
    return ops.tensordot(a, b, axes=((a.ndim - 1,), (b.ndim - 1,)))


@implements(np.outer)
def outer(a: Any, b: Any) -> Any:
    return ops.rows(_vector(arrayed(a))) * _vector(arrayed(b))


@implements(np.linalg.outer)
def vector_outer(x1: Any, x2: Any, /) -> Any:
    x1, x2 = arrayed(x1), arrayed(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"Input arrays must be one-dimensional, but they are x1.ndim={x1.ndim} and x2.ndim={x2.ndim}.")
    return outer(x1, x2)


@implements(np.linalg.matmul)
def matmul(x1: Any, x2: Any, /) -> Any:
    return ops.matmul(arrayed(x1), arrayed(x2))


@implements(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    a, b = arrayed(a), arrayed(b)
    axes = plain(axes)
    if np.ndim(axes) == 0 and not isinstance(axes, (tuple, list)):
        count = operator.index(axes)
        of_a, of_b = tuple(range(a.ndim - count, a.ndim)), tuple(range(count))
    else:
        of_a, of_b = axes
    first, second = as_axes(_given(of_a), a.ndim), as_axes(_given(of_b), b.ndim)
    if len(first) != len(second) or any(a.shape[i] != b.shape[j] for i, j in zip(first, second, strict=True)):
        raise ValueError("shape-mismatch for sum")
    return ops.tensordot(a, b, axes=(first, second))


def _given(axes: Any) -> Any:
    return tuple(int(k) for k in axes) if np.ndim(axes) else (int(axes),)


@implements(np.linalg.tensordot)
def array_tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    return tensordot(x1, x2, axes)


@implements(np.kron)
def kron(a: Any, b: Any) -> Any:
    a, b = arrayed(a), arrayed(b)
    ndim = max(a.ndim, b.ndim)
    of_a, of_b = ((1,) * (ndim - x.ndim) + tuple(x.shape) for x in (a, b))
    apart_a = reshape(a, tuple(m for n in of_a for m in (n, 1)))
    apart_b = reshape(b, tuple(m for n in of_b for m in (1, n)))
    return reshape(apart_a * apart_b, tuple(m * n for m, n in zip(of_a, of_b, strict=True)))


@implements(np.cross)
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None) -> Any:
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = arrayed(a), arrayed(b)
    if not a.ndim or not b.ndim:
        raise ValueError("At least one array has zero dimension")
    a, b = _at_end(a, axisa), _at_end(b, axisb)
    if a.shape[-1] not in (2, 3) or b.shape[-1] not in (2, 3):
        raise ValueError("incompatible dimensions for cross product\n(dimension must be 2 or 3)")
    if a.shape[-1] == 2 or b.shape[-1] == 2:
        raise UnsupportedError("cross: vectors with two components are not supported (NumPy has deprecated them)")
    made = ops.cross(a, b)
    return made if as_axis(axisc, made.ndim) == made.ndim - 1 else moveaxis(made, -1, axisc)


def _at_end(x: Any, axis: int) -> Any:
    """`x` with an axis moved to the end."""
    return x if as_axis(axis, x.ndim) == x.ndim - 1 else moveaxis(x, axis, -1)


@implements(np.linalg.cross)
def vector_cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    x1, x2 = arrayed(x1), arrayed(x2)
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError("Both input arrays must be (arrays of) 3-dimensional vectors")
    return cross(x1, x2, axis=axis)


def vecdot(x1: Any, x2: Any, axis: int = -1) -> Any:
    """Products of vectors along an axis, the first conjugated."""
    x1, x2 = arrayed(x1), arrayed(x2)
    if not x1.ndim or not x2.ndim:
        raise ValueError("vecdot: the arguments are arrays of vectors, not numbers")
    x1, x2 = _at_end(x1, axis), _at_end(x2, axis)
    if x1.shape[-1] != x2.shape[-1]:
        raise ValueError(f"vecdot: the vectors of {tuple(x1.shape)} and {tuple(x2.shape)} have different lengths")
    product = conj(x1) * x2
    made = sum(product, axis=(product.ndim - 1,), keepdims=False)
    return made if made.dtype == product.dtype else cast(made, dtype=product.dtype)  # sums of small integers are larger


@implements(np.linalg.vecdot)
def array_vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    return vecdot(x1, x2, axis)


@implements(np.linalg.multi_dot)
def multi_dot(arrays: Any) -> Any:
    parts = [arrayed(x) for x in arrays]
    n = len(parts)
    if n < 2:
        raise ValueError("Expecting at least two arrays.")
    ends = {0: parts[0].ndim, n - 1: parts[-1].ndim}
    parts[0] = reshape(parts[0], (1, -1)) if parts[0].ndim == 1 else parts[0]
    parts[-1] = reshape(parts[-1], (-1, 1)) if parts[-1].ndim == 1 else parts[-1]
    for part in parts:
        if part.ndim != 2:
            raise np.linalg.LinAlgError(f"{part.ndim}-dimensional array given. Array must be two-dimensional")
    sizes = [part.shape[0] for part in parts] + [parts[-1].shape[1]]
    made = _product(parts, _best_cuts(sizes), 0, n - 1)
    if ends[0] == 1 and ends[n - 1] == 1:
        return reshape(made, ())
    return _vector(made) if 1 in ends.values() else made


def _best_cuts(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Where to cut a chain of matrices for the fewest multiplications (Cormen et al., "Introduction to Algorithms")."""
    n = len(sizes) - 1
    cost = {(k, k): 0 for k in range(n)}
    cut: dict[tuple[int, int], int] = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            options = [(cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)]
            cost[i, j], cut[i, j] = min(options)
    return cut


def _product(parts: list[Any], cut: dict[tuple[int, int], int], i: int, j: int) -> Any:
    if i == j:
        return parts[i]
    k = cut[i, j]
    return ops.matmul(_product(parts, cut, i, k), _product(parts, cut, k + 1, j))


# --------------------------------------------------------------------------------------------------------------- einsum


def _from_lists(operands: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """The format einsum(x, [0, 1], y, [1, 2], [0, 2]) as text and operands."""
    names = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    xs = [arrayed(x) for x in operands[: len(operands) // 2 * 2 : 2]]
    lists = list(operands[1::2])
    out = operands[-1] if len(operands) % 2 else None

    def text(labels: Any) -> str:
        return "".join("..." if k is Ellipsis else names[operator.index(k)] for k in labels)

    spec = ",".join(map(text, lists[: len(xs)]))
    return spec if out is None else f"{spec}->{text(out)}", xs


@lru_cache(maxsize=1024)
def explicit(spec: str, shapes: tuple[tuple[int, ...], ...]) -> str:
    """The subscripts with an output and without ellipses; ValueError for what NumPy would refuse."""
    spec = spec.replace(" ", "")
    given, arrow, out = spec.partition("->")
    inputs = given.split(",")
    if len(inputs) != len(shapes):
        raise ValueError(f"einsum: {len(inputs)} operands in {spec!r}, {len(shapes)} given")
    for text in (*inputs, out):
        if not all(c.isascii() and c.isalpha() for c in text.replace("...", "")) or text.count("...") > 1:
            raise ValueError(f"einsum: invalid subscripts {text!r}")
    used = set(spec) - set(".,->")
    free = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" if c not in used]
    widths = [
        len(shape) - len(text.replace("...", "")) if "..." in text else 0
        for text, shape in zip(inputs, shapes, strict=True)
    ]
    if min(widths, default=0) < 0:
        raise ValueError("einsum: an operand has fewer axes than subscripts")
    most = max(widths, default=0)
    dots = "".join(free[:most])
    inputs = [text.replace("...", dots[most - n :]) for text, n in zip(inputs, widths, strict=True)]
    if not arrow:
        every = "".join(inputs)
        once = sorted(c for c in used if every.count(c) == 1)
        return ",".join(inputs) + "->" + dots + "".join(once)
    out = out.replace("...", dots)
    if len(set(out)) != len(out) or not set(out) <= set("".join(inputs)):
        raise ValueError(f"einsum: the output {out!r} names a subscript twice, or one that no operand has")
    return ",".join(inputs) + "->" + out


def _rearranged(x: Any, given: str, out: str) -> Any:
    """einsum of one operand without a sum: axes exchanged, diagonals taken. A view, as NumPy's result is."""
    while len(set(given)) < len(given):
        name = next(c for c in given if given.count(c) > 1)
        first = given.index(name)
        second = given.index(name, first + 1)
        x = diagonal(x, offset=0, axis1=first, axis2=second)
        given = "".join(c for k, c in enumerate(given) if k not in (first, second)) + name
    return transpose(x, axes=tuple(map(given.index, out)))


@implements(np.einsum)
def einsum(*operands: Any, optimize: Any = False, dtype: Any = None, casting: Any = "safe", order: Any = "K") -> Any:
    if isinstance(operands[0], str):
        text, xs = operands[0], [arrayed(x) for x in operands[1:]]
    else:
        text, xs = _from_lists(operands)
    shapes = tuple(tuple(x.shape) for x in xs)
    spec = explicit(text, shapes)
    if dtype is not None:
        target = np.dtype(dtype)
        if not all(np.can_cast(x.dtype, target, casting) for x in xs):
            raise TypeError(f"einsum: cannot cast the operands to {target} according to {casting!r}")
        xs = [x if x.dtype == target else cast(x, dtype=target) for x in xs]
    if len(xs) == 1 and set(spec.partition("->")[0]) == set(spec.partition("->")[2]):
        return _rearranged(xs[0], *spec.split("->"))
    if isinstance(optimize, (list, tuple)):
        optimize = tuple(tuple(step) if isinstance(step, (list, tuple)) else step for step in optimize)
    if optimize is False:
        optimize = einsums.plan(spec, shapes)
    return einsums.einsum(*xs, spec=spec, optimize=optimize)


@implements(np.einsum_path)
def einsum_path(*operands: Any, optimize: Any = "greedy", einsum_call: Any = False) -> Any:
    return np.einsum_path(*(plain(x) for x in operands), optimize=optimize, einsum_call=einsum_call)


def matvec(x1: Any, x2: Any) -> Any:
    """Matrices times vectors."""
    x1, x2 = arrayed(x1), arrayed(x2)
    made = ops.matmul(x1, ops.rows(x2))
    return reshape(made, made.shape[:-1])


def vecmat(x1: Any, x2: Any) -> Any:
    """Vectors, conjugated, times matrices."""
    x1, x2 = arrayed(x1), arrayed(x2)
    made = ops.matmul(ops.columns(conj(x1)), x2)
    return reshape(made, (*made.shape[:-2], made.shape[-1]))
