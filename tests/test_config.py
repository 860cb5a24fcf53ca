"""Options: defaults, contexts, threads, refusals, and the environment."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from dataclasses import FrozenInstanceError, fields

import pytest

import srcdiff as sd
from srcdiff.config import Config, Options


def test_options_read_like_attributes() -> None:
    config = Config()
    for entry in fields(Options):
        assert hasattr(config, entry.name)
    assert config.cache_size == Options().cache_size
    assert "cache_size=" in repr(config)


def test_a_context_holds_for_its_block_and_nests() -> None:
    before = sd.config.options
    with sd.config(cache_size=7) as options:
        assert sd.config.cache_size == options.cache_size == 7
        with sd.config(compile_after=1):
            assert (sd.config.cache_size, sd.config.compile_after) == (7, 1)
        assert sd.config.compile_after == before.compile_after
    assert sd.config.options is before


def test_a_context_ends_with_an_exception() -> None:
    before = sd.config.options
    with pytest.raises(ZeroDivisionError), sd.config(cache_size=7):
        raise ZeroDivisionError
    assert sd.config.options is before


def test_assignment_holds_for_the_process_and_contexts_for_the_thread() -> None:
    config = Config()
    seen: list[int] = []

    def look() -> None:
        thread = threading.Thread(target=lambda: seen.append(config.cache_size))
        thread.start()
        thread.join()

    config.cache_size = 11
    with config(cache_size=12):
        assert config.cache_size == 12
        look()
    assert config.cache_size == 11 and seen == [11]


def test_the_style_of_the_options_is_read_in_one_step_unless_a_mode_bars_replays() -> None:
    config = Config()
    current = config.current
    plain = config.options.style
    assert current.style is plain and Options().style is plain
    with config(exact=True):
        assert current.style is config.options.style is not plain
        current.settle(barred=True)
        assert current.style is None
        with config(backend="interpret"):
            assert current.style is None
        current.settle(barred=False)
        assert current.style is Options(exact=True).style
        with config(exact=False, cache_size=3):
            assert current.style is plain
        assert current.style is Options(exact=True).style
    assert current.style is plain and not {"options", "style"} & set(vars(current))
    current.settle(barred=True)
    config.exact = True
    assert current.style is None
    current.settle(barred=False)
    assert current.style is Options(exact=True).style
    assert len({Options(**{name: value}).style for name, value in CHANGED}) == len(CHANGED)


CHANGED = (("exact", True), ("backend", "interpret"), ("replay", "never"), ("replay", "always"), ("check_replay", 3))


def test_unknown_options_are_refused_by_name() -> None:
    for attempt in (lambda: setattr(sd.config, "cachesize", 3), lambda: sd.config(cachesize=3).__enter__()):
        with pytest.raises(sd.errors.SrcdiffError, match=r"config has no option 'cachesize'; it has .*cache_size"):
            attempt()
    with pytest.raises(AttributeError):
        _ = sd.config.cachesize


def test_options_are_records() -> None:
    with pytest.raises(FrozenInstanceError):
        sd.config.options.cache_size = 3  # type: ignore[misc]


def test_the_options_of_one_config_are_not_those_of_another() -> None:
    one, other = Config(), Config()
    one.cache_size = 5
    assert other.cache_size != 5


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """In a fresh interpreter, that sees these variables only."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("SRCDIFF_")} | environment
    env["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)


def test_the_environment_sets_defaults() -> None:
    code = "from srcdiff.config import config as c; print(c.cache_size, c.backend, c.verify, c.exact)"
    made = run(code, SRCDIFF_CACHE_SIZE="5", SRCDIFF_BACKEND="interpret", SRCDIFF_VERIFY="yes", SRCDIFF_EXACT="0")
    assert made.stdout.split() == ["5", "interpret", "True", "False"], made.stderr


def test_an_environment_that_makes_no_sense_is_refused() -> None:
    made = run("import srcdiff.config", SRCDIFF_CACHE_SIZE="many")
    assert made.returncode != 0 and "SRCDIFF_CACHE_SIZE='many' is no int" in made.stderr
