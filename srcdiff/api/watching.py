"""Running a call with a recorder watching, so that nothing of it is seen outside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from srcdiff import random
from srcdiff.api.trace import Argument, Trace, enter, name_leaf
from srcdiff.api.tree import flatten
from srcdiff.config import config
from srcdiff.replay import caught
from srcdiff.replay.active import active
from srcdiff.replay.alike import unchanged
from srcdiff.replay.allowed import SCALAR_TYPES
from srcdiff.replay.clone import cloned
from srcdiff.replay.containers import DICTS, refill, same_parts
from srcdiff.replay.findings import EffectError, Findings, RefusedError
from srcdiff.replay.inputs import Inputs
from srcdiff.replay.places import Place
from srcdiff.replay.recorder import AbandonedError, Recorder
from srcdiff.replay.records import fields_of, maker
from srcdiff.tape import record
from srcdiff.tape.modes import modes
from srcdiff.tape.node import Edge, InputNode, next_seq


@dataclass(slots=True)
class Watched:
    """A traced call that was watched."""

    run: Trace
    recorder: Recorder
    findings: Findings
    #: the paths of the Python numbers that are differentiated
    data: set[tuple[Any, ...]]
    #: the places of others that are inputs
    numbers: Sequence[Place]
    #: what was in the arrays read from outside, by id
    copies: dict[int, Any]
    signature: Any = None


def watch(
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    chosen: Sequence[Any],
    names: Any,
    findings: Findings,
    numbers: Sequence[Place] = (),
) -> Watched:
    """Run a call with a recorder watching; nothing of it is seen outside: arguments are read-only, and arrays read from
    outside are restored. The function has been proved pure, with `findings`, or its user vouches for it. `numbers` are
    the places of numbers that are inputs, not constants. Raises RefusedError if it does what cannot be replayed,
    UnfitError if it does that with these numbers.
    """
    recorder = Recorder()
    recorder.known = {id(array): array for array in findings.arrays}
    start = next_seq()
    arguments: dict[Any, Argument] = {}
    data: set[tuple[Any, ...]] = set()
    inputs = Inputs(numbers, recorder, names)
    new_args, new_kwargs = list(args), dict(kwargs)
    for key, value in (*enumerate(args), *kwargs.items()):
        into: Any = new_args if isinstance(key, int) else new_kwargs
        if key in chosen:
            arguments[key] = _differentiated(recorder, value, key, names, data)
            into[key] = arguments[key].rebuild(arguments[key].tensors)
        else:
            into[key] = _data(recorder, value, f"{names(key)}", inputs, (key,))
    ordered = [arguments[key] for key in chosen]
    edges: list[Edge] = [tensor._edge for argument in ordered for tensor in argument.tensors]
    copies = {id(array): array.copy() for array in findings.arrays}
    parts = [part.copy() for part, _ in findings.containers]
    given = [(part, part.copy()) for value in (*new_args, *new_kwargs.values()) for part in _containers_in(value)]
    before = modes.grad
    around = caught.Watch(findings.catches, findings.filters)
    try:
        modes.recorder = random.watch.recorder = recorder
        modes.update(grad=True)
        with inputs.standing_in(findings), around:
            result = _run(function, new_args, new_kwargs)
        _unwatch(before)
    except (AbandonedError, Exception) as error:
        _unwatch(before)
        raise inputs.refusal(f"recording it raised {type(error).__name__}: {error}") from None
    except BaseException:  # an interrupt, of `_unwatch` perhaps
        _unwatch(before)
        raise
    finally:
        _refill(findings.containers, parts)
        _restore(findings.arrays, copies)
    if not all(same_parts(*pair) for pair in given):
        raise EffectError("it changes a list or a dict that it was given")
    if recorder.failed is not None or around.reason is not None:
        raise inputs.refusal(str(around.reason))
    return Watched(Trace(result, ordered, edges, start), recorder, findings, data, numbers, copies)


def _unwatch(grad: bool) -> None:
    modes.recorder = random.watch.recorder = None
    modes.update(grad=grad)


@np.errstate(all="ignore")
def _run(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    if not config.options.clone:
        return function(*args, **kwargs)
    active.depth += 1
    try:
        return cloned(function)(*args, **kwargs)
    finally:
        active.depth -= 1


def _restore(arrays: Sequence[Any], copies: dict[int, Any]) -> None:
    """Undo what a recorded call wrote into arrays from outside. Raises RefusedError if there was something."""
    for array in arrays:
        if not unchanged(array, copies[id(array)]):
            array[...] = copies[id(array)]
            raise RefusedError("it writes into an array from outside")


def _refill(containers: Sequence[tuple[Any, str]], parts: Sequence[Any]) -> None:
    """The same for lists and dicts."""
    changed = []
    for (container, what), before in zip(containers, parts, strict=True):
        if not same_parts(container, before):
            changed.append(what)
            refill(container, before)
    if changed:
        raise EffectError(f"{changed[0]} is changed, which is seen outside")


def _containers_in(value: Any) -> Iterator[Any]:
    """The lists and dicts in an argument."""
    kind = type(value)
    if kind is list or kind in DICTS:
        yield value
    if kind in (list, tuple, *DICTS):
        for part in value.values() if kind in DICTS else value:
            yield from _containers_in(part)
    elif (fields := fields_of(value)) is not None:
        for field in fields:
            yield from _containers_in(getattr(value, field))


def _differentiated(recorder: Recorder, value: Any, key: Any, names: Any, data: set[tuple[Any, ...]]) -> Argument:
    leaves, rebuild = flatten(value)
    tensors = []
    for j, (leaf, path) in enumerate(zip(leaves, _paths(value, (key,)), strict=True)):
        tensor = enter(_protected(leaf), {}, (name_leaf, names, key, value, j))
        if type(tensor._edge) is not InputNode:
            raise RefusedError("an argument is a Tensor")
        if type(leaf) in (float, complex):
            data.add(path)
        recorder.input(tensor, name_leaf(names, key, value, j))
        tensors.append(tensor)
    return Argument(leaves, rebuild, tensors)


def _protected(value: Any) -> Any:
    """An array that shows the same memory and cannot be written."""
    if type(value) is not np.ndarray:
        return value
    view = value.view()
    view.flags.writeable = False
    return view


def _paths(value: Any, path: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    if value is None:
        return []
    if type(value) in (list, tuple):
        return [p for k, part in enumerate(value) for p in _paths(part, (*path, k))]
    if type(value) in DICTS:
        return [p for k, part in value.items() for p in _paths(part, (*path, k))]
    names = fields_of(value)
    return [path] if names is None else [p for n in names for p in _paths(getattr(value, n), (*path, n))]


def _data(recorder: Recorder, value: Any, name: str, numbers: Inputs, path: tuple[Any, ...]) -> Any:
    """An argument that is not differentiated, its arrays as watched Tensors, and what stands for numbers in it."""
    kind = type(value)
    if kind is np.ndarray or kind in SCALAR_TYPES:
        tensor = record.plain(_protected(value), traced=True)
        recorder.input(tensor, name)
        return tensor
    number = numbers.argument(path, value)
    if number is not None:
        return number
    if kind in (list, tuple):
        return kind(_data(recorder, part, f"{name}_{k}", numbers, (*path, k)) for k, part in enumerate(value))
    if kind in DICTS:
        return kind((k, _data(recorder, part, f"{name}_{k}", numbers, (*path, k))) for k, part in value.items())
    names = fields_of(value)
    if names is not None:
        return maker(kind)(*(_data(recorder, getattr(value, n), f"{name}_{n}", numbers, (*path, n)) for n in names))
    return value
