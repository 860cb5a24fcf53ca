"""SciPy's functions for values under differentiation, under SciPy's names: `srcdiff.scipy.stats.norm.logpdf(x)`.

They are for where SciPy turns its arguments into arrays. What SciPy passes on, its ufuncs above all, differentiates as
it stands: `scipy.special.gammaln(x)`. Called with plain arrays they return what SciPy returns. A submodule, and SciPy
with it, is imported when it is first named.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """The submodule of that name."""
    if name.startswith("_") or find_spec(f"{__name__}.{name}") is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
