"""Hooks on tensors, nodes and leaves: order, replacement, removal, and the same whether a graph was compiled or not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import srcdiff as sd


@pytest.fixture(params=["walked", "compiled before"], autouse=True)
def _options(request: pytest.FixtureRequest) -> Iterator[None]:
    """Each test also with every graph compiled at once: a hook must make the compiled pass step aside."""
    with sd.config(compile_after=10**9 if request.param == "walked" else 1):
        chain()[-1].backward()
        yield


def leaf(*values: float) -> Any:
    return sd.from_numpy(np.array(values or (1.0, 2.0, 3.0))).requires_grad_()


def chain() -> tuple[Any, Any, Any]:
    """x, h = 2 x, out = sum(h * h)"""
    x = leaf()
    h = x * 2.0
    return x, h, np.sum(h * h)


def test_a_tensor_hook_sees_the_gradient() -> None:
    x, h, out = chain()
    seen: list[Any] = []
    h.register_hook(seen.append)
    out.backward()
    assert [g.tolist() for g in seen] == [[4.0, 8.0, 12.0]]
    assert not seen[0].requires_grad
    assert x.grad.tolist() == [8.0, 16.0, 24.0]


def test_hooks_run_in_order_each_on_what_the_one_before_returned() -> None:
    x, h, out = chain()
    h.register_hook(lambda g: g + 1.0)
    h.register_hook(lambda g: g * 10.0)
    h.register_hook(lambda g: None)
    out.backward()
    assert x.grad.tolist() == [100.0, 180.0, 260.0]


def test_a_leaf_hook_changes_what_is_accumulated() -> None:
    x, _, out = chain()
    x.register_hook(lambda g: -g)
    out.backward(retain_graph=True)
    out.backward()
    assert x.grad.tolist() == [-16.0, -32.0, -48.0]


def test_a_hook_runs_once_on_the_sum() -> None:
    x = leaf()
    h = np.sin(x)
    calls: list[Any] = []
    h.register_hook(calls.append)
    (np.sum(h) + np.sum(h * 2.0)).backward()
    assert [g.tolist() for g in calls] == [[3.0, 3.0, 3.0]]


def test_removing_a_hook() -> None:
    x, h, out = chain()
    handle = h.register_hook(lambda g: g * 100.0)
    out.backward(retain_graph=True)
    handle.remove()
    handle.remove()
    first = x.grad.clone()
    x.grad = None
    out.backward()
    assert first.tolist() == [800.0, 1600.0, 2400.0]
    assert x.grad.tolist() == [8.0, 16.0, 24.0]


def test_a_handle_is_a_context_manager() -> None:
    x, h, out = chain()
    with h.register_hook(lambda g: g * 0.0):
        out.backward(retain_graph=True)
    assert x.grad.tolist() == [0.0, 0.0, 0.0]
    out.backward()
    assert x.grad.tolist() == [8.0, 16.0, 24.0]


def test_a_hook_removed_while_hooks_run() -> None:
    _, h, out = chain()
    calls: list[str] = []

    def first(_: Any) -> None:
        calls.append("first")
        second.remove()

    h.register_hook(first)
    second = h.register_hook(lambda g: calls.append("second"))
    out.backward(retain_graph=True)
    out.backward()
    assert calls[0] == "first" and calls.count("second") <= 1


@pytest.mark.parametrize("made", [lambda g: sd.zeros(2), lambda g: 1.0, lambda g: np.ones(3)])
def test_a_hook_may_return_only_a_tensor_of_the_same_shape(made: Any) -> None:
    x, h, out = chain()
    h.register_hook(made)
    with pytest.raises((TypeError, RuntimeError), match=r"changed the size of value|but hook returned"):
        out.backward()
    assert x.grad is None


def test_a_hook_needs_a_gradient_to_come() -> None:
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
        sd.zeros(3).register_hook(print)


def test_retain_grad() -> None:
    x, h, out = chain()
    h.retain_grad()
    h.retain_grad()
    assert h.retains_grad and not x.retains_grad and not h.is_leaf
    out.backward(retain_graph=True)
    assert h.grad.tolist() == [4.0, 8.0, 12.0]
    out.backward()
    assert h.grad.tolist() == [8.0, 16.0, 24.0]
    assert not np.shares_memory(h.grad.numpy(), x.grad.numpy())


def test_retain_grad_keeps_what_hooks_made_of_it() -> None:
    _, h, out = chain()
    h.retain_grad()
    h.register_hook(lambda g: g * 10.0)
    out.backward()
    assert h.grad.tolist() == [40.0, 80.0, 120.0]


def test_retain_grad_of_the_root() -> None:
    _, _, out = chain()
    out.retain_grad()
    out.backward()
    assert out.grad.item() == 1.0


def test_retain_grad_needs_a_graph() -> None:
    with pytest.raises(RuntimeError, match=r"can't retain_grad on Tensor that has requires_grad=False"):
        sd.zeros(3).retain_grad()
    x = leaf()
    x.retain_grad()
    assert not x.retains_grad


def test_a_failed_pass_retains_nothing() -> None:
    x, h, out = chain()
    h.retain_grad()
    g = np.exp(x)
    both = out + np.sum(g)
    with sd.no_grad():
        g.zero_()
    both_again = both * 1.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        both_again.backward()
    assert x.grad is None and h.grad is None


def test_the_gradient_of_a_value_inside_warns() -> None:
    _, h, out = chain()
    out.backward()
    with pytest.warns(UserWarning, match="not a leaf Tensor is being accessed"):
        assert h.grad is None


def test_node_hooks() -> None:
    x, h, out = chain()
    log: list[Any] = []
    h.grad_fn.register_hook(lambda into, came: log.append(("hook", into[0].tolist(), came[0].tolist())))
    h.grad_fn.register_prehook(lambda came: log.append(("prehook", came[0].tolist())))
    out.backward()
    assert log == [("prehook", [4.0, 8.0, 12.0]), ("hook", [8.0, 16.0, 24.0], [4.0, 8.0, 12.0])]
    assert x.grad.tolist() == [8.0, 16.0, 24.0]


def test_node_hooks_replace() -> None:
    x, h, out = chain()
    h.grad_fn.register_prehook(lambda came: (came[0] * 10.0,))
    h.grad_fn.register_hook(lambda into, came: (into[0] + 1.0, *into[1:]))
    out.backward()
    assert x.grad.tolist() == [81.0, 161.0, 241.0]


def test_hooks_of_an_operation_with_several_outputs() -> None:
    x = leaf(1.0, 2.0, 3.0, 4.0)
    left, right = np.split(x, 2)
    left.register_hook(lambda g: g * 10.0)
    seen: list[Any] = []
    right.register_hook(seen.append)
    np.sum(left * 1.0 + right * 2.0).backward()
    assert x.grad.tolist() == [10.0, 10.0, 2.0, 2.0]
    assert [g.tolist() for g in seen] == [[2.0, 2.0]]


def test_post_accumulate_hooks_run_after_the_gradient_is_there() -> None:
    x, _, out = chain()
    seen: list[Any] = []

    def hook(t: Any) -> None:
        seen.append((t is x, t.grad.tolist()))
        t.grad = None

    handle = x.register_post_accumulate_grad_hook(hook)
    out.backward(retain_graph=True)
    out.backward(retain_graph=True)
    assert seen == [(True, [8.0, 16.0, 24.0])] * 2 and x.grad is None
    handle.remove()
    out.backward()
    assert x.grad is not None


def test_post_accumulate_hooks_run_once_for_a_leaf_used_twice() -> None:
    """Though a pass compiled for two leaves would serve one leaf used twice."""

    def build(x: Any, y: Any) -> Any:
        return np.sum(x * y)

    for _ in range(3):
        build(leaf(), leaf()).backward()
    x = leaf()
    calls: list[Any] = []
    x.register_post_accumulate_grad_hook(lambda t: calls.append(t.grad.tolist()))
    build(x, x).backward()
    assert calls == [[2.0, 4.0, 6.0]]


def test_post_accumulate_hooks_are_for_leaves() -> None:
    _, h, _ = chain()
    with pytest.raises(RuntimeError, match="post accumulate grad hooks cannot be registered on non-leaf tensors"):
        h.register_post_accumulate_grad_hook(print)
    with pytest.raises(RuntimeError, match="doesn't require gradient"):
        sd.zeros(3).register_post_accumulate_grad_hook(print)


def test_hooks_under_create_graph_get_and_give_graphs() -> None:
    x, h, out = chain()
    h.register_hook(lambda g: g * h)
    (g,) = sd.autograd.grad(out, x, create_graph=True)
    np.testing.assert_allclose(g.detach().numpy(), 16.0 * x.numpy(force=True) ** 2)
    (gg,) = sd.autograd.grad(np.sum(g), x)
    assert gg.shape == x.shape


def test_a_hook_may_run_another_backward() -> None:
    x, h, out = chain()
    inner: list[Any] = []

    def hook(g: Any) -> None:
        y = leaf()
        assert not sd.is_grad_enabled()  # as in PyTorch, unless create_graph
        with sd.enable_grad():
            np.sum(y * y).backward()
        inner.append(y.grad.tolist())

    h.register_hook(hook)
    out.backward()
    assert inner == [[2.0, 4.0, 6.0]] and x.grad.tolist() == [8.0, 16.0, 24.0]


def test_an_exception_in_a_hook_leaves_no_gradient() -> None:
    x, h, out = chain()

    def fail(_: Any) -> None:
        raise ZeroDivisionError

    handle = h.register_hook(fail)
    with pytest.raises(ZeroDivisionError):
        out.backward(retain_graph=True)
    assert x.grad is None and sd.is_grad_enabled()
    handle.remove()
    out.backward()
    assert x.grad.tolist() == [8.0, 16.0, 24.0]


def test_a_hook_on_a_tensor_that_was_then_written() -> None:
    """The hook belongs to the value the tensor had, as in PyTorch."""
    x = leaf()
    h = x * 2.0
    seen: list[Any] = []
    h.register_hook(lambda g: seen.append(g.tolist()))
    h.mul_(3.0)
    np.sum(h).backward()
    assert seen == [[3.0, 3.0, 3.0]]
    assert x.grad.tolist() == [6.0, 6.0, 6.0]
