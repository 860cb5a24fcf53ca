"""The most memory that a step holds at once beside its arguments, results included, in srcdiff and in PyTorch.

    python -m tests.benchmarks.memory

srcdiff's is what Python and NumPy have allocated, as tracemalloc sees it, and what is kept from call to call. PyTorch's
profiler sees the contents of its tensors, and not the graph of C++ objects: so there is also what is in use of the heap
where the forward pass ends, graph included, as the C library counts. PyTorch holds at least the larger of both.
"""

from __future__ import annotations

import ctypes
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
    graph: float | None

    @property
    def others(self) -> float:
        """What PyTorch holds at least; 0 if it is not installed."""
        return max(self.torch or 0.0, self.graph or 0.0)


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


class _Info(ctypes.Structure):
    """What glibc's `mallinfo2` returns."""

    _fields_ = [(f"field_{k}", ctypes.c_size_t) for k in range(10)]


def in_use() -> int:
    """Bytes of the heap that are in use. Raises AttributeError where the C library does not say."""
    count = ctypes.CDLL(None).mallinfo2
    count.restype = _Info
    found = count()
    return int(found.field_7 + found.field_4)


def of_torchs_graph(workload: str) -> float | None:
    if not installed("torch"):
        return None
    work = WORKLOADS[workload](np.random.default_rng(0))
    held: list[int] = []

    def loss(*args: Any) -> Any:
        before = in_use()
        result = work.loss(*args)
        held.append(in_use() - before)
        return result

    step = LIBRARIES["torch"](work._replace(loss=loss))
    try:
        for _ in range(3):
            step()
    except AttributeError:
        return None
    return 1e-3 * held[-1]


def profiled(profiler: Any, step: Step) -> list[Any]:
    """Allocations and releases during a step, in order."""
    with profiler.profile(activities=[profiler.ProfilerActivity.CPU], profile_memory=True) as seen:
        result = step()
    del result
    events = [event for event in seen.profiler.kineto_results.events() if event.name() == "[memory]"]
    return sorted(events, key=lambda event: event.start_ns())


def measure() -> list[Peak]:
    warm_up("srcdiff")
    return [Peak(each, of_srcdiff(each), of_torch(each), of_torchs_graph(each)) for each in WORKLOADS]


def table(found: list[Peak]) -> str:
    """Markdown."""
    lines = ["| most memory at once, kB | srcdiff | torch, tensors | torch, forward |", "| --- | ---: | ---: | ---: |"]
    for each in found:
        others = ("" if x is None else f"{x:.0f} (× {x / each.srcdiff:.2f})" for x in (each.torch, each.graph))
        lines.append(f"| {each.workload} | {each.srcdiff:.0f} | {' | '.join(others)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    results = measure()
    print(json.dumps([asdict(each) for each in results]) if "--json" in sys.argv else table(results))
