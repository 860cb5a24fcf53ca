"""`numpy.fft` with Tensors in and out."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.device import check_device
from srcdiff.numpy.lift import tensors
from srcdiff.numpy.names import finder


def fftfreq(n: int, d: float = 1.0, device: Any = None, *, dtype: Any = None) -> Any:
    """The frequencies of `fft` for n samples a distance d apart; float64 unless `dtype` is given."""
    check_device(device)
    return tensors(np.fft.fftfreq(n, d).astype(np.float64 if dtype is None else dtype))


def rfftfreq(n: int, d: float = 1.0, device: Any = None, *, dtype: Any = None) -> Any:
    """The frequencies of `rfft` for n samples a distance d apart; float64 unless `dtype` is given."""
    check_device(device)
    return tensors(np.fft.rfftfreq(n, d).astype(np.float64 if dtype is None else dtype))


__getattr__ = finder(np.fft, globals())


def __dir__() -> list[str]:
    return dir(np.fft)
