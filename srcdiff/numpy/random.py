"""`numpy.random`, for programs that import it from here; what it draws are NumPy's arrays."""

from __future__ import annotations

from typing import Any

import numpy as np


def __getattr__(name: str) -> Any:
    """What NumPy has under the name."""
    if name.startswith("_") or not hasattr(np.random, name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(np.random, name)


def __dir__() -> list[str]:
    return dir(np.random)
