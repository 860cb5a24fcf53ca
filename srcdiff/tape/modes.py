"""Thread-local modes: whether operations are recorded, and how."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from srcdiff.config import config


class Modes(threading.local):
    """The modes of one thread; a new thread starts with these defaults."""

    #: record operations (`no_grad` clears it); set it through `update`
    grad: bool = True
    #: the same for the hot path: 0 do not record, 1 record, 2 record with extras (anomaly mode, saved-tensor hooks), 3
    #: watched
    recording: int = 1
    #: results are inference tensors
    inference: bool = False
    #: check for NaN in backward and remember where each node was made
    anomaly: bool = False
    anomaly_check_nan: bool = True
    #: stack of (pack, unpack) applied to what is saved
    pack_hooks: tuple[tuple[Callable[[Any], Any], Callable[[Any], Any]], ...] = ()
    #: message if saved-tensor hooks are forbidden
    pack_hooks_disabled: str | None = None
    #: writes snapshot what they would destroy, for eager tensors too
    mutation_allowed: bool = False
    #: where operations run by srcdiff itself (a backward under create_graph) belong
    place: Any = None
    #: the backward pass that is walking the graph
    backward_run: Any = None
    #: the level of forward derivatives that is open: operations are recorded in `no_grad` mode too
    dual: Any = None
    #: the same, while a function runs that is differentiated forward under PyTorch's names
    forward: bool = False
    #: watches every operation, to find out whether a call can be replayed
    recorder: Any = None

    def update(self, **changes: Any) -> None:
        """Set modes, keeping `recording`, and what replays look at, in step."""
        for name, value in changes.items():
            setattr(self, name, value)
        if self.recorder is not None:
            self.recording = 3
        else:
            self.recording = self.unwatched()
        barred = bool(self.recorder or self.anomaly or self.pack_hooks or self.inference or self.dual)
        if not barred is config.current.barred is (config.current.style is None):  # an interrupt may leave these apart
            config.current.settle(barred=barred)

    def unwatched(self) -> int:
        """What `recording` is while nothing watches."""
        return 0 if not (self.grad or self.dual or self.forward) else 2 if self.anomaly or self.pack_hooks else 1


class Run:
    """One backward pass over the nodes of a graph, and what is to be done when it is over."""

    __slots__ = ("at_end",)

    def __init__(self) -> None:
        self.at_end: list[Callable[[], None]] = []


modes = Modes()
