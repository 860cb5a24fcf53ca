"""Small float32 products with a transposed right factor get it laid out anew, once; others are left as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from srcdiff.core.builder import Builder, interpret
from srcdiff.core.program import Program
from srcdiff.transform.straighten import straighten
from tests.transform.programs import P, f32, f64, inputs_of


def products(rows: int, size: int, aval: Any = f32, times: int = 1) -> Program:
    b = Builder()
    w = b.input(aval(size, size), "w")
    xs = tuple(b.input(aval(rows, size), f"x{k}") for k in range(times))
    return Program("f", (w, *xs), tuple(x @ P["transpose"](w, axes=(1, 0)) for x in xs))


def test_a_transposed_factor_is_laid_out_once() -> None:
    program = products(16, 64, times=3)
    made = straighten(program)
    assert str(made).count("contiguous(") == 1 and str(made).count("transpose(") == 1
    for got, want in zip(interpret(made, inputs_of(program)), interpret(program, inputs_of(program)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_stacks_are_straightened() -> None:
    b = Builder()
    q, k = b.input(f32(4, 32, 64), "q"), b.input(f32(4, 32, 64), "k")
    made = straighten(Program("f", (q, k), (q @ P["transpose"](k, axes=(0, 2, 1)),)))
    assert "contiguous(" in str(made)


@pytest.mark.parametrize(
    "program",
    [products(16, 64, f64), products(256, 64), products(16, 512), products(16, 8), products(16, 20)],
    ids=["float64", "many rows", "large", "tiny", "used once"],
)
def test_where_it_does_not_pay_nothing_changes(program: Program) -> None:
    assert straighten(program) is program
