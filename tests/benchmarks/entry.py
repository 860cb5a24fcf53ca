"""What a replayed call costs besides the generated step: modes, guard, error state, results. In microseconds.

    python -m tests.benchmarks.entry

The step itself is timed on the same arrays and subtracted. What counts is the fastest of many rounds, in which the two
take turns.
"""

from __future__ import annotations

import json
import sys
import timeit
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

import srcdiff as sd

CALLS = 1_000
ROUNDS = 40


@dataclass(frozen=True)
class Entrance:
    """One kind of call: all of it, the step in it, and the difference. In microseconds."""

    arguments: str
    call: float
    step: float

    @property
    def entry(self) -> float:
        return self.call - self.step


def six(a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> Any:
    return np.sum(a * a) + np.sum(b * b) + np.sum(c * c) + np.sum(d * d) + np.sum(e * e) + np.sum(f * f)


def of_list(p: Any) -> Any:
    return six(*p)


def of_dict(p: Any) -> Any:
    return six(p["a"], p["b"], p["c"], p["d"], p["e"], p["f"])


def one(x: Any) -> Any:
    return np.sum(x * x)


def entrance(arguments: str, function: Callable[..., Any], args: tuple[Any, ...], leaves: list[Any]) -> Entrance:
    step = sd.value_and_grad(function, argnums=tuple(range(len(args))) if len(args) > 1 else 0)
    for _ in range(4):
        step(*args)
    (entry,) = step._player.entries
    run = entry.enter.__globals__["step"]
    call = timeit.Timer(
        "step(*args)" if len(args) > 1 else "step(arg)", globals={"step": step, "args": args, "arg": args[0]}
    )
    alone = timeit.Timer(
        f"run({', '.join(f'x{k}' for k in range(len(leaves)))})",
        globals={"run": run, **{f"x{k}": x for k, x in enumerate(leaves)}},
    )
    best = [np.inf, np.inf]
    for _ in range(ROUNDS):
        best = [min(best[0], call.timeit(CALLS)), min(best[1], alone.timeit(CALLS))]
    assert step.cache_info().replayed >= ROUNDS * CALLS
    return Entrance(arguments, *(1e6 * each / CALLS for each in best))


def measure() -> list[Entrance]:
    arrays = list(np.random.default_rng(0).random((6, 4)))
    return [
        entrance("six arrays", six, tuple(arrays), arrays),
        entrance("a list of six", of_list, (arrays,), arrays),
        entrance("a dict of six", of_dict, (dict(zip("abcdef", arrays, strict=True)),), arrays),
        entrance("one array", one, (arrays[0],), arrays[:1]),
    ]


def table(found: list[Entrance]) -> str:
    """Markdown."""
    lines = ["| arguments | call, µs | step | entry |", "| --- | ---: | ---: | ---: |"]
    lines += [f"| {each.arguments} | {each.call:.2f} | {each.step:.2f} | {each.entry:.2f} |" for each in found]
    return "\n".join(lines)


if __name__ == "__main__":
    results = measure()
    print(json.dumps([asdict(each) for each in results]) if "--json" in sys.argv else table(results))
