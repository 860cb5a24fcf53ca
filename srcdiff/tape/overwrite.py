"""Writing to a tensor's memory outside the graph: parameter updates, loaded states, running statistics.

Guarantee: saved values are protected or made stale, and versions counted, as by any other write; nothing is recorded.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.tape.modes import modes
from srcdiff.tape.storage import storage_of

Array = np.ndarray[Any, np.dtype[Any]]


def begin_write(tensor: Any) -> Array:
    """The array of a tensor, about to be written by the caller."""
    storage = tensor._storage or storage_of(tensor)
    storage.before_write(modes.mutation_allowed)
    array: Array = tensor._array
    return array


def overwrite(tensor: Any, value: Any) -> None:
    """`tensor[...] = value` for an array or number, which is cast to the tensor's dtype."""
    np.copyto(begin_write(tensor), value, casting="unsafe")


def rebind(tensor: Any, array: Array) -> None:
    """Give a leaf another array, of whatever dtype: it leaves the memory it had to those that share it."""
    tensor._value = array
    tensor._storage = None
    tensor._cell = None
    tensor._view = None
    tensor.__dict__.pop("_type", None)
