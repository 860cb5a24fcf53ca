"""ndarray's methods on Tensors, with NumPy's meaning.

A keyword that only PyTorch has (`dim`, `keepdim`, `unbiased`, `correction`, `descending`) selects PyTorch's meaning,
and so does a form that is an error in NumPy, such as `x.flatten(1)`, `x.sum(0, True)` or `x.transpose(0, 2)` of three
dimensions. Forms
that are valid in both and differ warn (`AmbiguousName`). `dim` and `keepdim` are plain aliases where both agree.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.ambiguity import ambiguous
from srcdiff.array_reductions import ArrayReductions, numpy_function
from srcdiff.dispatch import call_function
from srcdiff.dtypes import numpy_dtype
from srcdiff.errors import DTypeError, UnsupportedError
from srcdiff.flat import Flat
from srcdiff.functions.bytes import bytes_as
from srcdiff.functions.dispatch import no_value
from srcdiff.ops import shaping as shaping_ops
from srcdiff.ops import torchlike as tl
from srcdiff.ops.structural import cast, real_part, transpose
from srcdiff.tape.modes import modes
from srcdiff.tape.value import TensorBase
from srcdiff.torchlike import indexing, ordering, parts, pointwise, products, shaping
from srcdiff.torchlike.support import one_dim

_unset: Any = no_value


class ArrayMethods(ArrayReductions):
    """NumPy's methods."""

    # ---------------------------------------------------------------------------------------------------------- shapes

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
        """The elements in another shape."""
        if order == "C" and not copy:
            return shaping.reshape(self, *shape)
        made = numpy_function(np.reshape, self, shape[0] if len(shape) == 1 else shape, order=order)
        return shaping_ops.copy(made) if copy else made

    def transpose(self, *axes: Any, dim0: Any = None, dim1: Any = None) -> Any:
        """Axes reversed, or in the order given; `transpose(i, j)` of more than two axes exchanges two, as in
        PyTorch."""
        ndim = self._value.ndim
        if dim0 is not None:
            return shaping.transpose(self, dim0, dim1 if dim1 is not None else axes[0])
        if len(axes) == 1 and not isinstance(axes[0], int):
            axes = () if axes[0] is None else tuple(axes[0])
        if not axes:
            return transpose(self, axes=tuple(range(ndim))[::-1])
        if len(axes) == 2 and ndim != 2:
            return shaping.transpose(self, *axes)
        order = tuple(one_dim(a, ndim) for a in axes)
        if len(order) == 2 and order == (0, 1):
            ambiguous(
                self, f"x.transpose{axes}", "leaves the matrix as it is", f"x.transpose(({axes[0]}, {axes[1]}))",
                f"x.swapaxes{axes}",
            )  # fmt: skip
        if sorted(order) != list(range(ndim)):
            raise ValueError("axes don't match array")
        return transpose(self, axes=order)

    def swapaxes(self, axis1: int, axis2: int) -> Any:
        """Two axes exchanged."""
        return shaping.transpose(self, axis1, axis2)

    def flatten(self, order: Any = "C", end_dim: int = -1, *, start_dim: int | None = None) -> Any:
        """A copy with all elements along one axis; `flatten(start_dim, end_dim)` is PyTorch's."""
        if start_dim is not None or isinstance(order, int) or end_dim != -1:
            return shaping.flatten(self, order if isinstance(order, int) else start_dim or 0, end_dim)
        return shaping_ops.copy(shaping.ravel(self)) if order == "C" else numpy_function(np.ravel, self, order=order)

    def ravel(self, order: str = "C") -> Any:
        """All elements along one axis, a view if the memory allows it."""
        return shaping.ravel(self) if order == "C" else numpy_function(np.ravel, self, order=order)

    def squeeze(self, *dims: Any, axis: Any = None, dim: Any = None) -> Any:
        """Without axes of length 1; `axis=` must have length 1 as in NumPy, others are left as in PyTorch."""
        if axis is not None:
            return numpy_function(np.squeeze, self, axis=axis)
        return shaping.squeeze(self, dim if dim is not None else dims[0] if dims else None)

    def diagonal(
        self, offset: int = 0, axis1: int = 0, axis2: int = 1, *, dim1: int | None = None, dim2: int | None = None
    ) -> Any:
        """A diagonal, as a last axis."""
        return parts.diagonal(self, offset, axis1 if dim1 is None else dim1, axis2 if dim2 is None else dim2)

    def repeat(self, *repeats: Any, axis: Any = _unset) -> Any:
        """Each element repeated in place. Forms that are errors in NumPy are PyTorch's `repeat`, which is `tile`."""
        if axis is not _unset:
            return numpy_function(np.repeat, self, repeats[0], axis=axis)
        ndim = self._value.ndim
        if len(repeats) == 1 and isinstance(repeats[0], (list, tuple)):
            if len(repeats[0]) not in (1, self._value.size):
                return parts.repeat(self, *repeats)
        elif len(repeats) > 2 or (
            len(repeats) == 2 and not (isinstance(repeats[1], int) and -ndim <= repeats[1] < ndim)
        ):
            return parts.repeat(self, *repeats)
        shown = ", ".join(map(str, repeats))
        ambiguous(self, f"x.repeat({shown})", "repeats each element", f"np.repeat(x, {shown})", f"x.tile({shown})")
        return numpy_function(np.repeat, self, *repeats)

    # -------------------------------------------------------------------------------------------------------- elements

    def clip(self, min: Any = None, max: Any = None, out: Any = None, **keywords: Any) -> Any:
        """The nearest values between the bounds."""
        if out is None and not keywords and not (min is None and max is None):
            return pointwise.clamp(self, min, max)
        return numpy_function(np.clip, self, min, max, out=out, **keywords)

    def round(self, decimals: int = 0, out: Any = None) -> Any:
        """Rounded to the nearest, halves to even; the derivative is 0."""
        return (
            tl.flat_round(self, decimals=decimals) if out is None else numpy_function(np.round, self, decimals, out=out)
        )

    def conj(self) -> Any:
        """The complex conjugate."""
        return pointwise.conj(self)

    conjugate = conj

    def dot(self, b: Any, out: Any = None) -> Any:
        """The product, as np.dot."""
        if out is None and self._value.ndim == 1 and getattr(b, "ndim", 0) == 1:
            return products.dot(self, b)
        return numpy_function(np.dot, self, b, out=out)

    def copy(self, order: str = "C") -> Any:
        """A copy."""
        return shaping_ops.copy(self)

    def astype(
        self, dtype: Any, order: str = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """The values in another dtype; a copy even if it is the same one, unless `copy` is False."""
        target = numpy_dtype(dtype)
        if not np.can_cast(self._value.dtype, target, casting):
            raise DTypeError(
                f"Cannot cast array data from {self._value.dtype} to {target} according to the rule '{casting}'"
            )
        if self._value.dtype == target:
            return shaping_ops.copy(self) if copy else self
        if self._value.dtype.kind == "c" and target.kind != "c":
            return cast(real_part(self), dtype=target)
        return cast(self, dtype=target)

    def view(self, *shape: Any, dtype: Any = None, type: Any = None) -> Any:
        """The same memory in another shape (PyTorch's), or its bytes as another dtype (NumPy's)."""
        if dtype is None and len(shape) == 1 and not isinstance(shape[0], (int, list, tuple, np.integer)):
            dtype, shape = shape[0], ()
        if type is None and dtype is np.ndarray:
            type, dtype = dtype, None
        if type is not None and type is not np.ndarray:
            raise UnsupportedError(f"view: type={type.__name__} is not supported, only np.ndarray")
        if shape:
            return shaping.view(self, *shape)
        return bytes_as(self, self._value.dtype if dtype is None else numpy_dtype(dtype))

    # --------------------------------------------------------------------------------------------- selecting, ordering

    def take(self, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
        """Entries of an axis, or of the flattened array, at positions."""
        if axis is None and out is None and mode == "raise" and isinstance(indices, TensorBase):
            return indexing.take(self, indices)
        return numpy_function(np.take, self, indices, axis=axis, out=out, mode=mode)

    def compress(self, condition: Any, axis: Any = None, out: Any = None) -> Any:
        """Entries where a condition holds."""
        return call_function(np.compress, (condition, self), {"axis": axis, "out": out})

    def choose(self, choices: Any, out: Any = None, mode: str = "raise") -> Any:
        """From each of several arrays the elements that this one's integers name."""
        return numpy_function(np.choose, self, choices, out=out, mode=mode)

    def nonzero(self, *, as_tuple: bool | None = None) -> Any:
        """The positions of what is nonzero, for each axis; `as_tuple=False` gives PyTorch's rows."""
        if as_tuple is False:
            return self.argwhere()
        return numpy_function(np.nonzero, self)

    def searchsorted(self, v: Any, side: str = "left", sorter: Any = None) -> Any:
        """Where values would have to be put in to keep the order."""
        return numpy_function(np.searchsorted, self, v, side=side, sorter=sorter)

    def sort(
        self,
        axis: Any = -1,
        kind: Any = None,
        *,
        stable: bool | None = None,
        dim: Any = _unset,
        descending: Any = False,
    ) -> Any:
        """Values and indices, for the calls that mean PyTorch's `sort`; ndarray's is among the methods that write."""
        return ordering.sort(self, axis if dim is _unset else dim, kind is True or bool(descending))

    def argsort(
        self, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: bool | None = None, dim: Any = _unset,
        descending: bool = False,
    ) -> Any:  # fmt: skip
        """The positions that put the elements in order."""
        if type(kind) is bool:
            descending = kind
        if axis is None and dim is _unset:
            return numpy_function(np.argsort, self, axis=None, kind=kind)
        return ordering.argsort(self, axis if dim is _unset else dim, descending)

    def argpartition(self, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None) -> Any:
        """The positions that partially sort."""
        return numpy_function(np.argpartition, self, kth, axis=axis, kind=kind, order=order)

    # ---------------------------------------------------------------------------------------------- facts about memory

    @property
    def flat(self) -> Flat:
        """The elements in order, by position."""
        return Flat(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        Flat(self)[:] = value

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return int(self._value.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return int(self._value.nbytes)

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one entry of each axis to the next."""
        return self._array.strides

    @property
    def flags(self) -> Any:
        """What NumPy says of the memory."""
        return self._array.flags

    def tobytes(self, order: Any = "C") -> bytes:
        """The elements as bytes."""
        if modes.recorder is not None:
            modes.recorder.fail("tobytes() reads a value")
        return self._array.tobytes(order)
