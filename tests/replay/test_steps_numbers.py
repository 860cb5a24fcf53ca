"""Numbers that change from call to call in whole training steps: bits, versions, streams and states of eager steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff import nn, optim
from srcdiff.nn import functional

RATE: Any = 0.1


@pytest.fixture(autouse=True)
def exactly() -> Iterator[None]:
    """Replays are on, and give the same bits; the global is as above."""
    before = RATE
    with sd.config(replay="auto", exact=True):
        yield
    globals()["RATE"] = before


class World:
    """A model with its data, made anew for each run."""

    def __init__(self) -> None:
        sd.manual_seed(0)
        self.model: Any = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Dropout(0.2), nn.Linear(4, 1))
        self.x, self.y = sd.randn(8, 3), sd.randn(8, 1)
        self.parameters = list(self.model.parameters())
        self.first = [sd.zeros_like(p) for p in self.parameters]
        self.second = [sd.zeros_like(p) for p in self.parameters]
        self.optimizer = optim.SGD(self.parameters, lr=0.1, momentum=0.9)
        self.schedule = optim.lr_scheduler.StepLR(self.optimizer, 3)
        self.settings: Any = {"rate": 0.1, "every": 1}

    def loss(self) -> Any:
        return ((self.model(self.x) - self.y) ** 2).mean()

    def state(self) -> Any:
        """All that a step may change."""
        tensors = [*self.parameters, *self.model.buffers(), *self.first, *self.second]
        for each in self.optimizer.state.values():
            tensors += [value for value in each.values() if hasattr(value, "shape")]
        grads = [None if p.grad is None else (p.grad.numpy().tobytes(), p.grad._version) for p in self.parameters]
        return (
            [(t.detach().numpy().tobytes(), t._version) for t in tensors], grads, sd.get_rng_state().tobytes(),
            self.optimizer.param_groups[0]["lr"], self.schedule.last_epoch, sorted(self.settings.items()),
        )  # fmt: skip


Make = Callable[[World], Callable[..., Any]]


def adam(world: World) -> Callable[..., Any]:
    parameters, first, second = world.parameters, world.first, world.second

    def step(t: int) -> Any:
        loss = world.loss()
        for p in parameters:
            p.grad = None
        loss.backward()
        with sd.no_grad():
            for p, m, v in zip(parameters, first, second, strict=True):
                m.mul_(0.9).add_(p.grad * (1 - 0.9))
                v.mul_(0.999).add_(p.grad * p.grad * (1 - 0.999))
                p -= RATE * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)
        return loss.item()

    return step


def adam_of_functions(world: World) -> Callable[..., Any]:
    """With the correction as one number, of `math`."""

    def update(p: Any, m: Any, size: float) -> None:
        p -= size * m

    def step(t: int) -> Any:
        loss = world.loss()
        world.optimizer.zero_grad()
        loss.backward()
        with sd.no_grad():
            for p, m in zip(world.parameters, world.first, strict=True):
                m.mul_(0.9).add_(p.grad)
                update(p, m, RATE * (1 - 0.999**t) ** 0.5 / (1 - 0.9**t))
        return loss.item()

    return step


def scaled_loss(world: World) -> Callable[..., Any]:
    model, x, y, parameters, settings = world.model, world.x, world.y, world.parameters, world.settings
    optimizer, schedule = world.optimizer, world.schedule

    def step(t: int) -> Any:
        loss = functional.mse_loss(model(x), y) * settings["rate"]
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        schedule.step()
        return loss.item()

    return step


def every_third(world: World) -> Callable[..., Any]:
    """Gradients are added up over some steps."""

    def step(t: int) -> Any:
        loss = world.loss() / 3
        loss.backward()
        if t % 3 == 0:
            world.optimizer.step()
            world.optimizer.zero_grad()
        return loss.detach()

    return step


def decayed(world: World) -> Callable[..., Any]:
    def step(t: int) -> Any:
        loss = world.loss() + RATE * sum((p**2).sum() for p in world.parameters)
        world.optimizer.zero_grad()
        loss.backward()
        world.optimizer.step()
        return loss.detach(), t

    return step


def formatted(world: World) -> Callable[..., Any]:
    def step(t: int) -> Any:
        loss = world.loss() * len(f"{t:03d}") * RATE
        world.optimizer.zero_grad()
        loss.backward()
        world.optimizer.step()
        return loss.detach()

    return step


def indexed(world: World) -> Callable[..., Any]:
    def step(t: int) -> Any:
        loss = functional.mse_loss(world.model(world.x[t % 4 :]), world.y[t % 4 :]) * RATE
        world.optimizer.zero_grad()
        loss.backward()
        world.optimizer.step()
        return loss.detach()

    return step


def raising(world: World) -> Callable[..., Any]:
    def step(t: int) -> Any:
        loss = world.loss() * (1e-3 / (RATE - 0.1 / 8))
        world.optimizer.zero_grad()
        loss.backward()
        world.optimizer.step()
        return loss.detach()

    return step


STEPS: dict[str, tuple[Make, bool]] = {
    "adam": (adam, True),
    "adam of functions": (adam_of_functions, True),
    "scaled loss": (scaled_loss, True),
    "every third": (every_third, True),
    "decayed": (decayed, False),
    "formatted": (formatted, False),
    "indexed": (indexed, False),
    "raising": (raising, True),
}


def run(make: Make, replay: Any, calls: int = 24) -> tuple[list[Any], Any]:
    """What each call gives and leaves behind."""
    world = World()
    step = sd.compile(make(world))
    found: list[Any] = []
    with sd.config(replay=replay):
        for t in range(1, calls):
            globals()["RATE"] = 0.1 / t
            world.settings["rate"] = 1.0 + t
            try:
                result: Any = step(t)
            except ZeroDivisionError as error:
                result = str(error)
            if isinstance(result, tuple):
                result = (np.asarray(result[0]).tobytes(), result[1])
            found.append((np.asarray(result).tobytes() if not isinstance(result, tuple) else result, world.state()))
    return found, step


@pytest.mark.parametrize("name", STEPS)
def test_steps_do_what_they_do_uncompiled(name: str) -> None:
    make, replayable = STEPS[name]
    eager, _ = run(make, "never")
    found, step = run(make, "auto")
    for k, (one, other) in enumerate(zip(found, eager, strict=True)):
        assert one == other, k
    assert (step.cache_info().replayed >= 8) == replayable, (step.cache_info(), step._player.numbers)


def test_numbers_among_the_arguments_of_a_step() -> None:
    """In containers, beside arrays, and as keywords."""
    w = sd.tensor([1.0, 2.0, 3.0], requires_grad=True)

    @sd.compile
    def step(x: Any, options: dict[str, Any], *, rate: float, count: int = 1) -> Any:
        loss = (w * x * options["scale"]).sum() / count
        w.grad = None
        loss.backward()
        with sd.no_grad():
            w.sub_(rate * w.grad * math.pi)
        return loss.detach()

    expected = np.array([1.0, 2.0, 3.0], np.float32)
    for k in range(1, 20):
        x = np.arange(3.0, dtype=np.float32) * k
        step(x, {"scale": 1.0 / k, "name": "a"}, rate=0.01 * k, count=k)
        g = np.float32(1.0) / np.float32(k) * np.float32(1.0 / k) * x
        expected = expected - np.float32(0.01 * k) * g * np.float32(math.pi)
        np.testing.assert_allclose(w.detach().numpy(), expected, rtol=1e-4)
    assert step.cache_info().replayed >= 8, step._player.numbers


OTHERS = [2.0, True, np.float64(2.0), np.float32(2.0), np.int64(2), np.array(2.0), 10**400, -3]


@pytest.mark.parametrize("other", OTHERS)
def test_a_number_that_becomes_something_else(other: Any) -> None:
    def trial(replay: Any) -> list[Any]:
        w = sd.tensor([1.0, 2.0], requires_grad=True)
        state: dict[str, Any] = {"n": 1}

        @sd.compile
        def step(n: Any) -> Any:
            loss = (w * n * state["n"]).sum()
            w.grad = None
            loss.backward()
            return loss.detach()

        found: list[Any] = []
        with sd.config(replay=replay):
            for k, n in enumerate([*range(1, 9), other, 9, other, other, 10]):
                state["n"] = other if k % 3 == 2 else k
                try:
                    out = step(n)
                    found.append((out.dtype, out.numpy().tobytes(), w.grad.numpy().tobytes()))
                except Exception as error:
                    found.append((type(error), str(error)))
        return found

    assert trial("auto") == trial("never")


def test_rehearsals_leave_alone_what_they_cannot_put_back() -> None:
    """Hooks would run, graphs would be freed, writes would be seen through views."""
    calls: list[int] = []

    def hooked(w: Any) -> None:
        w.register_hook(lambda g: calls.append(1))

    def viewed(w: Any) -> None:
        w.view_of_it = w.detach()

    for prepare in (hooked, viewed):
        for replay in ("never", "auto"):
            w = sd.tensor([1.0, 2.0], requires_grad=True)
            prepare(w)

            def step(n: int, w: Any = w) -> Any:
                loss = (w * n).sum()
                loss.backward()
                with sd.no_grad():
                    w -= 0.1 * n
                return loss.detach()

            compiled = sd.compile(step)
            with sd.config(replay=replay):
                for n in range(12):
                    compiled(n)
            np.testing.assert_allclose(w.detach().numpy(), [1.0 - 6.6, 2.0 - 6.6], rtol=1e-5)
            np.testing.assert_allclose(w.grad.numpy(), [66.0, 66.0])
            if prepare is hooked:
                assert len(calls) == 12
                calls.clear()
            else:
                assert w.view_of_it.numpy()[0] == w.detach().numpy()[0]


def test_a_rehearsal_that_fails_leaves_no_trace() -> None:
    """The number is used after the gradient has arrived and the tensor has been written."""
    w = sd.tensor([1.0, 2.0], requires_grad=True)
    state = {"rate": 0.5}

    @sd.compile
    def step() -> Any:
        loss = (w * state["rate"]).sum()
        loss.backward()
        with sd.no_grad():
            w.mul_(0.5)
        return loss.detach(), [1, 2, 3][int(state["rate"])]

    value, gradient = np.array([1.0, 2.0]), 0.0
    for k in range(12):
        state["rate"] = 0.25 * (k % 8)
        step()
        value, gradient = value * 0.5, gradient + state["rate"]
        np.testing.assert_allclose(w.detach().numpy(), value)
        np.testing.assert_allclose(w.grad.numpy(), gradient)
        assert w._version == k + 1
