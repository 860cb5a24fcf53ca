"""What recording an operation costs on top of NumPy's own time for it, in microseconds.

    python -m tests.benchmarks.recording

On a site hit the same place in the code runs the operation again and again, as in a training loop. On a miss each place
runs for the first time: the statement is compiled many times over, as in a program that never repeats. What counts is
the fastest of many rounds, since whatever else the machine does only adds to it.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import srcdiff as sd

#: statement -> kind
OPERATIONS = {
    "x * y": "operator",
    "x + 1.5": "operator",
    "a - x": "operator",
    "x @ m": "operator",
    "-x": "operator",
    "x ** 2": "operator",
    "np.exp(x)": "ufunc",
    "np.tanh(x)": "ufunc",
    "np.multiply(x, y)": "ufunc",
    "np.add(a, x)": "ufunc",
    "x.sum()": "method",
    "x[2]": "method",
    "x[1:5]": "method",
    "m.T": "method",
    "np.sum(x)": "function",
    "np.mean(m, axis=0)": "function",
    "np.max(m, axis=1, keepdims=True)": "function",
    "np.reshape(x, (4, 4))": "function",
    "np.where(c, x, y)": "function",
    "np.concatenate([x, y])": "function",
    "np.dot(x, y)": "function",
}
REPEATS = 500  # of a statement on hits
COPIES = 200  # of a statement on misses
ROUNDS = 25


@dataclass(frozen=True)
class Cost:
    """Of one statement; `numpy` is what it takes on arrays, the others come on top. All in microseconds."""

    statement: str
    kind: str
    numpy: float
    hit: float
    miss: float


def operands() -> tuple[dict[str, Any], dict[str, Any]]:
    """The same values as arrays and as Tensors that require a gradient."""
    rng = np.random.default_rng(0)
    arrays = {"x": rng.random(16), "y": rng.random(16), "m": rng.random((16, 16))}
    fixed = {"a": rng.random(16), "c": rng.random(16) > 0.5, "np": np}
    return {**arrays, **fixed}, {**{k: sd.tensor(v, requires_grad=True) for k, v in arrays.items()}, **fixed}


def looped(statement: str) -> Callable[..., None]:
    """A function that runs the statement over and over."""
    return defined(f"def run(x, y, m, a, c, np):\n for _ in range({REPEATS}): {statement}\n")


def copied(statement: str) -> Callable[..., None]:
    """A function, never run before, that has the statement many times."""
    return defined("def run(x, y, m, a, c, np):\n" + f" {statement}\n" * COPIES)


def defined(text: str) -> Callable[..., None]:
    namespace: dict[str, Any] = {}
    exec(compile(text, "benchmark.py", "exec"), namespace)
    return namespace["run"]  # type: ignore[no-any-return]


def seconds(run: Callable[..., None], values: dict[str, Any]) -> float:
    start = time.perf_counter()
    run(**values)
    return time.perf_counter() - start


def cost(statement: str, kind: str) -> Cost:
    arrays, tensors = operands()
    loop = looped(statement)
    loop(**arrays), loop(**tensors)
    best = [np.inf] * 4
    for _ in range(ROUNDS):
        times = (
            seconds(loop, arrays) / REPEATS,
            seconds(loop, tensors) / REPEATS,
            seconds(copied(statement), arrays) / COPIES,
            seconds(copied(statement), tensors) / COPIES,
        )
        best = list(map(min, best, times))
    alone, hit, new, miss = (1e6 * each for each in best)
    return Cost(statement, kind, alone, hit - alone, miss - new)


def measure() -> list[Cost]:
    return [cost(statement, kind) for statement, kind in OPERATIONS.items()]


def table(costs: list[Cost]) -> str:
    """Markdown."""
    lines = ["| microseconds | NumPy alone | recording, hit | recording, miss |", "| --- | ---: | ---: | ---: |"]
    lines += [f"| `{each.statement}` | {each.numpy:.2f} | +{each.hit:.2f} | +{each.miss:.1f} |" for each in costs]
    return "\n".join(lines)


if __name__ == "__main__":
    found = measure()
    print(json.dumps([asdict(each) for each in found]) if "--json" in sys.argv else table(found))
