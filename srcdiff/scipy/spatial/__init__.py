"""`srcdiff.scipy.spatial`: distances, in `srcdiff.scipy.spatial.distance`."""

from __future__ import annotations

from scipy import spatial as _original

from srcdiff.scipy.support import rest_of

__getattr__ = rest_of(_original)
