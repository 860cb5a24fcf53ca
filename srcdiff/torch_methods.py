"""PyTorch's methods of Tensor that ndarray lacks: those that `torchlike` has as functions, and the ones below.

Methods that write are in `inplace`, those about gradients in `autograd.tensor_api`, names ndarray has in `array_methods`.
"""

from __future__ import annotations

import warnings
from types import ModuleType
from typing import Any

import numpy as np

from srcdiff import creation, creation_like, linalg, special
from srcdiff.device import CPU, Device, check_device, check_layout, strided
from srcdiff.dtypes import numpy_dtype
from srcdiff.errors import AutogradError, UnsupportedError
from srcdiff.ops import shaping as shaping_ops
from srcdiff.ops.structural import cast, real_part, sum_to, transpose
from srcdiff.size import ElementCount
from srcdiff.tape.value import TensorBase
from srcdiff.torchlike import (
    counting,
    elementary,
    indexing,
    joining,
    more,
    ordering,
    parts,
    pointwise,
    products,
    reductions,
    shaping,
)
from srcdiff.torchlike.support import result


class NoMatrixError(AutogradError, AttributeError):
    """A property of matrices was asked of something else."""


#: module -> functions of it that are methods under the same name
_FUNCTIONS: dict[ModuleType, str] = {
    elementary: elementary.NAMES,
    pointwise: "add sub rsub div addcmul addcdiv lerp clamp clamp_min clamp_max nan_to_num angle sgn is_complex "
    "is_floating_point is_signed logit isposinf isneginf isreal positive frexp isclose allclose equal",
    reductions: "nansum nanmean amax amin aminmax count_nonzero logsumexp softmax log_softmax logcumsumexp diff norm dist "
    "renorm",
    ordering: "msort topk kthvalue median nanmedian mode quantile nanquantile cummax cummin",
    shaping: "unflatten unsqueeze permute t adjoint movedim expand broadcast_to",
    parts: "narrow select unfold diag_embed diag diagflat tril triu flip fliplr flipud roll rot90 tile repeat_interleave",
    indexing: "index_select gather take_along_dim masked_select argwhere masked_fill masked_scatter index_put index_add "
    "index_copy index_fill select_scatter slice_scatter diagonal_scatter scatter scatter_add scatter_reduce",
    joining: "split chunk tensor_split hsplit vsplit dsplit unbind",
    products: "matmul mm bmm mv vdot inner outer kron cross addmm addmv addr baddbmm addbmm",
    counting: "bincount histc unique unique_consecutive is_nonzero numel",
    linalg: "det logdet slogdet inverse pinverse cholesky cholesky_solve cholesky_inverse qr svd matrix_power matrix_exp",
}
#: further names of methods
_ALIASES = {
    "subtract": "sub", "divide": "div", "true_divide": "div",
    "moveaxis": "movedim", "ger": "outer", "nelement": "numel",
}  # fmt: skip


class TorchMethods(TensorBase):
    """PyTorch's methods."""

    def __init__(self, *data: Any, device: Any = None) -> None:
        check_device(device)
        self._edge = None
        self._value = creation.legacy(data)

    # ------------------------------------------------------------------------------------------------ facts

    @property
    def size(self) -> Any:
        """The number of elements, which when called gives the shape: NumPy's `x.size` and PyTorch's `x.size()`."""
        return ElementCount(self._value.shape)

    def dim(self) -> int:
        """The number of dimensions."""
        return int(self._value.ndim)

    ndimension = dim

    @property
    def device(self) -> Device:
        """Always the CPU."""
        return CPU

    @property
    def layout(self) -> Any:
        """Always strided."""
        return strided

    is_cuda = is_sparse = is_quantized = is_mkldnn = is_meta = is_mps = False
    is_cpu = True
    names = None

    def stride(self, dim: int | None = None) -> Any:
        """Elements from one entry of each dimension (or of `dim`) to the next."""
        array = self._array
        steps = tuple(s // array.itemsize for s in array.strides)
        return steps if dim is None else steps[dim]

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether the elements lie in memory in order."""
        check_layout("is_contiguous", memory_format=memory_format)
        return self._array.flags.c_contiguous

    def storage_offset(self) -> int:
        """Elements between the start of the memory and the first element."""
        array = self._array
        owner = array
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        return (array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]) // array.itemsize

    def data_ptr(self) -> int:
        """The address of the first element."""
        return int(self._array.__array_interface__["data"][0])

    def element_size(self) -> int:
        """Bytes of one element."""
        return int(self._value.dtype.itemsize)

    def get_device(self) -> int:
        """-1: the CPU."""
        return -1

    def is_inference(self) -> bool:
        """Whether it was made in inference mode."""
        return self._inference

    def is_same_size(self, other: Any) -> bool:
        """Whether the shapes are equal."""
        return bool(self._value.shape == tuple(other.shape))

    def is_set_to(self, tensor: Any) -> bool:
        """Whether both are the same memory in the same shape."""
        return self._array.__array_interface__ == tensor._array.__array_interface__

    # ---------------------------------------------------------------------------------------------- other dtypes, copies

    def to(
        self, *args: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False, copy: bool = False,
        memory_format: Any = None,
    ) -> Any:  # fmt: skip
        """In another dtype, as given or as another tensor's; itself if nothing changes and no copy is asked for."""
        check_layout("to", memory_format=memory_format)
        for given in args:
            if isinstance(given, TensorBase):
                dtype = given._value.dtype
            elif isinstance(given, (Device, str)) and not _is_dtype_name(given):
                device = given
            elif type(given) is bool:
                continue
            elif given is not None:
                dtype = given
        if device is not None:
            check_device(device)
        return self._cast(self._value.dtype if dtype is None else numpy_dtype(dtype), copy)

    def _cast(self, dtype: np.dtype[Any], copy: bool = False) -> Any:
        own = self._value.dtype
        if own == dtype:
            return shaping_ops.copy(self) if copy else self
        if own.kind == "c" and dtype.kind != "c":
            warnings.warn(
                "Casting complex values to real discards the imaginary part", UserWarning, stacklevel=3
            )
            return cast(real_part(self), dtype=dtype)
        return cast(self, dtype=dtype)

    def type(self, dtype: Any = None, non_blocking: bool = False) -> Any:
        """PyTorch's name of the tensor's type, such as "torch.FloatTensor", or the tensor in another dtype."""
        if dtype is None:
            return f"srcdiff.{_TYPE_NAMES[self._value.dtype.name]}"
        if isinstance(dtype, str) and dtype.endswith("Tensor"):
            dtype = next(k for k, v in _TYPE_NAMES.items() if v == dtype.rpartition(".")[2])
        return self._cast(numpy_dtype(dtype))

    def type_as(self, other: Any) -> Any:
        """In the dtype of another."""
        return self._cast(numpy_dtype(other.dtype))

    def half(self) -> Any:
        """In float16."""
        return self._cast(np.dtype(np.float16))

    def float(self) -> Any:
        """In float32."""
        return self._cast(np.dtype(np.float32))

    def double(self) -> Any:
        """In float64."""
        return self._cast(np.dtype(np.float64))

    def cfloat(self) -> Any:
        """In complex64."""
        return self._cast(np.dtype(np.complex64))

    def cdouble(self) -> Any:
        """In complex128."""
        return self._cast(np.dtype(np.complex128))

    def bool(self) -> Any:
        """Whether each element is nonzero."""
        return self._cast(np.dtype(np.bool_))

    def byte(self) -> Any:
        """In uint8."""
        return self._cast(np.dtype(np.uint8))

    def char(self) -> Any:
        """In int8."""
        return self._cast(np.dtype(np.int8))

    def short(self) -> Any:
        """In int16."""
        return self._cast(np.dtype(np.int16))

    def int(self) -> Any:
        """In int32."""
        return self._cast(np.dtype(np.int32))

    def long(self) -> Any:
        """In int64."""
        return self._cast(np.dtype(np.int64))

    def bfloat16(self) -> Any:
        """Refused: NumPy has no bfloat16."""
        raise UnsupportedError("bfloat16 does not exist in NumPy, hence not here; use float() or half()")

    def cpu(self) -> Any:
        """Itself."""
        return self

    def cuda(self, *args: Any, **keywords: Any) -> Any:
        """Refused: there is no other device."""
        raise UnsupportedError("there is no CUDA device here: arrays live in main memory")

    def clone(self, *, memory_format: Any = None) -> Any:
        """A copy that gradients flow through."""
        check_layout("clone", memory_format=memory_format)
        return shaping_ops.copy(self)

    def contiguous(self, memory_format: Any = None) -> Any:
        """Itself if its elements lie in memory in order, else a copy for which that holds."""
        return self if self.is_contiguous(memory_format) else shaping_ops.copy(self)

    # -------------------------------------------------------------------------------------------------------------- shapes

    @property
    def T(self) -> Any:
        """Dimensions reversed."""
        if self._value.ndim == 2:
            return transpose(self, axes=(1, 0))
        return transpose(self, axes=tuple(range(self._value.ndim))[::-1])

    @property
    def mT(self) -> Any:
        """The transposes of matrices."""
        if self._value.ndim < 2:
            raise NoMatrixError(
                f"tensor.mT is only supported on matrices or batches of matrices. Got {self._value.ndim}-D tensor."
            )
        return shaping.transpose(self, -2, -1)

    @property
    def H(self) -> Any:
        """The conjugate transpose of a matrix."""
        if self._value.ndim not in (0, 2):
            raise NoMatrixError(f"tensor.H is only supported on matrices (2-D tensors). Got {self._value.ndim}-D tensor.")
        return shaping.adjoint(self) if self._value.ndim else pointwise.conj(self)

    @property
    def mH(self) -> Any:
        """The conjugate transposes of matrices."""
        if self._value.ndim < 2:
            raise NoMatrixError(
                f"tensor.mH is only supported on matrices or batches of matrices. Got {self._value.ndim}-D tensor."
            )
        return shaping.adjoint(self)

    @property
    def real(self) -> Any:
        """The real part."""
        return pointwise.real(self)

    @property
    def imag(self) -> Any:
        """The imaginary part; of real numbers zeros, as in NumPy."""
        if self._value.dtype.kind == "c":
            return pointwise.imag(self)
        return result(np.zeros(self._value.shape, self._value.dtype), self)

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
            raise AutogradError(
                f"size {{{list(shape)}}} is not expandable to size {{{list(self._value.shape)}}}."
            )
        return self if shape == self._value.shape else sum_to(self, shape=shape)

    def where(self, condition: Any, other: Any) -> Any:
        """Itself where the condition holds, else `other`."""
        return pointwise.where(condition, self, other)

    # --------------------------------------------------------------------------------------------------------- like itself

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


def _is_dtype_name(x: Any) -> bool:
    return isinstance(x, str) and hasattr(np, x.partition(":")[0]) and not x.startswith(("cpu", "cuda"))


_TYPE_NAMES = {
    "float16": "HalfTensor", "float32": "FloatTensor", "float64": "DoubleTensor", "uint8": "ByteTensor",
    "int8": "CharTensor", "int16": "ShortTensor", "int32": "IntTensor", "int64": "LongTensor", "bool": "BoolTensor",
    "complex64": "ComplexFloatTensor", "complex128": "ComplexDoubleTensor",
}  # fmt: skip


def _install() -> None:
    """Make methods of the functions."""
    for module, names in _FUNCTIONS.items():
        for name in names.split():
            setattr(TorchMethods, name, getattr(module, name))
    for alias, name in _ALIASES.items():
        if hasattr(TorchMethods, name):
            setattr(TorchMethods, alias, getattr(TorchMethods, name))


_install()
