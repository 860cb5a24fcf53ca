"""Whether things that a call depends on are what they were."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

#: stands in `same` for what may be anything
ANYTHING: Final = object()
#: parts of a dict that are looked at one by one
FEW: Final = 12


def same(value: Any, expected: Any) -> bool:
    """Whether plain data is what it was: types and values, the sign of zero included."""
    if type(value) is not type(expected):
        return expected is ANYTHING
    if isinstance(expected, tuple):
        return len(value) == len(expected) and all(map(same, value, expected))
    if type(expected) is float:
        return value == expected and (expected != 0 or math.copysign(1, value) == math.copysign(1, expected))
    if type(expected) is complex:
        return repr(value) == repr(expected)
    if isinstance(expected, np.generic):
        return bool(value.tobytes() == expected.tobytes())
    if isinstance(expected, (int, str, bytes)):
        return bool(value == expected)
    return value is expected


def unchanged(array: Any, copy: Any) -> bool:
    """Whether an array has the contents that it had when it was copied."""
    return bool(array.dtype == copy.dtype and array.shape == copy.shape and array.tobytes() == copy.tobytes())


def holds(cls: Any, content: tuple[tuple[str, Any], ...]) -> bool:
    """Whether a class has what it had, the same objects."""
    now = tuple(vars(cls).items())
    return len(now) == len(content) and all(a[0] == b[0] and a[1] is b[1] for a, b in zip(now, content, strict=True))
