"""A graph that never repeats, against PyTorch: programs of random length, drawn anew on every step, alike for both. And
loops of random length with replays, against the same without.

python -m tests.benchmarks.random_lengths
"""

from __future__ import annotations

import json
import linecache
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import count
from typing import Any

import numpy as np

import srcdiff as sd
from tests.benchmarks.libraries import installed
from tests.benchmarks.sidebyside import Timing, compare, table

#: name -> source, and what makes the arguments of a call
LOOPS: dict[str, tuple[str, Callable[[np.random.Generator], tuple[Any, ...]]]] = {
    "until values are small": (
        """
def loss(x, w):
    while np.sum(x * x) > 1.0:
        x = x * 0.9
    return np.sum(x @ w)
""",
        lambda rng: (rng.normal(size=(16, 16)) * 10 ** rng.uniform(0, 3), np.eye(16)),
    ),
    "as long as an argument says": (
        """
def loss(x, w, trips):
    for _ in range(trips):
        x = np.tanh(x @ w)
    return np.sum(x)
""",
        lambda rng: (rng.normal(size=(16, 16)), 0.1 * np.eye(16), int(rng.integers(5, 80))),
    ),
}
_number = count()


@dataclass(frozen=True)
class Loop:
    """Microseconds of a call without replays, the median ratio of a block of calls with replays to one without, and the
    ratio of the sums, which contains what was recorded for nothing.
    """

    length: str
    traced: float
    ratio: float
    total: float


def loops(rounds: int = 9, steps: int = 100) -> list[Loop]:
    """Each loop, replayed where that is possible, and traced, which take turns. The code is separate: what is compiled
    for the one is not there for the other.
    """
    found = []
    for length, (text, make) in LOOPS.items():
        sides = {"auto": fresh(text), "never": fresh(text)}
        times: dict[str, list[float]] = {side: [] for side in sides}
        for k in range(rounds):
            for side, step in sides.items():
                rng = np.random.default_rng(k)
                calls = [make(rng) for _ in range(steps)]
                with sd.config(replay=side):
                    start = time.perf_counter()
                    for args in calls:
                        step(*args)
                    times[side].append((time.perf_counter() - start) / steps)
        ratio = statistics.median(a / b for a, b in zip(times["auto"], times["never"], strict=True))
        traced = 1e6 * statistics.median(times["never"])
        found.append(Loop(length, traced, ratio, sum(times["auto"]) / sum(times["never"])))
    return found


def fresh(text: str) -> Callable[..., Any]:
    """The gradient of the function in the text, as new code whose source can be found."""
    name = f"loop{next(_number)}.py"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), namespace)
    return sd.value_and_grad(namespace["loss"])  # type: ignore[no-any-return]


def loops_table(found: list[Loop]) -> str:
    """Markdown."""
    lines = ["| loops | traced, µs | with replays | all calls |", "| --- | ---: | ---: | ---: |"]
    lines += [f"| {each.length} | {each.traced:.0f} | × {each.ratio:.2f} | × {each.total:.2f} |" for each in found]
    return "\n".join(lines)


def measure(rounds: int = 9, steps: int = 100) -> list[Timing]:
    """Mean time of a step in rounds of so many."""
    libraries = [each for each in ("srcdiff_eager", "srcdiff", "torch", "autograd") if installed(each)]
    return compare("random_lengths", libraries, rounds, steps=steps)


if __name__ == "__main__":
    long = loops()
    if "--json" in sys.argv:
        print(json.dumps([asdict(each) for each in long]))
    else:
        print(table(measure()), loops_table(long), sep="\n\n")
