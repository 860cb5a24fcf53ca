"""Learning rate schedules: objects whose `step()`, called once an epoch (or batch), sets the groups' learning rates.

Each schedule but the last three says the rate at an epoch by its relation to the one before, as PyTorch's do, so that
schedules can be chained on one optimizer.
"""

from __future__ import annotations

import math
import warnings
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from srcdiff.errors import ArgumentError
from srcdiff.optim.optimizer import Group, Optimizer
from srcdiff.tape.value import TensorBase


class LRScheduler:
    """The base: counts epochs from `last_epoch` + 1 on, and puts what `get_lr` gives into the optimizer's groups."""

    #: attributes that are no part of the state
    _apart: tuple[str, ...] = ("optimizer",)

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise ArgumentError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        for k, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _number(group["lr"]))
            elif "initial_lr" not in group:
                raise ArgumentError(
                    f"param 'initial_lr' is not specified in param_groups[{k}] when resuming scheduler with "
                    "last_epoch >= 0"
                )
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._step_count = 0
        self._last_lr: list[float] = []
        self.step()

    def get_lr(self) -> list[float]:
        """The rates at `last_epoch`, from those in force."""
        return [self._next(group, base) for group, base in zip(self.optimizer.param_groups, self.base_lrs, strict=True)]

    def _next(self, group: Group, base: float) -> float:
        """The rate of one group at `last_epoch`."""
        raise NotImplementedError

    def get_last_lr(self) -> list[float]:
        """The rates that the last step set."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Go on to the next epoch, or to the one that is given, for schedules that know their value at every epoch."""
        if self._step_count == 1 and not self.optimizer._opt_called:
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, "
                "you should call "
                "them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`. Failure to do "
                "this will result "
                "in PyTorch skipping the first value of the learning rate schedule.",
                UserWarning, stacklevel=2,
            )  # fmt: skip
        self._step_count += 1
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        closed = getattr(self, "_closed", None)
        if epoch is not None and closed is not None:
            self._set([closed(base) for base in self.base_lrs])
        else:
            self._set(self.get_lr())

    def _set(self, rates: Iterable[float]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            if isinstance(group["lr"], TensorBase):
                group["lr"]._array.fill(rate)
            else:
                group["lr"] = rate
        self._last_lr = [_number(group["lr"]) for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer."""
        return {name: value for name, value in self.__dict__.items() if name not in self._apart}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        self.__dict__.update(state_dict)


def _number(lr: Any) -> float:
    return float(lr._array if isinstance(lr, TensorBase) else lr)


# ------------------------------------------------------------------------------------------------------------ functions


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
            return [_number(group["lr"]) for group in groups]
        return [_number(group["lr"]) * f(self.last_epoch) for group, f in zip(groups, self.lr_lambdas, strict=True)]


def _per_group(optimizer: Optimizer, given: Any) -> list[Callable[[int], float]]:
    groups = len(optimizer.param_groups)
    if not isinstance(given, (list, tuple)):
        return [given] * groups
    if len(given) != groups:
        raise ArgumentError(f"Expected {groups} lr_lambdas, but got {len(given)}")
    return list(given)


# ---------------------------------------------------------------------------------------------------------------- steps


class StepLR(LRScheduler):
    """Times gamma every step_size epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _next(self, group: Group, base: float) -> float:
        changes = self.last_epoch > 0 and self.last_epoch % self.step_size == 0
        return _number(group["lr"]) * self.gamma if changes else _number(group["lr"])

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
        return _number(group["lr"]) * self.gamma ** self.milestones[self.last_epoch]

    def _closed(self, base: float) -> float:
        return base * self.gamma ** bisect_right(sorted(self.milestones.elements()), self.last_epoch)


class ExponentialLR(LRScheduler):
    """Times gamma every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _next(self, group: Group, base: float) -> float:
        return _number(group["lr"]) * self.gamma if self.last_epoch > 0 else _number(group["lr"])

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
        lr = _number(group["lr"])
        if self.last_epoch == 0:
            return lr * self.factor
        return lr / self.factor if self.last_epoch == self.total_iters else lr

    def _closed(self, base: float) -> float:
        return base * (self.factor if self.last_epoch < self.total_iters else 1.0)


# --------------------------------------------------------------------------------------------------------------- curves


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
        lr, epoch = _number(group["lr"]), self.last_epoch
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
        lr, epoch, total = _number(group["lr"]), self.last_epoch, self.total_iters
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
        lr, epoch = _number(group["lr"]), self.last_epoch
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


# --------------------------------------------------------------------------------------------------------- compositions


class ChainedScheduler:
    """Several schedules on one optimizer, stepped together."""

    def __init__(self, schedulers: Sequence[Any], optimizer: Optimizer | None = None) -> None:
        if not schedulers:
            raise ArgumentError("ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.")
        self.optimizer = schedulers[0].optimizer if optimizer is None else optimizer
        if any(s.optimizer is not self.optimizer for s in schedulers):
            raise ArgumentError("ChainedScheduler expects all schedulers to belong to the same optimizer")
        self._schedulers = list(schedulers)

    def step(self) -> None:
        """Go on to the next epoch."""
        for scheduler in self._schedulers:
            scheduler.step()

    def get_last_lr(self) -> list[float]:
        """The rates that the last step set."""
        return [_number(group["lr"]) for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """The schedules' states."""
        return {"_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(state)


class SequentialLR(ChainedScheduler):
    """One schedule after another, each from its milestone on."""

    def __init__(
        self, optimizer: Optimizer, schedulers: Sequence[Any], milestones: Sequence[int], last_epoch: int = -1
    ) -> None:
        super().__init__(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ArgumentError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                "milestone "
                f"points, but got number of schedulers {len(schedulers)} and the number of milestones to be equal to "
                f"{len(milestones)}"
            )
        self._milestones = list(milestones)
        self.last_epoch = last_epoch + 1
        for group in optimizer.param_groups:  # every schedule has set its own first rate by now
            group["lr"] = group["initial_lr"]
        for scheduler in self._schedulers:
            scheduler.last_epoch -= 1
        self._schedulers[0].step()

    def step(self) -> None:
        """Go on to the next epoch."""
        self.last_epoch += 1
        k = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[k]
        if k > 0 and self._milestones[k - 1] == self.last_epoch:
            scheduler.step(0)
        else:
            scheduler.step()

    def state_dict(self) -> dict[str, Any]:
        """The schedules' states, and the epoch."""
        return {**super().state_dict(), "last_epoch": self.last_epoch}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        super().load_state_dict(state_dict)
        self.last_epoch = state_dict["last_epoch"]


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
        self._last_lr = [_number(group["lr"]) for group in optimizer.param_groups]
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
        self._last_lr = [_number(group["lr"]) for group in self.optimizer.param_groups]

    def _reduce(self) -> None:
        rates = []
        for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            old = _number(group["lr"])
            new = max(old * self.factor, least)
            rates.append(new if old - new > self.eps else old)
        self._set(rates)
