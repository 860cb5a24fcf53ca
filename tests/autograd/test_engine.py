"""Which compiled pass serves which graph: found again, bounded, least recently used first out; memory stays flat."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff.autograd.cache import STATS

Step = Callable[[int], None]


@pytest.fixture(autouse=True)
def _counts_from_zero() -> Iterator[None]:
    sd.cache_clear()
    yield
    sd.cache_clear()


def leaf(*shape: int, seed: int = 0) -> Any:
    return sd.from_numpy(np.random.default_rng(seed).normal(size=shape)).requires_grad_()


def rows(n: int, seed: int = 1) -> Any:
    return np.random.default_rng(seed).normal(size=(n, 4))


def growth(step: Step, iterations: int, warm: int = 200) -> tuple[int, int]:
    """Bytes that stay allocated and passes compiled while `step` runs, after the first `warm` iterations."""
    before = STATS.misses
    for k in range(warm):
        step(k)
    gc.collect()
    tracemalloc.start()
    try:
        for k in range(warm, warm + 100):
            step(k)
        gc.collect()
        start, _ = tracemalloc.get_traced_memory()
        for k in range(warm + 100, iterations):
            step(k)
        gc.collect()
        end, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return end - start, STATS.misses - before


def test_a_graph_is_walked_then_compiled_then_found() -> None:
    w = leaf(4)

    def step() -> None:
        w.grad = None
        np.sum(np.tanh(w) ** 2).backward()

    seen = []
    for _ in range(4):
        step()
        seen.append((STATS.walked, STATS.misses, STATS.hits))
    assert seen == [(1, 0, 0), (1, 1, 0), (1, 1, 1), (1, 1, 2)]
    info = sd.cache_info()
    assert (info.entries, info.hits, info.misses) == (1, 2, 1)


def test_the_reason_of_a_miss_names_the_place() -> None:
    for n in (3, 4):
        for _ in range(3):
            np.sum(np.sin(leaf(n))).backward()
    reasons = sd.cache_info().reasons
    assert len(reasons) == 2
    assert all("test_engine.py:" in reason for reason in reasons)
    assert "second time" in reasons[0] and "3 nodes" in reasons[0]


def test_another_path_is_a_reason() -> None:
    def f(x: Any, flag: bool) -> Any:
        h = np.sin(x)
        if flag:
            h = h * 2.0
        return np.sum(h)

    for flag in (True, False):
        for _ in range(3):
            f(leaf(3), flag).backward()
    assert "a different path of operations, or other shapes or dtypes (1 compiled" in sd.cache_info().reasons[-1]


def alternatives(count: int) -> Callable[[int], None]:
    """A step whose graph has one of `count` forms, all with one root site."""

    def step(k: int) -> None:
        x = leaf(3)
        h = x
        for _ in range(k % count):
            h = np.sin(h)
        np.sum(h * 1.0).backward()

    return step


def test_many_forms_at_one_root_are_all_found() -> None:
    step = alternatives(9)
    for k in range(27):
        step(k)
    assert STATS.misses == 9
    for k in range(27):
        step(k)
    assert STATS.misses == 9 and STATS.hits >= 27


def test_the_cache_is_bounded_and_the_least_recently_used_goes_first() -> None:
    step = alternatives(13)
    with sd.config(cache_size=6, compile_after=1):
        for k in range(2, 13):
            step(k)
            step(1)  # in use all the time
        assert STATS.misses == 12 and sd.cache_info().bound == 6
        assert sd.cache_info().entries <= 6
        for k in (12, 11, 10, 1):
            step(k)
        assert STATS.misses == 12
        step(2)
        assert STATS.misses == 13


def test_clearing_forgets_everything() -> None:
    step = alternatives(1)
    for k in range(3):
        step(k)
    assert sd.cache_info().entries == 1
    sd.cache_clear()
    gc.collect()
    info = sd.cache_info()
    assert (info.entries, info.hits, info.misses, info.reasons) == (0, 0, 0, ())
    step(0)


def test_a_graph_that_never_repeats_is_never_compiled() -> None:
    def step(n: int) -> None:
        h = leaf(2)
        for _ in range(n):
            h = np.sin(h)
        np.sum(h).backward()

    for n in range(30):
        step(n)
    assert (STATS.misses, STATS.walked) == (0, 30)


def test_large_graphs_are_walked() -> None:
    with sd.config(largest_graph=10, compile_after=1):
        for _ in range(3):
            x = h = leaf(2)
            for _ in range(20):
                h = h * 1.5
            np.sum(h).backward()
            np.testing.assert_allclose(x.grad.numpy(), np.full(2, 1.5**20))
    assert STATS.misses == 0


# ----------------------------------------------------------------------------------- a thousand iterations each, flat


def new_heads() -> Step:
    W, x = leaf(4, 3), rows(5)
    trunk = np.tanh(x @ W)
    trunk.sum().backward(retain_graph=True)

    def step(k: int) -> None:
        head = sd.from_numpy(np.full(3, 0.1 * k)).requires_grad_()
        W.grad = None
        np.sum(trunk @ head).backward(retain_graph=True)
        np.testing.assert_allclose(W.grad.numpy(), x.T @ ((1 - np.tanh(x @ W.numpy(force=True)) ** 2) * (0.1 * k)))

    return step


def jacobian_rows() -> Step:
    W, x = leaf(4, 7), rows(1)[0]
    y = np.tanh(x @ W)

    def step(k: int) -> None:
        i = k % 7
        (g,) = sd.autograd.grad(y[i], W, retain_graph=True)
        expected = np.zeros((4, 7))
        expected[:, i] = x * (1 - y.detach().numpy()[i] ** 2)
        np.testing.assert_allclose(g.numpy(), expected)

    return step


def varying_rows() -> Step:
    W = leaf(50, 3)

    def step(k: int) -> None:
        W.grad = None
        i = k % 50
        np.sum(W[i] ** 2).backward()
        assert np.count_nonzero(np.any(W.grad.numpy() != 0, axis=1)) == 1
        np.testing.assert_allclose(W.grad.numpy()[i], 2 * W.numpy(force=True)[i])

    return step


def metric_every_tenth() -> Step:
    W, x = leaf(4, 3), rows(5)

    def step(k: int) -> None:
        W.grad = None
        h = np.tanh(x @ W)
        loss = np.sum(h * h)
        if k % 10 == 0:
            _ = np.max(np.abs(h)) * 2.0
        loss.backward()

    return step


def last_smaller_batch() -> Step:
    W = leaf(4, 3)

    def step(k: int) -> None:
        W.grad = None
        np.mean((rows(3 if k % 8 == 7 else 8) @ W) ** 2).backward()

    return step


@pytest.mark.usefixtures("untraced")
@pytest.mark.parametrize("make", [new_heads, jacobian_rows, varying_rows, metric_every_tenth, last_smaller_batch])
def test_thousands_of_iterations_are_flat(make: Callable[[], Step]) -> None:
    grown, compiled = growth(make(), 2000)
    assert compiled <= 3
    # The interpreter's own caches move by up to some 20 kB whatever the count; one object kept per step is 80 kB.
    assert grown < 40_000


@pytest.mark.usefixtures("untraced")
def test_ten_thousand_training_steps_are_flat() -> None:
    rng = np.random.default_rng(0)
    x, target = rng.normal(size=(8, 4)), rng.normal(size=(8, 1))
    weights = [leaf(4, 5), leaf(5, seed=1), leaf(5, 1, seed=2)]

    def step(_: int) -> None:
        W1, b1, W2 = weights
        loss = np.mean((np.tanh(x @ W1 + b1) @ W2 - target) ** 2)
        loss.backward()
        with sd.no_grad():
            for w in weights:
                w -= 0.01 * w.grad
                w.grad.zero_()

    grown, compiled = growth(step, 10_000, warm=9_000)
    assert compiled == 1
    assert grown < 4_000


@pytest.mark.usefixtures("untraced")
def test_ten_thousand_calls_of_a_gradient_function_are_flat() -> None:
    f = sd.grad(lambda w, x: np.sum(np.tanh(x @ w) ** 2))
    w, x = rows(3)[0], rows(5)
    grown, compiled = growth(lambda _: f(w, x), 10_000, warm=9_000)
    assert compiled == 1
    assert grown < 4_000


def test_a_rate_that_varies_compiles_a_few_times_only() -> None:
    w = leaf(4)

    def step(k: int) -> None:
        w.grad = None
        np.sum(np.sin(w) * (1.0 / (k + 1))).backward()
        np.testing.assert_allclose(w.grad.numpy(), np.cos(w.numpy(force=True)) / (k + 1))

    for k in range(100):
        step(k)
    assert STATS.misses <= 3


# ------------------------------------------------------------------------------------------- one site, many questions


def test_different_questions_about_one_graph_do_not_mix() -> None:
    """All of these have one root site; each gets its own answer, whatever was compiled before."""

    def build() -> tuple[Any, Any, Any, Any]:
        x, y = leaf(3), leaf(3, seed=1)
        h = x * y
        return x, y, h, np.sum(np.sin(h))

    with sd.config(compile_after=1):
        for _ in range(3):
            x, y, h, out = build()
            a, b = x.numpy(force=True), y.numpy(force=True)
            c = np.cos(a * b)
            out.backward(retain_graph=True)
            np.testing.assert_allclose(x.grad.numpy(), c * b)
            np.testing.assert_allclose(y.grad.numpy(), c * a)
            expected = {id(x): c * b, id(y): c * a, id(h): c}
            for wanted in ([x], [y], [h], [x, y], [y, x], [x, x], [h, y], [x, h, y]):
                found = sd.autograd.grad(out, wanted, retain_graph=True)
                for t, g in zip(wanted, found, strict=True):
                    np.testing.assert_allclose(g.numpy(), expected[id(t)])
            unused = leaf(3)
            for wanted in ([unused], [unused, x], [x, unused], [unused, unused], [h, unused]):
                found = sd.autograd.grad(out, wanted, retain_graph=True, allow_unused=True)
                for t, g in zip(wanted, found, strict=True):
                    assert g is None if t is unused else np.allclose(g.numpy(), expected[id(t)])


def test_wanted_values_inside_a_recognised_formula() -> None:
    """1 / (1 + exp(-x)) has a derivative of its own, unless one asks for what is inside."""
    for options in ({"compile_after": 10**9}, {"compile_after": 1}):
        for _ in range(2):
            x = leaf(3)
            z = np.exp(-x)
            total = 1.0 + z
            p = 1.0 / total
            with sd.config(**options):
                gz, gt, gx = sd.autograd.grad(np.sum(p), [z, total, x])
            v = p.detach().numpy()
            np.testing.assert_allclose(gz.numpy(), -(v**2))
            np.testing.assert_allclose(gt.numpy(), -(v**2))
            np.testing.assert_allclose(gx.numpy(), v * (1 - v))


def test_roots_that_lead_to_nothing_wanted() -> None:
    for options in ({"compile_after": 10**9}, {"compile_after": 1}):
        for _ in range(2):
            x, y = leaf(3), leaf(3, seed=1)
            roots = [np.sum(np.sin(y)), np.sum(x * 2.0), y]
            with sd.config(**options):
                (g,) = sd.autograd.grad(roots, [x], [None, None, y.detach()])
            np.testing.assert_array_equal(g.numpy(), np.full(3, 2.0))


def test_the_same_root_twice() -> None:
    for _ in range(3):
        x = leaf(3)
        out = np.sum(np.sin(x))
        sd.autograd.backward([out, out])
        np.testing.assert_allclose(x.grad.numpy(), 2 * np.cos(x.numpy(force=True)))


def test_gradients_belong_to_their_leaves() -> None:
    """What generated code returns may be the cotangent itself, a view, or one array for two leaves: each is copied."""
    for _ in range(3):
        x, y = leaf(3), leaf(3, seed=1)
        seed = sd.from_numpy(np.ones(3))
        (x + y).backward(seed)
        arrays = [x.grad.numpy(), y.grad.numpy(), seed.numpy()]
        assert not any(np.shares_memory(a, b) for k, a in enumerate(arrays) for b in arrays[:k])
        z = leaf(3, 1)
        z.reshape(3).backward(seed)
        assert not np.shares_memory(z.grad.numpy(), seed.numpy())


@pytest.mark.parametrize("errors", ["warn", "raise"])
def test_no_backward_pass_warns_whichever_way_it_runs(errors: Any) -> None:
    """inf * 0 in a product, which is walked, compiled and matched."""

    def loss(x: Any, y: Any) -> Any:
        return (x * y * 0.0).sum()

    for _ in range(4):
        x = sd.tensor(np.array([1.0, 2.0]), requires_grad=True)
        y = sd.tensor(np.array([np.inf, 1.0]))
        with np.errstate(all="ignore"):
            out = loss(x, y)
        with np.errstate(all=errors):
            before = np.geterr()
            out.backward()
            assert np.geterr() == before
        np.testing.assert_array_equal(x.grad.numpy(), [np.nan, 0.0])
