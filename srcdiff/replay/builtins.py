"""Python's functions that ask for a type, or call a function, for code that is being traced.

A traced value is of the type of its value: an ndarray, or a NumPy scalar where NumPy has one, as if the original ran.
So is the stand-in for a number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.replay.active import active
from srcdiff.replay.number import Number
from srcdiff.tape.value import TensorBase


def isinstance_(x: Any, kinds: Any, /) -> bool:
    """`isinstance`, where a traced value is also what its value is."""
    if isinstance(x, kinds):
        return True
    if type(x) is Number:
        return isinstance(x.value, kinds)
    return isinstance(x, TensorBase) and x._traced and active.depth > 0 and isinstance(x._value, kinds)


def type_(x: Any, /) -> Any:
    """`type(x)`: of a traced value the type of its value."""
    if isinstance(x, TensorBase) and x._traced and active.depth:
        return type(x._value)
    return type(x.value) if type(x) is Number else type(x)


def memoryview_(x: Any, /) -> memoryview:
    """`memoryview`, also of an array made while tracing that takes no part in the derivative."""
    given: Any = np.asarray(x) if isinstance(x, TensorBase) and x._traced and active.depth else x
    return memoryview(given)
