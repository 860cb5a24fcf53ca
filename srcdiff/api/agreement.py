"""Whether two results of one call are the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.api.tree import flatten


def agrees(a: tuple[Any, Any], b: tuple[Any, Any]) -> bool:
    """Whether two pairs of value and gradients are equal up to rounding."""
    left, right = flatten(a)[0], flatten(b)[0]
    return len(left) == len(right) and all(map(_agree, left, right))


def _agree(a: Any, b: Any) -> bool:
    x, y = np.asarray(a), np.asarray(b)
    if type(a) is not type(b) or x.shape != y.shape or x.dtype != y.dtype:
        return False
    eps = np.finfo(x.dtype).eps if x.dtype.kind in "fc" else 0.0
    with np.errstate(all="ignore"):
        scale = float(np.max(np.abs(y), initial=0.0, where=np.isfinite(y))) if y.size else 0.0
        return bool(np.allclose(x, y, rtol=2_000 * eps, atol=2_000 * eps * scale, equal_nan=True))
