"""Indices as values: `split` and `Index` agree with NumPy on every kind of index."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from srcdiff.index import Index, split


def shape_of(given: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of what an index selects."""
    index, dynamic = split(given, shape)
    return index.shape(shape, *map(np.shape, dynamic))


def draw_part(rng: np.random.Generator, n: int) -> Any:
    """One part of an index for an axis of about n elements; it need not be valid."""

    def bound() -> Any:
        return None if rng.random() < 0.4 else int(rng.integers(-n - 1, n + 2))

    kind = rng.integers(8)
    if kind == 0:
        return int(rng.integers(-n, n))
    if kind in (1, 2, 3):
        step = [None, 1, 2, -1, -2][rng.integers(5)]
        return slice(bound(), bound(), step)
    if kind in (4, 5):
        shape = [(), (2,), (1,), (3, 2), (1, 2), (0,)][rng.integers(6)]
        return rng.integers(-n, n, size=shape)
    if kind == 6:
        return rng.random(n) < 0.5
    return [None, Ellipsis, True, False][rng.integers(4)]


def draw_index(rng: np.random.Generator) -> tuple[Any, Any]:
    """An array and an index for it."""
    shape = tuple(int(n) for n in rng.integers(1, 5, size=rng.integers(0, 5)))
    x = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    count = int(rng.integers(0, len(shape) + 2))
    parts = tuple(draw_part(rng, int(rng.choice(shape)) if shape else 2) for _ in range(count))
    return x, parts[0] if len(parts) == 1 and rng.random() < 0.5 else parts


@pytest.mark.parametrize("vary", [False, True])
def test_split_then_restore_selects_what_numpy_selects_in_the_shape_foretold(vary: bool) -> None:
    rng = np.random.default_rng(0)
    valid = 0
    for _ in range(6000):
        x, given = draw_index(rng)
        try:
            want = x[given]
        except (IndexError, DeprecationWarning):  # which NumPy 2.0 gives where there is nothing to take
            continue
        index, dynamic = split(given, x.shape, vary)
        got = x[index(*dynamic)]
        assert np.array_equal(got, want)
        assert index.shape(x.shape, *map(np.shape, dynamic)) == np.shape(want)
        assert isinstance(hash(index), int)
        assert not index.unique or len(np.unique(got)) == got.size
        assert index.basic or not np.shares_memory(got, x)
        valid += 1
    assert valid > 2000


@pytest.mark.parametrize(
    ("given", "label"),
    [
        (0, "Select"),
        ((0, slice(1, None)), "Slice"),
        ((slice(None), 1), "Select"),
        (np.array([0, 1]), "Index"),
        (np.array([True, False, True]), "Index"),
        ((Ellipsis, None), "Unsqueeze"),
        (Ellipsis, "Alias"),
    ],
)
def test_labels_are_pytorchs(given: Any, label: str) -> None:
    assert split(given, (3, 3))[0].label == label


def test_slices_of_one_length_share_an_index_when_they_vary() -> None:
    first, start = split(slice(0, 2), (9,), vary=True)
    second, later = split(slice(5, 7), (9,), vary=True)
    assert first == second
    assert (start, later) == ((0,), (5,))
    assert first != split(slice(5, 8), (9,), vary=True)[0]


def test_true_is_not_one() -> None:
    assert split(True, (2,))[0] != split(1, (2,))[0]


@pytest.mark.parametrize(
    ("given", "shape"),
    [
        ((0, 0), (3,)),
        ((Ellipsis, Ellipsis), (3, 3)),
        (1.5, (3,)),
        ("a", (3,)),
        (np.array([0.5]), (3,)),
        (np.array([True, False]), (3,)),
    ],
)
def test_what_numpy_refuses_is_refused(given: Any, shape: tuple[int, ...]) -> None:
    with pytest.raises(IndexError):
        shape_of(given, shape)


def test_a_bare_index_is_not_a_tuple() -> None:
    assert split(0, (3,))[0] == Index((0,), False)
    assert split((0,), (3,))[0] == Index((0,), True)


@pytest.mark.parametrize("shape", [(1,), (0,), (2, 3), (1, 0), (2, 3, 1)])
def test_masks_fit_what_they_fit_in_numpy(shape: tuple[int, ...]) -> None:
    array = np.zeros(shape)
    for ndim in range(4):
        for lengths in itertools.product((0, 1, 2, 3), repeat=ndim):
            mask = np.ones(lengths, bool)
            try:
                wanted = array[mask].shape
            except IndexError:
                with pytest.raises(IndexError):
                    shape_of(mask, shape)
            else:
                assert shape_of(mask, shape) == wanted, lengths
