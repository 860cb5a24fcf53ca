"""Abstract values: the static type (shape and dtype) of an array, interned so that equal avals are one object.

Guarantee: while an `Aval` is alive, `aval(shape, dtype)` of the same shape and (native) dtype returns that very
object, so avals compare and hash by identity, which is what makes them cheap dictionary keys.
"""

from __future__ import annotations

import threading
from typing import Any, Final
from weakref import WeakValueDictionary

import numpy as np

Shape = tuple[int, ...]
Scalar = bool | int | float | complex
SCALARS: Final = (bool, int, float, complex)

_ABBREVIATIONS: Final = {"float": "f", "int": "i", "uint": "u", "complex": "c", "bool": "bool"}


class Aval:
    """Shape and dtype of an array. `weak` is a Python number's type, or None for arrays and NumPy scalars.

    Weak avals promote as NumPy's NEP 50 says: they take the dtype of the array they meet.
    """

    __slots__ = ("__weakref__", "dtype", "ndim", "shape", "types", "weak")

    def __init__(self, shape: Shape, dtype: np.dtype[Any], weak: type | None = None) -> None:
        self.shape = shape
        self.dtype = dtype
        self.weak = weak
        self.ndim = len(shape)
        #: The TensorTypes made of this aval, indexed by 2 * traced + needs_grad.
        self.types: tuple[TensorType, ...] = tuple(TensorType(self, bool(k & 1), bool(k & 2)) for k in range(4))

    @property
    def size(self) -> int:
        """Number of elements."""
        size = 1
        for length in self.shape:
            size *= length
        return size

    @property
    def nbytes(self) -> int:
        """Bytes an array of this type occupies."""
        return self.size * self.dtype.itemsize

    @property
    def differentiable(self) -> bool:
        """Whether values of this type can carry a gradient."""
        return self.dtype.kind in "fc"

    def __str__(self) -> str:
        return f"{abbreviate(self.dtype)}[{','.join(map(str, self.shape))}]"

    def __repr__(self) -> str:
        return f"Aval({self})" if self.weak is None else f"Aval({self}, weak={self.weak.__name__})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (aval, (self.shape, self.dtype)) if self.weak is None else (weak_aval, (self.weak(0),))


class TensorType:
    """What a site key needs to know of a Tensor operand: its aval, whether it needs a gradient, whether it is
    being differentiated by `sd.grad` or a relative (`traced`). One object per combination and aval."""

    __slots__ = ("aval", "needs", "traced")

    def __init__(self, aval: Aval, needs: bool, traced: bool) -> None:
        self.aval = aval
        self.needs = needs
        self.traced = traced

    def __repr__(self) -> str:
        return f"TensorType({self.aval}, needs={self.needs}, traced={self.traced})"


_lock = threading.Lock()
_interned: WeakValueDictionary[tuple[Shape, np.dtype[Any]], Aval] = WeakValueDictionary()
_weak: dict[type, Aval] = {}


def aval(shape: Shape, dtype: np.dtype[Any]) -> Aval:
    """The interned Aval of a shape and dtype; byte order is normalised to native."""
    found = _interned.get((shape, dtype))
    if found is not None:
        return found
    with _lock:
        native = dtype if dtype.isnative else dtype.newbyteorder("=")
        found = _interned.get((shape, native))
        if found is None:
            found = Aval(shape, native)
            _interned[shape, native] = found
    return found


def weak_aval(value: Scalar) -> Aval:
    """The Aval of a Python number."""
    kind = type(value)
    found = _weak.get(kind)
    if found is None:
        found = _weak.setdefault(kind, Aval((), np.result_type(kind), kind))
    return found


def aval_of(value: Any) -> Aval:
    """The Aval of an array, a NumPy scalar or a Python number."""
    if type(value) in SCALARS:
        return weak_aval(value)
    return aval(value.shape, value.dtype)


def abbreviate(dtype: np.dtype[Any]) -> str:
    """Short dtype name as printed in programs: f64, i32, u8, c128, bool."""
    if dtype.kind == "b":
        return "bool"
    stem = dtype.name.rstrip("0123456789")
    return _ABBREVIATIONS.get(stem, stem) + dtype.name[len(stem) :]
