"""Distances and norms along an axis."""

from __future__ import annotations

import math
from typing import Any

from srcdiff.nn.functional.common import axis_of
from srcdiff.ops.elementwise import absolute, equal, where
from srcdiff.ops.families import broadcast_shapes
from srcdiff.ops.reductions import max_, sum
from srcdiff.ops.selection import maximum
from srcdiff.ops.transcendental import sqrt


def norm_along(x: Any, p: float, axis: int, keepdims: bool) -> Any:
    """The p-norm along an axis, with gradient 0 where it is 0."""
    if p == math.inf:
        return max_(absolute(x), axis=axis, keepdims=keepdims)
    total = sum(x * x if p == 2 else absolute(x) ** p, axis=axis, keepdims=keepdims)
    zero = equal(total, 0)
    safe = where(zero, 1.0, total)
    return where(zero, 0.0, sqrt(safe) if p == 2 else safe ** (1.0 / p))


def normalize(input: Any, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Any = None) -> Any:
    """x divided by its p-norm along `dim`, or by eps if that is larger."""
    return input / maximum(norm_along(input, p, axis_of(dim, input.ndim), True), eps)


def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """The cosine of the angle between vectors along `dim`; norms are not below eps."""
    axis = axis_of(dim, len(broadcast_shapes(tuple(x1.shape), tuple(x2.shape)))) - max(x1.ndim, x2.ndim)
    one, two = (x / maximum(norm_along(x, 2.0, x.ndim + axis, True), eps) for x in (x1, x2))
    return sum(one * two, axis=max(x1.ndim, x2.ndim) + axis, keepdims=False)


def pairwise_distance(x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    """The p-norm of x1 - x2 + eps along the last axis."""
    difference = x1 - x2 + eps
    return norm_along(difference, p, difference.ndim - 1, keepdim)
