"""Dual numbers: tangents are directional derivatives, and end with their level."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff.autograd import forward_ad as fwd


def tensor(values: Any, requires_grad: bool = False) -> Any:
    return sd.tensor(values, dtype=sd.float64, requires_grad=requires_grad)


X, T = np.array([1.0, 2.0]), np.array([1.0, 10.0])


def test_the_tangent_is_the_directional_derivative() -> None:
    with fwd.dual_level():
        dual = fwd.make_dual(tensor(X), tensor(T))
        out = fwd.unpack_dual((dual**2).sin() + dual * 3)
    np.testing.assert_allclose(out.tangent.numpy(), (np.cos(X**2) * 2 * X + 3) * T)
    np.testing.assert_allclose(out.primal.numpy(), np.sin(X**2) + 3 * X)
    assert not out.primal.requires_grad
    assert not out.tangent.requires_grad


def test_tangents_of_several_duals_add_up() -> None:
    with fwd.dual_level():
        a, b = fwd.make_dual(tensor(X), tensor(T)), fwd.make_dual(tensor(T), tensor(X))
        tangent = fwd.unpack_dual(a * b + a.detach()).tangent
    np.testing.assert_allclose(tangent.numpy(), T * T + X * X)


def test_no_grad_does_not_lose_tangents() -> None:
    with fwd.dual_level(), sd.no_grad():
        assert fwd.unpack_dual(fwd.make_dual(tensor(X), tensor(T)) * 2).tangent.tolist() == [2.0, 20.0]
        assert not sd.is_grad_enabled()


def test_what_has_no_tangent_says_so() -> None:
    x = tensor(X)
    with fwd.dual_level():
        dual = fwd.make_dual(x, tensor(T))
        for other in (x, dual.detach(), dual > 1, x * 2):
            assert fwd.unpack_dual(other).tangent is None
        assert fwd.unpack_dual(dual).tangent.tolist() == T.tolist()
    assert fwd.unpack_dual(dual).tangent is None


def test_an_unpacked_value_carries_no_tangent() -> None:
    w = tensor([3.0, 4.0], requires_grad=True)
    with fwd.dual_level():
        value, _ = fwd.unpack_dual(fwd.make_dual(tensor(X), tensor(T)) * w)
        assert value.requires_grad
        assert fwd.unpack_dual(value * 5).tangent is None
        other = fwd.make_dual(tensor(X), tensor(T))
        np.testing.assert_allclose(fwd.unpack_dual(value * other).tangent.detach().numpy(), X * [3.0, 4.0] * T)
    (g,) = sd.autograd.grad(value.sum(), w)
    assert g.tolist() == X.tolist()


def test_tangents_can_be_differentiated_backward() -> None:
    w = tensor(X, requires_grad=True)
    with fwd.dual_level():
        tangent = fwd.unpack_dual(fwd.make_dual(w, tensor(T)) ** 3).tangent
    (g,) = sd.autograd.grad(tangent.sum(), w)
    np.testing.assert_allclose(g.numpy(), 6 * X * T)
    t = tensor(T, requires_grad=True)
    with fwd.dual_level():
        tangent = fwd.unpack_dual(fwd.make_dual(tensor(X), t) ** 3).tangent
    (g,) = sd.autograd.grad(tangent.sum(), t)
    np.testing.assert_allclose(g.numpy(), 3 * X**2)


def test_in_place_operations_and_shared_memory() -> None:
    x = tensor(X)
    with fwd.dual_level():
        dual = fwd.make_dual(x, tensor(T))
        dual.mul_(3)
        assert fwd.unpack_dual(dual).tangent.tolist() == (3 * T).tolist()
    assert x.tolist() == (3 * X).tolist()


def test_what_tangents_went_through_may_be_overwritten() -> None:
    with fwd.dual_level():
        b = fwd.make_dual(tensor(X), tensor(T)) ** 2
        c = b * b
        b.mul_(2)
        assert fwd.unpack_dual(c).tangent.tolist() == (4 * X**3 * T).tolist()
        assert fwd.unpack_dual(b).tangent.tolist() == (4 * X * T).tolist()
    w = tensor(X, requires_grad=True)
    b = w * 1
    c = b * b
    b.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        c.sum().backward()


def test_hooks_are_for_gradients_only() -> None:
    with fwd.dual_level():
        b = fwd.make_dual(tensor(X, requires_grad=True), tensor(T)) * 3
        b.register_hook(lambda g: g * 100)
        assert fwd.unpack_dual(b * 2).tangent.tolist() == (6 * T).tolist()


def test_complex_values() -> None:
    z, t = np.array([1 + 2j, 0.5j]), np.array([1j, 2.0 + 0j])
    with fwd.dual_level():
        out = fwd.make_dual(sd.tensor(z), sd.tensor(t))
        tangent = fwd.unpack_dual(out * out.conj() * out).tangent
    np.testing.assert_allclose(tangent.numpy(), 2 * z * t * z.conj() + z**2 * t.conj())


class Scaled(sd.autograd.Function):
    """x * y * k and x + y, with derivatives in forward mode that are told from those in reverse mode."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any, k: float) -> Any:
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(y, x)
        ctx.k = k
        return x * y * k, x + y

    @staticmethod
    def backward(ctx: Any, g: Any, h: Any) -> Any:
        x, y = ctx.saved_tensors
        return g * y * ctx.k + h, g * x * ctx.k + h, None


class Pushed(Scaled):
    @staticmethod
    def jvp(ctx: Any, tx: Any, ty: Any, k: Any) -> Any:
        assert k is None
        y, x = ctx.saved_tensors
        return 100 * ctx.k * (tx * y + x * ty), None


def test_custom_functions_have_their_jvp_or_what_backward_gives() -> None:
    x, y = tensor(X), tensor([3.0, -1.0])
    product = X * 2 * y.numpy() * 2.5
    for _ in range(4):
        for kind, first, second in ((Scaled, 1.0, 1.0), (Pushed, 100.0, 0.0)):
            with fwd.dual_level():
                a, b = kind.apply(fwd.make_dual(x, tensor(T)) * 2, y, 2.5)
                slopes = 2 * T * y.numpy() * 2.5
                got = fwd.unpack_dual((a**2).sum() + b.sum())
                np.testing.assert_allclose(got.tangent.numpy(), np.sum(first * 2 * product * slopes + second * 2 * T))
                one = fwd.unpack_dual(b).tangent
                assert one is None if not second else one.tolist() == (2 * T).tolist()
        made = sd.func.jvp(lambda x: Pushed.apply(Pushed.apply(x, y, 1.0)[0], y, 1.0)[0] * x, (x,), (tensor(T),))[1]
        np.testing.assert_allclose(made.numpy(), (1e4 + 1) * X * T * y.numpy() ** 2)
    x3 = lambda x: Scaled.apply(x, x * x, 1.0)[0]  # its arguments depend on each other
    np.testing.assert_allclose(sd.func.jvp(x3, (x,), (tensor(T),))[1].numpy(), 3 * X**2 * T)
    slope = sd.func.grad(lambda x: sd.func.jvp(lambda x: Pushed.apply(x, x, 1.0)[0].sum(), (x,), (tensor(T),))[1])(x)
    np.testing.assert_allclose(slope.numpy(), 200 * T)


def test_a_jvp_that_does_not_fit_is_refused() -> None:
    class TooMany(Scaled):
        @staticmethod
        def jvp(ctx: Any, *ts: Any) -> Any:
            return ts

    class Short(Scaled):
        @staticmethod
        def jvp(ctx: Any, *ts: Any) -> Any:
            return ts[0].sum(), None

    with fwd.dual_level():
        dual = fwd.make_dual(tensor(X), tensor(T))
        for function, message in ((TooMany, r"expected 2 but got 3"), (Short, "has a different size")):
            with pytest.raises(RuntimeError, match=message):
                fwd.unpack_dual(function.apply(dual, dual, 1.0)[0])


def test_misuse_is_refused() -> None:
    x, t = tensor(X), tensor(T)
    with pytest.raises(RuntimeError, match="no level exists, make sure to enter_dual_level"):
        fwd.make_dual(x, t)
    with pytest.raises(RuntimeError, match="level"):
        fwd.exit_dual_level()
    with fwd.dual_level():
        dual = fwd.make_dual(x, t)
        for error, message, arguments in (
            (RuntimeError, "different size", (x, sd.ones(3))),
            (ValueError, "Expected primal to be floating point", (sd.arange(2), t)),
            (ValueError, "Expected tangent to be floating point", (x, sd.arange(2))),
            (ValueError, "to be real, but got a complex one", (x, sd.tensor(T * 1j))),
            (RuntimeError, "already has a forward gradient at the same level 0", (dual, t)),
            (RuntimeError, "itself has a forward gradient", (x, dual)),
        ):
            with pytest.raises(error, match=message):
                fwd.make_dual(*arguments)
        with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported"):
            fwd.enter_dual_level()


def test_the_level_ends_with_an_exception() -> None:
    with pytest.raises(KeyError), fwd.dual_level():
        raise KeyError
    with fwd.dual_level():
        pass
