"""`srcdiff.scipy.ndimage`: SciPy's filters of images and interpolation between their elements."""

from __future__ import annotations

from scipy import ndimage as _original

from srcdiff.scipy.ndimage.filters import *  # noqa: F403
from srcdiff.scipy.ndimage.interpolation import *  # noqa: F403
from srcdiff.scipy.ndimage.ranks import *  # noqa: F403
from srcdiff.scipy.support import rest_of

__getattr__ = rest_of(_original)
