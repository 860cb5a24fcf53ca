"""SciPy's and scikit-learn's code for the array API standard with Tensors: run with SCIPY_ARRAY_API=1.

Prints a line of JSON for each call: whether values are those with arrays, the slope along a direction by `backward`
and by `sd.grad`, and by differences of the results with arrays; or the error.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import numpy as np
import scipy.cluster.vq as vq
import scipy.fft as fft
import scipy.integrate as integrate
import scipy.signal as signal
import scipy.special as special
import scipy.stats as stats

import srcdiff as sd
import srcdiff.numpy as xp

SCIPY = """
stats.zscore(A) stats.gmean(A) stats.skew(A) stats.kurtosis(A,axis=1) stats.moment(A,3) stats.sem(A) stats.entropy(A)
stats.entropy(A,B) stats.pearsonr(A[:,0],B[:,1]).statistic stats.ttest_ind(A,B).pvalue stats.circmean(A)
stats.trim_mean(A,0.1) stats.variation(A) stats.tvar(A,(0,1))
special.logsumexp(A) special.logsumexp(A,axis=0,b=B) special.softmax(A,axis=1) special.log_softmax(A,axis=0)
special.expit(A) special.gammaln(A) special.xlogy(A,B) special.ndtr(A)
fft.fft(A) fft.irfft(A) fft.rfftn(A) signal.fftconvolve(A,B) signal.hilbert(A) signal.resample(A,3)
vq.whiten(A) integrate.trapezoid(A,dx=0.5) integrate.cumulative_trapezoid(A)
""".split()
REFUSED = """
stats.norm.pdf(A) signal.medfilt(A,3) fft.dct(A) special.agm(A,B)
""".split()
LEARN = """
preprocessing.StandardScaler().fit_transform(A)
preprocessing.MinMaxScaler().fit_transform(A) preprocessing.Normalizer().fit_transform(A)
decomposition.PCA(2,svd_solver='full').fit_transform(A) linear_model.Ridge(solver='svd').fit(A,B[:,0]).predict(B)
metrics.pairwise.rbf_kernel(A,B) metrics.pairwise.cosine_similarity(A,B)
metrics.mean_squared_error(A,B,multioutput='raw_values')
""".split()


def total(out: Any) -> Any:
    """A number made of a result: real and imaginary parts with weights of their own."""
    weights = np.cos(np.arange(out.size)).reshape(tuple(out.shape))
    return (xp.real(out) * weights).sum() + 0.3 * (xp.imag(out) * weights).sum() if out.dtype.kind == "c" else (
        out * weights
    ).sum()  # fmt: skip


def compare(call: str, names: dict[str, Any]) -> dict[str, Any]:
    rng = np.random.default_rng(2)
    a, b, da, db = rng.random((6, 4)) + 0.2, rng.random((6, 4)) + 0.3, rng.random((6, 4)), rng.random((6, 4))

    def value(x: Any, y: Any) -> Any:
        return eval(call, {**names, "A": x, "B": y})

    wanted, step = np.asarray(value(a, b)), 1e-6
    x, y = (xp.asarray(v.copy()).requires_grad_() for v in (a, b))
    found = value(x, y)
    total(found).backward()
    slope = sum(np.sum(t.grad.numpy() * d) for t, d in ((x, da), (y, db)) if t.grad is not None)
    gradients = sd.grad(lambda u, v: total(value(u, v)), argnums=(0, 1))(a, b)
    ends = [float(total(xp.asarray(value(a + h * da, b + h * db)))) for h in (step, -step)]
    return {
        "same": type(found).__name__ == "Tensor" and np.allclose(found.detach().numpy(), wanted),
        "backward": slope,
        "grad": sum(float(np.sum(g * d)) for g, d in zip(gradients, (da, db), strict=True)),
        "differences": (ends[0] - ends[1]) / (2 * step),
    }


def main() -> None:
    names = {"stats": stats, "special": special, "fft": fft, "signal": signal, "vq": vq, "integrate": integrate}
    calls = dict.fromkeys((*SCIPY, *REFUSED), names)
    try:
        import sklearn
        from sklearn import decomposition, linear_model, metrics, preprocessing
    except ImportError:
        pass
    else:
        sklearn.set_config(array_api_dispatch=True)
        modules = (decomposition, linear_model, metrics, preprocessing)
        calls |= {call: {m.__name__.split(".")[1]: m for m in modules} for call in LEARN}
    for call, known in calls.items():
        try:
            found = compare(call, known)
        except Exception as error:
            found = {"error": type(error).__name__, "text": str(error)}
        sys.stdout.write(json.dumps({"call": call, **found}) + "\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
