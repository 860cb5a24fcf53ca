"""`autograd.graph`: hooks on what is saved, edges of the graph, hooks on several gradients at once, versions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from srcdiff.autograd.backward import GradientEdge
from srcdiff.errors import AutogradError
from srcdiff.tape.modes import modes
from srcdiff.tape.node import GradNode as Node
from srcdiff.tape.storage import storage_of

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "saved_tensors_hooks",
]


class saved_tensors_hooks:  # noqa: N801
    """Within the block, `pack(tensor)` takes what an operation saves, and `unpack(packed)` gives the tensor back at
    backward.
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        self._hooks = (pack_hook, unpack_hook)

    def __enter__(self) -> None:
        if modes.pack_hooks_disabled is not None:
            raise AutogradError(modes.pack_hooks_disabled)
        modes.update(pack_hooks=(*modes.pack_hooks, self._hooks))

    def __exit__(self, *exc: Any) -> None:
        modes.update(pack_hooks=modes.pack_hooks[:-1])


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Within the block, entering `saved_tensors_hooks` raises AutogradError with this message."""
    before = modes.pack_hooks_disabled
    modes.pack_hooks_disabled = error_message
    try:
        yield
    finally:
        modes.pack_hooks_disabled = before


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[None]:
    """Within the block, writing to a saved tensor is no error: a copy of its old value is kept for backward."""
    before = modes.mutation_allowed
    modes.mutation_allowed = True
    try:
        yield
    finally:
        modes.mutation_allowed = before


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """Where the gradient of a tensor that requires grad goes; takes its place in `grad` and `backward`."""
    edge = tensor._edge
    if edge is None:
        raise AutogradError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(*edge) if type(edge) is tuple else GradientEdge(edge, 0)


def increment_version(tensor: Any) -> None:
    """Count a write that was made behind srcdiff's back; takes a tensor or several."""
    for each in tensor if isinstance(tensor, (list, tuple)) else (tensor,):
        storage_of(each).before_write(snapshot=False)


class _Handles:
    """Several hooks that are removed together."""

    def __init__(self, handles: Sequence[Any]) -> None:
        self._handles = handles

    def remove(self) -> None:
        """Take all of them off."""
        for handle in self._handles:
            handle.remove()

    def __enter__(self) -> _Handles:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.remove()


def register_multi_grad_hook(tensors: Sequence[Any], fn: Callable[..., Any], *, mode: str = "all") -> _Handles:
    """Call `fn(gradients)` once a backward pass when all gradients of `tensors` that it computes are known (None for
    those it does not), or with mode "any" `fn(gradient)` when the first is.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    local = threading.local()
    tensors = list(tensors)

    def hook(k: int) -> Callable[[Any], None]:
        def arrived(grad: Any) -> None:
            run = modes.backward_run
            if getattr(local, "run", None) is not run:
                local.run = run
                local.grads = [None] * len(tensors)
                local.fired = False
                if mode == "all":
                    run.at_end.append(lambda grads=local.grads: fn(list(grads)))
            local.grads[k] = grad
            if mode == "any" and not local.fired:
                local.fired = True
                fn(grad)

        return arrived

    return _Handles([tensor.register_hook(hook(k)) for k, tensor in enumerate(tensors)])
