"""Names of old PyTorch programs: `FloatTensor(data)` and the like, which make tensors of one dtype."""

from __future__ import annotations

from typing import Any

from srcdiff import creation
from srcdiff.dtypes import DType, bool_, float16, float32, float64, int8, int16, int32, int64, uint8
from srcdiff.tensor import Tensor


class _OfDtype(type):
    """The class of these names: a tensor of the dtype is an instance."""

    dtype: DType

    def __call__(cls, *data: Any, **keywords: Any) -> Any:
        return creation.made(creation.legacy(data, cls.dtype), **keywords)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.dtype == cls.dtype


def _of(name: str, dtype: DType) -> Any:
    return _OfDtype(name, (), {"dtype": dtype, "__doc__": f"Makes {dtype} tensors of data, or of a shape."})


HalfTensor = _of("HalfTensor", float16)
FloatTensor = _of("FloatTensor", float32)
DoubleTensor = _of("DoubleTensor", float64)
ByteTensor = _of("ByteTensor", uint8)
CharTensor = _of("CharTensor", int8)
ShortTensor = _of("ShortTensor", int16)
IntTensor = _of("IntTensor", int32)
LongTensor = _of("LongTensor", int64)
BoolTensor = _of("BoolTensor", bool_)
