"""`srcdiff.scipy.signal`: SciPy's convolutions, filters and spectra. Windows and designs of filters are SciPy's own."""

from __future__ import annotations

from scipy import signal as _original

from srcdiff.scipy.signal.convolution import *  # noqa: F403
from srcdiff.scipy.signal.filters import *  # noqa: F403
from srcdiff.scipy.signal.spectra import *  # noqa: F403
from srcdiff.scipy.support import rest_of

__getattr__ = rest_of(_original)
