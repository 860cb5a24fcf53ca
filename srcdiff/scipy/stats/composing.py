"""Functions of a distribution from other functions of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from srcdiff.ops import elementwise as e
from srcdiff.ops.transcendental import log, log1p

Function = Callable[..., Any]


def all_positive(*shapes: Any) -> Any:
    """Whether each is positive."""
    valid: Any = True
    for shape in shapes:
        valid = valid & (shape > 0)
    return valid


def after(outer: Function, f: Function | None) -> Function | None:
    """outer(f(x, *shapes))."""
    return None if f is None else lambda x, *shapes: outer(f(x, *shapes))


def before(inner: Function, f: Function | None) -> Function | None:
    """f(inner(x), *shapes)."""
    return None if f is None else lambda x, *shapes: f(inner(x), *shapes)


def given(*functions: Function | None) -> bool:
    """Whether one of them is."""
    return any(f is not None for f in functions)


def log_of(part: Function | None, other: Function | None, by_itself: bool) -> Function | None:
    """log(part), by log1p(-other) where that has more digits: everywhere if `part` is but 1 - other."""
    if part is None or other is None:
        return after(log, part)
    if not by_itself:
        return after(lambda q: log1p(-q), other)

    def compute(y: Any, *shapes: Any) -> Any:
        p, q = part(y, *shapes), other(y, *shapes)
        large = p > 0.5
        return e.where(large, log1p(-e.where(large, q, 0.0)), log(e.where(large, 1.0, p)))

    return compute


def minus(x: Any) -> Any:
    """-x."""
    return -x


def rest(x: Any) -> Any:
    """1 - x."""
    return 1.0 - x
