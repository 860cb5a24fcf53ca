"""Riccati equations, by the implicit function theorem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg

from srcdiff.functions.dispatch import plain
from srcdiff.scipy.implicit import flat, implicit
from srcdiff.scipy.linalg.matrices import square
from srcdiff.scipy.signal.convolution import operands
from srcdiff.scipy.support import mirrors, unsupported

__all__ = ["solve_continuous_are", "solve_discrete_are"]


def _moved(name: str, solver: Any, residual: Callable[..., Any], given: tuple[Any, ...], balanced: bool) -> Any:
    a, b, q, r = operands(*given)
    if any(m.dtype.kind == "c" or m.ndim != 2 for m in (a, b, q, r)):
        raise unsupported(f"scipy.linalg.{name}: complex matrices or stacks of them")
    square(a)
    found = solver(plain(a), plain(b), plain(q), plain(r), balanced=balanced)
    shape = found.shape
    x = implicit(lambda v: flat(residual(np.reshape(v, shape), a, b, q, r)), np.reshape(found, (-1,)))
    return np.reshape(x, shape)


def _continuous(x: Any, a: Any, b: Any, q: Any, r: Any) -> Any:
    return a.T @ x + x @ a - x @ b @ np.linalg.solve(r, b.T @ x) + q


def _discrete(x: Any, a: Any, b: Any, q: Any, r: Any) -> Any:
    return a.T @ x @ a - x - a.T @ x @ b @ np.linalg.solve(r + b.T @ x @ b, b.T @ x @ a) + q


@mirrors(linalg.solve_continuous_are)
def solve_continuous_are(a: Any, b: Any, q: Any, r: Any, balanced: bool = True) -> Any:
    return _moved("solve_continuous_are", linalg.solve_continuous_are, _continuous, (a, b, q, r), balanced)


@mirrors(linalg.solve_discrete_are)
def solve_discrete_are(a: Any, b: Any, q: Any, r: Any, balanced: bool = True) -> Any:
    return _moved("solve_discrete_are", linalg.solve_discrete_are, _discrete, (a, b, q, r), balanced)
