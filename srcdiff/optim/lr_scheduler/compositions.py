"""Several schedules on one optimizer, together or one after another."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from srcdiff.errors import ArgumentError
from srcdiff.optim.lr_scheduler.base import number
from srcdiff.optim.optimizer import Optimizer
from srcdiff.tape.effects import effect


class ChainedScheduler:
    """Several schedules on one optimizer, stepped together."""

    def __init__(self, schedulers: Sequence[Any], optimizer: Optimizer | None = None) -> None:
        if not schedulers:
            raise ArgumentError("ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.")
        self.optimizer = schedulers[0].optimizer if optimizer is None else optimizer
        if any(s.optimizer is not self.optimizer for s in schedulers):
            raise ArgumentError("ChainedScheduler expects all schedulers to belong to the same optimizer")
        self._schedulers = list(schedulers)

    @effect()
    def step(self) -> None:
        """Go on to the next epoch."""
        for scheduler in self._schedulers:
            scheduler.step()

    def get_last_lr(self) -> list[float]:
        """The rates that the last step set."""
        return [number(group["lr"]) for group in self.optimizer.param_groups]

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

    @effect()
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
