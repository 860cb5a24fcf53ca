"""A recurrent network of fifty steps and of five hundred: the slowest of the first calls, which compile, and what a
step of the network costs once calls are replayed.

    python -m tests.benchmarks.lengths
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from dataclasses import asdict, dataclass

import numpy as np

from tests.benchmarks.libraries import srcdiff, warm_up
from tests.benchmarks.workloads import even_rnn

LENGTHS = (50, 500)
ROUNDS = 15


@dataclass(frozen=True)
class Length:
    """`slowest` of the first calls in seconds; `microseconds` of a step of the network in a replayed call."""

    steps: int
    slowest: float
    microseconds: float


def measure() -> list[Length]:
    """The lengths take turns."""
    warm_up("srcdiff")
    calls = {steps: srcdiff(even_rnn(np.random.default_rng(0), steps)) for steps in LENGTHS}
    slowest: dict[int, float] = {}
    times: dict[int, list[float]] = {steps: [] for steps in LENGTHS}
    for steps, call in calls.items():
        for _ in range(5):
            start = time.perf_counter()
            call()
            slowest[steps] = max(slowest.get(steps, 0.0), time.perf_counter() - start)
        assert call.cache_info().replayed  # type: ignore[attr-defined]
    for _ in range(ROUNDS):
        for steps, call in calls.items():
            start = time.perf_counter()
            for _ in range(LENGTHS[-1] // steps):
                call()
            times[steps].append((time.perf_counter() - start) / LENGTHS[-1])
    return [Length(steps, slowest[steps], 1e6 * statistics.median(times[steps])) for steps in LENGTHS]


def table(found: list[Length]) -> str:
    """Markdown."""
    lines = ["| steps | slowest call, s | µs a step |", "| ---: | ---: | ---: |"]
    lines += [f"| {each.steps} | {each.slowest:.2f} | {each.microseconds:.1f} |" for each in found]
    return "\n".join(lines)


if __name__ == "__main__":
    results = measure()
    print(json.dumps([asdict(each) for each in results]) if "--json" in sys.argv else table(results))
