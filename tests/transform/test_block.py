"""Work on long arrays in blocks: elements keep their bits, sums are equal to rounding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from srcdiff import runtime
from srcdiff.codegen.blocks import emit_blocks, has_blocks
from srcdiff.codegen.emit import emit
from srcdiff.codegen.loader import load
from srcdiff.core.builder import Builder, interpret, rename
from srcdiff.core.program import Node, Program
from srcdiff.transform.block import BLOCK_BYTES, block_size, in_blocks
from tests.transform.programs import P, f32, f64, total

ROWS = 300_000


def program(make: Callable[..., Any], columns: tuple[int, ...] = (), aval: Any = f64) -> Program:
    """A program of x and y of ROWS rows, w of one row and t, a number."""
    b = Builder()
    shapes = {"x": (ROWS, *columns), "y": (ROWS, *columns), "w": (1, *columns), "t": ()}
    nodes = tuple(b.input(aval(*shape), name) for name, shape in shapes.items())
    return Program("step", nodes, tuple(make(*nodes)))


def values(made: Program) -> tuple[Any, ...]:
    rng = np.random.default_rng(4)
    return tuple(np.asarray(rng.uniform(0.5, 2.0, x.shape), x.dtype) for x in made.inputs)


def run(made: Program) -> tuple[Any, ...]:
    function = load(emit_blocks(made), "step", "step", {"np": np, "rt": runtime})
    return function(*values(made))  # type: ignore[no-any-return]


def chain(x: Any, y: Any, w: Any, t: Any) -> tuple[Any, ...]:
    scaled = P["exp"](-x) * y + P["tanh"](t) * w
    wave = rename(P["sin"](scaled) * scaled, "wave")
    loss = total(wave / x) / 7.0
    return loss, wave, scaled * t, P["sum"](wave, axis=(0,), keepdims=True) * 2.0, t * t


@pytest.mark.parametrize("columns", [(), (3,)])
@pytest.mark.parametrize("aval", [f32, f64])
def test_elements_keep_their_bits_and_sums_are_close(columns: tuple[int, ...], aval: Any) -> None:
    made = program(chain, columns, aval)
    blocked = in_blocks(made)
    assert has_blocks(blocked)
    assert [out.aval for out in map(_known, blocked.outputs)] == [out.aval for out in map(_known, made.outputs)]
    function = load(emit(made), "step", "step", {"np": np, "rt": runtime})
    want = function(*values(made))
    eps = float(np.finfo(want[0].dtype).eps)
    best = interpret(program(chain, columns), tuple(value.astype(np.float64) for value in values(made)))
    for found in (run(blocked), interpret(blocked, values(made))):
        for k in (1, 2, 4):
            np.testing.assert_array_equal(found[k], want[k])
        for k in (0, 3):
            np.testing.assert_allclose(found[k], best[k], rtol=1000 * eps)


def _known(out: Node | None) -> Node:
    assert out is not None
    return out


def test_the_text() -> None:
    text = emit_blocks(in_blocks(program(chain)))
    assert "def step_on_rows(x, y, product, t):\n" in text
    assert "    for k in range(0, 300000, 12000):" in text
    assert "        rows = slice(k, k + 12000)\n" in text
    assert "wave[rows]" in text and "x[rows], y[rows]" in text


def test_the_plain_text_has_no_buffers() -> None:
    text = emit_blocks(in_blocks(program(chain)), plain=True)
    assert "out=" not in text and "buffers" not in text and "np.sum(" in text
    function = load(text, "step", "step", {"np": np, "rt": runtime})
    made = program(chain)
    np.testing.assert_array_equal(function(*values(made))[1], run(in_blocks(made))[1])


def test_two_calls_do_not_meet() -> None:
    made = in_blocks(program(chain))
    function = load(emit_blocks(made), "step", "step", {"np": np, "rt": runtime})
    first = function(*values(made))
    kept = [np.array(out) for out in first]
    function(*[2 * value for value in values(made)])
    for out, copy in zip(first, kept, strict=True):
        np.testing.assert_array_equal(out, copy)


@given(st.integers(1, 3_000_000), st.sampled_from([4, 8, 24]))
def test_blocks_are_of_equal_size(rows: int, row_bytes: int) -> None:
    size = block_size(rows, row_bytes)
    if size is not None:
        assert rows % size == 0 and BLOCK_BYTES.start <= size * row_bytes <= BLOCK_BYTES.stop


def long_enough(x: Any, times: int = 8) -> Any:
    for _ in range(times):
        x = P["tanh"](x) + 1.0
    return x


@pytest.mark.parametrize(
    "make",
    [
        lambda x, y, w, t: (long_enough(x) - total(y * long_enough(x)),),  # the sum is needed again by rows
        lambda x, y, w, t: (P["cumsum"](long_enough(x), axis=0),),
        lambda x, y, w, t: (x + y,),  # not worth it
        lambda x, y, w, t: (P["max"](long_enough(x), axis=None, keepdims=False),),
        lambda x, y, w, t: (long_enough(w), long_enough(t)),
    ],
    ids=["sum used again", "cumsum", "short", "maximum", "small"],
)
def test_other_programs_stay_as_they_are(make: Any) -> None:
    made = program(make)
    assert in_blocks(made) is made
