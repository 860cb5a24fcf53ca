"""Identities and contractions for replayed steps: the same values to rounding, and fewer operations on arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from srcdiff.core.builder import Builder, interpret
from srcdiff.core.program import Program
from srcdiff.ops.indexing import ROWS
from srcdiff.transform.cheaper import CHEAPER
from srcdiff.transform.contract import LEAST, contract
from srcdiff.transform.rewrite import simplify
from tests.transform.programs import P, f32, f64, inputs_of, programs, total
from tests.transform.test_rewrite import _aval, body, built, largest

#: rewrite -> what is built of x f64[2,3], y f64[2,3], v f64[3], t and s f64[], and what remains of it
EXAMPLES: dict[str, tuple[Callable[..., Any], str]] = {
    "mean_is_sum": (
        lambda x, y, v, t, s: P["mean"](x, axis=None, keepdims=False),
        "sum(x, axis=None, keepdims=False); div(sum, 6)",
    ),
    "reduced_once": (
        lambda x, y, v, t, s: x - P["max"](x, axis=0, keepdims=True) + P["max"](x, axis=0, keepdims=False),
        "max(x, axis=0, keepdims=True); sub(x, max); reshape(max, shape=(3,)); add(sub, reshape)",
    ),
    "divided_after_sum": (
        lambda x, y, v, t, s: total(x / P["sum"](y, axis=1, keepdims=True), 1, True),
        "sum(y, axis=1, keepdims=True); sum(x, axis=1, keepdims=True); div(sum_2, sum)",
    ),
    "signs_meet": (lambda x, y, v, t, s: s - (-x - y), "add(x, y); add(s, add)"),
    "common_factor": (lambda x, y, v, t, s: x * y + x * v, "add(y, v); mul(x, add)"),
    "rows_are_scaled_where_they_go": (
        lambda x, y, v, t, s: P["scatter"](
            x * P["sum"](y, axis=1, keepdims=True),
            P["cast"](P["sum"](y, axis=1, keepdims=False), dtype=np.dtype(int)),
            index=ROWS,
            shape=(4, 3),
            unique=False,
        ),
        "sum(y, axis=1, keepdims=True); reshape(sum, shape=(2,)); cast(reshape, dtype=int64); "
        "scatter_scaled(x, reshape, cast, rows=4)",
    ),
    "literals_meet": (lambda x, y, v, t, s: (x * 3.0 * y) * 5.0, "mul(x, y); mul(mul, 15.0)"),
    "einsum_is_product": (
        lambda x, y, v, t, s: P["einsum"](x, y, spec="ij,kj->ik", optimize=False),
        "transpose(y, axes=(1, 0)); matmul(x, transpose)",
    ),
    "tensordot_is_product": (
        lambda x, y, v, t, s: P["tensordot"](x, y, axes=((0,), (0,))),
        "transpose(x, axes=(1, 0)); matmul(transpose, y)",
    ),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_identity_does_what_it_says(name: str) -> None:
    make, after = EXAMPLES[name]
    program = built(make)
    simple = simplify(program, more=CHEAPER)
    assert body(simple) == after
    assert body(simplify(program, without=[name], more=CHEAPER)) != after
    for got, want in zip(interpret(simple, inputs_of(program)), interpret(program, inputs_of(program)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-14, atol=1e-15)


def test_every_identity_has_an_example() -> None:
    assert set(EXAMPLES) == {rewrite.name for rewrite in CHEAPER}


@given(programs())
def test_cheaper_programs_give_the_same_values(program: Program) -> None:
    values = inputs_of(program)
    simple = contract(simplify(program, more=CHEAPER))
    assert [_aval(out) for out in simple.outputs] == [_aval(out) for out in program.outputs]
    bound = 1e-13 * max(largest(program, values), largest(simple, values))
    for got, want in zip(interpret(simple, values), interpret(program, values), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-13, atol=bound)


def summed(make: Callable[..., Any], dtype: Any = f64) -> tuple[Program, str]:
    """A program of x[100,9,11], y of the same shape, u[100,9], w[9,11], and what contraction leaves of it."""
    b = Builder()
    shapes = {"x": (100, 9, 11), "y": (100, 9, 11), "u": (100, 9), "w": (9, 11)}
    nodes = tuple(b.input(dtype(*shape), name) for name, shape in shapes.items())
    made = make(*nodes)
    program = Program("f", nodes, made if isinstance(made, tuple) else (made,))
    simple = contract(program)
    values = inputs_of(program)
    for got, want in zip(interpret(simple, values), interpret(program, values), strict=True):
        eps = float(np.finfo(want.dtype).eps)
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1000 * eps, atol=1000 * eps)
    return program, body(simple)


def column(u: Any) -> Any:
    return P["reshape"](u, shape=(100, 9, 1))


CONTRACTIONS: list[tuple[Callable[..., Any], str]] = [
    (lambda x, y, u, w: total(x * y, 2), "einsum(x, y, spec=abc,abc->ab, optimize=False)"),
    (
        lambda x, y, u, w: total(x * x, 2, True),
        "einsum(x, x, spec=abc,abc->ab, optimize=False); reshape(einsum, shape=(100, 9, 1))",
    ),
    (lambda x, y, u, w: total(x * column(u), 0), "einsum(u, x, spec=ab,abc->bc, optimize=False)"),
    (
        lambda x, y, u, w: total(-(x * w), 0),
        "sum(x, axis=(0,), keepdims=False); mul(sum, w); mul(mul, -1.0)",
    ),
    (
        lambda x, y, u, w: P["sum_to"](x * w, shape=(1, 9, 11)),
        "sum(x, axis=(0,), keepdims=False); mul(sum, w); reshape(mul, shape=(1, 9, 11))",
    ),
    (lambda x, y, u, w: total(x * y), "einsum(x, y, spec=abc,abc->, optimize=False)"),
    (
        lambda x, y, u, w: (total(g := x * column(u), 0), total(g * y, 0)),
        "reshape(u, shape=(100, 9, 1)); einsum(u, x, spec=ab,abc->bc, optimize=False); mul(x, y); "
        "einsum(u, mul, spec=ab,abc->bc, optimize=False)",
    ),
]


@pytest.mark.parametrize("k", range(len(CONTRACTIONS)))
def test_sums_of_products_are_contractions(k: int) -> None:
    make, after = CONTRACTIONS[k]
    assert summed(make)[1].replace("reshape(u, shape=(100, 9, 1)); ", "") == after.replace(
        "reshape(u, shape=(100, 9, 1)); ", ""
    )
    summed(make, f32)


def test_a_product_that_is_needed_is_summed_as_it_is() -> None:
    assert "einsum" not in summed(lambda x, y, u, w: (total(g := x * y, 0), g))[1]
    # w stands twice in the square, which the sum needs as it is: so it is made, and serves both
    text = summed(lambda x, y, u, w: (total((g := x * w) * g, 2), total(g * column(u), 0)), f32)[1]
    assert text.count("mul") - text.count("mul,") == 1


def test_squares_of_products_are_products_of_squares_where_those_have_room() -> None:
    def make(x: Any, y: Any, u: Any, w: Any) -> Any:
        return total(P["square"](x * w), 2)

    assert summed(make)[1] == "mul(w, w); mul(x, x); einsum(mul, mul_2, spec=bc,abc->ab, optimize=False)"
    assert summed(make, f32)[1] == "mul(x, w); einsum(mul, mul, spec=abc,abc->ab, optimize=False)"


def test_small_sums_are_left_alone() -> None:
    b = Builder()
    x = b.input(f64(LEAST // 16, 4), "x")
    y = b.input(f64(LEAST // 16, 4), "y")
    program = Program("f", (x, y), (total(x * y, 1),))
    assert contract(program) is program
