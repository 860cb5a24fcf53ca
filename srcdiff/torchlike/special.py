"""Special functions under PyTorch's names."""

from __future__ import annotations

from typing import Any

from srcdiff.ops import elementwise as el
from srcdiff.ops import special as ops
from srcdiff.ops.transcendental import log, log1p
from srcdiff.torchlike.elementary import (
    digamma,
    lgamma,
    sigmoid,
    unary,
)
from srcdiff.torchlike.support import arrayed, lift

expit = sigmoid
gammaln = lgamma
psi = digamma
ndtr = unary("ndtr")
log_ndtr = unary("log_ndtr")


def i1(input: Any) -> Any:
    """The modified Bessel function of order 1."""
    return ops.bessel_i(lift(input), n=1)


def xlog1py(input: Any, other: Any) -> Any:
    """input * log1p(other), and 0 where input is 0."""
    x, y = lift(input), lift(other)
    zero = el.equal(x, 0)
    return el.where(zero, 0.0, x * log1p(el.where(zero, 0.0, y)))


def entr(input: Any) -> Any:
    """-x log x; 0 at 0, -inf below."""
    x = arrayed(input)
    positive = el.greater(x, 0)
    return el.where(positive, -(x * log(el.where(positive, x, 1.0))), el.where(el.equal(x, 0), 0.0, float("-inf")))


def ndtri(input: Any) -> Any:
    """The inverse of the normal distribution's `ndtr`."""
    return 2.0**0.5 * ops.erfinv(2.0 * lift(input) - 1.0)


def multigammaln(input: Any, p: int) -> Any:
    """The logarithm of the multivariate gamma function of dimension p."""
    x = arrayed(input)
    total = 0.25 * p * (p - 1) * 1.1447298858494002
    for k in range(p):
        total = total + ops.lgamma(x - 0.5 * k)
    return total
