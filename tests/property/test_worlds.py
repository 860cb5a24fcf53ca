"""Training in random worlds, compiled and not: nothing that can be seen tells one from the other.

`--worlds 1000` runs so many of each kind.
"""

from __future__ import annotations

import pytest

from tests.property.training import train

FEW = 8


def worlds(config: pytest.Config, first: int) -> range:
    return range(first, first + (config.getoption("--worlds") or FEW))


def test_exact_steps_have_the_bits_of_operations_done_one_by_one(pytestconfig: pytest.Config) -> None:
    assert sum(train(seed, exact=True) for seed in worlds(pytestconfig, 0)) > 0


def test_steps_agree_to_rounding(pytestconfig: pytest.Config) -> None:
    assert sum(train(seed, exact=False) for seed in worlds(pytestconfig, 100_000)) > 0
