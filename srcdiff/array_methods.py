"""ndarray's methods on Tensors, with NumPy's meaning.

A keyword that only PyTorch has (`dim`, `keepdim`, `unbiased`, `correction`, `descending`) selects PyTorch's meaning, and so does
a form that is an error in NumPy, such as `x.flatten(1)`, `x.sum(0, True)` or `x.transpose(0, 2)` of three dimensions. Forms
that are valid in both and differ warn (`AmbiguousName`). `dim` and `keepdim` are plain aliases where both agree.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.ambiguity import ambiguous, caller, is_unpacked
from srcdiff.dispatch import call_function
from srcdiff.dtypes import numpy_dtype
from srcdiff.functions.dispatch import no_value
from srcdiff.ops import cumulative, reductions
from srcdiff.ops import shaping as shaping_ops
from srcdiff.ops import torchlike as tl
from srcdiff.ops.structural import cast, real_part, transpose
from srcdiff.tape.record import plain
from srcdiff.tape.value import TensorBase
from srcdiff.torchlike import ordering, parts, pointwise, products, shaping
from srcdiff.torchlike import reductions as torch_reductions
from srcdiff.torchlike.support import in_dtype, many_dims, one_dim

_unset: Any = no_value


def _numpy(function: Any, x: TensorBase, *args: Any, **keywords: Any) -> Any:
    """NumPy's function, with the keywords that were given."""
    return call_function(function, (x, *args), {k: v for k, v in keywords.items() if v is not no_value})


class ArrayMethods(TensorBase):
    """NumPy's methods."""

    # ------------------------------------------------------------------------------------------------------ reductions

    def sum(
        self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: Any = _unset,
        where: Any = _unset, *, dim: Any = _unset, keepdim: bool = False,
    ) -> Any:  # fmt: skip
        """The sum over axes."""
        keepdims = keepdims or keepdim
        if out is None and initial is _unset and where is _unset and (axis != () or dim is not _unset):
            axis = axis if dim is _unset else dim
            if type(dtype) is bool:
                dtype, keepdims = None, dtype
            x = self if dtype is None else in_dtype(self, dtype)
            return reductions.sum(x, axis=many_dims(axis, self._value.ndim), keepdims=bool(keepdims))
        return _numpy(
            np.sum, self, axis=axis if dim is _unset else dim, dtype=dtype, out=out, keepdims=bool(keepdims), initial=initial, where=where
        )

    def prod(
        self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: Any = _unset,
        where: Any = _unset, *, dim: Any = _unset, keepdim: bool = False,
    ) -> Any:  # fmt: skip
        """The product over axes."""
        keepdims = keepdims or keepdim
        if out is None and initial is _unset and where is _unset and (axis != () or dim is not _unset):
            axis = axis if dim is _unset else dim
            if type(dtype) is bool:
                dtype, keepdims = None, dtype
            x = self if dtype is None else in_dtype(self, dtype)
            return reductions.prod(x, axis=many_dims(axis, self._value.ndim), keepdims=bool(keepdims))
        return _numpy(
            np.prod, self, axis=axis if dim is _unset else dim, dtype=dtype, out=out, keepdims=bool(keepdims), initial=initial, where=where
        )

    def mean(
        self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = _unset,
        dim: Any = _unset, keepdim: bool = False,
    ) -> Any:  # fmt: skip
        """The mean over axes."""
        keepdims = keepdims or keepdim
        if out is None and where is _unset and (axis != () or dim is not _unset):
            axis = axis if dim is _unset else dim
            if type(dtype) is bool:
                dtype, keepdims = None, dtype
            x = self if dtype is None else in_dtype(self, dtype)
            return reductions.mean(x, axis=many_dims(axis, self._value.ndim), keepdims=bool(keepdims))
        axis = axis if dim is _unset else dim
        return _numpy(np.mean, self, axis=axis, dtype=dtype, out=out, keepdims=bool(keepdims), where=where)

    def std(
        self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = _unset, keepdims: Any = False, *,
        where: Any = _unset, mean: Any = _unset, dim: Any = _unset, unbiased: Any = None, keepdim: bool = False,
        correction: Any = _unset,
    ) -> Any:  # fmt: skip
        """The standard deviation, divided by n - ddof; ddof is 0 by default, as in NumPy."""
        if _is_torch_spread(axis, dtype, dim, unbiased, keepdim, correction):
            return torch_reductions.std(
                self, *_torch_spread(axis, dtype, dim, unbiased), bool(keepdim or keepdims),
                correction=None if correction is _unset else correction,
            )  # fmt: skip
        if ddof is _unset and dtype is None and out is None and where is _unset and not keepdims and mean is _unset:
            ambiguous(self, "x.std()", "divides by n", "x.std(ddof=0) or np.std(x)", "x.std(correction=1)")
        return _numpy(
            np.std, self, axis=axis, dtype=dtype, out=out, ddof=0 if ddof is _unset else ddof, keepdims=bool(keepdims),
            where=where, mean=mean,
        )  # fmt: skip

    def var(
        self, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = _unset, keepdims: Any = False, *,
        where: Any = _unset, mean: Any = _unset, dim: Any = _unset, unbiased: Any = None, keepdim: bool = False,
        correction: Any = _unset,
    ) -> Any:  # fmt: skip
        """The variance, divided by n - ddof; ddof is 0 by default, as in NumPy."""
        if _is_torch_spread(axis, dtype, dim, unbiased, keepdim, correction):
            return torch_reductions.var(
                self, *_torch_spread(axis, dtype, dim, unbiased), bool(keepdim or keepdims),
                correction=None if correction is _unset else correction,
            )  # fmt: skip
        if ddof is _unset and dtype is None and out is None and where is _unset and not keepdims and mean is _unset:
            ambiguous(self, "x.var()", "divides by n", "x.var(ddof=0) or np.var(x)", "x.var(correction=1)")
        return _numpy(
            np.var, self, axis=axis, dtype=dtype, out=out, ddof=0 if ddof is _unset else ddof, keepdims=bool(keepdims),
            where=where, mean=mean,
        )  # fmt: skip

    def max(
        self, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = _unset, where: Any = _unset, *,
        dim: Any = _unset, keepdim: Any = _unset, other: Any = None,
    ) -> Any:  # fmt: skip
        """The largest element along an axis (with `dim`, PyTorch's values and indices)."""
        if dim is not _unset or keepdim is not _unset or other is not None or type(out) is bool or _is_array(axis):
            keep = out if type(out) is bool else keepdim is not _unset and keepdim
            return ordering.max(self, axis if dim is _unset else dim, bool(keep), other=other)
        if type(axis) is int and is_unpacked(caller()):
            ambiguous(self, "x.max(axis)", "gives the values alone", "x.max(axis=axis)", "x.max(dim=axis)")
        if out is None and initial is _unset and where is _unset and axis != ():
            return reductions.max_(self, axis=many_dims(axis, self._value.ndim), keepdims=bool(keepdims))
        return _numpy(np.max, self, axis=axis, out=out, keepdims=bool(keepdims), initial=initial, where=where)

    def min(
        self, axis: Any = None, out: Any = None, keepdims: Any = False, initial: Any = _unset, where: Any = _unset, *,
        dim: Any = _unset, keepdim: Any = _unset, other: Any = None,
    ) -> Any:  # fmt: skip
        """The smallest element along an axis (with `dim`, PyTorch's values and indices)."""
        if dim is not _unset or keepdim is not _unset or other is not None or type(out) is bool or _is_array(axis):
            keep = out if type(out) is bool else keepdim is not _unset and keepdim
            return ordering.min(self, axis if dim is _unset else dim, bool(keep), other=other)
        if type(axis) is int and is_unpacked(caller()):
            ambiguous(self, "x.min(axis)", "gives the values alone", "x.min(axis=axis)", "x.min(dim=axis)")
        if out is None and initial is _unset and where is _unset and axis != ():
            return reductions.min_(self, axis=many_dims(axis, self._value.ndim), keepdims=bool(keepdims))
        return _numpy(np.min, self, axis=axis, out=out, keepdims=bool(keepdims), initial=initial, where=where)

    def argmax(
        self, axis: Any = None, out: Any = None, *, keepdims: Any = False, dim: Any = _unset, keepdim: bool = False
    ) -> Any:
        """The position of the first largest element."""
        if type(out) is bool:
            out, keepdim = None, out
        if out is not None:
            return _numpy(np.argmax, self, axis=axis if dim is _unset else dim, out=out, keepdims=bool(keepdims or keepdim))
        return torch_reductions.argmax(self, axis if dim is _unset else dim, bool(keepdims or keepdim))

    def argmin(
        self, axis: Any = None, out: Any = None, *, keepdims: Any = False, dim: Any = _unset, keepdim: bool = False
    ) -> Any:
        """The position of the first smallest element."""
        if type(out) is bool:
            out, keepdim = None, out
        if out is not None:
            return _numpy(np.argmin, self, axis=axis if dim is _unset else dim, out=out, keepdims=bool(keepdims or keepdim))
        return torch_reductions.argmin(self, axis if dim is _unset else dim, bool(keepdims or keepdim))

    def all(
        self, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = _unset, dim: Any = _unset,
        keepdim: bool = False,
    ) -> Any:  # fmt: skip
        """Whether all are nonzero."""
        if type(out) is bool:
            out, keepdim = None, out
        if out is None and where is _unset and axis != ():
            return torch_reductions.all(self, axis if dim is _unset else dim, bool(keepdims or keepdim))
        axis, keepdims = (axis if dim is _unset else dim), keepdims or keepdim
        return _numpy(np.all, self, axis=axis, out=out, keepdims=bool(keepdims), where=where)

    def any(
        self, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = _unset, dim: Any = _unset,
        keepdim: bool = False,
    ) -> Any:  # fmt: skip
        """Whether one is nonzero."""
        if type(out) is bool:
            out, keepdim = None, out
        if out is None and where is _unset and axis != ():
            return torch_reductions.any(self, axis if dim is _unset else dim, bool(keepdims or keepdim))
        axis, keepdims = (axis if dim is _unset else dim), keepdims or keepdim
        return _numpy(np.any, self, axis=axis, out=out, keepdims=bool(keepdims), where=where)

    def ptp(self, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
        """The largest element minus the smallest."""
        return _numpy(np.ptp, self, axis=axis, out=out, keepdims=keepdims)

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
        """The sum of a diagonal."""
        if out is None and dtype is None:
            first, second = one_dim(axis1, self._value.ndim), one_dim(axis2, self._value.ndim)
            return shaping_ops.trace(self, offset=offset, axis1=first, axis2=second)
        return _numpy(np.trace, self, offset=offset, axis1=axis1, axis2=axis2, dtype=dtype, out=out)

    def cumsum(self, axis: Any = None, dtype: Any = None, out: Any = None, *, dim: Any = _unset) -> Any:
        """Sums of the elements up to each; of the flattened array without an axis."""
        return self._running(np.cumsum, cumulative.cumsum, axis if dim is _unset else dim, dtype, out)

    def cumprod(self, axis: Any = None, dtype: Any = None, out: Any = None, *, dim: Any = _unset) -> Any:
        """Products of the elements up to each; of the flattened array without an axis."""
        return self._running(np.cumprod, cumulative.cumprod, axis if dim is _unset else dim, dtype, out)

    def _running(self, function: Any, prim: Any, axis: Any, dtype: Any, out: Any) -> Any:
        if out is None and axis is not None and self._value.ndim:
            return prim(in_dtype(self, dtype), axis=one_dim(axis, self._value.ndim))
        return _numpy(function, self, axis=axis, dtype=dtype, out=out)

    # ----------------------------------------------------------------------------------------------------------- shapes

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
        """The elements in another shape."""
        if order == "C" and not copy:
            return shaping.reshape(self, *shape)
        made = _numpy(np.reshape, self, shape[0] if len(shape) == 1 else shape, order=order)
        return shaping_ops.copy(made) if copy else made

    def transpose(self, *axes: Any, dim0: Any = None, dim1: Any = None) -> Any:
        """Axes reversed, or in the order given; `transpose(i, j)` of more than two axes exchanges two, as in PyTorch."""
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
        return shaping_ops.copy(shaping.ravel(self)) if order == "C" else _numpy(np.ravel, self, order=order)

    def ravel(self, order: str = "C") -> Any:
        """All elements along one axis, a view if the memory allows it."""
        return shaping.ravel(self) if order == "C" else _numpy(np.ravel, self, order=order)

    def squeeze(self, *dims: Any, axis: Any = None, dim: Any = None) -> Any:
        """Without axes of length 1; `axis=` must have length 1 as in NumPy, others are left as in PyTorch."""
        if axis is not None:
            return _numpy(np.squeeze, self, axis=axis)
        return shaping.squeeze(self, dim if dim is not None else dims[0] if dims else None)

    def diagonal(
        self, offset: int = 0, axis1: int = 0, axis2: int = 1, *, dim1: int | None = None, dim2: int | None = None
    ) -> Any:
        """A diagonal, as a last axis."""
        return parts.diagonal(self, offset, axis1 if dim1 is None else dim1, axis2 if dim2 is None else dim2)

    def repeat(self, *repeats: Any, axis: Any = _unset) -> Any:
        """Each element repeated in place. Forms that are errors in NumPy are PyTorch's `repeat`, which is `tile`."""
        if axis is not _unset:
            return _numpy(np.repeat, self, repeats[0], axis=axis)
        ndim = self._value.ndim
        if len(repeats) == 1 and isinstance(repeats[0], (list, tuple)):
            if len(repeats[0]) not in (1, self._value.size):
                return parts.repeat(self, *repeats)
        elif len(repeats) > 2 or (len(repeats) == 2 and not (isinstance(repeats[1], int) and -ndim <= repeats[1] < ndim)):
            return parts.repeat(self, *repeats)
        shown = ", ".join(map(str, repeats))
        ambiguous(self, f"x.repeat({shown})", "repeats each element", f"np.repeat(x, {shown})", f"x.tile({shown})")
        return _numpy(np.repeat, self, *repeats)

    # ---------------------------------------------------------------------------------------------------------- elements

    def clip(self, min: Any = None, max: Any = None, out: Any = None, **keywords: Any) -> Any:
        """The nearest values between the bounds."""
        if out is None and not keywords and not (min is None and max is None):
            return pointwise.clamp(self, min, max)
        return _numpy(np.clip, self, min, max, out=out, **keywords)

    def round(self, decimals: int = 0, out: Any = None) -> Any:
        """Rounded to the nearest, halves to even; the derivative is 0."""
        return tl.flat_round(self, decimals=decimals) if out is None else _numpy(np.round, self, decimals, out=out)

    def conj(self) -> Any:
        """The complex conjugate."""
        return pointwise.conj(self)

    conjugate = conj

    def dot(self, b: Any, out: Any = None) -> Any:
        """The product, as np.dot."""
        if out is None and self._value.ndim == 1 and getattr(b, "ndim", 0) == 1:
            return products.dot(self, b)
        return _numpy(np.dot, self, b, out=out)

    def copy(self, order: str = "C") -> Any:
        """A copy."""
        return shaping_ops.copy(self)

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """The values in another dtype; a copy even if it is the same one, unless `copy` is False."""
        target = numpy_dtype(dtype)
        if not np.can_cast(self._value.dtype, target, casting):
            raise TypeError(f"Cannot cast array data from {self._value.dtype} to {target} according to the rule '{casting}'")
        if self._value.dtype == target:
            return shaping_ops.copy(self) if copy else self
        if self._value.dtype.kind == "c" and target.kind != "c":
            return cast(real_part(self), dtype=target)
        return cast(self, dtype=target)

    def view(self, *shape: Any, dtype: Any = None) -> Any:
        """The same memory in another shape (PyTorch's), or its bytes as another dtype (NumPy's, without gradient)."""
        if dtype is None and len(shape) == 1 and not isinstance(shape[0], (int, list, tuple, np.integer)):
            dtype = shape[0]
        if dtype is None:
            return shaping.view(self, *shape)
        return plain(self._array.view(numpy_dtype(dtype)), self._traced)

    # ----------------------------------------------------------------------------------------------- selecting, ordering

    def take(self, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
        """Entries of an axis, or of the flattened array, at positions."""
        return _numpy(np.take, self, indices, axis=axis, out=out, mode=mode)

    def compress(self, condition: Any, axis: Any = None, out: Any = None) -> Any:
        """Entries where a condition holds."""
        return call_function(np.compress, (condition, self), {"axis": axis, "out": out})

    def choose(self, choices: Any, out: Any = None, mode: str = "raise") -> Any:
        """From each of several arrays the elements that this one's integers name."""
        return _numpy(np.choose, self, choices, out=out, mode=mode)

    def nonzero(self, *, as_tuple: bool | None = None) -> Any:
        """The positions of what is nonzero, for each axis; `as_tuple=False` gives PyTorch's rows."""
        if as_tuple is False:
            return self.argwhere()  # type: ignore[attr-defined]
        return _numpy(np.nonzero, self)

    def searchsorted(self, v: Any, side: str = "left", sorter: Any = None) -> Any:
        """Where values would have to be put in to keep the order."""
        return _numpy(np.searchsorted, self, v, side=side, sorter=sorter)

    def sort(
        self, axis: Any = -1, kind: Any = None, *, stable: bool | None = None, dim: Any = _unset, descending: Any = False
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
            return _numpy(np.argsort, self, axis=None, kind=kind)
        return ordering.argsort(self, axis if dim is _unset else dim, descending)

    def argpartition(self, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None) -> Any:
        """The positions that partially sort."""
        return _numpy(np.argpartition, self, kth, axis=axis, kind=kind, order=order)

    # ------------------------------------------------------------------------------------------------- facts about memory

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
        return self._array.tobytes(order)


def _is_array(x: Any) -> bool:
    return isinstance(x, (TensorBase, np.ndarray)) and (x.ndim > 0 or x.dtype.kind not in "iu")


def _is_torch_spread(axis: Any, dtype: Any, dim: Any, unbiased: Any, keepdim: bool, correction: Any) -> bool:
    """Whether a call of std or var has a form that only PyTorch knows."""
    return (
        dim is not _unset or unbiased is not None or keepdim or correction is not _unset or type(axis) is bool
        or type(dtype) is bool
    )  # fmt: skip


def _torch_spread(axis: Any, dtype: Any, dim: Any, unbiased: Any) -> tuple[Any, Any]:
    """Dimensions and `unbiased` of such a call."""
    if type(axis) is bool:
        return None, axis
    return (axis if dim is _unset else dim), (dtype if type(dtype) is bool else unbiased)
