"""Work on long arrays block by block, as the parameter of one operation: a program that runs on some rows at a time.

Guarantees: immutable, equal only to itself. Running it does on each block what the program says; results that have rows
are put together, the others added up in the order of the blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from srcdiff.aval import Aval, aval
from srcdiff.core.builder import interpret
from srcdiff.core.program import Program


@dataclass(frozen=True, eq=False, slots=True)
class Blocks:
    """`body` has `size` rows of each operand that is `cut`, and all of the others. `rows` is a multiple of `size`.

    The first `sums` outputs of the body are added up, the others have `size` rows each.
    """

    body: Program
    rows: int
    size: int
    cut: tuple[bool, ...]
    sums: int

    @property
    def avals(self) -> tuple[Aval, ...]:
        """The types of the results."""
        outs = [out.aval for out in self.body.outputs if out is not None]
        return tuple(
            out if k < self.sums else aval((self.rows, *out.shape[1:]), out.dtype) for k, out in enumerate(outs)
        )

    def __call__(self, xs: Sequence[Any]) -> tuple[Any, ...]:
        """The results, by interpreting the body."""
        results: list[Any] = [np.empty(each.shape, each.dtype) for each in self.avals]
        for start in range(0, self.rows, self.size):
            here = slice(start, start + self.size)
            outs = interpret(self.body, tuple(x[here] if cut else x for x, cut in zip(xs, self.cut, strict=True)))
            for k, out in enumerate(outs):
                if k >= self.sums:
                    results[k][here] = out
                else:
                    results[k] = out if start == 0 else results[k] + out
        return tuple(results)
