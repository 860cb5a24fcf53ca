"""The most memory that a step holds at once beside its arguments, results included, in srcdiff and in PyTorch.

    python -m tests.benchmarks.memory

srcdiff's is what NumPy has allocated, as tracemalloc sees it, and what is kept from call to call; PyTorch's is what its
own profiler sees allocated and freed during a step.
"""

from __future__ import annotations

import gc
import importlib
import json
import sys
import tracemalloc
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tests.benchmarks.libraries import LIBRARIES, Step, installed, warm_up
from tests.benchmarks.workloads import WORKLOADS


@dataclass(frozen=True)
class Peak:
    """Kilobytes; None where PyTorch is not installed."""

    workload: str
    srcdiff: float
    torch: float | None

    @property
    def ratio(self) -> float:
        return 0.0 if self.torch is None else self.srcdiff / self.torch


def held_by_arrays() -> int:
    arrays = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
    found = tracemalloc.take_snapshot().filter_traces([arrays]).statistics("filename")
    return sum(each.size for each in found)


def of_srcdiff(workload: str) -> float:
    work = WORKLOADS[workload](np.random.default_rng(0))
    tracemalloc.start()
    try:
        step = LIBRARIES["srcdiff"](work)
        for _ in range(4):
            step()
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        kept = held_by_arrays()
        tracemalloc.reset_peak()
        step()
        return 1e-3 * (tracemalloc.get_traced_memory()[1] - before + kept)
    finally:
        tracemalloc.stop()


def of_torch(workload: str) -> float | None:
    if not installed("torch"):
        return None
    profiler = importlib.import_module("torch.profiler")
    step = LIBRARIES["torch"](WORKLOADS[workload](np.random.default_rng(0)))
    step()
    events = profiled(profiler, step)
    now = highest = 0
    for event in events:
        now += event.nbytes()
        highest = max(highest, now)
    return 1e-3 * highest


def profiled(profiler: Any, step: Step) -> list[Any]:
    """Allocations and releases during a step, in order."""
    with profiler.profile(activities=[profiler.ProfilerActivity.CPU], profile_memory=True) as seen:
        result = step()
    del result
    events = [event for event in seen.profiler.kineto_results.events() if event.name() == "[memory]"]
    return sorted(events, key=lambda event: event.start_ns())


def measure() -> list[Peak]:
    warm_up("srcdiff")
    return [Peak(each, of_srcdiff(each), of_torch(each)) for each in WORKLOADS]


def table(found: list[Peak]) -> str:
    """Markdown."""
    lines = ["| most memory at once, kB | srcdiff | torch |", "| --- | ---: | ---: |"]
    for each in found:
        torch = "" if each.torch is None else f"{each.torch:.0f} (× {each.torch / each.srcdiff:.2f})"
        lines.append(f"| {each.workload} | {each.srcdiff:.0f} | {torch} |")
    return "\n".join(lines)


if __name__ == "__main__":
    results = measure()
    print(json.dumps([asdict(each) for each in results]) if "--json" in sys.argv else table(results))
