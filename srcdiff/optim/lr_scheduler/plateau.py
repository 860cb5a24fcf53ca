"""`ReduceLROnPlateau`: a schedule that looks at a metric."""

from __future__ import annotations

import math
from typing import Any

from srcdiff.errors import ArgumentError
from srcdiff.optim.lr_scheduler.base import LRScheduler, number
from srcdiff.optim.optimizer import Optimizer
from srcdiff.tape.effects import effect


class ReduceLROnPlateau(LRScheduler):
    """Times `factor` when a metric, given to `step`, has not improved for more than `patience` epochs."""

    def __init__(
        self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10, threshold: float = 1e-4,
        threshold_mode: str = "rel", cooldown: int = 0, min_lr: Any = 0, eps: float = 1e-8,
    ) -> None:  # fmt: skip
        if factor >= 1.0:
            raise ArgumentError("Factor should be < 1.0.")
        if mode not in ("min", "max"):
            raise ArgumentError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ArgumentError(f"threshold mode {threshold_mode} is unknown!")
        self.optimizer = optimizer
        groups = len(optimizer.param_groups)
        self.min_lrs = list(min_lr) if isinstance(min_lr, (list, tuple)) else [min_lr] * groups
        if len(self.min_lrs) != groups:
            raise ArgumentError(f"expected {groups} min_lrs, got {len(self.min_lrs)}")
        self.mode = mode
        self.factor = factor
        self.patience = patience
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.cooldown = cooldown
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = [number(group["lr"]) for group in optimizer.param_groups]
        self._reset()

    def _reset(self) -> None:
        self.best = math.inf if self.mode == "min" else -math.inf
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def is_better(self, a: float, best: float) -> bool:
        """Whether a improves on the best by more than the threshold."""
        sign = 1 if self.mode == "max" else -1
        if self.threshold_mode == "abs":
            return a * sign > best * sign + self.threshold
        return a * sign > best * (1.0 + sign * self.threshold) * sign

    @effect()
    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Take note of an epoch's metric."""
        current = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = [number(group["lr"]) for group in self.optimizer.param_groups]

    def _reduce(self) -> None:
        rates = []
        for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            old = number(group["lr"])
            new = max(old * self.factor, least)
            rates.append(new if old - new > self.eps else old)
        self._set(rates)
