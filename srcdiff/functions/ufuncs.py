"""Stub, to be replaced by its owner: ufunc -> primitive."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.core.primitive import REGISTRY
from srcdiff.functions.dispatch import UFUNCS

_NAMES = {"multiply": "mul", "divide": "div", "subtract": "sub", "negative": "neg", "power": "pow", "absolute": "abs"}
for _name in dir(np):
    _f = getattr(np, _name)
    if isinstance(_f, np.ufunc) and _NAMES.get(_f.__name__, _f.__name__) in REGISTRY:
        UFUNCS[_f] = REGISTRY[_NAMES.get(_f.__name__, _f.__name__)]

#: ufuncs that are functions rather than one primitive (several outputs)
UFUNC_FUNCTIONS: dict[Any, Any] = {}
#: (ufunc, "reduce" | "accumulate" | "outer" | "at" | "reduceat") -> function
UFUNC_METHODS: dict[tuple[Any, str], Any] = {}


def register_scipy(ufunc: Any) -> bool:
    """Fill in SciPy's ufuncs if this is one of them; True if it is known then."""
    return False
