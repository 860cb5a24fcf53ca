"""NumPy's functions of lists with traced values inside, `np.sum([a, b])`: the lists become arrays before. And of traced
values where NumPy does not look for them, `np.sum(a, initial=x)`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from srcdiff.dispatch import call_function
from srcdiff.functions.assembly import differentiated, list_converter
from srcdiff.functions.dispatch import FUNCTIONS
from srcdiff.replay.active import active
from srcdiff.replay.constructors import array


def lifted(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with lists that contain differentiated values made arrays."""
    convert = list_converter(function, array)
    if convert is None:
        return function

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if active.depth:
            if list in map(type, args) or tuple in map(type, args):
                args = tuple(map(convert, args))
            if kwargs:
                kwargs = {name: convert(x) if type(x) is list else x for name, x in kwargs.items()}
                if function in FUNCTIONS and any(map(differentiated, kwargs.values())):
                    return call_function(function, args, kwargs)
        return function(*args, **kwargs)

    return call
