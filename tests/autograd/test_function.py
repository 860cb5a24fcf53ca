"""Custom Functions: what PyTorch promises of them, beside exact values."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcdiff as sd

VIEW = r"Output 0 of \w+ is a view and is being modified inplace. This view was created inside a custom Function"


def function(forward: Callable[..., Any], backward: Callable[..., Any] = lambda ctx, g: g) -> Any:
    return type("Made", (sd.autograd.Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


def leaf(*values: float) -> Any:
    return sd.tensor(values, dtype=sd.float64, requires_grad=True)


class Exp(sd.autograd.Function):
    """Saves its result."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (y,) = ctx.saved_tensors
        return g * y


class ExpAndSin(sd.autograd.Function):
    """Two outputs, both saved."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        y, s = x.exp(), x.sin()
        ctx.save_for_backward(x, y, s)
        return y, s

    @staticmethod
    def backward(ctx: Any, g: Any, h: Any) -> Any:
        x, y, _ = ctx.saved_tensors
        return g * y + h * x.cos()


def test_derivatives_of_any_order_go_through_saved_results() -> None:
    x = leaf(0.5, -1.0)
    value = Exp.apply(x)
    for _ in range(4):
        (value,) = sd.autograd.grad(value.sum(), x, create_graph=True)
        np.testing.assert_allclose(value.detach().numpy(), np.exp([0.5, -1.0]))


def test_results_saved_by_a_function_with_several_keep_their_place_in_the_graph() -> None:
    x = leaf(0.5, -1.0)
    y, s = ExpAndSin.apply(x)
    (first,) = sd.autograd.grad((y + s).sum(), x, create_graph=True)
    (second,) = sd.autograd.grad(first.sum(), x)
    np.testing.assert_allclose(second.numpy(), np.exp([0.5, -1.0]) - np.sin([0.5, -1.0]))


def test_second_derivatives_agree_with_differences() -> None:
    x = leaf(0.5, -1.0)
    assert sd.autograd.gradcheck(ExpAndSin.apply, (x,))
    assert sd.autograd.gradgradcheck(ExpAndSin.apply, (x,))


def test_the_graph_dies_by_reference_counting_even_if_a_function_saves_its_result() -> None:
    gc.collect()
    gc.disable()
    try:
        for kind in (Exp, ExpAndSin):
            x = leaf(1.0, 2.0)
            out = kind.apply(x)
            first = out[0] if isinstance(out, tuple) else out
            node = weakref.ref(first.grad_fn)
            ctx = weakref.ref(first.grad_fn.ctx)
            del out, first
            assert node() is None
            assert ctx() is None
    finally:
        gc.enable()


def test_needs_input_grad_is_known_in_forward_and_backward() -> None:
    seen = []

    def forward(ctx: Any, x: Any, y: Any, k: int) -> Any:
        seen.append(ctx.needs_input_grad)
        return x * y * k

    def backward(ctx: Any, g: Any) -> Any:
        seen.append(ctx.needs_input_grad)
        return g, None, None

    out = function(forward, backward).apply(leaf(1.0), sd.tensor([2.0]), 3)
    out.sum().backward()
    assert seen == [(True, False, False)] * 2
    assert out.grad_fn.needs_input_grad == (True, False, False)


def test_setup_context_gets_all_arguments_defaults_included() -> None:
    class Scale(sd.autograd.Function):
        @staticmethod
        def forward(x: Any, k: float = 3.0) -> Any:
            return x * k

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            _, ctx.k = inputs

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.k, None

    x = leaf(1.0, 2.0)
    Scale.apply(x).sum().backward()
    Scale.apply(x, 5.0).sum().backward()
    Scale.apply(x, k=7.0).sum().backward()
    assert x.grad.tolist() == [15.0, 15.0]


def test_missing_gradients_are_zeros_or_none() -> None:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any, materialize: bool) -> Any:
        ctx.set_materialize_grads(materialize)
        return x * 2, x * 3

    def backward(ctx: Any, g: Any, h: Any) -> Any:
        seen.append(h)
        return g * 2, None

    for materialize in (True, False):
        function(forward, backward).apply(leaf(1.0, 2.0), materialize)[0].sum().backward()
    assert seen[0].tolist() == [0.0, 0.0]
    assert seen[1] is None


def test_outputs_without_gradient() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        marked, order = x * 2, x.argsort()
        ctx.mark_non_differentiable(marked)
        return x * 3, marked, order, "text", None

    x = leaf(2.0, 1.0)
    out, marked, order, text, nothing = function(forward, lambda ctx, g, *rest: g * 3).apply(x)
    assert [out.requires_grad, marked.requires_grad, order.requires_grad, text, nothing] == [
        True,
        False,
        False,
        "text",
        None,
    ]
    out.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_an_input_that_was_written_keeps_its_identity() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(2)

    double = function(forward, lambda ctx, g: g * 10)
    x = leaf(3.0, 4.0)
    h = x * 1
    assert double.apply(h) is h
    h.sum().backward()
    assert h.tolist() == [6.0, 8.0]
    assert x.grad.tolist() == [10.0, 10.0]
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad has been used in an in-place operation"):
        double.apply(x)


def test_a_view_that_was_written_changes_the_place_of_its_base() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(2)

    x = leaf(3.0, 4.0)
    h = x * 1
    function(forward, lambda ctx, g: g * 10).apply(h[:1])
    h.sum().backward()
    assert x.grad.tolist() == [10.0, 1.0]


def test_what_was_marked_dirty_must_be_returned() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x * 1

    with pytest.raises(RuntimeError, match="Some elements marked as dirty"):
        function(forward).apply(leaf(1.0) * 1)


@pytest.mark.parametrize("forward", [lambda ctx, x: x, lambda ctx, x: x.view(-1), lambda ctx, x: x[:1]])
def test_outputs_that_share_an_inputs_memory_may_not_be_written(forward: Callable[..., Any]) -> None:
    for x in (leaf(3.0, 4.0), leaf(3.0, 4.0) * 1):
        out = function(forward, lambda ctx, g: g).apply(x)
        with pytest.raises(RuntimeError, match=VIEW):
            out.mul_(2)
    x = leaf(3.0, 4.0)
    h = x * 1
    out = function(forward, lambda ctx, g: g).apply(h)
    h.mul_(2)
    with pytest.raises(RuntimeError, match="its base or another view of its base has been modified inplace"):
        out.sum()


def test_an_input_returned_as_it_is_is_another_tensor_with_the_functions_gradient() -> None:
    x = leaf(3.0, 4.0)
    out = function(lambda ctx, x: x, lambda ctx, g: g * 7).apply(x)
    assert out is not x
    out.sum().backward()
    assert x.grad.tolist() == [7.0, 7.0]


def test_saved_inputs_come_back_as_the_same_leaf_and_their_overwriting_is_noticed() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x, None)
        return x * 1

    square = function(forward, lambda ctx, g: g * ctx.saved_tensors[0])
    x = leaf(1.0, 2.0)
    saved, nothing = square.apply(x).grad_fn.saved_tensors
    assert saved is x
    assert nothing is None
    h = x * 1
    out = square.apply(h)
    with sd.no_grad():
        h.add_(1)
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation.* MadeBackward .*test_function.py"):
        out.sum().backward()


def test_values_that_are_neither_arguments_nor_results_can_be_saved() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        slope = 3 * x**2
        ctx.save_for_backward(slope)
        return x**3

    x = leaf(1.0, 2.0)
    function(forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(x).sum().backward()
    assert x.grad.tolist() == [3.0, 12.0]


def test_saved_tensors_are_freed_by_backward() -> None:
    out = Exp.apply(leaf(1.0))
    out.sum().backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        out.sum().backward()
    with pytest.raises(RuntimeError, match="directly access saved tensors"):
        _ = out.grad_fn.saved_tensors


def test_hooks_on_saved_tensors_get_those_of_functions() -> None:
    packed: list[Any] = []

    def pack(x: Any) -> Any:
        packed.append(x.detach().numpy().copy())
        return len(packed) - 1

    x = leaf(1.0, 2.0)
    with sd.autograd.graph.saved_tensors_hooks(pack, lambda k: sd.from_numpy(packed[k])):
        out = Exp.apply(x)
    assert len(packed) == 1
    out.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp([1.0, 2.0]))


def test_names_of_the_authors_on_ctx_are_free() -> None:
    names = ("inputs", "saved", "site", "seq", "options", "extra", "mark", "source", "apply", "outputs")

    def forward(ctx: Any, x: Any) -> Any:
        for k, name in enumerate(names):
            setattr(ctx, name, k)
        return x * 2

    x = leaf(1.0)
    out = function(forward, lambda ctx, g: g * sum(getattr(ctx, name) for name in names)).apply(x)
    out.sum().backward()
    assert x.grad.tolist() == [float(sum(range(len(names))))]
    out.grad_fn.ctx.answer = 42
    assert out.grad_fn.answer == 42


def test_hooks_on_the_node_see_all_gradients() -> None:
    seen = []
    out, _ = ExpAndSin.apply(leaf(0.0))
    node = out.grad_fn
    node.register_prehook(lambda grads: seen.append(("before", [g is not None for g in grads])))
    node.register_hook(lambda grads, outs: seen.append(("after", grads[0].tolist(), [g is not None for g in outs])))
    out.sum().backward()
    assert seen == [("before", [True, False]), ("after", [1.0], [True, False])]


def test_the_node_looks_as_in_pytorch() -> None:
    x = leaf(1.0)
    y, s = ExpAndSin.apply(x)
    assert y.grad_fn is s.grad_fn
    assert (y.output_nr, s.output_nr) == (0, 1)
    assert y.grad_fn.name() == type(y.grad_fn).__name__ == "ExpAndSinBackward"
    ((node, k),) = y.grad_fn.next_functions
    assert (type(node).__name__, k) == ("AccumulateGrad", 0)
    assert repr(y).endswith("grad_fn=<ExpAndSinBackward>)")


def test_gradient_edges_of_functions() -> None:
    x = leaf(1.0)
    _, s = ExpAndSin.apply(x)
    edge = sd.autograd.graph.get_gradient_edge(s)
    (g,) = sd.autograd.grad((s * 3).sum(), [edge])
    assert g.tolist() == [3.0]


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ((1.0,), RuntimeError, r"incorrect number of gradients \(expected 2, got 1\)"),
        ((None, 1.0), RuntimeError, "returned a gradient different than None at position 2"),
        ((3.0, None), RuntimeError, r"expected Variable or None \(got float\)"),
        (
            (sd.ones(3), None),
            RuntimeError,
            r"invalid gradient at index 0 - got \[3\] but expected shape compatible with \[2\]",
        ),
        ((sd.ones(()), None), RuntimeError, r"invalid gradient at index 0 - got \[\] but"),
    ],
)
def test_wrong_gradients_are_refused(given: Any, error: type[Exception], message: str) -> None:
    out = function(lambda ctx, x, k: x * k, lambda ctx, g: given).apply(leaf(1.0, 2.0), 3)
    with pytest.raises(error, match=message):
        out.sum().backward()


def test_gradients_are_summed_and_cast_to_the_argument() -> None:
    x = sd.tensor([1.0, 2.0], requires_grad=True)
    function(lambda ctx, x: x * 1, lambda ctx, g: sd.ones(3, 2, dtype=sd.float64)).apply(x).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    assert x.grad.dtype == np.float32


def test_without_gradients_nothing_is_recorded() -> None:
    x = leaf(1.0)
    with sd.no_grad():
        assert not Exp.apply(x).requires_grad
    assert not Exp.apply(x.detach()).requires_grad
    plain = x.detach()
    assert function(lambda ctx, x: x).apply(plain) is not plain


def test_numpy_code_in_forward_and_backward() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.x = x.detach().numpy()
        return sd.from_numpy(np.sin(ctx.x))

    sine = function(forward, lambda ctx, g: g * sd.from_numpy(np.cos(ctx.x)))
    x = leaf(0.5, 1.0)
    sine.apply(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.cos([0.5, 1.0]))


def test_functions_inside_sd_grad() -> None:
    slope = sd.grad(lambda x: np.sum(Exp.apply(x) * x))
    x = np.array([0.5, -1.0])
    np.testing.assert_allclose(slope(x), np.exp(x) * (1 + x))
    np.testing.assert_allclose(sd.grad(lambda x: np.sum(slope(x)))(x), np.exp(x) * (2 + x))


def test_once_differentiable_refuses_a_second_derivative() -> None:
    class Square(sd.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @sd.autograd.function.once_differentiable
        def backward(ctx: Any, g: Any) -> Any:
            return 2 * g * ctx.saved_tensors[0]

    x = leaf(3.0)
    (g,) = sd.autograd.grad((Square.apply(x) * x).sum(), x, create_graph=True)
    assert g.tolist() == [27.0]
    with pytest.raises(RuntimeError, match="marked with @once_differentiable"):
        g.sum().backward()


def test_anomaly_mode_names_the_function() -> None:
    def nan(ctx: Any, g: Any) -> Any:
        return g * float("nan")

    with sd.autograd.detect_anomaly():
        out = function(lambda ctx, x: x * 1, nan).apply(leaf(1.0))
        with pytest.raises(RuntimeError, match="'MadeBackward' returned nan values in its 0th output"):
            out.sum().backward()


def test_misuse_is_refused() -> None:
    with pytest.raises(RuntimeError, match="Legacy autograd function"):
        Exp()(leaf(1.0))
    with pytest.raises(NotImplementedError, match="forward"):
        type("Empty", (sd.autograd.Function,), {}).apply(leaf(1.0))
    with pytest.raises(TypeError, match="save_for_backward can only save variables, but argument 0 is of type int"):
        function(lambda ctx, x: ctx.save_for_backward(3)).apply(leaf(1.0))


def test_vjp_is_another_name_for_backward() -> None:
    class Cube(sd.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def vjp(ctx: Any, g: Any) -> Any:
            return 3 * g * ctx.saved_tensors[0] ** 2

    x = leaf(2.0)
    Cube.apply(x).sum().backward()
    assert x.grad.tolist() == [12.0]
