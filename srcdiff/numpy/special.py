"""SciPy's ufuncs that have derivatives here, with Tensors in and out.

Not of NumPy: SciPy looks for a namespace's own special functions under this name, and turns Tensors into arrays if
there are none. SciPy is imported with the first of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.functions.ufuncs import register_scipy
from srcdiff.numpy.lift import Ufunc


def __getattr__(name: str) -> Any:
    """The ufunc of that name in `scipy.special`."""
    if not name.startswith("_"):
        import scipy.special  # noqa: PLC0415

        found = getattr(scipy.special, name, None)
        found = getattr(found, "__wrapped__", found)  # SciPy wraps its ufuncs if it supports the array API
        if isinstance(found, np.ufunc) and register_scipy(found):
            made = globals()[name] = Ufunc(found)
            return made
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
