"""The methods of ndarray on Tensors."""

from __future__ import annotations

from srcdiff.tape.value import TensorBase


class ArrayMethods(TensorBase):
    """NumPy's methods."""
