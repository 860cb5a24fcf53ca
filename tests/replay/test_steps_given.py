"""Steps that are given models and optimizers, that give what `clip_grad_norm_` gave, and that scale gradients."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff import nn, optim
from srcdiff.nn import functional

Batch = collections.namedtuple("Batch", "x y")


@pytest.fixture(autouse=True)
def exactly() -> Iterator[None]:
    """Replays are on, and give the same bits."""
    with sd.config(replay="auto", exact=True):
        yield


class World:
    """A model with its data, made anew for each run."""

    def __init__(self, seed: int = 0) -> None:
        sd.manual_seed(seed)
        self.model: Any = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
        self.optimizer: Any = optim.Adam(self.model.parameters(), lr=0.01)
        self.x, self.y = sd.randn(8, 3), sd.randn(8, 1)

    def state(self) -> Any:
        return [
            (p.detach().numpy().tobytes(), p._version, None if p.grad is None else p.grad.numpy().tobytes())
            for p in self.model.parameters()
        ]


def backward(world: World, x: Any, y: Any) -> Any:
    loss = functional.mse_loss(world.model(x), y)
    world.optimizer.zero_grad()
    loss.backward()
    return loss


Make = Callable[[World], tuple[Callable[..., Any], tuple[Any, ...]]]


def model_given(world: World) -> Any:
    def step(model: Any, x: Any, y: Any) -> Any:
        loss = functional.mse_loss(model(x), y)
        loss.backward()
        return loss.detach()

    return step, (world.model, world.x, world.y)


def all_given(world: World) -> Any:
    def step(parts: dict[str, Any], batch: Any) -> Any:
        loss = functional.mse_loss(parts["model"](batch.x), batch.y)
        parts["optimizer"].zero_grad()
        loss.backward()
        parts["optimizer"].step()
        return loss.item()

    return step, ({"model": world.model, "optimizer": world.optimizer}, Batch(world.x, world.y))


def norm_given_back(world: World) -> Any:
    parameters = list(world.model.parameters())

    def step(x: Any, y: Any) -> Any:
        loss = backward(world, x, y)
        norm = nn.utils.clip_grad_norm_(parameters, 0.5)
        world.optimizer.step()
        return loss.detach(), {"norm": norm}

    return step, (world.x, world.y)


def norm_as_a_number(world: World) -> Any:
    parameters = list(world.model.parameters())

    def step(x: Any, y: Any) -> Any:
        loss = backward(world, x, y)
        norm = nn.utils.clip_grad_norm_(parameters, 0.5)
        world.optimizer.step()
        return norm.item(), loss.item()

    return step, (world.x, world.y)


def norms_of_two_parts(world: World) -> Any:
    parameters = list(world.model.parameters())

    def step(x: Any, y: Any) -> Any:
        backward(world, x, y)
        first = nn.utils.clip_grad_norm_(parameters[:2], 0.1)
        second = nn.utils.clip_grad_norm_(parameters[2:], 0.2)
        world.optimizer.step()
        return second, first.item(), first

    return step, (world.x, world.y)


def gradients_scaled(world: World) -> Any:
    parameters = list(world.model.parameters())

    def step(x: Any, y: Any) -> Any:
        loss = backward(world, x, y)
        for p in parameters:
            p.grad *= 2
            p.grad += 0.1 * p.detach()
        world.optimizer.step()
        return loss.detach()

    return step, (world.x, world.y)


def norm_computed_with(world: World) -> Any:
    parameters = list(world.model.parameters())

    def step(x: Any, y: Any) -> Any:
        backward(world, x, y)
        norm = nn.utils.clip_grad_norm_(parameters, 0.5)
        return norm * 2

    return step, (world.x, world.y)


def norm_written(world: World) -> Any:
    parameters = list(world.model.parameters())

    def step(x: Any, y: Any) -> Any:
        backward(world, x, y)
        norm = nn.utils.clip_grad_norm_(parameters, 0.5)
        norm.mul_(2.0)
        return norm

    return step, (world.x, world.y)


def read_after_a_step(world: World) -> Any:
    def step(x: Any, y: Any) -> Any:
        loss = backward(world, x, y)
        world.optimizer.step()
        return loss.detach(), functional.mse_loss(world.model(x), y).detach()

    return step, (world.x, world.y)


STEPS: list[tuple[Make, bool]] = [
    (model_given, True), (all_given, True), (norm_given_back, True), (norm_as_a_number, True),
    (norms_of_two_parts, True), (gradients_scaled, True), (norm_computed_with, False), (norm_written, False),
    (read_after_a_step, True),
]  # fmt: skip


def told(result: Any) -> Any:
    if isinstance(result, (tuple, list)):
        return [told(part) for part in result]
    if isinstance(result, dict):
        return {key: told(part) for key, part in result.items()}
    return (type(result), np.asarray(result).tobytes())


@pytest.mark.parametrize(("make", "replayable"), STEPS, ids=[make.__name__ for make, _ in STEPS])
def test_steps_do_what_they_do_uncompiled(make: Make, replayable: bool) -> None:
    found: list[Any] = []
    for replay in ("never", "auto"):
        world = World()
        step, args = make(world)
        compiled = sd.compile(step)
        with sd.config(replay=replay):
            found.append([(told(compiled(*args)), world.state()) for _ in range(10)])
    assert found[0] == found[1]
    assert compiled.cache_info().replayed == (7 if replayable else 0)
    if not replayable:
        assert "test_steps_given.py:" in compiled.explain(*args)


def test_each_model_that_is_given_has_an_entry() -> None:
    def step(model: Any, x: Any) -> Any:
        loss = (model(x) ** 2).sum()
        loss.backward()
        return loss.detach()

    compiled, worlds = sd.compile(step), [World(seed) for seed in range(3)]
    for k in range(24):
        world = worlds[k % 3]
        before = [None if p.grad is None else p.grad.numpy().copy() for p in world.model.parameters()]
        found = compiled(world.model, world.x)
        expected = (world.model(world.x) ** 2).sum()
        assert found.numpy().tobytes() == expected.detach().numpy().tobytes()
        slopes = sd.autograd.grad(expected, list(world.model.parameters()))
        for p, old, slope in zip(world.model.parameters(), before, slopes, strict=True):
            np.testing.assert_array_equal(p.grad.numpy(), slope.numpy() if old is None else old + slope.numpy())
    assert compiled.cache_info().replayed == 15


def test_a_model_that_is_given_and_changes() -> None:
    world = World()
    step, args = model_given(world)
    compiled = sd.compile(step)
    for _ in range(5):
        compiled(*args)
    assert compiled.cache_info().replayed == 2
    world.model[1] = nn.ReLU()
    assert told(compiled(*args)) == told(functional.mse_loss(world.model(world.x), world.y).detach())
    first = world.model[0]
    world.model.forward = lambda x: first(x).sum(1, keepdim=True)
    assert told(compiled(*args)) == told(functional.mse_loss(world.model(world.x), world.y).detach())
    assert compiled.cache_info().replayed == 2
