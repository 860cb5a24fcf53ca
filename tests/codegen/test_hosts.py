"""What a loop goes through is made where the loop writes what it leaves; values are the same, call after call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from srcdiff import runtime
from srcdiff.codegen.loader import load
from srcdiff.codegen.loops import emit_loops
from srcdiff.core.builder import interpret
from srcdiff.core.program import Program
from srcdiff.transform.ahead import ahead
from srcdiff.transform.reroll import reroll
from tests.codegen.test_loops import batches, step_of
from tests.transform.programs import P, Tape, at, f64, inputs_of, total
from tests.transform.test_reroll import fused

STEPS, WIDTH = 12, 20  # a state of 24 x 20 float64 numbers has 3.8 kB


def network(loss: Any, wrt: str) -> Program:
    """The gradients of a recurrent network; `loss` is made of its states and of what led to them."""
    b = Tape()
    shapes = {"x": (STEPS, 24, 5), "w": (5, WIDTH), "u": (WIDTH, WIDTH), "h": (24, WIDTH), "v": (WIDTH, 1)}
    given = {name: b.input(f64(*shape), name) for name, shape in shapes.items()}
    states, products = [given["h"]], []
    for t in range(STEPS):
        products.append(at(given["x"], t) @ given["w"])
        states.append(P["tanh"](products[-1] + states[-1] @ given["u"]))
    program = Program("f", tuple(given.values()), (loss(states, products, given["v"]),))
    return ahead(reroll(fused(program, [given[name] for name in wrt], exact=False), False, tiny=0))


def runs(program: Program) -> str:
    """The text of a step that gives what the interpreter gives, whatever it gave before."""
    text = emit_loops(program, quick=True)
    step = load(text, program.name, "step", {"np": np, "rt": runtime})
    for seed in (1, 2, 1):
        values = inputs_of(program, seed)
        for got, want in zip(step(*values), interpret(program, values), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12, err_msg=text)
    return text


def last(states: list[Any], products: list[Any], v: Any) -> Any:
    return total((states[-1] @ v) ** 2)


def test_states_take_the_place_of_products() -> None:
    text = runs(step_of(batches(26), exact=False))
    assert "[1:])" in text and text.count("(27, 16, 64), np.float32)") == 1
    assert "[1:])" in runs(network(last, "wu"))


@pytest.mark.parametrize("wrt", ["u", "wu", "xu", "hu"])
@pytest.mark.parametrize(
    "loss",
    [
        lambda states, products, v: total((states[-1] @ v) ** 2) + total(states[3] * states[3]),
        lambda states, products, v: total((states[-1] @ v) ** 2) * total(products[4]),
        lambda states, products, v: total((states[-1] @ v) ** 2) + total(sum(products[1:], products[0])),
        lambda states, products, v: total(sum((h @ v for h in states[1:]), states[0] @ v) ** 2),
    ],
)
def test_values_are_the_same_whatever_else_reads_them(loss: Any, wrt: str) -> None:
    runs(network(loss, wrt))
