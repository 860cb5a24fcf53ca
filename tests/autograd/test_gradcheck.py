"""`gradcheck` and `gradgradcheck`: right derivatives pass, each kind of wrong one is found and named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff.autograd.gradcheck import GradcheckError

gradcheck, gradgradcheck = sd.autograd.gradcheck, sd.autograd.gradgradcheck


def values(*shape: int, seed: int = 0, dtype: Any = np.float64) -> Any:
    rng = np.random.default_rng(seed)
    made = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        made = made + 1j * rng.standard_normal(shape)
    return sd.tensor(np.asarray(made, dtype), requires_grad=True)


def function(forward: Callable[..., Any], backward: Callable[..., Any]) -> Any:
    return type("Made", (sd.autograd.Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


OPTIONS: list[dict[str, Any]] = [
    {},
    {"fast_mode": True},
    {"check_forward_ad": True},
    {"check_forward_ad": True, "check_backward_ad": False},
    {"check_batched_grad": True},
    {"check_grad_dtypes": True},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_right_derivatives_pass(options: dict[str, Any]) -> None:
    x, y = values(2, 3), values(3, seed=1)
    z, w = values(2, 2, dtype=np.complex128), values(2, 2, seed=1, dtype=np.complex128)
    assert gradcheck(lambda a, b: (a * b).sin(), (x, y), **options) is True
    assert gradcheck(lambda a, b: ((a * b).sin(), a.sum(), b), [x, y], **options)
    assert gradcheck(lambda a: a.sin(), x, **options)
    assert gradcheck(lambda a, k, n: (a * k, n + 1), (x, 3, sd.arange(2)), **options)
    assert gradcheck(lambda a, b: (a * b).exp() + a @ b, (z, w), **options)
    assert gradcheck(lambda a, b: (a * b).abs(), (z, w), **options)
    assert gradcheck(lambda a: a.conj() * a * a, z, **options)
    assert gradcheck(lambda a: a * (1 + 2j), x, **options)
    assert gradcheck(lambda a: a.sin(), values(0), **options)
    assert gradcheck(lambda a: a.sin(), values(), **options)
    assert gradcheck(lambda a: a.sin(), values(3, 4).T, **options)
    assert gradcheck(lambda a, b: a * 2, (x, y), **options)


def test_second_derivatives() -> None:
    x, y, z = values(3), values(3, seed=1), values(2, dtype=np.complex128)
    assert gradgradcheck(lambda a, b: (a * b).sin() * a, (x, y)) is True
    assert gradgradcheck(lambda a, b: (a * b).sin() * a, (x, y), gen_non_contig_grad_outputs=True)
    assert gradgradcheck(lambda a, b: (a * b).sin() * a, (x, y), values(3, seed=2))
    assert gradgradcheck(lambda a, b: (a * b).sin() * a, (x, y), check_fwd_over_rev=True)
    assert gradgradcheck(lambda a: a * a * a.conj(), z)
    assert gradgradcheck(lambda a: (a.exp(), a**2), x)


def test_inputs_are_unchanged_whatever_happens() -> None:
    x = values(3)
    before = x.detach().numpy().copy()
    calls = [0]

    def fails(a: Any) -> Any:
        calls[0] += 1
        if calls[0] == 3:
            raise KeyError("no")
        return a * 2

    with pytest.raises(KeyError):
        gradcheck(fails, x)
    assert gradcheck(lambda a: a.sin(), x)
    assert x.tolist() == before.tolist()
    assert x.grad is None


@pytest.mark.parametrize("fast_mode", [False, True])
def test_a_wrong_derivative_is_found(fast_mode: bool) -> None:
    wrong = function(lambda ctx, a: a * 2, lambda ctx, g: g * 3)
    x = values(3)
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"):
        gradcheck(wrong.apply, x, fast_mode=fast_mode)
    assert gradcheck(wrong.apply, x, fast_mode=fast_mode, raise_exception=False) is False
    assert gradcheck(wrong.apply, x, fast_mode=fast_mode, atol=10.0)
    with pytest.raises(RuntimeError, match="forward mode output 0"):
        gradcheck(wrong.apply, x, check_forward_ad=True, check_backward_ad=False)


def test_a_wrong_second_derivative_is_found() -> None:
    def forward(ctx: Any, a: Any) -> Any:
        ctx.save_for_backward(a)
        return a**3

    right_once = function(forward, lambda ctx, g: 3 * g * ctx.saved_tensors[0].detach() ** 2)
    assert gradcheck(right_once.apply, values(3))
    with pytest.raises(GradcheckError, match=r"Jacobian mismatch|expected to be zero"):
        gradgradcheck(right_once.apply, values(3))


def test_the_message_names_the_worst_entry() -> None:
    wrong = function(lambda ctx, a: a * 2, lambda ctx, g: g * sd.tensor([2.0, 5.0]))
    with pytest.raises(GradcheckError, match="at input element 1 and output element 1: numerical 2, analytical 5"):
        gradcheck(wrong.apply, values(2))


def test_a_backward_that_varies_is_found() -> None:
    calls = [0]

    def backward(ctx: Any, g: Any) -> Any:
        calls[0] += 1
        return g * (2 + 1e-9 * calls[0])

    varying = function(lambda ctx, a: a * 2, backward)
    with pytest.raises(GradcheckError, match="Backward is not reentrant"):
        gradcheck(varying.apply, values(3))
    assert gradcheck(varying.apply, values(3), nondet_tol=1e-5)


def test_a_backward_that_needs_all_gradients_is_found() -> None:
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.set_materialize_grads(False)
        return a * 2, b * 3

    def backward(ctx: Any, g: Any, h: Any) -> Any:
        return (g * 2 if g is not None else None), h * 3

    needy = function(forward, backward)
    with pytest.raises(Exception, match=r"undefined output grads|unsupported operand"):
        gradcheck(needy.apply, (values(3), values(3)))


def test_undefined_gradients() -> None:
    def forward(ctx: Any, a: Any) -> Any:
        ctx.set_materialize_grads(False)
        return a * 2, a * 3

    def backward(ctx: Any, g: Any, h: Any) -> Any:
        total = 0 * (h if g is None else g)
        if g is not None:
            total = total + g * 2
        return total if h is None else total + h * 3

    assert gradcheck(function(forward, backward).apply, values(3))


def test_an_output_outside_the_graph_must_not_depend_on_the_inputs() -> None:
    with pytest.raises(GradcheckError, match="Numerical gradient for function expected to be zero"):
        gradcheck(lambda a: a.detach() * 2, values(3))
    assert gradcheck(lambda a: sd.ones(2), values(3))


def test_unsuitable_inputs() -> None:
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(lambda a: a * 2, values(3).detach())
    with pytest.raises(RuntimeError, match="dimension with stride 0"):
        gradcheck(lambda a: a * 2, values(1).expand(3))
    single = sd.tensor([0.5], dtype=sd.float32, requires_grad=True)
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double precision"):
        gradcheck(lambda a: a * 2, single, eps=1e-2, atol=1e-2)


def test_the_function_stays_a_function_after_its_module_was_imported() -> None:
    assert callable(sd.autograd.gradcheck)
    assert sd.testing.gradcheck is gradcheck
    assert issubclass(GradcheckError, RuntimeError)
