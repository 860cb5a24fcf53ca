"""Reductions, scans and activation functions for `runtime`: plain arrays in, plain arrays out."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from srcdiff.runtime_choice import where
from srcdiff.runtime_special import ndtr

Array = Any

_MANY: Final = 64  # rows, from which on it pays to do more than call NumPy
_SHORT: Final = 512  # numbers in a row that NumPy is slow to reduce: 20 ns for the sum, 100 for the maximum

# ------------------------------------------------------------------------------------------------------- reductions


def mean(x: Array, axis: Any, keepdims: Any) -> Array:
    """np.mean, bit for bit, in a third of the time for small float arrays.

    NumPy divides the sum in float64 and rounds to float32: that is the float32 quotient if the count is a float32.
    """
    char = np.asarray(x).dtype.char
    if char not in "fd" or x.size == 0:
        return np.mean(x, axis=axis, keepdims=keepdims)
    total = np.add.reduce(x, axis=axis, keepdims=keepdims)
    count = x.size // total.size
    return total / count if char == "d" or count < 2**24 else np.mean(x, axis=axis, keepdims=keepdims)


def row_max(x: Array, keepdims: bool) -> Array:
    """np.max along the last axis of many short rows, in a third of the time."""
    n = x.shape[-1]
    rows = x.reshape(-1, n)
    if n <= 32:
        out = np.maximum.reduce(np.ascontiguousarray(rows.T), axis=0)
    else:
        at = rows.argmax(axis=1)
        at += np.arange(0, rows.size, n)
        out = rows.reshape(-1).take(at)
    return out.reshape(*x.shape[:-1], 1) if keepdims else out.reshape(x.shape[:-1])


def has_short_rows(x: Any, axis: Any) -> bool:
    """Whether an array (or the type of one) has many short rows, along which `axis` goes: NumPy is slow there."""
    many = x.ndim > 1 and 1 < x.shape[-1] <= _SHORT and x.size >= _MANY * x.shape[-1] and x.dtype.char in "fd"
    return many and axis in (-1, x.ndim - 1, (-1,), (x.ndim - 1,))


def _top(x: Array, axis: Any) -> Array:
    """The maximum along axes, which stay with length 1; -inf for nothing."""
    short = has_short_rows(x, axis)
    return row_max(x, True) if short else np.maximum.reduce(x, axis=axis, keepdims=True, initial=-np.inf)


def _total(x: Array, axis: Any) -> Array:
    """The sum along axes, which stay with length 1."""
    short = has_short_rows(x, axis)
    return np.einsum("...a->...", x)[..., None] if short else np.add.reduce(x, axis=axis, keepdims=True)


def logsumexp(x: Array, axis: Any, keepdims: bool) -> Array:
    """log(sum(exp(x))) without overflow; -inf for nothing."""
    top = _top(x, axis)
    top = np.where(np.isfinite(top), top, np.zeros((), top.dtype))
    total = _total(np.exp(x - top), axis)
    with np.errstate(divide="ignore"):
        out = np.log(total) + top
    return out if keepdims else np.squeeze(out, axis=axis)[()]


def attains(x: Array, extreme: Array) -> Array:
    """Where x equals the maximum or minimum of its group: the ties, or where that is NaN the NaNs."""
    return (x == extreme) | (x != x)


# ------------------------------------------------------------------------------------------------------------ scans


def shift(x: Array, n: int, axis: int, fill: float) -> Array:
    """x moved by n places towards higher indices of `axis` (lower, if negative), `fill` coming in."""
    out = np.full_like(x, fill)
    length = x.shape[axis]
    n = max(-length, min(n, length))
    here, there = (slice(max(n, 0), length + min(n, 0)), slice(max(-n, 0), length - max(n, 0)))
    before = (slice(None),) * axis
    out[(*before, here)] = x[(*before, there)]
    return out


def scan(a: Array, b: Array, axis: int, reverse: bool) -> Array:
    """The solution s of s[k] = b[k] + a[k] * s[k - 1] along an axis (s[k + 1] if `reverse`), starting from 0."""
    a, b = np.broadcast_arrays(a, b)
    dtype = np.result_type(a.dtype, b.dtype)
    factors, terms = (np.moveaxis(v, axis, 0)[:: -1 if reverse else 1] for v in (a, b))
    if b.ndim == 1 and dtype.char == "d":  # Python's floats are the same numbers, and quicker one at a time
        state, states = 0.0, []
        for factor, term in zip(factors.tolist(), terms.tolist(), strict=True):
            state = term + factor * state
            states.append(state)
        out = np.array(states, dtype)
    else:
        out = np.empty(terms.shape, dtype)
        before: Any = np.zeros(terms.shape[1:], dtype)
        for k in range(len(terms)):
            before = out[k] = terms[k] + factors[k] * before
    return np.ascontiguousarray(np.moveaxis(out[:: -1 if reverse else 1], 0, axis))


def cummax_index(x: Array, axis: int) -> Array:
    """For each place along the axis, where the maximum so far was last attained."""
    return _last_hit(attains(x, np.maximum.accumulate(x, axis=axis)), axis)


def cummin_index(x: Array, axis: int) -> Array:
    """For each place along the axis, where the minimum so far was last attained."""
    return _last_hit(attains(x, np.minimum.accumulate(x, axis=axis)), axis)


def _last_hit(hits: Array, axis: int) -> Array:
    places = np.arange(hits.shape[axis]).reshape(-1, *(1,) * (hits.ndim - axis - 1))
    return np.maximum.accumulate(np.where(hits, places, 0), axis=axis)


def product_of_others(x: Array, axis: int) -> Array:
    """For each element the product of all other elements along the axis; never divides, so zeros are no exception."""
    before = np.multiply.accumulate(shift(x, 1, axis, 1.0), axis=axis)
    after = np.flip(np.multiply.accumulate(np.flip(shift(x, -1, axis, 1.0), axis), axis=axis), axis)
    return before * after


# ------------------------------------------------------------------------------------------------ activation functions

_LARGEST_EXPONENT: Final = {char: math.log(float(np.finfo(char).max)) for char in "efd"}


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)), without overflow."""
    limit = _LARGEST_EXPONENT.get(np.asarray(x).dtype.char)
    return 1.0 / (1.0 + np.exp(-x if limit is None else np.minimum(-x, limit)))


def log_sigmoid(x: Array) -> Array:
    """log(sigmoid(x))."""
    return -np.logaddexp(0.0, -x)


def logit(x: Array) -> Array:
    """log(x / (1 - x)), infinite at 0 and 1, NaN outside."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(x) - np.log1p(-x)


def xlogy(x: Array, y: Array) -> Array:
    """x * log(y), 0 where x is 0 and y is not NaN."""
    zero = (x == 0) & (y == y)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(zero, 0.0, x * np.log(np.where(zero, 1.0, y)))[()]


def softplus(x: Array, beta: float, threshold: float) -> Array:
    """log(1 + exp(beta x)) / beta, and x itself where beta x exceeds the threshold."""
    return where(x * beta > threshold, x, np.logaddexp(x * beta, 0.0) / beta)[()]


def silu(x: Array) -> Array:
    """x * sigmoid(x)."""
    return x * sigmoid(x)


def mish(x: Array) -> Array:
    """x * tanh(log(1 + exp(x)))."""
    return x * np.tanh(np.logaddexp(x, 0.0))


def elu(x: Array, alpha: float, scale: float, rate: float) -> Array:
    """scale * x for positive x, else scale * alpha * (exp(rate x) - 1)."""
    return where(x > 0, x * scale, np.expm1(np.minimum(x, 0.0) * rate) * (scale * alpha))[()]


def leaky_relu(x: Array, slope: float) -> Array:
    """x where it is positive, else slope * x."""
    return where(x > 0, x, x * slope)[()]


def clip(x: Array, low: Array, high: Array) -> Array:
    """np.clip, in a quarter of the time for small float arrays."""
    if np.asarray(x).dtype.kind != "f":
        return np.clip(x, low, high)
    return np.minimum(np.maximum(x, low), high)


def gelu(x: Array) -> Array:
    """x times the normal distribution function of x."""
    return x * ndtr(x)


def gelu_tanh(x: Array) -> Array:
    """gelu with the distribution function approximated by a hyperbolic tangent."""
    return 0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * (x * x * x))))


def softmax(x: Array, axis: int) -> Array:
    """exp(x) / sum(exp(x)) along an axis, without overflow."""
    powers = np.exp(x - _top(x, axis))
    return powers / _total(powers, axis)


def log_softmax(x: Array, axis: int) -> Array:
    """log(softmax(x))."""
    low = x - _top(x, axis)
    return low - np.log(_total(np.exp(low), axis))
