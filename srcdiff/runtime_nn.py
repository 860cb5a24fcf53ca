"""Helpers of `runtime` for the layers and losses of neural networks: plain arrays in, plain arrays out."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from srcdiff.errors import OutOfBoundsError
from srcdiff.runtime_choice import where
from srcdiff.runtime_math import log_softmax, xlogy
from srcdiff.runtime_rows import add_rows

Array = Any


# ------------------------------------------------------------------------------------------------------------- layers


def standardize(x: Array, axis: tuple[int, ...], eps: float) -> Array:
    """x minus its mean, divided by its standard deviation; `eps` is added to the variance."""
    count = math.prod(x.shape[a] for a in axis)
    centred = x - np.add.reduce(x, axis=axis, keepdims=True) / count
    variance = np.add.reduce(centred * centred, axis=axis, keepdims=True) / count
    return centred / np.sqrt(variance + eps)


def embedding(weight: Array, index: Array) -> Array:
    """`weight[index]`, with negative numbers refused like those that are too large."""
    if index.size and np.minimum.reduce(index, axis=None) < 0:
        raise OutOfBoundsError("index out of range in self")
    try:
        return weight[index]
    except IndexError:
        raise OutOfBoundsError("index out of range in self") from None


def embedding_adjoint(ct: Array, index: Array, rows: int, padding: int | None) -> Array:
    """Zeros with the rows of `ct` added up at `index`, except at the row `padding`."""
    width = ct.shape[index.ndim :]
    out: Array = add_rows(ct.reshape(index.size, math.prod(width)), index.ravel(), rows).reshape(rows, *width)
    if padding is not None:
        out[padding] = 0
    return out


def one_hot(index: Array, classes: int, axis: int, dtype: Any) -> Array:
    """1 at each index along a new axis, else 0; all 0 for what is no class."""
    flat = index.ravel()
    out = np.zeros((flat.size, classes), dtype)
    rows = np.arange(flat.size)
    if flat.size and not (np.minimum.reduce(flat) >= 0 and np.maximum.reduce(flat) < classes):
        known = (flat >= 0) & (flat < classes)
        rows, flat = rows[known], flat[known]
    out[rows, flat] = 1
    return np.moveaxis(out.reshape(*index.shape, classes), -1, axis)


# ------------------------------------------------------------------------------------------------------------- losses


def huber(difference: Array, delta: float) -> Array:
    """d * d / 2 for small d, and a straight line from |d| = delta on."""
    size = np.abs(difference)
    return where(size < delta, 0.5 * size * size, delta * (size - 0.5 * delta))[()]


def binary_cross_entropy(x: Array, y: Array) -> Array:
    """-(y log x + (1 - y) log(1 - x)), the logarithms not below -100 as in PyTorch. Refuses x outside [0, 1]."""
    if x.size and not (np.minimum.reduce(x, axis=None) >= 0 and np.maximum.reduce(x, axis=None) <= 1):
        raise OutOfBoundsError("all elements of input should be between 0 and 1")
    with np.errstate(divide="ignore"):
        return (y - 1.0) * np.maximum(np.log1p(-x), -100.0) - y * np.maximum(np.log(x), -100.0)


def kl_div(x: Array, y: Array) -> Array:
    """y (log y - x), where x are log-probabilities."""
    return xlogy(y, y) - y * x


def class_weights(target: Array, weight: Array, classes: int, ignored: int) -> Array | None:
    """What each target's class weighs, 0 for ignored ones; None if all weigh 1. Refuses targets that are no class."""
    if target.size == 0:
        return None
    low, high = np.minimum.reduce(target, axis=None), np.maximum.reduce(target, axis=None)
    plain = type(weight) is float
    if plain and low >= 0 and high < classes and not 0 <= ignored < classes:
        return None
    skipped = target == ignored
    bad = target[~skipped & ((target < 0) | (target >= classes))]
    if bad.size:
        raise OutOfBoundsError(f"Target {bad[0]} is out of bounds.")
    return np.where(skipped, 0.0, 1.0 if plain else weight[np.where(skipped, 0, target)])


def class_shares(target: Array, classes: int, ignored: int, mean: bool, dtype: Any) -> Array:
    """How much the loss at each target counts: 1, 0 for ignored ones, divided by the sum of all if `mean`."""
    weights = class_weights(target, 1.0, classes, ignored)
    if weights is None:
        return np.full(target.shape, 1 / max(target.size, 1) if mean else 1, dtype)
    return (weights / np.add.reduce(weights, axis=None) if mean else weights).astype(dtype, copy=False)


def nll_loss(x: Array, target: Array, weight: Array, axis: int, ignored: int, reduction: str) -> Array:
    """Minus x at each target along an axis: weighted, then averaged (by weight), summed or left as they are."""
    classes = x.shape[axis]
    weights = class_weights(target, weight, classes, ignored)
    if x.ndim == 2 and axis == 1 and weights is None:
        picked = x[np.arange(target.size), target]
    else:
        inside = np.expand_dims(target if weights is None else np.where(target == ignored, 0, target), axis)
        picked = np.squeeze(np.take_along_axis(x, inside, axis), axis)
    if weights is not None:
        picked = np.where(weights == 0, 0.0, picked * weights).astype(x.dtype, copy=False)
    if reduction == "none":
        return -picked
    total = -np.add.reduce(picked, axis=None)
    if reduction == "sum":
        return total
    if weights is None and target.size:
        return total / x.dtype.type(target.size)
    with np.errstate(invalid="ignore", divide="ignore"):  # nothing, or nothing but ignored targets: NaN
        return total / x.dtype.type(0 if weights is None else np.add.reduce(weights, axis=None))


def cross_entropy(
    x: Array, target: Array, weight: Array, axis: int, ignored: int, reduction: str
) -> tuple[Array, Array]:
    """`nll_loss` of the logarithms of softmax(x), and these logarithms."""
    logs = log_softmax(x, axis)
    return nll_loss(logs, target, weight, axis, ignored, reduction), logs
