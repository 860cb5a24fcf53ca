"""Loops come back as loops, and read as in the documents; where they cannot, the text says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff import runtime
from srcdiff.codegen.header import Header
from srcdiff.codegen.loader import load
from srcdiff.codegen.loops import emit_loops
from srcdiff.config import Options
from srcdiff.core.builder import interpret
from srcdiff.core.program import Node, Program
from srcdiff.core.verify import verify
from srcdiff.replay.fuse import fuse
from srcdiff.replay.rolled import fuse_loops
from srcdiff.transform.ahead import ahead
from srcdiff.transform.bands import in_bands
from srcdiff.transform.group import group
from srcdiff.transform.reroll import reroll, written_out
from tests.transform.programs import P, Tape, at, backward, f32, f64, inputs_of, rnn, total

Case = tuple[Program, tuple[Node, ...]]


def pendulum(steps: int = 300) -> Case:
    b = Tape()
    first = angle, velocity = b.input(f64(), "angle"), b.input(f64(), "velocity")
    for _ in range(steps):
        new = b.line(4, "angle_new = angle + 0.01 * velocity", lambda a=angle, v=velocity: a + 0.01 * v)
        velocity = b.line(
            5, "velocity = velocity - 0.01 * np.sin(angle)", lambda a=angle, v=velocity: v - 0.01 * P["sin"](a)
        )
        angle = new
    out = b.line(6, "return angle * angle + velocity * velocity", lambda: angle * angle + velocity * velocity)
    return Program("pendulum", first, (out,)), first


def batches(steps: int = 50, width: int = 64) -> Case:
    """A recurrent network on batches."""
    b = Tape()
    w, u, bias, v = (
        b.input(f32(*s), n) for s, n in [((32, width), "W"), ((width, width), "U"), ((width,), "b"), ((width, 1), "V")]
    )
    xs, h, y = b.input(f32(steps, 16, 32), "xs"), b.input(f32(16, width), "h0"), b.input(f32(16, 1), "y")
    first = h
    for t in range(steps):
        h = b.line(8, "h = np.tanh(xs[t] @ W + h @ U + b)", lambda t=t, h=h: P["tanh"](at(xs, t) @ w + h @ u + bias))
    out = b.line(9, "return np.sum((h @ V - y) ** 2)", lambda: total((h @ v - y) ** 2))
    return Program("batches", (w, u, bias, v, xs, first, y), (out,)), (w, u, bias, v)


def nested(outer: int = 6, inner: int = 5) -> Case:
    """A loop in a loop."""
    b = Tape()
    w, x, xs = b.input(f64(3, 3), "w"), b.input(f64(3), "x"), b.input(f64(outer, 3), "xs")
    h = x
    for t in range(outer):
        h = b.line(4, "h = np.sin(h) + xs[t]", lambda t=t, h=h: P["sin"](h) + at(xs, t))
        for _ in range(inner):
            h = b.line(6, "h = np.tanh(h @ w)", lambda h=h: P["tanh"](h @ w))
    out = b.line(7, "return np.sum(h ** 2)", lambda: total(h**2))
    return Program("nested", (w, x, xs), (out,)), (w, x)


def branch(steps: int = 8) -> Case:
    """A loop whose iterations take turns."""
    b = Tape()
    w, x = b.input(f64(3, 3), "w"), b.input(f64(3), "x")
    h = x
    turns = [0, 1, 1, 0, 0, 1, 0, 1]
    for t in range(steps):
        if turns[t]:
            h = b.line(5, "h = np.tanh(h @ w)", lambda h=h: P["tanh"](h @ w))
        else:
            h = b.line(7, "h = np.sin(h) - w[0]", lambda h=h: P["sin"](h) - at(w, 0))
    out = b.line(8, "return np.sum(h)", lambda: total(h))
    return Program("branch", (w, x), (out,)), (w,)


CASES: dict[str, Callable[[], Case]] = {"pendulum": pendulum, "batches": batches, "nested": nested, "branch": branch}


def step_of(case: Case, exact: bool, loops: bool = True) -> Program:
    program, wrt = case
    (out,) = program.outputs
    assert out is not None
    return (fuse_loops if loops else fuse)(program.name, program.inputs, out, wrt, (), Options(exact=exact))


def run(program: Program, values: tuple[Any, ...], **options: Any) -> Any:
    return load(emit_loops(program, **options), program.name, program.name, {"np": np, "rt": runtime})(*values)


def check(program: Program, values: tuple[Any, ...], want: tuple[Any, ...], tolerance: float) -> None:
    texts = ({}, {"plain": True}, {"quick": True})
    for got in (*(run(program, values, **how) for how in texts), interpret(program, values)):
        for x, y in zip(want, got, strict=True):
            scale = float(np.max(np.abs(x), initial=0.0))
            np.testing.assert_allclose(y, x, rtol=0, atol=tolerance * scale)


@pytest.mark.parametrize("name", CASES)
def test_golden_steps(name: str, golden: Callable[[str, str], None]) -> None:
    case = CASES[name]()
    rolled = verify(step_of(case, exact=False))
    golden(f"loop_{name}.py", emit_loops(rolled, Header(name, "model.py:1", notes=written_out(rolled))))
    values = inputs_of(case[0])
    check(
        rolled, values, interpret(step_of(case, exact=False, loops=False), values), 1e-3 if name == "batches" else 1e-11
    )


@pytest.mark.parametrize("name", CASES)
def test_steps_are_exact_if_they_shall_be(name: str) -> None:
    case = CASES[name]()
    values = inputs_of(case[0])
    check(verify(step_of(case, exact=True)), values, interpret(step_of(case, exact=True, loops=False), values), 0.0)


@pytest.mark.parametrize("steps", [25, 26, 40, 201, 250])
@pytest.mark.parametrize("name", ["pendulum", "batches"])
@pytest.mark.parametrize("exact", [True, False])
def test_a_lengthened_loop_is_the_long_one(name: str, steps: int, exact: bool) -> None:
    """The text made from short loops is that of the whole program, but for numbers in names."""
    case = CASES[name](steps)  # type: ignore[call-arg]
    lengthened = step_of(case, exact)
    whole = reroll(step_of(case, exact, loops=False), exact)
    whole = whole if exact else in_bands(ahead(whole))
    assert [n.prim for n in lengthened.nodes()] == [n.prim for n in whole.nodes()] or name == "pendulum"
    values = inputs_of(case[0])
    check(lengthened, values, interpret(whole, values), 0.0)


def test_backward_of_the_documents_loop(golden: Callable[[str, str], None]) -> None:
    """As generated_code.md has it: saved values are lists, the additions into g_W one product after the loop."""
    program, wrt = rnn(50)
    made = backward(program, wrt)
    rolled, groups = group(reroll(made.program))
    verify(rolled)
    golden("loop_rnn_backward.py", emit_loops(rolled, Header("rnn", "model.py:20", ("W", "U", "b"))))
    values = inputs_of(made.program)
    given = tuple(values[g] if isinstance(g, int) else tuple(values[k] for k in g) for g in groups)
    check(rolled, given, interpret(made.program, values), 1e-12)


def test_loops_of_numbers_run_on_floats(golden: Callable[[str, str], None]) -> None:
    """And on NumPy's numbers where Python's raise an error: the sine of an infinity."""
    case = pendulum(250)
    rolled = step_of(case, exact=False)
    golden("loop_of_numbers.py", emit_loops(rolled, quick=True))
    values = (np.float64(np.inf), np.float64(1.0))
    with np.errstate(all="ignore"):
        want, got = interpret(rolled, values), run(rolled, values, quick=True)
    np.testing.assert_array_equal(got, want)


def test_time_does_not_depend_on_the_number_of_iterations() -> None:
    """What is compiled is as large for a thousand iterations as for fifty."""
    texts = [emit_loops(step_of(batches(steps), exact=False)) for steps in (50, 1000)]
    assert texts[0].replace("50", "n").replace("51", "m").count("\n") == texts[1].count("\n")


def test_a_sum_of_parts_inside_a_loop_has_one_name() -> None:
    """The variable that a loop's body collects slices in was named twice."""

    def f(x: Any) -> Any:
        volume: Any = 1.0
        edges = [np.linspace(x[k] - 0.5, 2 * x[k], 3) for k in range(4)]
        for k in range(4):
            volume = volume * np.diff(edges[k])
        return np.sum(np.arange(16.0) / volume[0])

    gradient = sd.grad(f)
    second = sd.grad(lambda x: np.sum(gradient(x) * np.array([1.0, 2.0, 3.0, 4.0])))
    x = np.array([0.62, 0.31, 0.83, 0.45])
    walked = second(x)
    for _ in range(3):
        np.testing.assert_allclose(second(x), walked, rtol=1e-12)
