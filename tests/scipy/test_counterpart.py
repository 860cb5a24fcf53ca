"""A function of SciPy's that asks for a plain array is refused with the name of its counterpart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff.errors import GradientLostError

stats = pytest.importorskip("scipy.stats")
import scipy.linalg  # noqa: E402
import scipy.optimize  # noqa: E402
import scipy.sparse  # noqa: E402
import scipy.special  # noqa: E402
from scipy.integrate import quad  # noqa: E402
from scipy.optimize import brentq  # noqa: E402

X = np.array([0.5, 1.5, 2.5])


@pytest.mark.parametrize(
    ("f", "instead"),
    [
        (lambda x: stats.norm.logpdf(x), "call srcdiff.scipy.stats.norm.logpdf"),
        (lambda x: stats.gamma.cdf(1.0, x), "call srcdiff.scipy.stats.gamma.cdf"),
        (lambda x: stats.norm(x).pdf(1.0), "call srcdiff.scipy.stats.norm.pdf"),
        (lambda x: stats.poisson.pmf(1, x), "call srcdiff.scipy.stats.poisson.pmf"),
        (lambda x: stats.multivariate_normal.logpdf(x), "call srcdiff.scipy.stats.multivariate_normal.logpdf"),
        (lambda x: stats.gaussian_kde(x)(0.5), "call srcdiff.scipy.stats.gaussian_kde"),
        (lambda x: stats.sem(x), "look for the function in srcdiff.scipy.stats|call srcdiff.scipy.stats.sem"),
        (lambda x: scipy.special.multigammaln(x, 2), "call srcdiff.scipy.special.multigammaln"),
        (lambda x: scipy.linalg.toeplitz(x), "call srcdiff.scipy.linalg.toeplitz"),
        (lambda x: scipy.linalg.cholesky(x * np.eye(3)), "call srcdiff.scipy.linalg.cholesky"),
        (lambda x: scipy.linalg.qr(x * np.eye(3)), "call srcdiff.scipy.linalg.qr"),
        (lambda x: stats.norm.fit(x)[0], "call srcdiff.scipy.stats.norm"),
        (lambda x: stats.nct.pdf(x, 2.0, 1.0), "srcdiff.scipy has no counterpart of scipy.stats.nct.pdf"),
        (lambda x: scipy.special.factorial2(x), "srcdiff.scipy has no counterpart of scipy.special.factorial2"),
        (lambda x: scipy.special.diric(x, 3), "srcdiff.scipy has no counterpart of scipy.special.diric"),
    ],
)
def test_the_refusal_names_what_to_call(f: Callable[[Any], Any], instead: str) -> None:
    with pytest.raises(GradientLostError, match=rf"at test_counterpart.py:\d+: ({instead})"):
        sd.grad(lambda x: np.sum(f(x)))(X)


def test_for_eager_tensors_too() -> None:
    with pytest.raises(GradientLostError, match=r"call srcdiff.scipy.stats.norm.logpdf"):
        stats.norm.logpdf(sd.tensor(X, requires_grad=True))


def test_numbers_that_scipy_asks_for_are_refused_for_eager_tensors_too() -> None:
    x = sd.tensor(0.5, requires_grad=True)
    for f in (lambda: quad(lambda t: x * t, 0.0, 1.0), lambda: quad(lambda t: t, 0.0, x)):
        with pytest.raises(GradientLostError, match=r"float\(\).* call srcdiff.scipy.integrate.quad"):
            f()
    with pytest.warns(UserWarning, match="scalar"):
        assert float(x) == 0.5


@pytest.mark.parametrize("name", ["bisect", "ridder", "brentq", "brenth"])
def test_solvers_that_overlook_errors_are_stopped(name: str) -> None:
    """Their C code had gone on with an error set, which came up anywhere: in the middle of a later operation, say."""
    solver = getattr(scipy.optimize, name)

    def root(a: Any) -> Any:
        return solver(lambda x, b: x * x - b, 0.0, 5.0, args=(a,))

    def method(a: Any) -> Any:
        return scipy.optimize.root_scalar(lambda x: x * x - a, bracket=(0.0, 5.0), method=name).root

    for f, called in ((root, name), (method, "root_scalar")):
        eager = lambda a, f=f: f(sd.tensor(a, requires_grad=True))
        for gradient in (sd.grad(f), eval("lambda a: sd.grad(f)(a)", {"f": f, "sd": sd}), eager):
            for _ in range(3):
                with pytest.raises(GradientLostError, match=rf"call srcdiff.scipy.optimize.{called}"):
                    gradient(2.0)
                assert sd.grad(lambda x: x * x)(3.0) == 6.0


def test_solvers_work_where_nothing_is_differentiated() -> None:
    def f(a: Any) -> Any:
        return a * scipy.optimize.brentq(lambda x: x * x - 2.0, 0.0, 5.0, full_output=True)[0]

    assert sd.grad(f)(3.0) == pytest.approx(2.0**0.5)


@pytest.mark.parametrize(
    ("call", "instead"),
    [
        (lambda a: brentq(lambda x: x * x - a, 0, 2), "call srcdiff.scipy.optimize.brentq"),
        (lambda a: scipy.sparse.csr_array(a * np.eye(2)).sum(), "no counterpart of scipy.sparse.csr_array"),
        (lambda a: quad(lambda t: a * t, 0.0, 1.0)[0], "call srcdiff.scipy.integrate.quad"),
    ],
)
def test_errors_that_scipy_makes_of_the_refusal_do_not_hide_it(call: Callable[[Any], Any], instead: str) -> None:
    with pytest.raises(GradientLostError, match=instead):
        sd.grad(call)(0.5)
