"""`srcdiff.scipy.stats`: SciPy's distributions and statistics.

Distributions that have no counterpart here are SciPy's for plain arrays, and refuse values under differentiation.
"""

from __future__ import annotations

from typing import Any

from scipy import stats as _original

from srcdiff.scipy.stats.bounded import *  # noqa: F403
from srcdiff.scipy.stats.counts import *  # noqa: F403
from srcdiff.scipy.stats.descriptive import *  # noqa: F403
from srcdiff.scipy.stats.distribution import Distribution as _Distribution
from srcdiff.scipy.stats.half_line import *  # noqa: F403
from srcdiff.scipy.stats.kde import *  # noqa: F403
from srcdiff.scipy.stats.lifetimes import *  # noqa: F403
from srcdiff.scipy.stats.multivariate import *  # noqa: F403
from srcdiff.scipy.stats.testing import *  # noqa: F403
from srcdiff.scipy.stats.transformations import *  # noqa: F403
from srcdiff.scipy.stats.whole_line import *  # noqa: F403
from srcdiff.scipy.support import rest_of

_others = rest_of(_original)


def __getattr__(name: str) -> Any:
    """What has no counterpart."""
    found = getattr(_original, name)
    return _Distribution(name, "") if hasattr(found, "freeze") or hasattr(found, "rvs") else _others(name)
