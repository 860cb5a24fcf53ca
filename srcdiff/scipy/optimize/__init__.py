"""`srcdiff.scipy.optimize`: roots and minima as functions of what the function depends on, by implicit derivatives.

The function may take values under differentiation as arguments or from outside. Derivatives are right to any order.
"""

from __future__ import annotations

from scipy import optimize as _original

from srcdiff.scipy.optimize.minima import *  # noqa: F403
from srcdiff.scipy.optimize.roots import *  # noqa: F403
from srcdiff.scipy.support import rest_of

__getattr__ = rest_of(_original)
