"""`srcdiff.scipy.sparse`: SciPy's sparse matrices, which are constants. Products with them need no counterpart:
`matrix @ x` and `x @ matrix` differentiate in x as they stand.
"""

from __future__ import annotations

from scipy import sparse as _original

from srcdiff.scipy.support import rest_of

__getattr__ = rest_of(_original)
