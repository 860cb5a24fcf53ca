"""`srcdiff.scipy.interpolate`: SciPy's interpolation, differentiated in the data and in where it is evaluated."""

from __future__ import annotations

from scipy import interpolate as _original

from srcdiff.scipy.interpolate.grids import *  # noqa: F403
from srcdiff.scipy.interpolate.piecewise import *  # noqa: F403
from srcdiff.scipy.interpolate.splines import *  # noqa: F403
from srcdiff.scipy.support import rest_of

__getattr__ = rest_of(_original)
