"""What repeats becomes a loop that computes the same: bit for bit, or nearly where sums are batched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from srcdiff import runtime
from srcdiff.codegen.loader import load
from srcdiff.codegen.loops import emit_loops
from srcdiff.config import Options
from srcdiff.core.builder import interpret
from srcdiff.core.program import Node, Program
from srcdiff.core.verify import verify
from srcdiff.replay.fuse import fuse
from srcdiff.transform.reroll import reroll
from tests.transform.programs import P, Tape, at, backward, f64, inputs_of, total


def loops(program: Program) -> list[Any]:
    return [node.kwargs["spec"] for node in program.nodes() if node.prim is not None and node.prim.name == "loop"]


def fused(program: Program, wrt: Any, exact: bool) -> Program:
    (out,) = program.outputs
    return fuse(program.name, program.inputs, out, wrt, (), Options(exact=exact))


def same_bits(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    x, y = np.asarray(a), np.asarray(b)
    return x.dtype == y.dtype and x.shape == y.shape and bool(np.array_equal(x, y, equal_nan=True))


def check(program: Program, exact: bool, then: Callable[[Program], Program] = lambda program: program) -> Program:
    """Rolled, the program gives the same: interpreted and as code, which leaves its arguments alone."""
    rolled = then(reroll(program, exact, tiny=0))
    verify(rolled)
    values = inputs_of(program)
    given = tuple(np.array(value) for value in values)
    with np.errstate(all="ignore"):
        want = interpret(program, values)
        text = emit_loops(rolled)
        code = load(text, program.name, program.name, {"np": np, "rt": runtime})(*given)
        results = {
            "interpreted": interpret(rolled, values),
            "code": code,
        }
        for how in ("plain", "quick"):
            other = load(emit_loops(rolled, **{how: True}), program.name, program.name, {"np": np, "rt": runtime})
            results[how] = other(*given)
    for how, got in results.items():
        for x, y in zip(want, got, strict=True):
            if exact:
                assert same_bits(x, y), (how, text)
            elif x is not None:
                np.testing.assert_allclose(y, x, rtol=1e-9, atol=1e-9, err_msg=how)
    for value, before in zip(given, values, strict=True):
        np.testing.assert_array_equal(value, before)
    return rolled


# -------------------------------------------------------------------------------------------------------- random loops

SHAPES = [(), (3,), (2, 3), (3, 3)]


def _fits(x: Node, y: Node) -> bool:
    try:
        return len(np.broadcast_shapes(x.shape, y.shape)) <= 2
    except ValueError:
        return False


@st.composite
def recipes(draw: Any) -> list[tuple[Any, ...]]:
    """Operations of a body, as choices to be made the same way in every iteration."""
    kinds = ["unary", "binary", "literal", "matmul", "shape", "square"]
    count = draw(st.integers(1, 6))
    small = st.integers(0, 11)
    return [(draw(st.sampled_from(kinds)), draw(small), draw(small), draw(small)) for _ in range(count)]


def follow(recipe: list[tuple[Any, ...]], values: list[Node]) -> list[Node]:
    """Do a recipe on some values; the values made."""
    made: list[Node] = []
    for kind, a, b, c in recipe:
        every = [*values, *made]
        x, y = every[a % len(every)], every[b % len(every)]
        new: Node | None = None
        if kind == "unary":
            new = P[["tanh", "sin", "neg"][c % 3]](x)
        elif kind == "binary" and _fits(x, y):
            new = P[["add", "sub", "mul"][c % 3]](x, y) * 0.5
        elif kind == "literal":
            new = P[["add", "mul"][c % 2]](x, [0.5, 0.25, 2.0][b % 3])
        elif kind == "square":
            new = P["tanh"](x * x)
        elif kind == "matmul" and x.ndim and y.ndim and x.shape[-1] == y.shape[-2 if y.ndim > 1 else 0]:
            new = P["tanh"](x @ y)
        elif kind == "shape" and x.ndim == 2:
            new = P["transpose"](x, axes=(1, 0)) if c % 2 else total(x, (0,)) * 0.1
        if new is not None:
            made.append(new)
    return made


class Drawn(NamedTuple):
    """A program, and what it is differentiated by; shown as text."""

    program: Program
    wrt: list[Node]

    def __repr__(self) -> str:
        return f"{self.program}\nwrt {self.wrt}"


@st.composite
def unrolled(draw: Any) -> Drawn:
    """A program as a loop leaves it: some values carried, elements of an array, maybe a sum over all iterations."""
    b = Tape()
    trips = draw(st.integers(3, 7))
    states = [b.input(f64(*draw(st.sampled_from(SHAPES))), f"s{k}") for k in range(draw(st.integers(1, 3)))]
    fixed = [b.input(f64(*draw(st.sampled_from(SHAPES))), f"w{k}") for k in range(draw(st.integers(1, 2)))]
    xs = b.input(f64(trips, *draw(st.sampled_from(SHAPES[1:3]))), "xs")
    inputs = (*states, *fixed, xs)
    recipe, inner = draw(recipes()), draw(recipes())
    repeats = draw(st.sampled_from([0, 0, 0, 2, 5]))
    reverse, sums, odd = draw(st.booleans()), draw(st.booleans()), draw(st.sampled_from([None, None, 0, 2]))
    picks = [draw(st.integers(0, 11)) for _ in states]
    collected: list[Node] = []
    here = list(states)
    named = draw(st.booleans())
    for t in range(trips):
        b.source = type(b.source)(None, "/home/user/model.py", 5, "loop")
        x = at(xs, trips - 1 - t if reverse else t)
        made = follow(recipe, [*here, x, *fixed])
        if odd == t:
            made = [P["sin"](m) for m in made]
        b.source = type(b.source)(None, "/home/user/model.py", 6, "inner")
        for _ in range(repeats):
            again = follow(inner, [*here, *fixed])
            fitting = [[m for m in again if m.shape == s.shape] for s in here]
            here = [f[p % len(f)] if f else s for f, p, s in zip(fitting, picks, here, strict=True)]
        b.source = type(b.source)(None, "/home/user/model.py", 7, "end")
        fitting = [[m for m in made if m.shape == s.shape] for s in here]
        here = [f[p % len(f)] if f else s for f, p, s in zip(fitting, picks, here, strict=True)]
        if named:
            for k, s in enumerate(here):
                if s.name is None and s.prim is not None:
                    object.__setattr__(s, "name", f"s{k}")
        collected.append(total(here[0] * here[0]) if made else total(x))
    out = total(here[-1]) * 0.5
    for term in collected if sums else collected[-1:]:
        out = out + term
    return Drawn(Program("f", inputs, (out,)), [*states, *fixed, xs][: draw(st.integers(1, 5))])


@settings(max_examples=150, deadline=None)
@given(unrolled())
def test_a_loop_computes_what_the_straight_line_computes(case: Drawn) -> None:
    check(case.program, exact=True)


@settings(max_examples=150, deadline=None)
@given(unrolled())
def test_steps_with_loops_are_exact(case: Drawn) -> None:
    check(fused(*case, exact=True), exact=True)


@settings(max_examples=150, deadline=None)
@given(unrolled())
def test_batched_sums_add_the_same_terms(case: Drawn) -> None:
    check(fused(*case, exact=False), exact=False)


@settings(max_examples=100, deadline=None)
@given(unrolled())
def test_backward_programs_with_loops(case: Drawn) -> None:
    made = backward(*case)
    check(made.program, exact=True)
    check(made.program, exact=False)
