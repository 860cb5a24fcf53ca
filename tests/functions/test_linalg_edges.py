"""Where linear algebra is delicate: singular matrices, repeated eigenvalues, zero norms, bases that are not unique."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff.autograd.backward import grad
from srcdiff.errors import NotDifferentiableError, UnsupportedError
from tests.functions.check import array, check_gradient, leaf

rng = np.random.default_rng(5)
C = rng.standard_normal((3, 3))


def gradient(f: Any, *values: Any) -> Any:
    leaves = [leaf(v) for v in values]
    found = [array(g) for g in grad(f(*leaves), leaves)]
    return found[0] if len(found) == 1 else found


def symmetric_part(g: Any) -> Any:
    return (g + np.swapaxes(g, -1, -2)) / 2


def rotated(*eigenvalues: float) -> Any:
    q = np.linalg.qr(rng.standard_normal((len(eigenvalues),) * 2))[0]
    return (q * np.array(eigenvalues)) @ q.T


# --------------------------------------------------------------------------------------------------------- determinants


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_det_has_its_cofactors_as_gradient_at_every_rank(rank: int) -> None:
    x = rng.standard_normal((3, rank)) @ rng.standard_normal((rank, 3))
    minors = [
        [(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(x, i, 0), j, 1)) for j in range(3)] for i in range(3)
    ]
    np.testing.assert_allclose(gradient(np.linalg.det, x), minors, atol=1e-13)


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_second_derivatives_of_det_are_right_at_every_rank(rank: int) -> None:
    x = rng.standard_normal((3, rank)) @ rng.standard_normal((rank, 3))
    check_gradient("np.linalg.det(x)", {"x": x}, order=2)


# ------------------------------------------------------------------------------------------------ repeated eigenvalues


@pytest.mark.parametrize("matrix", [np.eye(3), np.diag([2.0, 2.0, -1.0]), rotated(2.0, 2.0, -1.0)])
def test_functions_of_eigenvalues_are_smooth_where_they_coincide(matrix: Any) -> None:
    g = gradient(lambda m: np.sum(np.linalg.eigh(m)[0] ** 2), matrix)
    np.testing.assert_allclose(symmetric_part(g), 2 * matrix, atol=1e-12)


@pytest.mark.parametrize("matrix", [np.diag([2.0, 2.0, -1.0]), rotated(2.0, 2.0, -1.0), rotated(3.0, 3.0, 3.0)])
def test_rebuilding_a_matrix_from_its_eigenvectors_is_smooth(matrix: Any) -> None:
    def rebuilt(m: Any) -> Any:
        w, v = np.linalg.eigh(m)
        return np.sum(C * ((v * w) @ np.transpose(v)))

    np.testing.assert_allclose(symmetric_part(gradient(rebuilt, matrix)), symmetric_part(C), atol=1e-7)


def test_square_roots_with_a_function_of_the_eigenvalues_added() -> None:
    matrix = rotated(4.0, 4.0, 1.0)

    def f(m: Any) -> Any:
        w, v = np.linalg.eigh(m)
        return np.sum(C * ((v * np.sqrt(w)) @ np.transpose(v))) + np.sum(w**3)

    w, v = np.linalg.eigh(matrix)
    k = v.T @ symmetric_part(C) @ v
    root = np.sqrt(w)
    want = v @ (k / (root[:, None] + root[None, :]) + np.diag(3 * w**2)) @ v.T
    np.testing.assert_allclose(symmetric_part(gradient(f, matrix)), want, atol=1e-7)


def test_singular_vectors_where_singular_values_coincide() -> None:
    def rebuilt(m: Any) -> Any:
        u, s, vh = np.linalg.svd(m)
        return np.sum(C * ((u * s) @ vh))

    np.testing.assert_allclose(gradient(rebuilt, 2 * np.linalg.qr(C)[0]), C, atol=1e-7)


def test_a_gradient_that_is_not_determined_is_nan_never_a_number() -> None:
    weights = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])

    def f(m: Any) -> Any:
        w, v = np.linalg.eigh(m)
        return np.sum(weights * ((v * w) @ np.transpose(v)))

    with np.errstate(all="ignore"):
        g = gradient(f, np.diag([2.0, 2.0, -1.0]))
    assert np.isnan(g).any()


def test_the_nuclear_norm_of_a_matrix_of_lower_rank_has_a_subgradient() -> None:
    x = np.outer([1.0, 2.0, 3.0], [0.5, -1.0])
    g = gradient(lambda m: np.linalg.norm(m, "nuc"), x)
    u, _, vh = np.linalg.svd(x, full_matrices=False)
    assert np.isfinite(g).all()
    assert abs(u[:, 0] @ g @ vh[0] - 1) < 1e-12


# ------------------------------------------------------------------------------------------------------ symmetric ones


@pytest.mark.parametrize("upper", [False, True])
def test_the_gradient_of_cholesky_is_symmetric(upper: bool) -> None:
    matrix = rotated(1.0, 2.0, 4.0)
    g = gradient(lambda m: 2 * np.sum(np.log(np.diag(np.linalg.cholesky(m, upper=upper)))), matrix)
    np.testing.assert_allclose(g, np.linalg.inv(matrix), atol=1e-12)


# --------------------------------------------------------------------------------------------------------------- norms


@pytest.mark.parametrize("order", [None, 2, 1, 3, 1.5])
def test_norms_of_zero_have_the_gradient_zero(order: Any) -> None:
    assert np.array_equal(gradient(lambda x: np.linalg.norm(x, order), np.zeros(3)), np.zeros(3))


def test_squared_norms_of_rows_with_a_zero_row() -> None:
    x = np.array([[3.0, 4.0], [0.0, 0.0], [-1.0, 2.0]])
    np.testing.assert_allclose(gradient(lambda m: np.sum(np.linalg.norm(m, axis=-1) ** 2), x), 2 * x)


# ------------------------------------------------------------------------------------------------- bases, singular ones


def test_completed_bases_are_refused_when_a_gradient_is_asked_for() -> None:
    x = rng.standard_normal((4, 2))
    with pytest.raises(NotDifferentiableError, match="full_matrices"):
        gradient(lambda m: np.sum(np.linalg.svd(m)[0]), x)
    with pytest.raises(NotDifferentiableError, match="reduced"):
        gradient(lambda m: np.sum(np.linalg.qr(m, "complete")[0]), x)


def test_singular_systems_raise_numpys_error() -> None:
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.inv(leaf(np.zeros((2, 2))))
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.solve(leaf(np.zeros((2, 2))), leaf(np.ones(2)))
    with pytest.raises(np.linalg.LinAlgError, match="square"):
        np.linalg.det(leaf(np.zeros((2, 3))))


@pytest.mark.parametrize(
    ("function", "keywords"),
    [(np.linalg.qr, {"mode": "raw"})],
)
def test_keywords_that_are_not_covered_are_refused_by_name(function: Any, keywords: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedError, match=next(iter(keywords))):
        function(leaf(np.eye(3)), **keywords)


# ------------------------------------------------------------------------------------------------------- higher orders

D = np.array([[0.2, 1.0, 0.3], [1.0, -0.4, 0.1], [0.3, 0.1, 0.5]])
#: functions of a number and their fourth derivatives at 0
FOURTH: dict[str, tuple[Any, float]] = {
    # the square root of 1 + t**2 and its negative
    "eigvalsh": (lambda t: np.linalg.eigvalsh(np.array([[t, 1.0], [1.0, -t]])) @ np.array([2.0, 3.0]), -3.0),
    "svd": (lambda t: np.linalg.svd(np.array([[t, 1.0], [1.0, -t]]) + 3 * np.eye(2), compute_uv=False)[0], -3.0),
    "norm": (lambda t: np.linalg.norm(np.array([[t, 1.0], [1.0, -t]]) + 3 * np.eye(2), 2), -3.0),
    "expm": (lambda t: np.sum(sd.scipy.linalg.expm(t * D)), float(np.sum(np.linalg.matrix_power(D, 4)))),
    "logm": (lambda t: np.sum(sd.scipy.linalg.logm(np.eye(3) + t * D)), -6 * np.sum(np.linalg.matrix_power(D, 4))),
}  # fmt: skip


@pytest.mark.parametrize("forward", [False, True])
@pytest.mark.parametrize("name", FOURTH)
def test_fourth_derivatives(name: str, forward: bool) -> None:
    function, fourth = FOURTH[name]
    for _ in range(4):
        function = _derivative(function, forward)
    np.testing.assert_allclose(function(0.0), fourth, rtol=1e-6)


def _derivative(function: Any, forward: bool) -> Any:
    return (lambda t: sd.jvp(function, (t,), (1.0,))[1]) if forward else sd.grad(function)
