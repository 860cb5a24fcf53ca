"""`rt.where` gives the bits that np.where gives, whatever it is made of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff import runtime as rt
from srcdiff.runtime_choice import LEAST

SHAPES = [(), (0,), (3,), (LEAST - 1,), (LEAST,), (64, 65), (3, 100, 171)]


def floats(shape: tuple[int, ...], dtype: Any, seed: int) -> Any:
    """Numbers of all kinds, with NaN, infinities, both zeros and denormals among them."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape).astype(dtype)
    odd = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, np.finfo(dtype).smallest_subnormal], dtype)
    return np.where(rng.random(shape) < 0.2, rng.choice(odd, shape), x)


def same(c: Any, x: Any, y: Any) -> None:
    got, want = rt.where(c, x, y), np.where(c, x, y)
    assert type(got) is type(want) and got.dtype == want.dtype and got.shape == want.shape
    assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.complex64, np.int32, np.bool_])
def test_arrays_of_every_dtype(shape: tuple[int, ...], dtype: Any) -> None:
    x, y = floats(shape, np.float32, 1), floats(shape, np.float32, 2)
    mask = np.asarray(floats(shape, np.float32, 3) > 0)
    with np.errstate(invalid="ignore", over="ignore"):
        x, y = x.astype(dtype), y.astype(dtype)
    same(mask, x, y)
    same(mask, x, 0)
    same(mask, 0, x)


@pytest.mark.parametrize("number", [0, 0.0, -0.0, 1.5, -3, np.nan, np.inf, True, np.float32(2), np.float64(2), 1j])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_beside_arrays(number: Any, dtype: Any) -> None:
    x = floats((70, 80), dtype, 1)
    mask = floats((70, 80), dtype, 2) > 0
    for value in (number, np.asarray(number)):
        same(mask, x, value)
        same(mask, value, x)
        same(mask, value, value)


def test_other_layouts_broadcasting_and_masks() -> None:
    x, y = floats((80, 90), np.float64, 1), floats((80, 90), np.float64, 2)
    mask = floats((80, 90), np.float64, 3) > 0
    same(mask.T, x.T, y.T)
    same(mask[::2], x[::2], y[::2])
    same(np.asfortranarray(mask), x, y)
    same(mask, np.asfortranarray(x), y)
    same(mask, x, y.astype(np.float32))
    same(mask, x[0], y)
    same(mask[0], x, y)
    same(mask, x, y[:, :1])
    same(mask.astype(np.int64) * 3, x, y)
    same(True, x, y)
    same(mask, x.reshape(1, 80, 90), y)


def test_operands_are_not_written_to() -> None:
    x, y, mask = np.ones(LEAST), np.zeros(LEAST), np.arange(LEAST) % 2 == 0
    out = rt.where(mask, x, y)
    out[:] = 7
    assert x.all() and not y.any() and mask.sum() == LEAST // 2


def test_a_gradient_that_is_infinite_does_not_pass_a_mask() -> None:
    x = np.tile(np.array([-1.0, 4.0]), LEAST)
    for gradient in (sd.grad(lambda x: np.sum(np.sqrt(np.maximum(x, 0)))),
                     sd.grad(lambda x: np.sum(np.sqrt(np.where(x > 0, x, 0))))):  # fmt: skip
        for _ in range(4):  # traced, compared, replayed
            with np.errstate(divide="ignore"):
                np.testing.assert_array_equal(gradient(x), np.tile(np.array([0.0, 0.25]), LEAST))
