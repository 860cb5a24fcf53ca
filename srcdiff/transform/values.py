"""Forward values as derivative programs take them: each an input, unless it is a number or is computed again.

Guarantees: a program that `Values.closed` gives takes its own inputs first, then the forward values it reads: those of
the user's inputs first, then what was computed from them, each in the order of the forward program.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from srcdiff.core.builder import Builder, item, rename
from srcdiff.core.program import Node, Program
from srcdiff.errors import CompileError
from srcdiff.transform.names import described
from srcdiff.transform.reuse import ReusingBuilder


@dataclass(frozen=True, eq=False, slots=True)
class Derived:
    """A derivative program and the forward values it takes after its own inputs."""

    program: Program
    saved: tuple[Node, ...]


class Values:
    """What stands for each forward value, and the builder of the program in which it does."""

    def __init__(self, available: Collection[Node] | None) -> None:
        self.builder = ReusingBuilder(available or (), self.__getitem__)
        self.proxies: dict[Node, Node] = {}

    def __getitem__(self, node: Node) -> Any:
        """A forward value as an operand: a number, or an input that stands for it; several outputs as rules index
        them.
        """
        if node.is_literal:
            return node.literal
        if isinstance(node.aval, tuple):
            return _Items(self, node)
        found = self.proxies.get(node)
        if found is None:
            found = self.proxies[node] = self.builder.input(node.aval, described(node), node.source)
            self.builder.stands_for(found, node)
        return found

    def closed(
        self, name: str, inputs: Sequence[Node], outputs: Sequence[Node | None], available: Collection[Node] | None
    ) -> Derived:
        """The finished program. Forward values that are not available (None: all are) are computed from those that
        are; CompileError if that is impossible.
        """
        program = Program(name, tuple(inputs), tuple(outputs))
        proxies = {proxy: value for value, proxy in self.proxies.items()}
        if available is not None and any(proxies[node] not in available for node in program.nodes() if node in proxies):
            program, proxies = _recompute(program, proxies, available)
        used = [node for node in program.nodes() if node in proxies]
        used.sort(key=lambda node: (proxies[node].prim is not None, proxies[node].number))
        whole = Program(name, (*program.inputs, *used), program.outputs)
        return Derived(whole, tuple(proxies[node] for node in used))


class _Items:
    """The outputs of an operation that has several, as rules index them."""

    def __init__(self, values: Values, node: Node) -> None:
        self.values = values
        self.node = node

    def __getitem__(self, k: int) -> Any:
        return self.values[item(self.node, k)]

    def __len__(self) -> int:
        return len(self.node.aval)


def _recompute(
    program: Program, proxies: dict[Node, Node], available: Collection[Node]
) -> tuple[Program, dict[Node, Node]]:
    """The program with inputs that stand for unavailable forward values replaced by their computation."""
    builder = Builder()
    inputs: dict[Node, Node] = {}
    made: dict[Node, Node] = {}

    def forward_value(value: Node) -> Node:
        stack = [value]
        while stack:
            here = stack[-1]
            if here in made:
                stack.pop()
            elif here.is_literal:
                made[here] = builder.literal(here.literal)
            elif here in available:
                made[here] = inputs[here] = builder.input(here.aval, described(here), here.source)
            elif here.prim is None:
                raise CompileError(f"the derivative reads {here!r} ({here.aval}), which was not saved")
            else:
                missing = [operand for operand in here.operands if operand not in made]
                if missing:
                    stack.extend(missing)
                    continue
                builder.source = here.source
                operands = tuple(made[operand] for operand in here.operands)
                made[here] = rename(builder.emit(here.prim, operands, here.kwargs), here.name)
        return made[value]

    new: dict[Node, Node] = {}
    for node in program.inputs:
        if node not in proxies:
            new[node] = builder.input(node.aval, node.name, node.source)
    for node in program.nodes():
        if node in new:
            continue
        if node in proxies:
            new[node] = forward_value(proxies[node])
        elif node.prim is None:
            new[node] = builder.literal(node.literal)
        else:
            builder.source = node.source
            new[node] = rename(builder.emit(node.prim, tuple(new[o] for o in node.operands), node.kwargs), node.name)
    outputs = tuple(None if out is None else new[out] for out in program.outputs)
    seeds = tuple(new[node] for node in program.inputs)
    return Program(program.name, seeds, outputs), {v: k for k, v in inputs.items()}
