"""Normalization as modules."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.dtypes import default_dtype, numpy_dtype
from srcdiff.errors import ArgumentError, ShapeError
from srcdiff.nn import functional as F
from srcdiff.nn import init
from srcdiff.nn.module import Module
from srcdiff.nn.parameter import Parameter
from srcdiff.tape.modes import modes
from srcdiff.tape.overwrite import overwrite
from srcdiff.tape.record import plain


def _dtype(dtype: Any) -> Any:
    return default_dtype() if dtype is None else numpy_dtype(dtype)


class LayerNorm(Module):
    """Standardizes over the last axes, then scales by `weight` and shifts by `bias`, one each per element of those
    axes."""

    weight: Any
    bias: Any

    def __init__(
        self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape = shape
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.register_parameter("weight", Parameter(np.ones(shape, _dtype(dtype))) if elementwise_affine else None)
        given = elementwise_affine and bias
        self.register_parameter("bias", Parameter(np.zeros(shape, _dtype(dtype))) if given else None)

    def reset_parameters(self) -> None:
        """Back to weight 1 and bias 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Any) -> Any:
        """The input's shape; it must end in normalized_shape."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The options."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Divides by the root of the mean square over the last axes, then scales by `weight`."""

    weight: Any

    def __init__(
        self, normalized_shape: Any, eps: float | None = None, elementwise_affine: bool = True, device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape = shape
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.register_parameter("weight", Parameter(np.ones(shape, _dtype(dtype))) if elementwise_affine else None)

    def forward(self, input: Any) -> Any:
        """The input's shape; it must end in normalized_shape."""
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """The options."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """Standardizes per sample and group of channels, then scales and shifts per channel."""

    weight: Any
    bias: Any

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, bias: bool = True,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if num_channels % num_groups:
            raise ArgumentError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self.register_parameter("weight", Parameter(np.ones(num_channels, _dtype(dtype))) if affine else None)
        self.register_parameter("bias", Parameter(np.zeros(num_channels, _dtype(dtype))) if affine and bias else None)

    def forward(self, input: Any) -> Any:
        """The input's shape; channels along axis 1."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The options."""
        sizes = f"{self.num_groups}, {self.num_channels}"
        return f"{sizes}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


class _BatchNorm(Module):
    """Standardizes per channel, by the batch in training and by running statistics in evaluation, then scales and
    shifts."""

    weight: Any
    bias: Any
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any
    _axes: tuple[int, ...] = (2, 3, 4, 5)
    _expected = ""

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        kind = _dtype(dtype)
        self.register_parameter("weight", Parameter(np.ones(num_features, kind)) if affine else None)
        self.register_parameter("bias", Parameter(np.zeros(num_features, kind)) if affine and bias else None)
        tracked = track_running_stats
        self.register_buffer("running_mean", plain(np.zeros(num_features, kind)) if tracked else None)
        self.register_buffer("running_var", plain(np.ones(num_features, kind)) if tracked else None)
        self.register_buffer("num_batches_tracked", plain(np.zeros((), np.int64)) if tracked else None)

    def reset_running_stats(self) -> None:
        """Back to mean 0 and variance 1."""
        if self.track_running_stats:
            overwrite(self.running_mean, 0)
            overwrite(self.running_var, 1)
            overwrite(self.num_batches_tracked, 0)

    def reset_parameters(self) -> None:
        """Back to weight 1, bias 0, mean 0, variance 1."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Any) -> Any:
        """The input's shape; channels along axis 1."""
        if input.ndim not in self._axes:
            raise ShapeError(f"expected {self._expected} input (got {input.ndim}D input)")
        momentum = self.momentum
        tracked = self.running_mean is not None
        if self.training and tracked and self.num_batches_tracked is not None:
            if modes.recorder is not None and momentum is not None:
                self.num_batches_tracked.add_(1)
            else:
                count = int(self.num_batches_tracked._array) + 1
                overwrite(self.num_batches_tracked, count)
                momentum = 1.0 / count if momentum is None else momentum
        return F.batch_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias, self.training or not tracked,
            momentum or 0.0, self.eps,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """The options."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, "
            f"track_running_stats={self.track_running_stats}"
        )


class BatchNorm1d(_BatchNorm):
    """For inputs (N, C) or (N, C, L)."""

    _axes = (2, 3)
    _expected = "2D or 3D"


class BatchNorm2d(_BatchNorm):
    """For inputs (N, C, H, W)."""

    _axes = (4,)
    _expected = "4D"


class BatchNorm3d(_BatchNorm):
    """For inputs (N, C, D, H, W)."""

    _axes = (5,)
    _expected = "5D"
