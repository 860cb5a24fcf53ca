"""Index expressions as hashable values: what stands between the brackets of `x[...]`.

`split` takes a user's index apart into an `Index` (static: hashable, printable) and the dynamic parts (index arrays, and
integers or slice bounds that vary from call to call), and `Index.__call__(*dynamic)` puts it together again:

    index, dynamic = split((slice(1, None), rows, 0))
    x[index(*dynamic)]                      # the same as x[1:, rows, 0]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Dynamic:
    """The place of the k-th dynamic part."""

    k: int


@dataclass(frozen=True, slots=True)
class Slice:
    """A hashable slice; its parts are int, None or Dynamic."""

    start: int | None | Dynamic
    stop: int | None | Dynamic
    step: int | None | Dynamic



@dataclass(frozen=True, slots=True)
class Index:
    """A static index expression with holes. `tuple_like` is False for a bare index such as `x[0]`."""

    parts: tuple[Any, ...]
    tuple_like: bool

    def __call__(self, *dynamic: Any) -> Any:
        """The index itself, as NumPy takes it."""
        full = tuple(_restore(part, dynamic) for part in self.parts)
        return full if self.tuple_like else full[0]

    @property
    def basic(self) -> bool:
        """True if the static parts alone select a view (dynamic parts may still be arrays)."""
        return not any(isinstance(part, Dynamic) for part in self.parts)


def _restore(part: Any, dynamic: tuple[Any, ...]) -> Any:
    if type(part) is Dynamic:
        return dynamic[part.k]
    if type(part) is Slice:
        return slice(*(dynamic[p.k] if type(p) is Dynamic else p for p in (part.start, part.stop, part.step)))
    return part


def split(index: Any, vary: bool = False) -> tuple[Index, tuple[Any, ...]]:
    """Take an index apart. With `vary`, integers and slice bounds become dynamic parts as well.

    Dynamic parts are ndarrays of integers or booleans, or ints; lists are converted. Tensors must have been replaced by
    their arrays before. Raises IndexError for what NumPy would refuse too.
    """
    tuple_like = type(index) is tuple
    parts: list[Any] = []
    dynamic: list[Any] = []

    def hole(value: Any) -> Dynamic:
        dynamic.append(value)
        return Dynamic(len(dynamic) - 1)

    for part in index if tuple_like else (index,):
        if part is None or part is Ellipsis:
            parts.append(part)
        elif type(part) is int:
            parts.append(hole(part) if vary else part)
        elif type(part) is slice:
            bounds = [None if b is None else b.__index__() for b in (part.start, part.stop, part.step)]
            if vary:
                parts.append(Slice(*(b if b is None or k == 2 else hole(b) for k, b in enumerate(bounds))))
            else:
                parts.append(Slice(*bounds))
        elif isinstance(part, np.integer) or (hasattr(part, "__index__") and not isinstance(part, (bool, np.ndarray))):
            value = part.__index__()
            parts.append(hole(value) if vary else value)
        else:
            array = np.asarray(part)
            if array.size == 0 and array.dtype.kind == "f" and not isinstance(part, np.ndarray):
                array = array.astype(np.intp)
            if array.dtype.kind not in "iub":
                raise IndexError(
                    "only integers, slices (`:`), ellipsis (`...`), None and integer or boolean arrays are valid "
                    f"indices, got {type(part).__name__} of dtype {array.dtype}"
                )
            parts.append(hole(array))
    return Index(tuple(parts), tuple_like), tuple(dynamic)
