"""NumPy's objects that make arrays by being subscripted, with traced values in the subscript: `np.r_[x, 0.0, y]`,
`np.c_[x, y]`, `np.mgrid[0:x:5j]`, `np.ogrid`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from srcdiff.errors import UnsupportedError
from srcdiff.functions.assembly import differentiated
from srcdiff.replay.active import active
from srcdiff.replay.constructors import array
from srcdiff.tape.value import TensorBase


def rec_grid(grid: Any) -> Any:
    """What to subscript instead of `grid`."""
    return _KNOWN.get(id(grid), grid) if active.depth else grid


def _slice_differentiated(part: Any) -> bool:
    return isinstance(part, slice) and differentiated((part.start, part.stop, part.step))


def _value(x: Any) -> Any:
    if isinstance(x, TensorBase):
        return x._value
    if isinstance(x, slice):
        return slice(_value(x.start), _value(x.stop), _value(x.step))
    return [_value(part) for part in x] if type(x) in (list, tuple) else x


def _range(part: slice) -> Any:
    """The numbers that a slice stands for, and how far they are apart."""
    start = 0 if part.start is None else part.start
    step: Any = 1 if part.step is None else part.step
    if isinstance(_value(step), complex | np.complexfloating):
        count = int(abs(_value(step)))
        return start + np.arange(count) * ((part.stop - start) / max(count - 1, 1))
    count = max(math.ceil(_value((part.stop - start) / step)), 0)
    return start + np.arange(count) * step


class _StandIn:
    """In the place of one of NumPy's objects that are subscripted: it has the attributes of the original."""

    def __init__(self, original: Any) -> None:
        self._original = original

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


class _Concatenator(_StandIn):
    """`np.r_` or `np.c_`."""

    def __getitem__(self, key: Any) -> Any:
        parts = key if type(key) is tuple else (key,)
        if not any(differentiated(part) or _slice_differentiated(part) for part in parts):
            return self._original[_value(key)]
        if isinstance(parts[0], str) and parts[0] in ("r", "c"):
            raise UnsupportedError("np.r_ and np.c_ with 'r' or 'c' make matrices, which cannot hold traced values")
        pattern = self._original[tuple(map(_value, parts))]
        # the original arranges where each element stands in the row of all of them
        flat: list[Any] = []
        where: list[Any] = []
        taken = 0
        for part in parts:
            if isinstance(part, str):
                where.append(part)
                continue
            given = array(_range(part)) if isinstance(part, slice) else array(part)
            size = math.prod(given.shape)
            places = np.arange(taken, taken + size).reshape(given.shape)
            where.append(places if given.shape else int(places))
            flat.append(np.reshape(given, -1))
            taken += size
        return np.concatenate(flat).astype(pattern.dtype)[self._original[tuple(where)]]


class _Grid(_StandIn):
    """`np.mgrid` or `np.ogrid`."""

    def __getitem__(self, key: Any) -> Any:
        parts = key if type(key) is tuple else (key,)
        if not any(map(_slice_differentiated, parts)):
            return self._original[_value(key)]
        pattern = self._original[tuple(map(_value, parts)) if type(key) is tuple else _value(key)]
        sparse = self._original.sparse
        axes = [_range(part) for part in parts]
        if type(key) is not tuple:
            return axes[0].astype(pattern.dtype)
        grids = [g.astype(np.asarray(pattern[0]).dtype) for g in np.meshgrid(*axes, indexing="ij", sparse=sparse)]
        return tuple(grids) if sparse else np.stack(grids)


_KNOWN = {
    **{id(grid): _Concatenator(grid) for grid in (np.r_, np.c_)},
    **{id(grid): _Grid(grid) for grid in (np.mgrid, np.ogrid)},
}
