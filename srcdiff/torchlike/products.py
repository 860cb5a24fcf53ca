"""Products of vectors and matrices, and what is made of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.errors import AutogradError
from srcdiff.functions.dispatch import FUNCTIONS
from srcdiff.ops import elementwise as el
from srcdiff.ops import linalg as ops
from srcdiff.ops import torchlike as tl
from srcdiff.ops.reductions import sum as sum_op
from srcdiff.ops.structural import reshape, transpose
from srcdiff.torchlike.norms import p_norm
from srcdiff.torchlike.shaping import broadcast_shapes
from srcdiff.torchlike.support import arrayed, lift, one_dim


def _sizes(x: Any) -> str:
    return "x".join(map(str, x.shape))


def _need(name: str, x: Any, ndim: int, operand: str = "input") -> Any:
    if x.ndim != ndim:
        raise AutogradError(f"{name}: expected a {ndim}D tensor for {operand}, got {x.ndim}D of shape {list(x.shape)}")
    return x


def matmul(input: Any, other: Any) -> Any:
    """The matrix product, as `@`."""
    x, y = arrayed(input), arrayed(other)
    if x.ndim == 1 and y.ndim == 1:
        return dot(x, y)
    if x.ndim == 2 and y.ndim == 1:
        return mv(x, y)
    if x.ndim == 2 and y.ndim == 2:
        return mm(x, y)
    return ops.matmul(x, y)


def mm(input: Any, mat2: Any) -> Any:
    """The product of two matrices."""
    x, y = arrayed(input), arrayed(mat2)
    if x.ndim != 2 or y.ndim != 2:
        raise AutogradError("self must be a matrix" if x.ndim != 2 else "mat2 must be a matrix")
    if x.shape[1] != y.shape[0]:
        raise AutogradError(f"mat1 and mat2 shapes cannot be multiplied ({_sizes(x)} and {_sizes(y)})")
    return ops.matmul(x, y)


def bmm(input: Any, mat2: Any) -> Any:
    """The products of two stacks of matrices."""
    x, y = arrayed(input), arrayed(mat2)
    if x.ndim != 3 or y.ndim != 3:
        raise AutogradError("batch1 must be a 3D tensor" if x.ndim != 3 else "batch2 must be a 3D tensor")
    if x.shape[0] != y.shape[0] or x.shape[2] != y.shape[1]:
        raise AutogradError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{x.shape[0]}, {x.shape[2]}] but got: "
            f"[{y.shape[0]}, {y.shape[1]}]."
        )
    return tl.bmm(x, y)


def mv(input: Any, vec: Any) -> Any:
    """A matrix times a vector."""
    x, y = arrayed(input), arrayed(vec)
    if x.ndim != 2 or y.ndim != 1:
        raise AutogradError(f"vector + matrix @ vector expected, got 1, {x.ndim}, {y.ndim}")
    if x.shape[1] != y.shape[0]:
        raise AutogradError(f"size mismatch, got input ({x.shape[0]}), mat ({_sizes(x)}), vec ({y.shape[0]})")
    return tl.mv(x, y)


def dot(input: Any, tensor: Any) -> Any:
    """The sum of the products of the elements of two vectors."""
    x, y = arrayed(input), arrayed(tensor)
    if x.ndim != 1 or y.ndim != 1:
        raise AutogradError(f"1D tensors expected, but got {x.ndim}D and {y.ndim}D tensors")
    if x.shape != y.shape:
        raise AutogradError(
            f"inconsistent tensor size, expected tensor [{x.shape[0]}] and src [{y.shape[0]}] to have "
            "the same number of "
            f"elements, but got {x.shape[0]} and {y.shape[0]} elements respectively"
        )
    return tl.dot(x, y)


def vdot(input: Any, other: Any) -> Any:
    """`dot` of the conjugate of the first vector and the second."""
    return dot(el.conj(arrayed(input)), other)


def inner(input: Any, other: Any) -> Any:
    """Products summed over the last dimensions; of numbers the product."""
    x, y = arrayed(input), arrayed(other)
    if not x.ndim or not y.ndim:
        return el.mul(x, y)
    if x.ndim == 1 and y.ndim == 1:
        return dot(x, y)
    return ops.tensordot(x, y, axes=((x.ndim - 1,), (y.ndim - 1,)))


def outer(input: Any, vec2: Any) -> Any:
    """All products of the elements of two vectors."""
    x, y = _need("outer", arrayed(input), 1), _need("outer", arrayed(vec2), 1, "vec2")
    return el.mul(reshape(x, shape=(x.shape[0], 1)), y)


def kron(input: Any, other: Any) -> Any:
    """The Kronecker product."""
    x, y = arrayed(input), arrayed(other)
    ndim = max(x.ndim, y.ndim)
    m, n = ((*(1,) * (ndim - len(s)), *s) for s in (x.shape, y.shape))
    apart = el.mul(
        reshape(x, shape=tuple(k for a in m for k in (a, 1))), reshape(y, shape=tuple(k for b in n for k in (1, b)))
    )
    return reshape(apart, shape=tuple(a * b for a, b in zip(m, n, strict=True)))


def cross(input: Any, other: Any, dim: int | None = None) -> Any:
    """The vector product along a dimension of length 3 (the first one, if none is given)."""
    x, y = arrayed(input), arrayed(other)
    if dim is None:
        shape = broadcast_shapes(x.shape, y.shape)
        if 3 not in shape:
            raise AutogradError("no dimension of size 3 in input")
        dim = shape.index(3)
    return cross_along(x, y, dim)


def cross_along(x: Any, y: Any, dim: int) -> Any:
    """The vector product along a dimension."""
    ndim = max(x.ndim, y.ndim)
    axis = one_dim(dim, ndim)
    x, y = (v if v.ndim == ndim else reshape(v, shape=(*(1,) * (ndim - v.ndim), *v.shape)) for v in (x, y))
    if x.shape[axis] != 3 or y.shape[axis] != 3:
        raise AutogradError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {x.shape[axis]} and {y.shape[axis]}"
        )
    if axis == ndim - 1:
        return ops.cross(x, y)
    order = (*(k for k in range(ndim) if k != axis), axis)
    back = tuple(int(k) for k in np.argsort(order))
    return transpose(ops.cross(transpose(x, axes=order), transpose(y, axes=order)), axes=back)


def tensordot(a: Any, b: Any, dims: Any = 2) -> Any:
    """Products summed over pairs of dimensions: the last `dims` of a and first of b, or two lists of them."""
    x, y = arrayed(a), arrayed(b)
    if isinstance(dims, int):
        axes: Any = (tuple(range(x.ndim - dims, x.ndim)), tuple(range(dims)))
    else:
        axes = tuple(
            tuple(one_dim(d, v.ndim) for d in (given if isinstance(given, (list, tuple)) else (given,)))
            for given, v in zip(dims, (x, y), strict=True)
        )
    return ops.tensordot(x, y, axes=axes)


def einsum(equation: Any, *operands: Any) -> Any:
    """Einstein summation: `einsum("ij,jk->ik", x, y)`."""
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    return FUNCTIONS[np.einsum](equation, *map(lift, operands))


# --------------------------------------------------------------------------------------------------- products and sums


def _blend(x: Any, product: Any, beta: Any, alpha: Any) -> Any:
    scaled = product if alpha == 1 else el.mul(product, alpha)
    if beta == 0:
        return scaled
    return el.add(x if beta == 1 else el.mul(x, beta), scaled)


def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta * input + alpha * mat1 @ mat2."""
    x, a, b = arrayed(input), arrayed(mat1), arrayed(mat2)
    if beta == 1 and alpha == 1 and a.ndim == 2 and b.ndim == 2 and a.shape[1] == b.shape[0]:
        return ops.addmm(x, a, b)
    return _blend(x, mm(a, b), beta, alpha)


def addmv(input: Any, mat: Any, vec: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta * input + alpha * mat @ vec."""
    return _blend(arrayed(input), mv(mat, vec), beta, alpha)


def addr(input: Any, vec1: Any, vec2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta * input + alpha * outer(vec1, vec2)."""
    return _blend(arrayed(input), outer(vec1, vec2), beta, alpha)


def baddbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta * input + alpha * batch1 @ batch2, for stacks of matrices."""
    return _blend(arrayed(input), bmm(batch1, batch2), beta, alpha)


def addbmm(input: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta * input + alpha * the sum of the products of two stacks of matrices."""
    return _blend(arrayed(input), sum_op(bmm(batch1, batch2), axis=(0,), keepdims=False), beta, alpha)


def chain_matmul(*matrices: Any) -> Any:
    """The product of several matrices, in the cheapest order."""
    return FUNCTIONS[np.linalg.multi_dot](list(map(lift, matrices)))


# ----------------------------------------------------------------------------------------------------------- distances


def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: str | None = None) -> Any:
    """The p-norm distances between the rows of two (stacks of) matrices."""
    x, y = arrayed(x1), arrayed(x2)
    if x.ndim < 2 or y.ndim < 2 or x.shape[-1] != y.shape[-1]:
        raise AutogradError(f"X1 and X2 must have the same number of columns. X1: {list(x.shape)} X2: {list(y.shape)}")
    rows = reshape(x, shape=(*x.shape[:-1], 1, x.shape[-1]))
    others = reshape(y, shape=(*y.shape[:-2], 1, *y.shape[-2:]))
    apart = el.sub(rows, others)
    return p_norm(apart, p, (apart.ndim - 1,), False)


def pdist(input: Any, p: float = 2.0) -> Any:
    """The p-norm distances between every two rows of a matrix."""
    x = _need("pdist", arrayed(input), 2)
    first, second = np.triu_indices(x.shape[0], 1)
    apart = el.sub(tl.index_select(x, first, axis=0), tl.index_select(x, second, axis=0))
    return p_norm(apart, p, (1,), False)


def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """The cosine of the angle between vectors along a dimension; lengths count as at least eps."""
    x, y = arrayed(x1), arrayed(x2)
    axis = (one_dim(dim, max(x.ndim, y.ndim)),)
    length_x, length_y = (p_norm(v, 2, axis, True) for v in (x, y))
    unit_x, unit_y = (v / el.where(el.less(n, eps), eps, n) for v, n in ((x, length_x), (y, length_y)))
    return sum_op(unit_x * unit_y, axis=axis, keepdims=False)
