"""Steps of an implicit method through a solution that is known: Radau's of order 5 (Hairer and Wanner, Solving Ordinary
Differential Equations II, IV.8), whose stages are the roots of an equation and are differentiated as such.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.api.transforms import detach
from srcdiff.autograd.backward import grad as pulled
from srcdiff.functions.dispatch import plain
from srcdiff.ops.linalg import solve
from srcdiff.scipy.callbacks import Watched
from srcdiff.scipy.implicit import settled
from srcdiff.tape.value import TensorBase

_R = float(np.sqrt(6.0))
_C = np.array([(4 - _R) / 10, (4 + _R) / 10, 1.0])
_A = np.array([
    [(88 - 7 * _R) / 360, (296 - 169 * _R) / 1800, (-2 + 3 * _R) / 225],
    [(296 + 169 * _R) / 1800, (88 + 7 * _R) / 360, (-2 - 3 * _R) / 225],
    [(16 - _R) / 36, (16 + _R) / 36, 1 / 9],
])  # fmt: skip


def implicit_step(known: Callable[[Any], Any]) -> Callable[[Watched, Any, Any, Any], Any]:
    """Steps like `ode._step` along the solution that SciPy knows at every time."""

    def step(right: Watched, t: Any, y: Any, h: Any) -> Any:
        size = y.shape[0]
        found = np.concatenate([known(float(plain(t)) + c * float(plain(h))) for c in _C])

        def stages_of(x: Any) -> tuple[list[Any], list[Any], Any]:
            """The stages, the slopes there, and by how much the stages are not those of the method."""
            stages = [x[k * size : (k + 1) * size] for k in range(3)]
            slopes = [right.value(t + h * float(c), stage) for c, stage in zip(_C, stages, strict=True)]
            moved = [y + h * sum(float(a) * slope for a, slope in zip(row, slopes, strict=True)) for row in _A]
            return stages, slopes, x - np.concatenate(moved)

        first = stages_of(found)[2]
        there = plain(detach(first))

        def newton(x: Any) -> Any:
            stages, slopes, away = stages_of(x)
            jacobians = [_jacobian(slope, stage) for slope, stage in zip(slopes, stages, strict=True)]
            blocks = [[float(a) * jacobian for a, jacobian in zip(row, jacobians, strict=True)] for row in _A]
            return x - solve(np.eye(3 * size) - h * np.block(blocks), away - there)

        return settled(newton, found, isinstance(first, TensorBase) and first._traced)[2 * size :]

    return step


def _jacobian(made: Any, x: Any) -> Any:
    """The derivatives of each element of a vector in each of another, recorded."""
    rows = np.eye(x.shape[0])
    if not isinstance(made, TensorBase) or made._edge is None:
        return 0.0 * rows
    return pulled(made, x, rows, create_graph=True, is_grads_batched=True, materialize_grads=True)[0]
