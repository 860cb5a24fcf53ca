"""When a call is watched, and which of the watched ones are made entries."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from srcdiff.api.kinds import FEW, MOST_NEW, MOST_WASTED, Kind

LONG = FEW + 1


def calls_until_due(kind: Kind) -> int:
    count = 0
    while not kind.due:
        kind.waiting += 1
        count += 1
    return count


@given(st.lists(st.integers(0, 5), max_size=20))
def test_every_path_is_expected_as_long_as_none_was_for_nothing(paths: list[int]) -> None:
    kind = Kind()
    assert all(kind.expects((path,) * LONG) for path in paths)
    assert kind.new == 0 and not kind.hopeless


@given(st.lists(st.integers(0, 5), min_size=1, max_size=20))
def test_after_one_for_nothing_only_long_paths_that_were_watched_before_are_expected(paths: list[int]) -> None:
    kind = Kind()
    kind.expects((paths[0],) * LONG)
    kind.recorded = kind.wasted = 1
    for k, path in enumerate(paths[1:], 1):
        assert kind.expects((path,) * LONG) == (path in paths[:k])
        assert kind.expects((path,) * FEW)
    assert kind.new == len(set(paths)) - 1
    assert kind.hopeless == (kind.new >= MOST_NEW)


def test_waits_double_and_end() -> None:
    kind = Kind()
    assert calls_until_due(kind) == 2
    kind.expects((0,) * LONG)
    kind.recorded = kind.wasted = 1
    waits = []
    while not kind.hopeless:
        waits.append(calls_until_due(kind))
        kind.expects((len(waits),) * LONG)
    assert waits == [2, 2, 4, 8]
    assert kind.paths == 1 + MOST_NEW
    assert Kind(wasted=MOST_WASTED).hopeless
