"""Random arithmetic on numbers that change, in gradient functions and in training steps: the bits of eager calls."""

from __future__ import annotations

import linecache
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import srcdiff as sd


class Holder:
    """An instance that numbers are read from."""


class Writing:
    """Expressions of numbers `n`, `r` and of others that are read from outside, and of arrays `x`, `y` with them."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)

    def number(self, depth: int) -> str:
        chance = self.choose.random()
        if depth == 0 or chance < 0.25:
            return self.choose.choice(["n", "r", "h.n", "h.r", "d['n']", "l[0]", "g", "2", "0.5", "3", "-1.5", "True"])
        a, b = self.number(depth - 1), self.number(depth - 1)
        if chance < 0.75:
            return f"({a} {self.choose.choice(['+', '-', '*', '/', '//', '%', '**', '+', '*'])} {b})"
        if chance < 0.88:
            names = "abs math.sqrt np.sqrt np.exp math.exp np.log1p float int round np.abs np.float64 bool".split()
            return f"{self.choose.choice(names)}({a})"
        if chance < 0.94:
            return f"({a} if {b} {self.choose.choice(['<', '>', '==', '<=', '!='])} {self.number(depth - 1)} else {b})"
        return f"{self.choose.choice(['min', 'max', 'pow'])}({a}, {b})" if chance < 0.98 else f"sum([{a}, {b}, 0.1])"

    def array(self, depth: int) -> str:
        chance = self.choose.random()
        if depth == 0 or chance < 0.2:
            return self.choose.choice(["x", "y"])
        a, sign = self.array(depth - 1), self.choose.choice(["+", "-", "*", "/"])
        if chance < 0.6:
            return f"({a} {sign} {self.number(2)})"
        if chance < 0.75:
            return f"({self.number(2)} {sign} {a})"
        if chance < 0.85:
            return f"np.{self.choose.choice(['maximum', 'minimum', 'multiply', 'add'])}({a}, {self.number(1)})"
        if chance < 0.9:
            return f"np.where({a} > {self.number(1)}, {self.array(depth - 1)}, {self.number(1)})"
        return f"np.tanh({a})" if chance < 0.95 else f"({a}) ** {self.number(0)}"


def program(text: str, path: Path) -> tuple[Callable[..., Any], dict[str, Any]]:
    """The function `f` of a text that is in a file, and its globals."""
    path.write_text(text)
    linecache.checkcache(str(path))
    names: dict[str, Any] = {"np": np, "math": math, "sd": sd, "h": Holder(), "d": {}, "l": [0], "g": 0}
    exec(compile(text, str(path), "exec"), names)
    return names["f"], names


def vary(names: dict[str, Any], choose: random.Random, k: int) -> tuple[Any, Any]:
    """Give the numbers outside other values; those of the arguments."""
    names["h"].__dict__.update(n=choose.choice([k, 3]), r=choose.choice([k * 0.1, 0.3]))
    names["d"]["n"], names["l"][0] = choose.choice([k, 1]), choose.choice([k / 3, 1.5, 2])
    names["g"] = choose.choice([k, 2, 0.5])
    return choose.choice([k, 2 * k + 1, 4]), choose.choice([0.25 * k, 1.0, -0.5, 0.0])


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    try:
        with np.errstate(all="ignore"):
            return bits(function(*args))
    except Exception as error:
        return (type(error), str(error))


def bits(result: Any) -> Any:
    if isinstance(result, (tuple, list)):
        return [bits(part) for part in result]
    array = np.asarray(result)
    return (type(result), array.dtype, array.shape, str(array) if np.isnan(array).any() else array.tobytes())


@pytest.mark.parametrize("seed", range(12))
def test_functions(seed: int, tmp_path: Path) -> None:
    write = Writing(seed)
    text = f"np.sum({write.array(3)}) + np.sum({write.array(2)}) * {write.number(2)}"
    function, names = program(f"def f(x, y, n, r):\n    return {text}\n", tmp_path / "f.py")
    x = np.array([0.5, -1.0, 2.0], write.choose.choice([np.float32, np.float64]))
    y = np.array([1.5, 0.25, -0.75], write.choose.choice([np.float32, np.float64]))
    replayed, eager = sd.value_and_grad(function), sd.value_and_grad(function)
    for k in range(24):
        args = (x, y, *vary(names, write.choose, k))
        with sd.config(replay="auto", exact=True):
            found = outcome(replayed, *args)
        with sd.config(replay="never", exact=True):
            assert found == outcome(eager, *args), text


@pytest.mark.parametrize("seed", range(12))
def test_steps(seed: int, tmp_path: Path) -> None:
    write = Writing(1_000 + seed)
    text = f"""
def f(x, y, n, r):
    loss = ({write.array(2)} * w).sum() * {write.number(1)} + (w * w).sum()
    w.grad = None
    loss.backward()
    with sd.no_grad():
        m.mul_(0.5)
        m.add_(w.grad)
        w.sub_(1e-3 * (m * {write.number(2)}))
    return loss.detach()
"""
    runs = []
    for replay in ("never", "auto"):
        choose = random.Random(seed)
        function, names = program(text, tmp_path / f"{replay}.py")
        names["w"], names["m"] = sd.tensor([1.0, -0.5, 0.25], requires_grad=True), sd.zeros(3)
        step, found = sd.compile(function), []
        x, y = np.array([0.5, -1.0, 2.0], np.float32), np.array([1.5, 0.25, -0.75], np.float32)
        with sd.config(replay=replay, exact=True):
            for k in range(24):
                result = outcome(step, x, y, *vary(names, choose, k))
                state = [names["w"].detach().numpy(), names["m"].numpy()]
                found.append((result, bits(state), names["w"]._version, names["m"]._version))
        runs.append(found)
    assert runs[0] == runs[1], text
