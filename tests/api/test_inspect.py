"""Looking inside: the generated code, the program, explanations and counts."""

from __future__ import annotations

import inspect
import linecache
from typing import Any

import numpy as np
import pytest

import srcdiff as sd

X = np.array([1.0, 2.0, 3.0])


@sd.grad
def energy(x: Any, spring: float = 1.0) -> Any:
    stretch = np.diff(x)
    return 0.5 * spring * np.sum(stretch**2)


def graph() -> Any:
    w = sd.from_numpy(X.copy()).requires_grad_()
    hidden = np.tanh(w)
    return np.sum(hidden * hidden)


def test_source_is_python_with_the_users_names() -> None:
    text = energy.source(X)
    compile(text, "<generated>", "exec")
    assert text.startswith("def energy_backward(") and "stretch" in text and "g_x" in text
    assert "stretch = np.diff(x)" in text  # the user's line, as a comment
    assert text == energy.source(X)


def test_source_depends_on_shapes_only() -> None:
    assert energy.source(np.zeros(3)) == energy.source(np.ones(3))
    assert energy.source(np.zeros(4)) != energy.source(np.zeros(3))


def test_source_of_the_forward() -> None:
    text = energy.source(X, forward=True)
    compile(text, "<generated>", "exec")
    assert text.count("def ") == 2 and text.endswith(energy.source(X))


def test_the_shown_source_computes_the_gradient() -> None:
    for f, x in ((energy, X), (sd.grad(lambda x: np.sum(np.exp(x))), X)):
        f(x)
        program = f.program(x)
        assert str(program).startswith("program ") and "return" in str(program)
        assert [node.aval.shape for node in program.outputs] == [x.shape]


def test_source_runs_nothing_of_the_cache() -> None:
    before = sd.cache_info().entries
    sd.grad(lambda x: np.sum(np.cos(x))).source(X)
    assert sd.cache_info().entries == before


def test_source_of_an_eager_graph() -> None:
    loss = graph()
    text = sd.source(loss)
    assert "g_hidden" in text and "test_inspect.py" in text
    assert str(sd.program(loss)).startswith("program graph_backward(")
    loss.backward()  # looking has freed nothing


def test_source_of_one_step() -> None:
    loss = graph()
    text = loss.grad_fn.next_functions[0][0].source
    compile(text, "<generated>", "exec")
    assert text.startswith("def mul_backward(")


def test_what_has_no_backward() -> None:
    with pytest.raises(RuntimeError, match="no backward to show"):
        sd.source(sd.zeros(3))
    with pytest.raises(TypeError, match="expected a Tensor"):
        sd.source(X)
    with pytest.raises(TypeError, match="does not depend on the differentiated arguments"):
        sd.grad(lambda x: 3.0).source(X)
    leaf = sd.from_numpy(X.copy()).requires_grad_()
    with pytest.raises(RuntimeError, match="end of the graph"):
        _ = (leaf * 1.0).grad_fn.next_functions[0][0].source


def test_explain() -> None:
    f = sd.grad(lambda x: np.sum(np.sin(x)))
    assert "no compiled backward yet" in f.explain(X)
    with sd.config(replay="never"):
        f(X), f(X)
        text = f.explain(X)
    assert "a compiled backward was found" in text and "test_inspect.py:" in text and "24 bytes for backward" in text
    assert "second time" in text
    assert "no compiled backward yet" in f.explain(np.zeros(4))


def test_explaining_a_replayed_call() -> None:
    f = sd.grad(lambda x: np.sum(np.sin(x)))
    f(X), f(X)
    assert "replayed: forward and backward run as one generated function of 3 operations" in f.explain(X)
    assert "0 calls like this one were seen" in f.explain(np.zeros(4))


def test_explaining_leaves_the_cache_alone() -> None:
    f = sd.grad(lambda x: np.sum(np.sin(x)))
    for _ in range(5):
        f.explain(X)
    assert (f.cache_info().hits, f.cache_info().misses) == (0, 0)


def test_counts_of_a_function() -> None:
    f = sd.grad(lambda x: np.sum(np.sin(x)))
    for _ in range(5):
        f(X)
    info = f.cache_info()
    assert (info.entries, info.hits, info.misses) == (1, 2, 1) and info.bound == sd.config.cache_size
    assert (info.traced, info.replayed) == (3, 2)
    f(np.zeros(4)), f(np.zeros(4))
    assert f.cache_info().entries == 2 and len(f.cache_info().reasons) == 2
    assert "other shapes" in f.cache_info().reasons[1]
    f.cache_clear()
    info = f.cache_info()
    assert (info.entries, info.hits, info.misses, info.reasons) == (0, 0, 0, ())
    f(X), f(X)
    np.testing.assert_allclose(f(X), np.cos(X))


def test_counts_of_a_function_that_is_traced() -> None:
    f = sd.grad(lambda x: np.sum(np.sin(x)))
    with sd.config(replay="never"):
        for _ in range(4):
            f(X)
    info = f.cache_info()
    assert (info.entries, info.hits, info.misses, info.traced, info.replayed) == (1, 2, 1, 4, 0)


def test_clearing_everything_forgets_recorded_calls() -> None:
    f = sd.grad(lambda x: np.sum(np.sin(x)))
    for _ in range(4):
        f(X)
    sd.cache_clear()
    for _ in range(4):
        f(X)
    assert sd.cache_info().replayed == 1 and f.cache_info().replayed == 2


def test_clearing_one_function_leaves_the_others() -> None:
    f, g = sd.grad(lambda x: np.sum(np.sin(x))), sd.grad(lambda x: np.sum(np.cos(x)))
    for _ in range(4):
        f(X), g(X)
    f.cache_clear()
    hits = g.cache_info().hits
    g(X)
    assert g.cache_info().hits == hits + 1


def test_compiled_functions_compile_at_the_first_call() -> None:
    @sd.compile
    def loss(w: Any) -> Any:
        """A loss."""
        return np.sum(np.tanh(w) ** 2)

    sd.cache_clear()
    for k in range(3):
        w = sd.from_numpy(X.copy()).requires_grad_()
        out = loss(w)
        out.backward()
        np.testing.assert_allclose(w.grad.numpy(), 2 * np.tanh(X) * (1 - np.tanh(X) ** 2))
        assert (sd.cache_info().misses, sd.cache_info().hits) == (1, k)
    assert loss.__name__ == "loss" and loss.__doc__ == "A loss."
    assert isinstance(loss(X), np.floating)


def test_generated_code_is_found_by_inspect_and_linecache() -> None:
    with sd.config(compile_after=1):
        loss = graph()
        loss.backward()
    executable = loss.grad_fn.site.executables[0]
    text = inspect.getsource(executable.run)
    assert text.strip() == executable.source.strip()
    name = executable.run.__code__.co_filename
    assert linecache.getlines(name)
    linecache.checkcache()
    assert linecache.getlines(name)
