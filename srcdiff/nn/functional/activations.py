"""Activation functions, each one recorded node where PyTorch's is."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.errors import ArgumentError, ShapeError
from srcdiff.nn.functional.common import as_dtype, axis_of, of_one, perhaps_in_place
from srcdiff.ops import layers, neural
from srcdiff.ops import transcendental as elementary
from srcdiff.ops.elementwise import absolute
from srcdiff.ops.indexing import take_window
from srcdiff.ops.structural import reshape
from srcdiff.random import _rand, _uniform
from srcdiff.tape.heard import warn

_relu, _gelu, _silu, _mish = map(of_one, (neural.relu, neural.gelu, neural.silu, neural.mish))
_log_sigmoid, _sigmoid, _tanh = map(of_one, (neural.log_sigmoid, elementary.sigmoid, elementary.tanh))

# ------------------------------------------------------------------------------------------------------------ piecewise


def relu(input: Any, inplace: bool = False) -> Any:
    """max(x, 0), slope 0 at 0."""
    out = _relu(input)
    return perhaps_in_place(input, out, True) if inplace else out


def relu_(input: Any) -> Any:
    """`relu` in place."""
    return relu(input, True)


def leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    """x where positive, else negative_slope * x."""
    return perhaps_in_place(input, neural.leaky_relu(input, slope=float(negative_slope)), inplace)


def prelu(input: Any, weight: Any) -> Any:
    """x where positive, else weight * x; `weight` has one number, or one per channel (axis 1)."""
    if weight.size == 1:
        return layers.prelu(input, reshape(weight, shape=(1,)) if input.ndim else reshape(weight, shape=()))
    if input.ndim < 2 or weight.size != input.shape[1]:
        raise ShapeError(
            f"prelu: {weight.size} weights do not fit the channels of an input of shape {tuple(input.shape)}"
        )
    return layers.prelu(input, reshape(weight, shape=(weight.size, *(1,) * (input.ndim - 2))))


def rrelu(
    input: Any, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Any:
    """leaky_relu whose slope is drawn for each element in training, and is the middle of the bounds otherwise."""
    slope: Any = (lower + upper) / 2
    if training:
        slope = _uniform(lower, upper, input.shape, input.dtype)
    return perhaps_in_place(input, layers.prelu(input, slope), inplace)


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """x within the bounds; slope 0 at the bounds, unlike `clamp`."""
    if min_val > max_val:
        raise ArgumentError("min_val cannot be greater than max_val")
    return perhaps_in_place(input, neural.hardtanh(input, low=float(min_val), high=float(max_val)), inplace)


def relu6(input: Any, inplace: bool = False) -> Any:
    """x within 0 and 6."""
    return hardtanh(input, 0.0, 6.0, inplace)


def hardsigmoid(input: Any, inplace: bool = False) -> Any:
    """(x + 3) / 6 within 0 and 1."""
    return perhaps_in_place(input, layers.hardsigmoid(input), inplace)


def hardswish(input: Any, inplace: bool = False) -> Any:
    """x * hardsigmoid(x)."""
    return perhaps_in_place(input, layers.hardswish(input), inplace)


def threshold(input: Any, threshold: float, value: float, inplace: bool = False) -> Any:
    """x above the threshold, else the value."""
    return perhaps_in_place(input, layers.threshold(input, level=float(threshold), value=float(value)), inplace)


def softshrink(input: Any, lambd: float = 0.5) -> Any:
    """x moved towards 0 by lambd."""
    return layers.softshrink(input, bound=float(lambd))


def hardshrink(input: Any, lambd: float = 0.5) -> Any:
    """x, and 0 within -lambd and lambd."""
    return layers.hardshrink(input, bound=float(lambd))


# ----------------------------------------------------------------------------------------------- exponential and smooth


def elu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """x where positive, else alpha * (exp(x) - 1)."""
    return perhaps_in_place(input, neural.elu(input, alpha=float(alpha), scale=1.0, rate=1.0), inplace)


def selu(input: Any, inplace: bool = False) -> Any:
    """The self-normalizing `elu` (Klambauer et al. 2017), with their two constants."""
    out = neural.elu(input, alpha=1.6732632423543772, scale=1.0507009873554805, rate=1.0)
    return perhaps_in_place(input, out, inplace)


def celu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """x where positive, else alpha * (exp(x / alpha) - 1)."""
    return perhaps_in_place(input, neural.elu(input, alpha=float(alpha), scale=1.0, rate=1.0 / alpha), inplace)


def softplus(input: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """log(1 + exp(beta x)) / beta; x itself where beta x exceeds the threshold."""
    return neural.softplus(input, beta=float(beta), threshold=float(threshold))


def gelu(input: Any, approximate: str = "none") -> Any:
    """x times the normal distribution function of x, or its approximation by tanh."""
    if approximate not in ("none", "tanh"):
        raise ArgumentError("approximate argument must be either none or tanh.")
    return _gelu(input) if approximate == "none" else neural.gelu_tanh(input)


def silu(input: Any, inplace: bool = False) -> Any:
    """x * sigmoid(x)."""
    return perhaps_in_place(input, _silu(input), inplace)


def mish(input: Any, inplace: bool = False) -> Any:
    """x * tanh(softplus(x))."""
    return perhaps_in_place(input, _mish(input), inplace)


def logsigmoid(input: Any) -> Any:
    """log(sigmoid(x)), without overflow."""
    return _log_sigmoid(input)


def sigmoid(input: Any) -> Any:
    """1 / (1 + exp(-x)), without overflow."""
    return _sigmoid(input)


def tanh(input: Any) -> Any:
    """The hyperbolic tangent."""
    return _tanh(input)


def tanhshrink(input: Any) -> Any:
    """x - tanh(x)."""
    return input - elementary.tanh(input)


def softsign(input: Any) -> Any:
    """x / (1 + |x|)."""
    return input / (absolute(input) + 1)


def glu(input: Any, dim: int = -1) -> Any:
    """The first half along `dim`, times the sigmoid of the second."""
    axis = axis_of(dim, input.ndim)
    length = input.shape[axis]
    if length % 2:
        raise ShapeError(f"Halving dimension must be even, but dimension {axis} is size {length}")
    first, second = (
        take_window(input, tuple((a, b) if k == axis else (0, n) for k, n in enumerate(input.shape)))
        for a, b in ((0, length // 2), (length // 2, length))
    )
    return first * elementary.sigmoid(second)


# -------------------------------------------------------------------------------------------------------------- softmax


def softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """exp(x) / sum(exp(x)) along `dim`."""
    return neural.softmax(as_dtype(input, dtype), axis=_axis(input, dim, "softmax"))


def log_softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """log(softmax(x)) along `dim`."""
    return neural.log_softmax(as_dtype(input, dtype), axis=_axis(input, dim, "log_softmax"))


def softmin(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """softmax(-x) along `dim`."""
    return neural.softmax(-as_dtype(input, dtype), axis=_axis(input, dim, "softmin"))


def gumbel_softmax(logits: Any, tau: float = 1.0, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Any:
    """A draw from softmax(logits) made differentiable (Jang et al. 2017); `hard`: one-hot values with the soft
    gradient."""
    axis = axis_of(dim, logits.ndim)
    tiny = float(np.finfo(logits.dtype).tiny)
    noise = -np.log(np.maximum(-np.log(np.maximum(_rand(logits.shape, logits.dtype), tiny)), tiny))
    soft = neural.softmax((logits + noise) / tau, axis=axis)
    if not hard:
        return soft
    value = soft._value if hasattr(soft, "_value") else soft
    return soft + (_winners(value, axis) - value)


def _winners(value: Any, axis: int) -> Any:
    """1 at the maximum along an axis, else 0."""
    out = np.zeros_like(value)
    np.put_along_axis(out, np.argmax(value, axis, keepdims=True), 1, axis)
    return out


def _axis(x: Any, dim: int | None, name: str) -> int:
    if dim is None:
        warn(
            f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an "
            "argument.",
            UserWarning, stacklevel=3,
        )  # fmt: skip
        dim = 0 if x.ndim in (0, 1, 3) else 1
    return axis_of(dim, x.ndim)
