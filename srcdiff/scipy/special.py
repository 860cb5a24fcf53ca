"""`srcdiff.scipy.special`: the functions of scipy.special that turn their arguments into arrays.

SciPy's ufuncs take Tensors as they stand, here as in `scipy.special`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from srcdiff.functions.reductions import as_array, canonical
from srcdiff.ops import elementwise as e
from srcdiff.ops import neural
from srcdiff.ops import reductions as r
from srcdiff.ops.incomplete import riemann_zeta
from srcdiff.ops.incomplete import zeta as zeta_of
from srcdiff.ops.special import digamma, lgamma
from srcdiff.ops.special import polygamma as polygamma_of
from srcdiff.ops.special_scipy import binom, gamma, poch
from srcdiff.ops.structural import cast, reshape, stop_gradient
from srcdiff.ops.transcendental import exp, log
from srcdiff.scipy.support import every, mirrors, number, rest_of, unsupported

__all__ = [
    "comb", "factorial", "log_softmax", "logsumexp", "multigammaln", "perm", "polygamma", "softmax", "zeta",
]  # fmt: skip

_rest = rest_of(special)


def __getattr__(name: str) -> Any:
    """SciPy's ufunc, also where its array API switch puts a function in front; else what has no counterpart."""
    ufunc = getattr(special._ufuncs, name, None)
    return ufunc if isinstance(ufunc, np.ufunc) and not name.startswith("_") else _rest(name)


def _floats(x: Any) -> Any:
    """`x` as a Tensor or array of floats, or complex numbers."""
    x = as_array(x)
    return x if x.dtype.kind in "fc" else cast(x, dtype=np.dtype(float))


# ------------------------------------------------------------------------------------------- sums of exponentials


@mirrors(special.logsumexp)
def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    """log(sum(b * exp(a))); with weights the sum is taken with its sign, which is constant."""
    a = _floats(a)
    if a.dtype.kind == "c":
        raise unsupported("scipy.special.logsumexp of complex numbers")
    keepdims = bool(keepdims)
    if b is None:
        out = r.logsumexp(a, axis=canonical(axis, a.ndim), keepdims=keepdims)
        return (out, np.ones(out.shape, out.dtype)[()]) if return_sign else out
    a, b = np.broadcast_arrays(a, _floats(b))
    axis = canonical(axis, a.ndim)
    nothing = e.equal(b, 0)
    heights = e.where(nothing, -np.inf, a)  # an infinite a with no weight has no part
    top = np.max(heights, axis=axis, keepdims=True)
    level = stop_gradient(e.where(e.isfinite(top), top, 0.0))
    total = r.sum(b * exp(heights - level), axis=axis, keepdims=True)
    sign = stop_gradient(e.sign(total))
    positive = sign * total if return_sign else total
    out = log(positive) + level
    if not keepdims:
        out, sign = (np.squeeze(v, axis=axis) for v in (out, sign))
    return (out, sign) if return_sign else out


@mirrors(special.softmax)
def softmax(x: Any, axis: Any = None) -> Any:
    x = _floats(x)
    if isinstance(axis, tuple):
        return exp(log_softmax(x, axis))
    if axis is None:
        return reshape(neural.softmax(reshape(x, shape=(math.prod(x.shape),)), axis=0), shape=tuple(x.shape))
    return neural.softmax(x, axis=canonical(axis, x.ndim))


@mirrors(special.log_softmax)
def log_softmax(x: Any, axis: Any = None) -> Any:
    x = _floats(x)
    if isinstance(axis, tuple):
        return x - r.logsumexp(x, axis=canonical(axis, x.ndim), keepdims=True)
    if axis is None:
        return reshape(neural.log_softmax(reshape(x, shape=(math.prod(x.shape),)), axis=0), shape=tuple(x.shape))
    return neural.log_softmax(x, axis=canonical(axis, x.ndim))


# ------------------------------------------------------------------------------------------------- gamma and zeta


@mirrors(special.polygamma)
def polygamma(n: Any, x: Any) -> Any:
    """With orders that differ, by the zeta function."""
    n, x = np.asarray(number(n, "n of scipy.special.polygamma")), _floats(x)
    if not n.ndim and n >= 0 and n == int(n):
        return polygamma_of(x, n=int(n))
    order = np.where(n == 0, 1.0, n)
    scale = (-1.0) ** (order + 1.0) * special.gamma(order + 1.0)
    return e.where(n == 0, digamma(x), scale * zeta_of(order + 1.0, x))


@mirrors(special.multigammaln)
def multigammaln(a: Any, d: Any) -> Any:
    a, d = _floats(a), number(d, "d of scipy.special.multigammaln")
    if np.ndim(d) or d != int(d) or d < 1:
        raise ValueError("d should be a positive integer (dimension)")
    if not every(lambda a: ~(a <= 0.5 * (d - 1)), stop_gradient(a)):
        raise ValueError(f"condition a > 0.5 * (d-1) ({0.5 * (d - 1)}) not met")
    total: Any = d * (d - 1) * 0.25 * math.log(math.pi)
    for j in range(int(d)):
        total = total + lgamma(a - 0.5 * j)
    return total


@mirrors(special.zeta)
def zeta(x: Any, q: Any = None) -> Any:
    return riemann_zeta(_floats(x)) if q is None else zeta_of(_floats(x), _floats(q))


# ----------------------------------------------------------------------------------------------- numbers of choices


def _floating(name: str, exact: Any) -> None:
    if exact:
        raise unsupported(f"scipy.special.{name} with exact={exact!r}, whose values are integers,")


@mirrors(special.factorial)
def factorial(n: Any, exact: Any = False, extend: str = "zero") -> Any:
    """gamma(n + 1); 0 for negative n unless `extend` is "complex"."""
    _floating("factorial", exact)
    n = _floats(n)
    if extend == "complex":
        return gamma(n + 1.0)
    if extend != "zero":
        raise ValueError(f"argument `extend` must be either 'zero' or 'complex', received: {extend!r}")
    return _where(e.greater_equal(n, 0), lambda n: gamma(n + 1.0), n)


@mirrors(special.comb)
def comb(N: Any, k: Any, *, exact: Any = False, repetition: bool = False) -> Any:
    _floating("comb", exact)
    N, k = _floats(N), _floats(k)
    if repetition:
        N = N + k - 1.0
    return _where(_chosen(N, k), binom, N, k)


@mirrors(special.perm)
def perm(N: Any, k: Any, exact: Any = False) -> Any:
    _floating("perm", exact)
    N, k = _floats(N), _floats(k)
    return _where(_chosen(N, k), lambda N, k: poch(N - k + 1.0, k), N, k)


def _chosen(N: Any, k: Any) -> Any:
    return e.logical_and(e.less_equal(k, N), e.logical_and(e.greater_equal(N, 0), e.greater_equal(k, 0)))


def _where(holds: Any, function: Any, *xs: Any) -> Any:
    """`function(*xs)` where `holds`, else 0 with all its derivatives."""
    return e.where(holds, function(*(e.where(holds, x, 1.0) for x in xs)), 0.0)
