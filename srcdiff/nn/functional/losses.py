"""Losses. `reduction` is "mean", "sum" or "none"; `size_average` and `reduce` are PyTorch's old names for it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from srcdiff.errors import ArgumentError, ShapeError
from srcdiff.nn.functional.common import check_reduction, legacy_reduction, reduced
from srcdiff.ops import losses, neural
from srcdiff.ops.elementwise import greater, not_equal, where
from srcdiff.ops.losses import Loss
from srcdiff.ops.reductions import sum
from srcdiff.ops.selection import maximum
from srcdiff.ops.structural import reshape
from srcdiff.ops.transcendental import exp, log, logaddexp
from srcdiff.size import Size
from srcdiff.tape.heard import warn


def _shape(x: Any) -> Any:
    return Size(getattr(x, "shape", ()))


def _warn_of_broadcasting(input: Any, target: Any) -> None:
    if getattr(input, "_value", input).shape != getattr(target, "_value", target).shape:
        warn(
            f"Using a target size ({_shape(target)!r}) that is different to the input size ({_shape(input)!r}). "
            "This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size.",
            UserWarning, stacklevel=3,
        )  # fmt: skip


def _one_node(kinds: Loss, input: Any, target: Any, weight: Any, reduction: str, **params: Any) -> Any:
    """The loss as one node, or as three if elements are weighted."""
    if weight is not None:
        return reduced(kinds.none(input, target, **params) * weight, reduction)
    if reduction == "mean":
        return kinds.mean(input, target, **params)
    if reduction == "sum":
        return kinds.sum(input, target, **params)
    check_reduction(reduction)
    return kinds.none(input, target, **params)


# ------------------------------------------------------------------------------------------------------------ distances


def mse_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean", weight: Any = None
) -> Any:
    """(x - y) ** 2."""
    _warn_of_broadcasting(input, target)
    reduction = legacy_reduction(size_average, reduce, reduction)
    if weight is not None and reduction == "mean":
        return sum(losses.mse_loss.none(input, target) * weight, axis=None, keepdims=False) / _total(weight)
    return _one_node(losses.mse_loss, input, target, weight, reduction)


def l1_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean", weight: Any = None
) -> Any:
    """|x - y|."""
    _warn_of_broadcasting(input, target)
    reduction = legacy_reduction(size_average, reduce, reduction)
    if weight is not None and reduction == "mean":
        return sum(losses.l1_loss.none(input, target) * weight, axis=None, keepdims=False) / _total(weight)
    return _one_node(losses.l1_loss, input, target, weight, reduction)


def smooth_l1_loss(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean", beta: float = 1.0
) -> Any:
    """(x - y) ** 2 / (2 beta) where |x - y| < beta, else |x - y| - beta / 2."""
    _warn_of_broadcasting(input, target)
    reduction = legacy_reduction(size_average, reduce, reduction)
    if beta < 0:
        raise ArgumentError(f"smooth_l1_loss does not support negative values for beta, got {beta}")
    if beta == 0:
        return _one_node(losses.l1_loss, input, target, None, reduction)
    return _one_node(losses.smooth_l1_loss, input, target, None, reduction, beta=float(beta))


def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None) -> Any:
    """(x - y) ** 2 / 2 where |x - y| < delta, else delta * (|x - y| - delta / 2)."""
    _warn_of_broadcasting(input, target)
    if delta <= 0:
        raise ArgumentError(f"huber_loss does not support non-positive values for delta, got {delta}")
    if weight is not None and reduction == "mean":
        each = losses.huber_loss.none(input, target, delta=float(delta)) * weight
        return sum(each, axis=None, keepdims=False) / _total(weight)
    return _one_node(losses.huber_loss, input, target, weight, reduction, delta=float(delta))


def _total(weight: Any) -> Any:
    return sum(weight, axis=None, keepdims=False)


# -------------------------------------------------------------------------------------------------------- probabilities


def binary_cross_entropy(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean"
) -> Any:
    """-(y log x + (1 - y) log(1 - x)); logarithms are not below -100."""
    if input.shape != target.shape:
        raise ShapeError(
            f"Using a target size ({_shape(target)!r}) that is different to the input size ({_shape(input)!r}) "
            "is deprecated. "
            "Please ensure they have the same size."
        )
    reduction = legacy_reduction(size_average, reduce, reduction)
    return _one_node(losses.binary_cross_entropy, input, target, weight, reduction)


def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
    pos_weight: Any = None,
) -> Any:  # fmt: skip
    """`binary_cross_entropy` of sigmoid(x), without overflow; `pos_weight` multiplies the term of y."""
    if input.shape != target.shape:
        raise ShapeError(f"Target size ({_shape(target)!r}) must be the same as input size ({_shape(input)!r})")
    reduction = legacy_reduction(size_average, reduce, reduction)
    if pos_weight is None:
        return _one_node(losses.binary_cross_entropy_with_logits, input, target, weight, reduction)
    each = (1.0 - target) * input + (1.0 + (pos_weight - 1.0) * target) * logaddexp(-input, 0.0)
    return reduced(each if weight is None else each * weight, reduction)


def kl_div(
    input: Any, target: Any, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
    log_target: bool = False,
) -> Any:  # fmt: skip
    """y (log y - x), where x are logarithms of probabilities; `log_target`: y too. "batchmean" divides by the batch
    size."""
    reduction = legacy_reduction(size_average, reduce, reduction)
    if reduction == "mean":
        warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size. 'batchmean' "
            "divides only "
            "by the batch size, and aligns with the KL div math definition.",
            UserWarning, stacklevel=2,
        )  # fmt: skip
    batch = reduction == "batchmean"
    kind = "sum" if batch else reduction
    if log_target:
        out = reduced(exp(target) * (target - input), kind)
    else:
        out = _one_node(losses.kl_div, input, target, None, kind)
    return out / input.shape[0] if batch and input.ndim else out


def poisson_nll_loss(
    input: Any, target: Any, log_input: bool = True, full: bool = False, size_average: Any = None, eps: float = 1e-8,
    reduce: Any = None, reduction: str = "mean",
) -> Any:  # fmt: skip
    """exp(x) - y x, or without `log_input` x - y log(x + eps); `full` adds Stirling's approximation of log(y!)."""
    each = exp(input) - target * input if log_input else input - target * log(input + eps)
    if full:
        known = where(greater(target, 1), target, 2.0)
        stirling = known * log(known) - known + 0.5 * log(2 * math.pi * known)
        each = each + where(greater(target, 1), stirling, 0.0)
    return reduced(each, legacy_reduction(size_average, reduce, reduction))


def gaussian_nll_loss(
    input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """(log v + (x - y) ** 2 / v) / 2, where v is not below eps (and eps has no say in the gradient)."""
    if not isinstance(var, (int, float)) and var.ndim == input.ndim - 1:
        var = reshape(var, shape=(*var.shape, 1))
    value = getattr(var, "_value", var)
    if (value < 0).any() if hasattr(value, "any") else value < 0:
        raise ArgumentError("var has negative entry/entries")
    low = maximum(value, eps)
    var = var + (low - value)
    difference = input - target
    each = 0.5 * (log(var) + difference * difference / var)
    return reduced(each + 0.5 * math.log(2 * math.pi) if full else each, reduction)


# -------------------------------------------------------------------------------------------------------------- classes


def _class_axis(input: Any, target: Any) -> int:
    """The axis of the classes; the batch sizes must agree."""
    have, want = getattr(input, "_value", input).shape, getattr(target, "_value", target).shape
    if not have:
        raise ShapeError("Expected an input with an axis for the classes, got a 0-d tensor")
    if len(have) == 1:
        return 0
    if want and have[0] != want[0]:
        raise ShapeError(f"Expected input batch_size ({have[0]}) to match target batch_size ({want[0]}).")
    return 1


def nll_loss(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, ignore_index: int = -100, reduce: Any = None,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    """Minus x at the class that `target` tells; x are logarithms of probabilities, classes along axis 1 (of a vector,
    0).

    `weight` has a number per class; the mean is by weight. Targets equal to `ignore_index` count nothing.
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_reduction(reduction)
    return losses.nll_loss(
        input,
        target,
        1.0 if weight is None else weight,
        axis=_class_axis(input, target),
        ignored=ignore_index,
        reduction=reduction,
    )


def cross_entropy(
    input: Any, target: Any, weight: Any = None, size_average: Any = None, ignore_index: int = -100, reduce: Any = None,
    reduction: str = "mean", label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    """`nll_loss` of log_softmax(x). `target` holds classes, or as floats the probabilities of all classes (same shape
    as x).

    `label_smoothing` mixes that share of even probabilities into the target.
    """
    reduction = legacy_reduction(size_average, reduce, reduction)
    check_reduction(reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise ArgumentError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    axis = _class_axis(input, target)
    if target.dtype.kind == "f" and target.shape == input.shape:
        return _cross_entropy_of_probabilities(input, target, weight, axis, reduction, float(label_smoothing))
    if label_smoothing:
        return _smoothed(input, target, weight, axis, ignore_index, reduction, float(label_smoothing))
    factor = 1.0 if weight is None else weight
    return losses.cross_entropy(input, target, factor, axis=axis, ignored=ignore_index, reduction=reduction)[0]


def _per_class(weight: Any, ndim: int, axis: int) -> Any:
    return reshape(weight, shape=(weight.shape[0], *(1,) * (ndim - axis - 1)))


def _cross_entropy_of_probabilities(
    input: Any, target: Any, weight: Any, axis: int, reduction: str, smoothing: float
) -> Any:
    classes = input.shape[axis]
    if smoothing:
        target = target * (1.0 - smoothing) + smoothing / classes
    each = neural.log_softmax(input, axis=axis) * target
    if weight is not None:
        each = each * _per_class(weight, input.ndim, axis)
    if reduction == "none":
        return -sum(each, axis=axis, keepdims=False)
    total = -sum(each, axis=None, keepdims=False)
    return total / max(math.prod(input.shape) // classes, 1) if reduction == "mean" else total


def _smoothed(input: Any, target: Any, weight: Any, axis: int, ignored: int, reduction: str, smoothing: float) -> Any:
    classes = input.shape[axis]
    logs = neural.log_softmax(input, axis=axis)
    each = logs if weight is None else logs * _per_class(weight, input.ndim, axis)
    counts = not_equal(target, ignored)
    even = where(counts, -sum(each, axis=axis, keepdims=False), 0.0)
    factor = 1.0 if weight is None else weight
    hard = losses.nll_loss(logs, target, factor, axis=axis, ignored=ignored, reduction=reduction)
    if reduction == "mean":
        ones = np.full(input.shape, -1, logs.dtype)
        total = losses.nll_loss(ones, target, factor, axis=axis, ignored=ignored, reduction="sum")
        even = sum(even, axis=None, keepdims=False) / total
    elif reduction == "sum":
        even = sum(even, axis=None, keepdims=False)
    return (1.0 - smoothing) * hard + (smoothing / classes) * even
