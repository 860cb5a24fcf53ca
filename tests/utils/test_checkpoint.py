"""Checkpoints give the same gradients as without, keep only arguments, and notice a function that does something
else.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from weakref import ref

import numpy as np
import pytest

import srcdiff as sd
from srcdiff.utils import checkpoint as module
from srcdiff.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential


def leaf(*values: float) -> Any:
    return sd.tensor(values, dtype=sd.float64, requires_grad=True)


class Counted:
    """A function of x and a captured w that counts its runs."""

    def __init__(self) -> None:
        self.w = leaf(3.0, 4.0)
        self.runs = 0

    def __call__(self, x: Any) -> Any:
        self.runs += 1
        return (x * self.w).sin().exp() * x


def gradients(out: Any, *inputs: Any) -> list[list[float]]:
    return [g.tolist() for g in sd.autograd.grad(out.sum(), inputs)]


@pytest.mark.parametrize("use_reentrant", [None, False, True])
def test_gradients_are_the_same_and_the_function_runs_twice(use_reentrant: bool | None) -> None:
    f, x = Counted(), leaf(0.1, 0.2)
    expected = gradients(f(x), x, f.w)
    f.runs = 0
    out = checkpoint(f, x, use_reentrant=use_reentrant)
    assert f.runs == 1
    out.sum().backward()
    assert f.runs == 2
    np.testing.assert_allclose([x.grad.numpy(), f.w.grad.numpy()], expected, rtol=1e-12)


def test_second_derivatives() -> None:
    f, x = Counted(), leaf(0.1, 0.2)
    made = []
    for out in (f(x), checkpoint(f, x)):
        first = sd.autograd.grad(out.sum(), [x, f.w], create_graph=True)
        made.append(gradients(first[0] + first[1] ** 2, x, f.w))
    np.testing.assert_allclose(made[0], made[1], rtol=1e-12)


def test_intermediate_values_are_not_kept() -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        middle = x.exp()
        kept.append(ref(middle._value))
        return middle.sin() * 2

    x = leaf(*range(3))
    out = checkpoint(f, x)
    assert kept[0]() is None
    out.sum().backward()
    assert len(kept) == 2
    assert kept[1]() is None
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.cos(np.exp(range(3))) * np.exp(range(3)))


def test_containers_keywords_and_other_results() -> None:
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)

    def f(parts: Any, k: int, *, scale: float = 1.0) -> Any:
        return {"out": parts["a"] * parts["b"][0] * k * scale}, "aux"

    made, aux = checkpoint(f, {"a": x, "b": [w]}, 2, scale=3.0)
    assert aux == "aux"
    assert gradients(made["out"], x, w) == [[18.0, 24.0], [6.0, 12.0]]


def test_nested_checkpoints() -> None:
    f, x = Counted(), leaf(0.1, 0.2)

    def outer(x: Any) -> Any:
        return checkpoint(f, x.sin()) * checkpoint(f, x)

    expected = gradients(f(x.sin()) * f(x), x, f.w)
    f.runs = 0
    np.testing.assert_allclose(gradients(checkpoint(outer, x), x, f.w), expected, rtol=1e-12)
    assert f.runs == 6  # twice forward, twice in the outer region's second run, twice in their own


def test_a_graph_that_is_kept_is_computed_again_each_time() -> None:
    f, x = Counted(), leaf(0.1, 0.2)
    out = checkpoint(f, x)
    first = sd.autograd.grad(out.sum(), x, retain_graph=True)[0]
    second = sd.autograd.grad(out.sum(), x)[0]
    assert f.runs == 3
    assert first.tolist() == second.tolist()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        out.sum().backward()


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_random_numbers_are_the_same_and_the_stream_is_not_moved(use_reentrant: bool) -> None:
    sd.manual_seed(3)
    x = leaf(1.0, 2.0, 3.0)
    out = checkpoint(lambda x: x * sd.rand(3, dtype=sd.float64), x, use_reentrant=use_reentrant)
    sd.rand(5)
    state = sd.get_rng_state()
    out.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), (out / x).detach().numpy())
    assert np.array_equal(state, sd.get_rng_state())
    other = checkpoint(lambda x: x * sd.rand(3, dtype=sd.float64), x, preserve_rng_state=False)
    assert not np.allclose(gradients(other, x)[0], (other / x).detach().numpy())


def test_overwritten_arguments_are_noticed() -> None:
    h = leaf(0.1, 0.2) * 1
    out = checkpoint(Counted(), h)
    with sd.no_grad():
        h.mul_(2)
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation.*checkpoint.*test_checkpoint.py"):
        out.sum().backward()


def test_a_function_that_does_something_else_is_noticed() -> None:
    runs = [0]

    def fewer(x: Any) -> Any:
        runs[0] += 1
        return x * x.sin() if runs[0] == 1 else x * 2

    with pytest.raises(CheckpointError, match="A different number of tensors was saved"):
        checkpoint(fewer, leaf(1.0, 2.0)).sum().backward()

    def smaller(x: Any) -> Any:
        runs[0] += 1
        return (x if runs[0] % 2 else x.sum()).sin().cos()

    runs[0] = 0
    with pytest.raises(CheckpointError, match="different metadata than during the forward pass"):
        checkpoint(smaller, leaf(1.0, 2.0)).sum().backward()


def test_an_error_in_the_second_run_leaves_no_state_behind() -> None:
    runs = [0]

    def fails(x: Any) -> Any:
        runs[0] += 1
        if runs[0] == 2:
            raise KeyError("second")
        return x * x

    x = leaf(1.0)
    out = checkpoint(fails, x)
    with pytest.raises(KeyError):
        out.sum().backward()
    assert sd.is_grad_enabled()
    assert x.grad is None
    assert (x * x).grad_fn is not None
    out.sum().backward()
    assert x.grad.tolist() == [2.0]


@pytest.mark.parametrize(("early_stop", "runs"), [(True, 1), (False, 2)])
def test_early_stop(early_stop: bool, runs: int) -> None:
    ends = [0]

    def f(x: Any) -> Any:
        out = x.exp()
        ends[0] += 1
        return out

    with module.set_checkpoint_early_stop(early_stop):
        checkpoint(f, leaf(1.0)).sum().backward()
    assert ends[0] == runs
    ends[0] = 0
    checkpoint(f, leaf(1.0), early_stop=early_stop).sum().backward()
    assert ends[0] == runs


def test_contexts_around_both_runs() -> None:
    seen: list[str] = []

    @contextmanager
    def noting(name: str) -> Any:
        seen.append(name)
        yield

    def contexts() -> tuple[AbstractContextManager[Any], AbstractContextManager[Any]]:
        return noting("first"), noting("again")

    checkpoint(lambda x: x * x, leaf(1.0), context_fn=contexts).sum().backward()
    assert seen == ["first", "again"]


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_sequences(use_reentrant: bool) -> None:
    f, x = Counted(), leaf(0.1, 0.2)
    parts: list[Callable[[Any], Any]] = [lambda x: x.sin(), f, lambda x: x.exp(), lambda x: x * 2]
    expected = (f(x.sin()).exp() * 2).sum()
    expected.backward()
    by_x, by_w = x.grad.tolist(), f.w.grad.tolist()
    for segments in (1, 2, 3, 4):
        x.grad = f.w.grad = None
        checkpoint_sequential(parts, segments, x, use_reentrant=use_reentrant).sum().backward()
        np.testing.assert_allclose([x.grad.numpy(), f.w.grad.numpy()], [by_x, by_w], rtol=1e-12)
    layers = sd.nn.Sequential(sd.nn.Linear(2, 3), sd.nn.Tanh(), sd.nn.Linear(3, 1))
    value = sd.ones(2, requires_grad=True)
    checkpoint_sequential(layers, 2, value, use_reentrant=use_reentrant).sum().backward()
    assert all(p.grad is not None for p in layers.parameters())
    with pytest.raises(ValueError, match="segments should be from 1 to 4"):
        checkpoint_sequential(parts, 5, x)


def test_without_recording_nothing_is_kept() -> None:
    f = Counted()
    with sd.no_grad():
        assert not checkpoint(f, leaf(0.1, 0.2)).requires_grad


def test_misuse_is_refused() -> None:
    x = leaf(1.0)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: k"):
        checkpoint(Counted(), x, use_reentrant=True, k=3)
    with pytest.raises(ValueError, match="determinism_check should be one of"):
        checkpoint(Counted(), x, determinism_check="always")
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        checkpoint(lambda x: x * 2, x.detach(), use_reentrant=True)
    with pytest.raises(ValueError, match="context_fn"):
        checkpoint(Counted(), x, use_reentrant=True, debug=True)
