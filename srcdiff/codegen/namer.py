"""Names of variables in generated code: unique, and never a keyword, a builtin, `np` or `rt`."""

from __future__ import annotations

import builtins
import keyword
import re

from srcdiff.core.program import Node

RESERVED = frozenset(keyword.kwlist) | frozenset(keyword.softkwlist) | frozenset(dir(builtins)) | {"np", "rt"}

#: what to call the result of an operation that the user gave no name
STEMS = {
    "add": "total", "sub": "gap", "mul": "product", "div": "ratio", "neg": "minus", "matmul": "product",
    "sum": "total", "sum_to": "total", "mean": "average", "max": "peak", "min": "low", "prod": "product",
    "where": "chosen", "pow": "power", "square": "squares", "broadcast_to": "spread", "reshape": "reshaped",
    "transpose": "turned", "cast": "converted", "getitem": "part", "scatter": "scattered", "exp": "power",
    "equal": "mask", "not_equal": "mask", "less": "mask", "less_equal": "mask", "greater": "mask",
    "greater_equal": "mask", "isnan": "mask", "isinf": "mask", "attains": "ties", "sqrt": "root", "sigmoid": "share",
}  # fmt: skip


def stem(node: Node) -> str:
    """The name a value should have: its own, or one after the operation that made it."""
    if node.name:
        return node.name
    if node.prim is None:
        return "x"
    if node.prim.name in ("mul", "div", "neg") and node.shape == ():
        return "scale"
    return STEMS.get(node.prim.name, node.prim.name)


class Namer:
    """Hands out names for one function."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    def take(self, wanted: str) -> str:
        """`wanted` itself if it is free and allowed, else `wanted_2`, `wanted_3` and so on."""
        name = re.sub(r"\W", "_", wanted) or "x"
        if name[0].isdigit():
            name = f"x{name}"
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
