"""Whether two results of one call are the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.api.tree import flatten


def agrees(a: tuple[Any, Any], b: tuple[Any, Any], exact: bool) -> bool:
    """Whether two pairs of value and gradients are equal up to rounding; with `exact` the values bit for bit. (The backward
    pass of a traced call is simplified even then.)"""
    return _agree(a[0], b[0], exact) and _same_structure(a[1], b[1])


def _same_structure(a: Any, b: Any) -> bool:
    left, right = flatten(a)[0], flatten(b)[0]
    return len(left) == len(right) and all(_agree(x, y, False) for x, y in zip(left, right, strict=True))


def _agree(a: Any, b: Any, exact: bool) -> bool:
    x, y = np.asarray(a), np.asarray(b)
    if type(a) is not type(b) or x.shape != y.shape or x.dtype != y.dtype:
        return False
    if exact:
        signs = np.signbit(x.real) == np.signbit(y.real)
        return bool(np.array_equal(x, y, equal_nan=True) and np.all(signs | np.isnan(x)))
    eps = np.finfo(x.dtype).eps if x.dtype.kind in "fc" else 0.0
    with np.errstate(all="ignore"):
        scale = float(np.max(np.abs(y), initial=0.0, where=np.isfinite(y))) if y.size else 0.0
        return bool(np.allclose(x, y, rtol=2_000 * eps, atol=2_000 * eps * scale, equal_nan=True))
