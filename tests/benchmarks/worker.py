"""The process of one library: answers requests, one line of JSON each.

{"prepare": workload}               -> {"first": seconds of the first step, "three": of the first three,
                                        "sums": of the loss and the gradients,
                                        "replayed": of the steps done so far, how many were replayed; null in others}
{"seconds": s, "steps": null}       -> {"step": median seconds of the steps done in s seconds}
{"seconds": s, "steps": n}          -> {"step": mean seconds of n steps}
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.benchmarks.libraries import FORWARD, LIBRARIES, Step, to_numpy, warm_up
from tests.benchmarks.workloads import WORKLOADS, random_lengths

MAKERS = {**WORKLOADS, "random_lengths": random_lengths}


def prepare(library: str, workload: str) -> tuple[Step, dict[str, Any]]:
    """The step, and what is known after the first one."""
    work = MAKERS[workload](np.random.default_rng(0))
    warm_up(library)
    start = time.perf_counter()
    step = {**LIBRARIES, **FORWARD}[library](work)
    loss, gradients = step()
    first = time.perf_counter() - start
    for _ in range(2):
        step()
    three = time.perf_counter() - start
    sums = [float(to_numpy(loss))]
    for gradient in gradients:
        array = np.asarray(to_numpy(gradient), np.float64)
        sums += [float(np.sum(array)), float(np.sum(np.abs(array)))]
    for _ in range(10):
        step()
    known = getattr(step, "cache_info", None)
    replayed = None if known is None else known().replayed
    return step, {"first": first, "three": three, "sums": sums, "replayed": replayed}


def run(step: Callable[[], Any], seconds: float, steps: int | None) -> float:
    """Seconds of a step."""
    if steps is not None:
        start = time.perf_counter()
        for _ in range(steps):
            step()
        return (time.perf_counter() - start) / steps
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 3:
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    library = sys.argv[1]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the libraries print does not get between the answers
    step: Any = None
    for line in sys.stdin:
        request = json.loads(line)
        if "prepare" in request:
            step, answer = prepare(library, request["prepare"])
        else:
            answer = {"step": run(step, request["seconds"], request["steps"])}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
