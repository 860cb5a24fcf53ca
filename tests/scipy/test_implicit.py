"""Solutions of equations as nodes of the graph: derivatives of every order, in both modes, and what they keep."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import srcdiff as sd
import srcdiff.scipy
from srcdiff.scipy import linalg, optimize

A = np.array([[0.3, -0.8, 0.5], [0.9, 0.1, -0.4], [0.2, 0.7, -0.6]])
B = np.array([[1.0, 0.2, 0.0], [-0.3, 2.0, 0.4], [0.1, 0.0, -3.0]])


def root(a: Any) -> Any:
    """Depends on `a`, and on `b`, which depends on `a`."""
    b = np.sin(a)
    return optimize.fsolve(lambda x: x**3 + x - a * b, 1.0, xtol=1e-14)[0]


def by_newton(a: Any) -> Any:
    b, x = np.sin(a), 1.0
    for _ in range(12):
        x = x - (x**3 + x - a * b) / (3 * x * x + 1)
    return x


def test_every_order_is_right_where_one_value_depends_on_another() -> None:
    ours, theirs = root, by_newton
    for _ in range(5):
        ours, theirs = sd.grad(ours), sd.grad(theirs)
        assert ours(1.2) == pytest.approx(theirs(1.2), rel=1e-9)


def test_forward_mode_and_its_mixtures_agree() -> None:
    first, second = sd.grad(by_newton)(1.2), sd.grad(sd.grad(by_newton))(1.2)
    assert sd.jvp(root, (1.2,), (1.0,))[1] == pytest.approx(first)
    assert sd.jvp(sd.grad(root), (1.2,), (1.0,))[1] == pytest.approx(second)
    assert sd.grad(lambda a: sd.jvp(root, (a,), (1.0,))[1])(1.2) == pytest.approx(second)
    assert sd.jvp(lambda a: sd.jvp(root, (a,), (1.0,))[1], (1.2,), (1.0,))[1] == pytest.approx(second)
    assert sd.hessian(root)(1.2) == pytest.approx(second)


def test_eager_tensors_under_create_graph_to_fourth_order() -> None:
    a = sd.tensor(1.2, dtype=np.float64, requires_grad=True)
    made, exact = root(a), by_newton
    for _ in range(4):
        (made,) = sd.autograd.grad(made, a, create_graph=True)
        exact = sd.grad(exact)
        assert float(made.detach()) == pytest.approx(exact(1.2), rel=1e-9)


def test_backward_runs_hooks_once_and_again_after_it_freed_the_graph_of_a_derivative() -> None:
    a = sd.tensor(1.2, dtype=np.float64, requires_grad=True)
    b = a * 1.0
    seen = []
    b.register_hook(lambda g: seen.append(float(g.detach())))
    y = optimize.brentq(lambda x: x**3 - b, 0.1, 4.0, xtol=1e-15)
    (first,) = sd.autograd.grad(y, a, create_graph=True)
    assert seen == [pytest.approx(1.2 ** (-2 / 3) / 3)]
    first.backward()
    assert float(a.grad) == pytest.approx(-2 / 9 * 1.2 ** (-5 / 3))


def test_what_a_function_reads_later_has_no_influence() -> None:
    def total(a: Any) -> Any:
        y = 0.0
        for k in range(1, 4):
            y = y + optimize.brentq(lambda x: x**2 - k * a, 0.1, 9.0, xtol=1e-15)  # noqa: B023
        return y

    exact = lambda a: sum(np.sqrt(k * a) for k in range(1, 4))
    ours, theirs = total, exact
    for _ in range(3):
        ours, theirs = sd.grad(ours), sd.grad(theirs)
        assert ours(2.0) == pytest.approx(theirs(2.0))


def test_a_riccati_equation_to_fifth_order() -> None:
    square: Any = lambda x: np.reshape(x, (1, 1))
    ours: Any = lambda q: linalg.solve_continuous_are(square(0.5), square(1.2), square(q), square(0.7))[0, 0]
    b = 1.2**2 / 0.7
    theirs: Any = lambda q: (0.5 + np.sqrt(0.25 + b * q)) / b
    for _ in range(5):
        ours, theirs = sd.grad(ours), sd.grad(theirs)
        assert ours(1.3) == pytest.approx(theirs(1.3), rel=1e-9)


@pytest.mark.parametrize("output", ["real", "complex"])
def test_schur_to_fifth_order(output: str) -> None:
    """Each derivative against differences of the one before it, of what does not depend on the choice of phases."""
    matrix = {"real": lambda s: A + A.T + s * (B + B.T) + s * s * np.diag([1.0, -1.0, 0.5]), "complex": None}
    of: Any = matrix[output] or (lambda s: A + s * B + s * s * A.T)
    f: Any = lambda s: np.sum(np.abs(linalg.schur(of(s), output=output)[0]) ** 3 * np.arange(9.0).reshape(3, 3))
    h = 1e-3
    for _ in range(5):
        df = sd.grad(f)
        differences = (f(0.2 - 2 * h) - 8 * f(0.2 - h) + 8 * f(0.2 + h) - f(0.2 + 2 * h)) / (12 * h)
        assert df(0.2) == pytest.approx(differences, rel=1e-6)
        f = df
