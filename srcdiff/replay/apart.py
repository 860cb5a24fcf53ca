"""Whether the tensors that a step changes share memory with anything else that it uses.

A program reads all it needs before the effects of its step happen, so that a replay is right only where no effect
changes what is read after it through another tensor.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np


def apart(tensors: Iterable[Any], leaves: Iterable[Any], given: Sequence[Any]) -> bool:
    """Whether neither the values and gradients of these tensors share memory, nor one of them with what is `given`, the
    values of the arguments. Of `leaves`, which are arguments, it is the gradients alone.
    """
    found = [tensor._value for tensor in tensors]
    found += [tensor._grad._value for tensor in (*tensors, *leaves) if tensor._grad is not None]
    owners = {id(_owner(array)) for array in found}
    if len(owners) == len(found) and owners.isdisjoint([id(_owner(array)) for array in given]):
        return True
    pairs = [*combinations(found, 2), *((array, other) for array in found for other in given)]
    return not any(np.may_share_memory(one, other) for one, other in pairs)


def _owner(array: Any) -> Any:
    """What an array has its memory from, as far as NumPy knows."""
    base = getattr(array, "base", None)
    while base is not None:
        array, base = base, getattr(base, "base", None)
    return array if isinstance(array, (np.ndarray, np.generic)) else FOREIGN


#: the owner of memory that is not NumPy's: two arrays may have it by different objects
FOREIGN = object()
