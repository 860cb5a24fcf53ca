"""A step that computes with what an effect has changed, cut into programs: one until then, one after it.

    g_w = f(w, x)           stage 0
    optimizer.step()        changes w
    new = 0.9 * e + w       stage 1 takes w as it is then

Guarantees: each operation is in the first stage in which all that it is made of is there; what a later stage takes of
an earlier one is among the outputs of that, inputs that effects may change included.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from srcdiff.core.builder import Builder, suggest
from srcdiff.core.program import Node, Program, reachable
from srcdiff.replay.effects import Target

_ANY = -1  # the stage of what is made of literals alone: that of its user


@dataclass(frozen=True, eq=False, slots=True)
class Later:
    """A tensor from outside that is read after so many effects, which may have changed it; `value` in this call."""

    start: int
    target: Target
    node: Node
    value: Any


@dataclass(eq=False, slots=True)
class Stage:
    """What a part of a step takes and gives, as nodes of the whole step, and how many effects happen before it."""

    start: int
    inputs: list[Node] = field(default_factory=list)
    outputs: list[Node] = field(default_factory=list)
    #: which outputs of the step the first ones are; the others are for later stages
    places: list[int] = field(default_factory=list)
    #: inputs that no effect changes, which later stages take as well
    lent: list[Node] = field(default_factory=list)

    def program(self, name: str) -> Program:
        """The program of this part alone."""
        builder = Builder()
        new = {node: builder.input(node.aval, node.name, node.source) for node in self.inputs}
        taken = tuple(new.values())
        for node in reachable(self.outputs, self.inputs):
            if node.prim is None:
                new[node] = builder.literal(node.literal)
                continue
            builder.source = node.source
            operands = tuple(new[x] for x in node.operands)
            made = new[node] = builder.opaque(node.prim, operands, node.kwargs, node.aval, node.name)
            if node.hint:
                suggest(made, node.hint)
        return Program(name, taken, tuple(new[out] for out in self.outputs))


@dataclass(frozen=True, eq=False, slots=True)
class Part:
    """A stage with its program and the function that does it; `shared` says which outputs may share memory."""

    stage: Stage
    program: Program
    run: Callable[..., Any]
    source: str
    shared: Sequence[bool]


def in_stages(
    inputs: Sequence[Node], steady: Collection[Node], later: Sequence[Later], outputs: Sequence[Node]
) -> list[Stage]:
    """The stages of a step. The first one takes `inputs`, of which no effect changes the `steady` ones."""
    starts = sorted({0, *(each.start for each in later)})
    level = dict.fromkeys(inputs, 0) | {each.node: starts.index(each.start) for each in later}
    for node in reachable(outputs):
        if node not in level:
            level[node] = max((level[x] for x in node.operands), default=_ANY)
    stages = [Stage(start) for start in starts]
    for place, out in enumerate(outputs):
        stages[max(level[out], 0)].outputs.append(out)
        stages[max(level[out], 0)].places.append(place)
    stages[0].inputs = list(inputs)
    for k in range(len(stages) - 1, 0, -1):
        own = reachable(stages[k].outputs, [node for node, at in level.items() if _ANY < at < k])
        read = dict.fromkeys(x for node in own for x in node.operands if _ANY < level[x] < k)
        stages[k].inputs = [*(node for node in own if node.is_input), *read]
        for x in read:
            stage = stages[level[x]]
            if x in steady and x not in stage.lent:
                stage.lent.append(x)
            elif x not in steady and x not in stage.outputs[len(stage.places) :]:
                stage.outputs.append(x)
    return [stage for stage in stages if stage.outputs or stage is stages[0]]


def completed(parts: Sequence[Part], first: Sequence[Any], later: Sequence[Later], values: Sequence[Any]) -> list[Any]:
    """The outputs of the step, of what its first stage gives (and lends) and the values of the `later` in a call."""
    known: dict[Node, Any] = {each.node: value for each, value in zip(later, values, strict=True)}
    found: dict[int, Any] = {}
    for k, part in enumerate(parts):
        made = part.run(*(known[node] for node in part.stage.inputs)) if k else first
        known.update(zip((*part.stage.outputs, *part.stage.lent), made, strict=True))
        found.update(zip(part.stage.places, made, strict=False))
    return [found[place] for place in sorted(found)]
