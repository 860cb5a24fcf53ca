"""`LRScheduler`: the base of learning rate schedules."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from srcdiff.errors import ArgumentError
from srcdiff.optim.optimizer import Group, Optimizer
from srcdiff.tape.effects import effect
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
                group.setdefault("initial_lr", number(group["lr"]))
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

    @effect()
    def step(self, epoch: int | None = None) -> None:
        """Go on to the next epoch, or to the one that is given, for schedules that know their value at every epoch."""
        if self._step_count == 1 and not self.optimizer._opt_called:
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, "
                "you should call "
                "them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`. Failure to do "
                "this will result "
                "in PyTorch skipping the first value of the learning rate schedule.",
                UserWarning, stacklevel=3,
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
        self._last_lr = [number(group["lr"]) for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer."""
        return {name: value for name, value in self.__dict__.items() if name not in self._apart}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        self.__dict__.update(state_dict)


def number(lr: Any) -> float:
    """A learning rate, which may be a tensor, as a number."""
    return float(lr._array if isinstance(lr, TensorBase) else lr)
