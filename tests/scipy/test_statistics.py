"""Statistics of samples: SciPy's values, keywords and shapes; first and second derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from tests.scipy.derivatives import check_function

theirs = pytest.importorskip("scipy.stats")
from srcdiff.scipy import stats as ours  # noqa: E402

M = np.array([[0.7, 1.9, 0.4, 1.1, 2.6], [1.3, 0.2, 0.9, 2.2, 1.6], [0.5, 1.4, 2.9, 0.8, 1.2]])
V, W = M[0], np.array([0.9, 1.7, 0.6, 1.5, 2.2])
WEIGHTS = np.array([0.5, 1.0, 1.5, 0.7, 0.3])

CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "gmean": (lambda s, a: s.gmean(a), (M,)),
    "gmean, weights": (lambda s, a, w: s.gmean(a, axis=1, weights=w, keepdims=True), (M, 0.5 * M + 1.0)),
    "hmean": (lambda s, a: s.hmean(a, axis=1), (M,)),
    "hmean, all": (lambda s, a, w: s.hmean(a, axis=None, weights=w), (M, M)),
    "pmean": (lambda s, a: s.pmean(a, 2.5, axis=(0, 1)), (M,)),
    "pmean of power 0": (lambda s, a: s.pmean(a, 0), (M,)),
    "trim_mean": (lambda s, a: s.trim_mean(a, 0.25, axis=1), (M,)),
    "trim_mean, all": (lambda s, a: s.trim_mean(a, 0.1, axis=None), (M,)),
    "sem": (lambda s, a: s.sem(a, axis=1), (M,)),
    "sem, all": (lambda s, a: s.sem(a, axis=None, ddof=0, keepdims=True), (M,)),
    "variation": (lambda s, a: s.variation(a, axis=1, ddof=1), (M,)),
    "gstd": (lambda s, a: s.gstd(a, axis=1), (M,)),
    "zscore": (lambda s, a: s.zscore(a), (V,)),
    "zscore, axis": (lambda s, a: s.zscore(a, axis=1, ddof=1), (M,)),
    "zscore, all": (lambda s, a: s.zscore(a, axis=None), (M,)),
    "zmap": (lambda s, a, b: s.zmap(a, b), (V, W)),
    "gzscore": (lambda s, a: s.gzscore(a, axis=1), (M,)),
    "iqr": (lambda s, a: s.iqr(a), (M,)),
    "iqr, keywords": (lambda s, a: s.iqr(a, axis=1, rng=(10, 80), scale="normal", keepdims=True), (M,)),
    "median_abs_deviation": (lambda s, a: s.median_abs_deviation(a, axis=1, scale="normal"), (M,)),
    "tmean": (lambda s, a: s.tmean(a, (0.45, 2.05)), (M,)),
    "tvar": (lambda s, a: s.tvar(a, (0.45, 2.25), inclusive=(False, False), axis=1), (M,)),
    "tstd": (lambda s, a: s.tstd(a, (None, 2.0), axis=None), (M,)),
    "tsem": (lambda s, a: s.tsem(a, axis=1), (M,)),
    "moment": (lambda s, a: s.moment(a, 3, axis=1), (M,)),
    "moment about a point": (lambda s, a: s.moment(a, 2, axis=None, center=0.5), (M,)),
    "moments": (lambda s, a: s.moment(a, [2, 3], axis=0), (M,)),
    "skew": (lambda s, a: s.skew(a, axis=1), (M,)),
    "skew without bias": (lambda s, a: s.skew(a, axis=1, bias=False, keepdims=True), (M,)),
    "kurtosis": (lambda s, a: s.kurtosis(a, axis=1), (M,)),
    "kurtosis without bias": (lambda s, a: s.kurtosis(a, axis=1, bias=False, fisher=False), (M,)),
    **{f"kstat {n}": (lambda s, a, n=n: s.kstat(a, n, axis=1), (M,)) for n in (1, 2, 3, 4)},
    **{f"kstatvar {n}": (lambda s, a, n=n: s.kstatvar(a, n), (V,)) for n in (1, 2)},
    "entropy": (lambda s, p: s.entropy(p, axis=1), (M,)),
    "entropy in bits": (lambda s, p: s.entropy(p, base=2, keepdims=True), (M,)),
    "relative entropy": (lambda s, p, q: s.entropy(p, q), (V, W)),
    "circmean": (lambda s, a: s.circmean(a, axis=1), (M,)),
    "circmean of degrees": (lambda s, a: s.circmean(a * 40.0, high=180.0, low=-180.0), (M,)),
    "circvar": (lambda s, a: s.circvar(a, axis=1), (M,)),
    "circstd": (lambda s, a: s.circstd(a, high=4.0, axis=1), (M,)),
    "circstd, normalized": (lambda s, a: s.circstd(a, normalize=True), (M,)),
    "boxcox": (lambda s, x, power: s.boxcox(x, float(power) if s is theirs else power), (V, 0.4)),
    "boxcox_llf": (lambda s, power, x: s.boxcox_llf(power, x), (0.4, V)),
    "yeojohnson": (lambda s, x: s.yeojohnson(x, 0.4), (V - 1.0,)),
    "yeojohnson_llf": (lambda s, power, x: s.yeojohnson_llf(power, x), (0.4, V - 1.0)),
    "ttest_1samp": (lambda s, a, m: s.ttest_1samp(a, m).statistic, (V, 0.8)),
    "ttest_1samp, p": (lambda s, a: s.ttest_1samp(a, 0.8, axis=1)[1], (M,)),
    "ttest_ind, df": (lambda s, a, b: s.ttest_ind(a, b, equal_var=False).df, (V, W[:4])),
    "ttest_rel": (lambda s, a, b: s.ttest_rel(a, b, alternative="less").pvalue, (V, W)),
    "ttest_ind": (lambda s, a, b: s.ttest_ind(a, b, axis=1, alternative="greater").pvalue, (M, M[:, 1:] * 0.8)),
    "ttest_ind of Welch": (lambda s, a, b: s.ttest_ind(a, b, equal_var=False).pvalue, (V, W[:4])),
    "pearsonr": (lambda s, x, y: s.pearsonr(x, y).statistic, (V, W)),
    "pearsonr, p": (lambda s, x, y: s.pearsonr(x, y).pvalue, (V, W[::-1].copy())),
    "pearsonr, one-sided": (lambda s, x, y: s.pearsonr(x, y, alternative="less")[1], (V, W)),
    "linregress": (lambda s, x, y: np.stack(list(s.linregress(x, y))), (V, W)),
    "linregress, intercept": (lambda s, x, y: s.linregress(x, y).intercept_stderr, (V, W)),
    "wasserstein_distance": (lambda s, u, v: s.wasserstein_distance(u, v), (V, W)),
    "wasserstein_distance, weights": (lambda s, u, v, w: s.wasserstein_distance(u, v, w), (V, W[:3], WEIGHTS)),
    "energy_distance": (lambda s, u, v: s.energy_distance(u, v[:3], v_weights=[0.2, 0.5, 0.3]), (V, W)),
    "kde": (lambda s, d, x: s.gaussian_kde(d)(x), (V, W)),
    "kde, log": (lambda s, d, x: s.gaussian_kde(d, "silverman").logpdf(x), (V, W)),
    "kde, weights": (lambda s, d, w: s.gaussian_kde(d, weights=w)([0.3, 1.4]), (V, WEIGHTS)),
    "kde, factor": (lambda s, d, h: s.gaussian_kde(d, h if isinstance(h, sd.Tensor) else float(h)).pdf(0.9), (V, 0.4)),
    "kde, function": (lambda s, d: s.gaussian_kde(d, lambda kde: 2.0 * kde.scotts_factor())(0.9), (V,)),
    "kde, plane": (lambda s, d, x: s.gaussian_kde(d)(x), (M[:2], M[1:, :3])),
    "kde, a point of the plane": (lambda s, d, x: s.gaussian_kde(d)(x), (M[:2], V[:2])),
    "kde, box": (lambda s, d: s.gaussian_kde(d).integrate_box_1d(0.2, 1.5), (V,)),
}


@pytest.mark.parametrize("case", CASES)
def test_values_and_derivatives(case: str) -> None:
    f, args = CASES[case]
    check_function(lambda *xs: f(ours, *xs), lambda *xs: f(theirs, *xs), *args, rtol=1e-6)


def test_keywords_are_heeded_or_refused() -> None:
    for f, message in (
        (lambda a: ours.sem(a, nan_policy="omit"), "scipy.stats.sem: the keyword nan_policy='omit'"),
        (lambda a: ours.boxcox(a), "scipy.stats.boxcox without lmbda"),
        (lambda a: ours.boxcox(a, 0.3, 0.05), "alpha=0.05"),
        (lambda a: ours.median_abs_deviation(a, center=np.mean), "center="),
        (lambda a: ours.pearsonr(a[:2], a[1:3]).statistic, "2 points"),
        (lambda a: ours.spearmanr(a, W).statistic, "scipy.stats.spearmanr"),
        (lambda a: ours.gaussian_kde(a).integrate_kde(ours.gaussian_kde(W)), "gaussian_kde.integrate_kde"),
    ):
        with pytest.raises(NotImplementedError, match=message):
            sd.grad(lambda a, f=f: np.sum(f(a)))(V)
    np.testing.assert_array_equal(np.asarray(ours.sem(sd.tensor(V), nan_policy="propagate")), theirs.sem(V))


def test_edges() -> None:
    with np.errstate(all="ignore"):
        assert np.isnan(ours.zscore(sd.tensor(np.full(3, 0.1))).numpy()).all()
        assert np.isnan(ours.hmean(sd.tensor(np.array([1.0, -1.0]))).item())
    for f, message in (
        (lambda a: ours.trim_mean(a, 0.7), "Proportion too big"),
        (lambda a: ours.moment(a, 1.5), "must be integral"),
        (lambda a: ours.kstat(a, 5), "1<=n<=4"),
        (lambda a: ours.kstatvar(a, 3), "n=1 or n=2"),
        (lambda a: ours.iqr(a, scale="other"), "not a valid scale"),
        (lambda a: ours.ttest_1samp(a, 0.0, alternative="other"), "alternative"),
        (lambda a: ours.gaussian_kde(a, "other"), "bw_method"),
        (lambda a: ours.gaussian_kde(a[:1]), "multiple elements"),
        (lambda a: ours.gaussian_kde(a)(M), "points have dimension 3"),
        (lambda a: ours.wasserstein_distance(a, a[:0]), "two vectors"),
    ):
        with pytest.raises(ValueError, match=message):
            f(sd.tensor(V, requires_grad=True))


def test_a_plain_estimate_of_density_is_scipys() -> None:
    kde, original = ours.gaussian_kde(V), theirs.gaussian_kde(V)
    np.testing.assert_array_equal(kde(W), original(W))
    np.testing.assert_array_equal(kde.logpdf(W), original.logpdf(W))
    np.testing.assert_allclose(kde.covariance, original.covariance)
    assert kde.integrate_box([0.2], [1.5]) == original.integrate_box([0.2], [1.5])
    assert kde.integrate_box_1d(0.2, 1.5) == original.integrate_box_1d(0.2, 1.5)
    kde.set_bandwidth(0.3)
    original.set_bandwidth(0.3)
    np.testing.assert_allclose(kde(sd.tensor(W)).numpy(), original(W), rtol=1e-12)
