"""Replays from outside: each danger by itself, every call compared with tracing.

PYTEST_DONT_REWRITE: the functions are to be what is written.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import gc
import math
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import srcdiff as sd
from srcdiff.api.kinds import MOST_NEW
from srcdiff.api.player import MOST_STRAYS
from srcdiff.errors import ReplayError

G = 1.5
A = np.array([0.5, 1.5, -1.0])
COUNT = np.zeros(1)
LOG: list[Any] = []


@pytest.fixture(autouse=True)
def automatic() -> Iterator[None]:
    """Replays are on, everything read from outside is as above."""
    space = globals()
    before = {name: copy.deepcopy(space[name]) for name in ("G", "A", "COUNT", "LOG")}
    with sd.config(replay="auto"):
        yield
    space.update(before)


def x_of(k: int) -> Any:
    """Some data."""
    return np.random.default_rng(k).normal(size=3)


def same(a: Any, b: Any) -> None:
    """Types, dtypes, shapes and values to rounding."""
    if isinstance(a, (tuple, list)):
        assert type(a) is type(b) and len(a) == len(b)
        for p, q in zip(a, b, strict=True):
            same(p, q)
        return
    if isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            same(a[key], b[key])
        return
    assert type(a) is type(b)
    assert np.asarray(a).dtype == np.asarray(b).dtype and np.shape(a) == np.shape(b)
    np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)


class Pair:
    """A function with replays and without."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        self.step = sd.value_and_grad(function, **options)
        self.plain = sd.value_and_grad(function, **options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result = self.step(*args, **kwargs)
        with sd.config(replay="never"):
            expected = self.plain(*args, **kwargs)
        same(result, expected)
        return result

    def warm(self, *args: Any, **kwargs: Any) -> int:
        """Calls until replays are used; how many were replayed."""
        for _ in range(4):
            self(*args, **kwargs)
        return self.replayed

    @property
    def replayed(self) -> int:
        """Replayed calls."""
        return int(self.step.cache_info().replayed)

    def hits(self, *args: Any, **kwargs: Any) -> bool:
        """Whether this call is replayed; its result is compared in any case."""
        before = self.replayed
        self(*args, **kwargs)
        return self.replayed > before


def scaled(x: Any, y: Any = None, k: Any = 2, flag: Any = False) -> Any:
    out = np.sum(np.sin(x) * G * k)
    if y is not None:
        out = out + np.sum(y * x)
    return out * 2 if flag else out


# --------------------------------------------------------------------------------- what is outside changes


def test_the_fourth_call_is_the_first_replayed() -> None:
    pair = Pair(scaled)
    assert [pair.hits(x_of(k)) for k in range(6)] == [False, False, False, True, True, True]


@pytest.mark.parametrize("value", [2.5, 1, True, np.float64(1.5), -1.5, 2, np.array(1.5)])
def test_a_global_that_changes(value: Any) -> None:
    global G
    pair = Pair(scaled)
    assert pair.warm(x_of(0)) == 1
    G = value
    assert not pair.hits(x_of(1))
    G = 1.5
    assert pair.hits(x_of(2))


def test_signed_zeros_and_kinds_of_one_are_told_apart() -> None:
    global G

    def function(x: Any) -> Any:
        return np.sum(np.arctan2(x * 0.0, -np.ones(3) * G) + x * (G / 2))

    pair = Pair(function)
    for value in (0.0, -0.0, 1, 1.0, True):
        G = value
        for k in range(5):
            pair(x_of(k))


def test_an_array_from_outside_is_written_between_calls() -> None:
    pair = Pair(lambda x: np.sum(x * A))
    assert pair.warm(x_of(0)) == 1
    A[1] = 7.0
    assert not pair.hits(x_of(1))
    A[1] = 1.5
    assert pair.hits(x_of(1))


def test_arrays_in_defaults_and_tuples() -> None:
    inside = np.array([1.0, 2.0, 3.0])
    outer = (2.0, inside)

    def function(x: Any, w: Any = inside, *, c: Any = (inside, 2)) -> Any:
        return np.sum(x * w * c[0]) + np.sum(x * outer[1])

    pair = Pair(function)
    assert pair.warm(x_of(0)) == 1
    inside[0] = 5.0
    assert not pair.hits(x_of(1))


def test_functions_are_redefined_and_changed() -> None:
    space: dict[str, Any] = {"np": np}
    exec("def h(x, b=2.0, *, c=1.0): return x * b * c\ndef f(x): return np.sum(h(x) ** 2)", space)
    pair = Pair(space["f"])
    assert pair.warm(x_of(0)) == 1
    for change in (
        "h.__defaults__ = (3.0,)",
        "h.__kwdefaults__ = {'c': 0.5}",
        "h.__kwdefaults__['c'] = 4.0",
        "h.__code__ = (lambda x, b, *, c: x + b).__code__",
        "def h(x): return np.cos(x)",
        "f.__code__ = (lambda x: np.sum(x) * 7).__code__",
        "np = type('N', (), {'sum': staticmethod(lambda v: v.mean())})",
    ):
        exec(change, space)
        assert not pair.hits(x_of(1)), change


def test_a_variable_of_a_closure() -> None:
    factor = 2.0

    def function(x: Any) -> Any:
        return np.sum(x**2) * factor

    pair = Pair(function)
    assert pair.warm(x_of(0)) == 1
    factor = 3.0
    assert not pair.hits(x_of(0))


def test_closures_over_a_loop_variable() -> None:
    pairs = [Pair(lambda x, i=i: np.sum(x) * (i + 1)) for i in range(3)]
    late = [Pair(lambda x: np.sum(x) * (k + 1)) for k in range(3)]  # noqa: B023 - the last k is meant
    for pair in pairs + late:
        assert pair.warm(x_of(0)) == 1


def test_numpy_is_patched(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = Pair(lambda x: np.sum(np.tanh(x)))
    assert pair.warm(x_of(0)) == 1
    monkeypatch.setattr(np, "tanh", lambda v: v * 3)
    assert not pair.hits(x_of(0))
    assert pair(x_of(0))[1][0] == 3.0


def test_a_builtin_is_patched_or_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    space: dict[str, Any] = {"np": np}
    exec("def f(x): return np.sum(x) * pow(2, 3)", space)
    pair = Pair(space["f"])
    assert pair.warm(x_of(0)) == 1
    monkeypatch.setattr("builtins.pow", lambda a, b: 1)
    assert not pair.hits(x_of(0))
    monkeypatch.undo()
    assert pair.hits(x_of(0))
    space["pow"] = lambda a, b: 5
    assert not pair.hits(x_of(0))


def test_lambdas_made_afresh_are_traced() -> None:
    pair = Pair(lambda x, h: np.sum(h(x)))
    for k in range(6):
        pair(x_of(k), lambda v: v * k)  # noqa: B023
    assert pair.replayed == 0


# --------------------------------------------------------------------------------- arguments


def test_numbers_and_strings_are_constants() -> None:
    pair = Pair(scaled)
    assert pair.warm(x_of(0), None, 2) == 1
    for k in (2.0, True, np.int64(2)):
        assert not pair.hits(x_of(0), None, k)
    assert pair.hits(x_of(0), None, 2)
    assert not pair.hits(x_of(0), None, 2, True)
    assert not pair.hits(x_of(0), k=2)


def test_floats_differentiated_are_data() -> None:
    pair = Pair(lambda x, c: np.sin(x) * c, argnums=(0, 1))
    for k in range(6):
        _, gradient = pair(0.5 + k, 2.0 * k)
        assert type(gradient[0]) is float
    assert pair.replayed == 3
    assert not pair.hits(np.float64(0.5), 1.0)
    assert not pair.hits(0.5, np.array(1.0))


def test_complex_numbers_differentiated_are_data() -> None:
    pair = Pair(lambda z: np.abs(z) ** 2)
    for k in range(6):
        pair(1.0 + 2j * k)
    assert pair.replayed == 3


@pytest.mark.parametrize(
    "other",
    [
        x_of(1).astype(np.float32),
        np.ones(4),
        np.ones((3, 1)),
        np.array(0.5),
        np.float64(0.5),
        np.zeros(0),
        np.ones(3, np.complex128),
        np.ones(3).astype(">f8"),
    ],
)
def test_shapes_and_dtypes(other: Any) -> None:
    pair = Pair(lambda x, y: np.sum(x) * np.sum(np.real(y)))
    assert pair.warm(x_of(0), x_of(1)) == 1
    assert not pair.hits(x_of(0), other)
    assert pair.hits(x_of(2), x_of(3))


def test_subclasses_are_traced() -> None:
    class Mine(np.ndarray):
        pass

    pair = Pair(lambda x, y: np.sum(x * np.asarray(y)))
    for _ in range(5):
        pair(x_of(0), x_of(1).view(Mine))
    assert pair.replayed == 0


def test_views_strides_and_read_only_arrays() -> None:
    pair = Pair(lambda x, y: np.sum(np.cumsum(x) * y))
    assert pair.warm(x_of(0), x_of(1)) == 1
    whole = np.arange(12.0)
    assert pair.hits(whole[::4], whole[1::4])
    assert pair.hits(whole[:3], whole[1:4])
    assert pair.hits(whole[:3], whole[:3])
    assert pair.hits(whole[2::-1], np.broadcast_to(2.0, 3))
    frozen = x_of(3)
    frozen.flags.writeable = False
    assert pair.hits(frozen, frozen)


def test_structure_of_containers() -> None:
    def function(p: Any) -> Any:
        total = 0.0
        for key in p:
            total = total * 2 + (np.sum(p[key]) if isinstance(p, dict) else np.sum(key))
        return total

    pair = Pair(function)
    a, b = x_of(0), x_of(1)
    assert pair.warm({"a": a, "b": b}) == 1
    assert not pair.hits({"b": b, "a": a})
    assert not pair.hits([a, b])
    assert not pair.hits((a, b))
    assert not pair.hits({"a": a, "b": b, "c": a})
    assert pair.hits({"a": b, "b": b})


def test_keys_that_are_equal_but_not_the_same() -> None:
    pair = Pair(lambda p: sum(np.sum(p[k]) * (k / 2 + len(str_of(k))) for k in p))
    for key in (1, True, 1.0):
        for k in range(5):
            pair({key: x_of(k)})


def str_of(k: Any) -> str:
    return f"{k}"


def test_the_order_of_keywords() -> None:
    def function(x: Any, **kw: Any) -> Any:
        total = x
        for value in kw.values():
            total = total * 2 + value
        return np.sum(total)

    pair = Pair(function)
    assert pair.warm(x_of(0), a=1.0, b=2.0) == 1
    assert not pair.hits(x_of(0), b=2.0, a=1.0)


def test_argnums_and_argnames() -> None:
    pair = Pair(lambda x, y: np.sum(x * y**2), argnums=(1, 0))
    assert pair.warm(x_of(0), x_of(1)) == 1
    pair = Pair(lambda x, y: np.sum(x * y**2), argnames=("y", "x"))
    assert pair.warm(x_of(0), y=x_of(1)) == 1
    assert not pair.hits(x=x_of(0), y=x_of(1))


# --------------------------------------------------------------------------------- what is done


def test_arguments_that_are_written_are_written_once() -> None:
    def function(x: Any, y: Any) -> Any:
        y += 1.0
        return np.sum(x * y)

    step, y = sd.grad(function), np.zeros(3)
    for k in range(6):
        step(x_of(k), y)
        np.testing.assert_array_equal(y, k + 1.0)
    assert step.cache_info().replayed == 0


def test_arrays_outside_that_are_written_are_written_once() -> None:
    def function(x: Any) -> Any:
        COUNT[0] += 1.0
        return np.sum(x)

    step = sd.grad(function)
    for k in range(6):
        step(x_of(k))
        assert COUNT[0] == k + 1.0
    assert step.cache_info().replayed == 0
    assert "array from outside" in str(step._player.refused or step._player.failures)


def test_a_function_that_keeps_values() -> None:
    step = sd.grad(lambda x: LOG.append(1) or np.sum(x))  # type: ignore[func-returns-value]
    for k in range(6):
        step(x_of(k))
    assert len(LOG) == 6


def test_results_share_no_memory_with_anything() -> None:
    c = np.array([1.0, 2.0, 3.0])
    step = sd.grad(lambda x, y: np.sum(x * c) + np.sum(x * y), argnums=(0, 1))
    step_of_one = sd.grad(lambda x, y: np.sum(x * y))
    for _ in range(6):
        x, y = x_of(0), x_of(1)
        for found in (*step(x, y), step_of_one(x, y)):
            assert not any(np.shares_memory(found, other) for other in (x, y, c))
            assert found.flags.writeable
            found[...] = 777.0
        np.testing.assert_array_equal(step(x, y)[1], x)


def test_branches_on_values() -> None:
    def function(x: Any) -> Any:
        if 0 < x[0] < 1:
            return np.sum(x**2)
        return np.sum(x) if np.any(x > 2) else np.sum(np.sin(x))

    pair = Pair(function)
    for k in range(60):
        pair(x_of(k) * 2)
    assert pair.replayed > 40


def test_a_loop_of_a_length_that_depends_on_data() -> None:
    def function(x: Any) -> Any:
        while np.sum(x * x) > 1:
            x = x * 0.9
        return np.sum(x)

    pair = Pair(function)
    for k in range(40):
        pair(x_of(k) * 5)
    for _ in range(10):
        pair(x_of(3) * 3)


def test_a_loop_whose_length_never_comes_back_is_traced_after_few_recordings() -> None:
    def function(x: Any) -> Any:
        while np.sum(x * x) > 1.0:
            x = x * 0.99
        return np.sum(x)

    step = sd.grad(function)
    recorded: list[int] = []
    for k in range(60):
        x = np.ones(3) * 1.02**k
        np.testing.assert_allclose(step(x), _scaled_down(x), rtol=1e-12)
        recorded.append(step.cache_info().misses)
        if k == 1:
            (first,) = step._player.entries
        assert k < 1 or (first in step._player.entries) == (k < 1 + MOST_STRAYS)
    assert step._player.entries == [] and step.cache_info().replayed == 0
    assert "paths through its branches" in step.explain(np.ones(3))
    assert recorded[0] == 0 and recorded[1] == 1 and recorded[2:] == sorted(recorded[2:])
    (kind,) = step._player.kinds.values()
    assert (kind.recorded, kind.new) == (1, MOST_NEW) and recorded[-1] == 1


def test_a_path_that_comes_back_is_replayed_though_others_never_do() -> None:
    def function(x: Any) -> Any:
        while np.sum(x * x) > 1.0:
            x = x * 0.99
        return np.sum(x)

    step = sd.grad(function)
    for k in range(120):
        x = np.ones(3) * (0.1 if k % 3 else 1.02 ** (k + 1))
        np.testing.assert_allclose(step(x), _scaled_down(x), rtol=1e-12)
    assert "paths through its branches" in next(iter(step._player.traced_only.values()))
    (entry,) = step._player.entries
    assert entry.outcomes == (False,)
    before = step.cache_info().replayed
    assert before > 70
    step(np.zeros(3))
    assert step.cache_info().replayed == before + 1


def test_a_long_path_is_recorded_when_it_is_watched_for_the_second_time() -> None:
    """After one that was recorded for nothing."""

    def function(x: Any) -> Any:
        while np.sum(x * x) > 1.0:
            x = x * 0.9
        return np.sum(x)

    step = sd.value_and_grad(function)
    recorded = []
    for k in range(12):
        x = np.full(3, 20.0 if k < 2 else 30.0 + 1e-3 * k)
        value, gradient = step(x)
        (kind,) = step._player.kinds.values()
        recorded.append((kind.recorded, kind.new))
        np.testing.assert_allclose(value, np.sum(x * gradient), rtol=1e-12)
    assert recorded == [(0, 0), (1, 0), (1, 0), (1, 1), (1, 1), *[(2, 1)] * 7]
    assert step.cache_info().replayed == 5


def _scaled_down(x: Any) -> Any:
    scale = 1.0
    while np.sum((x * scale) ** 2) > 1.0:
        scale *= 0.99
    return np.full(3, scale)


def test_unpacking_sorting_and_extremes() -> None:
    def function(x: Any) -> Any:
        a, *rest = sorted(x)
        return max(x) * 2 + min(x) + a * rest[0] + x[np.argmax(x)]

    pair = Pair(function)
    for k in range(40):
        pair(x_of(k))
    assert pair.replayed > 5


def test_membership_and_lookup_by_value_are_traced() -> None:
    table = (0.5, 1.0)

    def function(x: Any, y: Any) -> Any:
        return np.sum(x) * (2 if y in table else 3) * {0.5: 4, 2.0: 5}.get(y, 6)

    pair = Pair(function)
    for y in (0.5, 0.5, 0.5, 0.5, 2.0, 7.0, 1.0, 0.5):
        pair(x_of(0), np.float64(y))


def test_data_that_selects() -> None:
    pair = Pair(lambda x, i, m: np.sum(x[i]) + np.sum(np.where(m, x, 0.0)) + np.sum(x[i[0]] * i))
    for k in range(8):
        i = np.random.default_rng(k).integers(0, 3, size=4)
        pair(x_of(k), i, x_of(k) > 0) if i.size == 3 else None
        pair(x_of(k), i[:3], x_of(k) > 0)


def test_masks_that_select_are_traced() -> None:
    pair = Pair(lambda x, y: np.sum(x[y > 0] ** 2))
    for k in range(8):
        pair(x_of(k), x_of(k + 1))
    assert pair.replayed == 0


def test_in_place_writes_of_values() -> None:
    def function(x: Any, y: Any) -> Any:
        z = x + y
        z[1:] += y[:2]
        v = y * 1.0
        v[1:] *= y[0]
        v += 1
        w = z[::-1]
        w *= 2.0
        z[0] = y[1]
        u = np.zeros_like(x)
        u[2] = np.sum(z)
        return np.sum(z * x * v) + u[2]

    pair = Pair(function)
    assert pair.warm(x_of(0), x_of(1)) == 1
    for k in range(10):
        assert pair.hits(x_of(k), x_of(k + 20))


def test_nested_gradients() -> None:
    inner = sd.grad(lambda v: np.sum(v**3))
    pair = Pair(lambda x: np.sum(inner(x) * x))
    assert pair.warm(x_of(0)) == 1
    inner.__dict__["size"] = 2
    assert pair.hits(x_of(1))


def test_methods_partials_and_aux_are_traced() -> None:
    class Model:
        w = 2.0

        def loss(self, x: Any) -> Any:
            return np.sum(x) * self.w

    model = Model()
    for function in (model.loss, functools.partial(scaled, k=3)):
        step = sd.grad(function)
        for k in range(5):
            step(x_of(k))
            model.w += 1.0
        np.testing.assert_array_equal(sd.grad(model.loss)(x_of(0)), model.w)
    step = sd.grad(lambda x: (np.sum(x), x * 2), has_aux=True)
    for k in range(5):
        np.testing.assert_array_equal(step(x_of(k))[1], x_of(k) * 2)


# --------------------------------------------------------------------------------- errors, warnings, modes


def test_errors_are_those_of_tracing() -> None:
    def function(x: Any, y: Any) -> Any:
        assert np.sum(y) < 5.0, "too much"
        if x[0] > 3:
            raise ValueError(f"no more than {3}")
        return np.sum(np.linalg.inv(np.outer(y, y) + np.eye(3) * y[0]) @ x)

    step = sd.grad(function)
    for _ in range(5):
        step(np.ones(3), np.ones(3))
    assert step.cache_info().replayed == 2
    with pytest.raises(AssertionError, match="too much"):
        step(np.ones(3), np.full(3, 9.0))
    with pytest.raises(ValueError, match="no more than 3"):
        step(np.full(3, 9.0), np.ones(3))
    with pytest.raises(np.linalg.LinAlgError):
        step(np.ones(3), np.zeros(3))
    before = step.cache_info().replayed
    step(np.ones(3), np.ones(3))
    assert step.cache_info().replayed == before + 1


def test_unused_work_that_raises() -> None:
    def function(x: Any, y: Any) -> Any:
        np.linalg.inv(y)
        return np.sum(x)

    step = sd.grad(function)
    for _ in range(5):
        step(np.ones(3), np.eye(3))
    assert step.cache_info().replayed == 2
    with pytest.raises(np.linalg.LinAlgError):
        step(np.ones(3), np.zeros((3, 3)))


def test_warnings_are_those_of_tracing() -> None:
    step = sd.grad(lambda x: np.sum(np.log(x)))
    for _ in range(5):
        step(np.ones(3))
    assert step.cache_info().replayed == 2
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        step(np.zeros(3))
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        step(np.zeros(3))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        before = step.cache_info().replayed
        np.testing.assert_array_equal(step(np.zeros(3)), np.inf)
        assert step.cache_info().replayed == before + 1


def test_an_interrupt_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = Pair(scaled)
    pair(x_of(0))
    interrupted = False

    def interrupt(*args: Any) -> Any:
        nonlocal interrupted
        interrupted = True
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("srcdiff.replay.recorder.Recorder.note", interrupt)
        with pytest.raises(KeyboardInterrupt):
            pair.step(x_of(0))
    assert interrupted
    assert pair.warm(x_of(1)) >= 1


def test_options_that_change_what_is_computed() -> None:
    pair = Pair(scaled)
    assert pair.warm(x_of(0)) == 1
    with sd.config(replay="never"):
        assert not pair.hits(x_of(0))
    with sd.config(exact=True):
        assert not pair.hits(x_of(0))
    with sd.config(backend="interpret"):
        assert not pair.hits(x_of(0))
    assert pair.hits(x_of(0))


def test_nothing_is_replayed_while_a_tracer_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = Pair(scaled)
    assert pair.warm(x_of(0)) == 1
    monkeypatch.setattr(sys, "gettrace", lambda: print)
    assert not pair.hits(x_of(0))


def test_modes_that_need_every_operation() -> None:
    pair = Pair(scaled)
    assert pair.warm(x_of(0)) == 1
    with sd.autograd.detect_anomaly():
        assert not pair.hits(x_of(0))
    with sd.no_grad():
        assert pair.hits(x_of(0))


def test_threads_share_a_gradient() -> None:
    def function(x: Any, y: Any) -> Any:
        return np.sum(x * y) if x[0] > 0 else np.sum(np.sin(x) * y)

    step, plain = sd.value_and_grad(function), sd.value_and_grad(function)
    problems: list[Any] = []

    def work(seed: int) -> None:
        try:
            with sd.config(replay="auto"):
                for k in range(150):
                    x, y = x_of(seed * 1000 + k), x_of(k)
                    found = step(x, y)
                    with sd.config(replay="never"):
                        same(found, plain(x, y))
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    for first in (1.0, -1.0):  # however the threads took turns, both branches are known now
        before = step.cache_info().replayed
        for _ in range(5):
            step(np.full(3, first), x_of(0))
        assert step.cache_info().replayed >= before + 2


# --------------------------------------------------------------------------------- explain, check, always


def test_explain_says_how_a_call_runs() -> None:
    step = sd.grad(scaled)
    assert "0 calls like this one were seen" in step.explain(x_of(0))
    for k in range(4):
        step(x_of(k))
    assert "forward   replayed: forward and backward run as one generated function" in step.explain(x_of(0))
    assert "0 calls like this one were seen" in step.explain(x_of(0), k=5)
    with sd.config(replay="never"):
        assert "forward   traced: your function runs on every call, as written\n" in step.explain(x_of(0))


def test_explain_says_why_a_call_is_traced() -> None:
    def function(x: Any) -> Any:
        LOG.append(1)
        return np.sum(x)

    step = sd.grad(function)
    line = function.__code__.co_firstlineno + 1
    for k in range(3):
        step(x_of(k))
    assert f"as written, because test_player.py:{line}: LOG is changed, which is seen outside" in step.explain(x_of(0))
    aux = sd.grad(lambda x: (np.sum(x), 1), has_aux=True)
    assert "because functions with aux values are" in aux.explain(x_of(0))
    masked = sd.grad(lambda x: np.sum(np.unique(x)))
    for k in range(4):
        masked(x_of(k))
    assert "test_player.py" in masked.explain(x_of(0)) and "reads a value" in masked.explain(x_of(0))


def test_check_replay_compares_and_raises() -> None:
    step = sd.grad(scaled)
    for k in range(5):
        step(x_of(k))
    with sd.config(check_replay=2):
        before = step.cache_info()
        for k in range(4):
            step(x_of(k))
        after = step.cache_info()
        assert (after.traced - before.traced, after.replayed - before.replayed) == (2, 2)
    with sd.config(check_replay=1):
        entry = step._player.entries[0]
        names = entry.enter.__globals__
        run = names["step"]
        names["step"] = lambda *values: tuple(out * 1.5 for out in run(*values))
        with pytest.raises(ReplayError, match="scaled gave another result than tracing"):
            step(x_of(1))
    assert step._player.refused is not None
    np.testing.assert_allclose(step(x_of(0)), np.cos(x_of(0)) * 3)


def test_always_takes_the_callers_word() -> None:
    calls = []

    def function(x: Any) -> Any:
        calls.append(1)
        return np.sum(x**2)

    with sd.config(replay="always"):
        step = sd.grad(function)
        for k in range(8):
            np.testing.assert_array_equal(step(x_of(k)), x_of(k) * 2)
    assert step.cache_info().replayed == 5
    assert len(calls) == 4


def test_a_cleared_cache_starts_anew() -> None:
    pair = Pair(scaled)
    assert pair.warm(x_of(0)) == 1
    pair.step.cache_clear()
    assert not pair.hits(x_of(0))
    assert pair.warm(x_of(0)) >= 1


def test_an_integer_taken_out_decides_the_path() -> None:
    """Each value of `int(...)` is a path of its own, compared on every call."""

    def function(x: Any) -> Any:
        total = 0.0
        for k in range(int(np.argmax(x))):
            total = total + x[k] ** 2
        return total + [1.0, 2.0, 3.0, 4.0][np.argmin(x)] * np.sum(x)

    gradient, rng = sd.value_and_grad(function), np.random.default_rng(0)
    for _ in range(60):
        x = np.eye(3)[rng.integers(3)] - 2 * np.eye(3)[rng.integers(3)]
        value, slopes = gradient(x)
        with sd.config(replay="never"):
            expected, other = sd.value_and_grad(function)(x)
        assert value == expected
        np.testing.assert_array_equal(slopes, other)
    assert gradient.cache_info().replayed > 10


class _Layer:
    """What functions make of arrays."""

    kind = 2.0

    def __init__(self, w: Any) -> None:
        self.w, self.calls = w, 0

    def __call__(self, x: Any) -> Any:
        self.calls = self.calls + 1
        return np.tanh(x @ self.w) * self.kind * self.calls


def test_instances_that_are_made_in_the_call() -> None:
    def function(w: Any) -> Any:
        layer = _Layer(w)
        return np.sum(layer(layer(np.ones((2, 3)))))

    gradient, w = sd.grad(function), np.full((3, 3), 0.25)
    expected = [gradient(w) for _ in range(5)][-1]
    assert gradient.cache_info().replayed == 2
    _Layer.kind = 3.0
    try:
        with sd.config(replay="never"):
            other = sd.grad(function)(w)
        np.testing.assert_allclose(gradient(w), other)
        assert not np.allclose(other, expected)
    finally:
        _Layer.kind = 2.0


def test_instances_from_outside_that_methods_write_are_traced() -> None:
    layer = _Layer(np.eye(3))
    gradient = sd.grad(lambda x: np.sum(layer(x)))
    for _ in range(5):
        gradient(np.ones(3))
    assert layer.calls == 5 and gradient.cache_info().replayed == 0


class _Model:
    """What functions read from outside."""

    def __init__(self) -> None:
        self.scale, self.layers = 2.0, [np.eye(3), 2 * np.eye(3)]

    def value(self, x: Any) -> Any:
        for layer in self.layers:
            x = np.sin(x @ layer) * self.scale
        return np.sum(x)


def test_instances_from_outside_are_read_again_on_every_call() -> None:
    model = _Model()
    gradient, x = sd.grad(lambda x: model.value(x)), np.ones(3)

    def check() -> None:
        with sd.config(replay="never"):
            expected = sd.grad(lambda x: model.value(x))(x)
        for _ in range(4):
            np.testing.assert_allclose(gradient(x), expected)

    check()
    assert gradient.cache_info().replayed == 1
    model.scale = 3.0
    check()
    model.layers[0] = 4 * np.eye(3)
    check()
    model.layers[0][0, 0] = 5.0
    check()
    model.layers.append(np.ones((3, 3)))
    check()
    model.value = lambda x: np.sum(x) * 7  # type: ignore[method-assign]
    check()
    assert gradient.cache_info().replayed >= 5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_that_change_become_inputs(dtype: Any) -> None:
    """A rate and a step count: one program for all values, computed as Python computes."""

    def function(w: Any, rate: float, options: dict[str, float]) -> Any:
        scale = rate / (1 - 0.9 ** options["step"]) - 2.0 * -rate
        if rate > 0.5:
            scale = scale + 1
        return np.sum(np.tanh(w) * scale) + np.sum(np.sqrt(np.maximum(w, rate)))

    gradient, w = sd.value_and_grad(function), np.linspace(-1, 1, 5).astype(dtype)
    for k in range(40):
        args = (w, 1.0 / (k % 7 + 1), {"step": float(k + 1)})
        value, slope = gradient(*args)
        with sd.config(replay="never"):
            expected, other = sd.value_and_grad(function)(*args)
        assert type(value) is type(expected) and slope.dtype == dtype
        np.testing.assert_allclose(value, expected, rtol=20 * np.finfo(dtype).eps)
        np.testing.assert_allclose(slope, other, rtol=20 * np.finfo(dtype).eps)
    info = gradient.cache_info()
    assert info.replayed > 25 and len(gradient._player.entries) <= 4, info


@pytest.mark.parametrize(
    "use",
    [
        lambda w, rate: np.sum(w) * np.sqrt(rate),
        lambda w, rate: np.sum(w) * math.exp(rate),
        lambda w, rate: np.sum(w) * len(f"{rate}"),
        lambda w, rate: np.sum(w) * {1.0: 2}.get(rate, 3),
        lambda w, rate: np.sum(w * np.array([rate, 1.0, 2.0])),
        lambda w, rate: np.sum(w) * round(rate, 1),
        lambda w, rate: np.sum(w * rate) if rate else np.sum(w),
        lambda w, rate: np.sum(w) ** rate,
        lambda w, rate: np.sum(w) * max(rate, 0.3) * (rate // 0.25),
    ],
)
def test_whatever_is_done_with_a_number_that_changes(use: Any) -> None:
    gradient, w = sd.value_and_grad(use), np.array([0.5, 1.0, 1.5])
    for k in range(24):
        rate = 1.0 / (k % 6 + 1)
        value, slope = gradient(w, rate)
        with sd.config(replay="never"):
            expected, other = sd.value_and_grad(use)(w, rate)
        np.testing.assert_allclose(value, expected, rtol=1e-14)
        np.testing.assert_allclose(slope, other, rtol=1e-14)


class _Spring:
    """Methods under transformations."""

    def __init__(self, stiffness: float) -> None:
        self.stiffness = stiffness

    @sd.grad
    def force(self, x: Any) -> Any:
        return self.energy(x)

    def energy(self, x: Any) -> Any:
        return 0.5 * self.stiffness * np.sum(np.diff(x) ** 2)


def test_methods_are_replayed_for_each_instance() -> None:
    soft, hard, x = _Spring(1.0), _Spring(10.0), np.array([0.0, 1.0, 3.0])
    for _ in range(5):
        np.testing.assert_array_equal(soft.force(x) * 10, hard.force(x))
    replayed = _Spring.__dict__["force"].cache_info().replayed
    assert replayed == 4
    soft.stiffness = 2.0
    np.testing.assert_array_equal(soft.force(x), [-2.0, -2.0, 4.0])
    soft.energy = lambda x: np.sum(x)  # type: ignore[method-assign]
    np.testing.assert_array_equal(soft.force(x), np.ones(3))


def test_instances_are_freed_though_their_methods_were_replayed() -> None:
    spring, x = _Spring(1.0), np.arange(3.0)
    for _ in range(5):
        spring.force(x)
    gone = weakref.ref(spring)
    del spring
    gc.collect()
    assert gone() is None


@dataclasses.dataclass
class _Params:
    """Arguments with names."""

    w: Any
    b: Any
    power: float = 2.0

    def out(self, x: Any) -> Any:
        return np.tanh(x @ self.w + self.b) * self.power


@dataclasses.dataclass(frozen=True)
class _Frozen:
    w: Any
    inner: Any


class _Pair(NamedTuple):
    first: Any
    second: Any


def test_dataclasses_and_named_tuples_among_the_arguments() -> None:
    def function(params: _Params, data: _Frozen, pair: _Pair) -> Any:
        return np.sum(params.out(data.w)) + np.sum(pair.first * data.inner["k"]) * pair.second

    gradient = sd.value_and_grad(function, argnums=(0, 2))
    plain = sd.value_and_grad(function, argnums=(0, 2))
    rng = np.random.default_rng(0)
    for k in range(8):
        params = _Params(rng.normal(size=(3, 2)), rng.normal(size=2), 2.0 if k < 5 else 3.0)
        args = (params, _Frozen(rng.normal(size=(4, 3)), {"k": 2.0}), _Pair(rng.normal(size=3), 1.5))
        value, (of_params, of_pair) = gradient(*args)
        with sd.config(replay="never"):
            expected, (other, other_pair) = plain(*args)
        assert type(of_params) is _Params and type(of_pair) is _Pair
        np.testing.assert_allclose(value, expected)
        for field in ("w", "b", "power"):
            np.testing.assert_allclose(getattr(of_params, field), getattr(other, field))
        np.testing.assert_allclose(of_pair.first, other_pair.first)
        np.testing.assert_allclose(of_pair.second, other_pair.second)
    assert gradient.cache_info().replayed >= 3


def test_a_dataclass_with_more_than_its_fields_is_traced() -> None:
    gradient = sd.grad(lambda w, p: np.sum(w * p.extra))
    for k in range(5):
        params = _Params(np.ones(2), 0.0)
        params.extra = float(k)  # type: ignore[attr-defined]
        np.testing.assert_array_equal(gradient(np.ones(2), params), np.full(2, float(k)))
