"""Continuous distributions: each method has SciPy's values, and derivatives in x and in every parameter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from tests.scipy.derivatives import check_function

theirs = pytest.importorskip("scipy.stats")
from srcdiff.scipy import stats as ours  # noqa: E402
from srcdiff.scipy.stats.continuous import Continuous  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:The shape parameter of the erlang distribution:RuntimeWarning")

#: shape parameters of each distribution at which it is checked
SHAPES: dict[str, tuple[float, ...]] = {
    "norm": (), "powernorm": (1.7,), "skewnorm": (1.3,), "johnsonsu": (0.4, 1.6), "exponnorm": (0.8,), "moyal": (),
    "t": (2.6,), "cauchy": (), "hypsecant": (), "logistic": (), "genlogistic": (0.6,), "gumbel_r": (), "gumbel_l": (),
    "laplace": (), "dgamma": (1.4,), "dweibull": (1.7,), "gennorm": (1.6,), "laplace_asymmetric": (1.3,),
    "vonmises": (1.5,),
    "expon": (), "weibull_min": (1.7,), "weibull_max": (1.3,), "exponweib": (1.4, 0.8), "exponpow": (1.3,),
    "invweibull": (1.6,), "rayleigh": (), "gompertz": (0.8,), "gamma": (1.7,), "chi2": (3.3,), "chi": (2.6,),
    "maxwell": (), "nakagami": (1.2,), "gengamma": (1.4, -1.3), "loggamma": (0.7,), "invgamma": (2.4,),
    "halfgennorm": (1.5,), "lognorm": (0.7,), "gibrat": (), "halfnorm": (), "foldnorm": (0.6,), "levy": (),
    "levy_l": (), "invgauss": (1.2,), "wald": (), "rice": (0.8,), "halfcauchy": (), "foldcauchy": (0.9,),
    "halflogistic": (), "fisk": (2.1,), "loglaplace": (1.4,), "pareto": (2.4,), "lomax": (2.3,), "burr": (1.8, 0.9),
    "burr12": (1.8, 0.9), "mielke": (1.8, 1.3), "betaprime": (1.6, 2.7), "f": (3.5, 6.2),
    "powerlognorm": (1.6, 0.7), "erlang": (3.0,), "uniform": (), "beta": (1.4, 2.3), "arcsine": (), "powerlaw": (1.6,),
    "bradford": (1.3,), "johnsonsb": (0.4, 1.2), "triang": (0.4,), "anglit": (), "cosine": (), "semicircular": (),
    "rdist": (2.7,), "wrapcauchy": (0.3,), "truncnorm": (-0.9, 1.7), "truncexpon": (2.4,), "truncpareto": (1.3, 5.0),
    "loguniform": (0.5, 3.0), "reciprocal": (0.5, 3.0), "genextreme": (0.2,), "genpareto": (-0.2,),
}  # fmt: skip
OURS = sorted(name for name, found in vars(ours).items() if isinstance(found, Continuous))
OF_X = ("pdf", "logpdf", "cdf", "logcdf", "sf", "logsf")
LOC, SCALE = 0.3, 1.4


def quantiles(name: str) -> Any:
    """Points in both halves of the distribution, some of them in a tail."""
    return getattr(theirs, name).ppf(np.array([0.03, 0.31, 0.62, 0.97]), *SHAPES[name])


def call(stats: Any, name: str, method: str, first: str) -> Any:
    def f(x: Any, *parameters: Any) -> Any:
        given = (x,) if first else ()
        rest = parameters if first else (x, *parameters)
        return getattr(getattr(stats, name), method)(*given, *rest[:-2], loc=rest[-2], scale=rest[-1])

    return f


def test_every_distribution_is_in_the_table() -> None:
    assert sorted(SHAPES) == OURS


@pytest.mark.parametrize("method", [*OF_X, "ppf", "isf"])
@pytest.mark.parametrize("name", OURS)
def test_functions_of_x(name: str, method: str) -> None:
    dist = getattr(ours, name)
    if dist.functions[method] is None:
        with pytest.raises(NotImplementedError, match=rf"scipy.stats.{name}.{method}"):
            sd.grad(lambda q: np.sum(getattr(dist, method)(q, *SHAPES[name])))(np.array([0.3]))
        return
    x = np.array([0.1, 0.35, 0.8]) if method in ("ppf", "isf") else quantiles(name) * SCALE + LOC
    shapes = [np.array(shape) for shape in SHAPES[name]]
    mine, original = call(ours, name, method, "x"), call(theirs, name, method, "x")
    check_function(mine, original, x, *shapes, np.array(LOC), np.array(SCALE), rtol=1e-5)


# ------------------------------------------------------------------------------------------- numbers of a distribution


@pytest.mark.parametrize("method", ["mean", "var", "std", "entropy", "median"])
@pytest.mark.parametrize("name", OURS)
def test_numbers(name: str, method: str) -> None:
    dist = getattr(ours, name)
    source = {"std": "var", "median": "ppf"}.get(method, method)
    if dist.functions[source] is None and (SHAPES[name] or method == "median"):
        with pytest.raises(NotImplementedError, match=rf"scipy.stats.{name}\.{source}"):
            sd.grad(lambda scale: getattr(dist, method)(*SHAPES[name], scale=scale))(1.4)
        return
    mine, original = call(ours, name, method, ""), call(theirs, name, method, "")
    parameters = [np.array(v) for v in (*SHAPES[name], LOC, SCALE)]
    if np.isfinite(original(*parameters)) and (name, method) != ("dgamma", "median"):  # whose density is 0 there
        check_function(mine, original, *parameters, rtol=1e-5)


@pytest.mark.parametrize("name", ["norm", "gamma", "pareto", "truncnorm", "genextreme", "beta"])
def test_support_and_interval_and_stats(name: str) -> None:
    shapes = SHAPES[name]
    dist, original = getattr(ours, name), getattr(theirs, name)
    loc, scale = sd.tensor(np.array([0.3, 1.0])), sd.tensor(np.array(1.4))
    for mine, want in (
        (dist.support(*shapes, loc, scale), original.support(*shapes, [0.3, 1.0], 1.4)),
        (dist.interval(0.9, *shapes, loc, scale), original.interval(0.9, *shapes, [0.3, 1.0], 1.4)),
        (dist.interval(sd.tensor(np.array([0.9])), *shapes), original.interval(np.array([0.9]), *shapes)),
    ):
        np.testing.assert_allclose(np.asarray(mine), np.asarray(want), rtol=1e-12)
    if name == "gamma":
        mine = dist.stats(1.4, loc=loc, moments="m")
        np.testing.assert_allclose(np.asarray(mine), original.stats(1.4, [0.3, 1.0], moments="m"))
        mine = dist.stats(1.4, loc=loc, scale=scale)
        np.testing.assert_allclose(np.asarray(mine[1]), original.stats(1.4, [0.3, 1.0], 1.4)[1])
        with pytest.raises(NotImplementedError, match="moments='mvs'"):
            dist.stats(1.4, loc=loc, moments="mvs")


# ---------------------------------------------------------------------------------------- edges and what is impossible


@pytest.mark.parametrize("name", OURS)
def test_outside_of_the_support_nothing_changes(name: str) -> None:
    """Densities are 0, and neither x nor any parameter has a gradient, first or second; NaN stays NaN."""
    low, high = (float(bound) for bound in getattr(theirs, name).support(*SHAPES[name]))
    x = np.array([low - 1.0, -np.inf, high + 1.0, np.inf])
    for method in OF_X:
        if getattr(ours, name).functions[method] is None or (np.isinf([low, high]).all() and "pdf" in method):
            continue
        mine, original = call(ours, name, method, "x"), call(theirs, name, method, "x")
        args = (x, *SHAPES[name], 0.0, 1.0)
        with np.errstate(all="ignore"):
            want = original(*args)  # NaN for the densities of some at infinity
            assert np.isnan(np.asarray(mine(sd.tensor(np.array([np.nan])), *args[1:]))).all()
        got = np.asarray(mine(sd.tensor(x), *args[1:]))
        assert np.array_equal(got[~np.isnan(want)], want[~np.isnan(want)])
        assert not np.isnan(got).any()

        def total(*args: Any, mine: Any = mine) -> Any:
            value = mine(*args)
            return np.sum(np.where(np.isfinite(value), value, 0.0))

        gradient = sd.grad(total, argnums=tuple(range(len(args))))
        assert all(not np.any(g) for g in gradient(*args)), method
        assert sd.jvp(total, args, tuple(np.ones_like(a) for a in args))[1] == 0.0
        curve = sd.grad(lambda *args, gradient=gradient: sum(np.sum(g) for g in gradient(*args)))
        assert not np.any(curve(*args)), method


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("name", OURS)
def test_at_the_bounds_a_density_that_is_0_or_infinite_is_constant(name: str, factor: float) -> None:
    most = 0.9 if name in ("triang", "wrapcauchy") else np.inf
    shapes = tuple(min(factor * shape, most) for shape in SHAPES[name])
    dist, original = getattr(ours, name), getattr(theirs, name)
    bounds = np.array([bound for bound in original.support(*shapes) if np.isfinite(bound)], float)
    with np.errstate(all="ignore"):
        height = original.logpdf(bounds, *shapes)
        for method in ("pdf", "logpdf"):
            got = getattr(dist, method)(sd.tensor(bounds), *shapes)
            np.testing.assert_allclose(got.numpy(), getattr(original, method)(bounds, *shapes), rtol=1e-12)
        singular = bounds[~np.isfinite(height)]
        if singular.size:
            slope = sd.grad(lambda x, loc, scale: np.sum(dist.pdf(x, *shapes, loc, scale)), argnums=(0, 1, 2))
            np.testing.assert_array_equal(np.hstack(slope(singular, 0.0, 1.0)), 0.0)


@pytest.mark.parametrize("method", [*OF_X, "ppf", "isf", "mean", "var", "entropy"])
def test_impossible_parameters_give_nan(method: str) -> None:
    first = (0.4,) if method not in ("mean", "var", "entropy") else ()
    for a, scale in ((-1.0, 1.0), (2.0, -1.0), (2.0, 0.0), (np.nan, 1.0)):
        with np.errstate(all="ignore"):
            out = getattr(ours.gamma, method)(*first, sd.tensor(np.array(a)), scale=scale)
        assert np.isnan(out.numpy()), (a, scale)


@pytest.mark.parametrize("name", ["norm", "gamma", "beta", "genextreme", "vonmises"])
def test_probabilities_of_0_and_1_and_beyond(name: str) -> None:
    q = np.array([0.0, 1.0, -0.1, 1.1, np.nan])
    for method in ("ppf", "isf"):
        got = getattr(getattr(ours, name), method)(sd.tensor(q), *SHAPES[name], 0.5, 2.0)
        np.testing.assert_allclose(got.numpy(), getattr(getattr(theirs, name), method)(q, *SHAPES[name], 0.5, 2.0))


def test_a_bound_moves_with_its_parameters() -> None:
    def upper(a: Any, b: Any, loc: Any, scale: Any) -> Any:
        return ours.truncnorm.ppf(1.0, a, b, loc, scale)

    args = tuple(map(np.array, (-1.0, 2.0, 0.5, 3.0)))
    assert [float(g) for g in sd.grad(upper, argnums=(0, 1, 2, 3))(*args)] == [0.0, 3.0, 1.0, 2.0]
    assert float(sd.grad(lambda a: ours.truncnorm.support(a, 2.0)[0])(np.array(-1.0))) == 1.0


def test_infinite_bounds_of_a_truncated_normal_have_no_part() -> None:
    x = np.array([-0.3, 0.4, 3.0])
    for method in OF_X:

        def f(stats: Any, x: Any, b: Any, method: str = method) -> Any:
            return getattr(stats.truncnorm, method)(x, -np.inf, b, 0.2, 1.3)

        check_function(lambda x, b, f=f: f(ours, x, b), lambda x, b, f=f: f(theirs, x, b), x, np.array(4.0), rtol=1e-5)
    x = np.array([31.0, 30.1])
    got = sd.grad(lambda a: np.sum(ours.truncnorm.logpdf(x, a, np.inf)))(np.array(30.0))
    step = 1e-4
    want = np.diff(theirs.truncnorm.logpdf(x[:, None], np.array([30.0 - step, 30.0 + step]), np.inf)).sum() / (2 * step)
    np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize("y", [0.0, 1e-9, -1e-9])
def test_at_the_centre_the_derivatives_are_those_of_the_neighbourhood(y: float) -> None:
    """Formulas with |x| or with sqrt(x**2) lose a derivative at 0, where the distributions are smooth."""
    for dist in (ours.t(3.5), ours.logistic(), ours.gennorm(2.0), ours.gennorm(4.0), ours.hypsecant()):
        density = float(dist.pdf(0.0))
        np.testing.assert_allclose(sd.grad(dist.cdf)(y), density, rtol=1e-7)
        np.testing.assert_allclose(sd.grad(dist.ppf)(0.5 + y), 1.0 / density, rtol=1e-7)
        curve = sd.grad(sd.grad(dist.logpdf))
        np.testing.assert_allclose(curve(y), curve(1e-4), rtol=1e-3, atol=1e-6)
    mixed = sd.grad(sd.grad(lambda x, df: ours.t.cdf(x, df)), argnums=1)
    np.testing.assert_allclose(mixed(y, 3.5), mixed(1e-5, 3.5), rtol=1e-6)


def test_a_shape_of_0_is_no_exception() -> None:
    """genextreme and genpareto have another formula there, vonmises a uniform distribution."""
    x = np.array([0.2, 0.9, 1.6])
    for name in ("genextreme", "genpareto"):
        for method in ("logpdf", "cdf", "logsf"):
            f = getattr(getattr(ours, name), method)
            slope = sd.grad(lambda c, f=f: np.sum(f(x, c)))
            assert float(slope(0.0)) == pytest.approx(0.5 * (slope(1e-4) + slope(-1e-4)), rel=1e-6)
            curve = sd.grad(slope)
            assert float(curve(0.0)) == pytest.approx(0.5 * (curve(2e-2) + curve(-2e-2)), rel=5e-2)
    slope = sd.grad(lambda kappa: np.sum(ours.vonmises.logpdf(x, kappa)))
    assert float(slope(0.0)) == pytest.approx(np.sum(np.cos(x)), rel=1e-12)


# ------------------------------------------------------------------------------------------ how arguments may be given


def test_parameters_broadcast_and_come_by_position_or_name() -> None:
    x, a = np.linspace(0.2, 2.0, 6).reshape(2, 3), np.array([[1.5], [2.5]])
    loc, scale = np.array([0.0, -0.1, 0.1]), 1.3
    want = theirs.gamma.logpdf(x, a, loc, scale)
    for got in (
        ours.gamma.logpdf(sd.tensor(x), a, loc, scale),
        ours.gamma.logpdf(x, sd.tensor(a), loc, scale=scale),
        ours.gamma.logpdf(x, scale=scale, loc=sd.tensor(loc), a=a),
        ours.gamma.logpdf(x=x, a=a, loc=loc, scale=sd.tensor(np.array(scale))),
        ours.gamma(a, loc=sd.tensor(loc), scale=scale).logpdf(x),
        ours.gamma(a, loc, scale).logpdf(sd.tensor(x)),
        ours.gamma.freeze(a, loc, scale).logpdf(sd.tensor(x)),
    ):
        assert got.shape == (2, 3)
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-13)
    with pytest.raises(TypeError, match="missing arguments: a"):
        ours.gamma.logpdf(sd.tensor(x))
    with pytest.raises(TypeError, match="unexpected keyword argument 'b'"):
        ours.gamma.logpdf(sd.tensor(x), 1.0, b=2.0)
    with pytest.raises(TypeError, match="multiple values for argument 'a'"):
        ours.gamma.logpdf(sd.tensor(x), 1.0, a=2.0)
    with pytest.raises(TypeError, match="takes at most 4 arguments"):
        ours.gamma.logpdf(sd.tensor(x), 1.0, 2.0, 3.0, 4.0)


def test_float32_and_integers_are_computed_as_float64_as_in_scipy() -> None:
    x = np.array([1.0, 2.0], "f4")
    tensor = sd.tensor(x, requires_grad=True)
    out = ours.gamma.logpdf(tensor, 2, scale=np.float32(1.5))
    assert out.dtype == np.float64
    np.testing.assert_allclose(out.detach().numpy(), theirs.gamma.logpdf(x, 2, scale=np.float32(1.5)), rtol=1e-7)
    out.sum().backward()
    assert tensor.grad.dtype == np.float32
    np.testing.assert_allclose(tensor.grad.numpy(), 1.0 / x - 1.0 / 1.5, rtol=1e-6)
    np.testing.assert_allclose(ours.norm.pdf([1, 2], sd.tensor(np.array(0.5))).numpy(), theirs.norm.pdf([1, 2], 0.5))


def test_frozen_distributions_have_all_methods() -> None:
    frozen = ours.norm(sd.tensor(np.array([0.5, 1.0])), 2.0)
    np.testing.assert_array_equal(frozen.mean().numpy(), [0.5, 1.0])
    np.testing.assert_array_equal(frozen.std().numpy(), [2.0, 2.0])
    np.testing.assert_allclose(np.asarray(frozen.interval(0.9)), theirs.norm([0.5, 1.0], 2.0).interval(0.9))
    np.testing.assert_allclose(frozen.stats("v").numpy(), [4.0, 4.0])
    assert ours.norm(0.5, 2.0).moment(3) == theirs.norm(0.5, 2.0).moment(3)
    assert ours.norm(0.5, 2.0).expect(lambda x: x) == pytest.approx(0.5)
    assert type(ours.norm(0.5, 2.0).pdf(0.1)) is np.float64
    with pytest.raises(NotImplementedError, match=r"scipy.stats.norm.expect"):
        sd.grad(lambda m: ours.norm(m, 2.0).expect(lambda x: x))(0.5)
    with pytest.raises(NotImplementedError, match=r"scipy.stats.norm.moment"):
        sd.grad(lambda m: ours.norm.moment(3, m))(0.5)


def test_draws_move_with_location_and_scale() -> None:
    def draws(stats: Any, loc: Any, scale: Any) -> Any:
        return stats.gamma.rvs(2.0, loc, scale, size=(4, 3), random_state=7)

    check_function(
        lambda loc, scale: draws(ours, loc, scale), lambda loc, scale: draws(theirs, loc, scale),
        np.array([0.1, 0.2, 0.3]), np.array(1.5),
    )  # fmt: skip
    assert ours.norm(sd.tensor(np.array(1.0)), 2.0).rvs(random_state=1).shape == ()
    with pytest.raises(NotImplementedError, match=r"gamma.rvs .*in a shape parameter"):
        sd.grad(lambda a: ours.gamma.rvs(a, random_state=7))(2.0)


def test_the_negative_log_likelihood() -> None:
    x = np.array([0.5, 1.5, 2.5])
    check_function(
        lambda a, scale: ours.gamma.nnlf((a, 0.0, scale), x), lambda a, scale: theirs.gamma.nnlf((a, 0.0, scale), x),
        np.array(2.0), np.array(1.5),
    )  # fmt: skip


def test_what_is_not_there_is_scipys_for_plain_arrays_and_refused_by_name_otherwise() -> None:
    assert ours.nct.pdf(0.5, 2.0, 1.0) == theirs.nct.pdf(0.5, 2.0, 1.0)
    assert ours.nct(2.0, 1.0).mean() == theirs.nct(2.0, 1.0).mean()
    assert ours.norm.numargs == 0
    with pytest.raises(NotImplementedError, match=r"scipy\.stats\.nct\.logpdf .*test_continuous"):
        sd.grad(lambda x: ours.nct.logpdf(x, 2.0, 1.0))(0.5)
    with pytest.raises(NotImplementedError, match=r"scipy\.stats\.nct"):
        sd.grad(lambda df: ours.nct(df, 1.0).mean())(2.0)
    with pytest.raises(NotImplementedError, match=r"scipy\.stats\.semicircular\.ppf"):
        sd.grad(lambda q: ours.semicircular.ppf(q))(0.5)


def test_maximum_likelihood_agrees_with_the_closed_form() -> None:
    """At the mean and the standard deviation of the data the gradient of the normal likelihood vanishes."""
    x = np.random.default_rng(0).normal(1.0, 2.0, 50)
    score = sd.grad(lambda mean, deviation: np.sum(ours.norm(mean, deviation).logpdf(x)), argnums=(0, 1))
    np.testing.assert_allclose(score(x.mean(), x.std()), 0.0, atol=1e-12)


@pytest.mark.parametrize("name", ["gamma", "beta", "f", "t", "invgauss", "cosine", "norm", "genextreme"])
def test_tails_keep_their_digits(name: str) -> None:
    """Far out, a probability and the logarithm of what is left of 1 agree with each other, and quantiles go back."""
    dist = getattr(ours, name)
    q = np.array([1e-12, 1e-7])
    for inverse, near, far in (("ppf", "cdf", "logsf"), ("isf", "sf", "logcdf")):
        if dist.functions[inverse] is None or (name == "genextreme" and inverse == "isf"):
            continue
        x = getattr(dist, inverse)(sd.tensor(q), *SHAPES[name])
        np.testing.assert_allclose(getattr(dist, near)(x, *SHAPES[name]).numpy(), q, rtol=1e-6)
        np.testing.assert_allclose(getattr(dist, far)(x, *SHAPES[name]).numpy(), np.log1p(-q), rtol=1e-6)
