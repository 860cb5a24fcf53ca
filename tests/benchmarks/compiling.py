"""How long it takes to compile a backward pass, in milliseconds: from the tape to the function and its matcher.

    python -m tests.benchmarks.compiling

Every graph is compiled from fresh code, whose source has not been looked at before.
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
from srcdiff.compiler import compile_backward
from srcdiff.config import config
from srcdiff.tape.lower import collect

MLP = """
def loss(params, x, targets):
    w1, b1, w2, b2, w3, b3 = params
    h1 = np.tanh(x @ w1 + b1)
    h2 = np.tanh(h1 @ w2 + b2)
    logits = h2 @ w3 + b3
    shifted = logits - np.max(logits, axis=1, keepdims=True)
    log_norm = np.log(np.sum(np.exp(shifted), axis=1, keepdims=True))
    return -np.mean(np.sum(targets * (shifted - log_norm), axis=1))
"""
LOOP = """
def loss(params, length):
    (x,) = params
    for _ in range(length // 4 - 1):
        x = np.sin(1.01 * x) - 0.5 * x
    return np.sum(np.sin(x) * x + x)
"""
LENGTHS = (100, 300, 1_000, 3_000)
ROUNDS = 5
_number = count()


@dataclass(frozen=True)
class Compilation:
    """`operations` is the number of recorded ones, `first` whether nothing had been compiled in the process before."""

    graph: str
    operations: int
    milliseconds: float
    first: bool = False


def fresh(text: str) -> Callable[..., Any]:
    """The function in the text, as new code whose source can be found."""
    name = f"benchmark{next(_number)}.py"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), namespace)
    return namespace["loss"]  # type: ignore[no-any-return]


def compilation(
    graph: str, text: str, params: list[Any], *rest: Any, rounds: int = ROUNDS, first: bool = False
) -> Compilation:
    """The median of so many rounds."""
    times = []
    for _ in range(rounds):
        function = fresh(text)
        loss = function([sd.tensor(param, requires_grad=True) for param in params], *rest)
        roots = [loss._edge]
        operations = sum(node.site.prim is not None for node in collect(roots))
        start = time.perf_counter()
        compile_backward(roots, None, config.options)
        times.append(time.perf_counter() - start)
    return Compilation(graph, operations, 1e3 * statistics.median(times), first)


def measure() -> list[Compilation]:
    rng = np.random.default_rng(0)
    params = [rng.random(shape, np.float32) for shape in ((64, 64), 64, (64, 64), 64, (64, 10), 10)]
    batch = rng.random((32, 64), np.float32), np.eye(10, dtype=np.float32)[rng.integers(0, 10, 32)]
    found = [compilation("MLP, first in the process", MLP, params, *batch, rounds=1, first=True)]
    found.append(compilation("MLP", MLP, params, *batch, rounds=4 * ROUNDS))
    found += [compilation(f"loop of {length}", LOOP, [rng.random(16)], length) for length in LENGTHS]
    found += [compilation(f"{length} statements", unrolled(length), [rng.random(16)]) for length in LENGTHS]
    return found


def unrolled(length: int) -> str:
    """Source with an operation on every line, each at a place of its own."""
    lines = ("    x = np.tanh(x)", "    x = 0.9 * x", "    x = x + y", "    x = np.sin(x)")
    body = "\n".join(lines[k % len(lines)] for k in range(length - 1))
    return f"\ndef loss(params):\n    (y,) = params\n    x = y\n{body}\n    return np.sum(x)\n"


def table(found: list[Compilation]) -> str:
    """Markdown."""
    lines = ["| graph | operations | compile, ms | µs an operation |", "| --- | ---: | ---: | ---: |"]
    for each in found:
        per = 1e3 * each.milliseconds / each.operations
        lines.append(f"| {each.graph} | {each.operations} | {each.milliseconds:.1f} | {per:.0f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    results = measure()
    print(json.dumps([asdict(each) for each in results]) if "--json" in sys.argv else table(results))
