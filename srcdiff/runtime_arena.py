"""Buffers that a generated function keeps from call to call; reached as `rt.Arena`."""

from __future__ import annotations

from typing import Any

import numpy as np


class Arena:
    """Sets of arrays of given shapes and dtypes. A set is lent to one call at a time: to others, new ones are lent.

    A call that raises keeps its set, which is then forgotten.
    """

    __slots__ = ("_free", "_types")

    def __init__(self, *types: tuple[tuple[int, ...], Any]) -> None:
        self._types = types
        self._free: list[tuple[Any, ...]] = []

    def take(self) -> tuple[Any, ...]:
        """A set of arrays, with any contents."""
        try:
            return self._free.pop()  # one operation, so that no other thread gets it as well
        except IndexError:
            return tuple(np.empty(shape, dtype) for shape, dtype in self._types)

    def give(self, arrays: tuple[Any, ...]) -> None:
        """Take a set back. One is kept for the next call, more only as long as calls overlap."""
        if not self._free:
            self._free.append(arrays)
