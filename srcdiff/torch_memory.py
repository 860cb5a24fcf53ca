"""What PyTorch's tensors say of their memory, and their copies in other dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.device import CPU, Device, check_device, check_layout, strided
from srcdiff.dtypes import numpy_dtype
from srcdiff.errors import UnsupportedError
from srcdiff.ops import shaping as shaping_ops
from srcdiff.ops.structural import cast, real_part
from srcdiff.size import ElementCount
from srcdiff.tape.heard import warn
from srcdiff.tape.value import TensorBase


class MemoryMethods(TensorBase):
    """Facts about memory, and conversions of the dtype."""

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
        return (self.data_ptr() - int(owner.__array_interface__["data"][0])) // array.itemsize

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
        return bool(self._array.__array_interface__ == tensor._array.__array_interface__)

    # -------------------------------------------------------------------------------------------- other dtypes, copies

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
            warn("Casting complex values to real discards the imaginary part", UserWarning, stacklevel=3)
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
        """RefusedError: NumPy has no bfloat16."""
        raise UnsupportedError("bfloat16 does not exist in NumPy, hence not here; use float() or half()")

    def cpu(self) -> Any:
        """Itself."""
        return self

    def cuda(self, *args: Any, **keywords: Any) -> Any:
        """RefusedError: there is no other device."""
        raise UnsupportedError("there is no CUDA device here: arrays live in main memory")

    def clone(self, *, memory_format: Any = None) -> Any:
        """A copy that gradients flow through."""
        check_layout("clone", memory_format=memory_format)
        return shaping_ops.copy(self)

    def contiguous(self, memory_format: Any = None) -> Any:
        """Itself if its elements lie in memory in order, else a copy for which that holds."""
        return self if self.is_contiguous(memory_format) else shaping_ops.compact(self)


def _is_dtype_name(x: Any) -> bool:
    return isinstance(x, str) and hasattr(np, x.partition(":")[0]) and not x.startswith(("cpu", "cuda"))


_TYPE_NAMES = {
    "float16": "HalfTensor", "float32": "FloatTensor", "float64": "DoubleTensor", "uint8": "ByteTensor",
    "int8": "CharTensor", "int16": "ShortTensor", "int32": "IntTensor", "int64": "LongTensor", "bool": "BoolTensor",
    "complex64": "ComplexFloatTensor", "complex128": "ComplexDoubleTensor",
}  # fmt: skip
