"""Writing to Tensors: all that changes memory or a tensor's place in the graph after it was made.

`InPlace` has the operators and methods, `write` serves `out=`; importing the package also registers NumPy's functions
that write (`np.copyto`, `np.put`, `np.add.at` ...).
"""

from __future__ import annotations

from srcdiff.inplace import functions  # noqa: F401
from srcdiff.inplace.arithmetic import ArithmeticMethods
from srcdiff.inplace.copying import Copying
from srcdiff.inplace.filling import FillingMethods
from srcdiff.inplace.operators import WritingOperators
from srcdiff.inplace.views import Views, set_shape
from srcdiff.inplace.write import write


class InPlace(WritingOperators, ArithmeticMethods, FillingMethods, Views, Copying):
    """What Tensors can do that writes, aliases or copies memory."""


__all__ = ["InPlace", "set_shape", "write"]
