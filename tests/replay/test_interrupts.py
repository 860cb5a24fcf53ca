"""Ctrl-C in the middle of a compiled step, wherever that is: what was set is put back, and later calls do what they do
uncompiled.

An interrupt is raised by a profile function where Python looks for one: when a function begins, or one written in C has
returned.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff import nn
from srcdiff.config import config
from srcdiff.random import watch
from srcdiff.tape.modes import modes

# in callbacks of weak references and generators that are collected
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

X, Y = sd.tensor(np.linspace(-1.0, 1.0, 12, dtype=np.float32).reshape(4, 3)), sd.tensor([0, 1, 1, 0])


class World:
    """A model with dropout, an optimizer with a state, and their step."""

    def __init__(self) -> None:
        sd.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.BatchNorm1d(4), nn.Linear(4, 2))
        self.optimizer = sd.optim.Adam(self.model.parameters(), lr=0.01)

    def step(self, x: Any, y: Any) -> Any:
        loss = nn.functional.cross_entropy(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def become(self, other: World) -> None:
        """Have the state of another."""
        self.model.load_state_dict(other.model.state_dict())
        self.optimizer.load_state_dict(other.optimizer.state_dict())
        for mine, others in zip(self.model.parameters(), other.model.parameters(), strict=True):
            mine.grad = None if others.grad is None else others.grad.clone()


@pytest.fixture(autouse=True)
def errors_as_before() -> Iterator[None]:
    """An interrupt at the very end of a `with np.errstate(...)` of NumPy's leaves its settings: not to other tests."""
    with np.errstate():
        yield


def interrupted(call: Callable[[], Any], after: int) -> bool:
    """Make a call with an interrupt after so many events; whether it came before the end."""
    left = after

    def event(frame: Any, kind: str, arg: Any) -> None:
        nonlocal left
        left -= kind in ("call", "c_return")
        if left < 0:
            raise KeyboardInterrupt

    with suppress(KeyboardInterrupt):
        try:
            sys.setprofile(event)
            call()
        finally:
            sys.setprofile(None)
    return left < 0


def settings() -> list[Any]:
    current = config.current
    return [
        modes.recorder, modes.recording, modes.grad, modes.backward_run, modes.place, watch.recorder, current.style,
        sys.gettrace(),
    ]  # fmt: skip


@pytest.mark.parametrize(("calls", "places"), [(1, range(0, 8_000, 400)), (2, range(7, 8_000, 400)), (5, range(200))])
def test_a_step_that_is_interrupted_leaves_nothing_behind(calls: int, places: range) -> None:
    """`calls` come before: the second is watched, the third compared, later ones are replayed."""
    before, errors = settings(), np.geterr()
    reached = 0
    for after in places:
        if not reached or calls < 5:
            world, plain = World(), World()
            step = sd.compile(world.step)
            for _ in range(calls):
                step(X, Y)
        if not interrupted(lambda step=step: step(X, Y), after):  # type: ignore[misc]
            break
        reached += 1
        assert settings() == before
        if calls == 5:
            assert np.geterr() == errors
        plain.become(world)
        for _ in range(4):
            state = sd.get_rng_state()
            value = step(X, Y)
            sd.set_rng_state(state)
            assert value == pytest.approx(plain.step(X, Y), rel=1e-4)
    assert reached >= 10


def test_a_gradient_function_that_is_interrupted_leaves_nothing_behind() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.tanh(x) ** 2)

    before, errors, x = settings(), np.geterr(), np.linspace(-1.0, 1.0, 5)
    want = sd.grad(f)(x)
    for calls, places in ((1, range(0, 6_000, 300)), (3, range(60))):
        for after in places:
            gradient = sd.grad(f)
            for _ in range(calls):
                gradient(x)
            if not interrupted(lambda gradient=gradient: gradient(x), after):  # type: ignore[misc]
                break
            assert settings() == before
            if calls == 3:
                assert np.geterr() == errors
            for _ in range(3):
                np.testing.assert_allclose(gradient(x), want)


def test_an_interrupt_between_a_mode_and_its_mark_is_mended_by_the_next_change() -> None:
    current = config.current
    style = current.style
    for barred, shown in ((False, None), (True, style)):
        current.barred, current.style = barred, shown
        modes.update()
        assert (current.barred, current.style) == (False, style)
