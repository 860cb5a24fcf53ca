"""`numpy.linalg` with Tensors in and out."""

from __future__ import annotations

import numpy as np

from srcdiff.numpy.names import finder, replayable

__getattr__ = finder(np.linalg, globals())


def __dir__() -> list[str]:
    return dir(np.linalg)


replayable(__name__)
