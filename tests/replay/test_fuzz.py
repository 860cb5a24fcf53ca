"""Random functions, called again and again while what they see is changed: a replay cannot be told from tracing."""

from __future__ import annotations

import pytest

from tests.replay.fuzz import run


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_exact_replays_have_the_bits_of_operations_done_one_by_one(first: int) -> None:
    replayed = sum(run(seed, exact=True, effects=False)[0] for seed in range(first, first + 20))
    assert replayed > 0


@pytest.mark.parametrize("first", range(100, 160, 20))
def test_replays_agree_with_tracing_to_rounding(first: int) -> None:
    replayed = sum(run(seed, exact=False, effects=False)[0] for seed in range(first, first + 20))
    assert replayed > 0


@pytest.mark.parametrize("first", range(200, 260, 10))
def test_effects_happen_once(first: int) -> None:
    for seed in range(first, first + 10):
        run(seed, exact=True, effects=True)
