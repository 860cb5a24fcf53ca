"""NumPy's mathematical functions on Tensors: the value is NumPy's, the gradient agrees with differences of values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcdiff.autograd.backward
import srcdiff.tensor  # noqa: F401
from srcdiff.autograd.tensor_api import set_requires_grad
from srcdiff.tape.record import plain
from tests.versions import newer

nan, inf = np.nan, np.inf
rng = np.random.default_rng(0)
V = np.array([0.3, -1.2, 0.75, 2.1, -0.4])
W = np.array([1.5, 0.6, 2.2, 0.9, 1.1])
M = np.array([[0.31, -1.2, 0.74, 2.05], [1.61, 0.42, -0.83, -2.2], [-0.57, 1.13, 2.57, 0.09]])
A = rng.permutation(24).reshape(2, 3, 4) * 0.37 - 4.1
HOLES = np.array([[nan, 1.0, 2.5, -0.5], [0.4, nan, nan, 3.0], [1.1, -2.0, 0.7, 0.2]])
Z = np.array([1.0 + 2.0j, -0.5 + 0.25j, 2.0 - 1.0j])
MASK = np.array([[True, False, True, True], [False, True, True, False], [True, True, False, True]])

QUANTILES = """
    hazen weibull median_unbiased normal_unbiased interpolated_inverted_cdf lower higher midpoint nearest
"""

# each: a name, a function of the arrays, the arrays
CASES: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
    ("sum", lambda x: np.sum(x), (M,)),
    ("sum-axis", lambda x: np.sum(x, axis=-1, keepdims=True), (A,)),
    ("sum-axes", lambda x: np.sum(x, (-1, 0)), (A,)),
    ("sum-where", lambda x: np.sum(x, axis=0, where=MASK, initial=2.0), (M,)),
    ("sum-dtype", lambda x: np.sum(x, dtype=np.float32), (M,)),
    ("sum-empty-axes", lambda x: np.sum(x, axis=()), (M,)),
    ("sum-0d", lambda x: np.sum(x, axis=0), (np.array(2.0),)),
    ("prod", lambda x: np.prod(x, axis=1), (M,)),
    ("prod-zeros", lambda x: np.prod(x, axis=(0, 1)), (np.array([[0.0, 2.0], [3.0, 1.5]]),)),
    ("prod-where", lambda x: np.prod(x, where=MASK, initial=0.5), (M,)),
    ("mean", lambda x: np.mean(x, axis=(0, 1)), (A,)),
    ("mean-where", lambda x: np.mean(x, axis=1, where=MASK), (M,)),
    ("var", lambda x: np.var(x, axis=-2, ddof=1, keepdims=True), (A,)),
    ("var-correction", lambda x: np.var(x, axis=0, correction=1), (M,)),
    ("var-where", lambda x: np.var(x, axis=1, where=MASK), (M,)),
    ("var-mean", lambda x, m: np.var(x, axis=1, mean=m), (M, np.array([[0.5], [0.1], [1.0]]))),
    ("var-complex", lambda x: np.var(x), (Z,)),
    ("var-complex-where", lambda x: np.var(x, where=np.array([True, True, False])), (Z,)),
    ("std", lambda x: np.std(x, axis=(0, 2), ddof=1), (A,)),
    ("std-where", lambda x: np.std(x, axis=1, where=MASK, ddof=0.5), (M,)),
    ("max", lambda x: np.max(x, axis=(0, -1)), (A,)),
    ("max-where", lambda x: np.max(x, axis=1, where=MASK, initial=-9.0), (M,)),
    ("amin", lambda x: np.amin(x, keepdims=True), (A,)),
    ("min-initial", lambda x: np.min(x, axis=0, initial=0.0), (M,)),
    ("ptp", lambda x: np.ptp(x, axis=1), (M,)),
    ("nansum", lambda x: np.nansum(x, axis=1), (HOLES,)),
    ("nansum-initial", lambda x: np.nansum(x, initial=1.0, where=MASK), (HOLES,)),
    ("nanprod", lambda x: np.nanprod(x, axis=0), (HOLES,)),
    ("nanmean", lambda x: np.nanmean(x, axis=1), (HOLES,)),
    ("nanvar", lambda x: np.nanvar(x, axis=1, ddof=1), (HOLES,)),
    ("nanstd", lambda x: np.nanstd(x, axis=1, keepdims=True), (HOLES,)),
    ("nanmax", lambda x: np.nanmax(x, axis=0), (HOLES,)),
    ("nanmin", lambda x: np.nanmin(x), (HOLES,)),
    ("nancumsum", lambda x: np.nancumsum(x, axis=1), (HOLES,)),
    ("nancumprod", lambda x: np.nancumprod(x), (HOLES,)),
    ("nanmedian", lambda x: np.nanmedian(x, axis=1), (HOLES,)),
    ("nanquantile", lambda x: np.nanquantile(x, [0.2, 0.7], axis=0), (HOLES,)),
    ("nanpercentile", lambda x: np.nanpercentile(x, 30, axis=1, keepdims=True), (HOLES,)),
    ("cumsum", lambda x: np.cumsum(x), (M,)),
    ("cumsum-axis", lambda x: np.cumsum(x, axis=-1, dtype=np.float64), (A,)),
    ("cumprod", lambda x: np.cumprod(x, axis=1), (M,)),
    ("cumprod-zeros", lambda x: np.cumprod(x), (np.array([2.0, 0.0, 3.0, 0.0, 1.0]),)),
    ("cumulative_sum", lambda x: np.cumulative_sum(x, axis=1, include_initial=True), (M,)),
    ("cumulative_prod", lambda x: np.cumulative_prod(x), (V,)),
    ("diff", lambda x: np.diff(x, n=2, axis=0), (M,)),
    ("diff-ends", lambda x, y: np.diff(x, prepend=y, append=0.0), (M, np.array([[1.0], [2.0], [0.5]]))),
    ("ediff1d", lambda x: np.ediff1d(x, to_begin=0.5, to_end=[1.0, 2.0]), (M,)),
    ("trapezoid", lambda y, x: np.trapezoid(y, x, axis=1), (M, np.array([0.0, 0.4, 1.0, 1.3]))),
    ("trapezoid-dx", lambda y: np.trapezoid(y, dx=0.1, axis=0), (M,)),
    ("trapezoid-2d", lambda y, x: np.trapezoid(y, x), (M, np.cumsum(np.abs(M), axis=1))),
    ("gradient", lambda x: np.gradient(x, axis=1), (M,)),
    ("gradient-both", lambda x: np.gradient(x, 0.5, 2.0)[0], (M,)),
    ("gradient-order", lambda x: np.gradient(x, 0.1, edge_order=2), (V,)),
    ("gradient-uneven", lambda f, x: np.gradient(f, x, edge_order=2), (V, np.array([0.0, 0.4, 1.0, 1.3, 2.5]))),
    ("unwrap", lambda x: np.unwrap(x), (np.array([0.0, 3.0, 6.5, 0.3, 9.0]),)),
    ("average", lambda x: np.average(x, axis=1), (M,)),
    ("average-weights", lambda x, w: np.average(x, axis=1, weights=w), (M, np.array([1.0, 2.0, 0.5, 3.0]))),
    ("average-returned", lambda x, w: np.average(x, weights=w, returned=True)[0], (V, W)),
    ("median", lambda x: np.median(x, axis=1), (M,)),
    ("median-odd", lambda x: np.median(x, axis=(0, 2), keepdims=True), (A,)),
    ("median-all", lambda x: np.median(x), (V,)),
    ("quantile", lambda x: np.quantile(x, [0.1, 0.5, 0.85], axis=1), (M,)),
    ("quantile-scalar", lambda x: np.quantile(x, 0.3, axis=(0, 2), keepdims=True), (A,)),
    ("quantile-q", lambda x, q: np.quantile(x, q), (V, np.array([0.11, 0.6]))),
    *(
        (f"quantile-{method}", lambda x, method=method: np.quantile(x, [0.23, 0.81], method=method), (V,))
        for method in QUANTILES.split()
    ),
    ("percentile", lambda x: np.percentile(x, 40, axis=0), (M,)),
    ("cov", lambda x: np.cov(x), (M,)),
    ("cov-two", lambda x, y: np.cov(x, y, rowvar=False, ddof=0), (V, W)),
    ("corrcoef", lambda x: np.corrcoef(x), (M,)),
    ("where", lambda x, y: np.where(MASK, x, y), (M, V[:4])),
    ("where-condition", lambda x: np.where(x > 0, x, x**2), (M,)),
    ("clip", lambda x: np.clip(x, -0.5, 1.0), (M,)),
    ("clip-low", lambda x: np.clip(x, 0.1, None), (M,)),
    ("clip-max", lambda x: np.clip(x, max=0.5), (M,)),
    ("clip-bounds", lambda x, y: np.clip(x, -y, y), (M, W[:4])),
    ("select", lambda x: np.select([x > 1, x > 0], [x**2, 3 * x], default=-1.0), (M,)),
    ("choose", lambda x, y: np.choose(np.array([0, 1, 1, 0, 1]), [x, y]), (V, W)),
    ("piecewise", lambda x: np.piecewise(x, [x < 0, x > 1], [lambda u: -u, lambda u: np.log(u), 7.0]), (M,)),
    ("piecewise-one", lambda x: np.piecewise(x, x > 0, [lambda u: u**2]), (V,)),
    ("nan_to_num", lambda x: np.nan_to_num(x, nan=3.0), (HOLES,)),
    ("nan_to_num-array", lambda x: np.nan_to_num(x, nan=W[:4]), (HOLES,)),
    ("sort", lambda x: np.sort(x), (M,)),
    ("sort-axis", lambda x: np.sort(x, axis=0, kind="stable"), (M,)),
    ("sort-flat", lambda x: np.sort(x, axis=None), (M,)),
    ("partition", lambda x: np.sort(np.partition(x, 2, axis=1)[:, 2:], axis=1), (M,)),
    ("real", lambda z: np.real(z), (Z,)),
    ("imag", lambda z: np.imag(z), (Z,)),
    ("real-real", lambda x: np.real(x), (V,)),
    ("angle", lambda z: np.angle(z), (Z,)),
    ("angle-deg", lambda z: np.angle(z, deg=True), (Z,)),
    ("angle-real", lambda x: np.angle(x), (V,)),
    ("real_if_close", lambda z: np.real_if_close(z * np.conj(z)), (Z,)),
    ("sign-complex", lambda z: np.sign(z), (Z,)),
    ("abs-complex", lambda z: np.abs(z) ** 3, (Z,)),
    ("sinc", lambda x: np.sinc(x), (np.array([0.0, 0.5, 1.3]),)),
    ("i0", lambda x: np.i0(x), (V,)),
    (
        "interp",
        lambda x, f: np.interp(x, [0.0, 1.0, 3.0], f),
        (np.array([0.25, 2.0, -1.0, 4.0]), np.array([2.0, 5.0, 1.0])),
    ),
    ("interp-xp", lambda t: np.interp([0.25, 2.0], t, [2.0, 5.0, 1.0]), (np.array([0.0, 1.0, 3.0]),)),
    (
        "interp-ends",
        lambda x, a: np.interp(x, [0.0, 1.0], [1.0, 2.0], left=a, right=3.0),
        (np.array([-1.0, 0.5, 2.0]), np.array(4.0)),
    ),
    (
        "interp-period",
        lambda x: np.interp(x, [350.0, 10.0, 190.0], [1.0, 3.0, 2.0], period=360),
        (np.array([-20.0, 5.0, 200.0, 359.0]),),
    ),
    ("polyval", lambda p, x: np.polyval(p, x), (np.array([2.0, -1.0, 0.5]), V)),
    ("modf", lambda x: np.modf(x)[0], (M,)),
    ("frexp", lambda x: np.frexp(x)[0], (M,)),
    ("divmod", lambda x, y: np.divmod(x, y)[1], (V, W + 0.07)),
    ("vecdot", lambda x, y: np.vecdot(x, y), (M, V[:4])),
    ("vecdot-axis", lambda x, y: np.vecdot(x, y, axis=0), (A, A + 1.0)),
    ("vecdot-complex", lambda x, y: np.vecdot(x, y), (Z, Z + 1.0)),
    ("matvec", lambda x, y: np.matvec(x, y), (A, V[:4])),
    ("vecmat", lambda x, y: np.vecmat(x, y), (V[:3], A)),
    ("matmul", lambda x, y: np.matmul(x, y), (A, V[:4])),
    ("add.reduce", lambda x: np.add.reduce(x), (M,)),
    ("add.reduce-all", lambda x: np.add.reduce(x, axis=None, keepdims=True), (M,)),
    ("multiply.reduce", lambda x: np.multiply.reduce(x, axis=1, initial=2.0), (M,)),
    ("maximum.reduce", lambda x: np.maximum.reduce(x, axis=1), (M,)),
    ("logaddexp.reduce", lambda x: np.logaddexp.reduce(x, axis=1), (M,)),
    ("logaddexp.reduce-all", lambda x: np.logaddexp.reduce(x, axis=None, initial=0.5), (M,)),
    ("hypot.reduce", lambda x: np.hypot.reduce(x, axis=1), (M,)),
    ("add.accumulate", lambda x: np.add.accumulate(x), (M,)),
    ("multiply.accumulate", lambda x: np.multiply.accumulate(x, axis=1), (M,)),
    ("maximum.accumulate", lambda x: np.maximum.accumulate(x, axis=1), (M,)),
    ("minimum.accumulate", lambda x: np.minimum.accumulate(x), (V,)),
    ("logaddexp.accumulate", lambda x: np.logaddexp.accumulate(x, axis=1), (M,)),
    ("multiply.outer", lambda x, y: np.multiply.outer(x, y), (M, V)),
    ("subtract.outer", lambda x, y: np.subtract.outer(x, y), (V, W)),
    ("add.reduceat", lambda x: np.add.reduceat(x, [0, 3, 1, 2]), (V,)),
    ("maximum.reduceat", lambda x: np.maximum.reduceat(x, [0, 2], axis=1), (M,)),
    ("ufunc-where-out", lambda x: np.sin(x, dtype=np.float64), (V,)),
    ("convolve", lambda x, y: np.convolve(x, y[:3], "same"), (V, W)),
    ("correlate", lambda x, y: np.correlate(x, y[:2], "full"), (V, W)),
    ("bincount", lambda w: np.bincount([0, 2, 2, 1, 5], weights=w), (V,)),
    ("histogram", lambda w: np.histogram(W, bins=4, weights=w)[0], (V,)),
]


def tensor(values: Any) -> Any:
    made = plain(np.array(values))
    set_requires_grad(made, True)
    return made


def directional(
    f: Callable[..., Any], xs: tuple[Any, ...], steps: tuple[Any, ...], weights: Any, h: float = 1e-4
) -> float:
    def at(a: float) -> float:
        out = f(*(x + a * d for x, d in zip(xs, steps, strict=True)))
        return float(np.nansum((np.conj(weights) * out).real))

    return (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("f", "xs"), [pytest.param(f, xs, id=name, marks=newer(name)) for name, f, xs in CASES])
def test_value_and_gradient(f: Callable[..., Any], xs: tuple[Any, ...]) -> None:
    want = f(*xs)
    tensors = tuple(map(tensor, xs))
    out = f(*tensors)
    got = out.numpy() if not out.requires_grad else np.array(out._value)
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-6 if want.dtype == np.float32 else 1e-14, atol=1e-14)
    rng = np.random.default_rng(1)
    weights = rng.standard_normal(want.shape).astype(want.dtype)
    if want.dtype.kind == "c":
        weights = weights + 1j * rng.standard_normal(want.shape)
    steps = tuple(
        np.where(np.isnan(x), 0.0, rng.standard_normal(x.shape) + (0.5j if x.dtype.kind == "c" else 0.0)) for x in xs
    )
    out.backward(plain(np.asarray(weights)))
    grads = [t.grad for t in tensors]
    slope = sum(0.0 if g is None else np.sum((np.conj(g._value) * d).real) for g, d in zip(grads, steps, strict=True))
    tolerance = 1e-2 if want.dtype == np.float32 else 1e-7
    np.testing.assert_allclose(
        slope, directional(f, xs, steps, weights, 1e-2 if want.dtype == np.float32 else 1e-4), tolerance, tolerance
    )


CONSTANT = [
    lambda x: np.sign(x),
    lambda x: np.floor(x),
    lambda x: np.round(x, 1),
    lambda x: np.fix(x),
    lambda x: np.argmax(x, axis=0),
    lambda x: np.argsort(x),
    lambda x: np.all(x > 0),
    lambda x: np.any(x > 0, axis=1),
    lambda x: np.count_nonzero(x, axis=1),
    lambda x: np.isfinite(x),
    lambda x: np.isclose(x, 0.31),
    lambda x: np.floor_divide(x, 0.4),
    lambda x: np.equal(x, x),
    lambda x: np.searchsorted(np.array([0.0, 1.0]), x),
    lambda x: np.spacing(x),
    lambda x: np.frexp(x)[1],
    lambda x: np.logical_xor(x, 0),
    lambda x: np.isreal(x),
    lambda x: np.argpartition(x, 1),
    lambda x: np.nanargmax(x),
]


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated:DeprecationWarning")  # since NumPy 2.5
@pytest.mark.parametrize("f", CONSTANT)
def test_results_that_are_constant_have_no_gradient(f: Callable[[Any], Any]) -> None:
    want, out = f(M), f(tensor(M))
    assert not getattr(out, "requires_grad", False)
    np.testing.assert_array_equal(getattr(out, "_value", out), want)
