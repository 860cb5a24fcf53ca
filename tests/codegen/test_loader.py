from __future__ import annotations

import bdb
import gc
import inspect
import linecache
import sys
import traceback
import weakref
from typing import Any

import pytest

from srcdiff.codegen import loader
from srcdiff.codegen.loader import load

SOURCE = '''\
def scaled_backward(g_out, x):
    """Gradient of scaled."""
    scale = 2 * g_out
    return scale / x
'''


def filename(function: Any) -> str:
    return function.__code__.co_filename


def test_the_function_runs_in_exactly_the_namespace() -> None:
    space: dict[str, Any] = {"np": 3}
    function = load("def f(x):\n    return np * x\n", "f", "f", space)
    assert function(2) == 6
    assert function.__globals__ is space
    assert space.keys() == {"np", "__builtins__"}
    assert load("def f(x: undefined = 1):\n    return x\n", "f", "f", {"undefined": int}).__annotations__ == {"x": int}


def test_several_functions_of_one_text_see_each_other() -> None:
    source = "def part(x):\n    return x + 1\n\n\ndef whole(x):\n    return 2 * part(x)\n"
    assert load(source, "whole", "whole", {})(3) == 8


def test_a_traceback_shows_the_generated_line() -> None:
    function = load(SOURCE, "scaled_backward", "scaled_backward", {})
    linecache.checkcache()
    with pytest.raises(ZeroDivisionError) as caught:
        function(1.0, 0)
    (last,) = traceback.extract_tb(caught.value.__traceback__)[-1:]
    assert (last.name, last.lineno, last.line) == ("scaled_backward", 4, "return scale / x")
    assert last.filename.startswith("<srcdiff scaled_backward#")


def test_inspect_finds_the_source() -> None:
    for space in ({}, {"__name__": __name__}):
        function = load(SOURCE, "scaled_backward", "scaled_backward", dict(space))
        assert inspect.getsource(function) == SOURCE
        assert inspect.getsourcefile(function) == filename(function)
    both = load("y = 1\n\n\n" + SOURCE, "scaled_backward", "scaled_backward", {})
    assert inspect.getsourcelines(both) == (SOURCE.splitlines(keepends=True), 4)


def test_a_debugger_steps_through_the_lines() -> None:
    class Stepper(bdb.Bdb):
        def user_line(self, frame: Any) -> None:
            if frame.f_code is function.__code__:
                name = self.canonic(frame.f_code.co_filename)
                seen.append(linecache.getline(name, frame.f_lineno).strip())
            self.set_step()

    seen: list[str] = []
    function = load(SOURCE, "scaled_backward", "scaled_backward", {})
    tracing = sys.gettrace()
    try:
        Stepper().runcall(function, 1.0, 2.0)
    finally:
        sys.settrace(tracing)  # that of coverage, which the debugger took away
    assert seen == ["scale = 2 * g_out", "return scale / x"]


def test_the_text_goes_with_the_function() -> None:
    function = load(SOURCE, "scaled_backward", "gone", {})
    name = filename(function)
    assert name in linecache.cache
    gc.disable()
    try:
        del function
        assert name not in linecache.cache, "nothing but a reference count was needed"
    finally:
        gc.enable()


def test_equal_texts_share_code_until_the_last_function_dies() -> None:
    one, two = (load(SOURCE, "scaled_backward", "shared", {}) for _ in range(2))
    assert one is not two and one.__code__ is two.__code__
    name = filename(one)
    del one
    assert name in linecache.cache and inspect.getsource(two) == SOURCE
    del two
    assert name not in linecache.cache
    again = load(SOURCE, "scaled_backward", "shared", {})
    assert filename(again) == name and inspect.getsource(again) == SOURCE


def test_other_texts_and_other_names_have_their_own_files() -> None:
    functions = [load(SOURCE, "scaled_backward", "a", {}), load(SOURCE, "scaled_backward", "b", {})]
    functions += [load(SOURCE + "\n", "scaled_backward", "a", {})]
    assert len(set(map(filename, functions))) == 3


@pytest.mark.usefixtures("code_dies")
def test_the_number_of_kept_texts_is_bounded() -> None:
    first = load(SOURCE, "scaled_backward", "bounded", {})
    code = weakref.ref(first.__code__)
    del first
    assert code() is not None
    for k in range(loader.KEPT):
        load(f"def f():\n    return {k}\n", "f", "f", {})
    assert code() is None


@pytest.mark.parametrize("source", ["def f(:\n", "1 / 0\n", "def g():\n    pass\n"])
def test_a_text_that_fails_leaves_nothing_behind(source: str) -> None:
    before = set(linecache.cache)
    with pytest.raises((SyntaxError, ZeroDivisionError, KeyError)):
        load(source, "f", "failing", {})
    assert {name for name in set(linecache.cache) - before if "failing" in name} == set()
