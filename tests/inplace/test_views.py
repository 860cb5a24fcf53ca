"""Aliases: views, `detach`, `data`, and changes of shape in place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import srcdiff as sd


def made(*shape: int) -> tuple[Any, Any]:
    """A leaf and a tensor computed from it."""
    x = sd.tensor(np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape), requires_grad=True)
    return x, x * 1


def test_views_know_their_base() -> None:
    _, y = made(2, 3)
    view = y[0].reshape(3, 1)
    assert view._is_view() and view._base is y and not y._is_view() and y._base is None
    assert not (y + 1)._is_view() and not y.detach()._is_view() and y.detach()._base is None


def test_full_indexing_gives_a_view_outside_grad() -> None:
    x, y = made(2, 3)
    element = y[1, 2]
    assert element._base is y and element.ndim == 0
    element.mul_(5.0)
    assert y[1, 2].item() == 30.0
    y.sum().backward()
    assert x.grad.tolist() == [[1.0, 1.0, 1.0], [1.0, 1.0, 5.0]]


def test_versions_are_shared_but_for_data() -> None:
    _, y = made(4)
    view, detached, data = y[1:], y.detach(), y.data
    view.add_(1)
    detached.add_(1)
    assert [t._version for t in (y, view, detached)] == [2, 2, 2] and data._version == 0
    data.add_(1)
    assert y._version == 2 and y[0].item() == 3.0


def test_detach_shares_the_detection_of_writes_and_data_does_not() -> None:
    x, _ = made(2)
    y = x.exp()
    y.data.zero_()
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]
    y = x.exp()
    y.detach().zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_write_to_a_detached_alias_leaves_the_graph_alone() -> None:
    x, y = made(2)
    node = y.grad_fn
    detached = y.detach()
    detached.mul_(x)
    assert detached.requires_grad and y.grad_fn is node
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_assigning_data_replaces_the_array_and_keeps_the_leaf() -> None:
    x = sd.tensor(np.ones(2), requires_grad=True)
    x.data = sd.tensor(np.array([3.0, 4.0, 5.0]))
    assert x.requires_grad and x.is_leaf and x.shape == (3,)
    (x * x).sum().backward()
    assert x.grad.tolist() == [6.0, 8.0, 10.0]
    x.data -= 1.0
    assert x.tolist() == [2.0, 3.0, 4.0] and x.requires_grad


def test_detach_in_place() -> None:
    _, y = made(2)
    view = y[:1]
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        view.detach_()
    assert y.detach_() is y and not y.requires_grad and y.is_leaf


def test_views_get_a_new_place_in_the_graph_only_when_they_are_used() -> None:
    x, y = made(4)
    view = y[1:3]
    before = view.grad_fn
    y.mul_(2.0)
    assert view.grad_fn is not before and type(view.grad_fn).__name__ == "SliceBackward0"
    (view * view).sum().backward()
    assert x.grad.tolist() == [0.0, 16.0, 24.0, 0.0]


def test_writes_without_grad_leave_views_where_they_are() -> None:
    _, y = made(4)
    view = y[1:3]
    node = view.grad_fn
    with sd.no_grad():
        y.mul_(2.0)
    assert view.grad_fn is node and y._version == 1


@pytest.mark.parametrize(
    "view",
    [
        lambda t: t.diagonal(), lambda t: t.t(), lambda t: t.narrow(0, 1, 3), lambda t: t.unfold(0, 2, 2),
        lambda t: t.swapaxes(0, 1)[1:], lambda t: t.reshape(-1)[2:5], lambda t: t[None, 1:], lambda t: t.squeeze(),
        lambda t: t.expand(1, 4, 4), lambda t: np.diagonal(t, 1), lambda t: t.narrow(1, 1, 2), lambda t: t.select(0, 2),
    ],
)  # fmt: skip
def test_writes_through_every_kind_of_view(view: Any) -> None:
    """The gradient is that of writing to the same elements of a flat copy."""
    weights = np.cos(np.arange(16.0)).reshape(4, 4)
    x, y = made(4, 4)
    view(y).mul_(3.0)
    (y * weights).sum().backward()
    factors = np.ones((4, 4))
    z = sd.tensor(factors)
    view(z).mul_(3.0)
    np.testing.assert_array_equal(y.detach().numpy(), x.detach().numpy() * factors * z.numpy())
    np.testing.assert_array_equal(x.grad.numpy(), weights * z.numpy())


def test_shapes_in_place() -> None:
    x, y = made(2, 3)
    view = y[0]
    assert y.t_() is y and y.shape == (3, 2)
    assert y.unsqueeze_(0).shape == (1, 3, 2) and y.squeeze_().shape == (3, 2) and y.transpose_(0, 1).shape == (2, 3)
    y.mul_(2.0)
    view.mul_(5.0)
    assert view.tolist() == [10.0, 20.0, 30.0] and y[0].tolist() == [10.0, 20.0, 30.0]
    y.sum().backward()
    assert x.grad.tolist() == [[10.0] * 3, [2.0] * 3]


def test_shapes_in_place_are_writes() -> None:
    x = sd.ones(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.t_()
    with pytest.raises(IndexError, match="Dimension out of range"):
        sd.ones(2).unsqueeze_(5)
