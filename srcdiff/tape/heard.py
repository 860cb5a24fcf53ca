"""Warnings that a recorder hears: a call that warns runs as written each time, and filters decide each time anew."""

from __future__ import annotations

import warnings

from srcdiff.tape.modes import modes


def warn(message: str, category: type[Warning] = UserWarning, stacklevel: int = 1) -> None:
    """`warnings.warn`."""
    if modes.recorder is not None:
        modes.recorder.fail("it warns")
    warnings.warn(message, category, stacklevel=stacklevel + 1)
