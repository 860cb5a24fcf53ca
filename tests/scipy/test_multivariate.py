"""Distributions of vectors: SciPy's values and shapes, derivatives in all real parameters, SciPy's errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff.errors import GradientLostError
from tests.scipy.derivatives import check_function

theirs = pytest.importorskip("scipy.stats")
from srcdiff.scipy import stats as ours  # noqa: E402

X = np.array([0.3, -0.2, 0.5])
M = np.array([0.1, 0.4, -0.3])
A = np.array([[1.0, 0.2, -0.1], [0.4, 1.3, 0.3], [0.1, -0.2, 0.8]])
ROWS = np.array([[0.3, -0.2, 0.5], [1.1, 0.6, -0.4]])
ALPHA = np.array([1.4, 2.3, 0.8])
SHARES = np.array([0.2, 0.5, 0.3])


def square(a: Any) -> Any:
    """A positive definite matrix."""
    return a @ a.T + 0.5 * np.eye(len(a))


def shares(a: Any) -> Any:
    return a / np.sum(a, axis=-1, keepdims=True)


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "normal": (lambda s, x, m, a: s.multivariate_normal.logpdf(x, m, square(a)), (X, M, A)),
    "normal, rows": (lambda s, x, m, a: s.multivariate_normal.pdf(x, m, square(a)), (ROWS, M, A)),
    "normal, frozen": (lambda s, x, m, a: s.multivariate_normal(m, square(a)).logpdf(x), (ROWS[:, None], M, A)),
    "normal, constant covariance": (lambda s, x, m: s.multivariate_normal.logpdf(x, m, square(A)), (ROWS, M)),
    "normal, diagonal": (lambda s, x, v: s.multivariate_normal.logpdf(x, M, v * v), (ROWS, ALPHA)),
    "normal, one variance": (lambda s, x, v: s.multivariate_normal.logpdf(x, M, v), (X, 1.4)),
    "normal, one dimension": (lambda s, x, m, v: s.multivariate_normal.logpdf(x, m, v), (X, 0.3, 1.4)),
    "normal, a number": (lambda s, x: s.multivariate_normal.logpdf(x), (0.7,)),
    "normal, Covariance": (
        lambda s, x, m: s.multivariate_normal.logpdf(x, m, theirs.Covariance.from_diagonal(ALPHA)),
        (ROWS, M),
    ),
    "normal, singular": (
        lambda s, u: s.multivariate_normal.logpdf(np.concatenate([u, M[2:]]), M, np.diag([1.0, 2.0, 0.0]), True),
        (X[:2],),
    ),
    "normal, entropy": (lambda s, a: s.multivariate_normal.entropy(np.zeros(3), square(a)), (A,)),
    "normal, frozen entropy": (lambda s, a: s.multivariate_normal(M, square(a)).entropy(), (A,)),
    "t": (lambda s, x, m, a, df: s.multivariate_t.logpdf(x, m, square(a), df), (ROWS, M, A, 3.4)),
    "t, frozen": (lambda s, x, m: s.multivariate_t(m, square(A), df=2.5).pdf(x), (X, M)),
    "dirichlet": (lambda s, a: s.dirichlet.logpdf(SHARES, a), (ALPHA,)),
    "dirichlet in x": (lambda s, x, a: s.dirichlet.pdf(shares(x), a), (SHARES, ALPHA)),
    "dirichlet, columns": (lambda s, x, a: s.dirichlet.logpdf(shares(x).T, a), (ROWS**2, ALPHA)),
    "dirichlet, the last left out": (lambda s, x, a: s.dirichlet(a).logpdf(x), (SHARES[:2], ALPHA)),
    "dirichlet, mean": (lambda s, a: s.dirichlet.mean(a), (ALPHA,)),
    "dirichlet, var": (lambda s, a: s.dirichlet.var(a), (ALPHA,)),
    "dirichlet, cov": (lambda s, a: s.dirichlet.cov(a), (ALPHA,)),
    "dirichlet, entropy": (lambda s, a: s.dirichlet.entropy(a), (ALPHA,)),
    "multinomial": (lambda s, p: s.multinomial.logpmf([1, 2, 1], 4, shares(p)), (SHARES,)),
    "multinomial, rows": (lambda s, p: s.multinomial.pmf([[1, 2, 1], [4, 0, 0]], 4, shares(p)), (ROWS**2,)),
    "multinomial, mean": (lambda s, p: s.multinomial.mean(4, shares(p)), (SHARES,)),
    "multinomial, cov": (lambda s, p: s.multinomial(4, shares(p)).cov(), (SHARES,)),
    "dirichlet_multinomial": (lambda s, a: s.dirichlet_multinomial.logpmf([1, 2, 1], a, 4), (ALPHA,)),
    "dirichlet_multinomial, pmf": (lambda s, a: s.dirichlet_multinomial(a, 4).pmf([[1, 2, 1], [4, 0, 0]]), (ALPHA,)),
    "dirichlet_multinomial, mean": (lambda s, a: s.dirichlet_multinomial.mean(a, 4), (ALPHA,)),
}


@pytest.mark.parametrize("case", CASES)
def test_values_and_derivatives(case: str) -> None:
    f, args = CASES[case]
    check_function(lambda *xs: f(ours, *xs), lambda *xs: f(theirs, *xs), *args, rtol=1e-6)


def test_the_gradient_in_a_covariance_is_that_of_a_symmetric_matrix() -> None:
    cov = square(A)
    g = np.asarray(sd.grad(lambda cov: ours.multivariate_normal.logpdf(X, M, cov))(cov))
    inverse = np.linalg.inv(cov)
    d = inverse @ (X - M)
    np.testing.assert_allclose(g + g.T, np.outer(d, d) - inverse, rtol=1e-9)


def test_of_infinitely_many_degrees_of_freedom_t_is_normal() -> None:
    want = theirs.multivariate_normal.logpdf(ROWS, M, square(A))
    np.testing.assert_allclose(ours.multivariate_t.logpdf(sd.tensor(ROWS), M, square(A), np.inf).numpy(), want)


def test_what_is_impossible() -> None:
    p = sd.tensor(SHARES)
    assert ours.multinomial.logpmf([1, 2, 2], 4, p).item() == -np.inf
    assert ours.multinomial.pmf([1.5, 1.5, 1.0], 4, p).item() == 0.0
    assert ours.dirichlet_multinomial.logpmf([1, 2, 2], sd.tensor(ALPHA), 4).item() == -np.inf
    with np.errstate(all="ignore"):
        assert np.isnan(ours.multinomial.logpmf([1, 2, 1], 4, sd.tensor(np.array([0.5, 0.8, -0.3]))).item())
    assert ours.multivariate_normal.logpdf(sd.tensor(X), M, np.diag([1.0, 2.0, 0.0]), True).item() == -np.inf
    for call, error, message in (
        (lambda: ours.multinomial.logpmf([1, 2, 1], 4, 0.5 * p), ValueError, "must sum to 1"),
        (lambda: ours.dirichlet.logpdf(SHARES, sd.tensor(-ALPHA)), ValueError, "must be greater than 0"),
        (lambda: ours.dirichlet.logpdf(2 * SHARES, sd.tensor(ALPHA)), ValueError, "simplex|smaller or equal one"),
        (lambda: ours.multivariate_normal.logpdf(sd.tensor(X), M, -np.eye(3)), ValueError, "positive semidefinite"),
        (lambda: ours.multivariate_normal.logpdf(sd.tensor(X), M, np.eye(2)), ValueError, "do not fit"),
        (lambda: ours.multivariate_t.logpdf(sd.tensor(X), M, np.eye(3), -1), ValueError, "greater than zero"),
    ):
        with pytest.raises(error, match=message):
            call()


def test_what_has_no_derivative_is_refused_by_name() -> None:
    for f, error, what in (
        (lambda x: ours.multinomial.logpmf(x, 4, SHARES), GradientLostError, r"x of scipy.stats.multinomial.logpmf"),
        (lambda x: ours.multivariate_normal.cdf(x, M), NotImplementedError, r"scipy.stats.multivariate_normal.cdf"),
        (lambda x: ours.multinomial.entropy(4, x), NotImplementedError, r"scipy.stats.multinomial.entropy"),
        (lambda x: ours.wishart.logpdf(np.eye(3), 4, np.diag(x)), NotImplementedError, r"scipy.stats.wishart.logpdf"),
    ):
        with pytest.raises(error, match=what):
            sd.grad(lambda x, f=f: np.sum(f(x)))(SHARES)
    with pytest.raises(np.linalg.LinAlgError):
        sd.grad(lambda c: ours.multivariate_normal.logpdf(X, M, c))(-np.eye(3))
