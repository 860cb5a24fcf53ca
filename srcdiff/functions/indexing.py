"""Stub, to be replaced by its owner."""

from __future__ import annotations

from typing import Any

from srcdiff.core.primitive import REGISTRY
from srcdiff.index import split
from srcdiff.tape.value import TensorBase


def getitem(x: Any, index: Any) -> Any:
    if isinstance(index, TensorBase):
        index = index._value
    elif type(index) is tuple:
        index = tuple(i._value if isinstance(i, TensorBase) else i for i in index)
    static, dynamic = split(index)
    return REGISTRY["getitem"](x, *dynamic, index=static)
