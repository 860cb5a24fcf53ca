"""Entries: their text, when they are used, and NumPy's error state around them.

PYTEST_DONT_REWRITE: the functions are to be what is written.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff.api import player
from srcdiff.replay import strict
from srcdiff.replay.entry import Text, written
from srcdiff.replay.writer import Writer

SCALE = 2.0


@pytest.fixture(autouse=True)
def automatic() -> Iterator[None]:
    with sd.config(replay="auto"):
        yield


def loss(params: Any, x: Any, power: int = 2) -> Any:
    return np.sum((x @ params["w"] + params["b"]) ** power) * SCALE


def warmed(step: Any, *args: Any, **kwargs: Any) -> Any:
    """The step, once its first entry is entered at once."""
    for _ in range(4):
        step(*args, **kwargs)
    assert step._player.enter is step._player.entries[0].enter
    return step


def test_the_text_of_an_entry(golden: Callable[[str, str], None]) -> None:
    step = warmed(sd.value_and_grad(loss), {"w": np.ones((3, 2)), "b": np.ones(2)}, np.ones((4, 3)))
    entry = step._player.entries[0]
    later = " and monitoring.get_tool(0) is None and monitoring.get_tool(1) is None"  # Python 3.12
    golden("entry.py", entry.enter_source.replace(later, ""))
    assert inspect.getsource(entry.enter) == entry.enter_source


def test_structures_are_written_as_they_are() -> None:
    a, b = Text("a"), Text("b")
    for structure in (a, [a, b], (a,), (), [], {"x": a, 1: [b, None]}, None, ((a, b), {"y": (b,)})):
        space = {"a": 1.5, "b": 2.5}
        made = eval(written(structure, Writer()), space)
        assert repr(made).replace("1.5", "'a'").replace("2.5", "'b'") == repr(structure)


def test_an_entry_is_entered_once_it_has_been_checked() -> None:
    step = sd.grad(loss)
    args = {"w": np.ones((3, 2)), "b": np.ones(2)}, np.ones((4, 3))
    seen = []
    for _ in range(4):
        step(*args)
        seen.append(step._player.enter is not player._unknown)
    assert seen == [False, False, True, True]
    with sd.config(exact=True):
        assert step._player.enter(args, {}) is None
    assert step._player.enter(args, {}) and step._player.enter(args, {"power": 2}) is False
    step.cache_clear()
    assert step._player.enter is player._unknown


def test_the_latest_of_several_entries_is_tried_first() -> None:
    step = sd.value_and_grad(lambda x: np.sum(x * x) if x[0] > 0 else np.sum(np.sin(x)))
    below, above, longer = -np.ones(3), np.ones(3), np.ones(5)
    for x in (below, above, longer) * 5:
        value, gradient = step(x)
        expected = (np.sum(x * x), 2 * x) if x[0] > 0 else (np.sum(np.sin(x)), np.cos(x))
        np.testing.assert_allclose(value, expected[0], rtol=1e-15)
        np.testing.assert_allclose(gradient, expected[1], rtol=1e-15)
    assert len(step._player.entries) == 3 and step.cache_info().replayed == 6
    assert step._player.enter((longer,), {}) and step._player.enter((below,), {}) is False


def test_a_call_replayed_runs_the_program_once() -> None:
    """Not again to see that it takes another branch than the entry that was tried first."""
    step = sd.grad(lambda x: np.sum(x * x) if x[0] > 0 else np.sum(np.sin(x)))
    for x in (np.ones(3), -np.ones(3)) * 4:
        step(x)
    runs = []
    for entry in step._player.entries:
        names = entry.enter.__globals__
        run = names["step"]
        names["step"] = lambda *values, run=run, entry=entry: runs.append(entry) or run(*values)
    step(-np.ones(3))
    step(np.ones(3))
    first, second = step._player.entries
    assert runs == [second, second, first]


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="Python 3.12 has sys.monitoring")
def test_an_entry_is_not_entered_while_a_debugger_monitors() -> None:
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
    step = warmed(sd.grad(lambda x: np.sum(x * x)), np.ones(3))
    monitoring.use_tool_id(monitoring.DEBUGGER_ID, "test")
    try:
        assert step._player.enter((np.ones(3),), {}) is None
    finally:
        monitoring.free_tool_id(monitoring.DEBUGGER_ID)
    assert step._player.enter((np.ones(3),), {})


# ----------------------------------------------------------------------------------------- NumPy's error state


@pytest.mark.parametrize("state", [strict.state, strict.Settings()])
def test_the_error_state_of_a_replay_and_after(state: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strict, "state", state)
    monkeypatch.setattr(strict, "strict", {})
    for one in ("ignore", "warn"):
        for other in ("warn", "raise", "ignore", "call"):
            with np.errstate(divide=one, over=other, invalid=other, under=one):  # type: ignore[call-overload]
                before, kept = np.geterr(), state.get()
                for _ in range(2):
                    state.set(strict.strict.get(kept) or strict.tighten())
                    for kind, how in np.geterr().items():
                        assert how == ("ignore" if before[kind] == "ignore" else "raise")  # type: ignore[literal-required]
                    state.set(kept)
                    assert np.geterr() == before


def test_numpy_keeps_its_error_state_in_a_context_variable() -> None:
    assert not isinstance(strict.state, strict.Settings)


def test_few_error_states_are_kept() -> None:
    for _ in range(200):
        with np.errstate(under="warn"):
            strict.tighten()
    assert len(strict.strict) <= 65


def test_the_error_state_is_what_it_was_after_an_error() -> None:
    step = warmed(sd.grad(lambda x: np.sum(1.0 / x)), np.ones(3))
    before = np.geterr()
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        step(np.zeros(3))
    assert np.geterr() == before


def test_none_read_from_outside_is_itself() -> None:
    """It once was the parameter of the entry."""
    gradient = sd.grad(lambda x: np.sum(x[:, np.newaxis] * 2.0))
    for _ in range(4):
        gradient(np.ones(3))
    assert gradient.cache_info().replayed == 1
