"""Second names, and functions of several families."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.errors import AutogradError
from srcdiff.functions.dispatch import FUNCTIONS
from srcdiff.ops import elementwise as el
from srcdiff.ops import linalg as linalg_ops
from srcdiff.ops import shaping as ops
from srcdiff.ops.indexing import take_at
from srcdiff.ops.structural import imag_part, real_part
from srcdiff.torchlike import joining, parts, pointwise, products, running, shaping
from srcdiff.torchlike.linalg import svd as linalg_svd
from srcdiff.torchlike.linalg import vander as linalg_vander
from srcdiff.torchlike.special import multigammaln
from srcdiff.torchlike.support import arrayed, numpy_keywords, one_dim, result, value_of

clip = pointwise.clamp
concat = concatenate = joining.cat
ger = products.outer
moveaxis = shaping.movedim
swapaxes = swapdims = shaping.transpose
subtract = pointwise.sub
divide = true_divide = pointwise.div
trapz = running.trapezoid
mvlgamma = multigammaln
row_stack = joining.vstack


def clone(input: Any, *, memory_format: Any = None) -> Any:
    """A copy that gradients flow through."""
    return ops.copy(arrayed(input))


def svd(input: Any, some: bool = True, compute_uv: bool = True) -> Any:
    """U, S and V (not its conjugate transpose, as `linalg.svd` gives) with U diag(S) V^H = input."""
    u, s, vh = linalg_svd(input, full_matrices=not some)
    return u, s, linalg_ops.adjoint(vh)


def matrix_rank(input: Any, tol: Any = None) -> Any:
    """How many singular values exceed the tolerance."""
    x = arrayed(input)
    return result(np.linalg.matrix_rank(value_of(x), value_of(tol)), x)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """Powers of the elements in columns, the highest first unless `increasing`."""
    made = linalg_vander(x, N=N)
    return made if increasing else parts.flip(made, -1)


def cov(input: Any, *, correction: int = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """The covariance matrix of variables in rows, divided by n - correction."""
    return FUNCTIONS[np.cov](arrayed(input), ddof=correction, fweights=value_of(fweights), aweights=value_of(aweights))


def corrcoef(input: Any) -> Any:
    """The correlation matrix of variables in rows."""
    return FUNCTIONS[np.corrcoef](arrayed(input))


def view_as_real(input: Any) -> Any:
    """Real and imaginary parts along a new last dimension."""
    x = arrayed(input)
    if x.dtype.kind != "c":
        raise AutogradError("view_as_real is only supported for complex tensors")
    return ops.stack(real_part(x), imag_part(x), axis=x.ndim)


def view_as_complex(input: Any) -> Any:
    """Complex numbers of the pairs along the last dimension."""
    x = arrayed(input)
    if x.dtype.kind != "f" or not x.ndim or x.shape[-1] != 2:
        raise AutogradError("view_as_complex: Tensor must have a last dimension of size 2 and floating-point numbers")
    return el.add(take_at(x, x.ndim - 1, 0), el.mul(take_at(x, x.ndim - 1, 1), 1j))


@numpy_keywords
def gradient(input: Any, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> tuple[Any, ...]:
    """Central differences along dimensions, one-sided at the ends; one tensor for each dimension."""
    x = arrayed(input)
    dims = range(x.ndim) if dim is None else dim if isinstance(dim, (list, tuple)) else (dim,)
    axes = [one_dim(d, x.ndim) for d in dims]
    steps = list(spacing) if isinstance(spacing, (list, tuple)) else [spacing] * len(axes)
    return tuple(
        FUNCTIONS[np.gradient](x, value_of(step), axis=axis, edge_order=edge_order)
        for step, axis in zip(steps, axes, strict=True)
    )


def conj_physical(input: Any) -> Any:
    """The complex conjugate."""
    return pointwise.conj(input)


def resolve_conj(input: Any) -> Any:
    """The tensor itself: conjugates are always computed."""
    return input


resolve_neg = resolve_conj


def is_inference(input: Any) -> bool:
    """Whether the tensor was made in inference mode."""
    return bool(input.is_inference())


def is_same_size(input: Any, other: Any) -> bool:
    """Whether the shapes are equal."""
    return tuple(input.shape) == tuple(other.shape)


def split_with_sizes(input: Any, split_sizes: Any, dim: int = 0) -> tuple[Any, ...]:
    """Parts of the given lengths along a dimension."""
    return joining.split(input, list(split_sizes), dim)


def typename(obj: Any) -> str:
    """The name of an object's type, of a tensor as its method `type()` gives it."""
    return str(obj.type()) if hasattr(obj, "type") and hasattr(obj, "dtype") else type(obj).__qualname__
