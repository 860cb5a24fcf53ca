"""Where a cotangent with structural zeros counts (`Mask`), and where in a larger array it belongs (`Place`).

See `srcdiff.ops.zeros`. Masks are made only when they are asked for: most never are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.aval import Aval
from srcdiff.core.builder import interpret
from srcdiff.core.primitive import REGISTRY, Primitive
from srcdiff.core.program import Node, Program, reachable
from srcdiff.ops.elementwise import logical_and, logical_or
from srcdiff.ops.indexing import getitem, take_along_axis
from srcdiff.ops.structural import broadcast_to

#: a union of more choices than this is not kept: code that picks from one array in a long loop
_MOST = 8


class Mask:
    """Where a cotangent counts; made when it is first asked for, since most are never needed.

    `chosen`: it depends on data (a condition, an array of indices), not on slices alone. `condition` is the operand of
    `where` it stands for, if it does, and `positive` says for which of the two choices. `copied`: it was made for a sum
    and holds for all its terms alike.
    """

    __slots__ = ("_make", "_value", "chosen", "condition", "copied", "parts", "positive")

    def __init__(
        self, make: Callable[[], Any], chosen: bool, parts: int = 1, condition: Any = None, positive: bool = True
    ) -> None:
        self._make: Callable[[], Any] | None = make
        self._value: Any = None
        self.chosen = chosen
        self.parts = parts
        self.condition = condition
        self.positive = positive
        self.copied = False

    def value(self) -> Any:
        """The mask, of a shape that broadcasts to that of the cotangent."""
        if self._make is not None:
            self._value = self._make()
            self._make = None
        return self._value

    def same(self, other: Mask | None) -> bool:
        """Whether another is known to hold in the same places."""
        return other is self or (
            other is not None
            and self.condition is not None
            and other.condition is self.condition
            and other.positive is self.positive
        )

    def full(self, shape: tuple[int, ...]) -> Any:
        """The mask in the shape of the cotangent."""
        value = self.value()
        return value if value.shape == shape else broadcast_to(value, shape=shape)


def both(first: Mask | None, second: Mask) -> Mask:
    """Where both count."""
    if first is None:
        return second
    made = Mask(lambda: logical_and(first.value(), second.value()), first.chosen or second.chosen)
    made.copied = first.copied and second.copied
    return made


def either(first: Mask | None, second: Mask | None) -> Mask | None:
    """Where one of two counts; None, everywhere, for the two choices of one `where`, and where there are too many."""
    if first is None or second is None or first.parts + second.parts > _MOST:
        return None
    if first.same(second):
        return first
    if first.condition is not None and first.condition is second.condition:
        return None
    made = Mask(
        lambda: logical_or(first.value(), second.value()), first.chosen or second.chosen, first.parts + second.parts
    )
    made.copied = first.copied or second.copied
    return made


class Place:
    """Where in a larger array of zeros a cotangent belongs: the operands and parameters of `scatter` or its like."""

    __slots__ = ("args", "chosen", "params", "prim", "shape")

    def __init__(self, prim: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> None:
        self.prim = prim
        self.args = args
        self.params = params
        self.shape: tuple[int, ...] = params["shape"]
        self.chosen = any(getattr(arg, "shape", ()) for arg in args)

    def spread(self, raw: Any) -> Any:
        """Zeros with `raw` in this place."""
        return self.prim(raw, *self.args, **self.params)

    def pick(self, x: Any) -> Any:
        """What of a forward value belongs to this place."""
        if isinstance(x, Aval) or not getattr(x, "shape", ()):
            return x
        if x.shape != self.shape:
            x = broadcast_to(x, shape=self.shape)
        if self.prim.name == "scatter":
            return getitem(x, *self.args, index=self.params["index"])
        return take_along_axis(x, *self.args, axis=self.params["axis"])


def everywhere(like: Any, shape: tuple[int, ...], holds: bool = True) -> Any:
    """A mask that holds everywhere (or nowhere), for cotangents like this one."""
    if isinstance(like, Node):
        return like.builder.emit(REGISTRY["full"], (holds,), {"shape": shape})
    return np.full(shape, holds)


def holds_everywhere(mask: Mask) -> bool:
    """Whether a mask is known to: slices that together cover an array."""
    if mask.chosen:
        return False
    value = mask.value()
    if isinstance(value, Node):
        if any(node.is_input for node in reachable([value])):
            return False
        (value,) = interpret(Program("mask", (), (value,)), ())
    return bool(np.all(value))
