"""`srcdiff.numpy`: NumPy with Tensors for arrays, and the namespace of the Python array API standard.

    import srcdiff.numpy as np

    x = np.asarray([1.0, 2.0]).requires_grad_()
    np.sum(np.exp(x)).backward()

Every name of NumPy's is here and means what it means there. Functions take Tensors, arrays, numbers and lists of them,
return Tensors, and differentiate; what they make of plain data has no gradient and NumPy's dtype (float64 of Python's
floats). Types, constants, and modules other than `linalg` and `fft`, are NumPy's own. `standard` has what NumPy lacks
of the standard.
"""

from __future__ import annotations

import numpy

from srcdiff.numpy import fft, linalg, special
from srcdiff.numpy.joined import c_, r_
from srcdiff.numpy.lift import array
from srcdiff.numpy.names import finder, public, replayable
from srcdiff.numpy.standard import (
    argsort,
    asanyarray,
    asarray,
    asarray_chkfinite,
    ascontiguousarray,
    asfortranarray,
    clip,
    finfo,
    from_dlpack,
    full,
    iinfo,
    ndarray,
    sort,
)

__all__ = [
    "argsort", "array", "asanyarray", "asarray", "asarray_chkfinite", "ascontiguousarray", "asfortranarray", "c_",
    "clip", "fft", "finfo", "from_dlpack", "full", "iinfo", "linalg", "ndarray", "r_", "sort", "special",
]  # fmt: skip
__all__ += [name for name in numpy.__all__ if name not in __all__ and public(name)]

__getattr__ = finder(numpy, globals())


def __dir__() -> list[str]:
    return dir(numpy)


replayable(__name__)
