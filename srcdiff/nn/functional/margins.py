"""Losses with a margin, and those of pairs and triplets."""

from __future__ import annotations

import math
from typing import Any

from srcdiff.nn.functional.common import legacy_reduction, reduced
from srcdiff.nn.functional.distances import cosine_similarity, pairwise_distance
from srcdiff.ops.elementwise import equal, where
from srcdiff.ops.selection import clip, maximum, minimum
from srcdiff.ops.transcendental import logaddexp


def hinge_embedding_loss(
    input: Any, target: Any, margin: float = 1.0, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """x where the target is 1, max(0, margin - x) where it is -1."""
    far = where(equal(target, -1), maximum(margin - input, 0.0), 0.0)
    return reduced(far + where(equal(target, 1), input, 0.0), legacy_reduction(size_average, reduce, reduction))


def margin_ranking_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """max(0, -y (x1 - x2) + margin)."""
    each = clip(-target * (input1 - input2) + margin, 0.0, math.inf)
    return reduced(each, legacy_reduction(size_average, reduce, reduction))


def soft_margin_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """log(1 + exp(-y x))."""
    return reduced(logaddexp(-target * input, 0.0), legacy_reduction(size_average, reduce, reduction))


def cosine_embedding_loss(
    input1: Any, input2: Any, target: Any, margin: float = 0.0, size_average: Any = None, reduce: Any = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1."""
    cosine = cosine_similarity(input1, input2, dim=-1)
    far = where(equal(target, -1), clip(cosine - margin, 0.0, math.inf), 0.0)
    each = far + where(equal(target, 1), 1.0 - cosine, 0.0)
    return reduced(each, legacy_reduction(size_average, reduce, reduction))


def triplet_margin_loss(
    anchor: Any, positive: Any, negative: Any, margin: float = 1.0, p: float = 2, eps: float = 1e-6, swap: bool = False,
    size_average: Any = None, reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """max(0, distance to the positive - distance to the negative + margin)."""
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = minimum(far, pairwise_distance(positive, negative, p, eps))
    each = clip(near - far + margin, 0.0, math.inf)
    return reduced(each, legacy_reduction(size_average, reduce, reduction))
