"""The passes that make a backward program what a careful person would write.

    prepare    forward program -> the same values, formulas recognised whose derivative has a better form
    simplify   any program -> the same values to a few ulp, with fewer and smaller operations

`simplify` guarantees: inputs, outputs and avals are unchanged; no identity of `REWRITES` applies to the result; its cost is
linear in the number of operations. Each identity has a name, and can be switched off by it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final

from srcdiff.core.builder import Builder, rebuild
from srcdiff.core.primitive import Primitive
from srcdiff.core.program import Node, Program
from srcdiff.transform.arithmetic import ARITHMETIC
from srcdiff.transform.factor import take_out_scalars
from srcdiff.transform.identity import ELEMENTWISE, Rewrite, Rule
from srcdiff.transform.recognise import prepare
from srcdiff.transform.shapes import SHAPES

__all__ = ["REWRITES", "prepare", "simplify", "used_inputs"]

REWRITES: Final[tuple[Rewrite, ...]] = SHAPES + ARITHMETIC


def simplify(program: Program, without: Collection[str] = ()) -> Program:
    """The program in simplest form. `without` names rewrites that are left out, for hunting a bug; "factor" too."""
    rules = _rules_by_primitive(rewrite for rewrite in REWRITES if rewrite.name not in without)
    small = rebuild(program, lambda builder, node, operands: None, _Simplifier(rules))
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


class _Simplifier(Builder):
    """A builder that tries the identities on every operation before it makes a node of it."""

    __slots__ = ("_common", "_rules")

    def __init__(self, rules: dict[str, list[Rule]]) -> None:
        super().__init__()
        self._rules = rules
        self._common: list[Rule] = rules.get(ELEMENTWISE, [])

    def emit(self, prim: Primitive, operands: tuple[Any, ...], params: dict[str, Any]) -> Node:
        """The simplest node for `prim(*operands, **params)`."""
        nodes = tuple(map(self.lift, operands))
        own = self._rules.get(prim.name, ())
        if (own or prim.elementwise) and not all(node.is_literal for node in nodes):
            for rule in (*self._common, *own) if prim.elementwise else own:
                made = rule(prim, nodes, params)
                if made is not None and made.aval is prim.infer(*(node.aval for node in nodes), **params):
                    return made
        return super().emit(prim, nodes, params)
