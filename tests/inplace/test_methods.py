"""`x.f_(...)` writes into x what `x.f(...)` gives, and the gradient goes through the write as through the function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import srcdiff as sd


def values() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        "x": rng.uniform(-2.0, 2.0, (3, 4)),
        "y": rng.uniform(0.5, 2.0, (3, 4)),
        "z": rng.uniform(0.5, 2.0, (3, 4)),
        "q": rng.uniform(-1.0, 1.0, (3, 3)),
        "s": np.array(0.3),
    }


CONSTANTS = {
    "i": np.array([0, 2]),
    "j": np.array([[0, 1, 2, 0], [2, 1, 0, 1], [1, 1, 1, 1]]),
    "m": np.array([[True, False, True, False]] * 3),
}

#: a write, and what it writes
METHODS = """
x.add_(y, alpha=2) = x.add(y, alpha=2)
x.add_(3) = x + 3
x.sub_(y, alpha=0.5) = x.sub(y, alpha=0.5)
x.subtract_(s) = x - s
x.mul_(y) = x * y
x.multiply_(y) = x * y
x.div_(y) = x / y
x.div_(y, rounding_mode='floor') = x.div(y, rounding_mode='floor')
x.div_(y, rounding_mode='trunc') = x.div(y, rounding_mode='trunc')
x.true_divide_(s) = x / s
y.pow_(2) = y**2
y.pow_(x) = y**x
x.remainder_(y) = x % y
x.addcmul_(y, z, value=2) = x + 2 * y * z
x.addcdiv_(y, z, value=0.5) = x + 0.5 * y / z
x.lerp_(y, s) = x + s * (y - x)
x.lerp_(y, 0.25) = x + 0.25 * (y - x)
x.addmm_(q, y, beta=2, alpha=3) = 2 * x + 3 * (q @ y)
x.round_(decimals=1) = x.round(decimals=1)
x.floor_() = x.floor()
x.ceil_() = x.ceil()
x.trunc_() = x.trunc()
x.frac_() = x.frac()
x.clamp_(-1, 1) = x.clamp(-1, 1)
x.clamp_(min=y) = x.clamp(min=y)
x.clamp_(max=s) = x.clamp(max=s)
x.clip_(-0.5, None) = x.clamp(min=-0.5)
x.clamp_min_(-1) = x.clamp(min=-1)
x.clamp_max_(1) = x.clamp(max=1)
x.leaky_relu_(0.2) = x.where(x > 0, 0.2 * x)
x.relu_() = x.relu()
x.sigmoid_() = x.sigmoid()
x.tanh_() = x.tanh()
x.exp_() = x.exp()
y.log_() = y.log()
y.sqrt_() = y.sqrt()
y.rsqrt_() = y.rsqrt()
y.reciprocal_() = y.reciprocal()
x.abs_() = x.abs()
x.neg_() = -x
x.square_() = x.square()
x.sin_() = x.sin()
x.cos_() = x.cos()
x.erf_() = x.erf()
x.cumsum_(1) = x.cumsum(1)
x.cumprod_(0) = x.cumprod(0)
x.tril_(1) = x.tril(1)
x.triu_() = x.triu()
x.fill_(2.0) = x * 0 + 2
x.fill_(s) = x * 0 + s
x.zero_() = x * 0
x.copy_(y) = y * 1
x.copy_(s) = x * 0 + s
x.fill_diagonal_(5.0) = x * (1 - T.eye(3, 4)) + 5 * T.eye(3, 4)
x.masked_fill_(m, s) = x.masked_fill(m, s)
x.masked_scatter_(m, y) = x.masked_scatter(m, y)
x.index_add_(0, i, y[:2], alpha=2) = x.index_add(0, i, y[:2], alpha=2)
x.index_copy_(0, i, y[:2]) = x.index_copy(0, i, y[:2])
x.index_fill_(0, i, s) = x.index_fill(0, i, s)
x.index_put_((i,), y[:2]) = x.index_put((i,), y[:2])
x.index_put_((i,), s, accumulate=True) = x.index_put((i,), s, accumulate=True)
x.scatter_(0, j, y) = x.scatter(0, j, y)
x.scatter_(0, j, 2.0) = x.scatter(0, j, 2.0)
x.scatter_add_(0, j, y) = x.scatter_add(0, j, y)
x.t_() = x.t()
x.transpose_(0, 1) = x.swapaxes(0, 1)
x.unsqueeze_(0) = x.unsqueeze(0)
x.unsqueeze_(0).squeeze_(0) = x * 1
""".strip().splitlines()


def run(call: str, requires_grad: bool) -> tuple[Any, dict[str, Any], Any]:
    leaves = {name: sd.tensor(array, requires_grad=requires_grad) for name, array in values().items()}
    changed = {name: leaf.clone() for name, leaf in leaves.items()}
    constants = {name: sd.tensor(array) for name, array in CONSTANTS.items()}
    result = eval(call, {"T": sd} | changed | constants)
    return result, leaves, changed


@pytest.mark.parametrize("case", METHODS)
def test_a_write_is_its_function(case: str) -> None:
    write, _, function = case.partition(" = ")
    for requires_grad in (True, False):
        got, leaves, changed = run(write, requires_grad)
        assert got is changed[write[0]]
        expected, others, _ = run(function, requires_grad)
        assert got.shape == expected.shape and got.dtype == expected.dtype
        np.testing.assert_allclose(got.detach().numpy(), expected.detach().numpy(), rtol=1e-12, atol=1e-12)
        if not requires_grad:
            continue
        weights = sd.tensor(np.linspace(0.5, 1.5, got.numel()).reshape(got.shape))
        for result in (got, expected):
            (result * weights).sum().backward()
        for name, leaf in leaves.items():
            ours, theirs = (0.0 if each.grad is None else each.grad.numpy() for each in (leaf, others[name]))
            np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12, err_msg=name)


@pytest.mark.parametrize(
    "call",
    ["x.clamp_()", "x.div_(y, rounding_mode='odd')", "x.scatter_(5, j, y)", "x.copy_(q)"],
)
def test_refusals(call: str) -> None:
    with pytest.raises((RuntimeError, ValueError, IndexError, TypeError)):
        run(call, True)


def test_random_fillings_come_from_the_generator() -> None:
    for fill in ("normal_(1.0, 2.0)", "uniform_(-1, 1)", "bernoulli_(0.3)", "random_(10)", "random_(3, 5)"):
        made = []
        for _ in range(2):
            sd.manual_seed(3)
            x = sd.zeros(1000)
            assert eval(f"x.{fill}", {"x": x}) is x
            made.append(x.numpy().copy())
        assert np.array_equal(*made) and np.unique(made[0]).size > 1
