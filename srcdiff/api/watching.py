"""Recording: a call is proved replayable, run with a recorder watching, and made into an entry."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import is_
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from srcdiff import runtime
from srcdiff.api.player import Entry, style_of
from srcdiff.api.trace import Argument, Trace, enter, name_leaf
from srcdiff.api.tree import flatten
from srcdiff.codegen.header import Header
from srcdiff.codegen.loader import load
from srcdiff.codegen.loops import emit_loops
from srcdiff.config import config
from srcdiff.core.builder import interpret
from srcdiff.errors import NotDifferentiableError
from srcdiff.replay import caught
from srcdiff.replay.active import active
from srcdiff.replay.allowed import SCALAR_TYPES
from srcdiff.replay.clone import cloned
from srcdiff.replay.entry import Result, begin, finish
from srcdiff.replay.findings import Findings, RefusedError
from srcdiff.replay.guard import Writer, unchanged, write_guard
from srcdiff.replay.number import Number
from srcdiff.replay.purity import examine
from srcdiff.replay.recorder import AbandonedError, Recorder
from srcdiff.replay.records import fields_of, maker
from srcdiff.replay.rolled import fuse_loops, shared_results
from srcdiff.tape import record
from srcdiff.tape.modes import modes
from srcdiff.tape.node import Edge, InputNode, next_seq
from srcdiff.tape.value import TensorBase
from srcdiff.transform.pieces import in_pieces
from srcdiff.transform.reroll import written_out


@dataclass(slots=True)
class Watched:
    """A traced call that was watched."""

    run: Trace
    recorder: Recorder
    findings: Findings
    data: dict[tuple[Any, ...], bool]
    #: what was in the arrays read from outside, by id
    copies: dict[int, Any]


def watch(
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    chosen: Sequence[Any],
    names: Any,
    findings: Findings,
    numbers: bool = False,
) -> Watched:
    """Run a call with a recorder watching; nothing of it is seen outside: arguments are read-only, and arrays read from
    outside are restored. The function has been proved pure, with `findings`, or its user vouches for it. `numbers`:
    floats that are not differentiated are inputs, not constants. Raises RefusedError if it does what cannot be
    replayed.
    """
    recorder = Recorder()
    start = next_seq()
    arguments: dict[Any, Argument] = {}
    data: dict[tuple[Any, ...], bool] = {}
    new_args, new_kwargs = list(args), dict(kwargs)
    for key, value in (*enumerate(args), *kwargs.items()):
        into: Any = new_args if isinstance(key, int) else new_kwargs
        if key in chosen:
            arguments[key] = _differentiated(recorder, value, key, names, data)
            into[key] = arguments[key].rebuild(arguments[key].tensors)
        else:
            into[key] = _data(recorder, value, f"{names(key)}", data if numbers else None, (key,))
    ordered = [arguments[key] for key in chosen]
    edges: list[Edge] = [tensor._edge for argument in ordered for tensor in argument.tensors]
    copies = {id(array): array.copy() for array in findings.arrays}
    parts = [part.copy() for part, _ in findings.containers]
    before = modes.grad
    around = caught.Watch(findings.catches, findings.filters)
    modes.recorder = recorder
    modes.update(grad=True)
    try:
        with around:
            result = _run(function, new_args, new_kwargs)
    except (AbandonedError, Exception) as error:
        raise RefusedError(recorder.failed or f"recording it raised {type(error).__name__}: {error}") from None
    finally:
        modes.recorder = None
        modes.update(grad=before)
        _refill([part for part, _ in findings.containers], parts)
        _restore(findings.arrays, copies)
    if recorder.failed is not None or around.reason is not None:
        raise RefusedError(recorder.failed or around.reason)
    return Watched(Trace(result, ordered, edges, start), recorder, findings, data, copies)


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


def _refill(containers: Sequence[Any], parts: Sequence[Any]) -> None:
    """The same for lists and dicts, which `+=` changes."""
    changed = False
    for container, before in zip(containers, parts, strict=True):
        pair = [[*part, *part.values()] if type(part) is dict else part for part in (container, before)]
        if len(pair[0]) != len(pair[1]) or not all(map(is_, *pair)):
            changed = True
            container.clear()
            (container.update if type(container) is dict else container.extend)(before)
    if changed:
        raise RefusedError("it changes a list or a dict from outside")


def prove(function: Any, args: Sequence[Any], kwargs: dict[str, Any], chosen: Sequence[Any]) -> Findings:
    """What a function reads from outside. Raises RefusedError if it is not proved pure when called with such
    arguments.
    """
    static = _statics(args) + _statics(kwargs.values())
    findings = examine(*_with_self(function), static)
    if findings.stores and any(_has_mutable(value) for value in (*args, *kwargs.values())):
        raise RefusedError("it stores into containers, and was given some")
    if findings.stored and any(map(dataclasses.is_dataclass, static)):
        raise RefusedError("its methods store into `self`, and it was given a dataclass")
    others = [value for key, value in (*enumerate(args), *kwargs.items()) if key not in chosen]
    arrays = any(isinstance(leaf, (np.generic, np.ndarray)) for leaf in flatten(others)[0])
    if findings.asks and arrays and not (config.options.clone and all(cloned(f) is not f for f in findings.asks)):
        raise RefusedError("it calls isinstance, was given arrays that are not differentiated, and has no source")
    return findings


def _with_self(function: Any) -> tuple[Any, Any]:
    """The function that a call runs, and what it is bound to."""
    if type(function) is MethodType and type(function.__func__) is FunctionType:
        return function.__func__, function.__self__
    if type(function) is not FunctionType:
        raise RefusedError(f"{type(function).__name__} objects are traced on every call")
    return function, None


def prove_step(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Findings:
    """The same for a training step, whose effects may be srcdiff's."""
    static = _statics(args) + _statics(kwargs.values())
    findings = examine(*_with_self(function), static, step=True)
    records = [each for each in static if dataclasses.is_dataclass(each)]
    if any(findings.stored or findings.sets.intersection(vars(each)["__dataclass_fields__"]) for each in records):
        raise RefusedError("it stores attributes, and was given a dataclass that has them")
    if findings.stores and any(_has_mutable(value) for value in (*args, *kwargs.values())):
        raise RefusedError("it stores into containers, and was given some")
    if findings.asks:
        raise RefusedError("it calls isinstance")
    return findings


def _differentiated(
    recorder: Recorder, value: Any, key: Any, names: Any, data: dict[tuple[Any, ...], bool]
) -> Argument:
    leaves, rebuild = flatten(value)
    tensors = []
    for j, (leaf, path) in enumerate(zip(leaves, _paths(value, (key,)), strict=True)):
        tensor = enter(_protected(leaf), {}, (name_leaf, names, key, value, j))
        if type(tensor._edge) is not InputNode:
            raise RefusedError("an argument is a Tensor")
        if type(leaf) in (float, complex):
            data[path] = True
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
    if type(value) is dict:
        return [p for k, part in value.items() for p in _paths(part, (*path, k))]
    names = fields_of(value)
    return [path] if names is None else [p for n in names for p in _paths(getattr(value, n), (*path, n))]


def _data(
    recorder: Recorder, value: Any, name: str, numbers: dict[tuple[Any, ...], bool] | None, path: tuple[Any, ...]
) -> Any:
    """An argument that is not differentiated, its arrays as watched Tensors; floats as inputs, whose paths go into
    `numbers`, unless that is None.
    """
    kind = type(value)
    if kind is np.ndarray or kind in SCALAR_TYPES:
        tensor = record.plain(_protected(value), traced=True)
        recorder.input(tensor, name)
        return tensor
    if kind is float and numbers is not None and math.isfinite(value):
        numbers[path] = False
        return Number(value, f"{{{sum(not data for data in numbers.values()) - 1}}}", recorder)
    if kind in (list, tuple):
        return kind(_data(recorder, part, f"{name}_{k}", numbers, (*path, k)) for k, part in enumerate(value))
    if kind is dict:
        return {k: _data(recorder, part, f"{name}_{k}", numbers, (*path, k)) for k, part in value.items()}
    names = fields_of(value)
    if names is not None:
        return maker(kind)(*(_data(recorder, getattr(value, n), f"{name}_{n}", numbers, (*path, n)) for n in names))
    return value


def _statics(values: Any) -> tuple[Any, ...]:
    found: tuple[Any, ...] = ()
    for value in values:
        if type(value) in (list, tuple):
            found += _statics(value)
        elif type(value) is dict:
            found += _statics(value.values())
        elif type(value) in (FunctionType, ModuleType, np.ufunc):
            found += (value,)
        elif (names := fields_of(value)) is not None:
            found += (type(value), *_statics([getattr(value, name) for name in names]))
    return found


def _has_mutable(value: Any) -> bool:
    return isinstance(value, (list, dict)) or (isinstance(value, tuple) and any(map(_has_mutable, value)))


def make_entry(
    signature: Any,
    watched: Watched,
    args: Any,
    kwargs: Any,
    structured: Callable[[list[Any]], Any],
    name: str,
    label: Callable[[Any], str],
    also: Sequence[Any] = (),
) -> Entry:
    """An entry for calls like the one that was watched. Raises RefusedError or CompileError if there cannot be one.

    `also` are Tensors of the watched call that take the place of gradients, where nothing was to be differentiated.
    """
    recorder, run = watched.recorder, watched.run
    node = run.result.__dict__.get("_node") if isinstance(run.result, TensorBase) else None
    if node is None:
        raise RefusedError("its result does not depend on its arguments")
    if node.builder is not recorder.builder:
        raise RefusedError("its result comes from another call")
    tensors = [tensor for argument in run.arguments for tensor in argument.tensors]
    writer = begin(name)
    given = write_guard(writer, args, kwargs, label, watched.data, watched.findings.reads, watched.copies)
    writer.require(*(text.format(*writer.numbers) for text in recorder.conditions))
    given += [_real(writer, _unwrapped(text.format(*writer.numbers))) for text in recorder.expressions]
    given += [writer.bind(array, "constant") for _, array in recorder.constants]
    constants = [constant for constant, _ in recorder.constants]
    inputs = (*recorder.inputs, *recorder.expressions.values(), *constants)
    further = [tensor._node for tensor in also]
    branches = [*further, *(condition for condition, _ in recorder.branches)]
    branches += recorder.unused([node, *branches])
    options = config.options
    try:
        program = fuse_loops(name, inputs, node, [tensor._node for tensor in tensors], branches, options)
        program = program if options.exact else in_pieces(program)
    except NotDifferentiableError as error:
        raise RefusedError(str(error)) from None
    place = f"{node.source.file}:{node.source.line}" if node.source.file else ""
    wrt = tuple(tensor._node.name or "x" for tensor in tensors)
    shown = tuple((n.name or "x", n.aval) for n in (*recorder.inputs, *recorder.expressions.values()))
    header = Header(name, place, (), shown, (), written_out(program))
    source = emit_loops(program, header, quick=True, exact=options.exact)
    if options.backend == "interpret":
        function: Any = lambda *values: interpret(program, values)
    else:
        function = load(source, program.name, f"{name} step", {"np": np, "rt": runtime})
    copies = shared_results(program)
    results = [_value(run, recorder, copies[0])]
    for n, leaf, out, copy in zip(wrt, run.leaves, program.outputs[1:], copies[1:], strict=False):
        results.append(Result(f"g_{n}", leaf, out is None, copy))
    results += [Result("tangent", tensor._value, copy=copy) for tensor, copy in zip(also, copies[1:], strict=False)]
    outcomes = tuple(outcome for _, outcome in recorder.branches)
    enter, text = finish(
        writer,
        function,
        given,
        results,
        outcomes,
        len(program.outputs),
        structured if also else lambda parts: structured(run.rebuild(parts)),
    )
    return Entry(signature, enter, outcomes, program, source, text, style_of(options))


def _real(w: Writer, text: str) -> str:
    """The expression of a float; powers of negative numbers may be complex, and are left to tracing."""
    return f"{w.bind(_as_real, 'real')}({text})" if "**" in text else text


def _as_real(value: Any) -> float:
    if type(value) is not float:
        raise ValueError("a number is complex")
    return value


def _unwrapped(text: str) -> str:
    """An expression without parentheses around it."""
    return text[1:-1] if text[:1] == "(" and text.find(")") == len(text) - 1 else text


def _value(run: Trace, recorder: Recorder, shared: bool) -> Result:
    """The function's value: of NumPy's kind, and in memory of its own where it was."""
    value = run.result._value
    own = not any(np.may_share_memory(value, tensor._value) for tensor in recorder.arguments)
    return Result("value", value, copy=shared and own)
