"""Rehearsals of training steps: a call with stand-ins for numbers that change, of which nothing remains.

A stand-in is no number, so the call that the user makes cannot be run with one. It is rehearsed before: the tensors
that the step can reach have copies of their memory for that time, steps of optimizers and schedules are noted and not
made, and what the user's containers hold is put back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from srcdiff.api.steps import Watched, ready_step, watch_step
from srcdiff.random import kept
from srcdiff.replay.classes import state_of
from srcdiff.replay.containers import WRITABLE, refill, same_parts
from srcdiff.replay.findings import Findings, RefusedError
from srcdiff.replay.places import Place
from srcdiff.replay.recorder import AbandonedError
from srcdiff.replay.records import fields_of
from srcdiff.tape import record
from srcdiff.tape.node import LEAF, AccumulateGrad
from srcdiff.tape.value import TensorBase


def rehearse(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    findings: Findings,
    label: Callable[[Any], str],
    numbers: Sequence[Place],
    signature: Any,
) -> Watched:
    """The call, watched, with the numbers at these places as inputs. No other thread may run code of the user's. Raises
    UnfitError if more is done with the numbers than arithmetic, RefusedError if the call cannot be rehearsed.
    """
    tensors = [*(tensor for tensor, _ in findings.tensors.values()), *_tensors((args, kwargs))]
    with kept(), _containers(findings), _copied(tensors):
        ready = ready_step(findings, args, kwargs, label, numbers)
        try:
            with ready.inputs.standing_in(findings):
                watched = watch_step(function, ready, signature)
        except (AbandonedError, Exception) as error:
            raise ready.inputs.refusal(f"rehearsing it raised {type(error).__name__}: {error}") from None
    if watched.recorder.failed is not None:
        raise ready.inputs.refusal("")
    return watched


def _tensors(value: Any) -> Iterator[Any]:
    """The Tensors in an argument."""
    if isinstance(value, TensorBase):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _tensors(part)
    elif (fields := fields_of(value)) is not None:
        yield from _tensors([getattr(value, field) for field in fields])


@contextmanager
def _copied(tensors: Sequence[Any]) -> Iterator[None]:
    """The tensors have memory of their own for a while, and gradients that are copies. Raises RefusedError for others
    than leaves, and for those that share memory.
    """
    values = [tensor._value for tensor in tensors]
    values += [tensor._grad._value for tensor in tensors if tensor._grad is not None]
    arrays = [value for value in values if isinstance(value, np.ndarray)]
    if any(np.may_share_memory(a, b) for k, a in enumerate(arrays) for b in arrays[:k]):
        raise RefusedError("tensors that it reads share memory")
    for tensor in tensors:
        edge = tensor._edge
        leaf = type(edge) is AccumulateGrad and edge.site is LEAF and edge.extra is None
        if tensor._view is not None or not (edge is None or leaf):
            raise RefusedError("a tensor that it reads is a view, part of a graph, or has hooks")
    before = [(tensor.__dict__, dict(tensor.__dict__)) for tensor in tensors]
    try:
        for tensor, (state, _) in zip(tensors, before, strict=True):
            state["_value"] = _copy(tensor._value)
            for name in ("_storage", "_cell"):
                state.pop(name, None)
            if tensor._grad is not None:
                state["_grad"] = record.plain(_copy(tensor._grad._value))
        yield
    finally:
        for state, content in before:
            state.clear()
            state.update(content)


def _copy(value: Any) -> Any:
    return np.array(value) if isinstance(value, np.ndarray) else value


@contextmanager
def _containers(findings: Findings) -> Iterator[None]:
    """What is read from outside holds afterwards what it held before. Raises RefusedError if it did not."""
    holders = {id(read.holder): read.holder for read in findings.reads if type(read.holder) in WRITABLE}
    holders.update((id(each), each) for each, _ in findings.containers)
    holders.update((id(state := state_of(each)), state) for each, *_ in findings.instances)
    before = [(holder, holder.copy()) for holder in holders.values()]
    arrays = [(array, array.copy()) for array in findings.arrays]
    changed = False
    try:
        yield
    finally:
        for holder, content in before:
            if not same_parts(holder, content):
                changed = True
                refill(holder, content)
        for array, content in arrays:
            if array.tobytes() != content.tobytes():
                changed = True
                array[...] = content
    if changed:
        raise RefusedError("it changes a list, a dict, an attribute or an array from outside")
