"""What to call values that the user gave no name: after the operation that makes them, and what it is applied to."""

from __future__ import annotations

from srcdiff.core.program import Node

LONGEST = 24

#: for operations whose name would make no good variable
STEMS = {
    "add": "total", "sub": "diff", "mul": "product", "div": "ratio", "neg": "minus", "matmul": "product",
    "sum": "total", "sum_to": "total", "mean": "average", "max": "peak", "min": "low", "prod": "product",
    "where": "chosen", "pow": "power", "square": "squares", "broadcast_to": "spread", "reshape": "reshaped",
    "transpose": "turned", "cast": "converted", "getitem": "part", "scatter": "scattered", "exp": "power",
    "equal": "mask", "not_equal": "mask", "less": "mask", "less_equal": "mask", "greater": "mask",
    "greater_equal": "mask", "isnan": "mask", "isinf": "mask", "attains": "ties", "sqrt": "root", "sigmoid": "share",
    "contiguous": "turned",
}  # fmt: skip


def stem(node: Node) -> str:
    """The name of a value in a statement: its own, or a short one after the operation that made it."""
    if node.name:
        return node.name
    if node.hint:
        return node.hint
    if node.prim is None:
        return "x"
    if node.prim.name in ("mul", "div", "neg") and node.shape == ():
        return "scale"
    return STEMS.get(node.prim.name, node.prim.name)


def described(node: Node) -> str | None:
    """A name that tells which value of the user's program this is: its own, or `exp_z` for np.exp(z)."""
    if node.name or node.prim is None:
        return node.name
    inner = node.operands[0] if node.operands else None
    if len(node.operands) == 1 and inner is not None and not inner.is_literal:
        below = described(inner)
        words = _words(node, below) if below else ""
        if 0 < len(words) <= LONGEST:
            return words
    return stem(node)


def _words(node: Node, below: str) -> str:
    assert node.prim is not None
    if node.prim.name == "transpose":
        return f"{below}_T"
    if node.prim.name == "getitem":
        parts = node.kwargs["index"].parts
        return f"{below}_{parts[0]}" if len(parts) == 1 and type(parts[0]) is int and parts[0] >= 0 else f"{below}_part"
    return f"{node.prim.name}_{below}"
