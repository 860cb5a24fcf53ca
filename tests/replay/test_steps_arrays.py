"""Compiled steps that are given arrays, in lists, dicts, named tuples and dataclasses: the call that is watched does
with them what an ordinary call does.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff import nn
from tests.replay.test_steps import alike

Pair = namedtuple("Pair", "x y")


@dataclass
class Batch:
    """What a step is given."""

    x: Any
    y: Any


@dataclass(frozen=True)
class Frozen:
    """The same, which cannot be changed."""

    x: Any
    y: Any


class World:
    """A layer, and what it has learned."""

    def __init__(self) -> None:
        sd.manual_seed(0)
        self.model = nn.Linear(3, 2)
        self.optimizer = sd.optim.SGD(self.model.parameters(), lr=0.1)

    def learn(self, x: Any, y: Any) -> Any:
        loss = nn.functional.cross_entropy(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss


def told(step_of: Callable[[World], Any], make: Callable[[Any, Any], Any], compiled: bool) -> tuple[list[Any], Any]:
    world, rng, found = World(), np.random.default_rng(1), []
    step = step_of(world)
    step = sd.compile(step) if compiled else step
    for _ in range(8):
        given = make(rng.normal(size=(4, 3)).astype(np.float32), rng.integers(0, 2, 4))
        try:
            result = step(given)
            found.append((result is given, "itself" if result is given else result))
        except (AttributeError, ValueError) as error:
            found.append((type(error).__name__, str(error)))
        found.append((False, world.model.weight.numpy(force=True).copy()))
    return found, step


def same(step_of: Callable[[World], Any], make: Callable[[Any, Any], Any] = Pair) -> int:
    """How many calls were replayed, all of which did what uncompiled calls do."""
    (plain, _), (compiled, step) = told(step_of, make, False), told(step_of, make, True)
    for (flag, a), (other, b) in zip(plain, compiled, strict=True):
        assert flag == other
        alike(a, b)
    return int(step.cache_info().replayed)


def tensors(kind: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, y: kind(sd.from_numpy(x), sd.from_numpy(y))


@pytest.mark.parametrize("make", [Pair, Batch, Frozen, tensors(Pair), tensors(Batch), tensors(Frozen)])
def test_records_are_replayed(make: Callable[[Any, Any], Any]) -> None:
    assert same(lambda w: lambda batch: w.learn(batch.x, batch.y), make) == 5


def test_what_arrays_do_not_have_is_an_error_on_the_first_call_and_on_all_others() -> None:
    def step_of(w: World) -> Any:
        def step(batch: Any) -> Any:
            w.learn(batch.x, batch.y)
            return batch.y.float()

        return step

    same(step_of)


@pytest.mark.parametrize("name", ["float()", "detach()", "requires_grad", "unsqueeze(0)", "shape.numel()"])
def test_what_arrays_do_not_have_is_an_error_on_another_path(name: str) -> None:
    """The call that is watched takes another path than the one before."""
    space: dict[str, Any] = {}
    text = f"""
def step_of(w):
    def step(batch):
        if batch.x[0, 0] > 0.1:
            z = batch.x * 2
            z.{name}
        return w.learn(batch.x, batch.y)
    return step
"""
    exec(text, space)
    same(space["step_of"])


def test_texts_have_arrays_in_them() -> None:
    def step_of(w: World) -> Any:
        def step(batch: Any) -> Any:
            if batch.x[0, 0] > 0.1:
                raise ValueError(f"{batch.x.shape} {batch.x[0]!r} {batch.x[0, 1]:.2f} {(batch.x * 2)[0]}")
            return w.learn(batch.x, batch.y)

        return step

    same(step_of)


def test_what_is_made_of_arrays_alone_is_returned_as_an_array() -> None:
    def step_of(w: World) -> Any:
        def step(batch: Any) -> Any:
            w.learn(batch.x, batch.y)
            return batch.x * 2, np.zeros_like(batch.x), batch.x.mean(), sd.tanh(batch.x), batch.x[0].argmax()

        return step

    same(step_of)
    same(lambda w: lambda batch: (w.learn(batch.x, batch.y), sd.asarray(batch.x), sd.numpy.exp(batch.x)))


@pytest.mark.parametrize("make", [lambda x, y: [x, y], Batch, lambda x, y: {"x": x, "y": y}])
def test_what_was_given_is_returned_itself(make: Callable[[Any, Any], Any]) -> None:
    def step_of(w: World) -> Any:
        def step(batch: Any) -> Any:
            return batch

        return step

    same(step_of, make)


def test_arrays_that_are_kept_are_arrays() -> None:
    kept: list[Any] = []

    def step_of(w: World) -> Any:
        def step(batch: Any) -> Any:
            kept.append(batch.x * 2)
            return w.learn(batch.x, batch.y)

        return step

    same(step_of)
    assert all(type(each) is np.ndarray for each in kept)


def test_a_dataclass_that_is_changed_is_the_callers() -> None:
    @dataclass
    class Data:
        x: Any
        data: Any

    given: list[Data] = []

    def step(batch: Any) -> Any:
        batch.data = batch.x * 2
        return batch.x.sum()

    compiled = sd.compile(step)
    for k in range(5):
        given.append(Data(np.full(3, float(k)), None))
        compiled(given[-1])
    assert [each.data.tolist() for each in given] == [[2.0 * k] * 3 for k in range(5)]
