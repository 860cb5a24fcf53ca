"""NumPy's functions of lists with traced values inside, `np.sum([a, b])`: the lists become arrays before."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from srcdiff.functions.assembly import list_converter
from srcdiff.replay.active import active
from srcdiff.replay.constructors import array


def lifted(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with lists that contain differentiated values made arrays."""
    convert = list_converter(function, array)
    if convert is None:
        return function

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if active.depth and (list in map(type, args) or tuple in map(type, args)):
            args = tuple(map(convert, args))
        return function(*args, **kwargs)

    return call
