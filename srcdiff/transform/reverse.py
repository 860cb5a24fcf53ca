"""Reverse mode: from a forward program to the program of its vector-Jacobian product.

Guarantees: the result's inputs are one cotangent per output of the forward program, then the forward values it reads
(`Derived.saved`); its outputs are the cotangents of `wrt`, None where the gradient is zero by structure. Every
cotangent is summed to the shape of its value and cast to its dtype here, in `fit`, at the one place where cotangents
are accumulated; they are added up in the order in which eager execution adds them, so that both give the same bits.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from srcdiff.core.builder import rename, suggest
from srcdiff.core.program import NOWHERE, Node, Program
from srcdiff.errors import CompileError, NotDifferentiableError
from srcdiff.ops.pull import pull, square_of
from srcdiff.ops.zeros import Partial, landed
from srcdiff.transform.names import described
from srcdiff.transform.values import Derived, Values


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


def squared_root(node: Node, among: Collection[Node]) -> Node | None:
    """The norm or other root, one of those given, that an operation squares: its derivative is then that of the square,
    which is smooth."""
    power = node.operands[1].literal if len(node.operands) == 2 else None
    if node.prim is None or not square_of(node.prim, node.operands, power):
        return None
    root = node.operands[0]
    return root if root.prim is not None and root.prim.squared is not None and root in among else None


def reverse(
    forward: Program, wrt: Sequence[Node], available: Collection[Node] | None = None, name: str | None = None
) -> Derived:
    """The vjp of `forward` with respect to `wrt` (nodes of it).

    `available` are the forward values that exist at backward time; None: all. Values that are needed but not available
    are recomputed from those that are; CompileError if that is impossible.
    """
    tape = _Reverse(forward, wrt, available)
    nodes = forward.nodes()
    active = active_nodes(nodes, wrt)
    for node in reversed(nodes):
        if node in active and node in tape.cotangents and node.prim is not None:
            tape.step(node, active)
    return tape.values.closed(
        name or f"{forward.name}_backward", tape.seeds, [tape.cotangent(node) for node in wrt], available
    )


class _Reverse:
    """The state of one reversal."""

    def __init__(self, forward: Program, wrt: Collection[Node], available: Collection[Node] | None) -> None:
        self.wrt = set(wrt)
        self.values = Values(available)
        self.builder = self.values.builder
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

    def accumulate(self, node: Node, ct: Any) -> None:
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
        lifted = self.builder.lift(landed(ct))
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
        else:
            self.label(ct, node)
        if node.name and len(node.operands) == 1 and prim.elementwise:
            self.hints[node.operands[0]] = "pre"  # z of h = tanh(z)
        root = squared_root(node, active)
        if root is None or root in self.wrt:
            self.pass_on(node, ct, active)
        else:
            self.pass_on(root, ct, active, squared=True)
        self.builder.source = NOWHERE

    def pass_on(self, node: Node, ct: Any, active: set[Node], squared: bool = False) -> None:
        """Run the rules of an operation, or those of its square."""
        prim = node.prim
        assert prim is not None
        operands = [self.values[operand] for operand in node.operands]
        out = self.values[node]
        for k, operand in enumerate(node.operands):
            if operand not in active:
                continue
            if prim.rule(k) is None:
                if operand.aval.differentiable:
                    raise NotDifferentiableError(
                        f"{prim.name} has no derivative with respect to {prim.operand_name(k)}"
                    )
                continue
            made = pull(prim, k, ct, out, operands, node.kwargs, operand.aval, squared)
            if made is not None:
                self.accumulate(operand, made if type(made) is Partial else self.builder.lift(made))

    def label(self, ct: Any, node: Node) -> None:
        """Call the cotangent of a value after it."""
        name, hint = node.name, self.hints.get(node) or described(node)
        if type(ct) is Partial:
            ct.name = ct.name or (lambda landed: self.call(landed, name, hint))
        else:
            self.call(ct, name, hint)

    def call(self, ct: Any, name: str | None, hint: str | None) -> None:
        """Name a cotangent."""
        ct = self.builder.lift(ct)
        if name:
            rename(ct, f"g_{name}")
        else:
            suggest(ct, f"g_{hint}")
