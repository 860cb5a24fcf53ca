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


class Six(sd.nn.Module):
    """Six parameters."""

    def __init__(self, arrays: list[Any]) -> None:
        super().__init__()
        for name, array in zip("abcdef", arrays, strict=True):
            setattr(self, name, sd.nn.Parameter(sd.tensor(array)))

    def forward(self) -> Any:
        return six(self.a, self.b, self.c, self.d, self.e, self.f)


def entrance(arguments: str, step: Any, *args: Any) -> Entrance:
    for _ in range(4):
        step(*args)
    (entry,) = step._player.entries
    names = entry.enter.__globals__
    run, given = names["step"], []
    names["step"] = lambda *values: given.append(values) or run(*values)  # type: ignore[func-returns-value]
    step(*args)
    names["step"] = run
    call = timer("step", step, args)
    alone = timer("step", run, given[0])
    best = [np.inf, np.inf]
    for _ in range(ROUNDS):
        best = [min(best[0], call.timeit(CALLS)), min(best[1], alone.timeit(CALLS))]
    assert step.cache_info().replayed >= ROUNDS * CALLS
    return Entrance(arguments, *(1e6 * each / CALLS for each in best))


def timer(name: str, function: Callable[..., Any], args: tuple[Any, ...]) -> timeit.Timer:
    values = {f"x{k}": value for k, value in enumerate(args)}
    return timeit.Timer(f"{name}({', '.join(values)})", globals={name: function, **values})


def measure() -> list[Entrance]:
    arrays = list(np.random.default_rng(0).random((6, 4)))
    model = Six(arrays)
    return [
        entrance("six arrays", sd.value_and_grad(six, argnums=tuple(range(6))), *arrays),
        entrance("a list of six", sd.value_and_grad(of_list), arrays),
        entrance("a dict of six", sd.value_and_grad(of_dict), dict(zip("abcdef", arrays, strict=True))),
        entrance("one array", sd.value_and_grad(one), arrays[0]),
        entrance("a module with six parameters", sd.compile(lambda: model().detach())),
    ]


def table(found: list[Entrance]) -> str:
    """Markdown."""
    lines = ["| arguments | call, µs | step | entry |", "| --- | ---: | ---: | ---: |"]
    lines += [f"| {each.arguments} | {each.call:.2f} | {each.step:.2f} | {each.entry:.2f} |" for each in found]
    return "\n".join(lines)


if __name__ == "__main__":
    results = measure()
    print(json.dumps([asdict(each) for each in results]) if "--json" in sys.argv else table(results))
