"""Calls that came with later versions of NumPy: skipped on older ones, with the reason."""

from __future__ import annotations

import numpy as np
import pytest

VERSION = tuple(int(part) for part in np.__version__.split(".")[:2])

#: since which version of NumPy, and by which text such a call is known
SINCE = {
    "cumulative_": (2, 1), "unstack": (2, 1), "clip(v, None, None)": (2, 1), "clip(v, min=": (2, 1),
    "clip(x, min=": (2, 1), "clip(x, max=": (2, 1), "clip-max": (2, 1), "reshape(M, (4, 3), copy=True)": (2, 1),
    "reshape(x, (9,), copy=True)": (2, 1), "__array_namespace_info__": (2, 1), "matvec": (2, 2), "vecmat": (2, 2),
    "trim_zeros(v, 'x')": (2, 2), "pad(v, {": (2, 4), "pad(M, {": (2, 4),
}  # fmt: skip


def newer(call: str) -> pytest.MarkDecorator:
    """The mark of a call: skipped where NumPy is older than what the call needs."""
    needed = max((version for text, version in SINCE.items() if text in call), default=(2, 0))
    return pytest.mark.skipif(needed > VERSION, reason="needs NumPy {}.{}".format(*needed))
