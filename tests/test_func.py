"""`srcdiff.func`: derivatives of any order against closed forms, structures, what may require grad outside, batches,
modules.
"""

from __future__ import annotations

import math
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff import func

X = np.array([1.0, 2.0])
JACOBIAN = np.array([[2.0, 1.0], [2.0, 0.0], [0.0, math.exp(2)]])
HESSIAN = np.array([[6.0, 1.0], [1.0, 12.0]])


def tensor(values: Any, requires_grad: bool = False) -> Any:
    return sd.tensor(values, dtype=sd.float64, requires_grad=requires_grad)


def vector(x: Any) -> Any:
    return sd.stack([x[0] * x[1], x[0] ** 2, x[1].exp()])


def scalar(x: Any) -> Any:
    return (x**3).sum() + x[0] * x[1]


def same(got: Any, expected: Any) -> None:
    np.testing.assert_allclose(got.detach().numpy(), expected, rtol=1e-12, atol=1e-12)


# ----------------------------------------------------------------------------------------------------------- grad


def test_gradients_of_any_order() -> None:
    slope: Callable[..., Any] = lambda x: x**5
    for expected in (5 * 16.0, 20 * 8.0, 60 * 4.0, 120 * 2.0):
        slope = func.grad(slope)
        same(slope(tensor(2.0)), expected)


def test_inner_and_outer_derivatives_are_kept_apart() -> None:
    # d/dx (x * d/dy (x + y)) = d/dx x = 1
    same(func.grad(lambda x: x * func.grad(lambda y: x + y)(tensor(1.0)))(tensor(3.0)), 1.0)
    # d/dx (x * d/dy (x * y**2)) at y = x: x * 2xy, with y a constant only if it is one
    same(func.grad(lambda x: x * func.grad(lambda y: x * y**2)(x))(tensor(2.0)), 6 * 2.0**2)


def test_structures_come_back() -> None:
    params = OrderedDict(w=tensor(X), b=[tensor(3.0), None])
    slopes, value = func.grad_and_value(lambda p: (p["w"] @ tensor([5.0, 7.0]) + p["b"][0]) ** 2)(params)
    assert type(slopes) is OrderedDict
    same(value, 22.0**2)
    same(slopes["w"], 44 * np.array([5.0, 7.0]))
    same(slopes["b"][0], 44.0)
    assert slopes["b"][1] is None


def test_argnums_aux_and_keywords() -> None:
    a, b = tensor(X), tensor([3.0, 4.0])
    first, second = func.grad(lambda a, b: (a * b**2).sum(), argnums=(0, -1))(a, b)
    same(first, [9.0, 16.0])
    same(second, [6.0, 16.0])
    same(func.grad(lambda a, b, k=1.0: (a * b).sum() * k, argnums=1)(a, b, k=3.0), 3 * X)
    slope, aux = func.grad(lambda x: (x.sum(), {"double": x * 2, "n": 3}), has_aux=True)(a)
    same(slope, [1.0, 1.0])
    same(aux["double"], 2 * X)
    assert not aux["double"].requires_grad
    assert aux["n"] == 3
    _, (value, _) = func.grad_and_value(lambda x: (x.sum(), 3), has_aux=True)(a)
    same(value, 3.0)
    same(func.grad(lambda a, b: a.sum(), argnums=1)(a, b), [0.0, 0.0])
    same(func.grad(lambda a: sd.ones(()))(a), [0.0, 0.0])


def test_what_requires_grad_outside_is_differentiated_outside() -> None:
    x, w = tensor(3.0, requires_grad=True), tensor(2.0, requires_grad=True)
    slope = func.grad(lambda t: w * t**2)(x)
    assert slope.requires_grad
    by_x, by_w = sd.autograd.grad(slope, [x, w])
    same(by_x, 4.0)
    same(by_w, 6.0)
    assert x.grad is None
    with sd.no_grad():
        slope = func.grad(lambda t: w * t**2)(x)
        same(slope, 12.0)
        assert not slope.requires_grad
    assert not func.grad(lambda t: t**2)(tensor(3.0)).requires_grad


def test_no_grad_inside_holds() -> None:
    def f(x: Any) -> Any:
        with sd.no_grad():
            total = x.sum()
        return (total * x).sum()

    same(func.grad(f)(tensor(X)), [3.0, 3.0])


def test_eager_rules_hold_inside() -> None:
    same(func.grad(lambda x: (x * x).sum() * x[0].item())(tensor(X)), 2 * X)

    def f(x: Any) -> Any:
        y = x * 1
        y.mul_(3)
        y[0] = 0.0
        return y.sum()

    same(func.grad(f)(tensor(X)), [0.0, 3.0])


def test_arguments_that_have_no_gradient_are_refused() -> None:
    with pytest.raises(RuntimeError, match="only Tensors of floating point dtype"):
        func.grad(lambda x: (x * 1.0).sum())(sd.arange(3))
    with pytest.raises(ValueError, match="Thing passed to transform API must be Tensor"):
        func.grad(lambda x: x)("text")
    with pytest.raises(RuntimeError, match="Got argnum=3, but only 1 positional inputs"):
        func.grad(scalar, argnums=3)(tensor(X))
    with pytest.raises(RuntimeError, match="return a scalar Tensor, got tensor with 1 dims"):
        func.grad(lambda x: x)(tensor(X))
    with pytest.raises(RuntimeError, match=r"Expected f.* to return a Tensor, got <class 'float'>"):
        func.grad(lambda x: 3.0)(tensor(X))


# ------------------------------------------------------------------------------------------ vjp, jvp, Jacobians


def test_vjp() -> None:
    out, pull = func.vjp(vector, tensor(X))
    same(out, [2.0, 1.0, math.exp(2)])
    for ct in np.eye(3):
        same(pull(tensor(ct))[0], ct @ JACOBIAN)
    out, pull, aux = func.vjp(lambda a, b: ({"p": a * b}, a), tensor(X), tensor(X), has_aux=True)
    same(aux, X)
    first, second = pull({"p": tensor([1.0, 1.0])})
    same(first, X)
    same(second, X)
    with pytest.raises(RuntimeError, match="structure of cotangents"):
        func.vjp(lambda x: (x, x), tensor(X))[1](tensor(X))
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        func.vjp(lambda x: x, tensor(X))[1](sd.ones(3))


def test_jvp_and_linearize() -> None:
    t = np.array([3.0, -1.0])
    out, tangent = func.jvp(vector, (tensor(X),), (tensor(t),))
    same(out, [2.0, 1.0, math.exp(2)])
    same(tangent, JACOBIAN @ t)
    out, push = func.linearize(vector, tensor(X))
    for direction in np.eye(2):
        same(push(tensor(direction)), JACOBIAN @ direction)
    out, tangent = func.jvp(lambda a: (a * 2, {"s": a.sum()}, sd.ones(2)), (tensor(X),), (tensor(t),))
    same(tangent[0], 2 * t)
    same(tangent[1]["s"], 2.0)
    same(tangent[2], [0.0, 0.0])
    assert not tangent[0].requires_grad
    with pytest.raises(RuntimeError, match="Expected primals to be a tuple"):
        func.jvp(vector, tensor(X), (tensor(t),))
    with pytest.raises(RuntimeError, match="same python structure"):
        func.jvp(lambda a, b: a, (tensor(X), tensor(X)), (tensor(t),))
    with pytest.raises(RuntimeError, match="different size"):
        func.jvp(vector, (tensor(X),), (sd.ones(3),))
    with pytest.raises(RuntimeError, match="does not depend on the primals"):
        func.jvp(lambda a: sd.ones(2), (tensor(X),), (tensor(t),), strict=True)


def test_forward_derivatives_go_through_no_grad_and_overwritten_values() -> None:
    t = tensor([1.0, -2.0])

    def no_grad_inside(a: Any) -> Any:
        with sd.no_grad():
            b = a * 2
        return a * b

    def overwritten(a: Any) -> Any:
        b = a * a
        c = b * b
        b.mul_(2)
        return c

    x = tensor([0.5, 3.0])
    for _ in range(3):
        assert func.jvp(no_grad_inside, (x,), (t,))[1].tolist() == (4 * x * t).tolist()
        assert func.linearize(overwritten, x)[1](t).tolist() == (4 * x**3 * t).tolist()
        assert func.jacfwd(no_grad_inside)(x).diagonal().tolist() == (4 * x).tolist()
    with pytest.raises(TypeError, match="complex128 was given for a value of dtype float64"):
        func.jvp(no_grad_inside, (x,), (t * 1j,))


@pytest.mark.parametrize("jacobian", [func.jacrev, func.jacfwd])
def test_jacobians(jacobian: Callable[..., Any]) -> None:
    same(jacobian(vector)(tensor(X)), JACOBIAN)
    same(jacobian(lambda x: x)(tensor(X)), np.eye(2))
    made = jacobian(lambda a, p: {"out": a * p["w"]}, argnums=(0, 1))(tensor(X), {"w": tensor([3.0, 4.0])})
    same(made["out"][0], np.diag([3.0, 4.0]))
    same(made["out"][1]["w"], np.diag(X))
    made, aux = jacobian(lambda x: (x, x * 2), has_aux=True)(tensor(X))
    same(made, np.eye(2))
    same(aux, 2 * X)
    matrix = tensor(np.random.default_rng(0).standard_normal((2, 3)))
    assert jacobian(lambda m: m.t() @ m)(matrix).shape == (3, 3, 2, 3)
    assert jacobian(lambda m: m * 2)(tensor(np.zeros((0, 2)))).shape == (0, 2, 0, 2)


def test_all_ways_to_the_hessian_agree() -> None:
    x = tensor(X)
    for made in (
        func.hessian(scalar),
        func.jacrev(func.jacrev(scalar)),
        func.jacfwd(func.jacfwd(scalar)),
        func.jacrev(func.jacfwd(scalar)),
        func.jacfwd(func.grad(scalar)),
        func.jacrev(func.grad(scalar)),
    ):
        same(made(x), HESSIAN)
    product = func.jvp(func.grad(scalar), (x,), (tensor([1.0, -1.0]),))[1]
    same(product, HESSIAN @ [1.0, -1.0])


# ----------------------------------------------------------------------------------------------------------- vmap

BATCH = np.arange(6.0).reshape(3, 2)


def test_axes_of_arguments_and_results() -> None:
    batch = tensor(BATCH)
    same(func.vmap(lambda x: x * 2)(batch), 2 * BATCH)
    same(func.vmap(lambda x: x, in_dims=-1)(batch), BATCH.T)
    same(func.vmap(lambda x: x, out_dims=-1)(batch), BATCH.T)
    same(func.vmap(lambda x, y: x * y, in_dims=(0, None))(batch, tensor(X)), BATCH * X)
    same(func.vmap(lambda x, k: x * k, in_dims=(1, None))(batch, 3), BATCH.T * 3)
    moved, total = func.vmap(lambda x: (x, x.sum()), out_dims=(1, 0))(batch)
    same(moved, BATCH.T)
    same(total, BATCH.sum(1))
    nested = func.vmap(lambda p: {"r": p["a"] * p["b"][0]}, in_dims=({"a": 0, "b": [None]},), out_dims={"r": 1})
    same(nested({"a": batch, "b": [tensor(X)]})["r"], (BATCH * X).T)
    same(func.vmap(lambda x, k=None: x * k[0])(batch, k=tensor(X)), BATCH)
    alone = func.vmap(lambda x: (x, sd.ones(2)), out_dims=(0, None))(batch)[1]
    same(alone, [1.0, 1.0])
    same(func.vmap(lambda x: x if x.sum() > 2 else -x)(batch), BATCH * [[-1], [1], [1]])


def test_nested_vmap() -> None:
    x, y = tensor(BATCH), tensor(BATCH + 1)
    outer = func.vmap(func.vmap(lambda a, b: a * b, in_dims=(None, 0)), in_dims=(0, None))
    made = outer(x.reshape(6), y.reshape(6))
    same(made, np.outer(BATCH.ravel(), BATCH.ravel() + 1))


def test_the_empty_batch() -> None:
    made = func.vmap(lambda x: {"s": x.sum(), "o": (x, x * 2)}, out_dims={"s": 0, "o": 1})(tensor(BATCH[:0]))
    assert made["s"].shape == (0,)
    assert made["o"][1].shape == (2, 0)


def test_vmap_is_differentiable_and_maps_derivatives() -> None:
    batch = tensor(BATCH, requires_grad=True)
    func.vmap(lambda x: (x**3).sum())(batch).sum().backward()
    same(batch.grad, 3 * BATCH**2)
    same(func.vmap(func.grad(lambda x: (x**3).sum()))(tensor(BATCH)), 3 * BATCH**2)
    same(func.grad(lambda x: func.vmap(lambda row: (row**3).sum())(x).sum())(tensor(BATCH)), 3 * BATCH**2)
    rows = func.vmap(func.vjp(vector, tensor(X))[1])(tensor(np.eye(3)))[0]
    same(rows, JACOBIAN)


def test_random_numbers() -> None:
    batch = tensor(BATCH)
    with pytest.raises(RuntimeError, match="random operation while in randomness error mode"):
        func.vmap(lambda x: x + sd.rand(2))(batch)
    sd.manual_seed(0)
    made = func.vmap(lambda x: sd.rand(2), randomness="same")(batch)
    assert np.ptp(made.numpy(), axis=0).tolist() == [0.0, 0.0]
    made = func.vmap(lambda x: sd.rand(2), randomness="different")(batch)
    assert np.all(np.ptp(made.numpy(), axis=0) > 0)
    with pytest.raises(RuntimeError, match="Only allowed values for randomness"):
        func.vmap(scalar, randomness="none")


@pytest.mark.parametrize(
    ("options", "arguments", "message"),
    [
        ({}, (BATCH, 3), "Got in_dim=0 for an input but the input is of type <class 'int'>"),
        ({"in_dims": 5}, (BATCH,), "expected in_dim to satisfy -2 <= in_dim < 2"),
        ({}, (BATCH, BATCH.T), r"same size in the mapped dimension, got sizes \[3, 2\]"),
        ({"in_dims": None}, (BATCH,), "expected `in_dims` to be int or a"),
        ({"in_dims": (None,)}, (BATCH,), "at least one argument to map over"),
        ({"in_dims": (0, 0)}, (BATCH,), "in_dims is not compatible with the structure"),
        ({"out_dims": (0, 0)}, (BATCH,), "out_dims is not compatible with the structure"),
        ({"out_dims": None}, (BATCH,), "can not return a BatchedTensor when out_dim is None"),
        ({"out_dims": 7}, (BATCH,), "out of range"),
        ({}, (), "got no inputs"),
    ],
)
def test_wrong_axes_are_refused(options: dict[str, Any], arguments: tuple[Any, ...], message: str) -> None:
    given = [tensor(a) if isinstance(a, np.ndarray) else a for a in arguments]
    with pytest.raises(ValueError, match=message):
        func.vmap(lambda *xs: xs[0], **options)(*given)


def test_results_must_be_tensors() -> None:
    with pytest.raises(ValueError, match="must only return Tensors, got type <class 'float'>"):
        func.vmap(lambda x: 3.0)(tensor(BATCH))
    with pytest.raises(ValueError, match="chunk_size should be None or greater than 0"):
        func.vmap(scalar, chunk_size=0)


# -------------------------------------------------------------------------------------------------------- modules


def test_functional_call_replaces_parameters_for_the_call() -> None:
    sd.manual_seed(0)
    module = sd.nn.Linear(2, 1)
    weight, x = module.weight, sd.ones(2)
    made = func.functional_call(module, {"weight": sd.ones(1, 2)}, x)
    np.testing.assert_allclose(made.detach().numpy(), 2 + module.bias.detach().numpy())
    made = func.functional_call(module, [{"weight": sd.ones(1, 2)}, {"bias": sd.zeros(1)}], (x,))
    assert made.tolist() == [2.0]
    assert module.weight is weight
    with pytest.raises(RuntimeError, match=r"shape|size|mismatch|matmul|dim"):
        func.functional_call(module, {"weight": sd.ones(5)}, sd.ones(3))
    assert module.weight is weight
    with pytest.raises(RuntimeError, match=r"(?s)Unexpected key.*'foo'.*Missing key.*'bias', 'weight'") as info:
        func.functional_call(module, {"foo": x}, x, strict=True)
    assert "Linear" in str(info.value)
    with pytest.raises(ValueError, match="appeared in multiple dictionaries"):
        func.functional_call(module, [{"weight": x}, {"weight": x}], x)
    func.functional_call(module, {"foo": x}, x)


def test_tied_parameters_are_replaced_together() -> None:
    module = sd.nn.Sequential(sd.nn.Linear(2, 2, bias=False), sd.nn.Linear(2, 2, bias=False))
    module[1].weight = module[0].weight
    replacement = {"0.weight": 2 * sd.eye(2)}
    assert func.functional_call(module, replacement, sd.ones(2)).tolist() == [4.0, 4.0]
    alone = func.functional_call(module, replacement, sd.ones(2), tie_weights=False)
    np.testing.assert_allclose(alone.detach().numpy(), module[0].weight.detach().numpy().sum(1) * 2, rtol=1e-6)


def test_gradients_of_single_examples() -> None:
    sd.manual_seed(0)
    module = sd.nn.Linear(3, 1)
    params = {name: p.detach() for name, p in module.named_parameters()}
    inputs, targets = sd.randn(4, 3), sd.randn(4, 1)

    def loss(p: Any, x: Any, y: Any) -> Any:
        return ((func.functional_call(module, p, (x,)) - y) ** 2).sum()

    slopes = func.vmap(func.grad(loss), in_dims=(None, 0, 0))(params, inputs, targets)
    assert slopes["weight"].shape == (4, 1, 3)
    residual = (inputs @ params["weight"].T + params["bias"] - targets).numpy()
    np.testing.assert_allclose(slopes["bias"].numpy(), 2 * residual, rtol=1e-5)
    np.testing.assert_allclose(slopes["weight"].numpy()[:, 0], 2 * residual * inputs.numpy(), rtol=1e-5)


def test_models_in_a_stack() -> None:
    sd.manual_seed(0)
    models = [sd.nn.Linear(2, 1) for _ in range(3)]
    params, buffers = func.stack_module_state(models)
    assert params["weight"].shape == (3, 1, 2)
    assert params["weight"].is_leaf
    assert params["weight"].requires_grad
    assert buffers == {}
    x = sd.ones(2)
    together = func.vmap(lambda p: func.functional_call(models[0], p, x))(params)
    np.testing.assert_allclose(together.detach().numpy(), [m(x).detach().numpy() for m in models], rtol=1e-6)
    together.sum().backward()
    assert params["bias"].grad.tolist() == [[1.0]] * 3
    with pytest.raises(RuntimeError, match="Expected at least one model"):
        func.stack_module_state([])
    with pytest.raises(RuntimeError, match="same class"):
        func.stack_module_state([models[0], sd.nn.ReLU()])


def test_it_is_complete_when_it_is_what_is_used_first() -> None:
    code = "import numpy as np, srcdiff as sd; print(sd.func.jacfwd(sd.func.grad(lambda x: np.sum(x**2)))(np.ones(1)))"
    run = subprocess.run([sys.executable, "-c", code], text=True, capture_output=True, check=False)
    assert run.stdout == "tensor([[2.]], dtype=float64)\n", run.stderr
