"""Arrays as parts of one memory."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def address(array: Array) -> int:
    """Where in memory the first element is."""
    return array.__array_interface__["data"][0]  # type: ignore[no-any-return]


def owner(array: Array) -> Array | None:
    """The array that owns the memory, or None if its layout is not known to be without gaps."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array if array.flags.c_contiguous or array.flags.f_contiguous else None


def part(memory: Array, like: Array, offset: int) -> Array:
    """The array of shape, strides and dtype of `like` that starts `offset` bytes into contiguous memory."""
    whole = memory if memory.flags.c_contiguous else memory.T
    return np.ndarray(like.shape, like.dtype, whole, offset, like.strides)
