"""Values defined by an equation: SciPy finds them, the implicit function theorem gives their derivatives.

A solution is a node of the graph of its own. It knows a step of Newton's method from where SciPy stopped, recorded: a
step from a solution does not depend, to first order, on where it starts, so what the solution depends on is what the
step depends on besides. That is true wherever the solution moves, so the derivative can itself be differentiated, any
number of times.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.api.transforms import detach, grad
from srcdiff.autograd.backward import grad as pulled
from srcdiff.autograd.walk import walk
from srcdiff.errors import NotDifferentiableError
from srcdiff.functions.dispatch import plain
from srcdiff.functions.shaping import arrayed
from srcdiff.ops.linalg import solve
from srcdiff.origin import where
from srcdiff.tape import record
from srcdiff.tape.lower import collect_inner, edge_node
from srcdiff.tape.node import LEAF, Edge, GradNode, next_seq
from srcdiff.tape.site import user_place
from srcdiff.tape.value import TensorBase


class SolutionBackward(GradNode):
    """Where a solution is in the graph. What is sent to it goes back through the step, which was recorded from it, but
    not to the solution again. It keeps what the step has saved: a derivative of the derivative reaches the step's nodes
    first, and frees them.
    """

    __slots__ = ("_kept", "_nodes", "_root")

    def __init__(self) -> None:
        self.site = LEAF
        self.inputs = ()
        self.saved = ()
        self.seq = next_seq()

    def depends(self, root: Edge, start: int) -> None:
        """The step leads to `root`; nodes older than `start` are not part of it."""
        inner, _ = collect_inner([root], start)
        known = set(map(id, inner))
        outer = {
            (id(edge_node(edge)), edge[1] if type(edge) is tuple else 0): edge
            for node in inner
            for edge in node.inputs
            if edge is not None and id(edge_node(edge)) not in known and edge_node(edge) is not self
        }
        self.inputs = tuple(outer.values())
        self._root = root
        self._nodes = [*{id(edge_node(edge)): edge_node(edge) for edge in self.inputs}.values(), *inner]
        self._kept = [(node, node.saved) for node in inner]

    def apply(self, ct: Any, create_graph: bool) -> list[Any]:
        """The cotangents of all that the step depends on besides the solution."""
        freed = [(node, saved) for node, saved in self._kept if node.saved is None]
        for node, saved in freed:
            node.saved = saved
        try:
            return walk(
                [self._root], [ct], self.inputs, retain=True, create_graph=create_graph, nodes=self._nodes, partial=True
            )[0]
        finally:
            for node, _ in freed:
                node.saved = None


def settled(step: Callable[[Any], Any], at: Any, traced: bool) -> Any:
    """`at`, with the derivative of `step(at)`, of any order. `step` is a function that has the value `at` there and
    whose derivative in its argument vanishes there, whatever else it depends on. `traced`: that is the argument of a
    function under differentiation.
    """
    x = record.plain(np.asarray(at), traced)
    node = x._edge = SolutionBackward()
    start = next_seq()
    made = step(x)
    if made is x or made._edge is None:
        return at
    node.depends(made._edge, start)
    return x if node.inputs else at


def flat(x: Any) -> Any:
    """All elements in a row."""
    return np.reshape(arrayed(x), (-1,))


def implicit(residual: Callable[[Any], Any], found: Any) -> Any:
    """The vector that SciPy found, moving with all that `residual` depends on so that its value there stays."""
    at = np.asarray(plain(found), float)
    first = residual(at)
    there = plain(detach(first))

    def step(x: Any) -> Any:
        away = residual(x) - there
        if not isinstance(away, TensorBase) or away._edge is None:
            return x
        rows = np.eye(at.size)
        slope = pulled(away, x, rows, create_graph=True, is_grads_batched=True, materialize_grads=True)[0]
        _check_isolated(slope._value)
        return x - solve(slope, away)

    return settled(step, at, isinstance(first, TensorBase) and first._traced)


def _check_isolated(slope: Any) -> None:
    if slope.size and np.linalg.matrix_rank(slope) < slope.shape[0]:
        raise NotDifferentiableError(
            f"the solution is not isolated: its Jacobian of shape {slope.shape} is singular, at {where(*user_place(4))}"
        )


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
