"""Linear maps, embedding, dropout, normalization, padding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from srcdiff.autograd.modes import no_grad
from srcdiff.dtypes import numpy_dtype
from srcdiff.errors import ArgumentError, ShapeError, UnsupportedError
from srcdiff.nn.functional.common import perhaps_in_place
from srcdiff.ops import layers
from srcdiff.ops.layers import affine, linear_map, standardize, standardize_affine
from srcdiff.ops.linalg import matmul
from srcdiff.ops.losses import one_hot as one_hot_primitive
from srcdiff.ops.reductions import mean
from srcdiff.ops.structural import reshape
from srcdiff.ops.transcendental import sqrt
from srcdiff.random import _bernoulli, drawing
from srcdiff.size import Size
from srcdiff.tape.modes import modes
from srcdiff.tape.overwrite import overwrite
from srcdiff.tape.record import plain
from srcdiff.tape.value import TensorBase

# ---------------------------------------------------------------------------------------------------------- linear maps


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """x W' + b, over the last axis of x; W is (out, in)."""
    try:
        if weight.ndim == 1:
            return matmul(input, weight) if bias is None else matmul(input, weight) + bias
        return linear_map(input, weight) if bias is None else affine(bias, input, weight)
    except ShapeError as error:
        shape = input.shape or (1,)
        if shape[-1] == weight.shape[-1]:
            raise
        raise ShapeError(
            f"mat1 and mat2 shapes cannot be multiplied ({math.prod(shape[:-1])}x{shape[-1]} and "
            f"{weight.shape[-1]}x{weight.shape[0]}): {error}"
        ) from None


def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """sum over i, j of x1[..., i] W[k, i, j] x2[..., j], plus b[k]; W is (out, in1, in2)."""
    if input1.shape[-1] != weight.shape[1] or input2.shape[-1] != weight.shape[2]:
        raise ShapeError(
            f"bilinear: inputs of shapes {tuple(input1.shape)} and {tuple(input2.shape)} do not fit a weight "
            f"{tuple(weight.shape)}"
        )
    out, first, second = weight.shape
    rows = reshape(input1, shape=(*input1.shape[:-1], 1, 1, first))
    half = matmul(rows, weight)  # (..., out, 1, in2)
    columns = reshape(input2, shape=(*input2.shape[:-1], 1, second, 1))
    made = reshape(matmul(half, columns), shape=(*input1.shape[:-1], out))
    return made if bias is None else made + bias


# ----------------------------------------------------------------------------------------------------------- embedding


def embedding(
    input: Any, weight: Any, padding_idx: int | None = None, max_norm: float | None = None, norm_type: float = 2.0,
    scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Any:  # fmt: skip
    """The rows of `weight` that `input`, integers of any shape, tells; the row `padding_idx` gets no gradient."""
    for name, value in (("max_norm", max_norm), ("scale_grad_by_freq", scale_grad_by_freq), ("sparse", sparse)):
        if value:
            raise UnsupportedError(f"embedding: {name}={value} is not supported")
    if padding_idx is not None:
        rows = weight.shape[0]
        if not -rows <= padding_idx < rows:
            raise ArgumentError("Padding_idx must be within num_embeddings")
        padding_idx %= rows
    return layers.embedding(weight, input, padding=padding_idx)


def one_hot(tensor: Any, num_classes: int = -1) -> Any:
    """Integers as rows of 0 with a 1, along a new last axis; -1 classes: as many as the largest integer needs."""
    value = tensor._value if isinstance(tensor, TensorBase) else np.asarray(tensor)
    if value.dtype.kind not in "iu":
        raise ArgumentError("one_hot is only applicable to index tensor.")
    low, high = (int(value.min()), int(value.max())) if value.size else (0, -1)
    if low < 0:
        raise ArgumentError("Class values must be non-negative.")
    if num_classes == -1:
        if not value.size:
            raise ArgumentError("Can not infer total number of classes from empty tensor.")
        num_classes = high + 1
    if high >= num_classes:
        raise ArgumentError("Class values must be smaller than num_classes.")
    return one_hot_primitive(tensor, classes=num_classes, axis=value.ndim, dtype=np.dtype(np.int64))


# ------------------------------------------------------------------------------------------------------------- dropout


@drawing
def _mask(p: float, shape: tuple[int, ...], kind: Any) -> Any:
    """0 with probability p, else 1 / (1 - p)."""
    mask = _bernoulli(1.0 - p, shape, kind)
    if p < 1.0:
        mask *= kind.type(1.0 / (1.0 - p))
    return mask


def _dropout(input: Any, p: float, training: bool, inplace: bool, shape: Sequence[int]) -> Any:
    if not 0.0 <= p <= 1.0:
        raise ArgumentError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0.0:
        return input
    mask = _mask(p, tuple(shape), numpy_dtype(input.dtype))
    return perhaps_in_place(input, input * (plain(mask) if isinstance(input, TensorBase) else mask), inplace)


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """In training, each element 0 with probability p, and the others divided by 1 - p."""
    return _dropout(input, p, training, inplace, input.shape)


def _channels(input: Any) -> tuple[int, ...]:
    return (*input.shape[:2], *(1,) * (input.ndim - 2))


def dropout1d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """`dropout` of whole channels (axis 1)."""
    return _dropout(input, p, training, inplace, _channels(input))


dropout2d = dropout3d = dropout1d


def alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """Dropout that keeps the mean and variance of `selu`'s outputs (Klambauer et al. 2017)."""
    if not 0.0 <= p <= 1.0:
        raise ArgumentError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0.0:
        return input
    kind = numpy_dtype(input.dtype)
    kept = _bernoulli(1.0 - p, tuple(input.shape), kind)
    low = -1.7580993408473766
    if p == 1.0:
        return perhaps_in_place(input, input * kept, inplace)
    factor = kind.type(((1.0 - p) * (1.0 + p * low * low)) ** -0.5)
    shift = (1 - kept) * kind.type(low) * factor - factor * kind.type(low * p)
    return perhaps_in_place(input, input * (kept * factor) + shift, inplace)


# ------------------------------------------------------------------------------------------------------- normalization


def _standardized(input: Any, axis: tuple[int, ...], eps: float, weight: Any, bias: Any) -> Any:
    if weight is None and bias is None:
        return standardize(input, axis=axis, eps=float(eps))
    if weight is not None and bias is not None:
        return standardize_affine(input, weight, bias, axis=axis, eps=float(eps))
    unit = standardize(input, axis=axis, eps=float(eps))
    return unit + bias if weight is None else unit * weight


def layer_norm(
    input: Any, normalized_shape: Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """x minus its mean, divided by sqrt(variance + eps), over the last axes, times weight, plus bias."""
    shape = tuple(normalized_shape)
    if tuple(input.shape[input.ndim - len(shape) :]) != shape:
        raise ShapeError(
            f"Given normalized_shape={list(shape)}, expected input with shape {['*', *shape]}, but got input of size"
            f"{list(input.shape)}"
        )
    return _standardized(input, tuple(range(input.ndim - len(shape), input.ndim)), eps, weight, bias)


def rms_norm(input: Any, normalized_shape: Sequence[int], weight: Any = None, eps: float | None = None) -> Any:
    """x divided by the root of its mean square (plus eps) over the last axes, times weight."""
    shape = tuple(normalized_shape)
    if tuple(input.shape[input.ndim - len(shape) :]) != shape:
        raise ShapeError(f"rms_norm: an input of shape {tuple(input.shape)} does not end in {shape}")
    axis = tuple(range(input.ndim - len(shape), input.ndim))
    least = float(np.finfo(numpy_dtype(input.dtype)).eps) if eps is None else eps
    unit = input / sqrt(mean(input * input, axis=axis, keepdims=True) + least)
    return unit if weight is None else unit * weight


def _along_channels(values: Any, ndim: int) -> Any:
    """A number per channel, shaped to broadcast along axis 1 of an input of `ndim` axes."""
    if values is None or ndim <= 2:
        return values
    return reshape(values, shape=(values.shape[0], *(1,) * (ndim - 2)))


def batch_norm(
    input: Any, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None, training: bool = False,
    momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    """x standardized per channel (axis 1): in training with the batch's mean and variance, which move the running ones
    by `momentum`; else with the running ones."""
    weight, bias = _along_channels(weight, input.ndim), _along_channels(bias, input.ndim)
    axis = (0, *range(2, input.ndim))
    if not training:
        average, spread = _along_channels(running_mean, input.ndim), _along_channels(running_var, input.ndim)
        unit = (input - average) / sqrt(spread + eps)
        unit = unit if weight is None else unit * weight
        return unit if bias is None else unit + bias
    count = math.prod(input.shape[a] for a in axis)
    if count == 1:
        raise ArgumentError(
            f"Expected more than 1 value per channel when training, got input size {Size(input.shape)!r}"
        )
    if running_mean is not None:
        watched = modes.recorder is not None  # it must see how the new values come about
        value = input if watched or not isinstance(input, TensorBase) else input._value
        with no_grad():
            _move(running_mean, momentum, np.mean(value, axis), watched)
            _move(running_var, momentum, np.var(value, axis) * (count / (count - 1)), watched)
    return _standardized(input, axis, eps, weight, bias)


def _move(running: Any, momentum: float, batch: Any, watched: bool) -> None:
    """Move a running statistic toward that of a batch."""
    if watched:
        running.copy_((1 - momentum) * running + momentum * batch)
    else:
        overwrite(running, (1 - momentum) * running._array + momentum * batch)


def instance_norm(
    input: Any, running_mean: Any = None, running_var: Any = None, weight: Any = None, bias: Any = None,
    use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    """x standardized per sample and channel, over the axes from 2 on."""
    if not use_input_stats or running_mean is not None:
        raise UnsupportedError("instance_norm: running statistics are not supported")
    axis = tuple(range(2, input.ndim))
    return _standardized(input, axis, eps, _along_channels(weight, input.ndim), _along_channels(bias, input.ndim))


def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """x standardized per sample and group of channels."""
    samples, channels = input.shape[:2]
    if channels % num_groups:
        raise ShapeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={num_groups}"
        )
    grouped = reshape(input, shape=(samples, num_groups, math.prod(input.shape[1:]) // num_groups))
    unit = reshape(standardize(grouped, axis=(2,), eps=float(eps)), shape=tuple(input.shape))
    weight, bias = _along_channels(weight, input.ndim), _along_channels(bias, input.ndim)
    unit = unit if weight is None else unit * weight
    return unit if bias is None else unit + bias
