"""What `autograd.graph` offers, and what nodes show of themselves."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff.autograd import graph


def leaf(*values: float) -> Any:
    return sd.tensor(list(values), dtype=sd.float64, requires_grad=True)


def test_saved_tensors_may_be_disabled_within_a_block() -> None:
    hooks = graph.saved_tensors_hooks(lambda t: t, lambda t: t)
    with graph.disable_saved_tensors_hooks("not here"), pytest.raises(RuntimeError, match="not here"), hooks:
        pass
    with hooks:
        leaf(1.0).exp().sum().backward()


def test_what_an_operation_with_several_results_saves_is_packed() -> None:
    x, y = leaf(1.0, 2.0), leaf(1.0, 2.0)
    for each in (x, y):
        with graph.saved_tensors_hooks(lambda t: t.numpy().copy(), sd.from_numpy) if each is y else nullcontext():
            sd.nn.functional.cross_entropy(each.reshape(1, 2), sd.tensor([1])).backward()
    np.testing.assert_array_equal(y.grad.numpy(), x.grad.numpy())


def test_a_saved_tensor_may_be_written_where_that_is_allowed() -> None:
    x = leaf(1.0, 2.0)
    with graph.allow_mutation_on_saved_tensors():
        y = x * 1.0
        loss = (y * y).sum()
        y.mul_(0)
        loss.backward()
    assert x.grad.tolist() == [2.0, 4.0]
    y = x * 1.0
    loss = (y * y).sum()
    y.mul_(0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_an_edge_stands_for_its_tensor() -> None:
    x = leaf(1.0, 2.0)
    y = x.exp()
    edge = graph.get_gradient_edge(y)
    assert edge.node is y.grad_fn and edge.output_nr == 0
    (g,) = sd.autograd.grad(y.sum(), [edge])
    assert g.tolist() == [1.0, 1.0]
    assert graph.get_gradient_edge(x.max(dim=0)[0]).output_nr == 0
    with pytest.raises(RuntimeError, match="does not require gradients"):
        graph.get_gradient_edge(sd.ones(2))


def test_a_write_behind_the_back_is_counted() -> None:
    x, y = leaf(1.0), sd.ones(1, dtype=sd.float64)
    loss = (x * y).sum()
    version = y._version
    graph.increment_version([y])
    graph.increment_version(y)
    assert y._version == version + 2
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_hooks_on_several_gradients() -> None:
    x, y, z = leaf(1.0), leaf(2.0), leaf(3.0)
    seen: list[Any] = []
    with graph.register_multi_grad_hook([x, y, z], seen.append):
        (x * y).sum().backward()
    assert [None if g is None else g.item() for g in seen[0]] == [2.0, 1.0, None]
    (x * y).sum().backward()
    assert len(seen) == 1
    first: list[Any] = []
    handles = graph.register_multi_grad_hook([x, y], first.append, mode="any")
    (x * y).sum().backward()
    handles.remove()
    assert len(first) == 1 and first[0].item() in (1.0, 2.0)
    with pytest.raises(ValueError, match="Expects mode to be one of"):
        graph.register_multi_grad_hook([x], print, mode="some")


def test_nodes_show_what_they_saved() -> None:
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    product, power, exponential, total = x * y, x**3, x.exp(), sd.sum(x, 0)
    assert np.array_equal(np.asarray(product.grad_fn._saved_self), x.detach().numpy())
    assert np.array_equal(np.asarray(product.grad_fn._saved_other), y.detach().numpy())
    assert power.grad_fn._saved_exponent == 3
    assert np.array_equal(np.asarray(exponential.grad_fn._saved_result), exponential.detach().numpy())
    assert total.grad_fn._saved_axis == (0,) or total.grad_fn._saved_axis == 0
    with pytest.raises(AttributeError, match="saves nothing called nothing"):
        _ = power.grad_fn._saved_nothing
    with pytest.raises(AttributeError, match="does not save"):
        _ = exponential.grad_fn._saved_self
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = power.grad_fn.nothing
    product.sum().backward()
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        _ = product.grad_fn._saved_self


def test_nodes_lead_to_nodes_and_end_at_leaves() -> None:
    x = leaf(1.0)
    node = (x * 2.0).grad_fn
    ((accumulate, number),) = node.next_functions
    assert accumulate.name() == "AccumulateGrad" and number == 0 and accumulate.next_functions == ()
    node.metadata["mine"] = 1
    assert node.metadata == {"mine": 1}


def test_a_loss_may_be_written_before_backward() -> None:
    """Backward of the cross entropy reads the logarithms beside it, not the loss."""
    y = sd.tensor([0, 1])
    for compiled in (1, 2, 10):
        with sd.config(compile_after=compiled):
            for _ in range(4):
                x, other = leaf(1.0, 2.0, -1.0, 0.5), leaf(1.0, 2.0, -1.0, 0.5)
                loss = sd.nn.functional.cross_entropy(x.reshape(2, 2), y)
                loss += (x**2).sum()
                loss.backward()
                (sd.nn.functional.cross_entropy(other.reshape(2, 2), y) + (other**2).sum()).backward()
                np.testing.assert_allclose(x.grad.numpy(), other.grad.numpy(), rtol=1e-6)
