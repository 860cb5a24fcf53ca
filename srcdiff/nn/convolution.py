"""Convolution and pooling as modules."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from srcdiff.errors import ArgumentError
from srcdiff.nn import functional as F
from srcdiff.nn import init
from srcdiff.nn.functional.convolution import each
from srcdiff.nn.linear import empty_parameter
from srcdiff.nn.module import Module

_PAD_MODES = ("zeros", "reflect", "replicate", "circular")


class _Conv(Module):
    """Cross-correlation with a weight (out_channels, in_channels / groups, *kernel_size) and a bias per out channel,
    both starting uniform within 1 / sqrt(in_channels / groups * the size of the kernel)."""

    weight: Any
    bias: Any
    _axes = 1
    _function: Callable[..., Any]

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if in_channels % groups:
            raise ArgumentError("in_channels must be divisible by groups")
        if out_channels % groups:
            raise ArgumentError("out_channels must be divisible by groups")
        if padding_mode not in _PAD_MODES:
            raise ArgumentError(f"padding_mode must be one of {_PAD_MODES}, but got padding_mode='{padding_mode}'")
        n = self._axes
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = each(kernel_size, n)
        self.stride = each(stride, n)
        self.padding = padding if isinstance(padding, str) else each(padding, n)
        self.dilation = each(dilation, n)
        self.groups = groups
        self.padding_mode = padding_mode
        self.weight = empty_parameter(self._weight_shape(), device, dtype)
        if bias:
            self.bias = empty_parameter((out_channels,), device, dtype)
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _weight_shape(self) -> tuple[int, ...]:
        return (self.out_channels, self.in_channels // self.groups, *self.kernel_size)

    def reset_parameters(self) -> None:
        """Draw new initial values."""
        init.linear_(self.weight, self.bias, math.prod(self.weight.shape[1:]))

    def forward(self, input: Any) -> Any:
        """(samples, in_channels, *spatial) -> (samples, out_channels, *windows); samples may be missing."""
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._sides(), mode=self.padding_mode), 0
        return type(self)._function(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    def _sides(self) -> list[int]:
        """What is added before and after each spatial axis, the last axis first."""
        if self.padding == "same":
            total = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            return [side for n in reversed(total) for side in (n // 2, n - n // 2)]
        before = each(0 if self.padding == "valid" else self.padding, self._axes)
        return [side for n in reversed(before) for side in (n, n)]

    def extra_repr(self) -> str:
        """The sizes, and options that are not as usual."""
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        ones, zeros = (1,) * self._axes, (0,) * self._axes
        if self.padding != zeros:
            text += f", padding={self.padding}"
        if self.dilation != ones:
            text += f", dilation={self.dilation}"
        text += self._extra()
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        return text if self.padding_mode == "zeros" else f"{text}, padding_mode={self.padding_mode}"

    def _extra(self) -> str:
        return ""


class Conv1d(_Conv):
    """Over one spatial axis."""

    _function = staticmethod(F.conv1d)


class Conv2d(_Conv):
    """Over two spatial axes."""

    _axes = 2
    _function = staticmethod(F.conv2d)


class Conv3d(_Conv):
    """Over three spatial axes."""

    _axes = 3
    _function = staticmethod(F.conv3d)


class _ConvTranspose(_Conv):
    """The adjoint of a convolution in its input; the weight is (in_channels, out_channels / groups, *kernel_size)."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        output_padding: Any = 0, groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros",
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        if padding_mode != "zeros":
            raise ArgumentError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, device, dtype
        )
        self.output_padding = each(output_padding, self._axes)

    def _weight_shape(self) -> tuple[int, ...]:
        return (self.in_channels, self.out_channels // self.groups, *self.kernel_size)

    def forward(self, input: Any) -> Any:
        """(samples, in_channels, *windows) -> (samples, out_channels, *spatial)."""
        return type(self)._function(
            input, self.weight, self.bias, self.stride, self.padding, self.output_padding, self.groups, self.dilation
        )

    def _extra(self) -> str:
        return "" if not any(self.output_padding) else f", output_padding={self.output_padding}"


class ConvTranspose1d(_ConvTranspose):
    """Over one spatial axis."""

    _function = staticmethod(F.conv_transpose1d)


class ConvTranspose2d(_ConvTranspose):
    """Over two spatial axes."""

    _axes = 2
    _function = staticmethod(F.conv_transpose2d)


# ------------------------------------------------------------------------------------------------------------- pooling


class _MaxPool(Module):
    """The largest element of each window."""

    _function: Callable[..., Any]

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Any) -> Any:
        """(samples, channels, *spatial) -> (samples, channels, *windows)."""
        return type(self)._function(
            input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices
        )

    def extra_repr(self) -> str:
        """The options."""
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
            f"ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPool):
    """Over one spatial axis."""

    _function = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPool):
    """Over two spatial axes."""

    _function = staticmethod(F.max_pool2d)


class _AvgPool(Module):
    """The mean of each window."""

    _function: Callable[..., Any]

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Any) -> Any:
        """(samples, channels, *spatial) -> (samples, channels, *windows)."""
        return type(self)._function(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad
        )

    def extra_repr(self) -> str:
        """The options."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPool):
    """Over one spatial axis."""

    _function = staticmethod(F.avg_pool1d)

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:  # fmt: skip
        size, step, rim = (each(n, 1) for n in (kernel_size, kernel_size if stride is None else stride, padding))
        super().__init__(size, step, rim, ceil_mode, count_include_pad)


class AvgPool2d(_AvgPool):
    """Over two spatial axes."""

    _function = staticmethod(F.avg_pool2d)


class AdaptiveAvgPool1d(Module):
    """The means of `output_size` stretches of the last axis."""

    _function: Callable[..., Any] = staticmethod(F.adaptive_avg_pool1d)

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Any) -> Any:
        """(..., spatial) -> (..., output_size)."""
        return type(self)._function(input, self.output_size)

    def extra_repr(self) -> str:
        """The size."""
        return f"output_size={self.output_size}"


class AdaptiveAvgPool2d(AdaptiveAvgPool1d):
    """The means over a grid of `output_size` cells of the last two axes."""

    _function = staticmethod(F.adaptive_avg_pool2d)
