"""Replays are off where every line is traced, as under a debugger: here they are on under coverage."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(autouse=True)
def _untraced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "gettrace", lambda: None)
