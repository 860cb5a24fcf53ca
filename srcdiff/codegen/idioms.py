"""How operations are written where a person would not write the primitive's expression: `x.T`, `x[:, None]`, `2 * x`.

Guarantee: the tree evaluates to what the expression evaluates to, bit for bit; sums along rows to rounding where that
is allowed, and the sign of a zero that is the maximum may be another.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from string import ascii_lowercase
from typing import Any, Final

import gast
import numpy as np

from srcdiff.codegen.template import attribute, call, constant, fill, method, subscript
from srcdiff.core.program import Node
from srcdiff.index import Dynamic
from srcdiff.runtime_choice import LEAST
from srcdiff.runtime_math import has_short_rows

_LOAD = gast.Load()
_SMALL = 1 << 14  # elements; larger arrays of one repeated number are views


def written(node: Node, operands: list[Any], quick: bool = False, exact: bool = True) -> Any:
    """The tree of an operation applied to the trees of its operands; with `quick`, what runs fastest."""
    assert node.prim is not None
    for idioms, fits in ((ROWS, quick and not exact), (QUICK, quick), (IDIOMS, True)):
        if fits and node.prim.name in idioms:
            tree = idioms[node.prim.name](node, operands)
            if tree is not None:
                return tree
    return fill(node.prim, operands, node.params)


def number(node: Node, user: Node) -> Any:
    """A literal, as an operand of `user`: 2.0 is written 2 beside an array or number of floats."""
    value = node.literal
    prim = user.prim
    if type(value) is float and value.is_integer() and abs(value) < 1e6 and prim is not None and prim.elementwise:
        beside = any(other.literal is None and other.dtype.kind in "fc" for other in user.operands)
        if beside and math.copysign(1.0, value) == (1.0 if value >= 0 else -1.0):
            return constant(int(value))
    return constant(value)


def without_axes(x: tuple[int, ...], shape: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """For a sum of an array of shape x to `shape`: leading axes that go, and later axes that become 1."""
    extra = len(x) - len(shape)
    return tuple(range(extra)), tuple(k + extra for k, n in enumerate(shape) if n == 1 and x[k + extra] != 1)


def _sum_to(node: Node, operands: list[Any]) -> Any:
    (x,) = operands
    gone, kept = without_axes(node.operands[0].shape, node.shape)
    if gone and kept and node.shape != (1,) * node.ndim:
        return None
    if gone and kept:
        return method(call("np.sum", x), "reshape", constant(node.shape)) if node.shape else None
    axes = gone or kept
    keywords: dict[str, Any] = {}
    if len(axes) < node.operands[0].ndim or kept:
        keywords["axis"] = constant(axes[0] if len(axes) == 1 else axes)
    if kept:
        keywords["keepdims"] = constant(True)
    return call("np.sum", x, **keywords)


def _transpose(node: Node, operands: list[Any]) -> Any:
    (x,) = operands
    axes: Any = node.kwargs["axes"]
    n = len(axes)
    if axes == tuple(range(n - 1, -1, -1)):
        return gast.Attribute(x, "T", _LOAD)
    if axes == (*range(n - 2), n - 1, n - 2):
        return method(x, "swapaxes", constant(-1), constant(-2))
    return method(x, "transpose", *map(constant, axes))


def _reshape(node: Node, operands: list[Any]) -> Any:
    (x,) = operands
    have, shape = node.operands[0].shape, node.shape
    if have == ():
        return None
    new_axes = inserted(have, shape)
    if new_axes is not None:
        return gast.Subscript(x, new_axes, _LOAD)
    if len(shape) == 1 and shape[0]:
        return method(x, "reshape", constant(-1))
    return method(x, "reshape", *map(constant, shape)) if shape else method(x, "reshape", constant(()))


def inserted(have: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    """`:, None` and the like if `shape` is `have` with axes of length 1 put in, and no other reading is possible."""
    if 1 in have or len(shape) <= len(have) or tuple(n for n in shape if n != 1) != have:
        return None
    parts: list[Any] = [constant(None) if n == 1 else gast.Slice(None, None, None) for n in shape]
    while len(parts) > 1 and type(parts[-1]) is gast.Slice:
        parts.pop()
    if len(have) > 1 and all(type(part) is gast.Slice for part in parts[: len(have)]) and len(parts) > len(have):
        parts[: len(have)] = [constant(Ellipsis)]
    return gast.Tuple(parts, _LOAD) if len(parts) > 1 else parts[0]


def _broadcast_to(node: Node, operands: list[Any]) -> Any:
    (x,) = operands
    (source,) = node.operands
    size = math.prod(node.shape)
    if source.is_literal and source.literal == 0 and math.copysign(1.0, float(source.literal)) > 0:
        return zeros(node)
    if source.shape == () and source.aval.weak is None and size <= _SMALL:
        return call("np.full", constant(node.shape), x)
    return None


def zeros(node: Node) -> Any:
    """A new array of zeros like a value."""
    shape = constant(node.shape[0] if node.ndim == 1 else node.shape)
    dtype = [] if node.dtype == np.float64 else [constant(node.dtype)]
    return call("np.zeros", shape, *dtype)


def _cast(node: Node, operands: list[Any]) -> Any:
    (x,) = operands
    return method(x, "astype", constant(node.kwargs["dtype"])) if node.operands[0].aval.weak is None else None


def _mul(node: Node, operands: list[Any]) -> Any:
    x, y = node.operands
    turn = y.is_literal or (x.shape == () and y.shape != () and type(operands[0]) is gast.BinOp)
    left, right = (operands[1], operands[0]) if turn and not x.is_literal else operands
    return gast.BinOp(left, gast.Mult(), right)


def adds_up(node: Node) -> bool:
    """Whether the entries of a scatter are so many, and repeated, that a helper adds them up faster than np.add.at."""
    size, count = math.prod(node.shape), math.prod(node.operands[0].shape)
    return not node.kwargs["unique"] and count >= 64 and size <= 16 * count and node.dtype.char in "fdFD"


def index_tree(where: Any) -> Any:
    """What stands between brackets, as an expression of its own."""
    parts = where.elts if type(where) is gast.Tuple else [where]
    if any(type(part) is gast.Slice for part in parts):
        return gast.Subscript(attribute("np.s_"), where, _LOAD)
    return where


def _scatter(node: Node, operands: list[Any]) -> Any:
    value, *dynamic = operands
    params = node.kwargs
    index = index_tree(subscript(params["index"], dynamic))
    return call("rt.scatter", value, index, constant(params["shape"]), constant(params["unique"]))


def _getitem(node: Node, operands: list[Any]) -> Any:
    """`x.take(rows, axis=0)`, which is up to ten times faster than `x[rows]` if x is a matrix."""
    base, *dynamic = node.operands
    if node.kwargs["index"].parts != (Dynamic(0),) or base.ndim < 2 or dynamic[0].ndim == 0:
        return None
    return method(operands[0], "take", operands[1], axis=constant(0)) if _counts(dynamic[0].dtype) else None


def _where(node: Node, operands: list[Any]) -> Any:
    """A helper, which takes a tenth of the time of np.where where it does something else than np.where."""
    return call("rt.where", *operands) if node.aval.size >= LEAST and node.dtype.char in "fd" else None


def _reduces_short_rows(node: Node) -> bool:
    (x,) = node.operands
    if x.is_literal or node.dtype is not x.dtype or ("axis" not in node.kwargs and node.shape != (*x.shape[:-1], 1)):
        return False
    return has_short_rows(x.aval, node.kwargs.get("axis", -1))


def _row_sum(node: Node, operands: list[Any]) -> Any:
    if not _reduces_short_rows(node):
        return None
    letters = ascii_lowercase[: node.operands[0].ndim]
    total = call("np.einsum", constant(f"{letters}->{letters[:-1]}"), operands[0])
    if node.ndim < len(letters):
        return total
    return gast.Subscript(total, gast.Tuple([constant(Ellipsis), constant(None)], _LOAD), _LOAD)


def _row_max(node: Node, operands: list[Any]) -> Any:
    if not _reduces_short_rows(node):
        return None
    return call("rt.row_max", operands[0], constant(node.ndim == node.operands[0].ndim))


def _counts(dtype: Any) -> bool:
    return dtype.kind in "iu" and np.can_cast(dtype, np.intp)


IDIOMS: Final[dict[str, Callable[[Node, list[Any]], Any]]] = {
    "sum_to": _sum_to,
    "transpose": _transpose,
    "reshape": _reshape,
    "broadcast_to": _broadcast_to,
    "cast": _cast,
    "mul": _mul,
    "scatter": _scatter,
    "where": _where,
}
QUICK: Final[dict[str, Callable[[Node, list[Any]], Any]]] = {"getitem": _getitem}
#: to rounding, for short rows alone
ROWS: Final[dict[str, Callable[[Node, list[Any]], Any]]] = {"sum": _row_sum, "sum_to": _row_sum, "max": _row_max}
