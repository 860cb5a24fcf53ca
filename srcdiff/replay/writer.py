"""The text of a generated function as it grows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from srcdiff.codegen.namer import Namer
from srcdiff.dtypes import default_dtype
from srcdiff.replay.places import Place

_WIDTH = 100


class Writer:
    """The text of a function as it grows, and the objects that it names."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {}
        self._bound: dict[int, str] = {}
        #: the variables of Tensors among the arguments
        self.tensors: list[str] = []
        #: the variables of numbers that are no constants, by their places
        self.numbers: dict[Place, str] = {}
        self._namer = Namer()
        for name in ("args", "kwargs"):
            self.fresh(name)

    def bind(self, value: Any, stem: str) -> str:
        """The name of an object."""
        name = self._bound.get(id(value))
        if name is None:
            name = self._bound[id(value)] = self.fresh(stem)
            self.names[name] = value
        return name

    def fresh(self, stem: str) -> str:
        """A name for a variable."""
        return self._namer.take(stem)

    def require_default_dtype(self) -> None:
        """Give up unless new Tensors have the dtype that they have now."""
        self.require(f"{self.bind(default_dtype, 'default_dtype')}() == {self.bind(default_dtype(), 'dtype')}")

    def require(self, *conditions: str, instead: str = "False", before: Sequence[str] = ()) -> None:
        """Give up unless the conditions hold, and return something instead, after the lines `before`."""
        if not conditions:
            return
        line = f"    if not ({' and '.join(conditions)}):"
        if len(line) <= _WIDTH:
            self.lines.append(line)
        else:
            first, *others = conditions
            self.lines += ["    if not (", f"        {first}", *(f"        and {each}" for each in others), "    ):"]
        self.lines += [*before, f"        return {instead}"]


def targets(names: Sequence[str]) -> str:
    """What stands on the left where a sequence is unpacked."""
    return ", ".join(names) if len(names) > 1 else f"{names[0]},"
