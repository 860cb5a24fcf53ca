"""The passes that make a backward program what a careful person would write.

    prepare    forward program -> the same values, formulas recognised whose derivative has a better form
    simplify   any program -> the same values to a few ulp, with fewer and smaller operations

`simplify` guarantees: inputs, outputs and avals are unchanged; each operation was tried with every identity of
`REWRITES` once its operands were simple; the cost is linear in the number of operations. Each identity has a name, and
can be switched off by it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from srcdiff.core.builder import Builder, rebuild
from srcdiff.core.primitive import Primitive
from srcdiff.core.program import Node, Program
from srcdiff.transform.arithmetic import ARITHMETIC
from srcdiff.transform.factor import take_out_scalars
from srcdiff.transform.identity import ELEMENTWISE, Rewrite, Rule, SharingBuilder
from srcdiff.transform.recognise import prepare, prepare_exactly
from srcdiff.transform.shapes import SHAPES

__all__ = ["REWRITES", "prepare", "prepare_exactly", "simplify", "used_inputs"]

_COMMUTATIVE = ("add", "mul")

REWRITES: Final[tuple[Rewrite, ...]] = SHAPES + ARITHMETIC


def simplify(program: Program, without: Collection[str] = (), more: Sequence[Rewrite] = ()) -> Program:
    """The program in simplest form. `without` names rewrites that are left out, for hunting a bug; "factor" too.

    `more` are rewrites to be tried before those of `REWRITES`.
    """
    rules = _rules_by_primitive(rewrite for rewrite in (*more, *REWRITES) if rewrite.name not in without)
    builder = _Simplifier(rules)
    uses = Counter(operand for node in program.nodes() for operand in set(node.operands))

    def mark_shared(_: Builder, node: Node, operands: tuple[Node, ...]) -> None:
        builder.shared.update(new for old, new in zip(node.operands, operands, strict=True) if uses[old] > 1)

    small = rebuild(program, mark_shared, builder)
    return small if "factor" in without else take_out_scalars(small, _Simplifier(rules))


def used_inputs(program: Program) -> tuple[bool, ...]:
    """For each input whether the outputs depend on it."""
    nodes = set(program.nodes())
    return tuple(node in nodes for node in program.inputs)


def _rules_by_primitive(rewrites: Iterable[Rewrite]) -> dict[str, list[Rule]]:
    rules: dict[str, list[Rule]] = {}
    for each in rewrites:
        for prim in each.prims:
            rules.setdefault(prim, []).append(each.rule)
    return rules


class _Simplifier(SharingBuilder):
    """A builder that tries the identities on every operation before it makes a node of it."""

    __slots__ = ("_rules", "_tried")

    def __init__(self, rules: dict[str, list[Rule]]) -> None:
        super().__init__()
        self._rules = rules
        self._tried: dict[Primitive, list[Rule]] = {}

    def emit(self, prim: Primitive, operands: tuple[Any, ...], params: dict[str, Any], aval: Any = None) -> Node:
        """The simplest node for `prim(*operands, **params)`."""
        nodes = tuple(map(self.lift, operands))
        rules = self._rules_of(prim)
        if rules and not all(node.is_literal for node in nodes):
            for rule in rules:
                made = rule(prim, nodes, params)
                if made is None:
                    continue
                if aval is None:
                    aval = prim.infer(*(node.aval for node in nodes), **params)
                if made.aval is aval:
                    return made
            if prim.name in _COMMUTATIVE:
                known = self._known.get((prim, (id(nodes[1]), id(nodes[0])), ()))
                if known is not None:
                    return known
        return super().emit(prim, nodes, params, aval)

    def _rules_of(self, prim: Primitive) -> list[Rule]:
        rules = self._tried.get(prim)
        if rules is None:
            general = self._rules.get(ELEMENTWISE, []) if prim.elementwise else []
            rules = self._tried[prim] = general + self._rules.get(prim.name, [])
        return rules
