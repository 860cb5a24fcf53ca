"""`save` and `load`: tensors and plain containers of them, as one pickle.

What `load` accepts by default (`weights_only=True`) is tensors, modules' state, numbers, text, and lists, tuples,
dicts and sets of these: anything else in the file is refused before it runs. Files of PyTorch's own `save` are not
read.
"""

from __future__ import annotations

import builtins
import collections
import os
import pickle
from typing import Any, BinaryIO

import numpy as np

from srcdiff.device import Device
from srcdiff.dtypes import DType
from srcdiff.errors import SrcdiffError
from srcdiff.inplace.copying import rebuild
from srcdiff.size import Size

#: at the start of every file, before the pickle
_MAGIC = b"srcdiff 1\n"


class UnpicklingError(SrcdiffError, pickle.UnpicklingError):
    """A file that `load` cannot or must not read."""


#: (module, name) of what a file may make, besides subclasses of Tensor that srcdiff defines
_SAFE: dict[tuple[str, str], Any] = {
    ("srcdiff.inplace.copying", "rebuild"): rebuild,
    ("srcdiff.size", "Size"): Size,
    ("srcdiff.dtypes", "DType"): DType,
    ("srcdiff.device", "Device"): Device,
    ("collections", "OrderedDict"): collections.OrderedDict,
    ("builtins", "set"): builtins.set,
    ("builtins", "frozenset"): builtins.frozenset,
    ("builtins", "complex"): builtins.complex,
    ("builtins", "slice"): builtins.slice,
    ("builtins", "bytearray"): builtins.bytearray,
    ("builtins", "int"): builtins.int,
    ("_codecs", "encode"): lambda text, encoding: text.encode(encoding),
    ("numpy", "dtype"): np.dtype,
    ("numpy", "ndarray"): np.ndarray,
}
_ARRAYS = {"_reconstruct", "scalar", "_frombuffer"}
_CLASSES = {
    ("srcdiff.tensor", "Tensor"),
    ("srcdiff.nn.parameter", "Parameter"),
    ("srcdiff.nn.parameter", "Buffer"),
    ("srcdiff.nn.parameter", "_parameter"),
}


class _Reader(pickle.Unpickler):
    """Makes only what is known to be harmless."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _SAFE:
            return _SAFE[module, name]
        known = module.startswith(("numpy._core.", "numpy.core.")) and name in _ARRAYS
        if known or (module, name) in _CLASSES:
            return super().find_class(module, name)
        raise UnpicklingError(
            f"Weights only load failed: the file contains {module}.{name}, which is not a tensor or plain data. If "
            "you trust where the file comes from, load(..., weights_only=False) runs whatever it contains."
        )


def save(obj: Any, f: str | os.PathLike[str] | BinaryIO, pickle_protocol: int = 5) -> None:
    """Write an object to a path or an open binary file. Tensors keep dtype, values and `requires_grad`, not the
    graph."""
    if isinstance(f, (str, os.PathLike)):
        with open(f, "wb") as file:
            save(obj, file, pickle_protocol)
        return
    f.write(_MAGIC)
    pickle.dump(obj, f, pickle_protocol)


def load(
    f: str | os.PathLike[str] | BinaryIO,
    map_location: Any = None,
    *,
    weights_only: bool = True,
    mmap: bool | None = None,
) -> Any:
    """Read what `save` wrote. `map_location` is accepted as PyTorch's programs pass it: everything is on the CPU."""
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return load(file, weights_only=weights_only)
    start = f.read(len(_MAGIC))
    if start != _MAGIC:
        raise UnpicklingError(f"load: this is not a file written by save (it starts with {start!r})")
    try:
        return _Reader(f).load() if weights_only else pickle.load(f)
    except (pickle.UnpicklingError, SrcdiffError):
        raise
    except (EOFError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise UnpicklingError(f"load: the file is damaged ({type(error).__name__}: {error})") from error
