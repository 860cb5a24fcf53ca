"""Names of variables in generated code: unique, and never a keyword, a builtin, `np` or `rt`."""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata

RESERVED = frozenset(keyword.kwlist) | frozenset(keyword.softkwlist) | frozenset(dir(builtins)) | {"np", "rt"}


class Namer:
    """Hands out names for one function."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    def take(self, wanted: str) -> str:
        """`wanted` itself if it is free and allowed, else `wanted_2`, `wanted_3` and so on."""
        name = re.sub(r"\W", "_", unicodedata.normalize("NFKC", wanted)) or "x"
        if not name.isidentifier():
            name = "x" + re.sub(r"[^0-9a-zA-Z_]", "_", name)
        if name not in RESERVED and name not in self._taken:
            self._taken[name] = 1
            return name
        k = self._taken.get(name, 1)
        while True:
            k += 1
            candidate = f"{name}_{k}"
            if candidate not in self._taken and candidate not in RESERVED:
                self._taken[name] = k
                self._taken[candidate] = 1
                return candidate
