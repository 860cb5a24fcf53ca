"""Gradients flow through `srcdiff.numpy` as through NumPy's functions of Tensors; nothing is lost on the way."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from scipy import special

import srcdiff as sd
import srcdiff.numpy as xp
from srcdiff.errors import GradientLostError, UnsupportedError
from tests.numpy_namespace.calls import CALLS
from tests.versions import newer

X = np.array([[0.3, 0.7, 0.2], [0.5, 0.9, 0.6], [0.8, 0.1, 0.4]])
#: nothing flows through these: they make arrays or ask about them, or their result is constant between jumps
CONSTANT = frozenset(
    """
    all any arange argmax argmin argsort can_cast ceil count_nonzero empty empty_like equal eye floor floor_divide
    full full_like greater greater_equal iinfo imag isdtype isfinite isinf isnan less less_equal linspace logical_and
    logical_not logical_or logical_xor nonzero not_equal ones ones_like result_type round searchsorted sign signbit
    trunc asarray unique_all unique_counts unique_inverse zeros zeros_like linalg.matrix_rank fft.fftfreq fft.rfftfreq
    bitwise_and bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor acosh
    """.split()
)


def name_of(call: str) -> str:
    return call.split("(", maxsplit=1)[0]


def total(out: Any) -> Any:
    """A number made of all floats of a result, each with a weight of its own."""
    parts = out if isinstance(out, (tuple, list)) else [out]
    terms = []
    for part in parts:
        part = part.real + 0.3 * part.imag if part.dtype.kind == "c" else part
        terms.append((part * np.cos(np.arange(part.size)).reshape(tuple(part.shape))).sum())
    return sum(terms[1:], terms[0])


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(call, marks=newer(call))
        for call in CALLS
        if name_of(call) not in CONSTANT and "." not in name_of(call)
    ],
)
def test_gradients_are_those_through_numpys_functions(call: str) -> None:
    if not hasattr(np, name_of(call)):
        pytest.skip("this NumPy has no such function")
    gradients = []
    for module in (np, xp):
        x = sd.tensor(X, requires_grad=True)
        out = eval(f"np.{call}", {"np": module, "x": x})
        total(out).backward()
        assert x.grad is not None
        gradients.append(x.grad.numpy())
    assert np.array_equal(*gradients)


@pytest.mark.parametrize("call", [call for call in CALLS if "." in name_of(call) and name_of(call) not in CONSTANT])
def test_extensions_differentiate(call: str) -> None:
    def function(x: Any, module: Any = xp) -> Any:
        return total(eval(f"np.{call}", {"np": module, "x": x}))

    gradient, step = sd.grad(function)(X), 1e-6
    direction = np.sin(np.arange(9.0)).reshape(3, 3)
    wanted = (function(X + step * direction, np) - function(X - step * direction, np)) / (2 * step)
    np.testing.assert_allclose(np.sum(gradient * direction), wanted, rtol=1e-6, atol=1e-7)


LISTS = {
    "array": lambda xp, a, b: xp.array([[a[0], 2.0], [b[1] * 3, a[1]]]),
    "asarray": lambda xp, a, b: xp.asarray([a, b]),
    "sum": lambda xp, a, b: xp.sum([a[0], b[0] * a[1]]),
    "concat": lambda xp, a, b: xp.concat([a, [b[0], 1.0], b]),
    "stack": lambda xp, a, b: xp.stack([[a[0], b[0]], a]),
    "matmul": lambda xp, a, b: xp.matmul([[a[0], 1.0], [2.0, b[1]]], a),
    "add.reduce": lambda xp, a, b: xp.add.reduce([a, b]),
    "exp": lambda xp, a, b: xp.exp([a[0], b[1]]),
    "det": lambda xp, a, b: xp.linalg.det([[a[0], 1.0], [2.0, b[1]]]),
    "full": lambda xp, a, b: xp.full((2, 2), a[0] * b[0]),
    "r_": lambda xp, a, b: xp.r_[a, 1:3, b[0], [a[1], 2.0]],
    "c_": lambda xp, a, b: xp.c_[a, np.ones((2, 2)), b * a],
    "where": lambda xp, a, b: xp.where([True, False], [a[0], b[0]], b),
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_may_have_tensors_inside(name: str) -> None:
    rng = np.random.default_rng(5)
    arrays, directions, step = rng.random((2, 2)) + 0.5, rng.random((2, 2)), 1e-6
    a, b = (sd.tensor(v, requires_grad=True) for v in arrays)
    made = LISTS[name](xp, a, b)
    assert np.array_equal(made.detach(), LISTS[name](np, *arrays)) and made.dtype == np.float64
    total(made).backward()
    slope = sum(np.sum(t.grad.numpy() * d) for t, d in zip((a, b), directions, strict=True) if t.grad is not None)
    ends = [total(LISTS[name](np, *(arrays + h * directions))) for h in (step, -step)]
    np.testing.assert_allclose(slope, (ends[0] - ends[1]) / (2 * step), rtol=1e-6)


def test_the_dtype_of_lists_is_numpys() -> None:
    single = sd.tensor(1.5, requires_grad=True)
    for data in ([single, 2.0], [single, 2], [single, np.float64(2)], [single, 1j], [single, True]):
        plain = [np.float32(1.5), data[1]]
        made = xp.asarray(data)
        assert made.dtype == np.asarray(plain).dtype and made.requires_grad
        assert np.array_equal(made.detach(), np.asarray(plain))
    assert xp.asarray([single, 2.0], dtype=np.float32).dtype == np.float32


def test_arrays_made_inside_a_gradient_function_take_traced_values() -> None:
    def function(x: Any) -> Any:
        sums, last = xp.zeros(3), xp.empty_like(x)
        for k in range(3):
            sums[k] = xp.sum(x[: k + 1])
        last[...] = x
        last *= 2.0
        assert isinstance(sums, xp.ndarray) and isinstance(x, xp.ndarray)
        return xp.prod(xp.asarray([sums[0], sums[1] * sums[2]])) + xp.add.reduce([last[0], last[1]])

    for _ in range(3):
        np.testing.assert_allclose(sd.grad(function)(np.array([1.0, 2.0, 3.0])), [29, 11, 3])


def test_second_derivatives() -> None:
    hessian = sd.hessian(lambda x: xp.sum(xp.exp(x) * xp.flip(x)))(np.array([0.5, 1.0]))
    e = np.exp([0.5, 1.0])
    np.testing.assert_allclose(hessian, [[e[0], e.sum()], [e.sum(), e[1]]] * np.array([[1.0, 1], [1, 0.5]]))


def test_a_function_without_a_derivative_takes_values_only() -> None:
    x = sd.tensor([1.0, 2.0], dtype=sd.float64, requires_grad=True)
    assert xp.asarray_chkfinite(x) is x
    for call in (lambda v: xp.require(v), lambda v: xp.arange(v[0], 4.0), lambda v: xp.packbits(v)):
        with pytest.raises(UnsupportedError, match=r"has no derivative here, at test_gradients\.py"):
            call(x)
    with sd.no_grad():
        assert xp.require(x).tolist() == [1, 2]
    assert xp.require(x.detach()).tolist() == [1, 2] and xp.arange(x.detach()[0], 3.0).tolist() == [1, 2]
    with pytest.raises(UnsupportedError, match=r"not supported on Tensors, at test_gradients\.py"):
        xp.frompyfunc(lambda v: v, 1, 1)(x)


def test_types_constants_and_classes_do_not_lose_gradients() -> None:
    x = sd.tensor([1.0, 2.0], requires_grad=True)
    for call in (lambda: xp.mgrid[: x[0]], lambda: xp.ma.array(x), lambda: xp.polynomial.Polynomial(x)):
        with pytest.raises(GradientLostError):
            call()
    assert xp.poly1d(x)(2.0).requires_grad and xp.fromfunction(lambda i: i * x, (2,)).requires_grad


def test_joining_by_subscripts() -> None:
    x = sd.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(UnsupportedError, match=r"the directive '1,2' is not supported, at test_gradients\.py"):
        xp.r_["1,2", x]
    with pytest.raises(ValueError, match="number of axes"):
        xp.r_[x, xp.stack([x, x])]
    assert xp.r_[x, 2.0].dtype == np.float32 and xp.r_[x, np.float64(2.0)].dtype == np.float64
    for key in (("1,2", [1.0], [2.0]), slice(0, 1, 5j), (np.ones(2), 3)):
        made = xp.r_[key]
        assert isinstance(made, sd.Tensor) and np.array_equal(made, np.r_[key]) and made.dtype == np.r_[key].dtype
    assert np.array_equal(xp.c_[x.detach(), [3.0, 4.0]], [[1, 3], [2, 4]])


def test_ufuncs_have_their_attributes_and_methods() -> None:
    assert (xp.add.nin, xp.add.identity, xp.add.__name__, repr(xp.add)) == (2, 0, "add", "<ufunc 'add'>")
    assert pickle.loads(pickle.dumps(xp.add))(1, 2).item() == 3
    x = sd.tensor([1.0, 2.0], requires_grad=True)
    for made in (xp.add.accumulate(x), xp.multiply.outer(x, [1.0, 2.0]), xp.add.reduceat(x, [0, 1]), xp.add(x, x)):
        assert made.requires_grad
    assert isinstance(xp.add.reduce([1, 2]), sd.Tensor) and xp.add.reduce([1, 2]).item() == 3
    out = xp.zeros(2)
    xp.add.at(out, [0, 0], x)
    out.sum().backward()
    assert x.grad.tolist() == [1, 1] and out.tolist() == [3, 0]


def test_special_functions_are_those_that_differentiate() -> None:
    x = sd.tensor([0.3, 0.6], dtype=sd.float64, requires_grad=True)
    made = xp.special.expit(x)
    made.sum().backward()
    p = special.expit(np.array([0.3, 0.6]))
    np.testing.assert_allclose(made.detach(), p)
    np.testing.assert_allclose(x.grad, p * (1 - p))
    assert isinstance(xp.special.gammaln(2.0), sd.Tensor)
    for name in ("agm", "logsumexp", "nonsense", "_ufuncs"):
        assert not hasattr(xp.special, name)
