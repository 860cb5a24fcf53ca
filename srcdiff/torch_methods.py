"""PyTorch's methods of Tensor that ndarray lacks: those that `torchlike` has as functions, and the ones below.

Methods that write are in `inplace`, those about gradients in `autograd.tensor_api`, names ndarray has in
`array_methods`.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from srcdiff import creation, creation_like
from srcdiff.device import check_device
from srcdiff.errors import AutogradError
from srcdiff.ops import shaping as shaping_ops
from srcdiff.ops.structural import sum_to, transpose
from srcdiff.torch_memory import MemoryMethods
from srcdiff.torchlike import (
    counting,
    elementary,
    indexing,
    joining,
    linalg,
    more,
    norms,
    ordering,
    parts,
    pointwise,
    products,
    reductions,
    running,
    scattering,
    shaping,
    special,
)
from srcdiff.torchlike.support import result

#: module -> functions of it that are methods under the same name
_FUNCTIONS: dict[ModuleType, str] = {
    elementary: elementary.NAMES,
    pointwise: "add sub rsub div addcmul addcdiv lerp clamp clamp_min clamp_max nan_to_num angle sgn is_complex "
    "is_floating_point is_signed logit isposinf isneginf isreal positive frexp isclose allclose equal",
    reductions: "nansum nanmean amax amin aminmax count_nonzero logsumexp softmax log_softmax",
    running: "logcumsumexp diff",
    norms: "norm dist renorm",
    ordering: "msort topk kthvalue median nanmedian mode quantile nanquantile cummax cummin",
    shaping: "unflatten unsqueeze permute t adjoint movedim expand broadcast_to",
    parts: "narrow select unfold diag_embed diag diagflat tril triu flip fliplr flipud roll rot90 "
    "tile repeat_interleave",
    indexing: "index_select gather take_along_dim masked_select argwhere masked_fill masked_scatter "
    "index_put index_add "
    "index_copy index_fill select_scatter slice_scatter diagonal_scatter",
    scattering: "scatter scatter_add scatter_reduce",
    joining: "split chunk tensor_split hsplit vsplit dsplit unbind",
    products: "matmul mm bmm mv vdot inner outer kron cross addmm addmv addr baddbmm addbmm",
    counting: "bincount histc unique unique_consecutive is_nonzero numel",
    linalg: "det logdet slogdet inverse pinverse cholesky cholesky_solve cholesky_inverse qr svd "
    "matrix_power matrix_exp",
}
#: further names of methods
_ALIASES = {
    "subtract": "sub", "divide": "div", "true_divide": "div",
    "moveaxis": "movedim", "ger": "outer", "nelement": "numel",
}  # fmt: skip


class TorchMethods(MemoryMethods):
    """PyTorch's methods."""

    def __init__(self, *data: Any, device: Any = None) -> None:
        check_device(device)
        self._edge = None
        self._value = creation.legacy(data)

    # ---------------------------------------------------------------------------------------------------------- shapes

    @property
    def T(self) -> Any:  # noqa: N802
        """Dimensions reversed."""
        if self._value.ndim == 2:
            return transpose(self, axes=(1, 0))
        return transpose(self, axes=tuple(range(self._value.ndim))[::-1])

    @property
    def mT(self) -> Any:  # noqa: N802
        """The transposes of matrices."""
        if self._value.ndim < 2:
            raise AutogradError(
                f"tensor.mT is only supported on matrices or batches of matrices. Got {self._value.ndim}-D tensor."
            )
        return shaping.transpose(self, -2, -1)

    @property
    def H(self) -> Any:  # noqa: N802
        """The conjugate transpose of a matrix."""
        if self._value.ndim not in (0, 2):
            raise AutogradError(
                f"tensor.H is only supported on matrices (2-D tensors). Got {self._value.ndim}-D tensor."
            )
        return shaping.adjoint(self) if self._value.ndim else pointwise.conj(self)

    @property
    def mH(self) -> Any:  # noqa: N802
        """The conjugate transposes of matrices."""
        if self._value.ndim < 2:
            raise AutogradError(
                f"tensor.mH is only supported on matrices or batches of matrices. Got {self._value.ndim}-D tensor."
            )
        return shaping.adjoint(self)

    @property
    def real(self) -> Any:
        """The real part."""
        return pointwise.real(self)

    @real.setter
    def real(self, value: Any) -> None:
        pointwise.real(self)[...] = value

    @property
    def imag(self) -> Any:
        """The imaginary part; of real numbers zeros, as in NumPy."""
        if self._value.dtype.kind == "c":
            return pointwise.imag(self)
        return result(np.zeros(self._value.shape, self._value.dtype), self)

    @imag.setter
    def imag(self, value: Any) -> None:
        if self._value.dtype.kind != "c":
            raise TypeError("array does not have imaginary part to set")
        pointwise.imag(self)[...] = value

    def view_as(self, other: Any) -> Any:
        """The same memory in the shape of another."""
        return shaping.view(self, *other.shape)

    def reshape_as(self, other: Any) -> Any:
        """In the shape of another."""
        return shaping.reshape(self, *other.shape)

    def expand_as(self, other: Any) -> Any:
        """Expanded to the shape of another."""
        return shaping.expand(self, *other.shape)

    def polygamma(self, n: Any) -> Any:
        """The n-th derivative of the digamma function."""
        return pointwise.polygamma(n, self)

    def mvlgamma(self, p: Any) -> Any:
        """The logarithm of the multivariate gamma function of dimension p."""
        return special.multigammaln(self, p)

    def cov(self, *, correction: Any = 1, fweights: Any = None, aweights: Any = None) -> Any:
        """The covariance matrix of variables in rows."""
        return more.cov(self, correction=correction, fweights=fweights, aweights=aweights)

    def corrcoef(self) -> Any:
        """The correlation matrix of variables in rows."""
        return more.corrcoef(self)

    def split_with_sizes(self, split_sizes: Any, dim: Any = 0) -> Any:
        """Parts of the given lengths along a dimension."""
        return joining.split(self, list(split_sizes), dim)

    def narrow_copy(self, dim: Any, start: Any, length: Any) -> Any:
        """A copy of `narrow`."""
        return shaping_ops.copy(parts.narrow(self, dim, start, length))

    def conj_physical(self) -> Any:
        """The complex conjugate."""
        return pointwise.conj(self)

    def resolve_conj(self) -> Any:
        """Itself: conjugates are always computed."""
        return self

    resolve_neg = resolve_conj

    def is_conj(self) -> Any:
        """False: conjugates are always computed."""
        return False

    is_neg = is_conj

    def sum_to_size(self, *size: Any) -> Any:
        """Summed to a shape that broadcasts to its own."""
        shape = creation.sizes(size)
        extra = self._value.ndim - len(shape)
        if extra < 0 or any(n not in (1, m) for n, m in zip(shape, self._value.shape[extra:], strict=True)):
            raise AutogradError(f"size {{{list(shape)}}} is not expandable to size {{{list(self._value.shape)}}}.")
        return self if shape == self._value.shape else sum_to(self, shape=shape)

    def where(self, condition: Any, other: Any) -> Any:
        """Itself where the condition holds, else `other`."""
        return pointwise.where(condition, self, other)

    # ----------------------------------------------------------------------------------------------------- like itself

    def new_tensor(self, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: Any = False) -> Any:
        """A tensor of data in this one's dtype."""
        return creation.tensor(data, dtype=dtype or self._value.dtype, device=device, requires_grad=requires_grad)

    def new_zeros(self, *size: Any, **keywords: Any) -> Any:
        """Zeros of a shape in this one's dtype."""
        return creation.zeros(*size, **{"dtype": self._value.dtype, **keywords})

    def new_ones(self, *size: Any, **keywords: Any) -> Any:
        """Ones of a shape in this one's dtype."""
        return creation.ones(*size, **{"dtype": self._value.dtype, **keywords})

    def new_empty(self, *size: Any, **keywords: Any) -> Any:
        """A tensor of a shape in this one's dtype, its values not set."""
        return creation.empty(*size, **{"dtype": self._value.dtype, **keywords})

    def new_full(self, size: Any, fill_value: Any, **keywords: Any) -> Any:
        """A shape filled with a number in this one's dtype."""
        return creation.full(size, fill_value, **{"dtype": self._value.dtype, **keywords})

    def bernoulli(self, p: Any = None, *, generator: Any = None) -> Any:
        """1 with the probabilities that the elements are (or `p`), else 0."""
        return creation_like.bernoulli(self, p, generator=generator)

    def multinomial(self, num_samples: Any, replacement: Any = False, *, generator: Any = None) -> Any:
        """Positions drawn with the elements as probabilities."""
        return creation_like.multinomial(self, num_samples, replacement, generator=generator)

    def swapdims(self, dim0: Any, dim1: Any) -> Any:
        """Two dimensions exchanged."""
        return shaping.transpose(self, dim0, dim1)

    def __reversed__(self) -> Any:
        return parts.flip(self, 0) if self._value.ndim else self


def _install() -> None:
    """Make methods of the functions."""
    for module, names in _FUNCTIONS.items():
        for name in names.split():
            setattr(TorchMethods, name, getattr(module, name))
    for alias, name in _ALIASES.items():
        if hasattr(TorchMethods, name):
            setattr(TorchMethods, alias, getattr(TorchMethods, name))


_install()
