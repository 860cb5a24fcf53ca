"""Learning rates over twenty epochs are PyTorch's."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import pytest

from srcdiff import optim
from srcdiff.creation import ones
from srcdiff.errors import SrcdiffError
from srcdiff.nn import Parameter
from srcdiff.optim import lr_scheduler

Peer = Callable[..., Any]

SCHEDULES: list[tuple[str, dict[str, Any]]] = [
    ("StepLR", {"step_size": 3}), ("StepLR", {"step_size": 2, "gamma": 0.5}),
    ("MultiStepLR", {"milestones": [2, 5, 5]}),
    ("ExponentialLR", {"gamma": 0.9}), ("ConstantLR", {}), ("LinearLR", {}),
    ("LinearLR", {"start_factor": 1.0, "end_factor": 0.1, "total_iters": 7}), ("PolynomialLR", {"power": 2.0}),
    ("CosineAnnealingLR", {"T_max": 6, "eta_min": 0.01}), ("CosineAnnealingWarmRestarts", {"T_0": 3, "T_mult": 2}),
    ("LambdaLR", {"lr_lambda": lambda epoch: 1 / (1 + epoch)}),
    ("LambdaLR", {"lr_lambda": [lambda epoch: 0.9**epoch, lambda epoch: 1.0]}),
    ("MultiplicativeLR", {"lr_lambda": lambda epoch: 0.8}),
]  # fmt: skip


def ours() -> Any:
    return optim.SGD([{"params": [Parameter(ones(1))]}, {"params": [Parameter(ones(1))], "lr": 0.5}], lr=0.1)


def theirs() -> Any:
    torch = importlib.import_module("torch")
    made = [torch.nn.Parameter(torch.ones(1)) for _ in range(2)]
    return torch.optim.SGD([{"params": [made[0]]}, {"params": [made[1]], "lr": 0.5}], lr=0.1)


def schedules() -> Any:
    return importlib.import_module("torch.optim.lr_scheduler")


def rates(optimizer: Any, make: Callable[[Any], Any], metrics: list[float] | None = None) -> list[list[float]]:
    scheduler = make(optimizer)
    seen = []
    for epoch in range(20):
        seen.append([group["lr"] for group in optimizer.param_groups])
        assert scheduler.get_last_lr() == seen[-1]
        optimizer.step()
        scheduler.step(*([] if metrics is None else [metrics[epoch]]))
    return seen


def same(a: list[list[float]], b: list[list[float]]) -> bool:
    return all(x == pytest.approx(y, rel=1e-12) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize(("name", "options"), SCHEDULES)
def test_rates(name: str, options: dict[str, Any], pytorch: Peer) -> None:
    mine = rates(ours(), lambda o: getattr(lr_scheduler, name)(o, **options))
    assert same(mine, pytorch(lambda: rates(theirs(), lambda o: getattr(schedules(), name)(o, **options))))


@pytest.mark.parametrize(
    "options",
    [{}, {"patience": 1}, {"patience": 0, "cooldown": 2, "mode": "max"}, {"threshold_mode": "abs", "patience": 2}],
)
def test_plateau(options: dict[str, Any], pytorch: Peer) -> None:
    metrics = [3.0, 2.0, 2.0, 2.0, 1.9, 1.89999, 1.9, 1.9, 1.9, 1.0, *[1.0] * 10]
    mine = rates(ours(), lambda o: lr_scheduler.ReduceLROnPlateau(o, **options), metrics)
    peer = pytorch(lambda: rates(theirs(), lambda o: schedules().ReduceLROnPlateau(o, **options), metrics))
    assert same(mine, peer)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_compositions(pytorch: Peer) -> None:
    def chained(module: Any) -> Any:
        return lambda o: module.ChainedScheduler([module.ConstantLR(o, 0.1, 2), module.ExponentialLR(o, 0.9)])

    def sequential(module: Any) -> Any:
        def make(o: Any) -> Any:
            parts = [
                module.LinearLR(o, 0.1, total_iters=4),
                module.CosineAnnealingLR(o, 5),
                module.ExponentialLR(o, 0.9),
            ]
            return module.SequentialLR(o, parts, [4, 9])

        return make

    for make in (chained, sequential):
        peer = pytorch(lambda: rates(theirs(), make(schedules())))  # noqa: B023
        assert same(rates(ours(), make(lr_scheduler)), peer)


@pytest.mark.parametrize(("name", "options"), SCHEDULES)
def test_a_schedule_goes_on_from_its_state(name: str, options: dict[str, Any]) -> None:
    whole = rates(ours(), lambda o: getattr(lr_scheduler, name)(o, **options))
    optimizer = ours()
    scheduler = getattr(lr_scheduler, name)(optimizer, **options)
    seen = []
    for epoch in range(20):
        if epoch == 7:
            other = ours()
            resumed = getattr(lr_scheduler, name)(other, **options)
            resumed.load_state_dict(scheduler.state_dict())
            other.load_state_dict(optimizer.state_dict())
            optimizer, scheduler = other, resumed
        seen.append([group["lr"] for group in optimizer.param_groups])
        optimizer.step()
        scheduler.step()
    assert same(seen, whole)


def test_the_wrong_order_warns() -> None:
    scheduler = lr_scheduler.StepLR(ours(), 1)
    with pytest.warns(UserWarning, match="Detected call of `lr_scheduler.step"):
        scheduler.step()


def test_errors() -> None:
    with pytest.raises(SrcdiffError, match="is not an Optimizer"):
        lr_scheduler.StepLR(3, 1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Expected 2 lr_lambdas, but got 1"):
        lr_scheduler.LambdaLR(ours(), [lambda epoch: 1.0])
    with pytest.raises(ValueError, match="Factor should be < 1"):
        lr_scheduler.ReduceLROnPlateau(ours(), factor=1.0)


def test_a_warm_restart_takes_fractions_of_epochs() -> None:
    optimizer = optim.SGD([Parameter(ones(1))], lr=1.0)
    scheduler = lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 4)
    scheduler.step(5.5)
    assert optimizer.param_groups[0]["lr"] == pytest.approx((1 + math.cos(math.pi * 1.5 / 4)) / 2)
