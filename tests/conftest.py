"""What all tests share: the environment of srcdiff, hypothesis's profile, golden files, PyTorch's answers."""

from __future__ import annotations

import os

os.environ.setdefault("SRCDIFF_VERIFY", "1")  # programs are verified after every pass
os.environ.setdefault("MPLBACKEND", "Agg")  # plots are drawn without a screen
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # matrices are small here, and the cores have other tests to run

import gc
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import srcdiff as sd
from tests.answers import Answers

# The same examples on every run, and no time limit for one: machines differ.
settings.register_profile("srcdiff", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("srcdiff")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--worlds", type=int, default=0, help="how many random worlds to train in, of each kind")
    parser.addoption("--regen", action="store_true", help="rewrite the golden files; review them like code")


_answers = pytest.StashKey[Answers]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_answers] = Answers(bool(config.getoption("--regen")))


def pytest_sessionfinish(session: pytest.Session) -> None:
    answers = session.config.stash[_answers]
    if answers.regen:
        answers.write()


@pytest.fixture
def pytorch(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """`pytorch(ask)` is what `ask()` gives with PyTorch: see `tests.answers`."""
    answers = request.config.stash[_answers]
    file = request.path.parent / "golden" / f"{request.path.stem}.json"
    count = 0

    def answer(ask: Callable[[], Any], digits: int = 15) -> Any:
        nonlocal count
        count += 1
        return answers.answer(file, f"{request.node.name} {count}", ask, digits)

    return answer


@pytest.fixture
def untraced() -> Iterator[None]:
    """Without coverage's trace function, under which CPython neither specialises instructions nor is fast."""
    tracing = sys.gettrace()
    sys.settrace(None)
    yield
    sys.settrace(tracing)


@pytest.fixture(autouse=True, scope="module")
def _forgotten() -> Iterator[None]:
    """What one file compiled is not there for others; what stays is not looked at as garbage again."""
    yield
    sd.cache_clear()
    gc.collect()
    gc.freeze()


class Unmonitored:
    """The module `sys.monitoring` of Python 3.12, but for coverage's use of it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.monitoring, name)  # type: ignore[attr-defined,unused-ignore]

    def get_tool(self, number: int) -> str | None:
        tool: str | None = sys.monitoring.get_tool(number)  # type: ignore[attr-defined,unused-ignore]
        return None if tool == "coverage.py" else tool


class Untraced:
    """The module `sys`, but for coverage, whether it traces lines or monitors them."""

    if hasattr(sys, "monitoring"):
        monitoring = Unmonitored()

    def __getattr__(self, name: str) -> Any:
        return getattr(sys, name)

    def gettrace(self) -> Any:
        tracer = sys.gettrace()
        return None if type(tracer).__module__.startswith("coverage") else tracer


@pytest.fixture(autouse=True, scope="session")
def _replaying() -> Iterator[None]:
    """Replays are off where every line is traced, as under a debugger: in the tests they are on under coverage."""
    with pytest.MonkeyPatch.context() as patch:  # not the test's own, which it may undo
        for module in ("srcdiff.api.player", "srcdiff.replay.entry"):
            patch.setattr(f"{module}.sys", Untraced())
        if hasattr(sys, "monitoring"):
            patch.setattr("srcdiff.api.player._monitoring", Untraced.monitoring)
        yield


@pytest.fixture
def code_dies() -> None:
    """For tests of how long code lives: coverage that monitors keeps all that has run."""
    if hasattr(sys, "monitoring") and sys.monitoring.get_tool(sys.monitoring.COVERAGE_ID) == "coverage.py":
        pytest.skip("coverage keeps every code object; the versions without coverage run this")


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


def pytest_collection_finish(session: pytest.Session) -> None:
    """The tests that were found stay to the end: the garbage collector need not look at them during each."""
    gc.collect()
    gc.freeze()
