"""`once_differentiable`: a backward that runs without recording, whose result refuses to be differentiated again."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from srcdiff.autograd.modes import Mode
from srcdiff.errors import AutogradError
from srcdiff.tape import record
from srcdiff.tape.modes import modes
from srcdiff.tape.node import LEAF, GradNode, next_seq
from srcdiff.tape.value import TensorBase


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator for a `backward` that cannot be differentiated: it runs without recording, and a second derivative
    raises.
    """

    @functools.wraps(backward)
    def wrapper(ctx: Any, *grads: Any) -> Any:
        recording = modes.grad
        with Mode(grad=False):
            made = backward(ctx, *grads)
        if not recording or not any(isinstance(g, TensorBase) and g._edge is not None for g in grads):
            return made
        results = made if isinstance(made, tuple) else (made,)
        refused = tuple(_refusing(r, grads) if isinstance(r, TensorBase) else r for r in results)
        return refused if isinstance(made, tuple) else refused[0]

    return wrapper


def _refusing(result: Any, grads: tuple[Any, ...]) -> Any:
    """The same value with a node that refuses to run."""
    out = record.plain(result._value)
    out._edge = Refusal(tuple(g._edge for g in grads if isinstance(g, TensorBase) and g._edge is not None))
    return out


class Refusal(GradNode):
    """The node of a result that cannot be differentiated again."""

    __slots__ = ()

    def __init__(self, inputs: tuple[Any, ...]) -> None:
        self.site = LEAF
        self.inputs = inputs
        self.saved = ()
        self.seq = next_seq()

    def apply(self, ct: Any, create_graph: bool) -> list[Any]:
        """Refuse."""
        raise AutogradError("trying to differentiate twice a function that was marked with @once_differentiable")
