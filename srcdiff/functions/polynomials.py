"""NumPy's functions on polynomials, given by their coefficients from the highest power down."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from srcdiff.functions.dispatch import implements, plain
from srcdiff.functions.indexing import getitem
from srcdiff.functions.joining import concatenate, stack
from srcdiff.functions.linalg import eigvals, inv, lstsq
from srcdiff.functions.products import outer
from srcdiff.functions.reductions import as_array
from srcdiff.functions.shaping import arrayed, atleast_1d, reshape
from srcdiff.ops.elementwise import real


@implements(np.vander)
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    x = arrayed(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    count = x.shape[0] if N is None else operator.index(N)
    x = as_array(x, np.promote_types(x.dtype, int))
    if not count:
        return np.zeros((x.shape[0], 0), x.dtype)
    powers = [x**k if k else x * 0 + 1 for k in range(count)]
    return stack(powers if increasing else powers[::-1], axis=1)


def _coefficients(p: Any) -> Any:
    p = atleast_1d(p)
    if p.ndim != 1:
        raise ValueError("the coefficients of a polynomial are a one-dimensional array")
    return p


def _lengthened(p: Any, n: int) -> Any:
    """Zeros in front, to n coefficients."""
    return concatenate([np.zeros(n - p.shape[0], p.dtype), p]) if p.shape[0] < n else p


@implements(np.polyadd)
def polyadd(a1: Any, a2: Any) -> Any:
    a1, a2 = _coefficients(a1), _coefficients(a2)
    n = max(a1.shape[0], a2.shape[0])
    return _lengthened(a1, n) + _lengthened(a2, n)


@implements(np.polysub)
def polysub(a1: Any, a2: Any) -> Any:
    return polyadd(a1, -_coefficients(a2))


@implements(np.polymul)
def polymul(a1: Any, a2: Any) -> Any:
    return np.convolve(_coefficients(a1), _coefficients(a2))


@implements(np.polydiv)
def polydiv(u: Any, v: Any) -> Any:
    u, v = _coefficients(u) + 0.0, _coefficients(v) + 0.0
    n, m = u.shape[0] - 1, v.shape[0] - 1
    lead = getitem(v, 0)
    quotient, rest = [], u
    for k in range(n - m + 1):
        factor = getitem(rest, k) / lead
        quotient.append(factor)
        rest = concatenate([getitem(rest, slice(0, k)), getitem(rest, slice(k, k + m + 1)) - factor * v,
                            getitem(rest, slice(k + m + 1, None))])  # fmt: skip
    start = 0
    values = plain(rest)
    while start < len(values) - 1 and np.allclose(values[start], 0, rtol=1e-14):
        start += 1
    return (stack(quotient) if quotient else np.zeros(1, plain(u).dtype)), getitem(rest, slice(start, None))


@implements(np.polyder)
def polyder(p: Any, m: Any = 1) -> Any:
    m, p = operator.index(m), _coefficients(p)
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    for _ in range(m):
        n = p.shape[0] - 1
        p = getitem(p, slice(0, max(n, 0))) * np.arange(n, 0, -1)
    return p


@implements(np.polyint)
def polyint(p: Any, m: Any = 1, k: Any = None) -> Any:
    m, p = operator.index(m), _coefficients(p)
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    constants = atleast_1d(np.zeros(m) if k is None else k)
    if constants.shape[0] == 1 and m > 1:
        constants = constants * np.ones(m)
    if constants.shape[0] < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    for j in range(m):
        raised = p / np.arange(p.shape[0], 0, -1)
        p = concatenate([raised, getitem(constants, slice(j, j + 1))])
    return p


@implements(np.poly)
def poly(seq_of_zeros: Any) -> Any:
    zeros = atleast_1d(seq_of_zeros)
    if zeros.ndim == 2 and zeros.shape[0] == zeros.shape[1] != 0:
        zeros = eigvals(zeros)
    if zeros.ndim != 1:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    if not zeros.shape[0]:
        return 1.0
    made: Any = np.ones(1, np.result_type(plain(zeros).dtype, np.float32))
    for k in range(zeros.shape[0]):
        nothing = np.zeros(1, plain(made).dtype)
        made = concatenate([made, nothing]) - getitem(zeros, k) * concatenate([nothing, made])
    values = plain(zeros)
    if values.dtype.kind == "c" and np.all(np.sort(values) == np.sort(values.conjugate())):
        made = real(made)  # NumPy gives real coefficients where the zeros come in conjugate pairs
    return made


@implements(np.roots)
def roots(p: Any) -> Any:
    p = _coefficients(p)
    nonzero = np.flatnonzero(plain(p))
    if not len(nonzero):
        return np.zeros(0)
    trailing = p.shape[0] - 1 - int(nonzero[-1])
    p = getitem(p, slice(int(nonzero[0]), int(nonzero[-1]) + 1))
    n = p.shape[0] - 1
    if n < 1:
        return np.zeros(trailing, plain(p).dtype)
    p = p if p.dtype.kind in "fc" else p * 1.0
    first = -getitem(p, slice(1, None)) / getitem(p, 0)
    found = eigvals(concatenate([reshape(first, (1, n)), getitem(np.eye(n, dtype=plain(p).dtype), slice(0, n - 1))]))
    return concatenate([found, np.zeros(trailing, plain(found).dtype)]) if trailing else found


@implements(np.polyfit)
def polyfit(x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False) -> Any:
    x, y = arrayed(x) + 0.0, arrayed(y) + 0.0
    order = operator.index(deg) + 1
    if order < 1:
        raise ValueError("expected deg >= 0")
    if x.ndim != 1 or not x.shape[0] or not 1 <= y.ndim <= 2 or x.shape[0] != y.shape[0]:
        raise TypeError("polyfit: expected a vector x, and y of the same length with one or two axes")
    if rcond is None:
        rcond = x.shape[0] * float(np.finfo(plain(x).dtype).eps)
    left, right = vander(x, order), y
    if w is not None:
        w = arrayed(w) + 0.0
        left = left * reshape(w, (-1, 1))
        right = right * (reshape(w, (-1, 1)) if right.ndim == 2 else w)
    scale = np.sqrt(np.sum(left * left, axis=0))
    c, residuals, rank, s = lstsq(left / scale, right, rcond)
    c = c / (reshape(scale, (-1, 1)) if c.ndim == 2 else scale)
    if full:
        return c, residuals, rank, s, rcond
    if not cov:
        return c
    base = inv(np.transpose(left / scale) @ (left / scale)) / outer(scale, scale)
    factor: Any = 1.0
    if cov != "unscaled":
        if x.shape[0] <= order:
            raise ValueError("the number of data points must exceed order to scale the covariance matrix")
        factor = residuals / (x.shape[0] - order)
    if y.ndim == 1:
        return c, base * factor
    return c, reshape(base, (order, order, 1)) * factor
