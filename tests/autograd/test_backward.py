"""`backward` and `grad` as in PyTorch: what they accept, refuse, accumulate, retain and free."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import srcdiff as sd

grad, backward = sd.autograd.grad, sd.autograd.backward


@pytest.fixture(params=["walked", "compiled"], autouse=True)
def _options(request: pytest.FixtureRequest) -> Iterator[None]:
    with sd.config(compile_after=10**9 if request.param == "walked" else 1):
        yield


def leaf(*values: float) -> Any:
    return sd.from_numpy(np.array(values or (1.0, 2.0, 3.0))).requires_grad_()


def ones(*shape: int) -> Any:
    return sd.from_numpy(np.ones(shape))


# -------------------------------------------------------------------------------------------------------- accumulation


def test_gradients_accumulate_in_place() -> None:
    x = leaf()
    np.sum(x * x).backward()
    first = x.grad
    np.sum(x * 3.0).backward()
    assert x.grad is first and first.tolist() == [5.0, 7.0, 9.0]


def test_a_leaf_is_its_own_root() -> None:
    x = leaf(2.0)
    x.backward()
    x.backward(sd.from_numpy(np.array([3.0])))
    assert x.grad.tolist() == [4.0]


def test_gradients_have_the_dtype_and_shape_of_the_leaf() -> None:
    x = sd.from_numpy(np.ones((1, 3), np.float32)).requires_grad_()
    y = sd.from_numpy(np.ones((2, 1))).requires_grad_()
    np.sum(x * y).backward()
    assert (x.grad.shape, x.grad.dtype) == ((1, 3), np.float32)
    assert (y.grad.shape, y.grad.dtype) == ((2, 1), np.float64)


def test_the_cotangent_is_not_kept() -> None:
    x, seed = leaf(), ones(3)
    (x + 0.0).backward(seed)
    seed.mul_(7.0)
    assert x.grad.tolist() == [1.0, 1.0, 1.0]
    x.grad.mul_(5.0)
    assert seed.tolist() == [7.0, 7.0, 7.0]


def test_gradients_of_two_leaves_share_no_memory_under_create_graph() -> None:
    x, y = leaf(), leaf()
    np.sum(x + y).backward(create_graph=True)
    with sd.no_grad():
        x.grad.zero_()
    assert y.grad.tolist() == [1.0, 1.0, 1.0]


def test_create_graph_makes_a_new_gradient_object() -> None:
    x = leaf()
    np.sum(x * x).backward(create_graph=True)
    first = x.grad
    assert first.requires_grad
    np.sum(x * x * x).backward(create_graph=True)
    assert x.grad is not first and x.grad.tolist() == [5.0, 16.0, 33.0]
    x.grad = None


# ------------------------------------------------------------------------------------------------------------ refusals


def message(error: type[Exception], call: Callable[[], Any]) -> str:
    with pytest.raises(error) as caught:
        call()
    assert isinstance(caught.value, sd.errors.SrcdiffError)
    return str(caught.value)


def test_only_scalars_have_an_implicit_gradient() -> None:
    x = leaf()
    text = "grad can be implicitly created only for scalar outputs"
    assert message(RuntimeError, lambda: (x * 2.0).backward()) == text
    assert message(RuntimeError, lambda: grad(x * 2.0, x)) == text


def test_tensors_outside_any_graph() -> None:
    text = "element 0 of tensors does not require grad and does not have a grad_fn"
    assert message(RuntimeError, lambda: sd.zeros(()).backward()) == text
    assert message(RuntimeError, lambda: backward([leaf().sum(), sd.zeros(())])) == text.replace("0", "1", 1)


def test_cotangents_are_checked() -> None:
    x = leaf()
    y = x * 2.0
    text = message(RuntimeError, lambda: y.backward(ones(2)))
    assert text == "Mismatch in shape: grad_output[0] has a shape of Size([2]) and output[0] has a shape of Size([3])."
    assert "gradients can be either Tensors or None, but got float" in message(TypeError, lambda: y.backward(1.0))
    assert "got 1 tensors and 2 gradients" in message(RuntimeError, lambda: backward([y], [ones(3), ones(3)]))
    assert x.grad is None
    y.backward(np.ones(3), retain_graph=True)
    y.backward(ones(3))
    assert x.grad.tolist() == [4.0, 4.0, 4.0]


def test_freed_graphs() -> None:
    saving: list[Any] = [np.sin, np.exp, lambda x: x * x, lambda x: x * 3.0, lambda x: x / 3.0, lambda x: x[[0, 1]]]
    for f in saving:
        out = np.sum(f(leaf()))
        out.backward()
        assert message(RuntimeError, out.backward).startswith("Trying to backward through the graph a second time")
    free: list[Any] = [np.sum, np.mean, lambda x: x + 1.0, lambda x: -x, lambda x: x[1], lambda x: x.reshape(3, 1)]
    for f in free:
        x = leaf()
        out = np.sum(f(x))
        out.backward()
        out.backward()


def test_elements_and_slices_can_be_passed_again_wherever_they_are() -> None:
    for i in range(6):
        x = leaf(*np.arange(10.0))
        for out in (x[i].sum(), x[i : i + 2].sum()):
            out.backward()
            out.backward()


def test_a_freed_part_is_noticed_from_another_root() -> None:
    x = leaf()
    h = np.sin(x)
    np.sum(h).backward()
    text = message(RuntimeError, lambda: np.sum(h * 2.0).backward())
    assert text.startswith("Trying to backward through the graph a second time")
    assert x.grad.tolist() == np.cos([1.0, 2.0, 3.0]).tolist()


def test_unused_inputs() -> None:
    x, y = leaf(), leaf()
    out = np.sum(x * x)
    text = (
        "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if this "
        "is the desired behavior."
    )
    assert message(RuntimeError, lambda: grad(out, [x, y], retain_graph=True)) == text
    gx, gy = grad(out, [x, y], retain_graph=True, allow_unused=True)
    assert gx.tolist() == [2.0, 4.0, 6.0] and gy is None
    _, gy = grad(out, [x, y], retain_graph=True, materialize_grads=True)
    assert gy.tolist() == [0.0, 0.0, 0.0]
    with pytest.raises(ValueError, match="Expected allow_unused to be True or not passed"):
        grad(out, [x, y], allow_unused=False, materialize_grads=True)
    none, _ = grad(out, [y, x], allow_unused=True)
    assert none is None


def test_an_input_outside_any_graph() -> None:
    x = leaf()
    assert message(RuntimeError, lambda: grad(np.sum(x), sd.zeros(3))) == (
        "One of the differentiated Tensors does not require grad"
    )


def test_nothing_is_accumulated_by_a_pass_that_fails() -> None:
    x, y = leaf(), leaf()
    g = np.exp(x)
    out = np.sum(y * y) + np.sum(g)
    with sd.no_grad():
        g.zero_()
    text = message(RuntimeError, out.backward)
    assert "modified by an inplace operation" in text and text.count("test_backward.py:") == 2
    assert x.grad is None and y.grad is None


# ----------------------------------------------------------------------------------------------- retain, inputs, parts


def test_retain_graph() -> None:
    x = leaf()
    out = np.sum(np.sin(x))
    for _ in range(3):
        out.backward(retain_graph=True)
    out.backward()
    np.testing.assert_allclose(x.grad.numpy(), 4 * np.cos([1.0, 2.0, 3.0]))


def test_create_graph_retains_by_default() -> None:
    x = leaf()
    out = np.sum(x**3)
    grad(out, x, create_graph=True)
    grad(out, x, create_graph=True, retain_graph=False)
    assert message(RuntimeError, lambda: grad(out, x)).startswith("Trying to backward")


def test_inputs_limits_accumulation() -> None:
    x, y = leaf(), leaf()
    out = np.sum(x * y)
    out.backward(inputs=x, retain_graph=True)
    assert y.grad is None and x.grad.tolist() == [1.0, 2.0, 3.0]
    out.backward(inputs=[y, y], retain_graph=True)
    assert y.grad.tolist() == [1.0, 2.0, 3.0] and x.grad.tolist() == [1.0, 2.0, 3.0]
    unused = leaf()
    out.backward(inputs=[unused])
    assert unused.grad is None
    assert message(RuntimeError, lambda: out.backward(inputs=[])) == "'inputs' argument to backward() cannot be empty."
    assert "can't retain_grad" in message(RuntimeError, lambda: out.backward(inputs=[sd.zeros(3)]))


def test_inputs_inside_the_graph_retain_their_gradient_from_now_on() -> None:
    x = leaf()
    h = x + 1.0
    out = np.sum(h + h)
    out.backward(inputs=[h])
    assert h.grad.tolist() == [2.0, 2.0, 2.0] and x.grad is None and h.retains_grad
    out.backward()
    assert h.grad.tolist() == [4.0, 4.0, 4.0] and x.grad.tolist() == [2.0, 2.0, 2.0]


def test_only_what_is_on_the_way_is_run_and_freed() -> None:
    x, y = leaf(), leaf()
    side = np.exp(y)
    out = np.sum(np.sin(x)) + np.sum(side)
    grad(out, x)
    side.sum().backward()
    np.testing.assert_allclose(y.grad.numpy(), np.exp([1.0, 2.0, 3.0]))


def test_gradients_with_respect_to_values_inside() -> None:
    x = leaf()
    h = x * 2.0
    k = np.sin(h)
    out = np.sum(k * h)
    gk, gh, gx = grad(out, (k, h, x))
    a = 2.0 * np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(gk.numpy(), a)
    np.testing.assert_allclose(gh.numpy(), np.sin(a) + a * np.cos(a))
    np.testing.assert_allclose(gx.numpy(), 2 * (np.sin(a) + a * np.cos(a)))


def test_several_roots() -> None:
    x = leaf()
    h = x * 2.0
    backward([h, np.sum(x * x)], [sd.from_numpy(np.array([1.0, 0.0, -1.0])), None])
    assert x.grad.tolist() == [4.0, 4.0, 4.0]
    (g,) = grad([x * 3.0, x * 4.0], [x], [ones(3), ones(3)])
    assert g.tolist() == [7.0, 7.0, 7.0]


def test_a_root_that_is_on_the_way_of_another() -> None:
    x = leaf()
    h = np.sin(x)
    out = np.sum(h * h)
    backward([out, h], [None, ones(3)])
    v = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(x.grad.numpy(), (2 * np.sin(v) + 1) * np.cos(v))
    x.grad = None
    h = np.sin(x)
    gh, gx = grad([np.sum(h * h), h], [h, x], [None, ones(3)])
    np.testing.assert_allclose(gh.numpy(), 2 * np.sin(v) + 1)
    np.testing.assert_allclose(gx.numpy(), (2 * np.sin(v) + 1) * np.cos(v))


def test_batched_cotangents() -> None:
    x = leaf()
    y = np.sin(x) * 2.0
    batch = sd.from_numpy(np.stack([np.eye(3)[0], np.eye(3)[2], np.ones(3)]))
    (rows,) = grad(y, x, batch, is_grads_batched=True, retain_graph=True)
    v = 2 * np.cos([1.0, 2.0, 3.0])
    np.testing.assert_allclose(rows.numpy(), [[v[0], 0, 0], [0, 0, v[2]], v])
    (jacobian,) = grad(y, x, sd.from_numpy(np.eye(3)), is_grads_batched=True)
    np.testing.assert_allclose(jacobian.numpy(), np.diag(v))


def test_edges_take_the_place_of_tensors() -> None:
    x = leaf()
    h = np.sin(x)
    out = np.sum(h)
    edge = sd.autograd.graph.get_gradient_edge(h)
    g, same = grad(out, [edge, x])
    assert g.tolist() == [1.0, 1.0, 1.0]
    np.testing.assert_allclose(same.numpy(), np.cos([1.0, 2.0, 3.0]))
    left, right = np.split(x * 1.0, [1])
    out = np.sum(left * 3.0) + np.sum(right * 2.0)
    (g,) = grad(out, [sd.autograd.graph.get_gradient_edge(right)], retain_graph=True)
    assert g.tolist() == [2.0, 2.0]
    found = grad(out, [right, x, left])
    assert [g.tolist() for g in found] == [[2.0, 2.0], [3.0, 2.0, 2.0], [3.0]]


# ------------------------------------------------------------------------------------------------------- higher orders


@pytest.mark.parametrize("order", range(1, 6))
def test_derivatives_of_any_order(order: int) -> None:
    x = sd.from_numpy(np.array(0.7)).requires_grad_()
    y = np.sin(x * 2.0)
    for _ in range(order):
        (y,) = grad(y, x, create_graph=True)
    expected = 2.0**order * (np.cos(1.4), -np.sin(1.4), -np.cos(1.4), np.sin(1.4))[(order - 1) % 4]
    assert y.item() == pytest.approx(expected, rel=1e-12)


def test_a_second_derivative_may_be_compiled_and_repeated() -> None:
    for _ in range(3):
        x = leaf()
        (g,) = grad(np.sum(x**4), x, create_graph=True)
        (h,) = grad(np.sum(g * g), x)
        np.testing.assert_allclose(h.numpy(), 96 * np.array([1.0, 2.0, 3.0]) ** 5)


def test_a_gradient_penalty_reaches_other_leaves() -> None:
    w, x = leaf(), leaf(0.5, -1.0, 2.0)
    out = np.sum(np.tanh(w * x))
    (g,) = grad(out, x, create_graph=True)
    np.sum(g**2).backward()

    def penalty(v: Any) -> float:
        s = 1 - np.tanh(v * x.numpy(force=True)) ** 2
        return float(np.sum((v * s) ** 2))

    v, eps = w.numpy(force=True), 1e-6
    expected = [(penalty(v + eps * e) - penalty(v - eps * e)) / (2 * eps) for e in np.eye(3)]
    np.testing.assert_allclose(w.grad.numpy(), expected, atol=1e-8)


# ------------------------------------------------------------------------------------------------------- deep and wide


def test_a_chain_of_a_hundred_thousand_operations() -> None:
    x = h = leaf(1.0)
    for _ in range(100_000):
        h = h + 1.0
    h.backward()
    assert x.grad.tolist() == [1.0]
    del h


def test_a_value_used_a_thousand_times() -> None:
    x = leaf()
    h = np.sin(x)
    total = h * 0.0
    for k in range(1000):
        total = total + h * float(k % 2)
    np.sum(total).backward()
    np.testing.assert_allclose(x.grad.numpy(), 500 * np.cos([1.0, 2.0, 3.0]))


def test_paths_that_double_at_every_step() -> None:
    x = h = leaf(1.0)
    for _ in range(60):
        h = h + h
    h.backward()
    assert x.grad.tolist() == [2.0**60]


# -------------------------------------------------------------------------------------------------------------- leaves


def test_setting_gradients() -> None:
    x = leaf()
    x.grad = ones(3)
    np.sum(x).backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]
    del x.grad
    assert x.grad is None
    assert "assigned grad expected to be a Tensor or None" in message(TypeError, lambda: setattr(x, "grad", np.ones(3)))
    assert "size" in message(RuntimeError, lambda: setattr(x, "grad", ones(2)))
    assert "dtype" in message(RuntimeError, lambda: setattr(x, "grad", sd.ones(3)))
    assert "own grad" in message(RuntimeError, lambda: setattr(x, "grad", x))


def test_requires_grad_is_for_leaves_of_floats() -> None:
    x = leaf()
    h = x * 2.0
    text = "you can only change requires_grad flags of leaf variables"
    assert message(RuntimeError, lambda: h.requires_grad_(False)).startswith(text)
    assert h.requires_grad_() is h
    assert "floating point" in message(RuntimeError, lambda: sd.zeros(3, dtype=sd.int64).requires_grad_())
    x.requires_grad = False
    assert (x * 2.0).requires_grad is False
