"""What a training step does besides computing, in the order in which it does it:

Accumulate  a cotangent arrives at a leaf
Assign      a leaf is given another Tensor as its gradient
Write       a tensor that outlives the call is written in place
Call        a method whose work is not looked into, an optimizer's step, is called
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
class Accumulate:
    """A cotangent, `node`, was added to the gradient of a leaf. `value` is what it was in the recorded call."""

    target: Target
    node: Node
    value: Any
    name: str


@dataclass(slots=True)
class Assign:
    """The Tensor that `node` stands for took the place of the gradient of `target`, whatever that was."""

    target: Target
    node: Node
    value: Any
    name: str


@dataclass(slots=True)
class Write:
    """A tensor was given a new value in place; `silent`: through its `.data`, which versions do not count."""

    target: Target
    node: Node
    value: Any
    name: str
    silent: bool


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


Effect = Accumulate | Assign | Write | Call
