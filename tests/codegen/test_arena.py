"""Buffers that are kept from call to call: what a call gave is left alone by the next one."""

from __future__ import annotations

import threading
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from srcdiff import runtime
from srcdiff.aval import aval
from srcdiff.codegen.emit import emit
from srcdiff.codegen.loader import load
from srcdiff.codegen.loops import emit_loops
from srcdiff.core.builder import Builder, interpret
from srcdiff.core.program import Node, Program
from srcdiff.transform.ahead import ahead
from srcdiff.transform.bands import in_bands
from srcdiff.transform.reroll import reroll
from tests.transform.programs import P, f64, inputs_of, total
from tests.transform.test_reroll import Drawn, fused, unrolled

ROWS = 200  # of a matrix of ROWS x ROWS, large enough for buffers


def loaded(program: Program) -> Any:
    text = emit(program, quick=True)
    return load(text, program.name, "step", {"np": np, "rt": runtime}), text


def chain() -> Program:
    b = Builder()
    x, y = b.input(f64(ROWS, ROWS), "x"), b.input(f64(ROWS, ROWS), "y")
    product = x @ y
    wave = P["tanh"](product)
    outputs = (wave * x, P["transpose"](wave * y, axes=(1, 0)), total(wave))
    return Program("step", (x, y), outputs)


def values(seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((ROWS, ROWS)), rng.standard_normal((ROWS, ROWS))


def test_the_text_says_where_values_live() -> None:
    text = loaded(chain())[1]
    assert text.startswith("buffers = rt.Arena(((200, 200), np.float64))\n\n\ndef step(x, y):\n")
    assert "    buffer_1, = lent = buffers.take()\n" in text
    assert "np.matmul(x, y, out=buffer_1)" in text
    assert text.endswith("    buffers.give(lent)\n    return product_2, turned, total\n")
    assert "buffer" not in emit(chain(), plain=True)


@settings(max_examples=150, deadline=None)
@given(unrolled(), st.booleans())
def test_loops_compute_the_same_in_memory_that_is_used_again(case: Drawn, forward: bool) -> None:
    """Arrays that loops fill, too; and what a call gave is left alone by the next."""
    program = ahead(reroll(case.program if forward else fused(*case, exact=False), False, tiny=0))
    with pytest.MonkeyPatch.context() as patch:
        for name in ("LEAST", "SIZE", "FEWEST"):
            patch.setattr(f"srcdiff.transform.bands.{name}", 2 if name == "FEWEST" else 1)
        program = in_bands(program)
        patch.setattr("srcdiff.codegen.emit.LARGE", 1)
        patch.setattr("srcdiff.codegen.statements.LARGE", 1)
        text = emit_loops(program, quick=True)
    step = load(text, program.name, "step", {"np": np, "rt": runtime})
    given = [inputs_of(program, seed) for seed in (1, 2, 1)]
    with np.errstate(all="ignore"):
        results = [step(*values) for values in given]
        expected = [interpret(program, values) for values in given]
    for got, want in zip(results, expected, strict=True):
        for x, y in zip(got, want, strict=True):
            if y is not None:
                np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9, err_msg=text)


def test_what_a_call_gave_is_not_touched_by_the_next() -> None:
    step, _ = loaded(chain())
    first = step(*values(1))
    copies = [np.array(out) for out in first]
    second = step(*values(2))
    for out, copy in zip(first, copies, strict=True):
        np.testing.assert_array_equal(out, copy)
    for a in first[:2]:
        assert not any(np.shares_memory(a, b) for b in second[:2])


def test_calls_in_several_threads_do_not_meet() -> None:
    step, _ = loaded(chain())
    wanted = [interpret(chain(), values(k)) for k in range(4)]
    wrong: list[int] = []

    def work(k: int) -> None:
        for _ in range(10):
            got = step(*values(k))
            if not all(np.allclose(a, b) for a, b in zip(got, wanted[k], strict=True)):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_one_set_of_buffers_is_kept() -> None:
    arena = runtime.Arena(((3,), np.float32))
    first, second = arena.take(), arena.take()
    assert first[0].shape == (3,) and first[0].dtype == np.float32 and first[0] is not second[0]
    arena.give(first)
    arena.give(second)
    assert arena.take() is first and arena.take() is not second


@given(st.data())
def test_random_programs_of_large_arrays_keep_their_values(data: st.DataObject) -> None:
    b = Builder()
    nodes: list[Node] = [b.input(f64(ROWS, ROWS), "x"), b.input(f64(ROWS, ROWS), "y"), b.input(f64(ROWS), "v")]
    inputs = tuple(nodes)
    unary, binary = ("tanh", "neg", "square", "sin"), ("add", "sub", "mul", "maximum")
    for _ in range(data.draw(st.integers(1, 9))):
        kind = data.draw(st.sampled_from(("unary", "binary", "matmul", "transpose", "sum")))
        one, two = data.draw(st.sampled_from(nodes)), data.draw(st.sampled_from(nodes))
        square = [node for node in nodes if node.ndim == 2]
        if kind == "unary":
            made = P[data.draw(st.sampled_from(unary))](one)
        elif kind == "binary":
            made = P[data.draw(st.sampled_from(binary))](one, two)
        elif kind == "matmul":
            made = data.draw(st.sampled_from(square)) @ data.draw(st.sampled_from(square)) * (1 / ROWS)
        elif kind == "transpose":
            made = P["transpose"](data.draw(st.sampled_from(square)), axes=(1, 0))
        else:
            made = P["sum"](data.draw(st.sampled_from(square)), axis=(0,), keepdims=False) * (1 / ROWS)
        nodes.append(made)
    outputs = data.draw(st.lists(st.sampled_from(nodes[3:]), min_size=1, max_size=3, unique=True))
    program = Program("step", inputs, tuple(outputs))
    step, _ = loaded(program)
    for seed in (1, 2):
        given_values = (*values(seed), np.linspace(-1, 1, ROWS))
        before = [np.array(x) for x in given_values]
        for got, want in zip(step(*given_values), interpret(program, given_values), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)
        for x, copy in zip(given_values, before, strict=True):
            np.testing.assert_array_equal(x, copy)


def test_a_step_needs_no_more_memory_than_the_straight_text() -> None:
    step, _ = loaded(chain())
    plain = load(emit(chain(), plain=True), "step", "step", {"np": np, "rt": runtime})
    given_values = values(3)
    peaks = []
    for function in (plain, step):
        tracemalloc.start()
        for _ in range(3):  # the buffers of the first call serve the others
            function(*given_values)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] <= peaks[0] * 1.02


def test_buffers_do_not_raise_the_peak() -> None:
    """Where arrays of one size are followed by outputs as large, each is freed before the next is made."""
    b = Builder()
    x, y = b.input(f64(ROWS, ROWS), "x"), b.input(f64(ROWS, ROWS), "y")
    first = P["tanh"](P["sin"](x) @ y)
    outputs = []
    for _ in range(6):
        first = P["tanh"](P["sin"](first) @ y)
        outputs.append(P["transpose"](x, axes=(1, 0)) @ first)
    program = Program("step", (x, y), tuple(outputs))
    step, text = loaded(program)
    assert "buffer" not in text
    assert "del " in text or "reuses" in text
    given = values(4)
    step(*given)
    tracemalloc.start()
    try:
        results = step(*given)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    size = results[0].nbytes
    assert peak < (len(outputs) + 3.5) * size


def test_values_that_live_long_have_buffers_where_all_would_be_too_many() -> None:
    """What is read again far below has a buffer; the one that is freed for the next has none."""
    b = Builder()
    x, c = b.input(f64(ROWS, ROWS), "x"), b.input(aval((ROWS, ROWS), np.dtype(bool)), "c")
    squares, power = P["square"](x) + 1.0, P["exp"](x)
    product = power * x
    value = P["where"](c, P["log"](squares), product)
    slope = P["where"](c, x / squares, power + product)
    program = Program("step", (x, c), (total(value), slope))
    step, text = loaded(program)
    assert "np.square(x, out=buffer_1)" in text
    assert "np.exp(x, out=buffer_2)" in text
    assert "buffer_3" not in text
    assert "log = np.log(total)" in text and "del log" in text
    given = values(5)[0], values(6)[0] > 0
    tracemalloc.start()
    try:
        step(*given)  # the buffers count
        results = step(*given)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5.3 * results[1].nbytes  # with what `rt.where` takes for a part of it
    for got, want in zip(results, interpret(program, given), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_small_arrays_get_memory_only_where_speed_counts() -> None:
    b = Builder()
    x = b.input(f64(500), "x")
    program = Program("step", (x,), (total(P["tanh"](P["sin"](x) * x) * x),))
    assert "out=" not in emit(program)
    assert "out=" in emit(program, quick=True)
    assert "out=" not in emit(program, quick=True, plain=True)
