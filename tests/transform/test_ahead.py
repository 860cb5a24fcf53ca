"""What iterations do not need of each other is done for all of them at once, and gives the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from srcdiff.core.program import Node, Program
from srcdiff.transform import ahead as passes
from srcdiff.transform.ahead import ahead
from srcdiff.transform.reroll import reroll
from tests.transform.programs import P, Tape, at, f64, total
from tests.transform.test_reroll import Drawn, check, fused, loops, unrolled

TRIPS = 6


def body_of(program: Program) -> str:
    """What remains in the only loop, as text."""
    (spec,) = loops(program)
    return "; ".join(f"{node.prim.name}" for node in spec.body.nodes() if node.prim is not None)


def outside(program: Program) -> list[str]:
    return [node.prim.name for node in program.nodes() if node.prim is not None and node.prim.name != "item"]


def network(
    step: Any, *shapes: tuple[int, ...], item: tuple[int, ...] = (3, 4), state: tuple[int, ...] = (3, 5)
) -> Program:
    b = Tape()
    h, xs = b.input(f64(*state), "h"), b.input(f64(TRIPS, *item), "xs")
    weights = tuple(b.input(f64(*shape), f"w{k}") for k, shape in enumerate(shapes))
    inputs = (h, xs, *weights)
    for t in range(TRIPS):
        h = step(at(xs, t), h, *weights)
    return Program("f", inputs, (total(h * h),))


def test_products_and_the_terms_beside_them_are_done_ahead() -> None:
    def step(x: Node, h: Node, w: Node, u: Node, b: Node) -> Any:
        return P["tanh"](x @ w + h @ u + b)

    made = check(network(step, (4, 5), (5, 5), (5,)), False, ahead)
    assert body_of(made) == "matmul; add; tanh"
    assert outside(made)[:3] == ["matmul", "add", "loop"]


@pytest.mark.parametrize(
    ("step", "shapes", "item", "state", "remains"),
    [
        (lambda x, h, w: P["tanh"](h + x @ w), [(4, 5)], (4,), (5,), "add; tanh"),
        (lambda x, h, w: P["tanh"](h + w @ x), [(5, 4)], (4,), (5,), "add; tanh"),
        (lambda x, h, w: P["tanh"](h + w @ x), [(3, 4)], (4, 5), (3, 5), "add; tanh"),
        (lambda x, h, w: h * P["exp"](x) * w, [(5,)], (5,), (3, 5), "mul; mul"),
        (lambda x, h, w: h * (P["sin"](x) + w), [(3, 5)], (5,), (3, 5), "mul"),
        (lambda x, h, w: h - (1.0 - x * x), [(1,)], (3, 5), (3, 5), "sub"),
        (lambda x, h, w: h - w * w, [(5,)], (3, 5), (3, 5), None),
        (lambda x, h, w: P["sin"](h) * w, [(5,)], (3, 5), (3, 5), None),
    ],
)  # fmt: skip
def test_what_remains(step: Any, shapes: Any, item: Any, state: Any, remains: str | None) -> None:
    """None: nothing is done ahead."""
    program = network(step, *shapes, item=item, state=state)
    before = reroll(program, False, tiny=0)
    made = check(program, False, ahead)
    if remains is None:
        assert str(made) == str(before)
    else:
        assert body_of(made) == remains


def test_large_arrays_stay_in_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    def step(x: Node, h: Node) -> Any:
        return h * P["sin"](x)

    program = network(step, item=(3, 5))
    assert body_of(ahead(reroll(program, False, tiny=0))) == "mul"
    for limit, bytes_ in (("LARGEST", 15 * 8), ("MOST", TRIPS * 15 * 8)):
        with monkeypatch.context() as patch:
            patch.setattr(passes, limit, bytes_)
            assert body_of(ahead(reroll(program, False, tiny=0))) == "mul"
            patch.setattr(passes, limit, bytes_ - 1)
            assert body_of(ahead(reroll(program, False, tiny=0))) == "sin; mul"


@settings(max_examples=200, deadline=None)
@given(unrolled())
def test_steps_give_the_same(case: Drawn) -> None:
    check(fused(*case, exact=False), False, ahead)


@settings(max_examples=100, deadline=None)
@given(unrolled())
def test_forward_programs_give_the_same(case: Drawn) -> None:
    check(case.program, False, ahead)
