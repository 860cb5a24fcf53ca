"""Random loops: walked, compiled and replayed calls agree, and nothing that was compiled is thrown away as wrong.

`--worlds 1000` runs so many.
"""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from tests.property.loops import program

FEW = 20


def agree(mine: Any, other: Any, exact: bool, dtype: Any) -> None:
    """Value and gradients of two calls are alike."""
    for a, b in zip((mine[0], *mine[1]), (other[0], *other[1]), strict=True):
        assert np.asarray(a).dtype == np.asarray(b).dtype
        if exact:
            np.testing.assert_array_equal(a, b)
        else:
            size = max(1.0, float(np.max(np.abs(b), initial=0.0)))
            rtol, atol = (1e-8, 1e-9) if dtype is np.float64 else (2e-3, 1e-3)
            np.testing.assert_allclose(a, b, rtol=rtol, atol=atol * size)


def check(seed: int) -> tuple[bool, str]:
    """One random loop; whether its calls are replayed, and why not if what was compiled did not agree to rounding."""
    r = random.Random(seed)
    text, name = program(r), f"loop_{seed}.py"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space: dict[str, Any] = {}
    exec(compile(text, name, "exec"), space)
    loss: Callable[..., Any] = space["loss"]
    rng = np.random.default_rng(seed)
    steps, dtype, exact = r.choice([5, 9, 14, 30]), r.choice([np.float64] * 3 + [np.float32]), r.random() < 0.25
    chosen = r.choice([(0, 1, 2), (0, 1, 2, 3), (0, 1, 2, 3, 4), (2, 3)])

    def arguments() -> list[Any]:
        shapes: list[tuple[int, ...]] = [(4, 4), (4, 5), (4,), (steps, 5), (steps,)]
        return [(0.5 * rng.normal(size=shape)).astype(dtype) for shape in shapes]

    with sd.config(exact=exact):
        fast = sd.value_and_grad(loss, argnums=chosen)
        for _ in range(5):
            args = arguments()
            mine = fast(*args)
            with sd.config(replay="never", compile_after=10**9):
                agree(mine, sd.value_and_grad(loss, argnums=chosen)(*args), exact, dtype)
        traced = sd.value_and_grad(loss, argnums=chosen)
        with sd.config(replay="never"):
            walked = traced(*args)
            for _ in range(3):
                agree(traced(*args), walked, exact, dtype)
    player = fast._player
    return bool(fast.cache_info().replayed), " ".join((player.refused or "", *player.failures, text))


def test_walked_compiled_and_replayed_calls_agree(pytestconfig: pytest.Config) -> None:
    """One in 200 may be refused: where a gradient has vanished, what cancels in it is seen."""
    count = pytestconfig.getoption("--worlds") or FEW
    refused = [reason for replayed, reason in map(check, range(count)) if not replayed]
    assert len(refused) <= count // 200, refused
