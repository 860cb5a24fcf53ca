"""Times libraries against each other on the same workloads.

    python -m tests.benchmarks.sidebyside [--libraries srcdiff,torch] [--workloads rnn,linreg] [--rounds 9]

Each library runs in a process of its own, which waits while another one is timed. They take turns, round after round,
so that what else the machine does meanwhile hits all of them. Losses and gradients of all libraries are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.benchmarks.libraries import LIBRARIES, installed
from tests.benchmarks.workloads import WORKLOADS

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Timing:
    """Of one library on one workload. `ratio` is its step time over that of the first library. After the first three
    steps everything is compiled. `replayed` says whether steps were replayed, None where there is no such thing.
    """

    workload: str
    library: str
    microseconds: float
    ratio: float
    first_milliseconds: float
    three_milliseconds: float
    replayed: bool | None = None


def clean_environment() -> dict[str, str]:
    """The environment without what makes srcdiff check itself, or holds NumPy to one core, as tests do."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("SRCDIFF_", "OPENBLAS_"))}


class Worker:
    """A process that holds one library."""

    def __init__(self, library: str) -> None:
        self.library = library
        command = [sys.executable, "-m", "tests.benchmarks.worker", library]
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=clean_environment(), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def ask(self, **request: Any) -> Any:
        """Its answer to a request; RuntimeError if it has none."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.library} ended on {request}")
        return json.loads(line)

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()


def compare(
    workload: str, libraries: Sequence[str], rounds: int = 50, seconds: float = 0.03, steps: int | None = None
) -> list[Timing]:
    """Timings of the libraries on one workload, in the order given.

    A round gives each library so many `seconds` and takes the median step; the fastest round counts, as the least
    disturbed one. Or it gives so many `steps`, which may differ from round to round, and takes their mean; then the
    medians of rounds, and of ratios within a round, count.
    """
    workers = [Worker(library) for library in libraries]
    try:
        answers = [worker.ask(prepare=workload) for worker in workers]
        for worker, answer in zip(workers, answers, strict=True):
            check(workload, worker.library, answer["sums"], answers[0]["sums"])
        measured: list[list[float]] = [[] for _ in workers]
        for _ in range(rounds):
            for times, worker in zip(measured, workers, strict=True):
                times.append(worker.ask(seconds=seconds, steps=steps)["step"])
    finally:
        for worker in workers:
            worker.close()
    found = []
    for worker, times, answer in zip(workers, measured, answers, strict=True):
        if steps is None:
            step, ratio = min(times), min(times) / min(measured[0])
        else:
            step = statistics.median(times)
            ratio = statistics.median(mine / first for mine, first in zip(times, measured[0], strict=True))
        replayed = None if answer["replayed"] is None else answer["replayed"] > 0
        first, three = 1e3 * answer["first"], 1e3 * answer["three"]
        found.append(Timing(workload, worker.library, 1e6 * step, ratio, first, three, replayed))
    return found


def check(workload: str, library: str, sums: list[float], expected: list[float]) -> None:
    """Raises AssertionError if loss or gradients differ from those of the first library."""
    largest = max(map(abs, expected))
    for mine, theirs in zip(sums, expected, strict=True):
        assert abs(mine - theirs) <= 1e-3 * max(abs(theirs), 1e-3 * largest), (workload, library, mine, theirs)


def table(timings: Iterable[Timing]) -> str:
    """Markdown: a row per workload, a step's microseconds per library, and its ratio to that of the first library."""
    rows: dict[str, dict[str, Timing]] = {}
    for timing in timings:
        rows.setdefault(timing.workload, {})[timing.library] = timing
    libraries = list(next(iter(rows.values())))
    lines = [f"| step, µs | {' | '.join(libraries)} |", "| --- |" + " ---: |" * len(libraries)]
    for workload, found in rows.items():
        cells = [f"{found[each].microseconds:.0f}" + ratio_text(found[each], libraries[0]) for each in libraries]
        lines.append(f"| {workload} | {' | '.join(cells)} |")
    means = [f"× {geometric_mean(rows, each):.2f}" if each != libraries[0] else "" for each in libraries]
    lines.append(f"| geometric mean | {' | '.join(means)} |")
    lines += ["", f"| first call, first three, ms | {' | '.join(libraries)} |", "| --- |" + " ---: |" * len(libraries)]
    for workload, found in rows.items():
        shown = [f"{found[each].first_milliseconds:.1f}, {found[each].three_milliseconds:.1f}" for each in libraries]
        lines.append(f"| {workload} | {' | '.join(shown)} |")
    return "\n".join(lines)


def ratio_text(timing: Timing, first: str) -> str:
    return "" if timing.library == first else f" (× {timing.ratio:.2f})"


def geometric_mean(rows: dict[str, dict[str, Timing]], library: str) -> float:
    return statistics.geometric_mean(found[library].ratio for found in rows.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--libraries", default=",".join(LIBRARIES))
    parser.add_argument("--workloads", default=",".join(WORKLOADS))
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=0.03)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    libraries = [each for each in options.libraries.split(",") if installed(each)]
    timings: list[Timing] = []
    for workload in options.workloads.split(","):
        timings += compare(workload, libraries, options.rounds, options.seconds)
    print(table(timings))
    if options.json:
        options.json.write_text(json.dumps([asdict(timing) for timing in timings], indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
