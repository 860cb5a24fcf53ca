"""Forward mode at every sample of every primitive: it is the adjoint of reverse mode, and its code computes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from srcdiff import runtime
from srcdiff.aval import SCALARS, aval_of
from srcdiff.codegen.emit import emit
from srcdiff.codegen.loader import load
from srcdiff.core.builder import Builder, interpret, item
from srcdiff.core.primitive import REGISTRY, Primitive
from srcdiff.core.program import Node, Program
from srcdiff.core.verify import verify
from srcdiff.transform.forward import forward
from srcdiff.transform.reverse import reverse
from srcdiff.transform.rewrite import simplify
from tests.ops.calculus import cotangent, differentiated, direction, pairing, pull_back
from tests.ops.sample import Sample
from tests.ops.test_laws import cases, evaluate, has_rules, is_regular, is_smooth


class Recorded:
    """One operation as the tape records it: its program, and what of its values is saved."""

    def __init__(self, prim: Primitive, values: tuple[Any, ...], params: dict[str, Any], chosen: list[int]) -> None:
        builder = Builder()
        self.values = values
        operands = [builder.literal(v) if type(v) in SCALARS else builder.input(aval_of(v)) for v in values]
        aval = prim.infer(*(x.aval for x in operands), **params)
        self.node = builder.opaque(prim, tuple(operands), params, aval)
        self.outputs = tuple(item(self.node, k) for k in range(len(aval))) if prim.multi else (self.node,)
        self.program = Program(prim.name, tuple(x for x in operands if not x.is_literal), self.outputs)
        self.wrt = [operands[k] for k in chosen]
        names = {name for k in chosen for name in prim.saved_for(k)}
        self.saved = {x for k, x in enumerate(operands) if not x.is_literal and names & {"*", prim.operand_name(k)}} | (
            set(self.outputs) if "out" in names else set()
        )
        out = evaluate(prim, values, params)
        parts = out if prim.multi else (out,)
        self.known: dict[Node, Any] = dict(zip(operands, values, strict=True)) | dict(
            zip(self.outputs, map(np.asarray, parts), strict=True)
        )
        self.out = out

    def run(self, derived: Any, seeds: list[Any], code: bool = False) -> tuple[Any, ...]:
        """The outputs of a derivative program of this operation."""
        arguments = (*seeds, *(self.known[x] for x in derived.saved))
        if not code:
            return interpret(derived.program, arguments)
        made = load(emit(derived.program), derived.program.name, derived.program.name, {"np": np, "rt": runtime})
        return tuple(made(*(np.array(a) for a in arguments)))


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def tangents(values: tuple[Any, ...], chosen: list[int], seed: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [direction(values[k], rng) for k in chosen]


@cases(is_regular)
def test_forward_mode_is_the_adjoint_of_reverse_mode(prim: Primitive, sample: Sample) -> None:
    """<J t, u> == <t, J' u> for the tangents of all operands at once, and of each alone; only what is saved is read."""
    values = sample.values()
    chosen = differentiated(prim, values)
    for some in [chosen, *([k] for k in chosen if len(chosen) > 1)]:
        recorded = Recorded(prim, values, sample.params, some)
        derived = forward(recorded.program, recorded.wrt, recorded.saved)
        verify(derived.program)
        ts = tangents(values, some, 6)
        ct = cotangent(recorded.out, np.random.default_rng(7))
        pushed = recorded.run(derived, ts)
        for out, made in zip(recorded.outputs, derived.program.outputs, strict=True):
            assert made is None or made.aval is out.aval
        left = pairing(pushed, ct if prim.multi else (ct,))
        pulled = [pull_back(prim, k, ct, recorded.out, values, sample.params) for k in some]
        right = pairing(pulled, ts)
        scale = sum(pairing(np.abs(a), np.abs(b)) for a, b in zip(pulled, ts, strict=True) if a is not None)
        eps = max(float(np.finfo(np.asarray(x).dtype).eps) for x in (*ts, *pushed) if x is not None)
        assert abs(left - right) <= 1e4 * eps * (1.0 + scale)


@cases(has_rules)
def test_the_code_of_forward_mode_computes_what_its_program_does(prim: Primitive, sample: Sample) -> None:
    values = sample.values()
    chosen = differentiated(prim, values)
    recorded = Recorded(prim, values, sample.params, chosen)
    derived = forward(recorded.program, recorded.wrt, recorded.saved)
    short = type(derived)(simplify(derived.program), derived.saved)
    ts = tangents(values, chosen, 6)
    for made in (derived, short):
        verify(made.program)
        for got, want in zip(recorded.run(made, ts, code=True), recorded.run(made, ts), strict=True):
            assert (got is None) == (want is None)
            assert got is None or np.asarray(got).dtype == np.asarray(want).dtype
            assert got is None or np.asarray(got).tobytes() == np.asarray(want).tobytes()
    for got, want in zip(recorded.run(short, ts), recorded.run(derived, ts), strict=True):
        if want is not None:
            eps = float(np.finfo(np.asarray(want).dtype).eps)
            np.testing.assert_allclose(got, want, rtol=1e4 * eps, atol=1e4 * eps)


@cases(is_smooth)
def test_second_derivatives_agree_in_every_order(prim: Primitive, sample: Sample) -> None:
    """u -> J' u differentiated forward, t -> J t differentiated in reverse: <J'(u) . t, s> both ways round."""
    values = sample.values()
    chosen = differentiated(prim, values)
    recorded = Recorded(prim, values, sample.params, chosen)
    rng = np.random.default_rng(8)
    ct = cotangent(recorded.out, rng)
    cts = [c for c in (ct if prim.multi else (ct,)) if c is not None]
    outs = [x for x in recorded.outputs if x.aval.differentiable]
    whole = Program(prim.name, recorded.program.inputs, tuple(outs))
    ts, ss = tangents(values, chosen, 9), tangents(values, chosen, 10)

    def second(
        first: Any, wrt: list[Node], seeds: list[Any], along: list[Any], weights: list[Any]
    ) -> tuple[float, float]:
        """The derivative of <weights, first(x)> along `along`: forward over it, and reverse over it."""
        program = first.program
        inputs = {x: program.inputs[len(seeds) + k] for k, x in enumerate(first.saved)}
        arguments = [*seeds, *(recorded.known[x] for x in first.saved)]
        here = [(inputs[x], a) for x, a in zip(wrt, along, strict=True) if x in inputs]
        outputs = [(k, out) for k, out in enumerate(program.outputs) if out is not None and not out.is_literal]
        live = Program(program.name, program.inputs, tuple(out for _, out in outputs))
        picked = [weights[k] for k, _ in outputs]
        if not here or not outputs:
            return 0.0, 0.0
        known = dict(zip(program.inputs, arguments, strict=True))
        for node in live.nodes():
            if node.prim is not None:
                known[node] = node.prim.eval(*(known[x] for x in node.operands), **node.kwargs)
            elif node.is_literal:
                known[node] = node.literal
        ahead = forward(live, [x for x, _ in here])
        pushed = interpret(ahead.program, (*(a for _, a in here), *(known[x] for x in ahead.saved)))
        back = reverse(live, [x for x, _ in here])
        pulled = interpret(back.program, (*picked, *(known[x] for x in back.saved)))
        return pairing(pushed, picked), pairing(pulled, [a for _, a in here])

    # everything recomputed from the operands, so that they are all the derivative depends on
    sources = set(recorded.program.inputs)
    vjp, jvp = reverse(whole, recorded.wrt, sources), forward(whole, recorded.wrt, sources)
    over_reverse = second(vjp, recorded.wrt, cts, ss, ts)
    over_forward = second(jvp, recorded.wrt, ts, ss, cts)
    scale = 1.0 + max(map(abs, (*over_reverse, *over_forward)))
    tolerance = 1e5 * max(float(np.finfo(np.asarray(t).dtype).eps) for t in ts) * scale
    for other in (over_reverse[1], *over_forward):
        assert abs(over_reverse[0] - other) <= tolerance


def test_a_conjugate_of_a_conjugate_is_the_value() -> None:
    x = Builder().input(aval_of(np.zeros(2, complex)))
    conjugate = REGISTRY["conjugate"]
    assert conjugate(conjugate(x)) is x
