"""Dtypes under PyTorch's names, and the default dtype.

A `DType` stands wherever NumPy takes a dtype, is equal to the `numpy.dtype` that tensors have and hashes like it, and
prints as its name. `numpy_dtype` turns whatever users write for a dtype into NumPy's.

    numpy_dtype(float32)      dtype('float32')
    numpy_dtype(float)        dtype('float64')      Python's types as in PyTorch and NumPy
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.errors import DTypeError, UnsupportedError


class DType:
    """One dtype. What is not defined here (`kind`, `type`, `name` ...) is the NumPy dtype's."""

    __slots__ = ("dtype",)

    def __init__(self, name: str) -> None:
        self.dtype: np.dtype[Any] = np.dtype(name)

    @property
    def is_floating_point(self) -> bool:
        """Whether it is a real floating-point dtype."""
        return self.dtype.kind == "f"

    @property
    def is_complex(self) -> bool:
        """Whether it is complex."""
        return self.dtype.kind == "c"

    @property
    def is_signed(self) -> bool:
        """Whether it has negative values."""
        return self.dtype.kind in "ifc"

    def to_real(self) -> DType:
        """The dtype of a complex one's parts; any other is returned as it is."""
        return _BY_DTYPE[np.empty(0, self.dtype).real.dtype]

    def to_complex(self) -> DType:
        """The complex dtype whose parts have this floating-point dtype (complex64 for float16)."""
        return _BY_DTYPE[np.result_type(self.dtype, np.complex64)]

    def __getattr__(self, name: str) -> Any:
        if name == "dtype":
            raise AttributeError(name)
        return getattr(self.dtype, name)

    def __eq__(self, other: object) -> bool:
        return self.dtype == (other.dtype if isinstance(other, DType) else other)

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return self.dtype.name

    def __call__(self, *args: Any) -> Any:
        """A NumPy scalar, so that `sd.float32(1)` is what `np.float32(1)` is."""
        return self.dtype.type(*args)

    def __reduce__(self) -> tuple[Any, ...]:
        return (DType, (self.dtype.name,))


class Missing:
    """A dtype of PyTorch that NumPy lacks: it can be named, using it is an error that says so."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def dtype(self) -> Any:
        """Never there: asking for it is using the dtype."""
        raise self.refusal()

    def refusal(self) -> UnsupportedError:
        """The error of using it."""
        return UnsupportedError(f"{self._name} does not exist in NumPy, hence not here; use float32 or float16")

    def __repr__(self) -> str:
        return self._name


float16 = DType("float16")
float32 = DType("float32")
float64 = DType("float64")
complex64 = DType("complex64")
complex128 = DType("complex128")
int8 = DType("int8")
int16 = DType("int16")
int32 = DType("int32")
int64 = DType("int64")
uint8 = DType("uint8")
uint16 = DType("uint16")
uint32 = DType("uint32")
uint64 = DType("uint64")
bool_ = DType("bool")
bfloat16 = Missing("bfloat16")
complex32 = Missing("complex32")

_BY_DTYPE: dict[np.dtype[Any], DType] = {
    d.dtype: d
    for d in (
        float16, float32, float64, complex64, complex128, int8, int16, int32, int64, uint8, uint16, uint32, uint64,
        bool_
    )
}  # fmt: skip

#: PyTorch's other names
ALIASES: dict[str, DType] = {
    "half": float16, "float": float32, "double": float64, "cfloat": complex64, "cdouble": complex128, "short": int16,
    "int": int32, "long": int64, "bool": bool_,
}  # fmt: skip


def numpy_dtype(dtype: Any) -> np.dtype[Any]:
    """NumPy's dtype for whatever names one. Raises DTypeError for what is no dtype of numbers."""
    if isinstance(dtype, np.dtype):
        return dtype
    if isinstance(dtype, DType):
        return dtype.dtype
    if isinstance(dtype, Missing):
        raise dtype.refusal()
    try:
        found: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        raise DTypeError(f"{dtype!r} is no dtype") from None
    if dtype is None or found.kind not in "biufc":
        raise DTypeError(f"{dtype!r} is no dtype of numbers")
    return found


class _Default:
    """Holder of the default dtype."""

    dtype: np.dtype[Any] = np.dtype(np.float32)


def default_dtype() -> np.dtype[Any]:
    """The dtype that lists and Python floats become, as NumPy's dtype."""
    return _Default.dtype


def default_complex() -> np.dtype[Any]:
    """The dtype that Python complex numbers become."""
    return np.result_type(_Default.dtype, np.complex64)


def get_default_dtype() -> DType:
    """The dtype that lists and Python floats become: float32 unless `set_default_dtype` said otherwise."""
    return _BY_DTYPE[_Default.dtype]


def set_default_dtype(d: Any) -> None:
    """Make lists and Python floats become this floating-point dtype, in all threads. TypeError for other dtypes."""
    found = numpy_dtype(d)
    if found.kind != "f":
        raise DTypeError(f"only floating-point types are supported as the default type, got {found}")
    _Default.dtype = found


def finfo(type: Any = None) -> np.finfo[Any]:
    """Machine limits of a floating-point or complex dtype (the default one if none is given)."""
    return np.finfo(default_dtype() if type is None else numpy_dtype(type))


def iinfo(type: Any) -> np.iinfo[Any]:
    """Limits of an integer dtype."""
    return np.iinfo(numpy_dtype(type))


def as_public(dtype: np.dtype[Any]) -> DType:
    """The public name of a NumPy dtype."""
    return _BY_DTYPE[dtype]
