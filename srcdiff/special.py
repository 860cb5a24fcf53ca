"""`sd.special`: special functions under PyTorch's names."""

from __future__ import annotations

from srcdiff.torchlike.elementary import (
    digamma,
    erf,
    erfc,
    erfinv,
    exp2,
    expm1,
    i0,
    sinc,
    xlogy,
)
from srcdiff.torchlike.pointwise import (
    logit,
    polygamma,
    round,
)
from srcdiff.torchlike.reductions import (
    log_softmax,
    logsumexp,
    softmax,
)
from srcdiff.torchlike.special import (
    entr,
    expit,
    gammaln,
    i1,
    log_ndtr,
    multigammaln,
    ndtr,
    ndtri,
    psi,
    xlog1py,
)

__all__ = [
    "digamma", "entr", "erf", "erfc", "erfinv", "exp2", "expit", "expm1", "gammaln", "i0", "i1", "log_ndtr",
    "log_softmax", "logit", "logsumexp", "multigammaln", "ndtr", "ndtri", "polygamma", "psi", "round", "sinc",
    "softmax", "xlog1py", "xlogy",
]  # fmt: skip
