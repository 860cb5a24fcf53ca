"""Schedules given by functions, and those that change the rate at certain epochs."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from srcdiff.errors import ArgumentError
from srcdiff.optim.lr_scheduler.base import LRScheduler, number
from srcdiff.optim.optimizer import Group, Optimizer


class LambdaLR(LRScheduler):
    """The initial rate times a function of the epoch; one function, or one a group."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambdas = _per_group(optimizer, lr_lambda)
        super().__init__(optimizer, last_epoch)

    _apart = ("optimizer", "lr_lambdas")

    def get_lr(self) -> list[float]:
        """The rates at `last_epoch`."""
        return [base * f(self.last_epoch) for base, f in zip(self.base_lrs, self.lr_lambdas, strict=True)]


class MultiplicativeLR(LRScheduler):
    """The rate before times a function of the epoch."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambdas = _per_group(optimizer, lr_lambda)
        super().__init__(optimizer, last_epoch)

    _apart = ("optimizer", "lr_lambdas")

    def get_lr(self) -> list[float]:
        """The rates at `last_epoch`."""
        groups = self.optimizer.param_groups
        if self.last_epoch <= 0:
            return [number(group["lr"]) for group in groups]
        return [number(group["lr"]) * f(self.last_epoch) for group, f in zip(groups, self.lr_lambdas, strict=True)]


def _per_group(optimizer: Optimizer, given: Any) -> list[Callable[[int], float]]:
    groups = len(optimizer.param_groups)
    if not isinstance(given, (list, tuple)):
        return [given] * groups
    if len(given) != groups:
        raise ArgumentError(f"Expected {groups} lr_lambdas, but got {len(given)}")
    return list(given)


class StepLR(LRScheduler):
    """Times gamma every step_size epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _next(self, group: Group, base: float) -> float:
        changes = self.last_epoch > 0 and self.last_epoch % self.step_size == 0
        return number(group["lr"]) * self.gamma if changes else number(group["lr"])

    def _closed(self, base: float) -> float:
        return base * self.gamma ** (self.last_epoch // self.step_size)


class MultiStepLR(LRScheduler):
    """Times gamma at each milestone."""

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _next(self, group: Group, base: float) -> float:
        return number(group["lr"]) * self.gamma ** self.milestones[self.last_epoch]

    def _closed(self, base: float) -> float:
        return base * self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch)


class ExponentialLR(LRScheduler):
    """Times gamma every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _next(self, group: Group, base: float) -> float:
        return number(group["lr"]) * self.gamma if self.last_epoch > 0 else number(group["lr"])

    def _closed(self, base: float) -> float:
        return base * self.gamma**self.last_epoch


class ConstantLR(LRScheduler):
    """The initial rate times `factor` until epoch total_iters."""

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 <= factor <= 1.0:
            raise ArgumentError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _next(self, group: Group, base: float) -> float:
        lr = number(group["lr"])
        if self.last_epoch == 0:
            return lr * self.factor
        return lr / self.factor if self.last_epoch == self.total_iters else lr

    def _closed(self, base: float) -> float:
        return base * (self.factor if self.last_epoch < self.total_iters else 1.0)
