"""Long products are done in pieces: the same values, and only where the pieces stay below BLAS's threads."""

from __future__ import annotations

import numpy as np
import pytest

from srcdiff.aval import aval
from srcdiff.core.builder import Builder, interpret
from srcdiff.core.program import Program
from srcdiff.core.verify import verify
from srcdiff.ops.linalg import matmul
from srcdiff.ops.structural import transpose
from srcdiff.transform.pieces import in_pieces


def product(length: int, rows: int, columns: int, dtype: str = "f4") -> Program:
    builder = Builder()
    x = builder.input(aval((length, rows), np.dtype(dtype)), "x")
    y = builder.input(aval((length, columns), np.dtype(dtype)), "y")
    return Program("product", (x, y), (matmul(transpose(x, axes=(1, 0)), y),))


def count(program: Program) -> int:
    return sum(node.prim is matmul for node in program.nodes())


@pytest.mark.parametrize(
    ("length", "rows", "columns", "pieces"),
    [(800, 32, 64, 2), (800, 64, 64, 4), (100, 32, 64, 1), (100_000, 64, 64, 1), (300, 200, 200, 1)],
)
def test_only_tall_products_of_middling_size_are_split(length: int, rows: int, columns: int, pieces: int) -> None:
    assert count(in_pieces(product(length, rows, columns))) == pieces


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_values_are_equal_to_rounding(dtype: str) -> None:
    whole = product(801, 48, 40, dtype)
    split = verify(in_pieces(whole))
    assert count(split) > 1
    rng = np.random.default_rng(0)
    values = tuple(rng.standard_normal(node.shape).astype(dtype) for node in whole.inputs)
    (expected,), (found,) = interpret(whole, values), interpret(split, values)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=0, atol=801 * np.finfo(dtype).eps * 10)
