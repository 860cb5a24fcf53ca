"""Products with SciPy's sparse matrices as plain code, and `srcdiff.scipy.sparse.linalg`."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
import srcdiff.scipy
from srcdiff.errors import GradientLostError, SrcdiffError
from tests.scipy.check import check

ss = pytest.importorskip("scipy.sparse")
rng = np.random.default_rng(4)
D = np.where(rng.random((3, 4)) < 0.5, rng.standard_normal((3, 4)), 0.0)
Q = np.where(rng.random((4, 4)) < 0.4, rng.standard_normal((4, 4)), 0.0) + 3.0 * np.eye(4)
X, Y, M = rng.standard_normal(4), rng.standard_normal(3), rng.standard_normal((4, 2))

FORMATS = ["csr_array", "csc_array", "coo_array", "csr_matrix", "csc_matrix", "lil_matrix", "dia_array", "bsr_array"]


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(
    ("expression", "x"),
    [
        ("S @ x", X), ("S @ x", M), ("x @ S", Y), ("x @ S", M[:3].T.copy()), ("S.T @ x", Y), ("S @ S.T @ x", Y),
        ("x @ S", rng.standard_normal((2, 2, 3))), ("S.dot(x)", X), ("S.dot(x)", M), ("S.T.dot(x)", Y),
    ],
)  # fmt: skip
def test_products_are_those_of_the_dense_matrix(kind: str, expression: str, x: Any) -> None:
    S = getattr(ss, kind)(D)
    sparse, dense = (lambda x, S=S: eval(expression, {"S": S, "x": x}) for S in (S, D))
    weights = rng.standard_normal(dense(x).shape)
    loss = lambda f: lambda x: np.sum(weights * f(x) ** 2)
    np.testing.assert_allclose(sd.grad(loss(sparse))(x), sd.grad(loss(dense))(x), rtol=1e-12, atol=1e-13)
    for k in range(3):
        g = sd.grad(loss(sparse))
        np.testing.assert_allclose(g(x + k), sd.grad(loss(dense))(x + k), rtol=1e-12, atol=1e-13)
    t = rng.standard_normal(x.shape)
    np.testing.assert_allclose(sd.jvp(sparse, (x,), (t,))[1], dense(t), rtol=1e-12, atol=1e-13)
    if x.ndim == 1:
        np.testing.assert_allclose(sd.hessian(loss(sparse))(x), sd.hessian(loss(dense))(x), rtol=1e-12, atol=1e-12)


def test_the_star_of_a_sparse_matrix_is_its_product() -> None:
    S = ss.csr_matrix(D)
    g = sd.grad(lambda x: np.sum((S * x) ** 2))(X)
    np.testing.assert_allclose(g, 2 * D.T @ (D @ X), rtol=1e-12)
    g = sd.grad(lambda y: np.sum((y * S) ** 2))(Y)
    np.testing.assert_allclose(g, 2 * D @ (D.T @ Y), rtol=1e-12)


def test_dot_is_the_product() -> None:
    S = ss.csr_array(D)
    np.testing.assert_allclose(sd.grad(lambda x: np.sum(S.dot(x) ** 2))(X), 2 * D.T @ (D @ X), rtol=1e-12)


def test_eager_tensors_multiply_too() -> None:
    S = ss.csr_array(D)
    x = sd.tensor(X, requires_grad=True)
    made = S @ x
    made.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), D.sum(axis=0))
    assert type(made.grad_fn).__name__ == "SparseMmBackward0"


@pytest.mark.parametrize("expression", ["S + x[:, None]", "S.multiply(x)", "A * x", "S * x[0]", "S @ x[:2]"])
def test_what_is_no_product_is_refused(expression: str) -> None:
    values = {"S": ss.csr_matrix(D), "A": ss.csr_array(D)}
    with pytest.raises((SrcdiffError, GradientLostError, TypeError, ValueError)):
        sd.grad(lambda x: np.sum(eval(expression, {**values, "x": x})))(X)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("b", [X, M])
def test_spsolve(transposed: bool, b: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        S = ss.csr_array(Q.T if transposed else Q)
        check("sp.sparse.linalg.spsolve(S, b)", {"b": b}, S=S.tocsc())
        lower = ss.csr_array(np.tril(Q))
        check("sp.sparse.linalg.spsolve_triangular(S, b)", {"b": b}, S=lower)


@pytest.mark.parametrize("name", ["cg", "gmres", "minres", "bicgstab"])
def test_iterations_have_the_derivative_of_the_solution(name: str) -> None:
    S = ss.csr_array(Q @ Q.T)
    option = {"rtol": 1e-12}
    solve = getattr(sd.scipy.sparse.linalg, name)
    g = sd.grad(lambda b: np.sum(solve(S, b, **option)[0] ** 2))(X)
    inverse = np.linalg.inv(Q @ Q.T)
    np.testing.assert_allclose(g, 2 * inverse.T @ inverse @ X, rtol=1e-7)
