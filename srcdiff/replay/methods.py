"""Methods of plain arrays with traced arguments: `matrix.dot(x)`, `index.choose([x, y])`.

NumPy asks arguments of a function whether they are more than arrays, arguments of a method it does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.dispatch import call_function
from srcdiff.functions.assembly import differentiated

#: methods of ndarray whose arguments are values, and which have a function of the same name
TAKING = frozenset(
    "all any choose clip compress cumprod cumsum dot max mean min prod put searchsorted std sum take trace var".split()
)
#: of them, those whose calls are looked at even where nothing else in a function is
LOOKED_AT = frozenset({"choose", "clip", "dot", "put", "searchsorted"})


def taking(method: Any) -> Callable[..., Any]:
    """A bound method of a plain array that takes traced arguments too."""
    name = method.__name__

    def call(*args: Any, **kwargs: Any) -> Any:
        if differentiated(args) or differentiated(tuple(kwargs.values())):
            return call_function(getattr(np, name), (method.__self__, *args), kwargs)
        return method(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    return call
