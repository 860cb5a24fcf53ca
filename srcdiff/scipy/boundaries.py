"""Arrays continued beyond their ends, by indexing. The modes are those of `scipy.ndimage` and `numpy.pad`."""

from __future__ import annotations

from typing import Any

import numpy as np

#: mode of scipy.ndimage -> mode of numpy.pad
_PAD = {
    "reflect": "symmetric", "grid-mirror": "symmetric", "symmetric": "symmetric", "nearest": "edge",
    "mirror": "reflect", "wrap": "wrap", "grid-wrap": "wrap", "constant": "constant", "grid-constant": "constant",
}  # fmt: skip


def pad_mode(mode: Any) -> str:
    """The name `numpy.pad` has for a mode of `scipy.ndimage`."""
    if mode not in _PAD:
        raise RuntimeError(f"boundary mode not supported: {mode!r}")
    return _PAD[mode]


def extended(x: Any, axis: int, before: int, after: int, mode: Any, value: Any = 0.0) -> Any:
    """`x` with more elements before and after it along an axis; `value` is for the mode "constant"."""
    if not before and not after:
        return x
    kind: Any = pad_mode(mode)
    if kind != "constant":
        return np.take(x, np.pad(np.arange(x.shape[axis]), (before, after), kind), axis=axis)
    size: Any = lambda n: np.full((*x.shape[:axis], n, *x.shape[axis + 1 :]), value, x.dtype)
    return np.concatenate([size(before), x, size(after)], axis=axis)


def window(x: Any, axis: int, start: int, length: int) -> Any:
    """`length` elements of `x` along an axis from `start` on."""
    return x[(slice(None),) * axis + (slice(start, start + length),)]
