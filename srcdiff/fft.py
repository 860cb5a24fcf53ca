"""`sd.fft`: Fourier transforms under PyTorch's names; `dim` is NumPy's `axis` or `axes`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.creation import made
from srcdiff.dtypes import default_dtype, numpy_dtype
from srcdiff.functions.dispatch import FUNCTIONS
from srcdiff.torchlike.support import arrayed


def _along(function: Any) -> Callable[..., Any]:
    """A transform along one dimension."""
    name = function.__name__

    def transform(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Any:
        return FUNCTIONS[function](arrayed(input), n, dim, norm)

    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = f"As `numpy.fft.{name}`, along a dimension."
    return transform


def _over(function: Any, default: Any) -> Callable[..., Any]:
    """A transform over several dimensions."""
    name = function.__name__

    def transform(input: Any, s: Any = None, dim: Any = default, norm: str | None = None) -> Any:
        x = arrayed(input)
        if s is not None and dim is None:
            dim = tuple(range(-len(s), 0))
        return FUNCTIONS[function](x, s, dim, norm)

    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = f"As `numpy.fft.{name}`, over dimensions."
    return transform


fft, ifft, rfft, irfft = _along(np.fft.fft), _along(np.fft.ifft), _along(np.fft.rfft), _along(np.fft.irfft)
hfft, ihfft = _along(np.fft.hfft), _along(np.fft.ihfft)
fft2, ifft2 = _over(np.fft.fft2, (-2, -1)), _over(np.fft.ifft2, (-2, -1))
rfft2, irfft2 = _over(np.fft.rfft2, (-2, -1)), _over(np.fft.irfft2, (-2, -1))
fftn, ifftn = _over(np.fft.fftn, None), _over(np.fft.ifftn, None)
rfftn, irfftn = _over(np.fft.rfftn, None), _over(np.fft.irfftn, None)


def fftshift(input: Any, dim: Any = None) -> Any:
    """The frequency 0 moved to the middle."""
    return FUNCTIONS[np.fft.fftshift](arrayed(input), dim)


def ifftshift(input: Any, dim: Any = None) -> Any:
    """The frequency 0 moved back to the front."""
    return FUNCTIONS[np.fft.ifftshift](arrayed(input), dim)


def fftfreq(n: int, d: float = 1.0, *, dtype: Any = None, requires_grad: bool = False) -> Any:
    """The frequencies of `fft`."""
    kind = default_dtype() if dtype is None else numpy_dtype(dtype)
    return made(np.fft.fftfreq(n, d).astype(kind), requires_grad)


def rfftfreq(n: int, d: float = 1.0, *, dtype: Any = None, requires_grad: bool = False) -> Any:
    """The frequencies of `rfft`."""
    kind = default_dtype() if dtype is None else numpy_dtype(dtype)
    return made(np.fft.rfftfreq(n, d).astype(kind), requires_grad)
