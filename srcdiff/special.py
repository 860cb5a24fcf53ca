"""`sd.special`: special functions under PyTorch's names."""

from __future__ import annotations

from srcdiff.torchlike.special import (
    digamma,
    entr,
    erf,
    erfc,
    erfinv,
    exp2,
    expit,
    expm1,
    gammaln,
    i0,
    i1,
    log_ndtr,
    log_softmax,
    logit,
    logsumexp,
    multigammaln,
    ndtr,
    ndtri,
    polygamma,
    psi,
    round,
    sinc,
    softmax,
    xlog1py,
    xlogy,
)

__all__ = [
    "digamma", "entr", "erf", "erfc", "erfinv", "exp2", "expit", "expm1", "gammaln", "i0", "i1", "log_ndtr",
    "log_softmax", "logit", "logsumexp", "multigammaln", "ndtr", "ndtri", "polygamma", "psi", "round", "sinc",
    "softmax", "xlog1py", "xlogy",
]  # fmt: skip
