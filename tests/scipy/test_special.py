"""`srcdiff.scipy.special`: SciPy's values, right gradients of first and second order, and refusals by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff import runtime as rt
from srcdiff.errors import SrcdiffError
from tests.scipy.derivatives import check_function

sp = pytest.importorskip("scipy.special")
from srcdiff.scipy import special  # noqa: E402

V = np.array([0.62, 0.31, 0.83, 0.45])
M = np.array([[0.3, 1.2, -0.4], [0.9, 0.1, 2.0]])

CASES: dict[str, tuple[Callable[[Any, Any], Any], np.ndarray[Any, Any]]] = {
    "logsumexp": (lambda sp, x: sp.logsumexp(x), M),
    "logsumexp axis": (lambda sp, x: sp.logsumexp(x, axis=-1, keepdims=True), M),
    "logsumexp axes": (lambda sp, x: sp.logsumexp(x, (0, 1)), M),
    "logsumexp of weights": (lambda sp, x: sp.logsumexp(M, axis=1, b=x * x), M),
    "logsumexp with weights": (lambda sp, x: sp.logsumexp(x, axis=0, b=[[1.0, 0.5, 2.0]]), M),
    "logsumexp with a sign": (lambda sp, x: sp.logsumexp(x, 0, [[1.0], [-3.0]], return_sign=True)[0], M),
    "softmax": (lambda sp, x: sp.softmax(x), M),
    "softmax axis": (lambda sp, x: sp.softmax(x, axis=0), M),
    "softmax axes": (lambda sp, x: sp.softmax(x, axis=(0, 1)), M),
    "log_softmax": (lambda sp, x: sp.log_softmax(x), M),
    "log_softmax axis": (lambda sp, x: sp.log_softmax(x, axis=-1), M),
    "log_softmax axes": (lambda sp, x: sp.log_softmax(x, axis=(0, 1)), M),
    "polygamma": (lambda sp, x: sp.polygamma(1, x), V),
    "polygamma of order 0": (lambda sp, x: sp.polygamma(0, x), V),
    "polygamma of several orders": (lambda sp, x: sp.polygamma(np.arange(4), x), V),
    "multigammaln": (lambda sp, x: sp.multigammaln(x + 3.0, 3), V),
    "zeta": (lambda sp, x: sp.zeta(x + 1.5, 1.5), V),
    "zeta in q": (lambda sp, x: sp.zeta(2.5, x), V),
    "zeta of Riemann": (lambda sp, x: sp.zeta(x + 1.5), V),
    "zeta of Riemann below 1": (lambda sp, x: sp.zeta(x - 2.0), V),
    "factorial": (lambda sp, x: sp.factorial(x * 4 - 2), V),
    "comb": (lambda sp, x: sp.comb(x + 4.0, 2.0) + sp.comb(4.0, x), V),
    "comb with repetition": (lambda sp, x: sp.comb(x + 4.0, 2.0, repetition=True), V),
    "comb of too many": (lambda sp, x: sp.comb(x, 0.5), V),
    "perm": (lambda sp, x: sp.perm(x + 4.0, 2.0), V),
    "gammainc": (lambda sp, x: sp.gammainc(x, 0.8) + sp.gammaincc(0.7, x), V),
    "inverses": (lambda sp, x: sp.gammaincinv(x, 0.3) + sp.gammainccinv(x + 1.0, x), V),
    "betainc": (lambda sp, x: sp.betainc(x, x * 2, 0.4) + sp.betaincc(2.0, x, 0.4), V),
    "inverses of betainc": (lambda sp, x: sp.betaincinv(x, 2.0, 0.4) + sp.betainccinv(2.0, 1.5, x), V),
    "stdtr": (lambda sp, x: sp.stdtr(x * 3, 0.4) + sp.stdtrit(2.5, x), V),
    "owens_t": (lambda sp, x: sp.owens_t(x, 0.4 * x), V),
    "ndtri_exp": (lambda sp, x: sp.ndtri_exp(-x), V),
    "boxcox1p": (lambda sp, x: sp.boxcox1p(x, x - 0.5) + sp.inv_boxcox(x, 0.5 * x) + sp.inv_boxcox1p(x, x), V),
    "powm1": (lambda sp, x: sp.powm1(x, x) + sp.pseudo_huber(x, 2 * x), V),
    "erfi": (lambda sp, x: sp.erfi(x) + sp.ellipkm1(x) + sp.ellipkinc(x, 0.4) + sp.ellipeinc(x, 0.4), V),
    "fresnel": (lambda sp, x: sp.fresnel(x)[0] * sp.fresnel(x)[1], V),
    "airy": (lambda sp, x: np.stack(sp.airy(x)), V),
    "degrees": (lambda sp, x: sp.sindg(40 * x) + sp.cosdg(40 * x) + sp.tandg(40 * x), V),
    "hyperu": (lambda sp, x: sp.hyperu(1.5, 0.5, x) + sp.eval_jacobi(3, 0.5, 1.5, x), V),
    "chdtr": (lambda sp, x: sp.chdtr(2 * x, x) + sp.chdtrc(x, 1.0) + sp.gdtr(x, 2.0, x) + sp.gdtrc(1.0, x, x), V),
    "pdtr": (lambda sp, x: sp.pdtr(2, x) + 2 * sp.pdtrc(1.0, x), V),
    "fdtr": (lambda sp, x: sp.fdtr(x, 2.0, x) + 2 * sp.fdtrc(2.0, x, 0.4), V),
    "wofz": (lambda sp, x: np.real(sp.wofz(x * (1 + 0.5j))) + np.imag(sp.wofz(x)), V),
    "expit": (lambda sp, x: sp.expit(x), V),
}


@pytest.mark.parametrize("case", CASES)
def test_values_and_derivatives(case: str) -> None:
    f, x = CASES[case]
    check_function(lambda x: f(special, x), lambda x: f(sp, x), x)


def test_the_sign_is_that_of_the_sum() -> None:
    def sign(x: Any) -> Any:
        return special.logsumexp(x, axis=0, b=np.array([[1.0], [-3.0]]), return_sign=True)[1]

    want = sp.logsumexp(M, axis=0, b=np.array([[1.0], [-3.0]]), return_sign=True)[1]
    np.testing.assert_array_equal(np.asarray(sign(sd.tensor(M))), want)
    x = sd.tensor([-np.inf, -np.inf])
    assert special.logsumexp(x, return_sign=True)[0].item() == -np.inf


def test_float32_stays_float32() -> None:
    x = sd.tensor(V.astype("f4"), requires_grad=True)
    out = special.logsumexp(x) + sp.gammainc(x, np.float32(0.5)).sum() + sp.betainc(x, x, 0.5).sum()
    assert out.dtype == np.float32
    (gradient,) = sd.autograd.grad(out, [x])
    assert gradient.dtype == np.float32


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda x: special.factorial(x, exact=True), "factorial with exact=True"),
        (lambda x: special.logsumexp(x * 1j), "logsumexp of complex numbers"),
        (lambda x: special.polygamma(x, 1.5), "the parameter n of scipy.special.polygamma"),
        (lambda x: special.factorial2(x), "scipy.special.*factorial2"),
    ],
)
def test_what_is_missing_is_refused_by_name(call: Callable[[Any], Any], what: str) -> None:
    with pytest.raises(SrcdiffError, match=rf"{what}.*test_special"):
        sd.grad(lambda x: np.sum(np.real(call(x))))(V)


def test_plain_arrays_get_what_scipy_returns() -> None:
    assert type(special.softmax(V)) is np.ndarray
    assert special.factorial(5, exact=True) == 120
    assert special.gammaln is sp.gammaln


# ----------------------------------------------------------------------------- derivatives in parameters, by identities


def test_gammainc_slope_obeys_the_recurrence_of_gammainc() -> None:
    """gammainc(a + 1, x) = gammainc(a, x) - x^a exp(-x) / gamma(a + 1), differentiated in a."""
    a, ratio = np.array([1e-3, 0.03, 0.4, 1.0, 2.5, 30.0, 400.0]), np.array([1e-4, 0.1, 0.9, 1.0, 1.1, 3.0])[:, None]
    x = a * ratio
    term = np.exp(a * np.log(x) - x - sp.gammaln(a + 1))
    slope = term * (np.log(x) - sp.digamma(a + 1))
    got = rt.gammainc_slope(a + 1, x, 1) - rt.gammainc_slope(a, x, 1)
    np.testing.assert_allclose(got, -slope, rtol=1e-10, atol=1e-13)
    curve = term * ((np.log(x) - sp.digamma(a + 1)) ** 2 - sp.polygamma(1, a + 1))
    got = rt.gammainc_slope(a + 1, x, 2) - rt.gammainc_slope(a, x, 2)
    np.testing.assert_allclose(got, -curve, rtol=1e-9, atol=1e-10)


def test_betainc_slope_is_that_of_a_power_where_b_is_1() -> None:
    """betainc(a, 1, x) = x^a, and betainc(1, b, x) = 1 - (1 - x)^b."""
    a, x = np.array([1e-3, 0.1, 1.0, 4.0, 60.0]), np.array([1e-5, 0.2, 0.5, 0.9, 0.999])[:, None]
    np.testing.assert_allclose(rt.betainc_slope(a, 1.0, x, 1, 0), x**a * np.log(x), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(rt.betainc_slope(a, 1.0, x, 2, 0), x**a * np.log(x) ** 2, rtol=1e-10, atol=1e-14)
    slope = -((1 - x) ** a) * np.log1p(-x)
    np.testing.assert_allclose(rt.betainc_slope(1.0, a, x, 0, 1), slope, rtol=1e-10, atol=1e-14)


def test_slopes_of_large_arrays_are_those_of_their_parts() -> None:
    a = np.linspace(0.1, 9.0, 5000)
    whole = rt.gammainc_slope(a, 2.0, 1)
    some = [0, 255, 256, 4999]
    np.testing.assert_allclose(whole[some], rt.gammainc_slope(a[some], 2.0, 1), rtol=1e-13)


@pytest.mark.parametrize("slope", [rt.gammainc_slope(np.array([-1.0, 2.0, 2.0]), np.array([1.0, 0.0, np.inf]), 1)])
def test_outside_of_the_domain_the_slope_is_nan_and_at_its_ends_0(slope: Any) -> None:
    np.testing.assert_array_equal(slope, [np.nan, 0.0, 0.0])
    np.testing.assert_array_equal(rt.betainc_slope(2.0, 3.0, np.array([0.0, 1.0, 1.5]), 0, 1), [0.0, 0.0, np.nan])


def test_zeta_slope_obeys_the_recurrence_in_q() -> None:
    """zeta(s, q) - zeta(s, q + 1) = q^(-s)."""
    s, q = np.array([-1.5, 0.5, 1.1, 2.0, 9.0]), np.array([0.1, 1.0, 5.5])[:, None]
    for n in (1, 2, 3):
        got = rt.zeta_slope(s, q, n) - rt.zeta_slope(s, q + 1, n)
        np.testing.assert_allclose(got, (-np.log(q)) ** n * q**-s, rtol=1e-8, atol=1e-9)


@pytest.mark.filterwarnings("ignore:floating point number truncated")
@pytest.mark.parametrize("function", [sp.kn, sp.yn, sp.expn])
def test_orders_of_which_scipy_takes_the_whole_part(function: Any) -> None:
    x = np.array([0.7, 0.9, 1.3])
    for order in (0.6, 2.5, np.array([0.5, 1.0, 2.9])):
        got = sd.grad(lambda x, order=order: np.sum(function(order, x)))(x)
        want = sd.grad(lambda x, order=order: np.sum(function(np.trunc(order).astype(int), x)))(x)
        np.testing.assert_allclose(got, want, rtol=1e-12)
