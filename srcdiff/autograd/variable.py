"""`Variable`: the name Tensors had before PyTorch 0.4; code that uses it keeps working."""

from __future__ import annotations

from typing import Any

from srcdiff.autograd.tensor_api import change_requires_grad
from srcdiff.tape import record
from srcdiff.tape.value import TensorBase


def Variable(data: Any, requires_grad: bool = False) -> Any:  # noqa: N802
    """A tensor on the same memory as `data`."""
    value = data._value if isinstance(data, TensorBase) else data
    out = record.plain(value)
    if requires_grad:
        change_requires_grad(out, True, "Only Tensors of floating point and complex dtype can require gradients")
    return out
