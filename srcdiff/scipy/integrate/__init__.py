"""`srcdiff.scipy.integrate`: integrals of samples and of functions, and differential equations.

A function that is integrated may take values under differentiation as arguments or from outside.
"""

from __future__ import annotations

from scipy import integrate as _original

from srcdiff.scipy.integrate.ode import *  # noqa: F403
from srcdiff.scipy.integrate.quadrature import *  # noqa: F403
from srcdiff.scipy.integrate.sampled import *  # noqa: F403
from srcdiff.scipy.support import rest_of

__getattr__ = rest_of(_original)
