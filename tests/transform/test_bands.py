"""Loops in bands leave the same sums, in memory for a band."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import srcdiff as sd
from srcdiff import runtime
from srcdiff.codegen.loader import load
from srcdiff.codegen.loops import emit_loops
from srcdiff.core.loop import Loop
from srcdiff.core.program import Node, Program
from srcdiff.transform import bands
from srcdiff.transform.ahead import ahead
from srcdiff.transform.bands import in_bands, length
from srcdiff.transform.parts import BAND
from srcdiff.transform.reroll import reroll
from tests.codegen.test_loops import batches, step_of
from tests.transform.programs import P, Tape, at, f64, inputs_of, total
from tests.transform.test_reroll import check, fused, loops


@contextmanager
def limits(least: int = 1, size: int = 1, fewest: int = 2) -> Iterator[None]:
    """Bands of small arrays, too."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("LEAST", least), ("SIZE", size), ("FEWEST", fewest)):
            patch.setattr(bands, name, value)
        yield


def recurrent(trips: int, step: Any, *shapes: tuple[int, ...], item: tuple[int, ...] = (3, 4)) -> Program:
    """The gradients of a sum of squares with respect to the weights."""
    b = Tape()
    h, xs = b.input(f64(3, 5), "h"), b.input(f64(trips, *item), "xs")
    weights = [b.input(f64(*shape), f"w{k}") for k, shape in enumerate(shapes)]
    v = b.input(f64(5, 1), "v")
    inputs = (h, xs, *weights, v)
    for t in range(trips):
        h = step(at(xs, t), h, *weights)
    return fused(Program("f", inputs, (total((h @ v) ** 2),)), weights, exact=False)


def network(x: Node, h: Node, w: Node, u: Node, b: Node) -> Any:
    return P["tanh"](x @ w + h @ u + b)


WEIGHTS = ((4, 5), (5, 5), (5,))


def banded(program: Program, then: Any = ahead, count: int = 2) -> list[Loop]:
    """The loops over bands of so many iterations of what a program becomes, which computes the same."""
    with limits(fewest=count):
        made = check(program, False, lambda rolled: in_bands(then(rolled)))
    return [spec for spec in loops(made) if spec.body.name == BAND]


TERMS: dict[str, tuple[tuple[int, ...], Any]] = {
    "input": ((4, 5), lambda h, x, w: x @ w),
    "state": ((5, 5), lambda h, x, w: h @ w),
    "scaled": ((5,), lambda h, x, w: h * w),
    "by rows": ((3, 1), lambda h, x, w: h * w),
    "offset": ((5,), lambda h, x, w: w),
    "row": ((1, 5), lambda h, x, w: P["sin"](w) * 0.5),
    "all": ((3, 5), lambda h, x, w: P["sin"](w * 2.0)),
    "gate": ((4, 5), lambda h, x, w: h * P["sin"](x @ w)),
    "turned": ((4, 3), lambda h, x, w: P["transpose"](x @ w, axes=(1, 0)) @ h),
}


@st.composite
def networks(draw: Any) -> Program:
    """The gradients of a recurrent network of some terms, whose sums may be added up after the loop."""
    names = draw(st.lists(st.sampled_from(list(TERMS)), min_size=1, max_size=4))
    wave = P[draw(st.sampled_from(["tanh", "sin"]))]
    keeps = draw(st.sampled_from([0.0, 0.5]))

    def step(x: Node, h: Node, *weights: Node) -> Any:
        terms = [TERMS[name][1](h, x, w) for name, w in zip(names, weights, strict=True)]
        made = sum(terms[1:], terms[0] + h * keeps if keeps else terms[0])
        return wave(made * 0.3)

    return recurrent(draw(st.sampled_from([6, 8, 9])), step, *(TERMS[name][0] for name in names))


@settings(max_examples=120, deadline=None)
@given(networks(), st.booleans(), st.sampled_from([2, 3, 4]))
def test_steps_give_the_same(program: Program, first: bool, count: int) -> None:
    """In memory that is used again, too."""
    with limits(fewest=count), pytest.MonkeyPatch.context() as patch:
        for place in ("emit", "statements"):
            patch.setattr(f"srcdiff.codegen.{place}.LARGE", 1)
        check(program, False, lambda rolled: in_bands(ahead(rolled) if first else rolled))


@pytest.mark.parametrize(("trips", "count"), [(6, 2), (9, 3), (12, 4), (12, 6)])
def test_sums_of_a_network(trips: int, count: int) -> None:
    """The one loop of the backward pass; all three sums are added up in it, and slopes are made for a band."""
    (spec,) = banded(recurrent(trips, network, *WEIGHTS), count=count)
    (inner,) = loops(spec.body)
    assert (spec.trips, inner.trips, spec.downwards, inner.downwards) == (trips // count, count, True, True)
    assert len(spec.carried) == 4 and not spec.kept
    made = [node.prim.name for node in spec.body.nodes() if node.prim is not None and node.prim.name != "item"]
    assert made.count("add") == 3 and made.index("mul") < made.index("loop") < made.index("matmul")


@pytest.mark.parametrize(
    ("step", "shapes"),
    [
        (lambda x, h, w, b: P["tanh"](x @ w + h + b), [(4, 5), (3, 5)]),
        (lambda x, h, w: P["tanh"](h * w), [(5,)]),
        (lambda x, h, w: P["tanh"](h * w), [(1, 5)]),
        (lambda x, h, w: P["tanh"](h * w), [(3, 1)]),
        (lambda x, h, w: P["tanh"](h * w), [()]),
        (lambda x, h, w: P["tanh"](h @ w) * 0.5, [(5, 5)]),
        (lambda x, h, w: P["tanh"](h + P["transpose"](x @ w, axes=(1, 0)) @ h), [(4, 3)]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("then", [ahead, lambda program: program])
def test_other_networks_give_the_same(step: Any, shapes: Any, then: Any) -> None:
    banded(recurrent(6, step, *shapes), then)


def test_nothing_is_done_where_more_than_sums_is_wanted() -> None:
    """The gradients of all xs are an output; a state of every step is."""
    b = Tape()
    h, xs, u, v = b.input(f64(3, 5), "h"), b.input(f64(6, 3, 5), "xs"), b.input(f64(5, 5), "u"), b.input(f64(5, 1), "v")
    inputs = (h, xs, u, v)
    for t in range(6):
        h = P["tanh"](at(xs, t) + h @ u)
    program = Program("f", inputs, (total((h @ v) ** 2),))
    assert len(banded(fused(program, [u], exact=False))) == 1
    assert banded(fused(program, [u, xs], exact=False)) == []


@pytest.mark.parametrize(("trips", "count"), [(7, 2), (11, 3), (11, 4)])
def test_iterations_that_are_left_over_are_done_first(trips: int, count: int) -> None:
    with limits(fewest=count):
        made = check(recurrent(trips, network, *WEIGHTS), False, lambda rolled: in_bands(ahead(rolled)))
    _, rest, whole = loops(made)
    (inner,) = loops(whole.body)
    assert (rest.trips, whole.trips, inner.trips) == (trips % count, trips // count, count)
    assert whole.body.name == BAND and rest.downwards and whole.downwards


def test_small_stacks_stay_whole() -> None:
    program = ahead(reroll(recurrent(6, network, *WEIGHTS), False, tiny=0))
    size = 6 * 3 * 5 * 8
    for least, loops_ in ((size, 1), (size + 1, 0)):
        with limits(least=least):
            assert sum(spec.body.name == BAND for spec in loops(in_bands(program))) == loops_


@given(st.integers(2, 300), st.integers(1, 1 << 20))
def test_bands_fit_and_leave_nothing_over_if_that_can_be(trips: int, size: int) -> None:
    found = length(trips, size)
    assert (found == 0) == (trips < 2 * bands.FEWEST)
    if found:
        assert bands.FEWEST <= found <= trips // 2
        assert found * size <= bands.SIZE or found == bands.FEWEST
        assert trips % found == 0 or all(trips % k for k in range(2 * found // 3, found + 1) if k >= bands.FEWEST)


def test_a_step_holds_one_stack_and_a_band() -> None:
    """States of all time steps, beside that a band, the sums and what is added to them; kept buffers count."""
    case = batches(50)
    program = step_of(case, exact=False)
    text = emit_loops(program, quick=True)
    values = inputs_of(case[0])
    tracemalloc.start()
    try:
        step = load(text, program.name, "step", {"np": np, "rt": runtime})
        step(*values)
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        step(*values)
        kept = sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces(
            [tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)]
        ).traces)  # fmt: skip
        peak = tracemalloc.get_traced_memory()[1] - before + kept
    finally:
        tracemalloc.stop()
    states, band, weights = 51 * 16 * 64 * 4, 10 * 16 * 64 * 4, (32 + 64) * 64 * 4
    assert peak < 1.05 * (states + band + 2 * weights + 64 * 64 * 4)
    assert text.count("np.empty") + text.count("rt.Arena") <= 2


@pytest.mark.parametrize("steps", [24, 33])
def test_compiled_steps_have_bands(steps: int) -> None:
    """Gradients are those of the step as it is written; the state after the last band goes on."""
    rng = np.random.default_rng(steps)
    shapes = ((8, 64), (64, 64), (64,), (64, 1))
    values = [(0.2 * rng.standard_normal(shape)).astype(np.float32) for shape in shapes]
    xs = rng.standard_normal((steps, 16, 8)).astype(np.float32)

    def made(weights: list[Any]) -> Any:
        def step(xs: Any) -> Any:
            w, u, b, v = weights
            for weight in weights:
                weight.grad = None
            h = np.zeros((16, 64), np.float32)
            for t in range(len(xs)):
                h = np.tanh(xs[t] @ w + h @ u + b)
            loss = np.mean((h @ v) ** 2)
            loss.backward()
            return loss

        return step

    compiled, plain = ([sd.tensor(value, requires_grad=True) for value in values] for _ in range(2))
    step, other = sd.compile(made(compiled)), made(plain)
    for _ in range(5):
        np.testing.assert_allclose(step(xs)._value, other(xs)._value, rtol=1e-5)
        for one, two in zip(compiled, plain, strict=True):
            np.testing.assert_allclose(one.grad._value, two.grad._value, rtol=1e-3, atol=1e-6)
    assert step.cache_info().replayed == 2
    assert "# bands of" in step.source(xs)
