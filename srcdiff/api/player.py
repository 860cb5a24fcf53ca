"""Replay: deciding whether a call of `grad` or `value_and_grad` can run as one generated function, recording it, running it.

    call -> an entry's guard accepts it and its branches go the same way -> the entry's function
         -> the same kind of call was seen before, and the function is proved pure -> trace it, watched; make an entry
         -> else trace it, as always
The first replays of an entry are checked against tracing; should they ever disagree, the function is traced from then on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from srcdiff import runtime
from srcdiff.api.trace import Argument, Trace, enter, name_leaf
from srcdiff.api.tree import flatten
from srcdiff.codegen.emit import emit
from srcdiff.codegen.header import Header
from srcdiff.codegen.loader import load
from srcdiff.config import config
from srcdiff.core.builder import interpret
from srcdiff.core.program import Program
from srcdiff.errors import CompileError, NotDifferentiableError
from srcdiff.replay.fuse import fuse, shared
from srcdiff.replay.guard import Guard, make_guard
from srcdiff.replay.purity import Findings, RefusedError, examine
from srcdiff.replay.recorder import Recorder
from srcdiff.tape import record
from srcdiff.tape.modes import modes
from srcdiff.tape.node import Edge, InputNode, next_seq
from srcdiff.tape.value import TensorBase

#: entries of one kind of call (paths through the function) before it is given up
MOST_PATHS = 8
#: how many replays of an entry are compared with tracing
CHECKS = 1


@dataclass(slots=True)
class Entry:
    """One recorded path of one kind of call."""

    signature: Any
    guard: Guard
    run: Callable[..., tuple[Any, ...]]
    constants: tuple[Any, ...]
    outcomes: tuple[bool, ...]
    copies: tuple[bool, ...]
    finishers: tuple[Callable[[Any], Any], ...]
    rebuild: Callable[[list[Any]], Any]
    program: Program
    source: str
    guard_source: str
    quiet: bool
    checks: int = CHECKS

    def play(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any] | None:
        """Value and gradients, or None if this is another call, or it takes another path."""
        values = self.guard(args, kwargs)
        if values is None:
            return None
        if self.quiet:
            with np.errstate(all="ignore"):
                outs = self.run(*values, *self.constants)
        else:
            outs = self.run(*values, *self.constants)
        count = len(self.finishers)
        for out, expected in zip(outs[1 + count :], self.outcomes, strict=True):
            if bool(out) is not expected:
                return None
        found = []
        for out, copy, finish in zip(outs[1:], self.copies, self.finishers, strict=False):
            found.append(finish(out.copy() if copy and out is not None else out))
        return outs[0], self.rebuild(found)


@dataclass(slots=True)
class Player:
    """The entries of one function, and why it has none if it has none."""

    entries: list[Entry] = field(default_factory=list)
    refused: str | None = None
    failures: int = 0
    replayed: int = 0
    sightings: dict[Any, int] = field(default_factory=dict)
    traced_only: set[Any] = field(default_factory=set)

    def play(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Entry, tuple[Any, Any]] | None:
        """The result of a replay, if an entry serves this call."""
        if sys.gettrace() is not None or modes.recording == 3 or modes.anomaly or modes.pack_hooks:
            return None
        for k, entry in enumerate(self.entries):
            try:
                result = entry.play(args, kwargs)
            except Exception:  # the traced call will raise it, from the user's own line
                return None
            if result is not None:
                if k:
                    self.entries.insert(0, self.entries.pop(k))
                return entry, result
        return None

    def wants(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], chosen: Sequence[Any]) -> Any:
        """The signature of a call that should be recorded now, else None."""
        if self.refused is not None or sys.gettrace() is not None or modes.recording == 3 or modes.place is not None:
            return None
        if type(function) is not FunctionType:
            self.refused = f"{type(function).__name__} objects are traced on every call"
            return None
        try:
            signature = (tuple(map(_kind, args)), tuple((k, _kind(v)) for k, v in kwargs.items()), tuple(chosen))
            seen = self.sightings.get(signature, 0) + 1
        except (RefusedError, TypeError) as reason:
            if isinstance(reason, RefusedError) and not str(reason).startswith("an argument is a srcdiff"):
                self.refused = str(reason)
            return None
        if len(self.sightings) > 256:
            self.sightings.clear()
        self.sightings[signature] = seen
        if seen < 2 or signature in self.traced_only or len(self.entries) >= config.cache_size:
            return None
        if sum(entry.signature == signature for entry in self.entries) >= MOST_PATHS:
            self.entries = [entry for entry in self.entries if entry.signature != signature]
            self.traced_only.add(signature)
            return None
        return signature

    def disagreed(self) -> None:
        """A replay and its trace gave different results: never replay this function again."""
        self.entries.clear()
        self.refused = "a replay gave another result than tracing; please report this as a bug"


def _kind(value: Any) -> Any:
    """A hashable description of an argument: what the guard will look at."""
    kind = type(value)
    if kind is np.ndarray:
        return (value.shape, value.dtype)
    if isinstance(value, np.generic):
        return (kind,)
    if kind in (list, tuple):
        return (kind, tuple(map(_kind, value)))
    if kind is dict:
        return (kind, tuple((key, _kind(part)) for key, part in value.items()))
    if value is None or kind in (int, bool, str, bytes, complex):
        return (kind, value)
    if kind is float:
        return (kind,)
    if kind is FunctionType or isinstance(value, (ModuleType, np.ufunc)):
        return (kind, id(value))
    raise RefusedError(f"an argument is a {kind.__module__}.{kind.__qualname__}")


# ------------------------------------------------------------------------------------------------------------ recording


@dataclass(slots=True)
class Watched:
    """A traced call that was watched."""

    run: Trace
    recorder: Recorder
    findings: Findings
    data: set[tuple[Any, ...]]


def watch(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], chosen: Sequence[Any], names: Any) -> Watched:
    """Trace a call with a recorder watching. Raises RefusedError before anything runs if the function is not proved pure."""
    statics = _statics(args) + _statics(kwargs.values())
    findings = examine(function, statics)
    if findings.stores and any(_has_mutable(value) for value in (*args, *kwargs.values())):
        raise RefusedError("it stores into containers, and was given some")
    if findings.asks and any(_has_scalar(value) for value in (*args, *kwargs.values())):
        raise RefusedError("it calls isinstance, and was given NumPy scalars")
    recorder = Recorder()
    start = next_seq()
    arguments: dict[Any, Argument] = {}
    data: set[tuple[Any, ...]] = set()
    new_args, new_kwargs = list(args), dict(kwargs)
    for key, value in (*enumerate(args), *kwargs.items()):
        into: Any = new_args if isinstance(key, int) else new_kwargs
        if key in chosen:
            arguments[key] = _differentiated(recorder, value, key, names, data)
            into[key] = arguments[key].rebuild(arguments[key].tensors)
        else:
            into[key] = _data(recorder, value, f"{names(key)}")
    ordered = [arguments[key] for key in chosen]
    edges: list[Edge] = [tensor._edge for argument in ordered for tensor in argument.tensors]
    before = modes.grad
    modes.recorder = recorder
    modes.update(grad=True)
    try:
        result = function(*new_args, **new_kwargs)
    finally:
        modes.recorder = None
        modes.update(grad=before)
    return Watched(Trace(result, ordered, edges, start), recorder, findings, data)


def _differentiated(recorder: Recorder, value: Any, key: Any, names: Any, data: set[tuple[Any, ...]]) -> Argument:
    leaves, rebuild = flatten(value)
    tensors = []
    for j, (leaf, path) in enumerate(zip(leaves, _paths(value, (key,)), strict=True)):
        tensor = enter(leaf, {}, (name_leaf, names, key, value, j))
        if type(tensor._edge) is not InputNode:
            raise RefusedError("an argument is a Tensor")
        if type(leaf) is float:
            data.add(path)
        recorder.input(tensor, name_leaf(names, key, value, j))
        tensors.append(tensor)
    return Argument(leaves, rebuild, tensors)


def _paths(value: Any, path: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    if value is None:
        return []
    if type(value) in (list, tuple):
        return [p for k, part in enumerate(value) for p in _paths(part, (*path, k))]
    if type(value) is dict:
        return [p for k, part in value.items() for p in _paths(part, (*path, k))]
    return [path]


def _data(recorder: Recorder, value: Any, name: str) -> Any:
    """An argument that is not differentiated, its arrays as watched Tensors."""
    kind = type(value)
    if kind is np.ndarray or isinstance(value, np.generic):
        tensor = record.plain(value, traced=True)
        recorder.input(tensor, name)
        return tensor
    if kind in (list, tuple):
        return kind(_data(recorder, part, f"{name}_{k}") for k, part in enumerate(value))
    if kind is dict:
        return {k: _data(recorder, part, f"{name}_{k}") for k, part in value.items()}
    return value


def _statics(values: Any) -> tuple[Any, ...]:
    found: tuple[Any, ...] = ()
    for value in values:
        if type(value) in (list, tuple):
            found += _statics(value)
        elif type(value) is dict:
            found += _statics(value.values())
        elif type(value) is FunctionType or isinstance(value, (ModuleType, np.ufunc)):
            found += (value,)
    return found


def _has_mutable(value: Any) -> bool:
    return isinstance(value, (list, dict)) or (isinstance(value, tuple) and any(map(_has_mutable, value)))


def _has_scalar(value: Any) -> bool:
    return any(isinstance(leaf, np.generic) for leaf in flatten(value)[0])


def make_entry(signature: Any, watched: Watched, args: Any, kwargs: Any, structured: Callable[[list[Any]], Any], name: str) -> Entry:
    """An entry for calls like the one that was watched. Raises RefusedError or CompileError if there cannot be one."""
    recorder, run = watched.recorder, watched.run
    if recorder.failed is not None:
        raise RefusedError(recorder.failed)
    node = run.result.__dict__.get("_node") if isinstance(run.result, TensorBase) else None
    if node is None:
        raise RefusedError("its result does not depend on its arguments")
    tensors = [tensor for argument in run.arguments for tensor in argument.tensors]
    guard, guard_source = make_guard(args, kwargs, watched.data, watched.findings.reads)
    constants = [constant for constant, _ in recorder.constants]
    inputs = (*recorder.inputs, *constants)
    branches = [condition for condition, _ in recorder.branches]
    options = config.options
    try:
        program = fuse(name, inputs, node, [tensor._node for tensor in tensors], branches, options)
    except NotDifferentiableError as error:
        raise RefusedError(str(error)) from None
    place = f"{node.source.file}:{node.source.line}" if node.source.file else ""
    wrt = tuple(tensor._node.name or "x" for tensor in tensors)
    source = emit(program, Header(name, place, (), tuple((n.name or "x", n.aval) for n in recorder.inputs)))
    if options.backend == "interpret":
        function: Any = lambda *values: interpret(program, values)  # noqa: E731
    else:
        function = load(source, program.name, f"{name} step", {"np": np, "rt": runtime})
    leaves = run.leaves
    return Entry(
        signature, guard, function, tuple(array for _, array in recorder.constants),
        tuple(outcome for _, outcome in recorder.branches), shared(program)[1 : 1 + len(wrt)],
        tuple(_finisher(leaf) for leaf in leaves), lambda found: structured(run_rebuild(run, found)), program, source,
        guard_source, bool(branches),
    )  # fmt: skip


def run_rebuild(run: Trace, found: list[Any]) -> list[Any]:
    """Gradients in the structure of each argument."""
    return run.rebuild(found)


def _finisher(leaf: Any) -> Callable[[Any], Any]:
    """How a gradient becomes what the caller gets for an argument like this one."""
    kind = type(leaf)
    if kind is float:
        return lambda g: 0.0 if g is None else float(g)
    if kind is np.ndarray:
        shape, dtype = leaf.shape, leaf.dtype
        return lambda g: np.zeros(shape, dtype) if g is None else g if type(g) is np.ndarray else np.asarray(g)
    return lambda g: kind(0) if g is None else g


def agrees(a: Any, b: Any) -> bool:
    """Whether two results are equal up to rounding."""
    left, right = flatten(a)[0], flatten(b)[0]
    if len(left) != len(right):
        return False
    for x, y in zip(left, right, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        if x.shape != y.shape or x.dtype != y.dtype:
            return False
        eps = np.finfo(x.dtype).eps if x.dtype.kind in "fc" else 0.0
        scale = float(np.max(np.abs(y), initial=0.0, where=np.isfinite(y))) if y.size else 0.0
        with np.errstate(all="ignore"):
            if not np.allclose(x, y, rtol=2_000 * eps, atol=2_000 * eps * scale, equal_nan=True):
                return False
    return True


__all__ = ["CompileError", "Entry", "Player", "RefusedError", "agrees", "make_entry", "watch"]
