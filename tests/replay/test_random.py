"""Random numbers in replayed gradient functions: drawn afresh on each call, the stream that eager calls would see."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff import nn
from srcdiff.nn import functional

X = np.array([0.5, -1.0, 2.0, 0.25, 1.5, -0.75])
A = np.ones(6)
dropout = nn.Dropout(0.4)
own = sd.Generator()


@pytest.fixture(autouse=True)
def automatic() -> Iterator[None]:
    """Replays are on, and give the same bits."""
    with sd.config(replay="auto", exact=True):
        yield


def chosen_at_random(x: Any) -> Any:
    return np.sum(x * sd.rand(6)) if sd.rand(()) > 0.5 else np.sum(x**2)


def dropped_twice(x: Any) -> Any:
    h = functional.dropout(np.tanh(x), 0.5)
    return np.sum(functional.dropout(h * x, 0.25) * x)


def with_an_eager_tensor_that_is_written(x: Any) -> Any:
    noise = sd.randn(6)
    noise.mul_(2.0)
    return np.sum(x * noise)


def with_a_view(x: Any) -> Any:
    noise = sd.rand(2, 6)
    return np.sum(x * noise[0] + noise[1] ** 2)


def of_the_default_dtype(x: Any) -> Any:
    return np.sum(x * sd.rand(6, dtype=sd.float64)) + sd.rand(6).sum()


def random_constant(x: Any) -> Any:
    return np.sum(x * functional.dropout(A, 0.5))


#: functions of one array, and whether they are replayed
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], bool]] = {
    "uniform": (lambda x: (x * sd.rand(6)).sum(), True),
    "normal": (lambda x: np.sum(np.sin(x + sd.randn(6, dtype=sd.float64))), True),
    "dropout": (lambda x: functional.dropout(x, 0.5).sum(), True),
    "module": (lambda x: np.sum(dropout(x) ** 2), True),
    "like": (lambda x: np.sum(x * sd.randn_like(x)), True),
    "integers": (lambda x: np.sum(x[sd.randint(0, 6, (3,))]), True),
    "permuted": (lambda x: np.sum(x[sd.randperm(6)] * A), True),
    "two": (dropped_twice, True),
    "branch": (chosen_at_random, True),
    "written": (with_an_eager_tensor_that_is_written, False),
    "view": (with_a_view, True),
    "dtype": (of_the_default_dtype, True),
    "constant": (random_constant, False),
    "computed": (lambda x: np.sum(x * sd.bernoulli(sd.full((6,), 0.5))), False),
    "own generator": (lambda x: np.sum(x * sd.rand(6, generator=own)), False),
    "reseeded": (lambda x: np.sum(x * sd.rand(6)) + 0 * sd.manual_seed(3).initial_seed(), False),
    "plain": (lambda x: np.sum(x * sd.rand(6).numpy()), False),
    "gumbel": (lambda x: np.sum(functional.gumbel_softmax(sd.ones(6)) * x), False),
}


def told(results: list[Any]) -> list[Any]:
    """Values, gradients and states as bytes."""
    return [[np.asarray(part).tobytes() for part in one] for one in results]


def run(function: Callable[..., Any], calls: list[tuple[Any, ...]], replay: Any) -> tuple[list[Any], Any, int]:
    """What the calls give, the states of the streams after each of them, and how many were replayed."""
    step = sd.value_and_grad(function)
    sd.manual_seed(7)
    own.manual_seed(8)
    found = []
    with sd.config(replay=replay):
        for args in calls:
            try:
                value, gradient = step(*args)
            except FloatingPointError:
                value, gradient = 0.0, 0.0
            found.append((value, gradient, sd.get_rng_state(), own.get_state()))
    return told(found), step, step.cache_info().replayed


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_stream_is_that_of_eager_calls(name: str) -> None:
    function, replayable = FUNCTIONS[name]
    calls = [(X + k,) for k in range(20)]
    eager, _, _ = run(function, calls, "never")
    replayed, step, count = run(function, calls, "auto")
    assert replayed == eager
    assert count >= 3 if replayable else count == 0, step.explain(X)


def test_calls_that_no_entry_serves_draw_once() -> None:
    """Other shapes, paths and numbers between calls that are replayed."""

    def function(x: Any, scale: float) -> Any:
        noise = sd.rand(x.shape[0])
        h = x * noise * scale
        return np.sum(h**2) if np.sum(h) > 0.5 else np.sum(h)

    calls = [(np.resize(X, 3 + k % 2 * (k // 10)), 1.0 + k % 3) for k in range(60)]
    eager, _, _ = run(function, calls, "never")
    replayed, step, count = run(function, calls, "auto")
    assert replayed == eager and count > 10, step.cache_info()


def test_a_warning_midway_gives_the_numbers_back() -> None:
    def function(x: Any) -> Any:
        return np.sum(sd.rand(6) / x)

    calls = [(X,)] * 6 + [(X * 0,), (X,), (X * 0,), (X,)]
    with np.errstate(all="ignore"):
        eager, _, _ = run(function, calls, "never")
        assert run(function, calls, "auto")[0] == eager
    with np.errstate(all="raise"):
        eager, _, _ = run(function, calls, "never")
        assert run(function, calls, "auto")[0] == eager


def test_every_replay_compared() -> None:
    calls = [(X + k,) for k in range(12)]
    eager, _, _ = run(dropped_twice, calls, "never")
    with sd.config(check_replay=2):
        assert run(dropped_twice, calls, "auto")[0] == eager


def test_looking_inside_draws_nothing_for_the_replay() -> None:
    step = sd.grad(dropped_twice)
    for _ in range(6):
        step(X)
    sd.manual_seed(1)
    traced = sd.grad(dropped_twice)
    with sd.config(replay="never"):
        traced.explain(X)
    expected = sd.get_rng_state()
    sd.manual_seed(1)
    assert "replayed" in step.explain(X)
    np.testing.assert_array_equal(sd.get_rng_state(), expected)


def test_another_default_dtype_is_another_call() -> None:
    step = sd.value_and_grad(lambda x: sd.rand(6).sum() * np.sum(x))
    values = []
    try:
        for k in range(12):
            sd.set_default_dtype(sd.float64 if k // 3 % 2 else sd.float32)
            sd.manual_seed(k)
            found = step(X)
            sd.manual_seed(k)
            with sd.config(replay="never"):
                expected = sd.value_and_grad(lambda x: sd.rand(6).sum() * np.sum(x))(X)
            assert told([found]) == told([expected])
            values.append(np.asarray(found[0]).dtype)
    finally:
        sd.set_default_dtype(sd.float32)
    assert step.cache_info().replayed >= 2


def test_a_module_that_is_put_in_evaluation() -> None:
    layer = nn.Dropout(0.5)
    step = sd.value_and_grad(lambda x: np.sum(layer(x)))
    for k in range(20):
        layer.train(k % 7 < 5)
        sd.manual_seed(k)
        found, state = step(X), sd.get_rng_state()
        sd.manual_seed(k)
        with sd.config(replay="never"):
            expected = sd.value_and_grad(lambda x: np.sum(layer(x)))(X)
        assert told([found]) == told([expected])
        np.testing.assert_array_equal(state, sd.get_rng_state())


def test_steps_inside_which_gradients_draw() -> None:
    """A step that calls a gradient function with dropout, which is replayed alone where the step is not."""
    inner = sd.value_and_grad(dropped_twice)

    def both(replay: Any) -> list[Any]:
        sd.manual_seed(3)
        step = sd.compile(lambda x: inner(x))
        with sd.config(replay=replay):
            return told([step(X + k) for k in range(8)])

    assert both("auto") == both("never")
