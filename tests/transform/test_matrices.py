"""Contractions become products of matrices: the same values to rounding, and few are left to einsum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from srcdiff.core.builder import Builder, interpret
from srcdiff.core.program import Program
from srcdiff.transform.cheaper import CHEAPER
from srcdiff.transform.rewrite import simplify
from tests.transform.programs import P, f32, f64, inputs_of
from tests.transform.test_rewrite import body

Shapes = tuple[tuple[int, ...], ...]


def contraction(spec: str, shapes: Shapes, of: Any = f64, optimize: bool = True) -> Program:
    b = Builder()
    xs = tuple(b.input(of(*shape), f"x{k}") for k, shape in enumerate(shapes))
    return Program("f", xs, (P["einsum"](*xs, spec=spec, optimize=optimize),))


def simple(program: Program) -> Program:
    """The program with products of matrices, which are what they should be."""
    made = simplify(program, more=CHEAPER)
    values = inputs_of(program)
    for got, want in zip(interpret(made, values), interpret(program, values), strict=True):
        eps = float(np.finfo(want.dtype).eps)
        assert got.shape == want.shape and got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1000 * eps, atol=1000 * eps)
    return made


@pytest.mark.parametrize(
    ("spec", "shapes", "after"),
    [
        ("ij,jk->ik", ((2, 3), (3, 4)), "matmul(x0, x1)"),
        ("ij,jk->ki", ((2, 3), (3, 4)), "matmul(transpose, transpose_2)"),
        ("ij,j->i", ((2, 3), (3,)), "matmul(x0, x1)"),
        ("i,i->", ((3,), (3,)), "matmul(x0, x1)"),
        ("ij,ji->", ((2, 3), (3, 2)), "matmul(reshape, reshape_2)"),
        ("bij,bjk->bik", ((5, 2, 3), (5, 3, 4)), "matmul(x0, x1)"),
        ("bhto,bhso->bhts", ((2, 3, 4, 5), (2, 3, 6, 5)), "matmul(x0, transpose)"),
        ("bchw,oc->bohw", ((4, 3, 5, 6), (7, 3)), "matmul(x1, reshape)"),
        ("bk,bd->bkd", ((3, 4), (3, 5)), "mul(reshape, reshape_2)"),
        ("i,j->ij", ((3,), (4,)), "mul(reshape, x1)"),
        ("ij,k->ik", ((3, 4), (5,)), "mul(reshape, x1)"),
        ("ij,jk->ik", ((3, 1), (5, 4)), "sum(x1, axis=(0,), keepdims=False)"),
    ],
)
def test_what_a_contraction_becomes(spec: str, shapes: Shapes, after: str) -> None:
    made = body(simple(contraction(spec, shapes)))
    assert after in made and "einsum" not in made


def test_rows_times_rows_stay_one_loop() -> None:
    assert (
        body(simple(contraction("ab,ab->a", ((40, 30), (40, 30))))) == "einsum(x0, x1, spec=ab,ab->a, optimize=False)"
    )


def test_operands_are_taken_two_at_a_time() -> None:
    made = body(simple(contraction("ij,jk,kl->il", ((3, 40), (40, 30), (30, 5)))))
    assert made.count("matmul(") == 2 and "einsum" not in made


@pytest.mark.parametrize(
    "program",
    [
        contraction("ii,ij->j", ((3, 3), (3, 4))),
        contraction("ij,jk->ik", ((3, 0), (0, 4))),
        contraction("ij,jk,kl->il", ((2, 3), (3, 2), (2, 2)), optimize=False),
    ],
)
def test_what_einsum_is_left_with(program: Program) -> None:
    assert "einsum" in body(simple(program))


def test_integers_are_left_alone() -> None:
    b = Builder()
    x = b.input(P["cast"].infer(f64(3, 3), dtype=np.dtype(int)), "x")
    program = Program("f", (x,), (P["einsum"](x, x, spec="ij,jk->ik", optimize=False),))
    assert body(simplify(program, more=CHEAPER)) == body(program)


SIZES = {"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}


@st.composite
def contractions(draw: Any) -> tuple[str, Shapes]:
    """Subscripts of two or three operands in any order, some of whose axes have length 1 in one of them."""
    names = [
        "".join(draw(st.permutations(sorted(draw(st.sets(st.sampled_from("abcde"), max_size=4))))))
        for _ in range(draw(st.integers(2, 3)))
    ]
    out = "".join(draw(st.permutations(sorted(draw(st.sets(st.sampled_from(sorted(set("".join(names)) or "a"))))))))
    out = "".join(c for c in out if c in "".join(names))
    shapes = tuple(tuple(1 if draw(st.integers(0, 7)) == 0 else SIZES[c] for c in of) for of in names)
    return ",".join(names) + "->" + out, shapes


@given(contractions(), st.sampled_from([f32, f64]))
def test_any_contraction_gives_the_same(drawn: tuple[str, Shapes], of: Any) -> None:
    simple(contraction(*drawn, of))


@given(st.permutations(range(4)), st.permutations(range(4)), st.integers(0, 4))
def test_any_tensordot_gives_the_same(of_x: list[int], of_y: list[int], count: int) -> None:
    b = Builder()
    shape = [2, 3, 4, 5]
    x, y = (
        b.input(f64(*(shape[of_x.index(k)] for k in range(4))), "x"),
        b.input(f64(*(shape[of_y.index(k)] for k in range(4))), "y"),
    )
    axes = tuple(of_x[:count]), tuple(of_y[:count])
    made = simple(Program("f", (x, y), (P["tensordot"](x, y, axes=axes),)))
    assert "tensordot" not in body(made)
