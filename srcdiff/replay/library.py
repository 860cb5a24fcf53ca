"""What need not be cloned: installed code, and functions that call nothing that a clone would treat differently."""

from __future__ import annotations

import os
import sysconfig
from contextlib import suppress
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from srcdiff.replay.bytecode import Callee, builds_lists, callees, every_code
from srcdiff.replay.methods import LOOKED_AT
from srcdiff.replay.rewrite import GRIDS, VALUES

_package = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_paths = sysconfig.get_paths()
_installed = tuple({_paths[kind] + os.sep for kind in ("stdlib", "platstdlib", "purelib", "platlib")})
#: of the standard library, what calls the functions that users decorate
_transparent = frozenset(os.path.join(_paths["stdlib"], name) for name in ("functools.py", "contextlib.py"))
#: of NumPy, what makes arrays of its arguments and then computes with nothing but functions of NumPy's
_polynomial = os.path.join(os.path.dirname(os.path.abspath(np.__file__)), "polynomial") + os.sep
_known: dict[str, bool] = {}


def is_library(code: CodeType) -> bool:
    """Whether code is installed, or made without a file."""
    name = code.co_filename
    found = _known.get(name)
    if found is None:
        if len(_known) > 10_000:
            _known.clear()
        inside = name.startswith((_package, *_installed, "<frozen", "<srcdiff", "<__array_function__"))
        found = _known[name] = inside and name not in _transparent and not name.startswith(_polynomial)
    return found


# ----------------------------------------------------------------------------------------------------------- the scan

#: methods of arrays and of Python's containers, taken for what they are unless called on `self`
_METHODS = frozenset(
    name
    for kind in (np.ndarray, list, dict, set, tuple, str, bytes, int, float)
    for name in dir(kind)
    if name[:1] != "_"
) - {"copy", "astype", *LOOKED_AT}
_SELF = frozenset({"self", "cls"})


def worth_cloning(function: FunctionType, special: frozenset[int]) -> bool:
    """Whether the function makes lists, or calls a Python function of the user's, one of `special` (by id), or what
    cannot be told.

    Told from names and their present values. It decides about speed and not about derivatives: a constructor that is
    overlooked gives a plain array, which refuses to take traced values.
    """
    names = function.__globals__
    for code in every_code(function.__code__):
        cells = zip(code.co_freevars, function.__closure__ or (), strict=True) if code is function.__code__ else ()
        known = dict(cells)
        if builds_lists(code) or not GRIDS.isdisjoint(code.co_names) or _gives_values(code):
            return True
        if any(_matters(callee, names, known, special) for callee in callees(code)):
            return True
    return False


def _gives_values(code: CodeType) -> bool:
    """Whether the code calls something with a keyword that may be a value, such as `initial=`."""
    return any(type(each) is tuple and not VALUES.isdisjoint(each) for each in code.co_consts)


def _matters(
    callee: Callee | None, names: dict[str, Any], cells: dict[str, Any], special: frozenset[int]
) -> bool:  # fmt: skip
    if callee is None:
        return True
    root, *attributes = callee.names if callee.root else ("", *callee.names)
    value: Any = None
    if callee.root == "global":
        value = names.get(root, _builtin(names, root))
    elif callee.root == "cell" and root in cells:
        with suppress(ValueError):  # still empty
            value = cells[root].cell_contents
    while attributes and isinstance(value, ModuleType):
        value = vars(value).get(attributes.pop(0))
    if attributes:
        return attributes[-1] not in _METHODS or root in _SELF
    return value is None or id(value) in special or not is_inert(value)


def _builtin(names: dict[str, Any], name: str) -> Any:
    builtins = names.get("__builtins__", {})
    return vars(builtins).get(name) if isinstance(builtins, ModuleType) else builtins.get(name)


def is_inert(value: Any) -> bool:
    """Whether calling the value runs no Python code of the user's, as far as its kind tells."""
    if isinstance(value, FunctionType):
        return is_library(value.__code__)
    if isinstance(value, (BuiltinFunctionType, np.ufunc)):
        return True
    if isinstance(value, MethodType):
        return is_inert(value.__func__)
    if isinstance(value, type):
        init = value.__init__  # type: ignore[misc]
        return not isinstance(init, FunctionType) or is_library(init.__code__)
    call = getattr(type(value), "__call__", None)  # noqa: B004
    if isinstance(value, np.vectorize):
        return False
    return not isinstance(call, FunctionType) or is_library(call.__code__)
