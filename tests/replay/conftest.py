"""Replays are off where every line is traced, as under a debugger: here they are on under coverage."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from srcdiff.api import player


class Untraced:
    """The module `sys` where no trace function is set."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sys, name)

    def gettrace(self) -> None:
        return None


@pytest.fixture(autouse=True)
def _untraced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(player, "sys", Untraced())
