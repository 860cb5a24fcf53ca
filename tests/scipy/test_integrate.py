"""`srcdiff.scipy.integrate` against SciPy, closed forms and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import srcdiff as sd
import srcdiff.scipy
from srcdiff.errors import UnsupportedError
from tests.scipy.check import check, check_values

pytest.importorskip("scipy")
rng = np.random.default_rng(6)
X = np.cumsum(rng.uniform(0.3, 1.0, 6))
VALUES = {"y": rng.standard_normal(6), "x": X, "m": rng.standard_normal((3, 6)), "r": rng.standard_normal(9),
          "v": np.array([0.6, 0.3]), "s": np.array(0.7), "t": np.array([0.0, 0.4, 1.1])}  # fmt: skip

SAMPLED = [
    "sp.integrate.trapezoid(y)", "sp.integrate.trapezoid(m, x, axis=1)", "sp.integrate.trapezoid(m, dx=0.5, axis=0)",
    "sp.integrate.cumulative_trapezoid(y, x)", "sp.integrate.cumulative_trapezoid(m, dx=0.5, axis=0, initial=0)",
    "sp.integrate.simpson(y)", "sp.integrate.simpson(y, x=x)", "sp.integrate.simpson(y[1:], x=x[1:])",
    "sp.integrate.simpson(m, dx=0.5, axis=0)", "sp.integrate.simpson(m, x=x)", "sp.integrate.simpson(y[:2], x=x[:2])",
    "sp.integrate.cumulative_simpson(m, dx=0.5)", "sp.integrate.cumulative_simpson(y, x=np.arange(6.0)**2, initial=0)",
    "sp.integrate.romb(r, dx=0.5)", "sp.integrate.fixed_quad(lambda t: np.exp(-s * t), 0.0, s, n=4)[0]",
]  # fmt: skip


def values_of(call: str) -> dict[str, Any]:
    code = compile(call, "call", "eval")
    names = {*code.co_names, *(n for c in code.co_consts if hasattr(c, "co_names") for n in c.co_names)}
    return {name: value for name, value in VALUES.items() if name in names}


@pytest.mark.parametrize("call", SAMPLED)
def test_samples(call: str) -> None:
    check(call, values_of(call), rtol=1e-12)


QUADRATURES = {
    "quad(lambda t: np.exp(-p * t**2), 0.0, 1.5)[0]": None,
    "quad(lambda t, q: np.sin(q * t) * p, 0.3, 2.0, args=(p,))[0]": None,
    "quad(lambda t: np.cos(t), p, p * p + 1.0)[0]": lambda p: np.sin(p * p + 1.0) - np.sin(p),
    "quad(lambda t: np.exp(-p * t), 0.0, np.inf)[0]": lambda p: 1.0 / p,
    "quad(lambda t: np.exp(-t), p, np.inf)[0]": lambda p: np.exp(-p),
    "quad(lambda t: np.exp(t), -np.inf, p)[0]": lambda p: np.exp(p),
    "quad(lambda t: np.exp(-p * t**2), -np.inf, np.inf)[0]": lambda p: np.sqrt(np.pi / p),
    "quad(lambda t: np.exp(-p * t), np.inf, 0.0)[0]": lambda p: -1.0 / p,
    "quad(lambda t: np.exp(-p * abs(t - 0.4)), 0.0, 1.0, points=[0.4])[0]":
        lambda p: (2 - np.exp(-0.4 * p) - np.exp(-0.6 * p)) / p,
    "dblquad(lambda y, x: p * x * y, 0.0, 1.0, 0.0, lambda x: p * x)[0]": lambda p: p**3 / 8.0,
    "tplquad(lambda z, y, x: p * x, 0.0, p, 0.0, 1.0, 0.0, 1.0)[0]": lambda p: p**3 / 2.0,
}  # fmt: skip


@pytest.mark.parametrize("call", QUADRATURES)
def test_integrals_of_functions_to_third_order(call: str) -> None:
    """Derivatives under the integral sign and in the bounds; values are SciPy's own."""
    ours = lambda p: eval(f"sp.{call}", {"np": np, "sp": sd.scipy.integrate, "p": p})
    import scipy.integrate

    assert float(sd.detach(ours(sd.tensor(0.8, dtype=np.float64, requires_grad=True)))) == pytest.approx(
        eval(f"sp.{call}", {"np": np, "sp": scipy.integrate, "p": 0.8}), rel=1e-13
    )
    exact = QUADRATURES[call]
    if exact is None:
        nodes, weights = np.polynomial.legendre.leggauss(60)
        a, b, f = (
            (0.0, 1.5, lambda p, t: np.exp(-p * t**2)) if "exp" in call else (0.3, 2.0, lambda p, t: p * np.sin(p * t))
        )
        exact = lambda p: np.sum(weights * f(p, (b - a) / 2 * (nodes + 1) + a)) * (b - a) / 2
    mine, theirs = ours, exact
    for _ in range(1 if call.startswith("tpl") else 3):
        mine, theirs = sd.grad(mine), sd.grad(theirs)
        assert mine(0.8) == pytest.approx(theirs(0.8), rel=1e-8, abs=1e-9)
    assert sd.jvp(ours, (0.8,), (1.0,))[1] == pytest.approx(sd.grad(exact)(0.8), rel=1e-8)


def test_integrals_of_plain_functions_are_scipys() -> None:
    import scipy.integrate

    f = lambda t: np.exp(-t)
    assert sd.scipy.integrate.quad(f, 0, 1, full_output=1)[:2] == scipy.integrate.quad(f, 0, 1)
    assert len(sd.scipy.integrate.quad(lambda t, q: q * t, 0, 1, 2.0)) == 2


ODE = "lambda y, t, a: np.stack([y[1], -a * y[0] + t])"
TIGHT = "rtol=1e-9, atol=1e-10"
EQUATIONS = {
    f"sp.integrate.odeint({ODE}, v, [0.0, 0.3, 0.8], args=(s,), {TIGHT})": ("vs", 2),
    f"sp.integrate.odeint(lambda t, y: -y * y, s, t, tfirst=True, {TIGHT})": ("st", 2),
    f"sp.integrate.odeint({ODE}, v, t + 0.2 * s, (s,), full_output=1, {TIGHT})[0]": ("vst", 1),
    "sp.integrate.odeint(lambda y, t, a: -a * y, v, t, (s,), Dfun=lambda y, t, a: -a * np.eye(2))": ("vst", 1),
    f"sp.integrate.solve_ivp(lambda t, y, a: -a * y + t, (0, 1), v, args=(s,), t_eval=[0.3, 1], {TIGHT}).y": ("vs", 2),
    **{
        f"sp.integrate.solve_ivp(lambda t, y, a: -a * y * t, (-1, 2), v, {m!r}, t, args=(s,), {TIGHT}).y": ("vst", 1)
        for m in ("DOP853", "Radau", "LSODA")
    },
    f"sp.integrate.solve_ivp(lambda t, y, a: -a * y * y, (1.2, 0), v, args=(s,), t_eval=[1, 0], {TIGHT}).y": ("vs", 1),
}  # fmt: skip


@pytest.mark.parametrize("call", EQUATIONS)
def test_differential_equations(call: str) -> None:
    names, order = EQUATIONS[call]
    check(call, {n: VALUES[n] for n in names}, order=order, rtol=1e-12, accuracy=1e-5, h=1e-2)


def test_what_the_right_hand_side_takes_from_outside_is_differentiated() -> None:
    exact = lambda a: np.exp(-a * 1.5)
    at_end = lambda a: sd.scipy.integrate.odeint(lambda y, t: -a * y, 1.0, [0.0, 1.5])[-1, 0]
    assert sd.grad(at_end)(0.7) == pytest.approx(sd.grad(exact)(0.7), rel=1e-7)
    last = lambda a: sd.scipy.integrate.solve_ivp(lambda t, y: -a * y, (0.0, 1.5), [1.0]).y[0, -1]
    assert sd.grad(last)(0.7) == pytest.approx(sd.grad(exact)(0.7), rel=1e-7)
    assert sd.grad(sd.grad(last))(0.7) == pytest.approx(sd.grad(sd.grad(exact))(0.7), rel=1e-7)
    end = lambda b: sd.scipy.integrate.solve_ivp(lambda t, y: -y, (0.0, b), [1.0]).y[0, -1]
    assert sd.grad(end)(1.5) == pytest.approx(-np.exp(-1.5), rel=1e-7)
    start = lambda b: sd.scipy.integrate.solve_ivp(lambda t, y: -y, (b, 1.0), [1.0], t_eval=[0.5, 1.0]).y[0, -1]
    assert sd.grad(start)(0.2) == pytest.approx(np.exp(-0.8), rel=1e-7)


def lagging(rate: Any, start: Any, end: Any, method: str = "BDF") -> Any:
    """y' = -rate (y - cos t), whose solution follows the cosine after a time of 1 / rate."""
    made = sd.scipy.integrate.solve_ivp(lambda t, y: -rate * (y - np.cos(t)), (0.0, end), [start], method)
    return made.y[0, -1]


def lagging_exactly(rate: Any, start: Any, end: Any) -> Any:
    """The formula for it."""
    forced = lambda t: (rate * rate * np.cos(t) + rate * np.sin(t)) / (1.0 + rate * rate)
    return forced(end) + (start - forced(0.0)) * np.exp(-rate * end)


@pytest.mark.parametrize("method", ["BDF", "Radau", "LSODA"])
def test_stiff_equations(method: str) -> None:
    point = (1e5, 0.5, 1.0)
    got = sd.grad(lambda *x: lagging(*x, method), argnums=(0, 1, 2))(*point)
    want = sd.grad(lagging_exactly, argnums=(0, 1, 2))(*point)
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-11)


def test_stiff_equations_are_differentiated_again_and_forward() -> None:
    along: Any = lambda f: lambda end: f(3e3 / end, 0.5, end)
    ours, exact = along(lagging), along(lagging_exactly)
    want = sd.grad(sd.grad(exact))(1.2)
    assert sd.grad(sd.grad(ours))(1.2) == pytest.approx(want, rel=1e-5)
    assert sd.jvp(ours, (1.2,), (1.0,))[1] == pytest.approx(sd.grad(exact)(1.2), rel=1e-6)


def test_a_stiff_equation_of_several_species() -> None:
    """Robertson's reactions, against SciPy's solutions of the equations of the derivatives."""
    rates, start = np.array([0.04, 1e4, 3e7]), np.array([1.0, 0.0, 0.0])

    def right(y: Any, k: Any) -> Any:
        made, back, on = k[0] * y[0], k[1] * y[1] * y[2], k[2] * y[1] ** 2
        return np.stack([back - made, made - back - on, on])

    jacobian = sd.jacobian(right, argnums=(0, 1))

    def both(t: Any, z: Any) -> Any:
        y, moved = z[:3], z[3:].reshape(3, 3)
        of_y, of_k = jacobian(y, rates)
        return np.concatenate([right(y, rates), (of_y @ moved + of_k * rates).ravel()])

    solve = sd.scipy.integrate.solve_ivp
    whole = solve(both, (0.0, 4.0), np.concatenate([start, np.zeros(9)]), "Radau", rtol=1e-10, atol=1e-12)
    at_end = lambda k: solve(lambda t, y: right(y, k), (0.0, 4.0), start, "BDF", rtol=1e-6, atol=1e-9).y[:, -1]
    got = sd.grad(lambda k: at_end(k) @ np.array([1.0, 1e4, 2.0]))(rates) * rates
    np.testing.assert_allclose(got, np.array([1.0, 1e4, 2.0]) @ whole.y[3:, -1].reshape(3, 3), rtol=1e-5)


def test_odeint_finds_out_that_an_equation_is_stiff() -> None:
    at_end = lambda b: sd.scipy.integrate.odeint(lambda y, t: -b * (y - np.cos(t)), 0.5, [0.0, 0.5, 1.0])[-1, 0]
    want = sd.grad(lagging_exactly)(3e4, 0.5, 1.0)
    assert sd.grad(at_end)(3e4) == pytest.approx(want, rel=1e-4, abs=1e-12)


def test_plain_equations_are_scipys_own() -> None:
    import scipy.integrate

    call = lambda sp: sp.odeint(lambda y, t: -y, [1.0, 2.0], [0.0, 1.0])
    np.testing.assert_array_equal(call(sd.scipy.integrate), call(scipy.integrate))
    solve = lambda sp: sp.solve_ivp(
        lambda t, y: -y, (0.0, 2.0), [1.0], events=lambda t, y: y[0] - 0.5, dense_output=True
    )
    ours, theirs = solve(sd.scipy.integrate), solve(scipy.integrate)
    np.testing.assert_array_equal(ours.t_events, theirs.t_events)
    np.testing.assert_array_equal(ours.sol(0.3), theirs.sol(0.3))


def test_stiff_equations_of_complex_numbers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("srcdiff.scipy.integrate.ode._MOST_CALLS", 100)
    solve = sd.scipy.integrate.solve_ivp
    with pytest.raises(UnsupportedError, match="stiff differential equation of complex numbers"):
        sd.grad(lambda b: np.abs(solve(lambda t, y: -b * (y - np.cos(t)), (0, 1), [1j]).y[0, -1]))(100.0)


def test_what_is_not_differentiated_is_refused() -> None:
    solve = sd.scipy.integrate.solve_ivp
    decay = lambda t, y: -y
    with pytest.raises(UnsupportedError, match="events="):
        sd.grad(lambda b: np.sum(solve(decay, (0, 1), [b], events=lambda t, y: y[0] - 0.1).y))(1.0)
    with pytest.raises(UnsupportedError, match="weight="):
        sd.grad(lambda b: sd.scipy.integrate.quad(lambda t: b * t, 0, 1, weight="cos", wvar=1.0)[0])(1.0)
    with pytest.raises(UnsupportedError, match=r"scipy\.integrate\.qmc_quad|quad_vec|nquad"):
        sd.grad(lambda b: sd.scipy.integrate.nquad(lambda x: x, [b])[0])(sd.tensor([0.0, 1.0]))


def test_trapezoid_of_float32() -> None:
    check_values("sp.integrate.simpson(m)", {"m": VALUES["m"].astype(np.float32)}, 1e-5)
