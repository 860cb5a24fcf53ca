"""A graph that never repeats, against PyTorch: programs of random length, drawn anew on every step, alike for both.

python -m tests.benchmarks.random_lengths
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from tests.benchmarks.libraries import installed
from tests.benchmarks.sidebyside import Timing, compare, table


def measure(rounds: int = 9, steps: int = 100) -> list[Timing]:
    """Mean time of a step in rounds of so many."""
    libraries = [each for each in ("srcdiff_eager", "srcdiff", "torch", "autograd") if installed(each)]
    return compare("random_lengths", libraries, rounds, steps=steps)


if __name__ == "__main__":
    results = measure()
    print(json.dumps([asdict(each) for each in results]) if "--json" in sys.argv else table(results))
