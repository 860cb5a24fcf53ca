"""How a module of NumPy's becomes one of `srcdiff.numpy`: its names are found when they are first used, lifted."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from srcdiff.numpy.lift import Ufunc, lift
from srcdiff.replay import allowed

_FUNCTIONS = (FunctionType, BuiltinFunctionType, type(np.sum))
#: the only names with two underscores that are NumPy's and not the module's own
_SPECIAL = frozenset({"__all__", "__array_api_version__", "__array_namespace_info__", "__version__"})


def public(name: str) -> bool:
    """Whether a name of NumPy's is offered."""
    return not name.startswith("_") or name in _SPECIAL


def lifted(source: ModuleType, name: str) -> Any:
    """What NumPy's module has under a name: functions with Tensors in and out; types, numbers and modules as they
    are."""
    found = getattr(source, name)
    if isinstance(found, np.ufunc):
        return Ufunc(found)
    takes_arrays = isinstance(found, _FUNCTIONS) and found.__module__ != "numpy.__config__"  # NumPy 2.0's `show_config`
    return lift(found) if takes_arrays else found


def finder(source: ModuleType, names: dict[str, Any]) -> Callable[[str], Any]:
    """The `__getattr__` of a module whose names are those of `source`, kept in `names` once found."""

    def find(name: str) -> Any:
        """A name of NumPy's."""
        if not public(name) or not hasattr(source, name):
            raise AttributeError(f"module {names['__name__']!r} has no attribute {name!r}")
        found = names[name] = lifted(source, name)
        return found

    return find


def replayable(module: str) -> None:
    """Let functions that use a module made so be replayed, as those that use NumPy are."""
    found = sys.modules[module]
    for name in allowed.ATTRIBUTES:
        getattr(found, name, None)  # what is not found yet could not be guarded
    allowed.enter(found)
