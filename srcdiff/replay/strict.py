"""NumPy's handling of floating-point errors, set for one call in 0.2 us where `np.errstate` takes 0.6.

A replay raises where the traced call would warn, so that the user hears of it from the line where it happens; what the
user has silenced stays silent. A backward pass is silent, whichever way it runs.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import Any

import numpy as np

_KINDS = ("divide", "over", "invalid", "under")


class Settings:
    """`np.geterr` and `np.seterr` in the form of a context variable."""

    def get(self) -> Any:
        """The state."""
        return tuple(np.geterr().items())

    def set(self, state: Any) -> None:
        """Change the state."""
        np.seterr(**dict(state))


def _variable() -> Any:
    """The context variable in which NumPy keeps the state, found by setting the state in a context that is empty."""
    context = contextvars.Context()
    context.run(np.seterr, divide="raise")
    found = list(context)
    return found[0] if len(found) == 1 else Settings()


state = _variable()

#: what the state is during a replay, during one that raises where NumPy is silent, and during a backward pass, by what
#: it was before
strict: dict[Any, Any] = {}
loud: dict[Any, Any] = {}
silent: dict[Any, Any] = {}


def is_quiet() -> bool:
    """Whether no floating-point error raises."""
    return "raise" not in np.geterr().values()


def tighten() -> Any:
    """The state for a replay where the state is one that has not been seen."""
    if len(strict) > 64:
        strict.clear()
    before = state.get()
    handling = dict(np.geterr())
    heard: Any = {kind: "raise" for kind in _KINDS if handling[kind] != "ignore"}
    with np.errstate(**heard):
        strict[before] = state.get()
    return strict[before]


def raising() -> Any:
    """The same for a replay of a call of Python's own functions of numbers, which raise whatever NumPy does."""
    if len(loud) > 64:
        loud.clear()
    before = state.get()
    with np.errstate(divide="raise", over="raise", invalid="raise"):
        loud[before] = state.get()
    return loud[before]


def silently(run: Callable[..., Any], *args: Any) -> Any:
    """What `run` gives; NumPy tells of nothing."""
    now = state.get()
    try:
        state.set(silent.get(now) or _silence(now))
        return run(*args)
    finally:
        state.set(now)


def _silence(now: Any) -> Any:
    if len(silent) > 64:
        silent.clear()
    with np.errstate(all="ignore"):
        silent[now] = state.get()
    return silent[now]
