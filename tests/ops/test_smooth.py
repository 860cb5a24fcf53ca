"""Where a function is smooth its derivatives are finite and right, though a formula for them divides by zero."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import srcdiff as sd

F = sd.nn.functional
INF = np.inf
SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])
SWAPPED = np.eye(4)[::-1] * np.array([1.0, -1.0, -1.0, 1.0])
SPREAD = (np.eye(3) - 1 / 3) * 2 / 3


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


def log_sum_exp(x: Any) -> Any:
    peak = np.max(x)
    return peak + np.log(np.sum(np.exp(x - peak)))


def softmax(x: Any) -> Any:
    powers = np.exp(x - np.max(x))
    return powers / np.sum(powers)


def determinant(a: Any) -> Any:
    """By its definition, for matrices of three rows."""
    return sum(
        sign * a[0, i] * a[1, j] * a[2, k]
        for sign, (i, j, k) in [
            (1, (0, 1, 2)), (1, (1, 2, 0)), (1, (2, 0, 1)), (-1, (2, 1, 0)), (-1, (0, 2, 1)), (-1, (1, 0, 2)),
        ]
    )  # fmt: skip


#: name: (function, where, its gradient there)
FIRST: dict[str, tuple[Callable[[Any], Any], Any, Any]] = {
    "norm squared": (lambda x: np.linalg.norm(x) ** 2, [0, 0], [0, 0]),
    "root squared": (lambda x: np.sqrt(np.sum(x * x)) ** 2, [0, 0], [0, 0]),
    "root times itself": (lambda x: (lambda r: r * r)(np.sqrt(np.sum(x * x + x))), [0, 0], [1, 1]),  # noqa: PLC3002
    "square of a root": (lambda x: np.sum(np.square(np.sqrt(x))), [0, 4], [1, 1]),
    "root twice used": (lambda x: np.sqrt(x[0]) ** 2 + 3 * np.sqrt(x[0]), [4, 0], [1.75, 0]),
    "3-norm cubed": (lambda x: np.linalg.norm(x, 3) ** 3, [0, 0], [0, 0]),
    "3-norm beside a zero": (lambda x: np.linalg.norm(x, 3), [0, 1], [0, 1]),
    "Frobenius": (lambda x: np.linalg.norm(x), np.zeros((2, 2)), np.zeros((2, 2))),
    "std": (np.std, [1, 1, 1], [0, 0, 0]),
    "var": (np.var, [1, 1, 1], [0, 0, 0]),
    "product, two zeros": (np.prod, [0, 0, 3], [0, 0, 0]),
    "product, one zero": (np.prod, [0, 2, 3], [6, 0, 0]),
    "product without NaN": (np.nanprod, [0, np.nan, 3], [3, 0, 0]),
    "running product": (lambda x: np.sum(np.cumprod(x)), [0, 2, 3], [9, 0, 0]),
    "sinc": (lambda x: np.sum(np.sinc(x)), [0], [0]),
    "powers": (lambda x: np.sum(x ** np.array([0, 1, 2, 3])), [0, 0, 0, 0], [0, 1, 0, 0]),
    "powers of floats": (lambda x: np.sum(x ** np.array([0.0, 1, 2, 3])), [0, 0, 0, 0], [0, 1, 0, 0]),
    "negative base": (lambda x: np.sum(x ** np.array([3.0, 2])), [-2, -2], [12, -4]),
    "0 to a power": (lambda y: np.sum(np.zeros(2) ** y), [2, 3], [0, 0]),
    "xlogy in x": (lambda x: np.sum(sp.xlogy(x, 2.0)), [0], [np.log(2)]),
    "xlogy in y": (lambda y: np.sum(sp.xlogy(0.0, y)), [0], [0]),
    "xlog1py in y": (lambda y: np.sum(sp.xlog1py(0.0, y)), [-1], [0]),
    "determinant, singular": (np.linalg.det, SINGULAR, [[4, -2], [-2, 1]]),
    "arctan2 at the origin": (lambda v: np.arctan2(v[0], v[1]), [0, 0], [0, 0]),
    "arctan2 near it": (lambda v: np.arctan2(v[0], v[1]) * 1e-200, [1e-200, 1e-200], [0.5, -0.5]),
    "arctan2 far away": (lambda v: np.arctan2(v[0], v[1]) * 1e200, [1e200, 1e200], [0.5, -0.5]),
    "hypot": (lambda v: np.hypot(v[0], v[1]), [3e200, 4e200], [0.6, 0.8]),
    "logaddexp, one -inf": (lambda v: np.logaddexp(v[0], v[1]), [-INF, 1], [0, 1]),
    "logaddexp, both": (lambda v: np.logaddexp(v[0], v[1]), [-INF, -INF], [0.5, 0.5]),
    "logaddexp, inf": (lambda v: np.logaddexp(v[0], v[1]), [INF, 1], [1, 0]),
    "log of a sum of exps": (log_sum_exp, [-INF, 0, 0], [0, 0.5, 0.5]),
    "logsumexp": (lambda x: sd.logsumexp(x, 0), [-INF, 0, 0], [0, 0.5, 0.5]),
    "logsumexp, all -inf": (lambda x: sd.logsumexp(x, 0), [-INF, -INF], [0, 0]),
    "softmax written out": (lambda x: softmax(x)[1], [-INF, 0, 0], [0, 0.25, -0.25]),
    "softmax": (lambda x: sd.softmax(x, 0)[1], [-INF, 0, 0], [0, 0.25, -0.25]),
    "log_softmax": (lambda x: sd.log_softmax(x, 0)[1], [-INF, 0, 0], [0, 0.5, -0.5]),
    "log of softmax": (lambda x: np.log(sd.softmax(x, 0))[1], [-INF, 0, 0], [0, 0.5, -0.5]),
    "expm1": (lambda x: np.sum(np.expm1(x)), [-800, 1e-300], [0, 1]),
    "log1p": (lambda x: np.sum(np.log1p(x)) * 1e300, [1e300], [1]),
    "sigmoid": (lambda x: np.sum(sd.sigmoid(x)), [-1e3, 1e3], [0, 0]),
    "logistic": (lambda x: np.sum(1 / (1 + np.exp(-x))), [-1e3, 1e3], [0, 0]),
    "softplus": (lambda x: np.sum(F.softplus(x)), [-1e3, 1e3], [0, 1]),
    "logaddexp with 0": (lambda x: np.sum(np.logaddexp(0, x)), [-1e3, 1e3], [0, 1]),
    "logsigmoid": (lambda x: np.sum(F.logsigmoid(x)), [-1e3, 1e3], [1, 0]),
    "silu": (lambda x: np.sum(F.silu(x)), [-1e3, 1e3], [0, 1]),
    "gelu": (lambda x: np.sum(F.gelu(x)), [-1e3, 1e3], [0, 1]),
    "mish": (lambda x: np.sum(F.mish(x)), [-1e3, 1e3], [0, 1]),
    "tanh": (lambda x: np.sum(np.tanh(x)), [-1e3, 1e3], [0, 0]),
    "arctan": (lambda x: np.sum(np.arctan(x)), [-1e200, 1e200], [0, 0]),
    "cosine similarity": (lambda x: F.cosine_similarity(x, np.ones(3), dim=0), [0, 0, 0], [5.773502691896258e7] * 3),
    "normalize": (lambda x: np.sum(F.normalize(x, dim=0)) * 1e-12, [0, 0], [1, 1]),
    "angle of a real number": (lambda x: np.sum(np.angle(x)), [0, 1, -1], [0, 0, 0]),
    "Bessel i0": (lambda x: np.sum(np.i0(x)), [0], [0]),
    "eigenvalues": (lambda a: np.sum(np.linalg.eigvalsh((a + a.T) / 2) ** 2), np.diag([2.0, 2, 3]), np.diag([4, 4, 6])),
    "singular values": (lambda a: np.sum(np.linalg.svd(a, compute_uv=False) ** 2), np.eye(3), 2 * np.eye(3)),
    "no singular values": (
        lambda a: np.sum(np.linalg.svd(a, compute_uv=False) ** 2), np.zeros((3, 2)), np.zeros((3, 2))
    ),
}  # fmt: skip

#: name: (function, where, its Hessian there)
SECOND: dict[str, tuple[Callable[[Any], Any], Any, Any]] = {
    "norm squared": (lambda x: np.linalg.norm(x) ** 2, [0, 0], 2 * np.eye(2)),
    "norms of rows": (lambda x: np.sum(np.linalg.norm(x, axis=1) ** 2), [[0, 0], [1, 2]], 2 * np.eye(4)),
    "norm times itself": (lambda x: (lambda n: n * n)(np.linalg.norm(x)), [0, 0], 2 * np.eye(2)),  # noqa: PLC3002
    "hypot squared": (lambda x: np.hypot(x[0], x[1]) ** 2, [0, 0], 2 * np.eye(2)),
    "abs squared": (lambda x: np.sum(np.abs(x) ** 2), [0, -1, 2], 2 * np.eye(3)),
    "std squared": (lambda x: np.std(x) ** 2, [1, 1, 1], SPREAD),
    "root squared": (lambda x: np.sqrt(np.sum(x * x)) ** 2, [0, 0], 2 * np.eye(2)),
    "product": (np.prod, [0, 0, 3], [[0, 3, 0], [3, 0, 0], [0, 0, 0]]),
    "running product": (lambda x: np.sum(np.cumprod(x)), [0, 0, 3], [[0, 4, 0], [4, 0, 0], [0, 0, 0]]),
    "sinc": (lambda x: np.sum(np.sinc(x)), [0], [[-(np.pi**2) / 3]]),
    "x**1": (lambda x: np.sum(x**1), [0], [[0]]),
    "x**0": (lambda x: np.sum(x**0.0 + 0 * x), [0], [[0]]),
    "powers": (lambda x: np.sum(x ** np.array([0.0, 1, 2, 3])), [0, 0, 0, 0], np.diag([0, 0, 2, 0])),
    "negative base": (lambda x: np.sum(x ** np.array([3.0, 2])), [-2, -2], np.diag([-12, 2])),
    "x**y": (lambda v: v[0] ** v[1], [0, 3], [[0, 0], [0, 0]]),
    "x**y, y = 2": (lambda v: v[0] ** v[1], [0, 2], [[2, 0], [0, 0]]),
    "determinant, singular": (np.linalg.det, SINGULAR, SWAPPED),
    "logaddexp": (lambda v: np.logaddexp(v[0], v[1]), [-INF, 1], [[0, 0], [0, 0]]),
    "logsumexp": (lambda x: sd.logsumexp(x, 0), [-INF, 0, 0], [[0, 0, 0], [0, 0.25, -0.25], [0, -0.25, 0.25]]),
    "sigmoid": (lambda x: np.sum(sd.sigmoid(x)), [-1e3, 1e3], np.zeros((2, 2))),
    "logistic": (lambda x: np.sum(1 / (1 + np.exp(-x))), [-1e3, 0, 1e3], np.zeros((3, 3))),
    "logistic squared": (lambda x: np.sum((1 / (1 + np.exp(-x))) ** 2), [-1e3, 0, 1e3], np.diag([0, 0.125, 0])),
    "softplus": (lambda x: np.sum(F.softplus(x)), [-1e3, 1e3], np.zeros((2, 2))),
    "silu": (lambda x: np.sum(F.silu(x)), [-1e3, 1e3], np.zeros((2, 2))),
    "gelu": (lambda x: np.sum(F.gelu(x)), [-1e3, 1e3], np.zeros((2, 2))),
    "mish": (lambda x: np.sum(F.mish(x)), [-1e3, 1e3], np.zeros((2, 2))),
    "tanh": (lambda x: np.sum(np.tanh(x)), [-1e3, 1e3], np.zeros((2, 2))),
    "elu": (lambda x: np.sum(F.elu(x)), [-1e3, 1e3], np.zeros((2, 2))),
}  # fmt: skip


@pytest.mark.parametrize("replay", ["never", "auto"])
@pytest.mark.parametrize(("function", "x", "want"), FIRST.values(), ids=FIRST)
def test_gradients(function: Any, x: Any, want: Any, replay: str) -> None:
    x = np.array(x, float)
    with sd.config(replay=replay):
        gradient = sd.grad(function)
        for _ in range(3):
            np.testing.assert_allclose(gradient(x), want, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("replay", ["never", "auto"])
@pytest.mark.parametrize(("function", "x", "want"), SECOND.values(), ids=SECOND)
def test_second_derivatives(function: Any, x: Any, want: Any, replay: str) -> None:
    x = np.array(x, float)
    with sd.config(replay=replay):
        hessian = sd.hessian(function)
        rows = [sd.grad(lambda x, k=k: sd.grad(function)(x).ravel()[k]) for k in range(x.size)]
        for _ in range(3):
            np.testing.assert_allclose(hessian(x).reshape(x.size, x.size), want, rtol=1e-10, atol=1e-12)
            got = [row(x).ravel() for row in rows]
            np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["norm squared", "norms of rows", "hypot squared", "std squared", "root squared"])
def test_squares_of_roots_in_every_order_of_modes(name: str) -> None:
    function, at, want = SECOND[name]
    x = np.array(at, float)
    for inner in (sd.func.jacfwd, sd.func.jacrev):
        for outer in (sd.func.jacfwd, sd.func.jacrev):
            got = outer(inner(function))(x)
            np.testing.assert_allclose(got.detach().reshape(x.size, x.size), want, rtol=1e-10, atol=1e-12)
    along = np.ones(x.shape)
    tangent = sd.jvp(lambda x: sd.jvp(function, (x,), (along,))[1], (x,), (along,))[1]
    np.testing.assert_allclose(tangent, np.sum(want), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("a", [np.arange(9.0).reshape(3, 3), np.outer([1.0, 2, 3], [1.0, 1, 2]), np.zeros((3, 3))])
def test_determinants_of_any_rank(a: Any) -> None:
    np.testing.assert_allclose(sd.grad(np.linalg.det)(a), sd.grad(determinant)(a), atol=1e-12)
    np.testing.assert_allclose(sd.hessian(np.linalg.det)(a), sd.hessian(determinant)(a), atol=1e-12)


def test_matrices_rebuilt_from_their_vectors() -> None:
    """The gradient is that of the matrix, where values coincide and vectors are arbitrary."""
    weights = np.arange(9.0).reshape(3, 3)

    def from_eigenvectors(a: Any) -> Any:
        w, v = np.linalg.eigh((a + a.T) / 2)
        return np.sum((v * w) @ v.T * weights)

    def from_singular_vectors(a: Any) -> Any:
        u, s, vh = np.linalg.svd(a)
        return np.sum((u * s) @ vh * weights)

    np.testing.assert_allclose(sd.grad(from_eigenvectors)(np.diag([2.0, 2.0, 3.0])), (weights + weights.T) / 2)
    np.testing.assert_allclose(sd.grad(from_singular_vectors)(np.eye(3)), weights, atol=1e-12)


def test_the_square_of_a_root_has_a_slope_the_root_has_not() -> None:
    """And the root still has its own, where it is asked for or used besides."""
    x = np.array(0.0)
    assert sd.grad(lambda x: np.sqrt(x) ** 2)(x) == 1
    assert sd.grad(lambda x: np.sqrt(x) ** 2 + np.sqrt(x))(x) == INF
    assert sd.grad(lambda x: np.sqrt(x) ** 3 + 0 * x)(np.array(4.0)) == 3.0
    t = sd.tensor([4.0], requires_grad=True)
    root = np.sqrt(t)
    root.retain_grad()
    np.sum(root**2).backward()
    assert root.grad.tolist() == [4.0] and t.grad.tolist() == [1.0]
    t = sd.tensor([4.0], requires_grad=True)
    root = np.sqrt(t)
    assert sd.autograd.grad(np.sum(root**2), [root, t])[0].tolist() == [4.0]


def test_a_square_that_was_overwritten_is_noticed() -> None:
    t = sd.tensor([3.0, 4.0], requires_grad=True)
    norm = sd.linalg.norm(t)
    square = norm**2
    norm.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        square.backward()
