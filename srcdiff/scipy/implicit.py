"""Values defined by an equation: SciPy finds them, the implicit function theorem gives their derivatives.

With J the Jacobian where SciPy stopped, a constant, each step x - inv(J) (residual(x) - residual there) changes no
value and makes derivatives right to one more order. They are right to third order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.api.transforms import detach, grad, jacobian
from srcdiff.errors import NotDifferentiableError
from srcdiff.functions.dispatch import plain
from srcdiff.functions.shaping import arrayed
from srcdiff.ops.linalg import solve
from srcdiff.origin import where
from srcdiff.tape.site import user_place

_ORDERS = 3


def flat(x: Any) -> Any:
    """All elements in a row."""
    return np.reshape(arrayed(x), (-1,))


def implicit(residual: Callable[[Any], Any], found: Any) -> Any:
    """The vector that SciPy found, moving with all that `residual` depends on so that its value there stays."""
    at = np.asarray(plain(found), float)
    slope = np.asarray(plain(detach(jacobian(residual)(at))))
    there = plain(detach(residual(at)))
    if slope.size and np.linalg.matrix_rank(slope) < slope.shape[0]:
        raise NotDifferentiableError(
            f"the solution is not isolated: its Jacobian of shape {slope.shape} is singular, at {where(*user_place(2))}"
        )
    x: Any = at
    for _ in range(_ORDERS):
        x = x - solve(slope, residual(x) - there)
    return x


def stationary(loss: Callable[[Any], Any], found: Any, free: Any = None) -> Any:
    """The vector at which SciPy found a minimum of `loss`, of which the elements that are not `free` stay."""
    at = np.asarray(plain(found), float)
    slope = grad(lambda v: np.reshape(loss(v), ()))
    if free is None or np.all(free):
        return implicit(slope, at)
    if not np.any(free):
        return at
    chosen = np.eye(at.size)[:, free]
    fixed = np.where(free, 0.0, at)
    place: Any = lambda v: np.matmul(chosen, v) + fixed
    return place(implicit(lambda v: np.matmul(chosen.T, slope(place(v))), at[free]))
