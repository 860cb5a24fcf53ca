"""What a checkpointed region saves for backward, and computing it again.

Guarantees: while forward runs, only the region's arguments are kept; a saved value comes back the first time
backward asks for any of the region's, together with all others that are still wanted, and goes when the node that
saved it is freed or the backward pass is over. Regions may be nested: then an inner region's arguments are among
what the outer one computes again.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any
from weakref import ref

from srcdiff import random
from srcdiff.api.tree import flatten
from srcdiff.autograd.graph import saved_tensors_hooks
from srcdiff.autograd.keeping import Kept
from srcdiff.autograd.modes import Mode
from srcdiff.errors import AutogradError
from srcdiff.tape.modes import modes
from srcdiff.tape.node import LEAF, GradNode
from srcdiff.tape.value import TensorBase


class CheckpointError(AutogradError):
    """The function did something else when it was run again."""


class _Complete(BaseException):
    """Raised through the user's function once all that is wanted has been computed again."""


class Holder:
    """Stands for one saved value: its number in the region, what it looked like, and the value while it is here."""

    __slots__ = ("__weakref__", "dtype", "number", "region", "shape", "value")

    def __init__(self, region: Region, number: int, tensor: Any) -> None:
        self.region = region
        self.number = number
        self.shape, self.dtype = tensor._value.shape, tensor._value.dtype
        self.value: Any = None


class Region:
    """One call of a checkpointed function."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        preserve_rng_state: bool = True,
        determinism_check: bool = True,
        early_stop: bool = True,
        context: AbstractContextManager[Any] | None = None,
    ) -> None:
        self._function = function
        leaves, self._rebuild = flatten((args, kwargs))
        self._leaves = [Kept(leaf) if isinstance(leaf, TensorBase) and not leaf._inference else leaf for leaf in leaves]
        self._state = random.get_rng_state() if preserve_rng_state else None
        self._check = determinism_check
        self._early_stop = early_stop
        self._context = context
        self._holders: list[ref[Holder]] = []
        self._again = 0

    def hooks(self) -> saved_tensors_hooks:
        """The hooks under which forward runs."""
        return saved_tensors_hooks(self._pack, _unpack)

    def _pack(self, tensor: Any) -> Holder:
        holder = Holder(self, len(self._holders), tensor)
        self._holders.append(ref(holder))
        return holder

    def compute(self) -> None:
        """Run the function again, and give the holders their values."""
        args, kwargs = self._rebuild([_restored(leaf) for leaf in self._leaves])
        self._again = 0
        with (
            Mode(grad=True, place=None, anomaly=False),
            random.fork_rng(enabled=self._state is not None),
            saved_tensors_hooks(self._pack_again, _unpack_inside),
        ):
            if self._state is not None:
                random.set_rng_state(self._state)
            try:
                if self._context is None:
                    self._function(*args, **kwargs)
                else:
                    with self._context:
                        self._function(*args, **kwargs)
            except _Complete:
                return
        if self._again != len(self._holders):
            raise CheckpointError(
                "checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self._holders)}\nNumber of tensors "
                f"saved during recomputation: {self._again}"
            )

    def _pack_again(self, tensor: Any) -> Any:
        number = self._again
        self._again += 1
        if number < len(self._holders):
            holder = self._holders[number]()
            if holder is not None:
                self._fill(holder, tensor)
            if self._early_stop and self._again == len(self._holders):
                raise _Complete
        return tensor._value

    def _fill(self, holder: Holder, tensor: Any) -> None:
        value = tensor._value
        if self._check and (value.shape != holder.shape or value.dtype != holder.dtype):
            raise CheckpointError(
                "checkpoint: Recomputed values for the following tensors have different metadata than during the "
                f"forward pass.\ntensor at position {holder.number}:\nsaved metadata: {holder.shape}, "
                f"{holder.dtype}\nrecomputed metadata: {value.shape}, {value.dtype}"
            )
        holder.value = value

    def forget(self) -> None:
        """Drop the values that are here."""
        for reference in self._holders:
            holder = reference()
            if holder is not None:
                holder.value = None


class _Asking(GradNode):
    """Named in errors about arguments that were overwritten."""

    __slots__ = ()

    def __init__(self) -> None:
        self.site = LEAF
        self.inputs = ()
        self.saved = ()

    def name(self) -> str:
        """What kept the argument."""
        return "checkpoint"


def _restored(leaf: Any) -> Any:
    return leaf.restore(_Asking()) if type(leaf) is Kept else leaf


def _unpack(holder: Holder) -> Any:
    if holder.value is None:
        region = holder.region
        region.compute()
        if modes.backward_run is not None:
            modes.backward_run.at_end.append(region.forget)
    value = holder.value
    if modes.backward_run is None:
        holder.region.forget()
    return value


def _unpack_inside(value: Any) -> Any:
    return value
