"""`srcdiff.scipy.optimize`: implicit derivatives against closed forms; values against SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import srcdiff as sd
import srcdiff.scipy
from srcdiff.errors import GradientLostError, NotDifferentiableError, UnsupportedError

pytest.importorskip("scipy")
S = sd.scipy
T = np.array([0.5, 1.5, 2.0, 3.1])
D = np.array([2.1, 1.4, 1.2, 0.7])

#: a function of p, and the same in closed form
ROOTS: dict[str, tuple[Any, Any]] = {
    "fsolve": (lambda p: S.optimize.fsolve(lambda x, a: x**2 - a, 1.0, args=(p,))[0], np.sqrt),
    "fsolve, from outside": (lambda p: S.optimize.fsolve(lambda x: x**3 - p, [1.0])[0], np.cbrt),
    "fsolve, two": (
        lambda p: np.sum(S.optimize.fsolve(lambda x: np.stack([x[0] + x[1] - p, x[0] * x[1] - 0.1 * p]), [2.0, 0.1])
                         * np.array([1.0, 2.0])),
        lambda p: (3 * p - np.sqrt(p * p - 0.4 * p)) / 2,
    ),
    "fsolve, derivative": (
        lambda p: S.optimize.fsolve(lambda x, a: x**2 - a, 1.0, (p,), lambda x, a: np.diag(2 * x), full_output=1)[0][0],
        np.sqrt,
    ),
    "root": (lambda p: S.optimize.root(lambda x, a: x**2 - a, [1.0], (p,)).x[0], np.sqrt),
    "root, both": (
        lambda p: S.optimize.root(lambda x, a: (x**2 - a, np.diag(2 * x)), [1.0], (p,), jac=True).x[0], np.sqrt
    ),
    "root, lm": (lambda p: S.optimize.root(lambda x: x**2 - p, [1.0], method="lm").x[0], np.sqrt),
    **{name: (lambda p, name=name: getattr(S.optimize, name)(lambda x, a: x**2 - a, 0.1, 9.0, (p,)), np.sqrt)
       for name in ("brentq", "brenth", "bisect", "ridder", "toms748")},
    "root_scalar": (lambda p: S.optimize.root_scalar(lambda x: x**2 - p, bracket=(0.1, 9.0)).root, np.sqrt),
    "root_scalar, newton": (
        lambda p: S.optimize.root_scalar(lambda x, a: x**2 - a, (p,), x0=1.0, fprime=lambda x, a: 2 * x).root,
        np.sqrt,
    ),
    "newton": (lambda p: S.optimize.newton(lambda x: x**2 - p, 1.0), np.sqrt),
    "newton, vector": (
        lambda p: np.sum(S.optimize.newton(lambda x, a: x**2 - a * np.array([1.0, 4.0]), np.ones(2), args=(p,))),
        lambda p: 3.0 * np.sqrt(p),
    ),
    "fixed_point": (lambda p: S.optimize.fixed_point(lambda x: 0.5 * (x + p / x), 1.0), np.sqrt),
    "minimize": (
        lambda p: np.sum(S.optimize.minimize(lambda x, a: (x[0] - a) ** 2 + (x[1] - a**2) ** 2, np.zeros(2), (p,)).x),
        lambda p: p + p**2,
    ),
    "minimize, value": (
        lambda p: S.optimize.minimize(lambda x: (x[0] - p) ** 2 + p**3, [0.0], jac=lambda x: 2 * (x - p)).fun,
        lambda p: p**3,
    ),
    "minimize, bounds": (
        lambda p: np.sum(S.optimize.minimize(lambda x: np.sum((x - p * np.array([1.0, 2.0])) ** 2), np.zeros(2),
                                             bounds=[(0, 1), (None, 9)]).x),
        lambda p: 1.0 + 2.0 * p,
    ),
    "minimize_scalar": (
        lambda p: S.optimize.minimize_scalar(lambda x: (x**2 - p) ** 2, bracket=(1.0, 1.6, 4.0)).x, np.sqrt
    ),
    "minimize_scalar, bounded": (
        lambda p: S.optimize.minimize_scalar(lambda x, a: (x - a) ** 2, bounds=(0.0, 5.0), args=(p,)).x, lambda p: p,
    ),
    "least_squares": (
        lambda p: np.sum(S.optimize.least_squares(
            lambda x: np.stack([x[0] - p, 10 * (x[1] - x[0] ** 2), x[1] - p]), [1.0, 1.0], xtol=1e-15, ftol=1e-15,
            gtol=1e-15,
        ).x),
        None,
    ),
    "nnls": (
        lambda p: np.sum(S.optimize.nnls(np.array([[1.0, 0], [0, 1], [1, 1]]), np.stack([p, -1.0 - p, p]))[0]),
        lambda p: p,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ROOTS)
def test_implicit_derivatives(name: str) -> None:
    ours, exact = ROOTS[name]
    if exact is None:
        exact = _by_newton
    at = 2.3
    assert float(sd.detach(ours(sd.tensor(at, dtype=np.float64, requires_grad=True)))) == pytest.approx(
        exact(at), rel=1e-5
    )
    mine, theirs = ours, exact
    for order in range(5):
        mine, theirs = sd.grad(mine), sd.grad(theirs)
        tolerance = {"rel": 1e-4, "abs": 1e-6} if "min" in name else {"rel": 1e-6, "abs": 1e-8}
        assert mine(at) == pytest.approx(theirs(at), **tolerance), order
    assert sd.jvp(ours, (at,), (1.0,))[1] == pytest.approx(sd.grad(exact)(at), rel=1e-4)


def _by_newton(p: Any) -> Any:
    """The sum of x that minimises the sum of squares of the sample `least_squares`, by its stationarity."""
    x = np.array([1.4, 2.0])
    for _ in range(60):
        a, b = x[0], x[1]
        g = np.stack([a - p - 200 * a * (b - a * a), 100 * (b - a * a) + b - p])
        h = np.stack([np.stack([1 - 200 * (b - a * a) + 400 * a * a, -200 * a]), np.stack([-200 * a, 101.0 + 0 * a])])
        x = x - np.linalg.solve(h, g)
    return np.sum(x)


def test_values_without_derivatives_are_scipys() -> None:
    import scipy.optimize

    for call in (
        lambda o: o.fsolve(lambda x: x**2 - 2, 1.0), lambda o: o.brentq(lambda x: x**2 - 2, 0, 3),
        lambda o: o.minimize(lambda x: np.sum((x - 1) ** 2), np.zeros(3)).hess_inv,
        lambda o: o.root(lambda x: x**2 - 2, [1.0]).x, lambda o: o.curve_fit(lambda x, a: a * x, T, D)[1],
    ):  # fmt: skip
        np.testing.assert_array_equal(call(S.optimize), call(scipy.optimize))


@pytest.mark.parametrize("sigma", [None, np.array([0.1, 0.2, 0.1, 0.3])])
@pytest.mark.parametrize("absolute", [False, True])
def test_curve_fit_moves_with_the_data(sigma: Any, absolute: bool) -> None:
    import scipy.optimize

    model = lambda x, a, b: a * x + b
    weights = np.array([[0.3, -0.7], [0.2, 0.9], [0.5, 0.1]])

    def combined(o: Any) -> Any:
        def f(t: Any, d: Any) -> Any:
            popt, pcov = o.curve_fit(model, t, d, sigma=sigma, absolute_sigma=absolute)
            return np.sum(np.concatenate([popt[None], pcov]) * weights)

        return f

    ours, theirs = combined(S.optimize), combined(scipy.optimize)
    line = np.stack([T, np.ones(4)], axis=1)
    w = np.ones(4) if sigma is None else 1 / sigma

    def exact(t: Any, d: Any) -> Any:
        a = np.stack([t, np.ones(4)], axis=1) * w[:, None]
        inverse = np.linalg.inv(a.T @ a)
        popt = inverse @ (a.T @ (d * w))
        scale = 1.0 if absolute else np.sum((a @ popt - d * w) ** 2) / 2
        return np.sum(np.concatenate([popt[None], inverse * scale]) * weights)

    assert line.shape == (4, 2)
    assert ours(T, D) == pytest.approx(theirs(T, D), rel=1e-12)
    for got, want in zip(sd.grad(ours, argnums=(0, 1))(T, D), sd.grad(exact, argnums=(0, 1))(T, D), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-8)


def test_the_start_has_no_derivative() -> None:
    assert sd.grad(lambda x0: S.optimize.fsolve(lambda x: x**2 - 2.0, x0)[0] + 0 * x0)(1.0) == 0.0


def test_what_is_not_differentiated_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="constraints="):
        sd.grad(lambda p: S.optimize.minimize(
            lambda x: (x[0] - p) ** 2, [0.0], constraints={"type": "ineq", "fun": lambda x: 5 - x[0]}
        ).x[0])(1.0)  # fmt: skip
    with pytest.raises(GradientLostError, match="bounds"):
        sd.grad(lambda p: S.optimize.minimize(lambda x: (x[0] - 1) ** 2, [0.0], bounds=[(0, p)]).x[0])(0.5)
    with pytest.raises(UnsupportedError, match="loss"):
        sd.grad(lambda p: S.optimize.least_squares(lambda x: x - p, [0.0], loss="soft_l1").x[0])(1.0)
    with pytest.raises(NotDifferentiableError, match="singular"):
        sd.grad(lambda p: S.optimize.fsolve(lambda x: (x - p) ** 2 * 0.0, [1.0])[0])(1.0)
