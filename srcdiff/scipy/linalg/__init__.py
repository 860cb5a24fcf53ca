"""`srcdiff.scipy.linalg`: SciPy's linear algebra. Matrices are the last two axes, stacks of them are taken throughout.

Of a matrix of which SciPy reads one triangle, the gradient is that of a Hermitian matrix, as with `np.linalg.eigh`.
"""

from __future__ import annotations

from scipy import linalg as _original

from srcdiff.scipy.linalg.eigenvalues import *  # noqa: F403
from srcdiff.scipy.linalg.factors import *  # noqa: F403
from srcdiff.scipy.linalg.functions import *  # noqa: F403
from srcdiff.scipy.linalg.matrices import *  # noqa: F403
from srcdiff.scipy.linalg.riccati import *  # noqa: F403
from srcdiff.scipy.linalg.solving import *  # noqa: F403
from srcdiff.scipy.support import rest_of

__getattr__ = rest_of(_original)
