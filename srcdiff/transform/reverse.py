"""Reverse mode: from a forward program to the program of its vector-Jacobian product.

Guarantees: the result's inputs are one cotangent per output of the forward program, then the forward values it reads
(`Reversed.saved`); its outputs are the cotangents of `wrt`, None where the gradient is zero by structure. Every
cotangent is summed to the shape of its value and cast to its dtype here, in `fit`, at the one place where cotangents
are accumulated; they are added up in the order in which eager execution adds them, so that both give the same bits.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from srcdiff.core.builder import Builder, item, rename, suggest
from srcdiff.core.program import NOWHERE, Node, Program
from srcdiff.errors import CompileError, NotDifferentiableError
from srcdiff.ops.structural import fit
from srcdiff.transform.names import described
from srcdiff.transform.reuse import ReusingBuilder


@dataclass(frozen=True, eq=False, slots=True)
class Reversed:
    """A vjp program and the forward values it takes after the cotangents."""

    program: Program
    saved: tuple[Node, ...]


def active_nodes(nodes: Sequence[Node], wrt: Collection[Node]) -> set[Node]:
    """The nodes whose value depends on `wrt` through differentiable types."""
    active: set[Node] = set(wrt)
    for node in nodes:
        if node in active or node.prim is None or not _carries(node.aval):
            continue
        if node.prim.name != "item" and node.prim.vjps is None:
            continue
        if any(operand in active for operand in node.operands):
            active.add(node)
    return active


def _carries(aval: Any) -> bool:
    return any(map(_carries, aval)) if isinstance(aval, tuple) else bool(aval.differentiable)


def reverse(
    forward: Program, wrt: Sequence[Node], available: Collection[Node] | None = None, name: str | None = None
) -> Reversed:
    """The vjp of `forward` with respect to `wrt` (nodes of it).

    `available` are the forward values that exist at backward time; None: all. Values that are needed but not available
    are recomputed from those that are; CompileError if that is impossible.
    """
    tape = _Reverse(forward, available or ())
    nodes = forward.nodes()
    active = active_nodes(nodes, wrt)
    for node in reversed(nodes):
        if node in active and node in tape.cotangents and node.prim is not None:
            tape.step(node, active)
    program = Program(
        name or f"{forward.name}_backward", tuple(tape.seeds), tuple(tape.cotangent(node) for node in wrt)
    )
    proxies = {proxy: value for value, proxy in tape.proxies.items()}
    if available is not None and any(proxies[node] not in available for node in program.nodes() if node in proxies):
        program, proxies = _recompute(program, proxies, available)
    # the user's inputs first, then what was computed from them, each in the order of the forward program
    used = [node for node in program.nodes() if node in proxies]
    used.sort(key=lambda node: (proxies[node].prim is not None, proxies[node].number))
    inputs = (*program.inputs, *used)
    return Reversed(Program(program.name, inputs, program.outputs), tuple(proxies[node] for node in used))


class _Reverse:
    """The state of one reversal."""

    def __init__(self, forward: Program, available: Collection[Node]) -> None:
        self.builder = ReusingBuilder(available, self.value)
        self.proxies: dict[Node, Node] = {}
        #: a Node, or for a value with several outputs a dict from output number to Node
        self.cotangents: dict[Node, Any] = {}
        #: names for the cotangents of values that have none
        self.hints: dict[Node, str] = {}
        self.seeds = []
        for k, out in enumerate(forward.outputs):
            if out is None:
                raise CompileError("an output of a forward program cannot be None")
            label = "g_out" if len(forward.outputs) == 1 else f"g_out{k}"
            seed = self.builder.input(out.aval, label)
            self.seeds.append(seed)
            self.accumulate(out, seed)

    def accumulate(self, node: Node, ct: Node) -> None:
        """Add a contribution to a value's cotangent."""
        if node.prim is not None and node.prim.name == "item":
            parts = self.cotangents.setdefault(node.operands[0], {})
            k = node.kwargs["k"]
            parts[k] = ct if k not in parts else parts[k] + ct
            return
        before = self.cotangents.get(node)
        self.cotangents[node] = ct if before is None else before + ct

    def cotangent(self, node: Node) -> Node | None:
        """The finished cotangent of a value, named after it."""
        if node.prim is not None and node.prim.name == "item":
            ct = self.cotangents.get(node.operands[0], {}).get(node.kwargs["k"])
        else:
            ct = self.cotangents.get(node)
        if ct is None:
            return None
        lifted = self.builder.lift(ct)
        return rename(lifted, f"g_{node.name}") if node.name else suggest(lifted, f"g_{described(node) or 'x'}")

    def step(self, node: Node, active: set[Node]) -> None:
        """Run the rules of one operation."""
        prim = node.prim
        assert prim is not None
        if prim.name == "item":
            return
        self.builder.source = node.source
        ct = self.cotangents[node]
        if prim.multi:
            ct = tuple(ct.get(k) for k in range(len(node.aval)))
        elif node.name:
            rename(ct, f"g_{node.name}")
        else:
            suggest(ct, f"g_{self.hints.get(node) or described(node)}")
        if node.name and len(node.operands) == 1 and prim.elementwise:
            self.hints[node.operands[0]] = "pre"  # z of h = tanh(z)
        operands = [self.value(operand) for operand in node.operands]
        out = _Items(self, node) if prim.multi else self.value(node)
        for k, operand in enumerate(node.operands):
            if operand not in active:
                continue
            rule = prim.rule(k)
            if rule is None:
                if operand.aval.differentiable:
                    raise NotDifferentiableError(
                        f"{prim.name} has no derivative with respect to {prim.operand_name(k)}"
                    )
                continue
            made = rule(ct, out, *operands, **node.kwargs)
            if made is not None:
                self.accumulate(operand, self.builder.lift(fit(made, operand.aval)))
        self.builder.source = NOWHERE

    def value(self, node: Node) -> Any:
        """A forward value as an operand of the backward program: a number, or an input that stands for it."""
        if node.is_literal:
            return node.literal
        found = self.proxies.get(node)
        if found is None:
            found = self.proxies[node] = self.builder.input(node.aval, described(node), node.source)
            self.builder.stands_for(found, node)
        return found


class _Items:
    """The outputs of an operation that has several, as rules index them."""

    def __init__(self, tape: _Reverse, node: Node) -> None:
        self.tape = tape
        self.node = node

    def __getitem__(self, k: int) -> Any:
        return self.tape.value(item(self.node, k))

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
                raise CompileError(f"the backward program reads {here!r} ({here.aval}), which was not saved")
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
