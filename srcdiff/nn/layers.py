"""Dropout, embedding and normalization as modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.dtypes import default_dtype, numpy_dtype
from srcdiff.errors import ArgumentError, ShapeError
from srcdiff.nn import functional as F
from srcdiff.nn import init
from srcdiff.nn.linear import empty_parameter
from srcdiff.nn.module import Module
from srcdiff.nn.parameter import Parameter
from srcdiff.tape.overwrite import overwrite
from srcdiff.tape.record import plain

# -------------------------------------------------------------------------------------------------------------- dropout


class Dropout(Module):
    """In training, each element 0 with probability p, and the others divided by 1 - p."""

    _function: Callable[..., Any] = staticmethod(F.dropout)

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0.0 <= p <= 1.0:
            raise ArgumentError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        """The input with holes; in evaluation the input itself."""
        return type(self)._function(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        """The options."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout1d(Dropout):
    """Dropout of whole channels."""

    _function = staticmethod(F.dropout1d)


class Dropout2d(Dropout1d):
    """Dropout of whole channels."""


class Dropout3d(Dropout1d):
    """Dropout of whole channels."""


class AlphaDropout(Dropout):
    """Dropout that keeps the mean and variance of SELU's outputs."""

    _function = staticmethod(F.alpha_dropout)


# ------------------------------------------------------------------------------------------------------------ embedding


class Embedding(Module):
    """A table of vectors, looked up by integers; starts normal, with zeros in the row `padding_idx`, which stays as it
    is."""

    weight: Any

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False, _weight: Any = None,
        _freeze: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise ArgumentError("Padding_idx must be within num_embeddings")
            padding_idx %= num_embeddings
        self.padding_idx = padding_idx
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        if _weight is None:
            self.weight = empty_parameter((num_embeddings, embedding_dim), device, dtype)
            self.reset_parameters()
        else:
            if list(_weight.shape) != [num_embeddings, embedding_dim]:
                raise ShapeError("Shape of weight does not match num_embeddings and embedding_dim")
            self.weight = Parameter(_weight)
        if _freeze:
            self.weight.requires_grad_(False)

    @classmethod
    def from_pretrained(
        cls, embeddings: Any, freeze: bool = True, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
    ) -> Any:  # fmt: skip
        """An Embedding on the memory of a matrix, not to be trained unless `freeze=False`."""
        if embeddings.ndim != 2:
            raise ShapeError("Embeddings parameter is expected to be 2-dimensional")
        rows, width = embeddings.shape
        return cls(
            rows, width, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, _weight=embeddings,
            _freeze=freeze,
        )  # fmt: skip

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            value = self.weight._array.copy()
            value[self.padding_idx] = 0
            overwrite(self.weight, value)

    def forward(self, input: Any) -> Any:
        """Integers of any shape -> the same shape and an axis of embedding_dim."""
        return F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )

    def extra_repr(self) -> str:
        """The sizes, and options that are set."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        return text if self.padding_idx is None else f"{text}, padding_idx={self.padding_idx}"


# -------------------------------------------------------------------------------------------------------- normalization


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
        self._has_bias = bias
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
            f"bias={self._has_bias}"
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
        self._has_bias = bias
        self.register_parameter("weight", Parameter(np.ones(num_channels, _dtype(dtype))) if affine else None)
        self.register_parameter("bias", Parameter(np.zeros(num_channels, _dtype(dtype))) if affine and bias else None)

    def forward(self, input: Any) -> Any:
        """The input's shape; channels along axis 1."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The options."""
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self._has_bias}"


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
        self._has_bias = bias
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
            f"bias={self._has_bias}, "
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
