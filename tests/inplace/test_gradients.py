"""Writes differentiate: gradients of programs that write are those of finite differences of the same programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcdiff as sd

W = np.array([0.3, -0.7, 1.1, 0.9, -0.2])
X = np.array([0.5, -0.3, 0.8, 1.2, -0.6])
PROGRAMS: list[Callable[[Any], Any]] = []


def program(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    PROGRAMS.append(function)
    return function


@program
def assignments_into_a_buffer(x: Any) -> Any:
    y = np.zeros_like(x)
    y[0] = x[1] ** 2
    y[2:] = x[:3] * 3.0
    y[-1] = 1.0
    return np.sum(y * W)


@program
def assignment_to_the_argument(x: Any) -> Any:
    x[0] = x[1] * x[2]
    return np.sum(x * x)


@program
def augmented_elements_and_slices(x: Any) -> Any:
    y = x * 1.0
    y[1] += x[0] * x[2]
    y[2:] *= 2.0
    y -= 0.5 * x
    return np.sum(y**3)


@program
def augmented_names(x: Any) -> Any:
    y = x * x
    y += x
    y *= y
    y /= 3.0
    y **= 2
    return np.sum(y)


@program
def an_alias_sees_the_write(x: Any) -> Any:
    y = x * 1.0
    z = y
    y += 2.0 * x
    return np.sum(y * z)


@program
def a_view_writes_and_sees_writes(x: Any) -> Any:
    y = x * 1.0
    v = y[1:3]
    v[0] = x[3] * 2.0
    y[2] = x[0]
    return np.sum(y * y) + np.sum(v * W[:2])


@program
def overlapping_slices(x: Any) -> Any:
    y = x * x
    y[1:] += y[:-1]
    y[:-1] = y[1:]
    return np.sum(y * y * W)


@program
def masks_and_index_arrays(x: Any) -> Any:
    y = x * x
    y[x < 0] = 0.25 * x[1]
    y[np.array([3, 4, 3])] += y[np.array([0, 1, 2])]
    y[[0, 1]] = y[[1, 0]]
    return np.sum(y**2 * W)


@program
def repeated_entries_keep_the_last(x: Any) -> Any:
    y = np.zeros_like(x)
    y[np.array([1, 1, 1])] = x[:3]
    return np.sum(y**2)


@program
def scalars_are_values(x: Any) -> Any:
    s = x[0]
    t = s
    s += x[1]
    total = np.sum(x)
    before = total
    total *= 2.0
    return s * t + total * before


@program
def results_overwritten_after_use(x: Any) -> Any:
    h = np.exp(x)
    a = np.sum(h * h)
    h *= 0.5
    b = np.sum(np.tanh(h) * h)
    h[...] = 0.0
    return a + b


@program
def parts_named_with_an_ellipsis(x: Any) -> Any:
    h = np.stack([x, 2.0 * x]) * 1.0
    h[..., 0] += 1.0
    h[1:, ...] *= x
    h[0, ..., 2] -= x[0]
    h[...] *= 2.0
    return np.sum(h * h)


@program
def views_of_views(x: Any) -> Any:
    y = (x * 1.0).reshape(5, 1)
    z = y.T
    z[0, 1:3] *= x[0]
    v = z.ravel()
    v -= 1.0
    d = np.flip(y)
    d[1:3] = x[0]
    e = np.swapaxes(y[None], 0, 1)
    e += x[1]
    return np.sum(y[:, 0] * W) + z[0, 0] * v[1]


@program
def two_views_that_overlap(x: Any) -> Any:
    y = x * 1
    a, b = y[:2], y[1:3]
    a += b
    b *= a
    return np.sum(y * W)


@program
def swaps(x: Any) -> Any:
    y = x.copy()
    for i in range(5):
        for j in range(4 - i):
            if y[j] > y[j + 1]:
                y[j], y[j + 1] = y[j + 1], y[j]
    y[::2], y[1::2] = y[1::2][0] * 1.0, y[::2][:2] * 2.0
    return np.sum(y * W)


@program
def out_arguments(x: Any) -> Any:
    y = np.empty_like(x)
    np.multiply(x, x, out=y)
    np.add(y, x, out=y)
    np.multiply(y, y, out=y)
    np.clip(y, 0.1, 0.9, out=y)
    return np.sum(y * W)


@program
def functions_that_write(x: Any) -> Any:
    y = np.outer(x, x)
    np.fill_diagonal(y, x * 3)
    np.put(y, [1, 7], x[:2])
    np.putmask(y, y > 0.5, x)
    np.place(y, y < -0.5, x[1:3])
    np.copyto(y[0], x * x)
    np.copyto(y[1], x, where=[True, False, True, False, False])
    np.put_along_axis(y, np.array([[0], [1], [2], [3], [4]]), x[:, None] ** 2, axis=1)
    return np.sum(y * np.arange(25.0).reshape(5, 5))


@program
def ufuncs_at(x: Any) -> Any:
    y = x * x
    np.add.at(y, [0, 0, 1], x[:3])
    np.multiply.at(y, [0, 0, 2], x[1:4])
    np.subtract.at(y, [4, 4], x[0])
    np.negative.at(y, [1, 1, 2])
    np.maximum.at(y, [3, 3], x[:2])
    return np.sum(y * W)


@program
def methods_of_ndarray(x: Any) -> Any:
    y = np.sin(x)
    assert y.sort() is None
    z = y * 2
    z.fill(x[0])
    y.put([0, 1], x[3])
    return np.sum(y * z * W)


@program
def a_recurrence(x: Any) -> Any:
    y = np.zeros_like(x)
    for i in range(1, 5):
        y[i] = x[i] * y[i - 1] + np.sin(x[i - 1])
    return np.sum(y)


@program
def cholesky_by_hand(x: Any) -> Any:
    a = x[:, None] * x * 0.3 + 2.0 * np.eye(5)
    factor = np.zeros_like(a)
    for j in range(5):
        factor[j, j] = np.sqrt(a[j, j] - np.sum(factor[j, :j] ** 2))
        for i in range(j + 1, 5):
            factor[i, j] = (a[i, j] - np.sum(factor[i, :j] * factor[j, :j])) / factor[j, j]
    return np.sum(factor * np.arange(25.0).reshape(5, 5))


def slope(function: Callable[[Any], Any], x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Central differences, to about 1e-9."""
    h = 1e-5
    rows = np.eye(x.size) * h
    return np.array([(float(function(x + row)) - float(function(x - row))) / (2 * h) for row in rows])


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients_under_grad(function: Callable[[Any], Any]) -> None:
    expected = slope(function, X)
    gradient = sd.grad(function)
    for _ in range(3):  # walked, compiled, from the cache
        np.testing.assert_allclose(gradient(X.copy()), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_values_are_numpys(function: Callable[[Any], Any]) -> None:
    mine, numpys = X.copy(), X.copy()
    value, _ = sd.value_and_grad(function)(mine)
    assert value == function(numpys)
    np.testing.assert_array_equal(mine, numpys)  # what the function does to its argument happens


@pytest.mark.parametrize(
    "function", [f for f in PROGRAMS if f.__name__ != "scalars_are_values"], ids=lambda f: f.__name__
)
def test_second_derivatives(function: Callable[[Any], Any]) -> None:
    def along(x: Any) -> Any:
        return np.sum(sd.grad(function)(x * 1.0) * W)

    expected = slope(lambda x: np.sum(sd.grad(function)(x.copy()) * W), X)
    np.testing.assert_allclose(sd.grad(along)(X.copy()), expected, rtol=1e-5, atol=1e-6)


# -------------------------------------------------------------------------------------------------------------- eager


UNARY = [
    "abs", "neg", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "square",
    "reciprocal", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "atanh",
    "sigmoid", "relu", "erf", "erfc", "frac", "sign", "floor", "ceil", "trunc", "round",
]  # fmt: skip


def test_every_method_with_an_underscore_is_its_function() -> None:
    v = np.array([0.3, 0.6, 0.9])
    for name in UNARY:
        x = sd.tensor(v, requires_grad=True)
        y = x * 1
        assert getattr(y, name + "_")() is y
        z = getattr(x, name)()
        np.testing.assert_array_equal(y.detach().numpy(), z.detach().numpy(), err_msg=name)
        (found,) = sd.autograd.grad(y.sum(), x)
        (expected,) = sd.autograd.grad(z.sum(), x)
        np.testing.assert_array_equal(found.numpy(), expected.numpy(), err_msg=name)


def test_scatter_and_index_methods() -> None:
    x = sd.tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    s = sd.tensor(np.array([[10.0, 20.0]]), requires_grad=True)
    y = x * 1
    y.scatter_(1, np.array([[2, 0]]), s)
    y.scatter_add_(1, np.array([[0, 0], [1, 1]]), sd.ones(2, 2, dtype=sd.float64))
    y.index_copy_(1, np.array([1]), x[:, :1])
    y.index_fill_(0, np.array([1]), 7.0)
    y.index_put_((np.array([0]), np.array([0])), s[0, :1], accumulate=True)
    assert y.tolist() == [[20.0 + 2.0 + 10.0, 0.0, 10.0], [7.0, 7.0, 7.0]]
    y.sum().backward()
    assert x.grad.tolist() == [[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]] and s.grad.tolist() == [[2.0, 1.0]]


def test_names_of_nodes() -> None:
    x = sd.tensor(np.ones(3), requires_grad=True)
    y = x * 1

    def name() -> str:
        return type(y.grad_fn).__name__

    y += 1
    assert name() == "AddBackward0"
    y[0] = 2.0
    assert name() == "CopySlices"
    y[[0, 1]] = 2.0
    assert name() == "IndexPutBackward0"
    y.view(3, 1).mul_(2.0)
    assert name() == "CopySlices"
    y.zero_()
    assert name() == "ZeroBackward0"
    y.copy_(x)
    assert name() == "CopyBackwards"
    y.masked_fill_(y > 0, 1.0)
    assert name() == "MaskedFillBackward0"


def test_retained_gradients_and_requests_follow_the_tensor() -> None:
    x = sd.tensor(np.ones(2), requires_grad=True)
    y = x * 1
    y.retain_grad()
    y.mul_(3.0)
    (y * 2).sum().backward()
    assert y.grad.tolist() == [2.0, 2.0] and x.grad.tolist() == [6.0, 6.0]


def test_random_fillings_are_seeded_and_cut_the_gradient() -> None:
    x = sd.tensor(np.ones(4), requires_grad=True)
    for fill in ("normal_", "uniform_", "bernoulli_"):
        y = x * 1
        sd.manual_seed(0)
        getattr(y, fill)()
        again = sd.zeros(4, dtype=sd.float64)
        sd.manual_seed(0)
        getattr(again, fill)()
        np.testing.assert_array_equal(y.detach().numpy(), again.numpy())
        (found,) = sd.autograd.grad(y.sum(), x)
        assert found.tolist() == [0.0] * 4


# ------------------------------------------------------------------------------------------- nothing is lost in silence


def into_an_element(x: Any, array: Any) -> None:
    array[0] = x[0]


def into_a_slice(x: Any, array: Any) -> None:
    array[:1] = x[:1]


def by_copyto(x: Any, array: Any) -> None:
    np.copyto(array, x)


def by_out(x: Any, array: Any) -> None:
    np.add(x, x, out=array)


def by_an_operator(x: Any, array: Any) -> None:
    array += x


def by_put(x: Any, array: Any) -> None:
    np.put(array, [0], x[0])


def by_add_at(x: Any, array: Any) -> None:
    np.add.at(array, [0], x[0])


@pytest.mark.parametrize(
    "write",
    [into_an_element, into_a_slice, by_copyto, by_out, by_an_operator, by_put, by_add_at],
    ids=lambda f: f.__name__,
)
def test_plain_arrays_take_no_value_with_a_gradient(write: Callable[[Any, Any], None]) -> None:
    x = sd.tensor(np.ones(2), requires_grad=True)
    array = np.zeros(2)
    with pytest.raises((TypeError, RuntimeError, ValueError)) as caught:
        write(x, array)
    # NumPy wraps what float() raises for an element
    text = str(caught.value.__cause__ if type(caught.value) is ValueError else caught.value)
    assert "test_gradients.py:" in text
    assert array.tolist() == [0.0, 0.0]
    with sd.no_grad():
        write(x, array)


def test_filling_a_plain_array_warns() -> None:
    x = sd.tensor(np.ones(2), requires_grad=True)
    with pytest.warns(UserWarning, match="Converting a tensor with requires_grad=True to a scalar"):
        np.zeros(2).fill(x[0])
