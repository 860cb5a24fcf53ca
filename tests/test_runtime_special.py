"""Special functions: SciPy's values, with SciPy and without."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from srcdiff import runtime_special
from srcdiff.runtime_special import bessel_i, sinc

special = pytest.importorskip("scipy.special")
inf, nan = np.inf, np.nan
REALS = np.array([-inf, -40.0, -3.3, -0.7, -1e-3, 0.0, 1e-9, 0.2, 1.0, 5.5, 30.0, inf, nan])
FINITE = REALS[np.isfinite(REALS)]


@pytest.fixture(params=["SciPy", "alone"])
def functions(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    if request.param == "alone":
        monkeypatch.setattr(runtime_special, "scipy_special", lambda: None)
    return runtime_special


@pytest.mark.parametrize(
    ("name", "points"),
    [
        ("erf", REALS),
        ("erfc", REALS),
        ("erfinv", np.array([-1.0, -0.999, -0.3, 0.0, 1e-12, 0.5, 0.9999999, 1.0, 1.5, nan])),
        ("ndtr", REALS),
        ("log_ndtr", REALS),
        ("gammaln", np.array([-3.7, -2.0, -0.5, 0.0, 1e-8, 0.5, 1.0, 30.0, inf])),
    ],
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_are_scipys(functions: Any, name: str, points: Any, dtype: Any) -> None:
    points = points.astype(dtype)
    got, want = getattr(functions, name)(points), getattr(special, name)(points)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-12 if dtype is np.float64 else 1e-5)


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_polygamma_is_scipys(functions: Any, n: int) -> None:
    points = np.array([-3.7, -0.5, 1e-3, 0.5, 1.0, 9.0, 30.0])
    np.testing.assert_allclose(functions.polygamma(points, n), special.polygamma(n, points), rtol=1e-11)


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_bessel_functions_are_scipys(n: int) -> None:
    np.testing.assert_allclose(bessel_i(FINITE, n), special.iv(n, FINITE), rtol=1e-12, atol=1e-15)


def test_derivatives_of_sinc_join_smoothly() -> None:
    """Each order is the slope of the one before, at 0 and across the border between series and recurrence."""
    x, h = np.linspace(-3.0, 3.0, 61), 1e-3
    for n in range(4):
        first, second = (sinc(x + k * h, n) - sinc(x - k * h, n) for k in (1, 2))
        np.testing.assert_allclose(sinc(x, n + 1), (8 * first - second) / (12 * h), atol=1e-7)


def test_a_function_that_only_scipy_has_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime_special, "scipy_special", lambda: None)
    with pytest.raises(ImportError, match="erfcx needs SciPy"):
        runtime_special.special.erfcx(1.0)
