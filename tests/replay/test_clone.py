"""A clone cannot be told from its original, but that what array constructors make takes traced values."""

from __future__ import annotations

import gc
import linecache
import threading
import traceback
import weakref
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff.errors import GradientLostError
from srcdiff.replay import clone
from srcdiff.replay.active import active
from tests.replay import programs

X = np.array([0.4, 1.1, -0.6])


def numerical(f: Callable[[Any], Any], x: Any) -> Any:
    """Central differences of second order; the error is of order 1e-9."""
    g = np.zeros_like(x)
    for i in range(x.size):
        step = np.zeros_like(x)
        step[i] = 1e-5
        g[i] = (f(x + step) - f(x - step)) / 2e-5
    return g


def named(f: Any) -> str:
    return str(f.__name__) if callable(f) else str(f)


@pytest.fixture(autouse=True)
def _with_clones() -> Any:
    with sd.config(clone=True):
        yield


@pytest.fixture
def tracing() -> Any:
    active.depth += 1
    yield
    active.depth -= 1


@pytest.mark.parametrize("f", programs.GRADIENTS, ids=named)
def test_arrays_made_inside_differentiate(f: Any) -> None:
    with sd.config(clone=f is programs.inner_gradient):  # its value is a gradient
        want = numerical(f, X)
    np.testing.assert_allclose(sd.grad(f)(X), want, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("f", programs.GRADIENTS, ids=named)
def test_values_are_those_of_the_original(f: Any) -> None:
    value, _ = sd.value_and_grad(f)(X)
    if f is programs.inner_gradient:
        return
    assert type(value) is np.float64
    np.testing.assert_allclose(value, f(X), rtol=1e-14)


@pytest.mark.usefixtures("tracing")
@pytest.mark.parametrize(("f", "args"), programs.SEEN, ids=named)
def test_looks_the_same_from_inside(f: Any, args: Any) -> None:
    copy = clone.cloned(f)
    assert copy is not f
    assert copy(*args) == f(*args)


@pytest.mark.usefixtures("tracing")
@pytest.mark.parametrize(("f", "x"), programs.FAILING, ids=named)
def test_tracebacks_are_the_same(f: Any, x: Any) -> None:
    def summary(g: Any) -> Any:
        with pytest.raises((TypeError, ZeroDivisionError, IndexError)) as caught:
            g(x)
        frames = traceback.extract_tb(caught.value.__traceback__)[1:]
        own = [
            (s.name, s.lineno, s.end_lineno, s.colno, s.end_colno) for s in frames if s.filename == programs.__file__
        ]
        return str(caught.value), own

    assert summary(clone.cloned(f)) == summary(f)


@pytest.mark.parametrize("f", programs.SOURCES, ids=named)
def test_generated_code_is_the_same(f: Any) -> None:
    with sd.config(clone=False):
        want = sd.grad(f).source(X)
    assert sd.grad(f).source(X) == want
    assert clone.cloned(f) is not f


def test_a_function_that_needs_no_clone_has_none() -> None:
    assert clone.cloned(norm := programs.norm) is norm
    assert clone.cloned(np.tanh) is np.tanh
    assert clone.cloned(len) is len


def test_functions_without_source_run_as_they_are() -> None:
    names: dict[str, Any] = {"np": np}
    exec("def f(x):\n    out = np.zeros(2)\n    out[0] = x\n    return np.sum(out)", names)
    assert clone.cloned(names["f"]) is names["f"]
    with pytest.raises(GradientLostError):
        sd.grad(names["f"])(2.0)


def made(text: str, path: Path, **names: Any) -> dict[str, Any]:
    path.write_text(text)
    linecache.checkcache(str(path))
    names.setdefault("np", np)
    exec(compile(text, str(path), "exec"), names)
    return names


SQUARE = "def f(x):\n    out = np.zeros(2)\n    out[0] = x * 3.0\n    return np.sum(out)\n"


@pytest.mark.parametrize(
    "edited", [SQUARE.replace("3.0", "3"), SQUARE.replace("out", "tmp"), "\n" + SQUARE, "", "def f("]
)
def test_source_that_is_not_what_runs_is_not_used(tmp_path: Path, edited: str) -> None:
    f = made(SQUARE, tmp_path / "model.py")["f"]
    (tmp_path / "model.py").write_text(edited)
    linecache.checkcache(str(tmp_path / "model.py"))
    assert clone.cloned(f) is f


def test_constants_that_are_equal_but_not_the_same_are_told_apart(tmp_path: Path) -> None:
    text = "def f(x):\n    return np.array([x, {}])\n"
    for ran, found in [("0.0", "-0.0"), ("1", "True"), ("1.0", "1"), ("(1, 0.0)", "(1, -0.0)")]:
        f = made(text.format(ran), tmp_path / "model.py")["f"]
        (tmp_path / "model.py").write_text(text.format(found))
        linecache.checkcache(str(tmp_path / "model.py"))
        assert clone.cloned(f) is f


def test_source_that_is_what_runs_is_used(tmp_path: Path) -> None:
    f = made(SQUARE, tmp_path / "model.py")["f"]
    assert sd.grad(f)(2.0) == 3.0


def test_clones_of_closures_share_cells_with_the_original() -> None:
    scale = 2.0

    def f(x: Any) -> Any:
        nonlocal calls
        calls += 1
        out = np.zeros(1)
        out[0] = x * scale
        return out[0]

    calls = 0
    gradient = sd.grad(f)
    first = gradient(1.0)
    scale = 5.0
    second = gradient(1.0)
    if (first, second, calls) != (2.0, 5.0, 2):
        raise AssertionError


def test_defaults_and_globals_are_read_at_each_call(tmp_path: Path) -> None:
    text = "def f(x, a=2.0, *, b=3.0):\n    out = np.zeros(1)\n    out[0] = x * a * b * c\n    return out[0]\n"
    names = made(text, tmp_path / "model.py", c=1.0)
    gradient = sd.grad(names["f"])
    assert gradient(1.0) == 6.0
    names["c"] = 2.0
    names["f"].__defaults__ = (1.0,)
    names["f"].__kwdefaults__ = {"b": 1.0}
    assert gradient(1.0) == 2.0


def test_replacing_the_code_of_a_function_is_noticed(tmp_path: Path) -> None:
    f = made(SQUARE, tmp_path / "a.py")["f"]
    assert sd.grad(f)(2.0) == 3.0
    f.__code__ = made(SQUARE.replace("3.0", "7.0"), tmp_path / "b.py")["f"].__code__
    assert sd.grad(f)(2.0) == 7.0


def test_code_that_outlives_the_trace_makes_plain_arrays(tmp_path: Path) -> None:
    text = (
        "def f(x):\n"
        "    def later():\n        return np.zeros(2)\n"
        "    def generator():\n        while True:\n            yield np.array([1.0])\n"
        "    made = generator()\n    next(made)\n"
        "    kept.extend([later, made])\n    return np.sum(np.array([x, x]))\n"
    )
    kept: list[Any] = []
    assert sd.grad(made(text, tmp_path / "model.py", kept=kept)["f"])(1.0) == 2.0
    assert type(kept[0]()) is np.ndarray
    assert type(next(kept[1])) is np.ndarray


def test_other_threads_make_plain_arrays(tmp_path: Path) -> None:
    text = (
        "def f(x):\n"
        "    def work():\n        kinds.append(np.zeros(2).__class__)\n"
        "    thread = Thread(target=work)\n    thread.start()\n    thread.join()\n    work()\n"
        "    return np.sum(np.array([x, x]))\n"
    )
    kinds: list[Any] = []
    assert sd.grad(made(text, tmp_path / "model.py", kinds=kinds, Thread=threading.Thread)["f"])(1.0) == 2.0
    assert kinds == [np.ndarray, sd.Tensor]


@pytest.mark.usefixtures("code_dies")
def test_clones_are_forgotten_with_their_originals(tmp_path: Path) -> None:
    names = made(SQUARE, tmp_path / "model.py")
    assert sd.grad(names["f"])(2.0) == 3.0
    gc.collect()
    before = len(clone._codes)
    gone = weakref.ref(names["f"].__code__)
    names.clear()
    gc.collect()
    assert gone() is None
    assert len(clone._codes) < before


def test_a_failed_call_leaves_tracing_off() -> None:
    with pytest.raises(IndexError):
        sd.grad(programs.filled_in_a_loop)(np.ones(2))
    assert active.depth == 0


def test_modules_are_traced_through_their_forward() -> None:
    class Filler(sd.nn.Module):
        def forward(self, x: Any) -> Any:
            out = np.zeros(3)
            out[1:] = x[1:]
            return np.sum(out**2)

    for hooked in (False, True):
        model = Filler()
        if hooked:
            model.register_forward_hook(lambda *_: None)
        np.testing.assert_array_equal(sd.grad(lambda x, model=model: model(x))(X), 2 * X * [0, 1, 1])


def test_every_copy_of_a_lambda_on_a_line_is_found() -> None:
    np.testing.assert_allclose(sd.grad(programs.power)(X), [0.8, 2.2, 0.0])
    np.testing.assert_allclose(sd.grad(programs.product)(X), [1.1, 0.4, 0.0])


def test_the_clone_has_the_name_of_the_original() -> None:
    copy = clone.cloned(programs.decorated)
    assert isinstance(copy, FunctionType)
    assert (copy.__name__, copy.__qualname__) == (programs.decorated.__name__, programs.decorated.__qualname__)
