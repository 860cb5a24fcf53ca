"""`x.flat`: the elements of a Tensor in order, to iterate over, read and write by position, as ndarray.flat."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from srcdiff.tape.value import TensorBase
from srcdiff.torchlike.shaping import ravel


class Flat:
    """A view of a Tensor's elements by their position."""

    __slots__ = ("base",)

    def __init__(self, base: Any) -> None:
        self.base = base

    def __len__(self) -> int:
        return int(self.base._value.size)

    def __iter__(self) -> Iterator[Any]:
        return iter(ravel(self.base))

    def __getitem__(self, index: Any) -> Any:
        return ravel(self.base)[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        shape = self.base._value.shape
        places = np.arange(len(self))[index._value if isinstance(index, TensorBase) else index]
        self.base[np.unravel_index(places, shape)] = value
