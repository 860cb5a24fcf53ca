"""ndarray's reductions on Tensors, with NumPy's meaning and PyTorch's where `array_methods` says so."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.ambiguity import ambiguous, caller, is_unpacked
from srcdiff.dispatch import call_function
from srcdiff.functions.dispatch import no_value
from srcdiff.ops import cumulative, reductions
from srcdiff.ops import shaping as shaping_ops
from srcdiff.tape.value import TensorBase
from srcdiff.torchlike import ordering
from srcdiff.torchlike import reductions as torch_reductions
from srcdiff.torchlike.support import in_dtype, many_dims, one_dim

_unset: Any = no_value


def numpy_function(function: Any, x: TensorBase, *args: Any, **keywords: Any) -> Any:
    """NumPy's function, with the keywords that were given."""
    return call_function(function, (x, *args), {k: v for k, v in keywords.items() if v is not no_value})


class ArrayReductions(TensorBase):
    """NumPy's reductions."""

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
            return in_dtype(reductions.sum(x, axis=many_dims(axis, self._value.ndim), keepdims=bool(keepdims)), dtype)
        return numpy_function(
            np.sum,
            self,
            axis=axis if dim is _unset else dim,
            dtype=dtype,
            out=out,
            keepdims=bool(keepdims),
            initial=initial,
            where=where,
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
            return in_dtype(reductions.prod(x, axis=many_dims(axis, self._value.ndim), keepdims=bool(keepdims)), dtype)
        return numpy_function(
            np.prod,
            self,
            axis=axis if dim is _unset else dim,
            dtype=dtype,
            out=out,
            keepdims=bool(keepdims),
            initial=initial,
            where=where,
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
        return numpy_function(np.mean, self, axis=axis, dtype=dtype, out=out, keepdims=bool(keepdims), where=where)

    def std(
        self, place: Any = None, /, dtype: Any = None, out: Any = None, ddof: Any = _unset, keepdims: Any = False, *,
        axis: Any = _unset, where: Any = _unset, mean: Any = _unset, dim: Any = _unset, unbiased: Any = None,
        keepdim: bool = False, correction: Any = _unset,
    ) -> Any:  # fmt: skip
        """The standard deviation, divided by n - ddof; ddof is 0 by default, as in NumPy."""
        given = place if axis is _unset else axis
        if _is_torch_spread(given, dtype, dim, unbiased, keepdim, correction):
            return torch_reductions.std(
                self, *_torch_spread(given, dtype, dim, unbiased), bool(keepdim or keepdims),
                correction=None if correction is _unset else correction,
            )  # fmt: skip
        if axis is ddof is where is mean is _unset and dtype is None and out is None and not keepdims:
            ambiguous(self, "x.std()", "divides by n", "x.std(ddof=0) or np.std(x)", "x.std(correction=1)")
        return numpy_function(
            np.std, self, axis=given, dtype=dtype, out=out, ddof=0 if ddof is _unset else ddof, keepdims=bool(keepdims),
            where=where, mean=mean,
        )  # fmt: skip

    def var(
        self, place: Any = None, /, dtype: Any = None, out: Any = None, ddof: Any = _unset, keepdims: Any = False, *,
        axis: Any = _unset, where: Any = _unset, mean: Any = _unset, dim: Any = _unset, unbiased: Any = None,
        keepdim: bool = False, correction: Any = _unset,
    ) -> Any:  # fmt: skip
        """The variance, divided by n - ddof; ddof is 0 by default, as in NumPy."""
        given = place if axis is _unset else axis
        if _is_torch_spread(given, dtype, dim, unbiased, keepdim, correction):
            return torch_reductions.var(
                self, *_torch_spread(given, dtype, dim, unbiased), bool(keepdim or keepdims),
                correction=None if correction is _unset else correction,
            )  # fmt: skip
        if axis is ddof is where is mean is _unset and dtype is None and out is None and not keepdims:
            ambiguous(self, "x.var()", "divides by n", "x.var(ddof=0) or np.var(x)", "x.var(correction=1)")
        return numpy_function(
            np.var, self, axis=given, dtype=dtype, out=out, ddof=0 if ddof is _unset else ddof, keepdims=bool(keepdims),
            where=where, mean=mean,
        )  # fmt: skip

    def max(
        self, place: Any = None, /, out: Any = None, keepdims: Any = False, initial: Any = _unset,
        where: Any = _unset, *, axis: Any = _unset, dim: Any = _unset, keepdim: Any = _unset, other: Any = None,
    ) -> Any:  # fmt: skip
        """The largest element along an axis (with `dim`, PyTorch's values and indices)."""
        given = place if axis is _unset else axis
        if dim is not _unset or keepdim is not _unset or other is not None or type(out) is bool or _is_array(given):
            keep = out if type(out) is bool else keepdim is not _unset and keepdim
            return ordering.max(self, given if dim is _unset else dim, bool(keep), other=other)
        if type(place) is int and is_unpacked(caller()):
            ambiguous(self, "x.max(axis)", "gives the values alone", "x.max(axis=axis)", "x.max(dim=axis)")
        if out is None and initial is _unset and where is _unset and given != ():
            return reductions.max_(self, axis=many_dims(given, self._value.ndim), keepdims=bool(keepdims))
        return numpy_function(np.max, self, axis=given, out=out, keepdims=bool(keepdims), initial=initial, where=where)

    def min(
        self, place: Any = None, /, out: Any = None, keepdims: Any = False, initial: Any = _unset,
        where: Any = _unset, *, axis: Any = _unset, dim: Any = _unset, keepdim: Any = _unset, other: Any = None,
    ) -> Any:  # fmt: skip
        """The smallest element along an axis (with `dim`, PyTorch's values and indices)."""
        given = place if axis is _unset else axis
        if dim is not _unset or keepdim is not _unset or other is not None or type(out) is bool or _is_array(given):
            keep = out if type(out) is bool else keepdim is not _unset and keepdim
            return ordering.min(self, given if dim is _unset else dim, bool(keep), other=other)
        if type(place) is int and is_unpacked(caller()):
            ambiguous(self, "x.min(axis)", "gives the values alone", "x.min(axis=axis)", "x.min(dim=axis)")
        if out is None and initial is _unset and where is _unset and given != ():
            return reductions.min_(self, axis=many_dims(given, self._value.ndim), keepdims=bool(keepdims))
        return numpy_function(np.min, self, axis=given, out=out, keepdims=bool(keepdims), initial=initial, where=where)

    def argmax(
        self, axis: Any = None, out: Any = None, *, keepdims: Any = False, dim: Any = _unset, keepdim: bool = False
    ) -> Any:
        """The position of the first largest element."""
        if type(out) is bool:
            out, keepdim = None, out
        if out is not None:
            return numpy_function(
                np.argmax, self, axis=axis if dim is _unset else dim, out=out, keepdims=bool(keepdims or keepdim)
            )
        return torch_reductions.argmax(self, axis if dim is _unset else dim, bool(keepdims or keepdim))

    def argmin(
        self, axis: Any = None, out: Any = None, *, keepdims: Any = False, dim: Any = _unset, keepdim: bool = False
    ) -> Any:
        """The position of the first smallest element."""
        if type(out) is bool:
            out, keepdim = None, out
        if out is not None:
            return numpy_function(
                np.argmin, self, axis=axis if dim is _unset else dim, out=out, keepdims=bool(keepdims or keepdim)
            )
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
        return numpy_function(np.all, self, axis=axis, out=out, keepdims=bool(keepdims), where=where)

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
        return numpy_function(np.any, self, axis=axis, out=out, keepdims=bool(keepdims), where=where)

    def ptp(self, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
        """The largest element minus the smallest."""
        return numpy_function(np.ptp, self, axis=axis, out=out, keepdims=keepdims)

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
        """The sum of a diagonal."""
        if out is None and dtype is None:
            first, second = one_dim(axis1, self._value.ndim), one_dim(axis2, self._value.ndim)
            return shaping_ops.trace(self, offset=offset, axis1=first, axis2=second)
        return numpy_function(np.trace, self, offset=offset, axis1=axis1, axis2=axis2, dtype=dtype, out=out)

    def cumsum(self, axis: Any = None, dtype: Any = None, out: Any = None, *, dim: Any = _unset) -> Any:
        """Sums of the elements up to each; of the flattened array without an axis."""
        return self._running(np.cumsum, cumulative.cumsum, axis if dim is _unset else dim, dtype, out)

    def cumprod(self, axis: Any = None, dtype: Any = None, out: Any = None, *, dim: Any = _unset) -> Any:
        """Products of the elements up to each; of the flattened array without an axis."""
        return self._running(np.cumprod, cumulative.cumprod, axis if dim is _unset else dim, dtype, out)

    def _running(self, function: Any, prim: Any, axis: Any, dtype: Any, out: Any) -> Any:
        if out is None and axis is not None and self._value.ndim:
            return in_dtype(prim(in_dtype(self, dtype), axis=one_dim(axis, self._value.ndim)), dtype)
        return numpy_function(function, self, axis=axis, dtype=dtype, out=out)


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
