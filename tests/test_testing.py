"""`srcdiff.testing.assert_close`: passes within the tolerance of the dtype, and says what differs."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff.testing import assert_close


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (1.0, 1.0 + 1e-9),
        (sd.tensor([1.0, 2.0]), sd.tensor([1.0, 2.0 + 1e-6])),
        (np.array([1, 2]), np.array([1, 2])),
        ({"a": [sd.ones(2), 3]}, {"a": [sd.ones(2), 3]}),
        (sd.tensor(True), sd.tensor(True)),
        (sd.ones(2, requires_grad=True), np.ones(2)),
    ],
)
def test_what_is_close_passes(actual: Any, expected: Any) -> None:
    assert_close(actual, expected)


@pytest.mark.parametrize(
    ("actual", "expected", "message"),
    [
        (1.0, 1.1, "Scalars are not close!.*Mismatched elements: 1 / 1"),
        (sd.tensor([1.0, 2.0]), sd.tensor([1.0, 2.1]), "Tensor-likes are not close!.*Mismatched elements: 1 / 2"),
        (sd.ones(2), sd.ones(3), "'shape' do not match"),
        (sd.ones(2), sd.ones(2, dtype=sd.float64), "'dtype' do not match"),
        (np.array([1, 2]), np.array([1, 3]), "not close"),
        ([1.0], [1.0, 2.0], "length of the sequences mismatch"),
        ({"a": 1}, {"b": 1}, "keys of the mappings"),
        (sd.tensor(float("nan")), sd.tensor(float("nan")), "not close"),
        (sd.tensor(True), sd.tensor(False), "not close"),
    ],
)
def test_what_is_not_close_is_told(actual: Any, expected: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=re.compile(message, re.DOTALL)):
        assert_close(actual, expected)


def test_options() -> None:
    assert_close(1.0, 1.1, rtol=0.2, atol=0.0)
    assert_close(sd.ones(2), sd.ones(2, dtype=sd.float64), check_dtype=False)
    assert_close(float("nan"), float("nan"), equal_nan=True)
    with pytest.raises(AssertionError, match=r"^mine$"):
        assert_close(1.0, 2.0, msg="mine")
    with pytest.raises(ValueError, match="both"):
        assert_close(1.0, 1.0, rtol=0.1)
