"""Linear maps as modules, and the modules that only change shape."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from srcdiff.device import check_device
from srcdiff.dtypes import default_dtype, numpy_dtype
from srcdiff.errors import OutOfBoundsError, ShapeError
from srcdiff.nn import functional as F
from srcdiff.nn import init
from srcdiff.nn.module import Module
from srcdiff.nn.parameter import Parameter
from srcdiff.ops.structural import reshape


def empty_parameter(shape: tuple[int, ...], device: Any = None, dtype: Any = None) -> Any:
    """A parameter to be filled by an initialization."""
    check_device(device)
    return Parameter(np.zeros(shape, default_dtype() if dtype is None else numpy_dtype(dtype)))


class Identity(Module):
    """Its argument, whatever it was made with."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """The input."""
        return input


class Linear(Module):
    """x W' + b over the last axis; W is (out_features, in_features), both start uniform within 1 /
    sqrt(in_features)."""

    weight: Any
    bias: Any

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = empty_parameter((out_features, in_features), device, dtype)
        if bias:
            self.bias = empty_parameter((out_features,), device, dtype)
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        init.linear_(self.weight, self.bias, self.in_features)

    def forward(self, input: Any) -> Any:
        """(..., in_features) -> (..., out_features)."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes."""
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """x1 W[k] x2' + b[k] for each of the out_features k."""

    weight: Any
    bias: Any

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if in1_features <= 0:
            raise ShapeError(f"in1_features must be > 0, but got {in1_features}")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        self.weight = empty_parameter((out_features, in1_features, in2_features), device, dtype)
        if bias:
            self.bias = empty_parameter((out_features,), device, dtype)
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        init.linear_(self.weight, self.bias, self.in1_features)

    def forward(self, input1: Any, input2: Any) -> Any:
        """(..., in1_features), (..., in2_features) -> (..., out_features)."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes."""
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class Flatten(Module):
    """The axes from start_dim to end_dim made one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Any) -> Any:
        """The input, reshaped."""
        shape = tuple(input.shape)
        first, last = (k + len(shape) if k < 0 else k for k in (self.start_dim, self.end_dim))
        if not 0 <= first <= last < max(len(shape), 1):
            raise OutOfBoundsError(f"Flatten: axes {self.start_dim} to {self.end_dim} do not exist in shape {shape}")
        return reshape(input, shape=(*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :]))

    def extra_repr(self) -> str:
        """The axes."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """One axis split into several."""

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Any) -> Any:
        """The input, reshaped; one of the sizes may be -1."""
        shape, sizes = tuple(input.shape), list(self.unflattened_size)
        axis = self.dim % len(shape)
        if -1 in sizes:
            sizes[sizes.index(-1)] = shape[axis] // -math.prod(sizes)
        return reshape(input, shape=(*shape[:axis], *sizes, *shape[axis + 1 :]))

    def extra_repr(self) -> str:
        """The axis and the sizes."""
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
