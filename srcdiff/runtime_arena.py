"""Buffers that a generated function keeps from call to call; reached as `rt.Arena`."""

from __future__ import annotations

from typing import Any

import numpy as np

# The C library gives freed memory back to the system when twice as much is free as the largest array freed so far, and
# the next step gets it page by page again, which costs more than the arithmetic. After this one, which is never
# written to, it waits for 64 MB: steps that are traced take up to 40 % less time.
np.empty((32 << 20) - (8 << 10), np.uint8)


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
