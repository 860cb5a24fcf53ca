"""Effects that a recorder notes without looking inside: they happen again, as they are, when the call is replayed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, TypeVar
from weakref import WeakSet

from srcdiff.tape.modes import modes

F = TypeVar("F", bound=Callable[..., Any])


def _none(*args: Any, **kwargs: Any) -> Iterable[Any]:
    return ()


def effect(
    written: Callable[[Any], Iterable[Any]] = _none, cleared: Callable[..., Iterable[Any]] = _none
) -> Callable[[F], F]:
    """Marks a method as an effect. `written(self)` gives the tensors whose values it may change, `cleared` of all its
    arguments those that have no gradient after it, whatever they had.
    """

    def mark(method: F) -> F:
        @functools.wraps(method)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            if modes.recorder is None:
                return method(self, *args, **kwargs)
            return modes.recorder.effect(call, (self, *args), kwargs, written, cleared)

        _marked.add(call)
        return call  # type: ignore[return-value]

    return mark


_marked: WeakSet[Any] = WeakSet()


def is_effect(function: Any) -> bool:
    """Whether a function has been marked."""
    return type(function) is FunctionType and function in _marked
