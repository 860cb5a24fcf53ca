"""Rows added up at repeated places have the bits that `np.add.at` leaves, whichever way adds them."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from srcdiff import runtime_rows
from srcdiff.runtime_rows import add_rows

SHAPES = [(500, 4096, 32), (7, 3000, 1), (3, 1000, 40), (90_000, 100, 30), (1, 600, 5), (4, 0, 3), (4, 5, 0)]
WAYS = ["turns", "matrix", "as it comes"]


def added(value: Any, place: Any, rows: int) -> Any:
    out = np.zeros((rows, value.shape[1]), value.dtype)
    np.add.at(out, place, value)
    return out


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each of the ways."""
    if request.param == "matrix":
        sparse = pytest.importorskip("scipy.sparse")
        monkeypatch.setattr(runtime_rows, "_sparse", lambda numbers: sparse)
    elif request.param == "turns":
        monkeypatch.setattr(runtime_rows, "_sparse", lambda numbers: None)
        monkeypatch.setattr(runtime_rows, "_STEP", 0)
    return str(request.param)


@pytest.mark.parametrize("dtype", "fdFDeil")
@pytest.mark.parametrize(("rows", "count", "width"), SHAPES)
def test_the_bits_are_those_of_adding_one_by_one(way: str, rows: int, count: int, width: int, dtype: str) -> None:
    rng = np.random.default_rng(1)
    place = rng.integers(-rows, rows, count)
    value = (10 * rng.standard_normal((count, width))).astype(dtype)
    got = add_rows(value, place, rows)
    assert got.dtype == value.dtype
    np.testing.assert_array_equal(got, added(value, place, rows))


@pytest.mark.parametrize("dtype", "fdFD")
@pytest.mark.parametrize(("rows", "count", "width"), SHAPES)
def test_rows_are_scaled(way: str, rows: int, count: int, width: int, dtype: str) -> None:
    """By the same products; the machine may round a product and a sum once."""
    rng = np.random.default_rng(3)
    place = rng.integers(-rows, rows, count)
    value, scale = rng.standard_normal((count, width)).astype(dtype), rng.standard_normal(count).astype(dtype)
    got = add_rows(value, place, rows, scale)
    assert got.dtype == value.dtype
    tolerance = 1000 * float(np.finfo(dtype).eps)
    np.testing.assert_allclose(got, added(value * scale[:, None], place, rows), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", "dD")
@pytest.mark.filterwarnings("ignore:invalid value")
def test_infinities_and_signs_of_zero_are_those_of_adding_one_by_one(way: str, dtype: str) -> None:
    value = np.tile(np.array([np.inf, -np.inf, np.nan, -0.0, 1.0], dtype), (1000, 1))
    place = np.arange(1000) % 700
    got, expected = add_rows(value, place, 800), added(value, place, 800)
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(np.signbit(got.real), np.signbit(expected.real))


def test_rows_that_are_views_of_any_strides_are_added(way: str) -> None:
    rng = np.random.default_rng(2)
    place = rng.integers(0, 40, 500)
    for value in (rng.standard_normal((20, 500)).T, np.broadcast_to(rng.standard_normal(20), (500, 20))):
        np.testing.assert_array_equal(add_rows(value, place, 40), added(value, place, 40))
        complex_ = value.astype(complex) if value.strides[0] else value
        np.testing.assert_array_equal(add_rows(complex_, place, 40), added(complex_, place, 40))


@pytest.mark.parametrize("wrong", [40, -41])
def test_a_place_out_of_bounds_is_an_error(way: str, wrong: int) -> None:
    place = np.arange(500) % 40
    place[77] = wrong
    with pytest.raises(IndexError, match=f"index {wrong} is out of bounds"):
        add_rows(np.ones((500, 20)), place, 40)


def test_scipy_is_imported_when_the_other_ways_have_worked_as_long_as_that_takes() -> None:
    pytest.importorskip("scipy.sparse")
    text = """
import sys, numpy as np
from srcdiff.runtime_rows import _PATIENCE, add_rows
value, place = np.ones((4096, 64)), np.arange(4096) % 50
for call in range(_PATIENCE // value.size - 1):
    add_rows(value, place, 50)
assert "scipy" not in sys.modules
add_rows(value, place, 50)
assert "scipy.sparse" in sys.modules
"""
    subprocess.run([sys.executable, "-c", text], check=True)


def test_without_scipy_nothing_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.delitem(sys.modules, "scipy.sparse", raising=False)
    monkeypatch.setattr(runtime_rows, "importlib", SimpleNamespace(import_module=absent))
    monkeypatch.setattr(runtime_rows, "_PATIENCE", 0)
    sparse = runtime_rows._Sparse()
    assert sparse(1) is None
    assert sparse(1) is None
