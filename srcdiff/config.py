"""Options, and the only reader of the environment.

`config.cache_size`, `with config(backend="interpret"): ...`; `SRCDIFF_CACHE_SIZE=100` in the environment sets the
default. Options set with `with` hold for the thread, options assigned hold for the process.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any

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
    #: turn off everything that reorders arithmetic
    exact: bool = False
    #: trace functions through a clone in which array constructors give traced values
    clone: bool = True


def _from_environment() -> Options:
    options = Options()
    for entry in fields(Options):
        text = os.environ.get(f"SRCDIFF_{entry.name.upper()}")
        if text is None:
            continue
        default = getattr(options, entry.name)
        try:
            value: Any = (
                text.lower() in ("1", "true", "yes", "on") if isinstance(default, bool) else type(default)(text)
            )
        except ValueError:
            raise SrcdiffError(f"SRCDIFF_{entry.name.upper()}={text!r} is no {type(default).__name__}") from None
        options = replace(options, **{entry.name: value})
    return options


class Config:
    """Reads like a record of the current options, and makes context managers of changed ones."""

    def __init__(self) -> None:
        object.__setattr__(self, "_process", _from_environment())
        object.__setattr__(self, "_local", threading.local())

    @property
    def options(self) -> Options:
        """The options in force in this thread."""
        found: Options | None = getattr(self._local, "options", None)
        return self._process if found is None else found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.options, name)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, "_process", _changed(self._process, {name: value}))

    @contextmanager
    def __call__(self, **changes: Any) -> Iterator[Options]:
        before = getattr(self._local, "options", None)
        self._local.options = _changed(self.options, changes)
        try:
            yield self._local.options
        finally:
            self._local.options = before

    def __repr__(self) -> str:
        return repr(self.options)


def _changed(options: Options, changes: dict[str, Any]) -> Options:
    known = {entry.name for entry in fields(Options)}
    for name in changes:
        if name not in known:
            raise SrcdiffError(f"config has no option {name!r}; it has {', '.join(sorted(known))}")
    return replace(options, **changes)


config = Config()
