"""`Size`: a shape, as PyTorch has it: a tuple that knows its number of elements."""

from __future__ import annotations

import math


class Size(tuple[int, ...]):
    """The shape of a tensor."""

    __slots__ = ()

    def numel(self) -> int:
        """Number of elements of a tensor of this shape."""
        return math.prod(self)

    def __repr__(self) -> str:
        return f"Size({list(self)})"

    __str__ = __repr__
