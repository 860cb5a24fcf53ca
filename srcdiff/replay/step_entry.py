"""The entry of a training step: one generated function that guards, runs the step's program, and then has its effects.

It is like the entry of a gradient function (`entry`), but what it guards are Tensors too, and the values that the
program gives are accumulated, written and returned in the order in which the recorded call did that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from srcdiff.codegen.loader import load
from srcdiff.core.program import Node
from srcdiff.replay.apart import apart
from srcdiff.replay.containers import same_parts
from srcdiff.replay.effects import Call, Returned, Target
from srcdiff.replay.entry import Enter, Text, begin, keep_stream, run_lines
from srcdiff.replay.entry import written as written_out
from srcdiff.replay.findings import Findings, RefusedError
from srcdiff.replay.guard import tensor_conditions, write_guard
from srcdiff.replay.number import real, written
from srcdiff.replay.places import Place
from srcdiff.replay.stages import Part
from srcdiff.replay.steps import StepRecorder
from srcdiff.replay.strict import is_quiet
from srcdiff.replay.writer import Writer, targets
from srcdiff.tape.modes import modes


@dataclass(frozen=True, slots=True)
class Results:
    """What the call returned, leaf by leaf, and the structure of the leaves."""

    #: what makes a leaf of the program's value for it; None for a leaf that is always the same
    makers: Sequence[Callable[[Any], Any] | Returned | None]
    #: the leaves that are always the same
    leaves: Sequence[Any]
    rebuild: Callable[[list[Any]], Any]


@dataclass(frozen=True, slots=True)
class Outside:
    """What has been found out about a call besides what its recorder saw."""

    findings: Findings
    #: what was in the arrays read from outside, by id
    copies: dict[int, Any]
    #: the function names of arguments
    label: Callable[[Any], str]


def write_entry(
    name: str,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    outside: Outside,
    recorder: StepRecorder,
    parts: Sequence[Part],
    count: int,
    results: Results,
    helpers: dict[str, Callable[..., Any]],
    numbers: Sequence[Place] = (),
) -> tuple[Enter, str]:
    """`enter(args, kwargs, anyhow=False, probe=False)`: a tuple with the result, False for another call, None if
    replays are off. With `probe` it gives the program's values, and nothing is changed but the random numbers.

    The `parts` of the step give `count` values: the results, those of the effects, what its branches depend on, and
    more that no one needs. `helpers` are `accumulate(leaf, cotangent)`, `assign(leaf, gradient)`,
    `overwrite(tensor, value)` and `replace`, the same uncounted. Raises RefusedError for what cannot be guarded.
    """
    w = begin(name, probe=True)
    w.require(f"{w.bind(modes, 'modes')}.grad is {modes.grad}")
    if recorder.uses_default_dtype:
        w.require_default_dtype()
    for tensor, called in outside.findings.tensors.values():
        w.bind(tensor, called)
    given = write_guard(w, args, kwargs, outside.label, {}, outside.findings.reads, outside.copies, numbers)
    reads = _reads(w, recorder)
    if recorder.later:
        _moved_alike(w, recorder)
    _distinct(w, recorder, outside, given)
    given += reads
    variables = [w.numbers[place] for place in numbers]
    if recorder.conditions:  # which may raise, as the function then does
        met = w.fresh("met")
        texts = " and ".join(written(each, variables, w.bind) for each in recorder.conditions)
        w.lines += ["    try:", f"        {met} = {texts}", "    except Exception:", "        return False"]
        w.require(met)
    given += [real(each, variables, w.bind) for each in recorder.expressions]
    given += [w.bind(array, "constant") for _, array in recorder.constants]
    given += [f"{w.bind(draw, 'draw')}()" for _, draw in recorder.draws]
    outs = [w.fresh("result") for maker in results.makers if callable(maker)]
    effects = [w.fresh(effect.name) for effect in recorder.effects if not isinstance(effect, Call)]
    branches = [w.fresh("branch") for _ in recorder.branches]
    unused = [w.fresh("unused") for _ in range(count - len(outs) - len(effects) - len(branches))]
    values = [*outs, *effects, *branches, *unused]
    run = _Run(w, recorder, values, dict(zip(parts[0].stage.inputs, given, strict=True)))
    miss = [*(keep_stream(w) if recorder.draws else []), "        return False"]
    if len(parts) > 1:
        run.draw_once()
    w.lines += run_lines(w, run.call(parts[0]), recorder.raises, miss)
    if branches:
        went = [name if truth else f"not {name}" for name, (_, truth) in zip(branches, recorder.branches, strict=True)]
        w.lines += [f"    if not ({' and '.join(went)}):", *miss]
    run.copy(parts[0])
    probed = [*run.given, *(run.names[node] for node in parts[0].stage.lent)]
    w.lines += ["    if probe:", f"        return ({''.join(f'{value}, ' for value in probed)})"]
    returned = {maker.effect: w.fresh("given") for maker in results.makers if isinstance(maker, Returned)}
    _effects(run, effects, parts[1:], helpers, returned)
    found = iter(outs)
    leaves = [
        _leaf(w, maker, leaf, found, returned) for maker, leaf in zip(results.makers, results.leaves, strict=True)
    ]
    w.lines.append(f"    return {_structure(w, results, leaves)},")
    source = "\n".join(w.lines) + "\n"
    return load(source, "enter", "entry", dict(w.names)), source


def _leaf(w: Writer, maker: Any, leaf: Any, found: Iterator[str], returned: dict[int, str]) -> Text:
    """The expression of a leaf of the result."""
    if maker is None:
        return _constant(w, leaf)
    if isinstance(maker, Returned):
        return Text(f"{returned[maker.effect]}{'.item()' * maker.item}")
    return Text(f"{w.bind(maker, 'made')}({next(found)})")


def _constant(w: Writer, leaf: Any) -> Text:
    return Text(repr(leaf) if type(leaf) in (int, bool, str) else w.bind(leaf, "always"))


def _structure(w: Writer, results: Results, leaves: list[Text]) -> str:
    """The expression of the structure: written out, or made by a function where it has kinds of its own."""
    try:
        return written_out(results.rebuild(list(leaves)), w)
    except (AssertionError, TypeError):
        return f"{w.bind(results.rebuild, 'rebuild')}([{', '.join(leaves)}])"


class _Run:
    """Calls of the parts of a step: `values` are the variables of what the step gives, `names` the expressions of the
    values there are so far.
    """

    def __init__(self, w: Writer, recorder: StepRecorder, values: Sequence[str], names: dict[Node, str]) -> None:
        self.w, self.recorder, self.values, self.names = w, recorder, values, names
        #: the variables of what the last part gave
        self.given: list[str] = []

    def draw_once(self) -> None:
        """Give the random numbers, which several parts may take, variables."""
        for node, _ in self.recorder.draws:
            name = self.w.fresh("random")
            self.w.lines.append(f"    {name} = {self.names[node]}")
            self.names[node] = name

    def call(self, part: Part) -> str:
        """The statement that runs a part."""
        stage = part.stage
        taken = ", ".join(self.names[node] for node in stage.inputs)
        kept = stage.outputs[len(stage.places) :]
        self.given = [*(self.values[place] for place in stage.places), *(self.w.fresh("kept") for _ in kept)]
        self.names.update(zip(kept, self.given[len(stage.places) :], strict=True))
        call = f"{self.w.bind(part.run, 'step')}({taken})"
        return f"{targets(self.given)} = {call}" if self.given else call

    def copy(self, part: Part) -> None:
        """Copy what shares memory with something, before the effects, which may write to that."""
        for name, flag in zip(self.given, part.shared, strict=True):
            if flag:
                self.w.lines.append(f"    {name} = {name}.copy()")

    def later(self, part: Part) -> None:
        """Run a part after effects, with what they have left."""
        for each in self.recorder.later:
            if each.node in part.stage.inputs and each.node not in self.names:
                name = self.names[each.node] = self.w.fresh(f"{each.node.name}_value")
                self.w.lines.append(f"    {name} = {_tensor(self.w, self.recorder, each.target)}._value")
        self.w.lines.append(f"    {self.call(part)}")
        self.copy(part)


def _effects(
    run: _Run,
    names: Sequence[str],
    parts: Sequence[Part],
    helpers: dict[str, Callable[..., Any]],
    returned: dict[int, str],
) -> None:
    """Have the effects, and run the `parts` between them; what a Call gives is in a variable if it is `returned`."""
    w, recorder = run.w, run.recorder
    values = iter(names)
    for k, effect in enumerate(recorder.effects):
        for part in parts:
            if part.stage.start == k:
                run.later(part)
        if isinstance(effect, Call):
            given = [_expression(w, recorder, part) for part in effect.args]
            given += [f"{key}={value!r}" for key, value in effect.kwargs.items()]
            function = w.bind(effect.function, effect.function.__qualname__.replace(".", "_").strip("_"))
            into = f"{returned[k]} = " if k in returned else ""
            w.lines.append(f"    {into}{function}({', '.join(given)})")
        else:
            tensor = _tensor(w, recorder, effect.target)
            w.lines.append(f"    {w.bind(helpers[effect.how], effect.how)}({tensor}, {next(values)})")
    for part in parts:
        if part.stage.start == len(recorder.effects):
            run.later(part)


def _reads(w: Writer, recorder: StepRecorder) -> list[str]:
    """Guard the Tensors from outside that the call read or changed; the expressions of the values read."""
    found, done = [], set()
    for target, node in recorder.reads:
        name, inner = _tensor(w, recorder, target), w.fresh(f"{node.name}_value")
        present = [f"{name} is not None"] if target.gradient else []
        w.require(*present, *tensor_conditions(w, name, inner, recorder.tensor_of(target)))
        found.append(inner)
        done.add(target)
    changed = [effect.target for effect in recorder.effects if not isinstance(effect, Call)]
    for target in (*changed, *(each.target for each in recorder.later)):
        if target.tensor is not None and not target.gradient and target not in done:
            done.add(target)
            w.require(*tensor_conditions(w, _tensor(w, recorder, target), w.fresh("value"), target.tensor))
    for target, absent in recorder.looked.items():
        w.require(f"{_tensor(w, recorder, target)}._grad is {'' if absent else 'not '}None")
    return found


def _moved_alike(w: Writer, recorder: StepRecorder) -> None:
    """Guard what is read after effects: they change the tensors that they changed, and no error raises in between."""
    w.require(f"{w.bind(is_quiet, 'is_quiet')}()")
    for effect in recorder.effects:
        if isinstance(effect, Call) and effect.moved and not isinstance(effect.args[0], Target):
            found = f"{w.bind(effect.written, 'written')}({w.bind(effect.args[0], 'owner')})"
            w.require(f"{w.bind(same_parts, 'same_parts')}({found}, {w.bind(effect.moved, 'moved')})")


def _distinct(w: Writer, recorder: StepRecorder, outside: Outside, given: Sequence[str]) -> None:
    """Leaves among the arguments are different ones, and what is changed shares no memory with what is read."""
    known = zip(w.tensors, recorder.given_tensors, strict=True)
    leaves = [(name, each) for name, each in known if each._edge is not None]
    w.require(*(f"{a} is not {b}" for k, (a, _) in enumerate(leaves) for b, _ in leaves[:k]))
    if not recorder.effects:
        return
    tensors = list(recorder.used().values())
    arrays = outside.findings.arrays
    if not apart(tensors, [each for _, each in leaves], [*(each._value for each in recorder.arguments), *arrays]):
        raise RefusedError("tensors that it changes share memory with others that it uses")
    parts = [
        w.bind(tuple(tensors), "changed"),
        f"({''.join(f'{name}, ' for name, _ in leaves)})",
        f"({''.join(f'{name}, ' for name in (*given, *(w.bind(array, 'array') for array in arrays)))})",
    ]
    w.require(f"{w.bind(apart, 'apart')}({', '.join(parts)})")


def _tensor(w: Writer, recorder: StepRecorder, target: Target) -> str:
    """The expression of the tensor that a target stands for."""
    if target.argument is None:
        name = w.bind(target.tensor, recorder.outside[id(target.tensor)][1])
    else:
        argument = recorder.arguments[target.argument]
        name = next(name for name, each in zip(w.tensors, recorder.given_tensors, strict=True) if each is argument)
    return f"{name}._grad" if target.gradient else name


def _expression(w: Writer, recorder: StepRecorder, part: Any) -> str:
    if isinstance(part, Target):
        return _tensor(w, recorder, part)
    plain = type(part) in (int, float, bool, str, type(None))
    return repr(part) if plain else w.bind(part, type(part).__name__.lower())
