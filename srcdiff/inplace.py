"""Writing: in-place operations on Tensors."""

from __future__ import annotations

from typing import Any

from srcdiff.tape.value import TensorBase


def write(target: TensorBase, result: Any) -> TensorBase:
    """`target[...] = result`, recorded."""
    raise NotImplementedError


class InPlace(TensorBase):
    """Methods that write."""
