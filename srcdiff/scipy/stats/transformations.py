"""Statistics of angles, and transformations of samples by powers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import stats

from srcdiff.ops import elementwise as e
from srcdiff.ops.elementwise import where
from srcdiff.ops.special_scipy import boxcox as boxcox_of
from srcdiff.ops.transcendental import arctan2, cos, log, log1p, sin, sqrt
from srcdiff.scipy.stats.descriptive import floats, group_size
from srcdiff.scipy.support import mirrors, unsupported

__all__ = [
    "boxcox", "boxcox_llf", "circmean", "circstd", "circvar", "yeojohnson", "yeojohnson_llf",
]  # fmt: skip

# --------------------------------------------------------------------------------------------------------------- angles


def _resultant(samples: Any, high: Any, low: Any, axis: Any, keepdims: bool) -> tuple[Any, Any]:
    """The mean sine and cosine of angles between the two."""
    angle = (floats(samples) - low) * (2.0 * math.pi / (high - low))
    return np.mean(sin(angle), axis=axis, keepdims=keepdims), np.mean(cos(angle), axis=axis, keepdims=keepdims)


@mirrors(stats.circmean)
def circmean(
    samples: Any, high: Any = 2 * math.pi, low: Any = 0, axis: Any = None, *, keepdims: bool = False
) -> Any:  # fmt: skip
    angle = arctan2(*_resultant(samples, high, low, axis, keepdims)) % (2.0 * math.pi)
    return angle * ((high - low) / (2.0 * math.pi)) + low


@mirrors(stats.circvar)
def circvar(
    samples: Any, high: Any = 2 * math.pi, low: Any = 0, axis: Any = None, *, keepdims: bool = False
) -> Any:  # fmt: skip
    return 1.0 - np.hypot(*_resultant(samples, high, low, axis, keepdims))


@mirrors(stats.circstd)
def circstd(
    samples: Any, high: Any = 2 * math.pi, low: Any = 0, axis: Any = None, *, normalize: bool = False,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    out = sqrt(-2.0 * log(np.hypot(*_resultant(samples, high, low, axis, keepdims))))
    return out if normalize else out * ((high - low) / (2.0 * math.pi))


# -------------------------------------------------------------------------------------------- transformations by powers


def _needs_power(name: str, lmbda: Any) -> None:
    if lmbda is None:
        raise unsupported(f"scipy.stats.{name} without lmbda, which it would have to find,")


@mirrors(stats.boxcox)
def boxcox(x: Any, lmbda: Any = None, alpha: Any = None) -> Any:
    _needs_power("boxcox", lmbda)
    if alpha is not None:
        raise unsupported(f"scipy.stats.boxcox: the keyword alpha={alpha!r}")
    return boxcox_of(floats(x), lmbda)


@mirrors(stats.boxcox_llf)
def boxcox_llf(lmb: Any, data: Any, *, axis: Any = 0, keepdims: bool = False) -> Any:
    x = floats(data)
    logs = np.sum(log(x), axis=axis, keepdims=keepdims)
    spread = np.var(boxcox_of(x, lmb), axis=axis, keepdims=keepdims)
    return (lmb - 1.0) * logs - 0.5 * group_size(x, axis) * log(spread)


@mirrors(stats.yeojohnson)
def yeojohnson(x: Any, lmbda: Any = None) -> Any:
    """boxcox(1 + x, lmbda) for x >= 0, else -boxcox(1 - x, 2 - lmbda)."""
    _needs_power("yeojohnson", lmbda)
    x = floats(x)
    right = x >= 0
    size = 1.0 + abs(x)
    out = boxcox_of(size, where(right, lmbda, 2.0 - lmbda))
    return where(right, out, -out)


@mirrors(stats.yeojohnson_llf)
def yeojohnson_llf(lmb: Any, data: Any, *, axis: Any = 0, keepdims: bool = False) -> Any:
    x = floats(data)
    logs = np.sum(e.sign(x) * log1p(abs(x)), axis=axis, keepdims=keepdims)
    spread = np.var(yeojohnson(x, lmb), axis=axis, keepdims=keepdims)
    return (lmb - 1.0) * logs - 0.5 * group_size(x, axis) * log(spread)
