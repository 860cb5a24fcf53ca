"""Values from outside that the proof takes for what they are: constants, classes of namedtuples, generator functions
that have become context managers.
"""

from __future__ import annotations

import contextlib
import sys
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from srcdiff.replay.allowed import ORIGINALS, SCALAR_TYPES
from srcdiff.replay.enums import is_member
from srcdiff.replay.findings import Findings, Read, RefusedError
from srcdiff.replay.objects import Look
from srcdiff.replay.records import added

_PLAIN = (int, float, bool, complex, str, bytes, type(None), type(Ellipsis), object)


def is_constant(value: Any) -> bool:
    """Whether nothing of it can change: a number, a text, a dtype or type of numbers, a member of an enumeration, an
    object that is nothing but itself; or a ufunc, or a function of `math`.
    """
    kind = type(value)
    if kind in _PLAIN or kind in SCALAR_TYPES or is_member(value) or _is_ufunc(value) or is_stretch(value):
        return True
    if kind is BuiltinFunctionType:
        return bool(value.__module__ == "math")
    if kind is type:
        return value in SCALAR_TYPES
    return isinstance(value, np.dtype) and value.names is None


def is_stretch(value: Any) -> bool:
    """Whether it is a range or a slice between whole numbers."""
    if type(value) not in (range, slice):
        return False
    return all(type(part) is int or part is None for part in (value.start, value.stop, value.step))


def _is_ufunc(value: Any) -> bool:
    """Whether it is a ufunc of NumPy or SciPy: `np.frompyfunc` makes ufuncs of any Python function."""
    if type(value) is not np.ufunc:
        return False
    special = sys.modules.get("scipy.special")
    name = value.__name__
    return ORIGINALS["numpy"].get(name) is value or getattr(special, name, None) is value


def record(cls: Any, what: str, findings: Findings, look: Look) -> None:
    """Accept a class of namedtuples that has nothing but fields, and methods that replace none of theirs."""
    methods = added(cls)
    if methods is None:
        raise RefusedError(f"{what} is a {cls.__name__}, which does other than namedtuples do")
    findings.fields.update(cls._fields, ("_replace",), methods)
    for name, method in methods.items():
        look(method, f"{what}.{name}", findings)
    findings.reads.append(Read("class", cls, cls.__name__, tuple(vars(cls).items())))
    findings.reads.append(Read("defaults", cls.__new__, cls.__name__, defaults(cls.__new__)))
    for default in cls.__new__.__defaults__ or ():
        look(default, f"a default of {cls.__name__}", findings)


def partial(value: Any, what: str, findings: Findings, look: Look) -> None:
    """Look at a `functools.partial`: the function, and what it is called with."""
    findings.objects.append(value)
    keywords = value.keywords
    findings.reads.append(Read("partial", value, "partial", (value.func, value.args, keywords)))
    findings.reads.append(Read("content", keywords, "keywords", (tuple(keywords), tuple(keywords.values()))))
    for part in (value.func, *value.args, *keywords.values()):
        look(part, what, findings)


def manager(function: Any, what: str, findings: Findings, look: Look) -> None:
    """Look at a generator function that `contextlib.contextmanager` has decorated."""
    if vars(contextlib).get("_GeneratorContextManager") is not _MANAGER:
        raise RefusedError(f"{what} is not what contextlib.contextmanager made when srcdiff was imported")
    findings.reads.append(Read("module", vars(contextlib), "_GeneratorContextManager", _MANAGER))
    findings.reads.append(Read("code", function, function.__name__, MANAGING))
    (cell,) = function.__closure__
    findings.reads.append(Read("cell", cell, "func", cell.cell_contents))
    look(cell.cell_contents, what, findings)


#: the code of what `contextlib.contextmanager` gives, and what that makes
MANAGING = contextlib.contextmanager(lambda: iter(())).__code__
_MANAGER: Any = vars(contextlib)["_GeneratorContextManager"]


def defaults(function: Any) -> tuple[Any, Any]:
    """The default values of a function's parameters, in the form in which they are compared."""
    keyword = function.__kwdefaults__
    return function.__defaults__, None if keyword is None else dict(keyword)
