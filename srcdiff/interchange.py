"""What other array libraries ask of a Tensor: its namespace (the Python array API standard), its memory (DLPack)."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from srcdiff.conversion import lost
from srcdiff.device import check_device
from srcdiff.errors import ArgumentError
from srcdiff.tape.modes import modes
from srcdiff.tape.value import TensorBase

#: NumPy 2.0 knows none of DLPack's keywords but `stream`: it shares the memory
DLPACK_KEYWORDS = np.lib.NumpyVersion(np.__version__) >= "2.1.0.dev0"


class Interchange(TensorBase):
    """The protocols of the array API standard."""

    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        """`srcdiff.numpy`. ValueError for a version of the standard that NumPy does not follow."""
        if api_version != getattr(np, "__array_api_version__", None):  # which NumPy 2.5 itself forgot to accept
            known: Any = np.empty(0)
            known.__array_namespace__(api_version=api_version)
        return import_module("srcdiff.numpy")  # by name, since all of it is built on Tensors

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        """The memory, for `from_dlpack` of another library; GradientLostError, a BufferError, if the Tensor requires
        grad."""
        if self._edge is not None and modes.grad:
            raise lost("giving the memory to another library (DLPack)", "give x.detach()")
        array: Any = self.__array__()
        if DLPACK_KEYWORDS:
            return array.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)
        if dl_device not in (None, self.__dlpack_device__()):
            raise BufferError(f"unsupported device requested: {dl_device}")
        return (array.copy() if copy else array).__dlpack__(stream=stream)

    def __dlpack_device__(self) -> tuple[int, int]:
        """DLPack's numbers for the CPU."""
        return self._array.__dlpack_device__()

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        """Itself: the CPU is the only device. UnsupportedError for others."""
        check_device(device)
        if stream is not None:
            raise ArgumentError(f"to_device: the CPU has no streams, got stream={stream!r}")
        return self
