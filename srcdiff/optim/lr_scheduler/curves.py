"""Schedules along a curve: straight, polynomial, cosine."""

from __future__ import annotations

import math

from srcdiff.errors import ArgumentError
from srcdiff.optim.lr_scheduler.base import LRScheduler, number
from srcdiff.optim.optimizer import Group, Optimizer
from srcdiff.tape.effects import effect


class LinearLR(LRScheduler):
    """The initial rate times a factor that goes straight from start_factor to end_factor in total_iters epochs."""

    def __init__(
        self, optimizer: Optimizer, start_factor: float = 1.0 / 3, end_factor: float = 1.0, total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        if not 0 < start_factor <= 1.0:
            raise ArgumentError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if not 0 <= end_factor <= 1.0:
            raise ArgumentError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _factor(self, epoch: int) -> float:
        return (
            self.start_factor + (self.end_factor - self.start_factor) * min(epoch, self.total_iters) / self.total_iters
        )

    def _next(self, group: Group, base: float) -> float:
        lr, epoch = number(group["lr"]), self.last_epoch
        if epoch == 0:
            return lr * self.start_factor
        return lr * self._factor(epoch) / self._factor(epoch - 1) if epoch <= self.total_iters else lr

    def _closed(self, base: float) -> float:
        return base * self._factor(self.last_epoch)


class PolynomialLR(LRScheduler):
    """The initial rate times (1 - epoch / total_iters) ** power, 0 from total_iters on."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def _next(self, group: Group, base: float) -> float:
        lr, epoch, total = number(group["lr"]), self.last_epoch, self.total_iters
        if epoch == 0 or epoch > total:
            return lr
        return lr * math.pow((1.0 - epoch / total) / (1.0 - (epoch - 1) / total), self.power)

    def _closed(self, base: float) -> float:
        return base * math.pow(1.0 - min(self.total_iters, self.last_epoch) / self.total_iters, self.power)


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the initial rate down to eta_min in T_max epochs, then up again, and so on."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def _height(self, epoch: int) -> float:
        return 1.0 + math.cos(math.pi * epoch / self.T_max)

    def _next(self, group: Group, base: float) -> float:
        lr, epoch = number(group["lr"]), self.last_epoch
        if epoch == 0:
            return lr
        if self._step_count == 1:
            return self._closed(base)
        if (epoch - 1 - self.T_max) % (
            2 * self.T_max
        ) == 0:  # the rate before is the lowest, which says nothing of the height
            return lr + (base - self.eta_min) * (1.0 - math.cos(math.pi / self.T_max)) / 2
        return self._height(epoch) / self._height(epoch - 1) * (lr - self.eta_min) + self.eta_min

    def _closed(self, base: float) -> float:
        return self.eta_min + (base - self.eta_min) * self._height(self.last_epoch) / 2


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine from the initial rate down to eta_min, again and again, each T_mult times as long as the one
    before."""

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ArgumentError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ArgumentError(f"Expected integer T_mult >= 1, but got {T_mult}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    @effect()
    def step(self, epoch: float | None = None) -> None:
        """Go on to the next epoch, or to the one that is given, which may be a fraction."""
        self._step_count += 1
        now = self.last_epoch + 1 if epoch is None else epoch
        length, start = self.T_0, 0.0
        while now >= start + length:
            start, length = start + length, length * self.T_mult
        self.T_i, self.T_cur = length, now - start
        self.last_epoch = math.floor(now)
        self._set(self.get_lr())

    def _next(self, group: Group, base: float) -> float:
        return self.eta_min + (base - self.eta_min) * (1.0 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
