"""Guards: what they tell apart, and their text."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import pytest

from srcdiff.replay.alike import same, unchanged
from srcdiff.replay.findings import RefusedError
from srcdiff.replay.guard import write_guard
from srcdiff.replay.writer import Writer

NAN = float("nan")
VALUES: list[Any] = [
    0,
    0.0,
    -0.0,
    False,
    1,
    1.0,
    True,
    2,
    "1",
    b"1",
    None,
    1j,
    -1j,
    complex(0.0, -0.0),
    complex(-0.0, 0.0),
    (),
    (1,),
    (1.0,),
    (True,),
    (1, 2),
    np.float64(1.0),
    np.float32(1.0),
    np.int64(1),
    np.bool_(True),
    np.float64(-0.0),
    np.float64(0.0),
    (0.0,),
    (-0.0,),
    "a",
    Ellipsis,
]


def test_plain_data_is_the_same_only_as_itself() -> None:
    for i, a in enumerate(VALUES):
        for j, b in enumerate(VALUES):
            assert same(a, b) == (i == j), (a, b)
    assert not same(NAN, NAN)


def test_printing_does_not_decide() -> None:
    with np.printoptions(legacy="1.13"):
        assert not same(np.float64(0.1) + np.float64(1e-15), np.float64(0.1))


def test_contents_of_arrays() -> None:
    array = np.array([0.0, NAN, 1.0])
    copy = array.copy()
    assert unchanged(array, copy)
    array[0] = -0.0
    assert not unchanged(array, copy)
    assert not unchanged(copy.astype(np.float32), copy)
    assert not unchanged(copy.reshape(1, 3), copy)
    assert unchanged(copy[::-1][::-1], copy)


def guard_of(*args: Any, data: Any = None, **kwargs: Any) -> Any:
    w = Writer()
    w.lines.append("def guard(args, kwargs):")
    values = write_guard(w, args, kwargs, str, data or {}, (), {})
    w.lines.append(f"    return ({''.join(f'{value}, ' for value in values)})")
    exec("\n".join(w.lines), w.names)
    return w.names["guard"]


X = np.arange(3.0)


@pytest.mark.parametrize(
    ("accepted", "refused"),
    [
        ([X], [[[X]], [X.astype(np.float32)], [X[:2]], [X[None]], [X.tolist()], [X, X], []]),
        ([np.float64(1)], [[np.float32(1)], [1.0], [np.array(1.0)]]),
        ([[X, 1]], [[(X, 1)], [[X, 1, 2]], [[X, True]], [[X, 1.0]]]),
        ([{"a": X, "b": 1}], [[{"b": 1, "a": X}], [{"a": X}], [{"a": X, "b": 2}], [collections.OrderedDict(a=X, b=1)]]),
        ([{1: X}], [[{True: X}], [{1.0: X}], [{2: X}]]),
        ([None, "s", np], [[None, "t", np], [0, "s", np], [None, "s", np.linalg]]),
    ],
)
def test_structure_types_and_constants(accepted: list[Any], refused: list[list[Any]]) -> None:
    guard = guard_of(*accepted)
    assert guard(tuple(accepted), {}) is not False
    for args in refused:
        assert guard(tuple(args), {}) is False
    assert guard(tuple(accepted), {"more": 1}) is False


def test_numbers_that_are_data() -> None:
    guard = guard_of(2.0, [1j], data={(0,): True, (1, 0): True})
    assert guard((3.0, [2j]), {}) == (3.0, 2j)
    assert guard((3, [2j]), {}) is False


def test_keywords_in_their_order() -> None:
    guard = guard_of(a=1, b=2)
    assert guard((), {"a": 1, "b": 2}) == ()
    assert guard((), {"b": 2, "a": 1}) is False


@pytest.mark.parametrize("value", [object(), {(1,): X}, NAN, np.array([1.0]).view(np.matrix), {1, 2}, 1 + 1j * NAN])
def test_what_cannot_be_guarded(value: Any) -> None:
    with pytest.raises(RefusedError):
        guard_of(value)
