"""Names of variables in generated code: unique, and never a keyword, a builtin, `np` or `rt`."""

from __future__ import annotations

import builtins
import keyword
import re

RESERVED = frozenset(keyword.kwlist) | frozenset(keyword.softkwlist) | frozenset(dir(builtins)) | {"np", "rt"}


class Namer:
    """Hands out names for one function."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    def take(self, wanted: str) -> str:
        """`wanted` itself if it is free and allowed, else with the lowest number that makes it so."""
        stem = re.sub(r"\W", "_", wanted) or "x"
        if stem[0].isdigit():
            stem = f"x{stem}"
        if stem not in RESERVED and stem not in self._taken:
            self._taken[stem] = 1
            return stem
        k = self._taken.get(stem, 1)
        while True:
            k += 1
            candidate = f"{stem}{'_' if stem[-1].isdigit() else ''}{k}"
            if candidate not in self._taken and candidate not in RESERVED:
                self._taken[stem] = k
                self._taken[candidate] = 1
                return candidate
