"""`srcdiff.scipy.interpolate` against SciPy and against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import srcdiff as sd
import srcdiff.scipy
from srcdiff.errors import GradientLostError, UnsupportedError
from tests.scipy.check import check

pytest.importorskip("scipy")
rng = np.random.default_rng(9)
X = np.array([0.0, 0.7, 1.5, 2.1, 3.0, 3.8])
VALUES = {
    "y": np.array([0.3, 1.1, 0.2, -0.6, 0.4, 0.9]), "d": rng.standard_normal(6), "m": rng.standard_normal((2, 6)),
    "q": np.array([0.31, 1.13, 2.9, 0.04]), "o": np.array([-0.4, 0.33, 4.4]), "c": rng.standard_normal((3, 5)),
    "t": rng.standard_normal((3, 4)), "g": np.array([[0.4, 1.3], [1.7, 2.2], [0.1, 0.2]]),
    "v": rng.standard_normal((3, 4, 2)),
    "b": np.array([1.3, 0.2]),
}  # fmt: skip
GRID = (np.array([0.0, 0.8, 2.0]), np.array([0.0, 1.0, 1.9, 3.0]))

CALLS = [
    *[f"sp.interpolate.CubicSpline(X, y, bc_type={bc!r})(q)" for bc in ("not-a-knot", "natural", "clamped")],
    "sp.interpolate.CubicSpline(X, y, bc_type=((1, 0.5), (2, -0.3)))(q)",
    "sp.interpolate.CubicSpline(X, np.concatenate([y[:5], y[:1]]), bc_type='periodic')(o)",
    "sp.interpolate.CubicSpline(X, y)(o)", "sp.interpolate.CubicSpline(X, m, axis=1)(q)",
    "sp.interpolate.CubicSpline(X, y)(q, 1)", "sp.interpolate.CubicSpline(X, y).derivative(2)(q)",
    "sp.interpolate.CubicSpline(X, y).antiderivative()(q)", "sp.interpolate.CubicSpline(X, y).integrate(0.3, 2.5)",
    "sp.interpolate.CubicSpline(X, np.arange(6.0) ** 2)(q)", "sp.interpolate.CubicSpline(X, m.T)(q[:, None])",
    "sp.interpolate.CubicSpline(X, np.arange(6.0) ** 2).integrate(b[1], b[0])",
    "sp.interpolate.CubicHermiteSpline(X, y, d)(q)", "sp.interpolate.PchipInterpolator(X, y)(q)",
    "sp.interpolate.PchipInterpolator(X, m + 3.0 * X, axis=1)(q)", "sp.interpolate.pchip_interpolate(X, y, q, 1)",
    "sp.interpolate.Akima1DInterpolator(X, y)(q)", "sp.interpolate.Akima1DInterpolator(X, m.T)(q)",
    *[f"sp.interpolate.make_interp_spline(X, y, k={k})(q)" for k in (1, 2, 3, 5)],
    "sp.interpolate.make_interp_spline(X, m, axis=1, bc_type='natural')(o)",
    "sp.interpolate.make_interp_spline(X, y, bc_type=([(1, 0.3)], [(2, 0.0)]))(q)",
    "sp.interpolate.make_interp_spline(X, y).derivative()(q)",
    "sp.interpolate.make_interp_spline(X, y).integrate(0.2, 3.0)",
    "sp.interpolate.BSpline(np.arange(9.0), d[:5], 3)(q + 3.0)", "sp.interpolate.PPoly(c, X)(q)",
    "sp.interpolate.PPoly(c, X, extrapolate=False)(q)", "sp.interpolate.PPoly(c, X, extrapolate='periodic')(o)",
    *[f"sp.interpolate.interp1d(X, y, {k!r})(q)" for k in ("linear", "slinear", "quadratic", "cubic", 3)],
    *[f"sp.interpolate.interp1d(X, y, {k!r}, fill_value='extrapolate')(o)" for k in ("linear", "cubic")],
    "sp.interpolate.interp1d(X[::-1], m)(q)", "sp.interpolate.interp1d(X, m.T, axis=0)(q)",
    "sp.interpolate.interp1d(X, y, bounds_error=False, fill_value=(0.5, -0.5))(o)",
    "sp.interpolate.RegularGridInterpolator(GRID, t)(g)", "sp.interpolate.RegularGridInterpolator(GRID, v)(g)",
    "sp.interpolate.RegularGridInterpolator((GRID[0][::-1], GRID[1]), t)(g)",
    "sp.interpolate.RegularGridInterpolator(GRID, t, bounds_error=False, fill_value=None)(g - 0.5)",
    "sp.interpolate.RegularGridInterpolator(GRID, t, bounds_error=False, fill_value=0.2)(g - 0.5)",
    "sp.interpolate.RegularGridInterpolator((X,), y)(q[:, None])", "sp.interpolate.RegularGridInterpolator((X,), y)(q)",
    "sp.interpolate.RegularGridInterpolator(GRID, t)((q[:2], 1.2))", "sp.interpolate.interpn(GRID, t, g)",
]  # fmt: skip
STEPS = [
    *[f"sp.interpolate.interp1d(X, y, {k!r})(np.array([0.1, 1.4]))" for k in ("nearest", "previous", "next", "zero")],
    "sp.interpolate.RegularGridInterpolator(GRID, t, 'nearest')(np.array([[0.5, 1.2], [1.9, 2.8]]))",
]


def values_of(call: str) -> dict[str, Any]:
    names = compile(call, "call", "eval").co_names
    return {name: value for name, value in VALUES.items() if name in names}


@pytest.mark.parametrize("call", [*CALLS, *STEPS])
def test_values_and_derivatives(call: str) -> None:
    check(call, values_of(call), rtol=1e-11, X=X, GRID=GRID)


def test_plain_data_with_a_plain_argument_are_scipys() -> None:
    import scipy.interpolate

    for call in CALLS:
        if "periodic" not in call:
            values = {"np": np, "X": X, "GRID": GRID, **VALUES}
            ours = eval(call.replace("sp.interpolate", "i"), {**values, "i": sd.scipy.interpolate})
            np.testing.assert_array_equal(
                ours, eval(call.replace("sp.interpolate", "i"), {**values, "i": scipy.interpolate})
            )
    assert isinstance(sd.scipy.interpolate.CubicSpline(X, VALUES["y"]), scipy.interpolate.CubicSpline)


def test_knots_under_differentiation_are_refused() -> None:
    for name in ("CubicSpline", "PchipInterpolator", "interp1d", "make_interp_spline"):
        with pytest.raises(GradientLostError, match="x"):
            sd.grad(lambda x, name=name: np.sum(getattr(sd.scipy.interpolate, name)(x, VALUES["y"])(0.5)))(X)


@pytest.mark.parametrize(
    "call",
    [
        "CubicSpline(X, y).roots()",
        "CubicSpline(X, y).solve(0.1)",
        "UnivariateSpline(X, y)(0.3)",
        "PPoly(y[None, 1:], X).extend(y, X)",
    ],
)
def test_what_would_lose_the_gradient_is_refused(call: str) -> None:
    with pytest.raises(GradientLostError):
        sd.grad(lambda y: np.sum(eval(f"sd.scipy.interpolate.{call}", {"sd": sd, "X": X, "y": y})))(VALUES["y"])


def test_other_methods_are_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match="cubic"):
        sd.grad(lambda t: np.sum(sd.scipy.interpolate.RegularGridInterpolator(
            (X, X), t, method="cubic")([[0.4, 1.3]])))(rng.standard_normal((6, 6)))  # fmt: skip


def test_points_outside_raise_as_in_scipy() -> None:
    with pytest.raises(ValueError, match="out of bounds"):
        sd.grad(lambda t: np.sum(sd.scipy.interpolate.RegularGridInterpolator(GRID, t)([[9.0, 1.0]])))(VALUES["t"])
    with pytest.raises(ValueError, match="above the interpolation range"):
        sd.grad(lambda y: np.sum(sd.scipy.interpolate.interp1d(X, y)(9.0)))(VALUES["y"])
