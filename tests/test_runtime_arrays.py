"""Scattering rows adds up what `np.add.at` adds up, in its order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from srcdiff import runtime


def added(value: Any, index: Any, shape: tuple[int, ...]) -> Any:
    out = np.zeros(shape, value.dtype)
    np.add.at(out, index, value)
    return out


@pytest.mark.parametrize("dtype", "fdFD")
@pytest.mark.parametrize("places", [(100,), (20, 10)])
@pytest.mark.parametrize("rows", [500, 70_000])
def test_rows_are_added_in_their_order(rows: int, places: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(1)
    index = rng.integers(-rows, rows, places)
    index.flat[:7] = 3
    value = rng.standard_normal((*places, 4, 3)).astype(dtype)
    got = runtime.scatter(value, index, (rows, 4, 3), False)
    assert got.dtype == value.dtype
    np.testing.assert_array_equal(got, added(value, index, (rows, 4, 3)))


def test_values_that_are_broadcast_can_be_scattered() -> None:
    index = np.arange(100) % 7
    value = np.broadcast_to(np.arange(6.0), (100, 6))
    np.testing.assert_array_equal(runtime.scatter(value, index, (9, 6), False), added(value, index, (9, 6)))
