"""SciPy's ufuncs on Tensors: found when first met, with SciPy's values and right gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.functions.test_mathematics import directional, tensor

sp = pytest.importorskip("scipy.special")
V = np.array([0.62, 0.31, 0.83, 0.45])

CASES: list[Callable[[Any], Any]] = [
    lambda x: sp.expit(x),
    lambda x: sp.logit(x),
    lambda x: sp.gammaln(x),
    lambda x: sp.psi(x),
    lambda x: sp.digamma(x),
    lambda x: sp.erf(x) * sp.erfc(x),
    lambda x: sp.xlogy(x, x + 1.0),
    lambda x: sp.log_ndtr(x),
    lambda x: sp.kl_div(x, 0.5),
    lambda x: sp.zeta(2.5, x),
    lambda x: sp.jv(2, x),
    lambda x: sp.betainc(1.5, 2.5, x),
    lambda x: sp.lambertw(x),
    lambda x: sp.sici(x)[0] + sp.sici(x)[1],
]


@pytest.mark.parametrize("f", CASES)
def test_value_and_gradient(f: Callable[[Any], Any]) -> None:
    x = tensor(V)
    out, again = f(x), f(x)  # the first call enters the ufunc in the tables
    want = f(V)
    np.testing.assert_allclose(out._value, want, rtol=1e-14)
    np.testing.assert_allclose(again._value, want, rtol=1e-14)
    ones = np.ones_like(want)
    (out + again).backward(tensor(ones))
    slope = float(np.sum(x.grad._value))
    np.testing.assert_allclose(slope, 2.0 * directional(f, (V,), (np.ones(4),), ones), rtol=1e-8)


def test_a_ufunc_that_is_not_known_is_refused_by_name() -> None:
    with pytest.raises(NotImplementedError, match="struve"):
        sp.struve(1, tensor(V))
