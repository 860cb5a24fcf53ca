"""Recording: every way to a plain value ends it, and every listed name is seen by it."""
# ruff: noqa: UP031 - one of the ways

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff.api.watching import watch
from srcdiff.replay.allowed import ATTRIBUTES
from srcdiff.replay.findings import Findings, RefusedError
from srcdiff.tape.modes import modes


def recorded(function: Callable[..., Any], *args: Any) -> Any:
    """Watch a call, with the first argument differentiated."""
    return watch(function, args, {}, [0], lambda key: f"a{key}", Findings())


WAYS: dict[str, Callable[[Any], Any]] = {
    "float": lambda y: float(y[0]),
    "complex": lambda y: complex(y[0]),
    "item": lambda y: y[0].item(),
    "tolist": lambda y: y.tolist()[0],
    "asarray": lambda y: np.asarray(y).sum(),
    "array": lambda y: np.array(y) * 2,
    "format": lambda y: len(f"{y[0]}"),
    "percent": lambda y: len("%s" % y[0]),
    "repr": lambda y: len(f"{y!r}"),
    "contains": lambda y: 2.0 in y,
    "hash": lambda y: {1.5: 2}.get(y[0], 3),
    "set": lambda y: len({y[0], 2.0}),
    "numpy": lambda y: y.numpy(),
    "tobytes": lambda y: len(y.tobytes()),
    "unique": lambda y: np.unique(y).size,
    "repeated list": lambda y: len([1, 2] * y[1]),
    "out": lambda y: np.add(y, 1, out=np.zeros(3)),
    "assigned": lambda y: np.zeros(3).__setitem__(0, y[0]),
    "write": lambda y: y.__setitem__(0, 2.0),
    "augmented": lambda y: y.__iadd__(1.0),
    "round": lambda y: round(float(y[0])),
    "sort": lambda y: y.sort(),
}


@pytest.mark.parametrize("way", list(WAYS))
def test_ways_to_a_value_end_the_recording(way: str) -> None:
    y = np.array([1.5, 2.0, 0.0])
    before = y.copy()
    with sd.config(clone=False), pytest.raises(RefusedError):
        recorded(lambda x, y: (WAYS[way](y), np.sum(x))[1], np.ones(3), y)
    np.testing.assert_array_equal(y, before)
    assert modes.recorder is None and modes.recording == 1


def test_truth_is_a_branch() -> None:
    def function(x: Any, y: Any) -> Any:
        if y[0] > 0 and not np.any(y > 5):
            return np.sum(x) if max(y) < 3 else x[0]
        return x[1]

    watched = recorded(function, np.ones(3), np.array([1.0, 2.0, 0.5]))
    assert [outcome for _, outcome in watched.recorder.branches][:2] == [True, False]


def test_an_error_is_no_recording() -> None:
    def function(x: Any) -> Any:
        raise ValueError("no")

    with pytest.raises(RefusedError, match="recording it raised ValueError: no"):
        recorded(function, np.ones(3))
    assert modes.recorder is None


# ------------------------------------------------------------------------------------------ every name that is listed

CALLS = (
    "x",
    "y",
    "x, y",
    "y, x",
    "y, 1",
    "m",
    "m, y",
    "y > 0",
    "y > 0, x, y",
    "x, k",
    "k",
    "m, 0",
    "[x, y]",
    "(y, x), 0",
    "m, axis=0",
    "y, k, 0",
    "mx, y",
    "m @ m.T + np.eye(4)",
    "'ij,j->i', m, x",
)
USES = ("np.sum(np.real({}) * x[0])", "np.sum(x) * (2.0 if {} else 3.0)", "np.sum(x) * len({})", "np.sum(x[{}])")


def spelled(name: str) -> list[str]:
    """Uses of a name as a function and as a method."""
    found = [f"np.{name}({args})" for args in CALLS] if callable(getattr(np, name, None)) else []
    found += [f"np.linalg.{name}({args})" for args in CALLS] if callable(getattr(np.linalg, name, None)) else []
    method = getattr(np.ndarray, name, None)
    if method is not None:
        rests = [f"({args})" for args in ("", "0", "k", "y")] if callable(method) else [""]
        found += [f"{value}.{name}{rest}" for value in ("x", "y", "m", "k", "y[0]") for rest in rests]
    return found


@pytest.mark.parametrize("name", sorted(name for name in ATTRIBUTES if "empty" not in name and name != "ndarray"))
def test_a_listed_name_is_replayed_right_or_not_at_all(name: str) -> None:
    """With 1 / 0 silent, which replays of sums and products may do in another order than tracing: no such data here."""
    rng = np.random.default_rng(0)
    for turn, call in enumerate(spelled(name)):
        for use in (USES[0], USES[turn // 2 % 3 + 1])[: 1 + turn % 2]:
            space: dict[str, Any] = {"np": np}
            exec(f"def f(x, y, m, k, mx): return {use.format(call)}", space)
            compare(space["f"], rng)


def compare(function: Any, rng: Any) -> None:
    """Six calls on other data each, replayed and traced."""
    step, plain = sd.value_and_grad(function), sd.value_and_grad(function)
    for _ in range(6):
        args = [
            rng.uniform(0.2, 2.0, 4),
            rng.normal(size=4),
            rng.normal(size=(4, 4)),
            rng.integers(1, 4, 4),
            rng.normal(size=(4, 4)),
        ]
        copies = [a.copy() for a in args]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                with sd.config(replay="never"):
                    expected = plain(*copies)
            except Exception as error:
                with sd.config(replay="auto"), pytest.raises(type(error)):
                    step(*args)
                return
            with sd.config(replay="auto"):
                found = step(*args)
        assert type(found[0]) is type(expected[0])
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)
        for a, b in zip(args, copies, strict=True):
            np.testing.assert_array_equal(a, b)
        if step._player.refused:  # traced from now on
            break
    refused = step._player.refused or ""
    assert "another result" not in refused and "something else" not in refused
