"""Adding up rows at places that repeat, each row's terms in their order: what `np.add.at(zeros, place, value)` leaves.

Three ways, which give the same bits. SciPy's sparse matrices add rows one after the other in compiled code: the
fastest by far, but importing them takes a tenth of a second, so that is done when the others have worked for about as
long, or where the user has imported them. Without them, the first entries of all rows are added at once, then the
second ones, and so on; where that would be many steps of little, `np.add.at` does it.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any, Final

import numpy as np

Array = Any

_PATIENCE = 1 << 24  # numbers added up the slow way before SciPy is imported: about 20 ms
_FEW = 1 << 11  # numbers that np.add.at adds in the time it takes to set up anything else
_STEP = 600  # numbers that np.add.at adds in the time of one step for all rows
_MOST = 2**31 - 1  # of what 32 bits count


class _Sparse:
    """`scipy.sparse` as soon as it pays."""

    __slots__ = ("_installed", "_numbers")

    def __init__(self) -> None:
        self._numbers = 0
        self._installed = True

    def __call__(self, numbers: int) -> Any:
        """The module if it is there, or worth importing once so many more numbers are to be added; or None."""
        found = sys.modules.get("scipy.sparse")
        if found is not None or not self._installed:
            return found
        self._numbers += numbers
        if self._numbers < _PATIENCE:
            return None
        try:
            return importlib.import_module("scipy.sparse")
        except ImportError:
            self._installed = False
            return None


_sparse: Final = _Sparse()


def add_rows(value: Array, place: Array, rows: int, scale: Array | None = None) -> Array:
    """Zeros with so many rows, and the rows of the matrix `value`, times a number each, added at `place`.

    Places may be negative; one that is out of bounds is an IndexError.
    """
    count = value.shape[0]
    if value.size < _FEW or max(rows, count) > _MOST:
        return _one_by_one(_scaled(value, scale), place, rows)
    place = np.arange(rows, dtype=np.int32)[place]
    sparse = _sparse(value.size) if value.dtype.char in "fdFD" and value.dtype.isnative else None
    if sparse is not None:
        return _by_matrix(sparse, value, place, rows, scale)
    value = _scaled(value, scale)
    counts = np.bincount(place, minlength=rows)
    if int(counts.max(initial=0)) * _STEP > value.size:
        return _one_by_one(value, place, rows)
    return _by_turns(value, place, counts)


def _scaled(value: Array, scale: Array | None) -> Array:
    return value if scale is None else value * scale[:, None]


def _by_matrix(sparse: Any, value: Array, place: Array, rows: int, scale: Array | None) -> Array:
    """The product with a matrix that has a single number in each column."""
    if value.dtype.kind == "c":
        value, scale = _scaled(value, scale), None
    parts = np.ascontiguousarray(value).view(value.real.dtype)  # complex 1 times infinity would not be infinity
    numbers = np.ones(place.size, parts.dtype) if scale is None else scale
    columns = np.arange(place.size + 1, dtype=np.int32)
    matrix = sparse.csc_array((numbers, place, columns), shape=(rows, place.size))
    return (matrix @ parts).view(value.dtype)


def _by_turns(value: Array, place: Array, counts: Array) -> Array:
    """The first entries of all rows at once, then the second ones, and so on."""
    rows = counts.size
    # small places are sorted as uint16, which NumPy does by radix
    order = (place.astype(np.uint16) if rows <= 1 << 16 else place).argsort(kind="stable")
    starts = np.cumsum(counts) - counts
    used = np.flatnonzero(counts)
    used = used[np.argsort(-counts[used], kind="stable")]  # those with most entries first
    starts, counts = starts[used], counts[used]
    out = np.zeros((rows, value.shape[1]), value.dtype)
    if not used.size:
        return out
    total = out[used]
    for k, longer in enumerate(np.searchsorted(-counts, -np.arange(counts[0])).tolist()):
        total[:longer] += value[order[starts[:longer] + k]]
    out[used] = total
    return out


def _one_by_one(value: Array, place: Array, rows: int) -> Array:
    out = np.zeros((rows, value.shape[1]), value.dtype)
    np.add.at(out, place, value)
    return out
