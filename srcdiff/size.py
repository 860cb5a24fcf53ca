"""`Size`: a shape, as PyTorch has it: a tuple that knows its number of elements. `ElementCount`: that number, as both
have it."""

from __future__ import annotations

import math
from typing import Any


class Size(tuple[int, ...]):
    """The shape of a tensor."""

    __slots__ = ()

    def numel(self) -> int:
        """Number of elements of a tensor of this shape."""
        return math.prod(self)

    def __add__(self, other: Any) -> Any:
        return Size(tuple.__add__(self, tuple(other)))

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return Size(found) if type(index) is slice else found

    def __repr__(self) -> str:
        return f"Size({list(self)})"

    __str__ = __repr__


class ElementCount(int):
    """A number of elements: NumPy's `x.size`. Called, it gives the shape: PyTorch's `x.size()` and `x.size(dim)`."""

    shape: Size

    def __new__(cls, shape: tuple[int, ...]) -> ElementCount:
        count = super().__new__(cls, math.prod(shape))
        count.shape = Size(shape)
        return count

    def __call__(self, dim: int | None = None) -> Any:
        if dim is None:
            return self.shape
        bound = len(self.shape) or 1
        if not -bound <= dim < bound or not self.shape:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-bound}, {bound - 1}], but got {dim})"
                if self.shape
                else f"Dimension specified as {dim} but tensor has no dimensions"
            )
        return self.shape[dim]

    def __reduce__(self) -> tuple[Any, ...]:
        return (int, (int(self),))
