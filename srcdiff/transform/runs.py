"""What a repeated body is made of: rows of operations, and what each operand is in every iteration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from srcdiff.core.program import Node


@dataclass(frozen=True, slots=True)
class Local:
    """Operation j of the same iteration."""

    j: int


@dataclass(frozen=True, slots=True)
class Before:
    """Operation j of the iteration before; `initial` in the first."""

    j: int
    initial: Node


@dataclass(frozen=True, slots=True)
class Same:
    """One value for all iterations."""

    node: Node


@dataclass(frozen=True, slots=True)
class Each:
    """A value for each iteration; None where the last one has none."""

    nodes: tuple[Node | None, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """The operation is `base[index]` with part `place` of the index being `start + step * iteration`."""

    base: Node
    start: int
    step: int
    place: int


Operand = Local | Before | Same | Each


@dataclass(eq=False, slots=True)
class Run:
    """Rows of operations, one for each iteration; and what the operands of operation j are, or that it is a Part."""

    rows: list[list[Node | None]]
    operands: list[tuple[Operand, ...] | Part] = field(default_factory=list)

    @property
    def trips(self) -> int:
        """The number of iterations."""
        return len(self.rows)

    def kinds(self, j: int) -> tuple[Operand, ...]:
        """What the operands of operation j are; nothing if it is a Part."""
        kinds = self.operands[j]
        return () if isinstance(kinds, Part) else kinds

    def without_last(self) -> Run:
        """The run that ends one iteration earlier."""
        operands: list[tuple[Operand, ...] | Part] = [
            kinds if isinstance(kinds, Part) else tuple(
                Each(kind.nodes[:-1]) if isinstance(kind, Each) else kind for kind in kinds
            )
            for kinds in self.operands
        ]  # fmt: skip
        return Run(self.rows[:-1], operands)

    @property
    def sample(self) -> list[Any]:
        """A row with all operations."""
        return self.rows[1]
