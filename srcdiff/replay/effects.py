"""What a training step does besides computing, in the order in which it does it:

Change  a value that the program computes goes to a tensor that outlives the call, or to its gradient
Call    a method whose work is not looked into, an optimizer's step, is called
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from srcdiff.core.program import Node


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A tensor that outlives the call: `tensor` itself, or the `argument` of that number; or the gradient of that."""

    tensor: Any
    argument: int | None = None
    gradient: bool = False

    def _key(self) -> tuple[Any, ...]:
        return (id(self.tensor), self.argument, self.gradient)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


@dataclass(slots=True)
class Change:
    """A value of the program, `node`, which was `value` in the recorded call, went to the tensor of a target:

    accumulate  a cotangent was added to its gradient
    assign      a Tensor took the place of its gradient, whatever that was
    overwrite   it was written in place
    replace     it was written through its `.data`, which versions do not count
    """

    how: str
    target: Target
    node: Node
    value: Any
    name: str


@dataclass(slots=True)
class Call:
    """`function(*args, **kwargs)` was called; a Target among the arguments stands for its tensor. It gave `result`.
    `written(args[0])` gives the tensors that it may change, which were `moved`, if these are no gradients.
    """

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any = None
    written: Any = None
    moved: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Returned:
    """What the step returns is what a Call gave, the effect of this number; as a Python number if it is an `item`."""

    effect: int
    item: bool = False


Effect = Change | Call
