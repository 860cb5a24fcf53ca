"""Replays are off where every line is traced, as under a debugger: here they are on under coverage."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from srcdiff.api import player


class Untraced:
    """The module `sys`, but for the trace function of coverage."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sys, name)

    def gettrace(self) -> Any:
        tracer = sys.gettrace()
        return None if type(tracer).__module__.startswith("coverage") else tracer


@pytest.fixture(autouse=True)
def _untraced() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:  # not the test's own, which it may undo
        patch.setattr(player, "sys", Untraced())
        yield
