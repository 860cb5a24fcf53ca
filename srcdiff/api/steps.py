"""Training steps as one generated function: `sd.compile` of a function that runs backward and an optimizer.

The second call of a kind is watched while it happens, and made an entry. The third is watched again: its effects and
its result must be those that the entry's program gives. Calls like it are replayed from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from srcdiff.api.agreement import agrees
from srcdiff.api.given import Given, containers
from srcdiff.api.making import generated
from srcdiff.api.player import Entry, style_of
from srcdiff.api.standin import StandIn
from srcdiff.api.tree import flatten
from srcdiff.autograd.accumulate import accumulate
from srcdiff.codegen.header import Header
from srcdiff.config import config
from srcdiff.core.builder import rename
from srcdiff.core.program import Node
from srcdiff.random import kept
from srcdiff.replay import caught
from srcdiff.replay.attributes import stored_in
from srcdiff.replay.effects import Call, Effect, Returned
from srcdiff.replay.findings import Findings, RefusedError
from srcdiff.replay.fuse import optimised
from srcdiff.replay.inputs import Inputs
from srcdiff.replay.places import Place, constants_of
from srcdiff.replay.rolled import shared_results
from srcdiff.replay.stages import Later, Part, Stage, completed, in_stages
from srcdiff.replay.step_entry import Outside, Results, write_entry
from srcdiff.replay.steps import StepRecorder
from srcdiff.tape import record
from srcdiff.tape.node import AccumulateGrad, Edge
from srcdiff.tape.overwrite import overwrite
from srcdiff.tape.site import Site
from srcdiff.tape.storage import storage_of
from srcdiff.tape.value import TensorBase
from srcdiff.transform.ahead import ahead
from srcdiff.transform.bands import in_bands
from srcdiff.transform.pieces import in_pieces
from srcdiff.transform.reroll import reroll, written_out


@dataclass(slots=True)
class Watched:
    """A call that was watched: what it returned, and what was seen."""

    result: Any
    recorder: StepRecorder
    outside: Outside
    signature: Any
    #: the places of the numbers that are inputs
    numbers: Sequence[Place]


@dataclass(frozen=True, slots=True)
class Recorded:
    """What an entry does, to be compared with what a call does."""

    effects: Sequence[Effect]
    later: Sequence[Later]
    parts: Sequence[Part]


@dataclass(slots=True)
class Ready:
    """A call that may be watched: its arguments as the function gets them then, and what it reads from outside."""

    args: list[Any]
    kwargs: dict[str, Any]
    given: Given
    inputs: Inputs
    recorder: StepRecorder
    outside: Outside
    #: the ids of the containers that the caller has
    lasting: set[int]
    around: caught.Watch

    def stores(self) -> str | None:
        """Why the call cannot be repeated if `.grad` or `.data` may be an attribute of another object than a Tensor."""
        instances = [each for each, *_ in self.outside.findings.instances]
        for instance in (*instances, *self.given.records):
            if stored_in(instance, self.outside.findings.sets):
                names = " or ".join(f".{name}" for name in sorted(self.outside.findings.sets))
                return f"it may store {names} of a {type(instance).__qualname__}"
        return None


def ready_step(
    findings: Findings,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    label: Callable[[Any], str],
    numbers: Sequence[Place] = (),
) -> Ready:
    """A call that nothing has run of yet, of a function that is proved to be repeatable, with `findings`; `numbers` are
    the places of numbers that are inputs. Raises RefusedError for arguments with which it is not repeatable.
    """
    recorder = StepRecorder(findings.tensors, findings.numbers_returned, StandIn)
    recorder.known = {id(array): array for array in findings.arrays}
    recorder.rehearses = bool(numbers)
    inputs = Inputs(numbers, recorder, label)
    given = Given(recorder, inputs)
    new = [given.inside(value, label(k), (k,)) for k, value in enumerate(args)]
    named = {key: given.inside(value, label(key), (key,)) for key, value in kwargs.items()}
    if len({id(tensor) for tensor in recorder.given_tensors}) < len(recorder.given_tensors):
        raise RefusedError("a Tensor is passed as two arguments")
    if any(id(tensor) in findings.tensors for tensor in recorder.given_tensors):
        raise RefusedError("an argument is a Tensor that the function also reads from outside")
    if recorder.stands and findings.stores and findings.containers:
        raise RefusedError("it stores into containers from outside, and was given arrays")
    copies = {id(array): array.copy() for array in findings.arrays}
    lasting = containers((args, kwargs, tuple(part for part, _ in findings.containers)))
    around = caught.Watch(findings.catches, findings.filters)
    ready = Ready(new, named, given, inputs, recorder, Outside(findings, copies, label), lasting, around)
    if (stored := ready.stores()) is not None:
        raise RefusedError(stored)
    return ready


def watch_step(function: Callable[..., Any], ready: Ready, signature: Any) -> Watched:
    """Run a call with a recorder watching: it is an ordinary call, with all its effects."""
    recorder = ready.recorder
    try:
        recorder.start()
        with ready.around:
            result = function(*ready.args, **ready.kwargs)
        if ready.around.reason is not None:
            recorder.fail(ready.around.reason)
        if (stored := ready.stores()) is not None:
            recorder.fail(stored)
        outside = ready.given.outside(result)
        if not containers(outside).isdisjoint(ready.lasting):
            recorder.fail("it returns a list or a dict that it was given or reads from outside")
        recorder.finish(flatten(result)[0])
        recorder.leave()
    except BaseException:  # an interrupt, of `leave` perhaps
        recorder.leave()
        raise
    return Watched(outside, recorder, ready.outside, signature, ready.inputs.places)


# --------------------------------------------------------------------------------------------------------- the entry


def make_step(watched: Watched, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> Entry:
    """An entry for calls like the one that was watched. Raises RefusedError or CompileError if there cannot be one."""
    recorder = watched.recorder
    if watched.recorder.failed is not None:
        raise RefusedError(watched.recorder.failed)
    results, nodes = _results(watched)
    for effect in recorder.effects:
        if not isinstance(effect, Call):
            nodes.append(rename(effect.node, effect.name))
    conditions = [condition for condition, _ in recorder.branches]
    outputs = [*nodes, *conditions]
    outputs += recorder.unused(outputs)
    inputs = [*recorder.inputs, *(node for _, node in recorder.reads), *recorder.expressions.values()]
    inputs += [node for node, _ in (*recorder.constants, *recorder.draws)]
    steady = {*inputs} - {node for _, node in recorder.reads}
    stages = in_stages(inputs, steady, recorder.later, outputs)
    decides = set(range(len(nodes), len(nodes) + len(conditions)))
    if len(stages) > 1 and (recorder.raises or not decides.issubset(stages[0].places)):
        raise RefusedError("it decides by what an optimizer has changed, or may raise an error after that")
    parts = [_part(stage, name, k) for k, stage in enumerate(stages)]
    enter, text = write_entry(
        name, args, kwargs, watched.outside, recorder, parts, len(outputs), results, _HELPERS, watched.numbers
    )
    with kept():
        probed = enter(args, kwargs, True, True)
    if probed is False and not recorder.branches:
        raise RefusedError("it changed what it reads from outside")
    outcomes = tuple(outcome for _, outcome in recorder.branches)
    constants = constants_of(args, kwargs, watched.outside.findings.reads, watched.numbers)
    source = "\n\n".join(part.source for part in parts)
    style = style_of(config.options)
    entry = Entry(watched.signature, enter, outcomes, parts[0].program, source, text, style, constants)
    entry.recorded = Recorded(recorder.effects, [replace(each, value=None) for each in recorder.later], parts)
    return entry


def _part(stage: Stage, name: str, number: int) -> Part:
    """What does a stage."""
    options, program = config.options, stage.program(f"{name}_{number + 1}" if number else name)
    if not options.exact:
        program = in_pieces(in_bands(ahead(reroll(optimised(program)))))
    given = tuple((node.name or "x", node.aval) for node in stage.inputs)
    what = "A later part" if number else "A step"
    run, source = generated(program, Header(name, "", (), given, (), written_out(program), what=what), options)
    return Part(stage, program, run, source, shared_results(program))


def _accumulate(leaf: Any, ct: Any) -> None:
    accumulate(leaf._edge, ct, False, False)


def _replace(tensor: Any, value: Any) -> None:
    np.copyto(tensor._array, value, casting="unsafe")


def _assign(leaf: Any, value: Any) -> None:
    leaf._grad = record.plain(value)


_HELPERS: dict[str, Callable[..., Any]] = {
    "accumulate": _accumulate, "assign": _assign, "overwrite": overwrite, "replace": _replace,
}  # fmt: skip


def _results(watched: Watched) -> tuple[Results, list[Node]]:
    """What the call returned, and the nodes of its values."""
    leaves, rebuild = flatten(watched.result)
    nodes = watched.recorder.results
    makers = [_maker(leaf, node, watched.recorder) for leaf, node in zip(leaves, nodes, strict=True)]
    return Results(makers, leaves, rebuild), [node for node in nodes if isinstance(node, Node)]


def _maker(leaf: Any, node: Node | Returned | None, recorder: StepRecorder) -> Callable[[Any], Any] | Returned | None:
    """How a leaf of the result is made of a value of the program; None for what is always the same."""
    if isinstance(node, Returned):
        return node
    if node is None:
        if not isinstance(leaf, TensorBase) and type(leaf) not in (int, float, bool, str, complex):
            raise RefusedError(f"it returns a {type(leaf).__qualname__}")
        return None
    if isinstance(leaf, TensorBase):
        if leaf._view is not None:
            raise RefusedError("it returns a view")
        if leaf._edge is not None and not _has_run(leaf._edge, recorder):
            raise RefusedError("its result is part of a graph that backward has not run through")
        if leaf._edge is None and not leaf._version:
            return record.plain
        return partial(_ended, leaf._edge, leaf._version)
    if isinstance(leaf, np.ndarray):
        return np.asarray
    return _scalar if isinstance(leaf, np.generic) else _number


def _scalar(value: Any) -> Any:
    return value[()] if type(value) is np.ndarray else value


def _number(value: Any) -> Any:
    return value.item()


def _has_run(edge: Edge, recorder: StepRecorder) -> bool:
    """Whether backward has freed the graph that begins here: all of it that does not lead, through operations that save
    nothing, to leaves from outside, which are the same in every call.
    """
    waiting, seen = [edge], set()
    while waiting:
        one = waiting.pop()
        node: Any = one[0] if type(one) is tuple else one
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if type(node) is AccumulateGrad:
            if id(node.variable) not in recorder.outside:
                return False
        elif type(node.site) is not Site or node.saved:
            return False
        elif node.saved is not None:
            waiting.extend(node.inputs)
    return True


def _ended(edge: Edge, version: int, value: Any) -> Any:
    """A result whose backward has run, and that was written in place so many times."""
    tensor = record.plain(value)
    tensor._edge = edge
    if version:
        storage_of(tensor).version = version
    return tensor


# ------------------------------------------------------------------------------------------------------ the comparison


def confirms(values: Sequence[Any], watched: Watched, recorded: Recorded) -> bool:
    """Whether a call that was watched did and returned what an entry's program gives, whose first stage has given
    `values`, in the same order as the call for which the entry was made.
    """
    recorder = watched.recorder
    if recorder.failed is not None or len(recorder.effects) != len(recorded.effects):
        return False
    if [(each.start, each.target) for each in recorder.later] != [(each.start, each.target) for each in recorded.later]:
        return False
    values = completed(recorded.parts, values, recorded.later, [each.value for each in recorder.later])
    leaves = zip(flatten(watched.result)[0], recorder.results, strict=True)
    given = [_value(leaf) for leaf, node in leaves if isinstance(node, Node)]
    for one, other in zip(recorder.effects, recorded.effects, strict=True):
        if type(one) is not type(other):
            return False
        if isinstance(one, Call) and isinstance(other, Call):
            if one.function is not other.function or len(one.args) != len(other.args) or one.kwargs != other.kwargs:
                return False
        elif not isinstance(one, Call) and not isinstance(other, Call):
            if (one.how, one.target) != (other.how, other.target):
                return False
            given.append(one.value)
    return len(given) <= len(values) and all(map(_agree, values, given))


def _agree(mine: Any, theirs: Any) -> bool:
    """Whether two values are the same to rounding; a Python number is compared in the dtype it was taken from."""
    array = np.asarray(mine)
    number = type(theirs) in (int, float, bool, complex)
    return agrees((array, None), (np.asarray(theirs, array.dtype if number else None), None))


def _value(leaf: Any) -> Any:
    return leaf._value if isinstance(leaf, TensorBase) else leaf
