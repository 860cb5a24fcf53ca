"""NumPy's functions that say where elements are, and those about arrays as sets of values."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.functions.dispatch import implements, like, plain
from srcdiff.functions.indexing import places, take, true_positions
from srcdiff.functions.joining import concatenate, stack
from srcdiff.functions.shaping import arrayed, ravel
from srcdiff.ops.structural import reshape
from srcdiff.tape.modes import modes
from srcdiff.tape.value import TensorBase

# ----------------------------------------------------------------------------------------------- where elements are


def _each(found: Any, *sources: Any) -> Any:
    return tuple(like(part, *sources) for part in found)


@implements(np.nonzero, method="nonzero")
def nonzero(a: Any) -> Any:
    if modes.recorder is not None and isinstance(a, TensorBase):
        return places(a)
    return _each(np.nonzero(plain(a)), a)


@implements(np.argwhere)
def argwhere(a: Any) -> Any:
    if modes.recorder is not None and isinstance(a, TensorBase):
        return stack(places(a), -1)
    return like(np.argwhere(plain(a)), a)


@implements(np.flatnonzero)
def flatnonzero(a: Any) -> Any:
    return like(true_positions(a), a)


@implements(np.ix_)
def ix_(*args: Any) -> Any:
    """np.ix_; arrays of floats, which index nothing, are the values themselves."""
    made = _each(np.ix_(*plain(args)), *args)
    return tuple(
        reshape(x, shape=np.shape(plain(out))) if isinstance(x, TensorBase) and x.dtype.kind in "fc" else out
        for x, out in zip(args, made, strict=True)
    )


@implements(np.ravel_multi_index)
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: Any = "C") -> Any:
    return like(np.ravel_multi_index(tuple(plain(multi_index)), dims, mode, order), multi_index)


@implements(np.unravel_index)
def unravel_index(indices: Any, shape: Any, order: Any = "C") -> Any:
    return _each(np.unravel_index(plain(indices), shape, order), indices)


@implements(np.tril_indices_from)
def tril_indices_from(arr: Any, k: int = 0) -> Any:
    return np.tril_indices_from(plain(arr), k)


@implements(np.triu_indices_from)
def triu_indices_from(arr: Any, k: int = 0) -> Any:
    return np.triu_indices_from(plain(arr), k)


@implements(np.diag_indices_from)
def diag_indices_from(arr: Any) -> Any:
    return np.diag_indices_from(plain(arr))


# ------------------------------------------------------------------------------------------------------- sets of values


def _unique_values(ar: Any, axis: Any, first: Any) -> Any:
    return take(ravel(ar) if axis is None else ar, first, 0 if axis is None else axis)


@implements(np.unique)
def unique(
    ar: Any,
    return_index: Any = False,
    return_inverse: Any = False,
    return_counts: Any = False,
    axis: Any = None,
    *,
    equal_nan: Any = True,
    sorted: bool = True,
) -> Any:
    # `sorted=False` leaves the order open, so sorted is right
    ar = arrayed(ar)
    found = np.unique(plain(ar), True, return_inverse, return_counts, axis, equal_nan=equal_nan)
    values = _unique_values(ar, axis, found[1])
    rest = [like(part, ar) for k, part in enumerate(found[1:]) if k or return_index]
    return (values, *rest) if rest else values


@implements(np.unique_values)
def unique_values(x: Any) -> Any:
    values = unique(x, equal_nan=False)
    found = np.unique_values(plain(arrayed(x)))  # in the order that this NumPy gives them, which is open
    if found.dtype.kind in "fc" and np.isnan(found).any():
        return values
    return take(values, np.searchsorted(plain(values), found))


@implements(np.unique_counts)
def unique_counts(x: Any) -> Any:
    return UniqueCountsResult(*unique(x, return_counts=True, equal_nan=False))


@implements(np.unique_inverse)
def unique_inverse(x: Any) -> Any:
    return UniqueInverseResult(*unique(x, return_inverse=True, equal_nan=False))


@implements(np.unique_all)
def unique_all(x: Any) -> Any:
    return UniqueAllResult(*unique(x, True, True, True, equal_nan=False))


UniqueCountsResult: Any = type(np.unique_counts([0]))
UniqueInverseResult: Any = type(np.unique_inverse([0]))
UniqueAllResult: Any = type(np.unique_all([0]))


@implements(np.union1d)
def union1d(ar1: Any, ar2: Any) -> Any:
    return unique(concatenate([ravel(ar1), ravel(ar2)]))


@implements(np.intersect1d)
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    ar1, ar2 = ravel(ar1), ravel(ar2)
    found, first, second = np.intersect1d(plain(ar1), plain(ar2), assume_unique, True)
    del found
    values = take(ar1, first)
    return (values, like(first, ar1), like(second, ar2)) if return_indices else values


@implements(np.setdiff1d)
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    ar1 = ravel(ar1) if assume_unique else unique(ar1)
    return take(ar1, np.flatnonzero(~np.isin(plain(ar1), plain(ar2))))


@implements(np.setxor1d)
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    both = concatenate([setdiff1d(ar1, ar2, assume_unique), setdiff1d(ar2, ar1, assume_unique)])
    return take(both, np.argsort(plain(both), kind="stable"))


@implements(np.isin)
def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None
) -> Any:
    found = np.isin(plain(element), plain(test_elements), assume_unique, invert, kind=kind)
    return like(found, element, test_elements)


if hasattr(np, "in1d"):  # until NumPy 2.4

    @implements(np.in1d)  # noqa: NPY201  the older name itself
    def in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None) -> Any:
        """np.in1d: as `isin`, of the elements in a row."""
        return ravel(isin(ar1, ar2, assume_unique, invert, kind=kind))
