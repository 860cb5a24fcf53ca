"""Grad modes as context managers and decorators: `no_grad`, `enable_grad`, `set_grad_enabled`, `inference_mode`.

All are thread-local, reusable, re-entrant, usable with and without parentheses, and on generator functions (where the
mode holds while the generator's own code runs, not between its values).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import TracebackType
from typing import Any, ClassVar, TypeVar, overload

from srcdiff.tape.modes import modes

F = TypeVar("F", bound=Callable[..., Any])


class Mode:
    """A set of mode changes that can be entered, or put around a function."""

    def __init__(self, **changes: Any) -> None:
        self._changes = changes
        self._before: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        self._before.append({name: getattr(modes, name) for name in self._changes})
        modes.update(**self._changes)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        modes.update(**self._before.pop())

    def _fresh(self) -> Mode:
        """A copy for one entry: decorated functions may recurse and run in several threads."""
        return Mode(**self._changes)

    def __call__(self, function: F) -> F:
        return decorate(function, self._fresh)


def decorate(function: F, make: Callable[[], Any]) -> F:
    """`function` with a fresh context from `make` around each call; classes get it around their `__init__`."""
    if inspect.isclass(function):
        function.__init__ = decorate(function.__init__, make)  # type: ignore[method-assign]
        return function
    if inspect.isgeneratorfunction(function):

        @functools.wraps(function)
        def generate(*args: Any, **kwargs: Any) -> Any:
            with make():
                inner = function(*args, **kwargs)
            sent: Any = None
            error: BaseException | None = None
            while True:
                try:
                    with make():
                        value = inner.send(sent) if error is None else inner.throw(error)
                except StopIteration as stop:
                    return stop.value
                try:
                    sent, error = (yield value), None
                except GeneratorExit:
                    with make():
                        inner.close()
                    raise
                except BaseException as raised:  # passed on to the generator, which decides
                    sent, error = None, raised

        return generate  # type: ignore[return-value]

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with make():
            return function(*args, **kwargs)

    return call  # type: ignore[return-value]


class _Optional:
    """A mode usable with and without parentheses: `@no_grad`, `@no_grad()`, `with no_grad():`."""

    _changes: ClassVar[dict[str, Any]]

    def __new__(cls, function: Any = None) -> Any:
        mode = Mode(**cls._changes)
        return mode if function is None else mode(function)


class no_grad(_Optional):  # noqa: N801
    """Operations are not recorded."""

    _changes: ClassVar[dict[str, Any]] = {"grad": False}


class enable_grad(_Optional):  # noqa: N801
    """Operations are recorded again, inside `no_grad`."""

    _changes: ClassVar[dict[str, Any]] = {"grad": True}


class set_grad_enabled(Mode):  # noqa: N801
    """Takes effect when called; as a context manager it is undone at the end of the block."""

    def __init__(self, mode: bool) -> None:
        super().__init__(grad=bool(mode))
        self._entry = {"grad": modes.grad}
        modes.update(grad=bool(mode))

    def __enter__(self) -> None:
        self._before.append(self._entry)
        modes.update(**self._changes)

    def __call__(self, function: F) -> F:
        modes.update(**self._entry)
        return super().__call__(function)


@overload
def inference_mode(mode: bool = True) -> Mode: ...
@overload
def inference_mode(mode: F) -> F: ...
def inference_mode(mode: Any = True) -> Any:
    """Operations are not recorded and their results are inference tensors, which may not enter a graph later."""
    if callable(mode):
        return Mode(grad=False, inference=True)(mode)
    return Mode(grad=False, inference=True) if mode else Mode(inference=False)


def is_grad_enabled() -> bool:
    """Whether operations are recorded in this thread."""
    return modes.grad


def is_inference_mode_enabled() -> bool:
    """Whether this thread is in inference mode."""
    return modes.inference


class detect_anomaly(Mode):  # noqa: N801
    """Backward raises at the first NaN and says which operation made it, and where that was recorded."""

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__(anomaly=True, anomaly_check_nan=check_nan)


class set_detect_anomaly(Mode):  # noqa: N801
    """Turns anomaly detection on or off when called; undone at the end of a `with` block."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        super().__init__(anomaly=mode, anomaly_check_nan=check_nan)
        self._entry = {"anomaly": modes.anomaly, "anomaly_check_nan": modes.anomaly_check_nan}
        modes.update(**self._changes)

    def __enter__(self) -> None:
        self._before.append(self._entry)
        modes.update(**self._changes)


def is_anomaly_enabled() -> bool:
    """Whether anomaly detection is on."""
    return modes.anomaly


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly detection looks for NaN."""
    return modes.anomaly_check_nan
