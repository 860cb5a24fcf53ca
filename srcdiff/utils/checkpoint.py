"""Checkpoints: memory for time. A checkpointed function keeps its arguments only, and is run again when backward
needs the rest.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from srcdiff.errors import ArgumentError
from srcdiff.tape.modes import modes
from srcdiff.tape.value import TensorBase
from srcdiff.utils.recompute import CheckpointError, Region
from srcdiff.utils.reentrant import CheckpointFunction

__all__ = ["CheckpointError", "checkpoint", "checkpoint_sequential", "noop_context_fn", "set_checkpoint_early_stop"]


class _Local(threading.local):
    """What this thread has set."""

    early_stop: bool = True


_local = _Local()

Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]


def noop_context_fn() -> Contexts:
    """Contexts that do nothing."""
    return nullcontext(), nullcontext()


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], Contexts] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    preserve_rng_state: bool = True,
    **kwargs: Any,
) -> Any:
    """`function(*args, **kwargs)`, which in backward is run again instead of having its intermediate values kept.

    Random numbers of `srcdiff.random` are the same then (`preserve_rng_state`). Everything else works as without it:
    keyword arguments, tensors read from outside, gradients by `grad`, second derivatives. A function that then saves
    other values raises CheckpointError; `determinism_check="none"` allows other shapes and dtypes. `context_fn`
    gives two contexts, for the first run and for the second. `early_stop` ends the second run when all is known.
    With `use_reentrant=True` it is PyTorch's older form: no keyword arguments, no second derivatives, and only
    `backward` fills in the gradients of tensors read from outside. `debug` is accepted and changes nothing.
    """
    if determinism_check not in ("default", "none"):
        raise ArgumentError(f"determinism_check should be one of ['default', 'none'] but got {determinism_check}")
    if use_reentrant:
        if context_fn is not noop_context_fn or debug:
            raise ArgumentError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        if kwargs:
            raise ArgumentError("Unexpected keyword arguments: " + ",".join(kwargs))
        if modes.grad and not any(isinstance(a, TensorBase) and a._edge is not None for a in args):
            warnings.warn(
                "None of the inputs have requires_grad=True. Gradients will be None", UserWarning, stacklevel=2
            )
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    before, again = context_fn()
    if not modes.grad:
        with before:
            return function(*args, **kwargs)
    region = Region(
        function,
        args,
        kwargs,
        preserve_rng_state=preserve_rng_state,
        determinism_check=determinism_check == "default",
        early_stop=early_stop and _local.early_stop,
        context=None if context_fn is noop_context_fn else again,
    )
    with region.hooks(), before:
        return function(*args, **kwargs)


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Within the block, whether checkpoints stop running again as soon as all is known."""
    before = _local.early_stop
    _local.early_stop = enable
    try:
        yield
    finally:
        _local.early_stop = before


def checkpoint_sequential(
    functions: Any,
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    **kwargs: Any,
) -> Any:
    """The functions (or modules of a Sequential) one after another, in `segments` parts of which all but the last are
    checkpointed. Raises ArgumentError for `segments` that is not from 1 to the number of functions."""
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ArgumentError("Unexpected keyword arguments: " + ",".join(kwargs))
    parts = list(functions.children()) if hasattr(functions, "children") else list(functions)
    if not 1 <= segments <= len(parts):
        raise ArgumentError(
            f"checkpoint_sequential: segments should be from 1 to {len(parts)}, the number of functions, got {segments}"
        )
    size = len(parts) // segments
    end = 0
    for start in range(0, size * (segments - 1), size):
        end = start + size
        input = checkpoint(_chain(parts[start:end]), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return _chain(parts[end:])(input)


def _chain(parts: list[Callable[..., Any]]) -> Callable[[Any], Any]:
    def run(x: Any) -> Any:
        for part in parts:
            x = part(x)
        return x

    return run
