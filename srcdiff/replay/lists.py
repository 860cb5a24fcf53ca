"""NumPy's functions of lists with traced values inside: `np.sum([a, b])`, `np.linalg.det([[a, b], [c, d]])`.

NumPy looks for Tensors among the arguments, not inside lists, and makes arrays of those: they become arrays before.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.replay.active import active
from srcdiff.replay.constructors import array, differentiated

#: functions of a list of arrays, for which only lists inside it are arrays
_OF_SEQUENCES = frozenset(
    {np.concatenate, np.stack, np.vstack, np.hstack, np.dstack, np.column_stack, np.select, np.choose}
    | {np.linalg.multi_dot}
)
_UNTOUCHED = frozenset({np.block, np.ix_, np.lexsort})


def lifted(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with lists that contain differentiated values made arrays."""
    if function in _UNTOUCHED:
        return function
    convert = _inside if function in _OF_SEQUENCES else _whole

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if active.depth and (list in map(type, args) or tuple in map(type, args)):
            args = tuple(map(convert, args))
        return function(*args, **kwargs)

    return call


def _whole(x: Any) -> Any:
    return array(x) if (type(x) is list or type(x) is tuple) and differentiated(x) else x


def _inside(x: Any) -> Any:
    return [_whole(part) for part in x] if type(x) is list or type(x) is tuple else x
