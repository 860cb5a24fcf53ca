"""Discrete distributions: SciPy's values at whole numbers and elsewhere, derivatives in every real parameter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff.errors import GradientLostError
from tests.scipy.derivatives import check_function

theirs = pytest.importorskip("scipy.stats")
from srcdiff.scipy import stats as ours  # noqa: E402
from srcdiff.scipy.stats.discrete import Discrete  # noqa: E402

#: parameters at which each distribution is checked; those that are whole numbers are ints
SHAPES: dict[str, tuple[float, ...]] = {
    "bernoulli": (0.3,), "binom": (5, 0.3), "betabinom": (5, 1.4, 2.3), "geom": (0.3,), "nbinom": (2.4, 0.35),
    "poisson": (1.7,), "skellam": (1.7, 0.9), "logser": (0.6,), "zipf": (2.6,), "yulesimon": (2.3,), "planck": (0.7,),
    "boltzmann": (0.7, 4), "dlaplace": (0.8,),
}  # fmt: skip
OURS = sorted(name for name, found in vars(ours).items() if isinstance(found, Discrete))
K = np.array([[-3.0, -1.0, 0.0, 1.0], [2.0, 4.0, 1.5, 7.0]])


def call(stats: Any, name: str, method: str, *first: Any) -> tuple[Any, list[Any]]:
    """The method as a function of the real parameters, and these."""
    shapes = SHAPES[name]
    real = [k for k, shape in enumerate(shapes) if type(shape) is float]

    def f(*given: Any) -> Any:
        values: list[Any] = list(shapes)
        for k, value in zip(real, given, strict=True):
            values[k] = value
        return getattr(getattr(stats, name), method)(*first, *values, loc=1)

    return f, [np.array(shapes[k]) for k in real]


def test_every_distribution_is_in_the_table() -> None:
    assert sorted(SHAPES) == OURS


@pytest.mark.parametrize("method", ["pmf", "logpmf", "cdf", "logcdf", "sf", "logsf", "mean", "var", "std", "entropy"])
@pytest.mark.parametrize("name", OURS)
def test_values_and_derivatives(name: str, method: str) -> None:
    first = () if method in ("mean", "var", "std", "entropy") else (K,)
    mine, parameters = call(ours, name, method, *first)
    original, _ = call(theirs, name, method, *first)
    if getattr(ours, name).functions[{"std": "var"}.get(method, method)] is None:
        with pytest.raises(NotImplementedError, match=rf"scipy.stats.{name}\.{method.replace('std', 'var')}"):
            sd.grad(lambda p: np.sum(mine(p, *parameters[1:])))(parameters[0])
        return
    with np.errstate(divide="ignore"):
        traced = np.asarray(mine(*map(sd.tensor, parameters)))
        np.testing.assert_allclose(traced, original(*parameters), rtol=1e-11, atol=1e-15)

    def in_floats(f: Any) -> Any:
        return lambda *p: np.where(np.isfinite(traced), f(*p), 0.0)

    check_function(in_floats(mine), in_floats(original), *parameters, rtol=1e-5)


def test_parameters_that_do_not_exist_and_nan() -> None:
    p = sd.tensor(np.array([-0.1, 1.1, 0.3, np.nan]))
    with np.errstate(all="ignore"):
        for method in ("pmf", "logpmf", "cdf", "sf"):
            got = getattr(ours.binom, method)(2, 5, p).numpy()
            np.testing.assert_allclose(got, getattr(theirs.binom, method)(2, 5, p.numpy()))
        assert np.isnan(ours.binom.pmf(np.nan, 5, p[2]).numpy())
        assert np.isnan(ours.binom.pmf(1, 2.5, p[2]).numpy())
        np.testing.assert_array_equal(np.isnan(ours.binom.mean(5, p).numpy()), [True, True, False, True])


def test_probabilities_of_0_and_1() -> None:
    p = np.array([0.0, 1.0])
    got = ours.bernoulli.pmf(np.array([0, 1]), sd.tensor(p))
    np.testing.assert_array_equal(got.numpy(), [1.0, 1.0])
    slope = sd.grad(lambda p: np.sum(ours.binom.logpmf(np.array([0, 4]), 4, p)))(p)
    np.testing.assert_array_equal(slope, [-4.0, 4.0])


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (lambda k: ours.poisson.logpmf(k, 2.0), "k of scipy.stats.poisson.logpmf"),
        (lambda n: ours.binom.logpmf(1, n, 0.3), "n of scipy.stats.binom.logpmf"),
        (lambda loc: ours.binom.mean(4, 0.3, loc), "loc of scipy.stats.binom.mean"),
    ],
)
def test_whole_numbers_have_no_derivative(f: Any, name: str) -> None:
    with pytest.raises(GradientLostError, match=name):
        sd.grad(f)(3.0)


def test_whole_numbers_may_be_tensors_without_a_gradient() -> None:
    got = ours.poisson.logpmf(sd.tensor(np.array([1.0, 2.0])), 1.5)
    np.testing.assert_allclose(got.numpy(), theirs.poisson.logpmf([1, 2], 1.5))


def test_quantiles_are_constant() -> None:
    q, mu = np.array([0.1, 0.7]), np.array([1.5, 4.0])
    got = ours.poisson.ppf(sd.tensor(q), sd.tensor(mu), 1)
    np.testing.assert_array_equal(got.numpy(), theirs.poisson.ppf(q, mu, 1))
    np.testing.assert_array_equal(
        sd.grad(lambda mu: np.sum(mu * ours.poisson.isf(q, mu)))(mu), theirs.poisson.isf(q, mu)
    )


def test_support_and_stats_and_frozen() -> None:
    p = sd.tensor(np.array([0.2, 0.7]))
    np.testing.assert_allclose(
        np.asarray(ours.binom.support(5, p, 1)), np.asarray(theirs.binom.support(5, p.numpy(), 1))
    )
    np.testing.assert_allclose(np.asarray(ours.binom(5, p).stats()), theirs.binom(5, p.numpy()).stats())
    np.testing.assert_allclose(ours.binom(5, p).pmf(2).numpy(), theirs.binom(5, p.numpy()).pmf(2))
    assert ours.binom(5, 0.3).pmf(2) == theirs.binom(5, 0.3).pmf(2)
    with pytest.raises(NotImplementedError, match="moments='s'"):
        ours.binom.stats(5, p, moments="s")
    with pytest.raises(NotImplementedError, match=r"scipy.stats.binom.rvs"):
        sd.grad(lambda p: ours.binom.rvs(5, p))(0.3)
