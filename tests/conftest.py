"""What all tests share: the environment srcdiff is imported in, hypothesis's profile, golden files."""

from __future__ import annotations

import os

os.environ.setdefault("SRCDIFF_VERIFY", "1")  # programs are verified after every pass
os.environ.setdefault("MPLBACKEND", "Agg")  # plots are drawn without a screen

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples on every run, and no time limit for one: machines differ.
settings.register_profile("srcdiff", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("srcdiff")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--regen", action="store_true", help="rewrite the golden files; review them like code")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden(name, text)` compares the text with `golden/<name>` beside the test, or rewrites that file (--regen)."""
    folder = request.path.parent / "golden"
    regen = bool(request.config.getoption("--regen"))

    def check(name: str, text: str) -> None:
        file: Path = folder / name
        if regen:
            folder.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="\n")
        assert file.exists(), f"{file} is missing: write it with `pytest --regen` and review it"
        assert text == file.read_text(encoding="utf-8")

    return check
