"""Initial values of parameters. Functions ending in _ fill a tensor in place, outside the graph, and return it.

Bounds and gains are those of Glorot and Bengio 2010 (`xavier`) and He et al. 2015 (`kaiming`); draws come from
`generator` or the default generator.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from srcdiff.errors import ArgumentError
from srcdiff.random import Generator, _normal, _randn, _uniform
from srcdiff.tape.overwrite import overwrite


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor by which a nonlinearity makes the spread of its inputs smaller, inverted."""
    gains = {"sigmoid": 1.0, "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}
    linear = ("linear", *(f"conv{t}{n}d" for t in ("", "_transpose") for n in (1, 2, 3)))
    if nonlinearity in linear:
        return 1.0
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ArgumentError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity not in gains:
        raise ArgumentError(f"Unsupported nonlinearity {nonlinearity}")
    return gains[nonlinearity]


def _fans(tensor: Any) -> tuple[int, int]:
    """How many inputs reach one output, and how many outputs one input reaches; axes: out, in, the rest a field."""
    if tensor.ndim < 2:
        raise ArgumentError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _filled(tensor: Any, value: Any) -> Any:
    overwrite(tensor, value)
    return tensor


def uniform_(tensor: Any, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Any:
    """Uniform on [a, b)."""
    return _filled(tensor, _uniform(a, b, tensor.shape, tensor.dtype, generator))


def normal_(tensor: Any, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Any:
    """Normal with this mean and standard deviation."""
    return _filled(tensor, _normal(mean, std, tensor.shape, tensor.dtype, generator))


def trunc_normal_(
    tensor: Any,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Any:
    """Normal, drawn again where it falls outside [a, b]."""
    values = _normal(mean, std, tensor.shape, tensor.dtype, generator)
    for _ in range(1000):
        outside = (values < a) | (values > b)
        count = int(outside.sum())
        if not count:
            return _filled(tensor, values)
        values[outside] = _normal(mean, std, (count,), tensor.dtype, generator)
    return _filled(tensor, np.clip(values, a, b))


def constant_(tensor: Any, val: float) -> Any:
    """All `val`."""
    return _filled(tensor, val)


def ones_(tensor: Any) -> Any:
    """All 1."""
    return _filled(tensor, 1)


def zeros_(tensor: Any) -> Any:
    """All 0."""
    return _filled(tensor, 0)


def eye_(tensor: Any) -> Any:
    """The identity matrix."""
    if tensor.ndim != 2:
        raise ArgumentError("Only tensors with 2 dimensions are supported")
    return _filled(tensor, np.eye(*tensor.shape))


def dirac_(tensor: Any, groups: int = 1) -> Any:
    """The kernel of a convolution that leaves its input as it is, in each group."""
    if not 3 <= tensor.ndim <= 5:
        raise ArgumentError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups:
        raise ArgumentError("dim 0 must be divisible by groups")
    value = np.zeros(tensor.shape)
    each = tensor.shape[0] // groups
    centre = tuple(n // 2 for n in tensor.shape[2:])
    for group in range(groups):
        for k in range(min(each, tensor.shape[1])):
            value[(group * each + k, k, *centre)] = 1
    return _filled(tensor, value)


def xavier_uniform_(tensor: Any, gain: float = 1.0, generator: Generator | None = None) -> Any:
    """Uniform within gain * sqrt(6 / (fan_in + fan_out))."""
    bound = gain * math.sqrt(6.0 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Any, gain: float = 1.0, generator: Generator | None = None) -> Any:
    """Normal with standard deviation gain * sqrt(2 / (fan_in + fan_out))."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_fans(tensor))), generator)


def _kaiming_std(tensor: Any, a: float, mode: str, nonlinearity: str) -> float:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ArgumentError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan = _fans(tensor)[mode == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def kaiming_uniform_(
    tensor: Any,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Any:
    """Uniform within gain * sqrt(3 / fan)."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", UserWarning, stacklevel=2)
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Any,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Any:
    """Normal with standard deviation gain / sqrt(fan)."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", UserWarning, stacklevel=2)
        return tensor
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def orthogonal_(tensor: Any, gain: float = 1, generator: Generator | None = None) -> Any:
    """gain times a random matrix with orthonormal rows or columns (Saxe et al. 2013); axes after the first count as
    one."""
    if tensor.ndim < 2:
        raise ArgumentError("Only tensors with 2 or more dimensions are supported")
    rows, columns = tensor.shape[0], math.prod(tensor.shape[1:])
    drawn = _randn((max(rows, columns), min(rows, columns)), np.float64, generator)
    q, r = np.linalg.qr(drawn)
    q = q * np.sign(np.diagonal(r))
    return _filled(tensor, gain * (q if rows >= columns else q.T).reshape(tensor.shape))


def sparse_(tensor: Any, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Any:
    """Normal, with this share of each column set to 0 (Martens 2010)."""
    if tensor.ndim != 2:
        raise ArgumentError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    values = _normal(0.0, std, tensor.shape, tensor.dtype, generator)
    ranks = np.argsort(_uniform(0.0, 1.0, (rows, columns), np.float64, generator), axis=0)
    np.put_along_axis(values, ranks[: math.ceil(sparsity * rows)], 0, axis=0)
    return _filled(tensor, values)


def linear_(weight: Any, bias: Any, fan_in: int) -> None:
    """What Linear, Bilinear and convolutions start from: uniform within 1 / sqrt(fan_in)."""
    bound = 1.0 / math.sqrt(fan_in) if fan_in > 0 else 0.0
    uniform_(weight, -bound, bound)
    if bias is not None:
        uniform_(bias, -bound, bound)
