"""Whether exceptions that a recorded call catches would be raised again by a replay.

What the user's own code raises follows from what is guarded: a `raise` that is reached, a key that is not in a dict.
What a computation raises follows from values (a matrix is not positive definite, the logarithm of 0 with
`np.errstate(divide="raise")`), and a call that catches it cannot be replayed: another call might not raise. It is the
innermost frame that tells. The other way round there is nothing to do, since a replay that raises is given up.

Filters of warnings may be changed where they are changed back.
"""

from __future__ import annotations

import os
import sys
import warnings
from types import CodeType, FrameType, TracebackType
from typing import Any

import numpy as np

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_NUMPY = os.path.dirname(os.path.abspath(np.__file__)) + os.sep
_SCIPY = os.path.join(os.path.dirname(os.path.dirname(_NUMPY)), "scipy") + os.sep
_COMPUTING = (_HERE, _NUMPY, _SCIPY, "<srcdiff", "<__array_function__")


class _Nothing(Warning):
    """What the first filter is for."""


class Watch:
    """Sees, while it is entered, the exceptions that reach the user's code, if that `catches` some, and filters of
    warnings that stay changed, if it `filters`. `reason` is why the call cannot be replayed, if that is so.
    """

    def __init__(self, catches: bool, filters: bool) -> None:
        self.reason: str | None = None
        self._catches = catches
        self._filters = warnings.catch_warnings() if filters else None
        self._before: Any = None

    def __enter__(self) -> Watch:
        if self._filters is not None:
            self._filters.__enter__()
            warnings.simplefilter("default", _Nothing)
        if self._catches:
            self._before = sys.gettrace()
            sys.settrace(self._entered)
        return self

    def __exit__(self, *_: object) -> None:
        if self._catches:
            sys.settrace(self._before)
        if self._filters is not None:
            if warnings.filters[0][2] is not _Nothing:
                self.reason = "it changes the filters of warnings"
            self._filters.__exit__(None, None, None)

    def _entered(self, frame: FrameType, event: str, arg: Any) -> Any:
        frame.f_trace_lines = False
        return self._inside

    def _inside(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "exception" and self.reason is None and not _computes(frame.f_code):
            kind, _, traceback = arg
            if not issubclass(kind, (StopIteration, GeneratorExit)) and _computes(_innermost(traceback, frame)):
                self.reason = f"it catches the {kind.__name__} of a computation, which depends on values"
        return self._inside


def _innermost(traceback: TracebackType | None, frame: FrameType) -> CodeType:
    """The code in which the exception was raised."""
    while traceback is not None:
        frame, traceback = traceback.tb_frame, traceback.tb_next
    return frame.f_code


def _computes(code: CodeType) -> bool:
    return code.co_filename.startswith(_COMPUTING)
