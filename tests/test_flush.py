"""Denormal numbers taken for zero, by choice: alike for eager tensors, traced and replayed calls."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff import flush

TINY = {np.float32: 1e-30, np.float64: 1e-290}
SMALL = {np.float32: 1e-10, np.float64: 1e-20}


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    if not sd.set_flush_denormal(False):
        pytest.skip("the control register of this processor is not known")
    yield
    sd.set_flush_denormal(False)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("on", [True, False])
def test_denormal_results_and_operands_are_zero(dtype: Any, on: bool) -> None:
    x = np.full((4, 4), TINY[dtype], dtype)
    denormal = x * dtype(SMALL[dtype])
    assert 0 < denormal[0, 0] < np.finfo(dtype).tiny
    assert sd.set_flush_denormal(on) is True
    values = [x * dtype(SMALL[dtype]), x @ (dtype(SMALL[dtype]) * np.eye(4, dtype=dtype)), denormal * dtype(2)]
    values += [np.einsum("ij,ij->j", x, np.full_like(x, SMALL[dtype])), np.sum(denormal, axis=0) * dtype(1)]
    for value in values:
        assert bool(np.count_nonzero(value) == 0) is on
    assert np.count_nonzero(x * 1) == 16  # normal numbers are what they are


def test_pythons_floats_too() -> None:
    small, factor = float("1e-300"), float("1e-20")
    assert small * factor > 0
    sd.set_flush_denormal(True)
    assert small * factor == 0
    sd.set_flush_denormal(False)
    assert small * factor > 0


@pytest.mark.parametrize("on", [True, False])
def test_gradients_of_every_kind_of_call(on: bool) -> None:
    factor = np.float32(1e-30)

    def loss(w: Any) -> Any:
        return np.sum(w * factor * np.float32(1e-10))

    w = np.ones(3, np.float32)
    fast = sd.grad(loss)
    for state in (not on, on, not on, on):
        sd.set_flush_denormal(state)
        expected = factor * np.float32(1e-10)
        assert bool(expected == 0) is state
        for _ in range(4):
            np.testing.assert_array_equal(fast(w), np.full(3, expected))
        leaf = sd.tensor(w, requires_grad=True)
        loss(leaf).backward()
        np.testing.assert_array_equal(leaf.grad.numpy(), np.full(3, expected))
    assert fast.cache_info().replayed > 0


def test_constants_are_not_computed_beforehand() -> None:
    """What is folded while a program is compiled must hold in either mode."""

    def loss(x: Any, scale: float) -> Any:
        small = 1e-200
        return np.sum(x * (small * scale)) * 1e10

    fast = sd.grad(loss)
    for state in (True, False, True, False):
        sd.set_flush_denormal(state)
        for _ in range(4):
            with sd.config(replay="never"):
                expected = sd.grad(loss)(np.ones(2), 1e-120)
            np.testing.assert_array_equal(fast(np.ones(2), 1e-120), expected)
            assert bool(expected[0] == 0) is state


def test_compiled_steps() -> None:
    def trained(on: bool) -> Any:
        sd.set_flush_denormal(on)
        w = sd.tensor([1.0], requires_grad=True)

        optimizer = sd.optim.SGD([w], lr=0.0)

        @sd.compile
        def step(x: Any) -> Any:
            loss = (w * x * 1e-10).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss.item()

        for _ in range(5):
            assert (step(sd.tensor([1e-30])) == 0) is on
        assert step.cache_info().replayed > 0
        return w.grad.numpy()[0]

    assert trained(True) == 0
    assert 0 < trained(False) < 1e-38
    assert trained(True) == 0


def test_other_threads_keep_their_mode() -> None:
    ready, checked = threading.Event(), threading.Event()
    seen = []

    def other() -> None:
        ready.wait(10)
        seen.append(float(np.multiply(np.full(3, 1e-30, np.float32), np.float32(1e-10))[0]))
        checked.set()

    thread = threading.Thread(target=other)
    thread.start()
    sd.set_flush_denormal(True)
    ready.set()
    assert checked.wait(10)
    thread.join()
    assert seen[0] > 0


@pytest.mark.parametrize("first", [True, False])
def test_threads_with_other_modes_share_no_calls(first: bool) -> None:
    """One thread records, compiles and replays in one mode; what another computes is right in its own."""
    factor = np.float32(1e-30)

    def constants(w: Any) -> Any:
        return np.sum(w * factor * np.float32(1e-10))

    def numbers(w: Any, scale: float) -> Any:
        return np.sum(w * (1e-200 * scale))

    cases: list[tuple[Any, tuple[Any, ...]]] = [
        (sd.grad(constants), (np.ones(3, np.float32),)), (sd.grad(numbers), (np.ones(3), 1e-120)),
    ]  # fmt: skip

    def check(mode: bool, found: list[bool]) -> None:
        assert sd.set_flush_denormal(mode)
        for gradient, args in cases:
            found += [bool(np.count_nonzero(gradient(*args)) == 0) is mode for _ in range(5)]

    for mode in (first, not first, first):
        found: list[bool] = []
        thread = threading.Thread(target=check, args=(mode, found))
        thread.start()
        thread.join()
        assert found == [True] * 10
    assert all(gradient.cache_info().replayed > 0 for gradient, _ in cases)


def test_a_thread_that_is_started_later_knows_its_mode() -> None:
    gradient = sd.grad(lambda w, scale: np.sum(w * (1e-200 * scale)))
    args = np.ones(3), 1e-120
    for _ in range(5):
        assert np.count_nonzero(gradient(*args)) == 3
    sd.set_flush_denormal(True)
    found = []

    def other() -> None:
        flushed = np.full(3, 1e-300) * 1e-20
        found.append(np.count_nonzero(gradient(*args)) == np.count_nonzero(flushed))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert found == [True]


@pytest.mark.parametrize("how", ["raise", "warn"])
@pytest.mark.parametrize("mode", [True, False])
def test_what_numpy_does_about_underflow_does_not_matter(how: Any, mode: bool) -> None:
    sd.set_flush_denormal(not mode)
    with np.errstate(all=how):
        assert sd.set_flush_denormal(mode) is True
    assert bool((np.full(3, 1e-300) * 1e-20).any()) is not mode


def test_an_unknown_platform_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flush.platform, "machine", lambda: "riscv64")
    assert sd.set_flush_denormal(True) is False
    assert np.full(3, 1e-30, np.float32)[0] * np.float32(1e-10) > 0


def test_a_register_that_is_somewhere_else_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flush, "_FLUSH", 0)
    assert sd.set_flush_denormal(True) is False
    environment = (ctypes.c_uint32 * 8)()
    ctypes.CDLL(None).fegetenv(environment)
    assert not environment[7] & (1 << 15 | 1 << 6)


def test_modes_are_true_and_false() -> None:
    with pytest.raises(TypeError, match="expects a bool, but got int"):
        sd.set_flush_denormal(1)  # type: ignore[arg-type]
