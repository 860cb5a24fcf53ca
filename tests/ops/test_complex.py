"""Complex operands: every rule is right for them or refuses them, in PyTorch's convention."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff.aval import SCALARS
from srcdiff.core.primitive import REGISTRY, Primitive
from tests.ops.calculus import cotangent, differentiated, direction, moved, pairing, pull_back, slope
from tests.ops.sample import Sample
from tests.ops.test_laws import cases, is_smooth

rng = np.random.default_rng(0)
Z, W = (rng.standard_normal(4) + 1j * rng.standard_normal(4) for _ in range(2))
X = rng.standard_normal(4)
M, N = (rng.standard_normal((3, 3)) + 1j * rng.standard_normal((3, 3)) for _ in range(2))
R = rng.standard_normal((3, 3))
KEEP = np.array([True, False, True, True])


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


@cases(lambda prim, sample: not prim.real and not prim.multi and is_smooth(prim, sample))
def test_rules_are_right_for_complex_operands(prim: Primitive, sample: Sample) -> None:
    """With each choice of its real operands made complex, where the operation takes them."""
    values, draw = sample.values(), np.random.default_rng(4)
    floats = [k for k, v in enumerate(values) if type(v) not in SCALARS and v.dtype.kind in "fc"]
    for chosen in itertools.product([False, True], repeat=len(floats)):
        operands = list(values)
        for k, is_complex in zip(floats, chosen, strict=True):
            if is_complex:
                operands[k] = np.asarray(values[k] + 1j * draw.uniform(-0.3, 0.3, np.shape(values[k])))
        try:
            out = prim.eval(*operands, **sample.params)
        except (TypeError, ValueError, AssertionError, np.exceptions.ComplexWarning):
            continue  # NumPy has it for real operands only
        if not np.all(np.isfinite(out)):
            continue
        if prim.name == "hyp1f1" and not np.allclose(prim.eval(*values[:-1], values[-1] + 0j), prim.eval(*values)):
            pytest.skip("hyp1f1 of complex numbers is wrong in SciPy 1.13")
        ct = cotangent(np.asarray(out), draw)
        found = differentiated(prim, operands)
        steps = [direction(v, draw) if k in found else None for k, v in enumerate(operands)]
        got = sum(pairing(pull_back(prim, k, ct, out, operands, sample.params), steps[k]) for k in found)

        def along(a: float, steps: Any = steps, operands: Any = tuple(operands), ct: Any = ct) -> float:
            return pairing(ct, prim.eval(*moved(operands, steps, a), **sample.params))

        assert abs(got - slope(along)) <= 1e-6 * (1 + abs(along(0.0)) + abs(got)), chosen


def test_rules_for_real_operands_only_refuse_others() -> None:
    assert sum(prim.real for prim in REGISTRY.values()) > 20
    for function in (
        lambda z: sd.softmax(z, 0),
        sd.nn.functional.gelu,
        sd.nn.functional.silu,
        lambda z: sd.nn.functional.mse_loss(z, W),
        lambda z: sd.nn.functional.layer_norm(z, (4,)),
    ):
        with pytest.raises(
            sd.errors.SrcdiffError, match=r"complex operands is not implemented, recorded at test_compl"
        ):
            sd.grad(lambda z, f=function: np.sum(np.abs(f(z))))(Z)


def both(n: str, torch_name: str = "") -> tuple[Callable[..., Any], Callable[..., Any]]:
    """NumPy's function of a name, and how to get PyTorch's."""
    return getattr(np, n), lambda torch: getattr(torch, torch_name or n)


def of_eigenvectors(xp: Any) -> Callable[[Any], Any]:
    def function(a: Any) -> Any:
        w, v = xp.linalg.eig(a)
        return (v * xp.exp(w)) @ xp.linalg.inv(v)

    return function


def of_singular_vectors(xp: Any) -> Callable[[Any], Any]:
    def function(a: Any) -> Any:
        u, s, vh = xp.linalg.svd(a)
        return (u * s**2) @ vh

    return function


#: name: (function of NumPy, function of PyTorch's module, operands)
CASES: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]] = {
    **{
        n: (*both(n, "a" + n[3:] if n.startswith("arc") else {"sign": "sgn"}.get(n, n)), (Z,))
        for n in (
            "exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "arcsinh",
            "arccosh", "arctanh", "square", "abs", "reciprocal", "conj", "real", "imag", "log10", "log2", "log1p",
            "expm1", "angle", "prod", "flip",
        )
        if n != "flip"
    },
    **{
        f"{n} at 0": (*both(n), (np.zeros(2, complex),))
        for n in ("abs", "real", "imag", "conj", "angle", "sqrt", "square", "prod")
    },
    **{
        f"{name}, {kind}": (function, lambda torch, f=function: f, operands)
        for kind, operands in (("complex", (Z, W)), ("real first", (X, W)), ("real second", (Z, X)))
        for name, function in (
            ("add", lambda a, b: a + b), ("sub", lambda a, b: a - b), ("mul", lambda a, b: a * b),
            ("div", lambda a, b: a / b), ("pow", lambda a, b: a**b), ("matmul", lambda a, b: a[:, None] * b[None]),
        )
    },
    **{f"z**{p}": (lambda z, p=p: z**p, lambda torch, p=p: lambda z: z**p, (Z,)) for p in (2, 3, -1, 0.5, 1 + 1j)},
    "exp(ix)": (lambda x: np.exp(1j * x), lambda torch: lambda x: torch.exp(1j * x), (X,)),
    "(ix + 2)**2": (lambda x: (1j * x + 2) ** 2, lambda torch: lambda x: (1j * x + 2) ** 2, (X,)),
    "where": (
        lambda a, b: np.where(KEEP, a, b), lambda torch: lambda a, b: torch.where(torch.tensor(KEEP), a, b), (Z, W),
    ),
    **{
        f"fft.{n}": (getattr(np.fft, n), lambda torch, n=n: getattr(torch.fft, n), (x,))
        for n, x in (
            ("fft", Z), ("ifft", Z), ("irfft", Z), ("hfft", Z), ("rfft", X), ("ihfft", X), ("fft2", M), ("ifft2", M),
            ("fftn", M), ("ifftn", M), ("irfft2", M), ("irfftn", M), ("rfft2", R), ("rfftn", R), ("fftshift", Z),
        )
    },
    "inv": (np.linalg.inv, lambda torch: torch.linalg.inv, (M,)),
    "solve": (np.linalg.solve, lambda torch: torch.linalg.solve, (M, N)),
    "solve, real matrix": (np.linalg.solve, lambda torch: lambda a, b: torch.linalg.solve(a + 0j, b), (R, N)),
    "det": (np.linalg.det, lambda torch: torch.linalg.det, (M,)),
    "slogdet": (lambda a: np.linalg.slogdet(a)[1], lambda torch: lambda a: torch.linalg.slogdet(a)[1], (M,)),
    "pinv": (np.linalg.pinv, lambda torch: torch.linalg.pinv, (M[:, :2],)),
    "norm": (np.linalg.norm, lambda torch: torch.linalg.norm, (M,)),
    "norm at 0": (np.linalg.norm, lambda torch: torch.linalg.norm, (np.zeros(2, complex),)),
    "svd": (of_singular_vectors(np), of_singular_vectors, (M,)),
    "eig": (of_eigenvectors(np), of_eigenvectors, (M,)),
    "eig of a real matrix": (of_eigenvectors(np), of_eigenvectors, (R,)),
    "eigvalsh": (
        lambda a: np.linalg.eigvalsh(a + a.conj().T),
        lambda torch: lambda a: torch.linalg.eigvalsh(a + a.conj().T), (M,),
    ),
    "matmul": (np.matmul, lambda torch: torch.matmul, (M, N)),
    "matmul, real matrix": (np.matmul, lambda torch: lambda a, b: (a + 0j) @ b, (R, N)),
    "einsum": (
        lambda a, b: np.einsum("ij,kj->ik", a, b), lambda torch: lambda a, b: torch.einsum("ij,kj->ik", a, b), (M, N),
    ),
    "linear": (sd.nn.functional.linear, lambda torch: torch.nn.functional.linear, (M, N, N[0])),
    "var": (np.var, lambda torch: lambda z: z.var(correction=0), (Z,)),
    "std": (np.std, lambda torch: lambda z: z.std(correction=0), (Z,)),
    "cumprod": (np.cumprod, lambda torch: lambda z: z.cumprod(0), (Z,)),
    "index": (lambda z: z[[0, 0, 2]], lambda torch: lambda z: z[[0, 0, 2]], (Z,)),
    "parts": (lambda z: z.real * z.imag, lambda torch: lambda z: z.real * z.imag, (Z,)),
    "matrix_exp": (sd.linalg.matrix_exp, lambda torch: torch.linalg.matrix_exp, (M,)),
}  # fmt: skip


@pytest.mark.parametrize("modulus", [False, True], ids=["linear", "modulus"])
@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_pytorch(name: str, modulus: bool) -> None:
    torch = pytest.importorskip("torch")
    function, theirs, operands = CASES[name]

    def ours(*xs: Any) -> Any:
        y = function(*xs)
        return np.sum(np.abs(y) ** 2) if modulus else np.sum(np.real(y * (1 + 2j)))

    tensors = [torch.tensor(x, requires_grad=True) for x in operands]
    y = theirs(torch)(*tensors)
    ((y.abs() ** 2).sum() if modulus else (y * (1 + 2j)).real.sum()).backward()
    want = [t.grad.resolve_conj().resolve_neg().numpy() for t in tensors]
    gradient = sd.grad(ours, argnums=tuple(range(len(operands))))
    for _ in range(3):
        for g, w, x in zip(gradient(*operands), want, operands, strict=True):
            assert g.dtype == x.dtype  # real operands have real gradients
            np.testing.assert_allclose(g, w, rtol=1e-8, atol=1e-10)


def test_sinc_and_powers_of_negative_numbers_by_differences() -> None:
    """PyTorch's own sinc is wrong for complex numbers."""
    step = 1e-6
    for function, z in (
        (lambda z: np.sum(np.real(np.sinc(z) * (1 + 2j))), Z),
        (lambda z: np.sum(np.real((-2.0) ** z * (1 + 2j))), Z),
    ):
        want = [
            (function(z + step * e) - function(z - step * e)) / (2 * step)
            + 1j * (function(z + 1j * step * e) - function(z - 1j * step * e)) / (2 * step)
            for e in np.eye(4)
        ]
        np.testing.assert_allclose(sd.grad(function)(z), want, rtol=1e-6)


def test_second_derivatives_and_tangents() -> None:
    """Along directions of the plane, against the same function of real parts."""

    def loss(z: Any) -> Any:
        return np.sum(np.abs(np.exp(z) * z) ** 2 + np.real(z**3 / (1 + z)))

    def of_parts(p: Any) -> Any:
        return loss(p[0] + 1j * p[1])

    parts, t = np.array([Z.real, Z.imag]), np.array([W.real, W.imag])
    value, tangent = sd.jvp(loss, (Z,), (W,))
    assert np.isclose(tangent, np.sum(sd.grad(of_parts)(parts) * t)) and np.isclose(value, loss(Z))

    def along(z: Any) -> Any:
        return np.sum(np.real(np.conj(W) * sd.grad(loss)(z)))

    want = sd.grad(lambda p: np.sum(t * sd.grad(of_parts)(p)))(parts)
    for _ in range(3):
        np.testing.assert_allclose(sd.grad(along)(Z), want[0] + 1j * want[1], rtol=1e-10)


# ------------------------------------------------------------------------------------------------ complex derivatives


def test_holomorphic_derivatives() -> None:
    z = 0.3 + 0.4j
    for function, derivative in (
        (lambda z: np.exp(z) * z, np.exp(z) * (z + 1)),
        (lambda z: z**3 + 2j * z, 3 * z**2 + 2j),
        (np.sin, np.cos(z)),
        (lambda z: 1 / z, -1 / z**2),
    ):
        for _ in range(3):
            assert np.isclose(sd.grad(function, holomorphic=True)(z), derivative)
        value, slope_ = sd.value_and_grad(function, holomorphic=True)(z)
        assert np.isclose(value, function(z)) and np.isclose(slope_, derivative)
    got = sd.grad(lambda a, b: np.sum(a * b**2), argnums=(0, 1), holomorphic=True)(Z, W)
    np.testing.assert_allclose(got, (W**2, 2 * Z * W))
    second = sd.grad(sd.grad(lambda z: z**3, holomorphic=True), holomorphic=True)(z)
    assert np.isclose(second, 6 * z)
    slope_, aux = sd.grad(lambda z: (z * z, "aux"), has_aux=True, holomorphic=True)(z)
    assert np.isclose(slope_, 2 * z) and aux == "aux"


@pytest.mark.parametrize(
    ("function", "argument", "message"),
    [
        (lambda z: np.abs(z), 1j, "returns a complex scalar"),
        (lambda z: z * np.ones(2), 1j, "returns a complex scalar"),
        (lambda z: 1j, 1j, "returns a complex scalar"),
        (lambda x: x * 1j, 1.0, "complex arguments"),
        (lambda z: np.conj(z), 1j, "no complex derivative"),
        (lambda z: z * np.abs(z), 1 + 1j, "no complex derivative"),
        (lambda z: z.real + 0j, 1j, "no complex derivative"),
    ],
)
def test_what_has_no_complex_derivative_is_refused(function: Any, argument: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        sd.grad(function, holomorphic=True)(argument)
