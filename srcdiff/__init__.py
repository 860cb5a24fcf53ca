"""srcdiff: automatic differentiation of NumPy programs, whose backward pass is generated, readable NumPy code.

    import numpy as np, srcdiff as sd

    w = sd.tensor([1.0, 2.0], requires_grad=True)
    np.sum(np.tanh(w) ** 2).backward()
    w.grad

    sd.grad(lambda x: np.sum(np.tanh(x) ** 2))(np.array([1.0, 2.0]))

Names here have PyTorch's meaning; `np.f(tensor)` has NumPy's. What only NumPy has a name for is here under that name.

Importing srcdiff is quick: what these names stand for is imported when the first of them is used.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from srcdiff.namespace import *  # noqa: F403

__version__ = "0.1.0"

#: public names of something else than the module that is called the same
_NOT_MODULES = frozenset({"config", "device", "tensor"})


class _Unread(ModuleType):
    """This package until its names are there. The import of a submodule does not take the place of such a name."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _NOT_MODULES or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


def __getattr__(name: str) -> Any:
    """A submodule, a public name, or NumPy's function of a name that PyTorch doesn't have."""
    if name.startswith("__") and name != "__all__":
        raise AttributeError(f"module 'srcdiff' has no attribute {name!r}")
    if name not in _NOT_MODULES and find_spec(f"{__name__}.{name}") is not None:
        return import_module(f"{__name__}.{name}")
    names = _names()
    if name in names:
        return names[name]
    found = import_module("srcdiff.namespace").numpy_name(name)
    if found is None:
        raise AttributeError(f"module 'srcdiff' has no attribute {name!r}")
    return found


def __dir__() -> list[str]:
    return sorted(_names())


def _names() -> dict[str, Any]:
    """Reads the public names, and stores them here so that they are found as those of any module."""
    namespace = vars(import_module("srcdiff.namespace"))
    listed = namespace["__all__"]
    public = {name: namespace[name] for name in listed}
    public["__all__"] = [*listed, "__version__"]
    globals().update(public)
    sys.modules[__name__].__class__ = ModuleType
    return public


sys.modules[__name__].__class__ = _Unread
