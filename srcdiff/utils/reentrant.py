"""Checkpoints as PyTorch first had them: forward runs without recording, backward runs it again and backward through
it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from srcdiff import random
from srcdiff.autograd.backward import backward
from srcdiff.autograd.function import Function
from srcdiff.autograd.modes import Mode
from srcdiff.errors import AutogradError
from srcdiff.tape.value import TensorBase


class CheckpointFunction(Function):
    """The function as one operation. Leaves it reads from outside get their `.grad` while it runs backward."""

    @staticmethod
    def forward(ctx: Any, function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        """Run it without recording."""
        ctx.function = function
        ctx.state = random.get_rng_state() if preserve_rng_state else None
        ctx.plain = [None if isinstance(a, TensorBase) else a for a in args]
        ctx.places = [k for k, a in enumerate(args) if isinstance(a, TensorBase)]
        ctx.save_for_backward(*(args[k] for k in ctx.places))
        return function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Run it again on leaves of its own, and backward."""
        args = list(ctx.plain)
        for k, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            args[k] = leaf = tensor.detach()
            if ctx.needs_input_grad[2 + k]:
                leaf.requires_grad_()
        with Mode(grad=True), random.fork_rng(enabled=ctx.state is not None):
            if ctx.state is not None:
                random.set_rng_state(ctx.state)
            made = ctx.function(*args)
        outs = made if isinstance(made, tuple) else (made,)
        live = [
            (out, g)
            for out, g in zip(outs, grads, strict=True)
            if isinstance(out, TensorBase) and out._edge is not None
        ]
        if not live:
            raise AutogradError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([out for out, _ in live], [g for _, g in live])
        return None, None, *(a._grad if isinstance(a, TensorBase) else None for a in args)
