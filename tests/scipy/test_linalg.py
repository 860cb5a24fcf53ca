"""`srcdiff.scipy.linalg` against SciPy and against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import srcdiff as sd
import srcdiff.scipy
from srcdiff.errors import NotDifferentiableError, UnsupportedError
from tests.scipy.check import check, check_values

pytest.importorskip("scipy")
rng = np.random.default_rng(11)
S = rng.uniform(0.2, 0.9, (3, 3)) + np.diag([1.0, 1.5, 2.0])
C = S + 1j * rng.uniform(-0.4, 0.4, (3, 3))
P = S @ S.T + 2.0 * np.eye(3)
H = C @ C.conj().T + 2.0 * np.eye(3)
B = rng.uniform(0.2, 0.9, (2, 3, 3)) + 2.0 * np.eye(3)
TALL, WIDE = rng.uniform(-1.0, 1.0, (4, 3)), rng.uniform(-1.0, 1.0, (3, 4))
V, W, M = rng.uniform(0.5, 1.5, 3), rng.uniform(0.5, 1.5, 4), rng.uniform(0.5, 1.5, (3, 2))
BANDS = rng.uniform(0.1, 0.4, (3, 4)) + np.array([[0.0], [2.0], [0.0]])
UPPER_BANDS = rng.uniform(0.1, 0.4, (2, 4)) + np.array([[0.0], [2.0]])

#: functions that read one triangle are called on symmetric functions of x, so that differences see what they read
HERMITIAN = "(x + x.conj().T)"

EXPRESSIONS: list[tuple[str, dict[str, Any]]] = [
    ("sp.linalg.inv(x)", {"x": S}),
    ("sp.linalg.inv(x)", {"x": C}),
    ("sp.linalg.inv(x, overwrite_a=True, check_finite=False)", {"x": S}),
    ("sp.linalg.solve(x, y)", {"x": S, "y": V}),
    ("sp.linalg.solve(x, y)", {"x": S, "y": M}),
    ("sp.linalg.solve(x, y)", {"x": C, "y": M}),
    ("sp.linalg.solve(x, y, transposed=True)", {"x": S, "y": V}),
    ("sp.linalg.solve(x @ x.T + np.eye(3), y, assume_a='pos')", {"x": S, "y": V}),
    ("sp.linalg.solve(x @ x.T + np.eye(3), y, assume_a='pos', lower=True)", {"x": S, "y": M}),
    ("sp.linalg.solve(x + x.T, y, assume_a='sym')", {"x": C, "y": V}),
    ("sp.linalg.solve(x + x.conj().T, y, lower=True, assume_a='her')", {"x": C, "y": V}),
    ("sp.linalg.solve(x, y, assume_a='gen')", {"x": S, "y": V}),
    *[
        (f"sp.linalg.solve_triangular(x, y, trans={t!r}, lower={low}, unit_diagonal={u})", {"x": x, "y": y})
        for t, low, u, x, y in [
            (0, False, False, S, V), ("T", True, False, S, M), (2, False, True, C, V), ("N", True, True, S, V),
            (1, False, False, C, M),
        ]
    ],
    ("sp.linalg.det(x)", {"x": S}),
    ("sp.linalg.norm(x)", {"x": S}),
    ("sp.linalg.norm(x, 1, axis=1)", {"x": S}),
    ("sp.linalg.norm(x, 2)", {"x": S}),
    ("sp.linalg.norm(x, 'nuc')", {"x": S}),
    ("sp.linalg.norm(x, np.inf, keepdims=True)", {"x": S}),
    ("sp.linalg.pinv(x)", {"x": TALL}),
    ("sp.linalg.pinv(x, rtol=1e-3, return_rank=True)", {"x": WIDE}),
    ("sp.linalg.pinvh(x + x.T, atol=1e-3)", {"x": S}),
    ("sp.linalg.lstsq(x, y)", {"x": TALL, "y": W}),
    ("sp.linalg.lstsq(x, y, 1e-3)[0]", {"x": WIDE, "y": M}),
    ("sp.linalg.cholesky(x @ x.T + np.eye(3))", {"x": S}),
    ("sp.linalg.cholesky(x @ x.conj().T + np.eye(3), lower=True)", {"x": C}),
    ("sp.linalg.cho_factor(x @ x.T + np.eye(3))[0]", {"x": S}),
    ("sp.linalg.cho_factor(x @ x.T + np.eye(3), lower=True)[0]", {"x": S}),
    ("sp.linalg.cho_solve(sp.linalg.cho_factor(x @ x.T + np.eye(3)), y)", {"x": S, "y": V}),
    ("sp.linalg.cho_solve((x, True), y)", {"x": S, "y": M}),
    ("sp.linalg.lu(x)", {"x": S}),
    ("sp.linalg.lu(x)", {"x": TALL}),
    ("sp.linalg.lu(x)[1]", {"x": TALL}),
    ("sp.linalg.lu(x)[2]", {"x": TALL}),
    ("sp.linalg.lu(x)[2]", {"x": C}),
    ("sp.linalg.lu(x, permute_l=True)", {"x": WIDE}),
    ("sp.linalg.lu(x, p_indices=True)", {"x": S}),
    ("sp.linalg.lu_factor(x)[0]", {"x": TALL}),
    ("sp.linalg.lu_factor(x)", {"x": WIDE}),
    *[(f"sp.linalg.lu_solve(sp.linalg.lu_factor(x), y, trans={t})", {"x": S[::-1].copy(), "y": V}) for t in (0, 1, 2)],
    ("sp.linalg.qr(x)", {"x": S}),
    ("sp.linalg.qr(x, mode='economic')", {"x": TALL}),
    ("sp.linalg.qr(x, mode='r')", {"x": TALL}),
    ("sp.linalg.qr(x, mode='economic', pivoting=True)", {"x": TALL}),
    ("sp.linalg.qr(x)", {"x": WIDE}),
    ("sp.linalg.rq(x)", {"x": S}),
    ("sp.linalg.rq(x, mode='economic')", {"x": WIDE}),
    ("sp.linalg.rq(x, mode='r')", {"x": WIDE}),
    ("sp.linalg.svd(x, full_matrices=False)", {"x": TALL}),
    ("sp.linalg.svd(x)", {"x": S}),
    ("sp.linalg.svd(x, compute_uv=False)", {"x": WIDE}),
    ("sp.linalg.svdvals(x)", {"x": C}),
    ("sp.linalg.polar(x)", {"x": S}),
    ("sp.linalg.polar(x, side='left')", {"x": S}),
    ("sp.linalg.polar(x)", {"x": TALL}),
    ("sp.linalg.polar(x)[0]", {"x": WIDE}),
    ("sp.linalg.polar(x, 'left')[1]", {"x": WIDE}),
    ("sp.linalg.polar(x)", {"x": C}),
    ("sp.linalg.orthogonal_procrustes(x, y)", {"x": TALL, "y": TALL[::-1] ** 2 + TALL}),
    (f"abs(sp.linalg.eigh{HERMITIAN}[1])", {"x": S}),
    (f"abs(sp.linalg.eigh({HERMITIAN}, lower=False)[1])", {"x": S}),
    (f"sp.linalg.eigh({HERMITIAN}, eigvals_only=True)", {"x": C}),
    (f"sp.linalg.eigh({HERMITIAN}, subset_by_index=(1, 2))[0]", {"x": S}),
    (f"sp.linalg.eigh({HERMITIAN}, subset_by_value=(0.0, 4.0))[0]", {"x": S}),
    *[(f"sp.linalg.eigh({HERMITIAN}, y @ y.T + np.eye(3), type={k})", {"x": S, "y": B[0]}) for k in (1, 2, 3)],
    (f"sp.linalg.eigvalsh({HERMITIAN}, y @ y.T + np.eye(3))", {"x": S, "y": B[0]}),
    ("abs(sp.linalg.eigh_tridiagonal(x, y)[1])", {"x": W, "y": V}),
    ("sp.linalg.eigvalsh_tridiagonal(x, y, 'i', (0, 1))", {"x": W, "y": V}),
    ("sp.linalg.eigvals_banded(x)", {"x": UPPER_BANDS}),
    ("sp.linalg.eig(x)[0]", {"x": S}),
    ("sp.linalg.eigvals(x, y)", {"x": S, "y": B[0]}),
    ("abs(sp.linalg.eig(x)[1])", {"x": S}),
    ("sp.linalg.schur(x + x.T)", {"x": S}),
    ("sp.linalg.schur(x)", {"x": S}),
    ("abs(sp.linalg.schur(x, output='complex')[0])", {"x": S - 2.0 * S.T}),
    ("sp.linalg.expm(x)", {"x": S}),
    ("sp.linalg.expm(x)", {"x": B}),
    ("sp.linalg.expm_frechet(x, y)", {"x": S, "y": B[0]}),
    ("sp.linalg.expm_frechet(x, y, compute_expm=False)", {"x": S, "y": B[0]}),
    ("sp.linalg.sqrtm(x)", {"x": P}),
    ("sp.linalg.sqrtm(x).astype(complex)", {"x": C}),  # SciPy 1.13 gives twice the precision
    ("sp.linalg.sqrtm(x)", {"x": -P}),
    ("sp.linalg.logm(x)", {"x": P}),
    ("sp.linalg.logm(x)", {"x": C}),
    *[(f"sp.linalg.{name}(x)", {"x": S}) for name in "cosm sinm tanm coshm sinhm tanhm".split()],
    ("sp.linalg.sinm(x)", {"x": C}),
    ("sp.linalg.fractional_matrix_power(x, 0.3)", {"x": P}),
    ("sp.linalg.fractional_matrix_power(x, 3)", {"x": P}),
    ("sp.linalg.solve_sylvester(x, y, z)", {"x": S, "y": P[:2, :2], "z": M}),
    ("sp.linalg.solve_sylvester(x, y, z)", {"x": C, "y": P[:2, :2], "z": M}),
    ("sp.linalg.solve_continuous_lyapunov(x, y)", {"x": S, "y": P}),
    ("sp.linalg.solve_continuous_lyapunov(x, y)", {"x": C, "y": P}),
    ("sp.linalg.solve_lyapunov(x, y)", {"x": S, "y": P}),
    ("sp.linalg.solve_discrete_lyapunov(x, y)", {"x": 0.2 * S, "y": P}),
    ("sp.linalg.solve_discrete_lyapunov(x, y, method='bilinear')", {"x": 0.2 * C, "y": P}),
    ("sp.linalg.solve_continuous_are(x, y, z + z.T, w + w.T)", {"x": S, "y": M, "z": P, "w": P[:2, :2]}),
    ("sp.linalg.solve_discrete_are(x, y, z + z.T, w + w.T)", {"x": 0.7 * S, "y": M, "z": P, "w": P[:2, :2]}),
    ("sp.linalg.signm(x)", {"x": S - 1.5 * np.eye(3)}),
    ("sp.linalg.solve_banded((1, 1), x, y)", {"x": BANDS, "y": W}),
    ("sp.linalg.solveh_banded(x, y)", {"x": UPPER_BANDS, "y": W}),
    ("sp.linalg.solveh_banded(x, y, lower=True)", {"x": UPPER_BANDS[::-1].copy(), "y": np.outer(W, V)}),
    ("sp.linalg.cholesky_banded(x)", {"x": UPPER_BANDS}),
    ("sp.linalg.cho_solve_banded((x, False), y)", {"x": UPPER_BANDS, "y": W}),
    ("sp.linalg.solve_toeplitz(x, y)", {"x": np.array([3.0, 0.5, 0.2]), "y": V}),
    ("sp.linalg.solve_toeplitz((x, z), y)", {"x": np.array([3.0, 0.5, 0.2]), "z": V, "y": M}),
    ("sp.linalg.matmul_toeplitz((x, z), y)", {"x": W, "z": V, "y": M}),
    ("sp.linalg.solve_circulant(x, y)", {"x": np.array([3.0, 0.5, 0.2]), "y": V}),
    ("sp.linalg.block_diag(x, y, z)", {"x": S, "y": M, "z": V}),
    ("sp.linalg.toeplitz(x)", {"x": V}),
    ("sp.linalg.toeplitz(x, y)", {"x": V, "y": W}),
    ("sp.linalg.toeplitz(x)", {"x": C[0]}),
    ("sp.linalg.hankel(x)", {"x": V}),
    ("sp.linalg.hankel(x, y)", {"x": V, "y": W}),
    ("sp.linalg.circulant(x)", {"x": V}),
    *[(f"sp.linalg.convolution_matrix(x, 5, {mode!r})", {"x": V}) for mode in ("full", "same", "valid")],
    ("sp.linalg.companion(x)", {"x": W}),
    ("sp.linalg.leslie(x, y)", {"x": W, "y": V}),
    ("sp.linalg.fiedler(x)", {"x": np.array([0.3, 1.1, 2.5])}),
    ("sp.linalg.diagsvd(x, 3, 4)", {"x": V}),
    ("sp.linalg.diagsvd(x, 4, 3)", {"x": V}),
    ("sp.linalg.khatri_rao(x, y)", {"x": S, "y": TALL}),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "values"), EXPRESSIONS, ids=[e for e, _ in EXPRESSIONS])
def test_values_and_derivatives(expression: str, values: dict[str, Any]) -> None:
    check(expression, values, rtol=1e-10)


BATCHED = {
    "sp.linalg.inv(x)": {"x": B}, "sp.linalg.solve(x, y)": {"x": B, "y": M}, "sp.linalg.det(x)": {"x": B},
    "sp.linalg.lu(x)[1]": {"x": B}, "np.real(sp.linalg.sqrtm(x))": {"x": B}, "sp.linalg.logm(x)": {"x": B},
    "sp.linalg.polar(x)[0]": {"x": B}, "sp.linalg.cholesky(x @ np.swapaxes(x, -1, -2))": {"x": B},
    "sp.linalg.solve_sylvester(x, x, x)": {"x": B}, "sp.linalg.toeplitz(x)": {"x": M}, "sp.linalg.svdvals(x)": {"x": B},
}  # fmt: skip


@pytest.mark.parametrize("expression", BATCHED)
def test_a_stack_is_its_matrices_one_by_one(expression: str) -> None:
    values = BATCHED[expression]
    tensors = {name: sd.tensor(v, dtype=v.dtype, requires_grad=True) for name, v in values.items()}
    whole = eval(expression, {"np": np, "sp": sd.scipy, **tensors})
    whole.sum().backward()
    for k in range(len(values["x"])):
        parts = {n: sd.tensor(v[k] if n == "x" else v, dtype=v.dtype, requires_grad=True) for n, v in values.items()}
        part = eval(expression, {"np": np, "sp": sd.scipy, **parts})
        part.sum().backward()
        np.testing.assert_allclose(whole.detach().numpy()[k], part.detach().numpy(), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(tensors["x"].grad.numpy()[k], parts["x"].grad.numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["sqrtm", "logm", "expm", "inv", "det", "svdvals"])
def test_float32_stays_float32(name: str) -> None:
    x = sd.tensor(P.astype(np.float32), requires_grad=True)
    made = getattr(sd.scipy.linalg, name)(x)
    made.sum().backward()
    assert made.dtype == np.float32 and x.grad.dtype == np.float32


def test_what_scipy_does_not_read_has_no_gradient() -> None:
    g = sd.grad(lambda x: np.sum(sd.scipy.linalg.solve(x, V, assume_a="lower triangular")))(S)
    assert not np.any(np.triu(g, 1)) and np.all(np.diagonal(g))
    g = sd.grad(lambda x: np.sum(sd.scipy.linalg.solve(x, V, assume_a="tridiagonal")))(S)
    assert g[0, 2] == g[2, 0] == 0 and g[0, 1]


def test_schur_of_a_symmetric_matrix_has_the_eigenvalues_third_derivative() -> None:
    c = np.array([0.3, -0.7, 1.1])

    def third(eigenvalues: Any) -> Any:
        f = lambda s: np.sum(c * eigenvalues(P + s * np.diag(V) + s * s * (S + S.T)))
        return sd.grad(sd.grad(sd.grad(f)))(0.3)

    by_schur = lambda a: np.sort(np.diagonal(sd.scipy.linalg.schur(a)[0]))
    np.testing.assert_allclose(third(by_schur), third(np.linalg.eigvalsh), rtol=1e-7)


def test_infinities_are_refused_as_in_scipy() -> None:
    bad = np.array([[1.0, np.inf], [0.0, 1.0]])
    with pytest.raises(ValueError, match="infs or NaNs"):
        sd.grad(lambda x: np.sum(sd.scipy.linalg.inv(x)))(bad)


def test_what_has_no_counterpart_refuses_tensors_by_name_and_line() -> None:
    with pytest.raises(UnsupportedError, match=r"scipy\.linalg\.hessenberg .*test_linalg\.py:\d+"):
        sd.grad(lambda x: np.sum(sd.scipy.linalg.hessenberg(x)))(S)
    np.testing.assert_array_equal(sd.scipy.linalg.hadamard(2), [[1, 1], [1, -1]])
    assert sd.scipy.linalg.LinAlgError is np.linalg.LinAlgError


def test_a_keyword_that_is_not_covered_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match=r"scipy\.linalg\.solve_circulant: the keyword baxis=1"):
        sd.grad(lambda x: np.sum(sd.scipy.linalg.solve_circulant(x, np.eye(3), baxis=1)))(V)
    with pytest.raises(TypeError):
        sd.grad(lambda x: np.sum(sd.scipy.linalg.inv(x, nonsense=1)))(S)


@pytest.mark.parametrize("expression", ["qr(x)[0]", "svd(x)[0]"])
def test_bases_that_are_completed_have_no_derivative(expression: str) -> None:
    with pytest.raises(NotDifferentiableError):
        sd.grad(lambda x: np.sum(eval(f"sd.scipy.linalg.{expression}")))(TALL)


@pytest.mark.parametrize(
    "expression",
    [
        "eigh(x + x.T)", "eigh(x + x.T, subset_by_index=(0, 1))", "eigh(x + x.T, x @ x.T)", "rq(x)",
        "rq(x[:2], mode='economic')", "eigh_tridiagonal(x[0], x[1, 1:])", "eig_banded(x[:2])", "svd(x)",
        "qr(x, pivoting=True)",
    ],
)  # fmt: skip
def test_vectors_have_scipys_signs(expression: str) -> None:
    check_values(f"sp.linalg.{expression}", {"x": S}, 1e-11)


def test_the_logarithm_is_refused_where_it_jumps() -> None:
    with pytest.raises(UnsupportedError, match="where it jumps"):
        sd.grad(lambda x: np.sum(np.real(sd.scipy.linalg.logm(x))))(-P)


def test_schur_with_complex_eigenvalues_is_refused_in_real_form() -> None:
    with pytest.raises(UnsupportedError, match="use 'complex'"):
        sd.grad(lambda x: np.sum(sd.scipy.linalg.schur(x)[0]))(np.array([[0.0, 1.0], [-1.0, 0.2]]))
