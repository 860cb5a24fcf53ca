"""Arguments that are no data: functions, classes, objects of the user's, dtypes, slices.

A call is like another one if it is given the same of them; what they hold is looked at as if it were read from outside.
"""

from __future__ import annotations

import functools
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from srcdiff.replay.enums import is_member
from srcdiff.replay.objects import is_instance
from srcdiff.replay.records import fields_of
from srcdiff.replay.values import is_stretch
from srcdiff.replay.writer import Writer

_THEMSELVES = (ModuleType, np.ufunc, BuiltinFunctionType, functools.partial, type, type(np.sum))


def is_fixed(value: Any) -> bool:
    """Whether an argument is one of these."""
    kind = type(value)
    if kind in (FunctionType, MethodType, *_THEMSELVES) or isinstance(value, np.dtype) or is_member(value):
        return True
    return value is ... or is_stretch(value) or (is_instance(value) and fields_of(value) is None)


def sort_of(value: Any) -> Any:
    """A hashable description that those have in common which may take each other's place in a program of the user's:
    one function for each call, made anew, is one sort.
    """
    kind = type(value)
    if kind in (FunctionType, MethodType):
        return (kind, id(getattr(value, "__code__", None)))
    if is_stretch(value):
        return (kind, value.start, value.stop, value.step)
    if isinstance(value, np.dtype):
        return (kind, value)
    return (kind,) if is_instance(value) else (kind, id(value))


def fixed_conditions(w: Writer, name: str, value: Any) -> tuple[str, ...]:
    """The conditions that what is in the variable `name` is the same."""
    kind = type(value)
    if kind is MethodType:
        inner, function = w.bind(value.__self__, f"self_of_{name}"), w.bind(value.__func__, value.__func__.__name__)
        method = w.bind(MethodType, "MethodType")
        return f"type({name}) is {method}", f"{name}.__self__ is {inner}", f"{name}.__func__ is {function}"
    if is_stretch(value):
        return f"type({name}) is {kind.__name__}", f"{name} == {value!r}"
    if isinstance(value, np.dtype):
        return (f"{name} == {w.bind(value, str(value))}",)
    bound = w.bind(value, getattr(value, "__name__", None) or kind.__name__.lower())
    if kind is FunctionType and _is_its_code(value):
        anew = " and ".join((
            f"type({name}) is {w.bind(FunctionType, 'FunctionType')}",
            f"{name}.__code__ is {w.bind(value.__code__, f'{bound}_code')}",
            f"{name}.__globals__ is {w.bind(value.__globals__, f'{bound}_globals')}",
            f"{name}.__closure__ is {name}.__defaults__ is {name}.__kwdefaults__ is None and not {name}.__dict__",
        ))  # fmt: skip
        return (f"({name} is {bound} or ({anew}))",)
    return (f"{name} is {bound}",)


def _is_its_code(function: Any) -> bool:
    """Whether there is no more to a function than its code, so that one made anew is like it."""
    more = function.__closure__, function.__defaults__, function.__kwdefaults__, function.__dict__
    return not any(each is not None and each != {} for each in more)
