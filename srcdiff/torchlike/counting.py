"""Counting, finding, and facts about tensors: nothing here has a gradient."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from srcdiff.dtypes import as_public, numpy_dtype
from srcdiff.errors import AutogradError, DTypeError
from srcdiff.tape.value import TensorBase
from srcdiff.torchlike.support import arrayed, integer_index, lift, one_dim, result, value_of


def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Any:
    """How often (with what total weight) each non-negative integer occurs."""
    x = integer_index(input, "bincount")
    w = None if weights is None else value_of(lift(weights))
    if x.ndim != 1 or (np.size(value_of(x)) and np.min(value_of(x)) < 0):
        raise AutogradError("bincount only supports 1-d non-negative integral inputs.")
    return result(np.bincount(value_of(x), w, minlength), input)


def histc(input: Any, bins: int = 100, min: float = 0, max: float = 0) -> Any:
    """The number of elements in equal bins between the bounds, those outside left out."""
    x = value_of(arrayed(input))
    low, high = (np.min(x), np.max(x)) if min == max == 0 and np.size(x) else (min, max)
    low, high = (low - 1, high + 1) if low == high else (low, high)
    return result(np.histogram(x, bins, (low, high))[0].astype(np.asarray(x).dtype), input)


def unique(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:  # fmt: skip
    """The different elements (entries of a dimension) in order; on request where each is found, and how often."""
    x = arrayed(input)
    axis = None if dim is None else one_dim(dim, x.ndim)
    found = np.unique(value_of(x), return_inverse=True, return_counts=True, axis=axis)
    inverse = found[1].reshape(x.shape if axis is None else (x.shape[axis],))
    return _chosen(input, (found[0], inverse, found[2]), return_inverse, return_counts)


def unique_consecutive(
    input: Any, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:  # fmt: skip
    """`unique`, where only equal neighbours count as one."""
    x = np.asarray(value_of(arrayed(input)))
    axis = 0 if dim is None else one_dim(dim, x.ndim)
    rows = np.moveaxis(x if dim is not None else x.reshape(-1), axis, 0)
    n = len(rows)
    new = np.ones(n, bool)
    new[1:] = (rows[1:] != rows[:-1]).reshape(max(n - 1, 0), -1).any(1)
    starts = np.flatnonzero(new)
    inverse = np.cumsum(new) - 1
    found = np.moveaxis(rows[starts], 0, axis)
    inverse = inverse.reshape(x.shape) if dim is None else inverse
    return _chosen(input, (found, inverse, np.diff([*starts, n])), return_inverse, return_counts)


def _chosen(like: Any, found: tuple[Any, Any, Any], inverse: bool, counts: bool) -> Any:
    parts = [result(part, like) for part, wanted in zip(found, (True, inverse, counts), strict=True) if wanted]
    return parts[0] if len(parts) == 1 else tuple(parts)


def searchsorted(
    sorted_sequence: Any, input: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None,
    sorter: Any = None,
) -> Any:  # fmt: skip
    """Where values would have to be put in (each row of) an ordered sequence."""
    edges, x = np.asarray(value_of(lift(sorted_sequence))), np.asarray(value_of(lift(input)))
    where: Any = "right" if right or side == "right" else "left"
    if sorter is not None:
        edges = np.take_along_axis(edges, value_of(sorter), -1)
    if edges.ndim == 1:
        found = np.searchsorted(edges, x, where)
    else:
        if edges.shape[:-1] != x.shape[:-1]:
            raise AutogradError(
                "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions "
                "of boundaries "
                "tensor and input value tensor must match"
            )
        rows = zip(edges.reshape(-1, edges.shape[-1]), x.reshape(-1, x.shape[-1]), strict=True)
        found = np.array([np.searchsorted(e, v, where) for e, v in rows]).reshape(x.shape)
    return result(np.asarray(found, np.int32 if out_int32 else np.int64), sorted_sequence, input)


def bucketize(input: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False) -> Any:
    """The number of the bucket, between ordered boundaries, that each element falls into."""
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Any:
    """Where elements are among others."""
    found = np.isin(value_of(lift(elements)), value_of(lift(test_elements)), assume_unique, invert)
    return result(found, elements, test_elements)


# --------------------------------------------------------------------------------------------------------------- facts


def is_tensor(obj: Any) -> bool:
    """Whether it is a Tensor."""
    return isinstance(obj, TensorBase)


def is_nonzero(input: Any) -> bool:
    """Whether the one element is nonzero."""
    value = np.asarray(value_of(input))
    if value.size != 1:
        raise AutogradError("Boolean value of Tensor with more than one value is ambiguous" if value.size else
                            "Boolean value of Tensor with no values is ambiguous")  # fmt: skip
    return bool(value.item())


def numel(input: Any) -> int:
    """The number of elements."""
    return math.prod(input.shape)


def result_type(tensor1: Any, tensor2: Any) -> Any:
    """The dtype of an operation on the two, Python numbers being weak."""
    return as_public(np.result_type(*(v if isinstance(v, (bool, int, float, complex)) else np.asarray(v).dtype
                                      for v in (value_of(tensor1), value_of(tensor2)))))  # fmt: skip


def promote_types(type1: Any, type2: Any) -> Any:
    """The smallest dtype that holds the values of both."""
    return as_public(np.promote_types(numpy_dtype(type1), numpy_dtype(type2)))


def can_cast(from_: Any, to: Any) -> bool:
    """Whether PyTorch casts implicitly when a result of one dtype is stored in the other: not to a lesser kind."""
    kinds = "biufc"
    source, target = numpy_dtype(from_), numpy_dtype(to)
    order = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
    if source.kind not in kinds or target.kind not in kinds:
        raise DTypeError(f"can_cast: {source} or {target} is no dtype of numbers")
    return order[source.kind] <= order[target.kind]
