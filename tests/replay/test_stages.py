"""Steps that compute with what an optimizer has changed: they run in stages, between their effects."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff import nn
from srcdiff.aval import aval
from srcdiff.core.builder import Builder, interpret
from srcdiff.replay.effects import Target
from srcdiff.replay.stages import Later, in_stages
from tests.transform.programs import P

Step = Callable[[Any, Any], Any]


class World:
    """A model, an average of it, a second model, and an optimizer for each."""

    def __init__(self) -> None:
        sd.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))
        self.average = copy.deepcopy(self.model)
        self.other = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 4))
        self.optimizer = sd.optim.Adam(self.model.parameters(), lr=0.01)
        self.second = sd.optim.SGD(self.other.parameters(), lr=0.05, momentum=0.9)

    def loss(self, x: Any, y: Any) -> Any:
        return ((self.model(x) - y) ** 2).mean()

    def move(self, x: Any, y: Any) -> Any:
        loss = self.loss(x, y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss

    def state(self) -> list[Any]:
        modules = (self.model, self.average, self.other)
        tensors = [p for module in modules for p in module.parameters()]
        return [np.array(t.detach().numpy()) for t in (*tensors, *(p.grad for p in tensors if p.grad is not None))]


def average(w: World) -> Step:
    def step(x: Any, y: Any) -> Any:
        loss = w.move(x, y)
        with sd.no_grad():
            for e, p in zip(w.average.parameters(), w.model.parameters(), strict=True):
                e.mul_(0.9).add_(p, alpha=0.1)
        return loss

    return step


def average_of_data(w: World) -> Step:
    def step(x: Any, y: Any) -> Any:
        loss = w.move(x, y)
        for e, p in zip(w.average.parameters(), w.model.parameters(), strict=True):
            e.data.copy_(0.9 * e.data + 0.1 * p.data)
        return loss

    return step


def clamped(w: World) -> Step:
    def step(x: Any, y: Any) -> Any:
        loss = w.move(x, y)
        for p in w.model.parameters():
            p.data.clamp_(-0.2, 0.2)
        return loss

    return step


def adversaries(w: World) -> Step:
    def step(x: Any, y: Any) -> Any:
        fake = w.other(x)
        loss = w.move(fake.detach(), y)
        w.second.zero_grad()
        found = -w.model(fake).mean()
        found.backward()
        w.second.step()
        return loss, found

    return step


def several_moves(w: World) -> Step:
    def step(x: Any, y: Any) -> Any:
        for _ in range(3):
            loss = w.move(x, y)
        return loss

    return step


def halfway_back(w: World) -> Step:
    """What the parameters were before is computed with after."""

    def step(x: Any, y: Any) -> Any:
        before = [p.detach().clone() for p in w.model.parameters()]
        turned = w.model[0].weight.detach().T.exp()
        loss = w.move(x, y)
        with sd.no_grad():
            for p, b in zip(w.model.parameters(), before, strict=True):
                p.lerp_(b, 0.5)
        return loss, turned @ w.model[0].weight.detach()

    return step


def seen_after(w: World) -> Step:
    def step(x: Any, y: Any) -> Any:
        loss = w.move(x, y)
        return loss, w.model[0].weight.detach().norm(), w.loss(x, y).detach()

    return step


def through_a_view(w: World) -> Step:
    """A view of a parameter shows what the optimizer has made of it."""

    def step(x: Any, y: Any) -> Any:
        row = w.model[0].weight.detach()[0]
        loss = w.move(x, y)
        return loss, row * 2

    return step


def branch_after(w: World) -> Step:
    def step(x: Any, y: Any) -> Any:
        loss = w.move(x, y)
        if w.model[0].weight.detach().sum() > 0:
            loss = loss + 1
        return loss.detach()

    return step


def clipped_gradient(w: World) -> Step:
    def step(x: Any, y: Any) -> Any:
        loss = w.loss(x, y)
        w.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(w.model.parameters(), 0.1)
        return loss, w.model[0].weight.grad.sum()

    return step


REPLAYED = [
    average, average_of_data, clamped, adversaries, several_moves, halfway_back, seen_after, through_a_view,
]  # fmt: skip


def batch(k: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(k)
    x, y = (rng.standard_normal((8, n)).astype(np.float32) for n in (4, 1))
    return sd.tensor(x), sd.tensor(y)


def trained(make: Callable[[World], Step], replay: str, calls: int = 8) -> tuple[list[Any], Any]:
    """What each call returned and left behind."""
    w = World()
    step = sd.compile(make(w))
    seen = []
    with sd.config(replay=replay):
        for k in range(calls):
            made = step(*batch(k))
            values = made if isinstance(made, tuple) else (made,)
            seen.append(([np.array(v.detach().numpy()) for v in values], w.state()))
    return seen, step


def check_training(make: Callable[[World], Step], exact: bool, replayed: int, rtol: float, atol: float) -> None:
    """Each call returns and leaves behind what it does uncompiled, bit for bit with `exact`."""
    with sd.config(exact=exact):
        (found, step), (expected, _) = trained(make, "auto"), trained(make, "never")
    assert step.cache_info().replayed == replayed, step.explain(*batch(0))
    for mine, theirs in zip(found, expected, strict=True):
        for a, b in zip((*mine[0], *mine[1]), (*theirs[0], *theirs[1]), strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=0 if exact else rtol, atol=0 if exact else atol)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("make", [*REPLAYED, branch_after, clipped_gradient])
def test_stages_do_what_the_step_does(make: Callable[[World], Step], exact: bool) -> None:
    check_training(make, exact, 5 if make in REPLAYED else 0, rtol=2e-4, atol=1e-6)


def test_each_stage_is_a_function_that_can_be_read() -> None:
    _, step = trained(several_moves, "auto")
    text = step.source(*batch(0))
    assert text.count("def step") == 3 and "A later part of step." in text
    assert "replayed: the step runs as 3 generated functions of" in step.explain(*batch(0))


def test_a_step_of_one_stage_is_one_function() -> None:
    w = World()
    step = sd.compile(w.move)
    for k in range(4):
        step(*batch(k))
    assert "one generated function of" in step.explain(*batch(0))
    assert step.source(*batch(0)).count("def move") == 1


def test_a_learning_rate_that_changes_and_stages() -> None:
    def run(replay: str) -> tuple[list[Any], Any]:
        w = World()

        @sd.compile
        def step(x: Any, y: Any, rate: float) -> Any:
            loss = w.move(x, y)
            with sd.no_grad():
                for e, p in zip(w.average.parameters(), w.model.parameters(), strict=True):
                    e.add_(rate * (p - e))
            return loss

        with sd.config(replay=replay):
            for k in range(10):
                step(*batch(k), 0.1 / (k + 1))
        return w.state(), step

    (found, step), (expected, _) = run("auto"), run("never")
    assert step.cache_info().replayed >= 5
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-6)


def test_how_a_step_is_cut() -> None:
    """Arguments are lent; old values of what changes, and what is made of them, are handed on."""
    b = Builder()
    x, w = (b.input(aval((2,), np.dtype(float)), name) for name in "xw")
    again = b.input(aval((2,), np.dtype(float)), "w")
    threes = P["full"](b.literal(3.0), shape=(2,))
    first = w * x
    second = (again - w) * x + again * first * threes
    stages = in_stages([x, w], {x}, [Later(4, Target(None), again, None)], [second, first])
    assert [stage.start for stage in stages] == [0, 4]
    assert stages[0].inputs == [x, w] and stages[0].lent == [x]
    assert stages[0].places == [1] and stages[0].outputs[0] is first and set(stages[0].outputs) == {first, w}
    assert stages[1].places == [0] and set(stages[1].inputs) == {again, w, x, first}
    given = {x: np.array([1.0, 2.0]), w: np.array([3.0, 4.0]), again: np.array([5.0, 7.0])}
    made = interpret(stages[0].program("f"), (given[x], given[w]))
    given.update(zip(stages[0].outputs, made, strict=True))
    (found,) = interpret(stages[1].program("f_2"), tuple(given[node] for node in stages[1].inputs))
    np.testing.assert_array_equal(found, [2.0 + 45.0, 6.0 + 168.0])


def run(make: Callable[[], tuple[Step, Callable[[int], None]]], replay: str) -> list[list[float]]:
    """What a step of a number gives in each call; the second function does what happens before call k."""
    step, before = make()
    compiled, found = sd.compile(step), []
    with sd.config(replay=replay):
        for k in range(10):
            before(k)
            found.append([float(v.detach()) for v in compiled(sd.ones(3) * (k > 4), None)])
    return found


def a_parameter_that_joins() -> Any:
    w, e = (nn.Parameter(sd.ones(3)) for _ in range(2))
    optimizer = sd.optim.SGD([w], lr=0.1)

    def step(x: Any, _: Any) -> Any:
        w.grad = None
        (w * x).sum().backward()
        optimizer.step()
        return (w.detach() * e.detach()).sum(), w.detach().sum()

    def before(k: int) -> None:
        if k == 6:
            e.grad = sd.ones(3)
            optimizer.add_param_group({"params": [e]})

    return step, before


def a_frozen_parameter_that_moves() -> Any:
    w, p = (nn.Parameter(sd.ones(3)) for _ in range(2))
    shown = p.data
    p.requires_grad_(False)
    p.grad = sd.zeros(3)
    optimizer = sd.optim.SGD([w, p], lr=0.1)

    def step(x: Any, _: Any) -> Any:
        w.grad = None
        (w * x).sum().backward()
        optimizer.step()
        return (w.detach() + shown).sum(), w.detach().sum()

    def before(k: int) -> None:
        if k == 6:
            p.grad = sd.ones(3)

    return step, before


def state_that_is_held_outside() -> Any:
    w = nn.Parameter(sd.ones(3))
    optimizer = sd.optim.SGD([w], lr=0.1, momentum=0.9)
    w.grad = sd.zeros(3)
    optimizer.step()
    momentum = optimizer.state[w]["momentum_buffer"]

    def step(x: Any, _: Any) -> Any:
        optimizer.zero_grad()
        (w * x).sum().backward()
        optimizer.step()
        return (w.detach() + momentum).sum(), w.detach().sum()

    return step, lambda k: None


def an_alias_made_before_a_write() -> Any:
    w = nn.Parameter(sd.ones(3) * 0.1)
    optimizer = sd.optim.SGD([w], lr=0.1)

    def step(x: Any, _: Any) -> Any:
        optimizer.zero_grad()
        (w * x * 5).sum().backward()
        optimizer.step()
        shown = w.detach()
        w.data.clamp_(-0.2, 0.2)
        return (shown * 1.5).sum(), shown[0]

    return step, lambda k: None


CHANGES = [
    a_parameter_that_joins,
    a_frozen_parameter_that_moves,
    state_that_is_held_outside,
    an_alias_made_before_a_write,
]


@pytest.mark.parametrize("make", CHANGES)
def test_what_an_effect_changes_is_seen_though_it_made_no_difference_at_first(make: Any) -> None:
    np.testing.assert_allclose(run(make, "auto"), run(make, "never"), rtol=1e-6)


def test_random_numbers_of_later_stages_are_drawn_once() -> None:
    """Their stream goes on as if the step ran uncompiled."""

    def draws(replay: str) -> tuple[list[float], int]:
        w = World()

        @sd.compile
        def step(x: Any, y: Any) -> Any:
            noise = sd.randn(8, 4)
            loss = w.move(x, y)
            hidden = nn.functional.dropout(w.model[0](x + noise), 0.5)
            return loss, (hidden * sd.rand(8, 6)).sum().detach()

        with sd.config(replay=replay):
            found = [float(v.detach()) for k in range(8) for v in (*step(*batch(k)), sd.rand(()))]
        return found, step.cache_info().replayed

    (found, replayed), (expected, _) = draws("auto"), draws("never")
    assert replayed == 5
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_what_was_written_before_an_error_in_a_later_stage_stays() -> None:
    def run(replay: str) -> list[Any]:
        w = nn.Parameter(sd.ones(3))
        optimizer = sd.optim.SGD([w], lr=0.1)
        first, second = sd.zeros(3), sd.zeros(3)

        @sd.compile
        def step(x: Any) -> None:
            optimizer.zero_grad()
            (w * x).sum().backward()
            optimizer.step()
            with sd.no_grad():
                first.copy_(w * 2)
                second.copy_((x - 2).log())

        with sd.config(replay=replay):
            for _ in range(5):
                step(sd.ones(3) * 3)
            with np.errstate(all="raise"), pytest.raises(FloatingPointError):
                step(sd.ones(3) * 2)
        return [first.numpy(), second.numpy(), w.detach().numpy()]

    for mine, theirs in zip(run("auto"), run("never"), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_a_tensor_that_is_written_many_times() -> None:
    """Recording takes time in proportion to the writes: they are forty, and it had doubled with each."""

    def sums(replay: str) -> tuple[list[float], int]:
        state, w = sd.zeros(3), sd.ones(3, requires_grad=True)

        @sd.compile
        def step(x: Any) -> Any:
            with sd.no_grad():
                for _ in range(40):
                    state.mul_(0.9).add_(x)
            loss = (w * state).sum()
            w.grad = None
            loss.backward()
            return loss.detach()

        with sd.config(replay=replay):
            found = [float(step(sd.ones(3) * k)) for k in range(6)]
        return found, step.cache_info().replayed

    (found, replayed), (expected, _) = sums("auto"), sums("never")
    assert replayed == 3
    np.testing.assert_allclose(found, expected, rtol=1e-5)
