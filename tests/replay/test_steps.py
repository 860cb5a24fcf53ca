"""Compiled training steps: every call does what running the function does, replayed or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff import nn

F = nn.functional


class Net(nn.Module):
    """Two layers, one of them in a list, with dropout."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.first = nn.Linear(3, 5)
        self.rest = nn.ModuleList([nn.Linear(5, 5), nn.Linear(5, 2)])
        self.dropout = nn.Dropout(dropout)
        self.scale = 1.0

    def forward(self, x: Any) -> Any:
        """Logits."""
        h = sd.tanh(self.first(x)) * self.scale
        for layer in self.rest:
            h = layer(self.dropout(h))
        return h


class World:
    """A model, an optimizer and data that are the same for everyone who makes one."""

    def __init__(self, make: Callable[..., Any] = Net, optimizer: str = "sgd") -> None:
        sd.manual_seed(3)
        self.model = make()
        parameters = list(self.model.parameters())
        self.optimizer = {
            "sgd": lambda: sd.optim.SGD(parameters, lr=0.1, momentum=0.9, weight_decay=0.01),
            "adam": lambda: sd.optim.Adam(parameters, lr=0.02),
            "rmsprop": lambda: sd.optim.RMSprop(parameters, lr=0.01),
        }[optimizer]()
        self.schedule = sd.optim.lr_scheduler.StepLR(self.optimizer, 2, 0.5)
        rng = np.random.default_rng(5)
        self.xs = [rng.normal(size=(6, 3)).astype(np.float32) for _ in range(12)]
        self.ys = [rng.integers(0, 2, 6) for _ in range(12)]

    def state(self) -> list[Any]:
        """Everything that training changes."""
        found: list[Any] = [sd.get_rng_state()]
        for p in self.model.parameters():
            found += [p.numpy(force=True).copy(), None if p.grad is None else p.grad.numpy(force=True).copy()]
            found += [v.numpy(force=True).copy() for v in self.optimizer.state[p].values() if v is not None]
        found += [b.numpy(force=True).copy() for b in self.model.buffers()]
        return [*found, [group["lr"] for group in self.optimizer.param_groups], self.schedule.last_epoch]


Step = Callable[[World], Callable[..., Any]]


def plain_step(w: World) -> Callable[..., Any]:
    model, optimizer = w.model, w.optimizer

    def step(x: Any, y: Any) -> Any:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    return step


def other_order(w: World) -> Callable[..., Any]:
    model, optimizer, criterion = w.model, w.optimizer, nn.CrossEntropyLoss()

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad(set_to_none=False)
        out = model(x)
        loss = criterion(out, y)
        loss.backward()
        optimizer.step()
        return {"loss": loss.item(), "accuracy": (out.argmax(axis=1) == y).float().mean().item()}

    return step


def accumulating(w: World) -> Callable[..., Any]:
    model, optimizer = w.model, w.optimizer

    def step(x: Any, y: Any) -> Any:
        for half in (slice(0, 3), slice(3, 6)):
            loss = F.cross_entropy(model(x[half]), y[half]) / 2
            loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    return step


def scheduled(w: World) -> Callable[..., Any]:
    model, optimizer, schedule = w.model, w.optimizer, w.schedule

    def step(x: Any, y: Any) -> Any:
        loss = F.cross_entropy(model(x), y)
        model.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        return loss.item()

    return step


def by_hand(w: World) -> Callable[..., Any]:
    model = w.model

    def step(x: Any, y: Any) -> Any:
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        with sd.no_grad():
            for p in model.parameters():
                if p.grad is not None:
                    p -= 0.1 * p.grad
                    p.grad = None
        return loss.item()

    return step


def by_hand_zeroing(w: World) -> Callable[..., Any]:
    parameters = list(w.model.parameters())
    model = w.model

    def step(x: Any, y: Any) -> Any:
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        for p in parameters:
            p.data -= 0.1 * p.grad
            p.grad.data.zero_()
        return loss.item()

    return step


def evaluating(w: World) -> Callable[..., Any]:
    model = w.model

    def step(x: Any, y: Any) -> Any:
        with sd.no_grad():
            return model(x).argmax(axis=1), F.cross_entropy(model(x), y)

    return step


STEPS: list[Step] = [plain_step, other_order, accumulating, scheduled, by_hand, by_hand_zeroing, evaluating]


def alike(a: Any, b: Any) -> None:
    """Equal, to rounding, in type and value."""
    assert type(a) is type(b)
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        a, b = list(a.values()), list(b.values())
    if isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            alike(one, other)
    elif isinstance(a, sd.Tensor):
        assert (a.requires_grad, a.dtype, a.shape) == (b.requires_grad, b.dtype, b.shape)
        np.testing.assert_allclose(a.numpy(force=True), b.numpy(force=True), rtol=2e-5, atol=2e-6)
    elif isinstance(a, str):
        assert a == b
    elif a is not None:
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)


def compare(
    step_of: Step, change: Callable[[World, int], None] = lambda w, k: None, tensors: bool = True, **options: Any
) -> tuple[Any, list[bool]]:
    """Twelve calls of a step and of the same compiled, on worlds of their own; which of them were replayed."""
    worlds = World(**options), World(**options)
    run, compiled = step_of(worlds[0]), sd.compile(step_of(worlds[1]))
    flags = []
    for k in range(12):
        outcomes = []
        for world, step in zip(worlds, (run, compiled), strict=True):
            change(world, k)
            sd.manual_seed(k)
            x, y = world.xs[k], world.ys[k]
            before = compiled.cache_info().replayed
            outcomes.append((step(sd.as_tensor(x), sd.as_tensor(y)) if tensors else step(x, y), world.state()))
        flags.append(compiled.cache_info().replayed > before)
        alike(outcomes[0], outcomes[1])
    return compiled, flags


@pytest.mark.parametrize("tensors", [True, False], ids=["tensors", "arrays"])
@pytest.mark.parametrize("make", STEPS)
def test_steps_do_what_they_do_uncompiled(make: Step, tensors: bool) -> None:
    compiled, flags = compare(make, tensors=tensors)
    assert sum(flags) >= 8, (compiled._player.refused, compiled._player.traced_only)


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "rmsprop"])
def test_optimizers_keep_their_own_state(optimizer: str) -> None:
    assert sum(compare(plain_step, optimizer=optimizer)[1]) >= 8


def test_dropout_draws_afresh_from_the_same_stream() -> None:
    assert sum(compare(plain_step, make=lambda: Net(0.5))[1]) >= 8


def _freeze(w: World, k: int) -> None:
    w.model.first.weight.requires_grad_(k != 6)


def _evaluate(w: World, k: int) -> None:
    w.model.train(k % 3 != 2)


def _replace(w: World, k: int) -> None:
    if k == 6:
        layer = nn.Linear(3, 5)
        with sd.no_grad():
            layer.weight.fill_(0.25)
            layer.bias.fill_(0.5)
        w.model.first = layer


def _reload(w: World, k: int) -> None:
    if k in (5, 7):
        w.model.load_state_dict({name: value * 0.5 for name, value in w.model.state_dict().items()})


def _rate(w: World, k: int) -> None:
    for group in w.optimizer.param_groups:
        group["lr"] = 0.1 / (k + 1)


def _constant(w: World, k: int) -> None:
    w.model.scale = 1.0 if k < 7 else 0.5


def _rebind(w: World, k: int) -> None:
    if k == 6:
        w.model.first.weight.data = sd.ones(5, 3)


def _gradient(w: World, k: int) -> None:
    for p in w.model.parameters():
        p.grad = None if k % 2 else sd.ones(*p.shape)


def _shapes(w: World, k: int) -> None:
    if k % 4 == 3:
        w.xs[k], w.ys[k] = w.xs[k][:4], w.ys[k][:4]


def _patch(w: World, k: int) -> None:
    w.model.__dict__.pop("forward", None)
    if k == 8:
        w.model.forward = lambda x: w.model.first(x)[:, :2]


def _hooked(w: World, k: int) -> None:
    if k == 7:
        w.model.first.weight.register_hook(lambda g: 2 * g)


def _module_hook(w: World, k: int) -> None:
    if k == 7:
        w.model.first.register_forward_hook(lambda module, args, out: 2 * out)


CHANGES = [
    _freeze, _evaluate, _replace, _reload, _rate, _constant, _rebind, _gradient, _shapes, _patch, _hooked, _module_hook,
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("make", [plain_step, other_order, accumulating, by_hand])
def test_what_changes_between_calls_is_seen(make: Step, change: Callable[[World, int], None]) -> None:
    compare(make, change)


def test_a_cleared_cache_starts_anew_and_takes_tensors() -> None:
    w = sd.tensor(np.ones(3), requires_grad=True)

    @sd.compile
    def step(x: Any) -> Any:
        loss = (w * x).sum()
        loss.backward()
        return loss.detach()

    x = sd.tensor(np.arange(3.0))
    for _ in range(2):
        for _ in range(5):
            w.grad = None
            step(x)
        assert step.cache_info().replayed == 2
        step.cache_clear()
        assert step.cache_info().replayed == step.cache_info().entries == 0


def test_looking_at_a_replayed_step_does_not_run_it() -> None:
    w = sd.tensor(np.ones(3), requires_grad=True)
    optimizer = sd.optim.SGD([w], lr=0.1)

    @sd.compile
    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = ((w - x) ** 2).sum()
        loss.backward()
        optimizer.step()
        return loss.item()

    x = sd.tensor(np.arange(3.0))
    for _ in range(2):
        step(x)
    assert step.explain(x).startswith("step\n  step      recorded: the next call is compared")
    for _ in range(2):
        step(x)
    before, counts = w.detach().numpy().copy(), step.cache_info()
    assert "replayed: the step runs as one generated function" in step.explain(x)
    text = step.source(x)
    assert text.startswith("def step(x, w):") and "g_w = " in text
    assert [each.name for each in step.program(x).inputs] == ["x", "w"]
    np.testing.assert_array_equal(w.detach().numpy(), before)
    assert step.cache_info() == counts


def test_a_step_that_is_not_replayed_is_explained_though_it_returns_a_number() -> None:
    w = sd.tensor(np.ones(3), requires_grad=True)
    seen: list[float] = []

    @sd.compile
    def step(x: Any) -> float:
        (w * x).sum().backward()
        seen.append(0.0)
        return 0.0

    x = sd.tensor(np.arange(3.0))
    for _ in range(4):
        step(x)
    assert step.explain(x).startswith("step\n  step      traced: your function runs on every call, as written, because")


class Tokens(nn.Module):
    """Integers in, through an embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.norm, self.out = nn.Embedding(10, 6), nn.LayerNorm(6), nn.Linear(6, 2)

    def forward(self, x: Any) -> Any:
        """Logits."""
        return self.out(self.norm(self.table((x * 2).long() % 10)).mean(axis=1))


class Pictures(nn.Module):
    """Convolution of rows."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv1d(1, 4, 2), nn.ReLU(), nn.MaxPool1d(2), nn.Flatten(), nn.Linear(4, 2))

    def forward(self, x: Any) -> Any:
        """Logits."""
        return self.layers(x[:, None, :])


def normalized() -> Any:
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))


@pytest.mark.parametrize("make", [normalized, Tokens, Pictures])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_layers_of_all_kinds(make: Callable[[], Any], optimizer: str) -> None:
    """Running statistics, rows of a table, windows."""
    compiled, flags = compare(plain_step, make=make, optimizer=optimizer)
    assert sum(flags) >= 8, (compiled._player.refused, compiled._player.traced_only)


def mean_of_squares(w: World) -> Callable[..., Any]:
    model, optimizer = w.model, w.optimizer

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = ((model(x)[:, 0] - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    return step


def test_a_loss_whose_last_operation_saves_nothing() -> None:
    assert sum(compare(mean_of_squares)[1]) >= 8


def test_every_third_replay_is_compared_on_demand() -> None:
    world = World()
    step, x, y = sd.compile(plain_step(world)), sd.as_tensor(world.xs[0]), sd.as_tensor(world.ys[0])
    with sd.config(check_replay=3):
        for _ in range(33):
            step(x, y)
        assert 18 <= step.cache_info().replayed <= 21
        parameter = next(iter(world.model.parameters()))
        entry = step._player.entries[0]
        entry.enter = lambda *args: tuple(np.zeros_like(v) for v in ([0.0] * 7)) if args[-1] is True else ()
        before = parameter.numpy(force=True).copy()
        with pytest.raises(sd.errors.ReplayError, match="would do something else"):
            [step(x, y) for _ in range(3)]
    assert not np.array_equal(before, parameter.numpy(force=True))


class Trainer:
    """A step that is a method, called like one of its optimizer's."""

    def __init__(self) -> None:
        sd.manual_seed(0)
        self.model = nn.Linear(3, 1)
        self.optimizer = sd.optim.Adam(self.model.parameters(), lr=0.1)

    def loss(self, x: Any, y: Any) -> Any:
        return ((self.model(x) - y) ** 2).mean()

    @sd.compile
    def step(self, x: Any, y: Any) -> Any:
        self.optimizer.zero_grad()
        loss = self.loss(x, y)
        loss.backward()
        self.optimizer.step()
        return loss.item()


def test_a_step_that_is_a_method() -> None:
    compiled, plain = Trainer(), Trainer()
    x, y = sd.as_tensor(np.linspace(-1, 1, 12).reshape(4, 3).astype(np.float32)), sd.ones(4, 1)
    run = Trainer.__dict__["step"]._function
    for _ in range(8):
        np.testing.assert_allclose(compiled.step(x, y), run(plain, x, y), rtol=1e-6)
    assert Trainer.__dict__["step"].cache_info().replayed == 5
