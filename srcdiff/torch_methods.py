"""PyTorch's methods of Tensor."""

from __future__ import annotations

from srcdiff.tape.value import TensorBase


class TorchMethods(TensorBase):
    """PyTorch's methods."""
