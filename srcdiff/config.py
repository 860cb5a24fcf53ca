"""Options, and the only reader of the environment.

`config.cache_size`, `with config(backend="interpret"): ...`; `SRCDIFF_CACHE_SIZE=100` in the environment sets the
default. Options set with `with` hold for the thread, options assigned hold for the process.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

from srcdiff.errors import SrcdiffError


@dataclass(frozen=True, slots=True)
class Options:
    """What can be set. Immutable; `config` swaps whole records."""

    #: executables kept for one root of a graph, and entries kept for one decorated function
    cache_size: int = 256
    #: how often a graph must have been seen before it is compiled
    compile_after: int = 2
    #: "numpy" runs generated code, "interpret" interprets programs node by node (slow; for comparison)
    backend: str = "numpy"
    #: check every program after every pass
    verify: bool = False
    #: graphs with more nodes than this are always walked
    largest_graph: int = 20_000
    #: "auto" replays calls that are proved to be replayable, "never" traces every call; with "always" you vouch for
    #: every function: that it has no effects, and reads nothing from outside that changes
    replay: str = "auto"
    #: trace every n-th replayed call of an entry as well, and raise ReplayError if the results differ; 0 for never
    check_replay: int = 0
    #: turn off everything that reorders arithmetic: walked, compiled and replayed passes give the same bits
    exact: bool = False
    #: trace functions through a clone in which array constructors give traced values
    clone: bool = True
    #: what a replayed call compares with one look: the options that change what it computes, or how it is checked;
    #: equal ones are the same object
    style: str = field(init=False, repr=False, compare=False, default="")

    def __post_init__(self) -> None:
        parts = (self.backend, self.replay, "exact" if self.exact else "", "checked" if self.check_replay else "")
        object.__setattr__(self, "style", sys.intern(" ".join(parts)))


def _names() -> list[str]:
    return [entry.name for entry in fields(Options) if entry.init]


def _from_environment() -> Options:
    options = Options()
    for name in _names():
        text = os.environ.get(f"SRCDIFF_{name.upper()}")
        if text is None:
            continue
        default = getattr(options, name)
        try:
            value: Any = (
                text.lower() in ("1", "true", "yes", "on") if isinstance(default, bool) else type(default)(text)
            )
        except ValueError:
            raise SrcdiffError(f"SRCDIFF_{name.upper()}={text!r} is no {type(default).__name__}") from None
        options = replace(options, **{name: value})
    return options


class Current(threading.local):
    """What holds in the thread. `options` and `style` of the process are attributes of the class, those of options set
    with `with` attributes of the thread.
    """

    options: Options = Options()
    #: the style of the options, None where more has to be looked at: all that a replayed call looks at, in 50 ns
    style: str | None = Options().style
    #: a mode of the thread needs every operation to happen: nothing can be replayed
    barred: bool = False
    #: denormal numbers are 0 in the thread, so that calls recorded elsewhere may have had other numbers
    flushes: bool = False
    #: what tells whether they are, once a thread has chosen so: threads that it starts are like it
    asked: ClassVar[list[Callable[[], bool]]] = []

    def __init__(self) -> None:  # in each thread
        if any(asks() for asks in self.asked):
            self.settle(flushes=True)

    def settle(self, **changes: Any) -> None:
        """Make changes, keeping `style` in step."""
        for name, value in changes.items():
            setattr(self, name, value)
        if self.barred or self.flushes:
            self.style = None
        elif "options" in vars(self):
            self.style = self.options.style
        else:
            vars(self).pop("style", None)


class Config:
    """Reads like a record of the current options, and makes context managers of changed ones."""

    current: Current

    def __init__(self) -> None:
        options = _from_environment()
        of_process = type("Current", (Current,), {"options": options, "style": options.style})
        object.__setattr__(self, "current", of_process())

    @property
    def options(self) -> Options:
        """The options in force in this thread."""
        return self.current.options

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.current.options, name)

    def __setattr__(self, name: str, value: Any) -> None:
        of_process = type(self.current)
        of_process.options = _changed(of_process.options, {name: value})
        of_process.style = of_process.options.style

    @contextmanager
    def __call__(self, **changes: Any) -> Iterator[Options]:
        current = self.current
        before = vars(current).get("options")
        options = _changed(current.options, changes)
        current.settle(options=options)
        try:
            yield options
        finally:
            if before is None:
                del current.options
                current.settle()
            else:
                current.settle(options=before)

    def __repr__(self) -> str:
        return repr(self.current.options)


def _changed(options: Options, changes: dict[str, Any]) -> Options:
    known = _names()
    for name in changes:
        if name not in known:
            raise SrcdiffError(f"config has no option {name!r}; it has {', '.join(sorted(known))}")
    return replace(options, **changes)


config = Config()
