"""How a function of SciPy's gets its counterpart here: `@mirrors(scipy.linalg.inv)`, and `rest_of(scipy.linalg)` for
all that has none.

A counterpart is called when an argument is a Tensor or a list or tuple that contains one; it works on Tensors and
arrays through NumPy's functions. With plain arrays SciPy's own function is called.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

from srcdiff.conversion import lost
from srcdiff.errors import UnsupportedError
from srcdiff.functions.dispatch import has_operand, plain
from srcdiff.origin import where
from srcdiff.replay.known import replayed
from srcdiff.tape.modes import modes
from srcdiff.tape.site import user_place
from srcdiff.tape.value import TensorBase

F = TypeVar("F", bound=Callable[..., Any])

#: keywords that say how SciPy computes, not what
HOW = frozenset(
    "overwrite_a overwrite_b overwrite_ab overwrite_x overwrite_data lwork lapack_driver workers driver".split()
)


def any_traced(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether an argument is a Tensor, or a list, tuple or dict that contains one."""
    return any(map(_holds, args)) or any(map(_holds, kwargs.values()))


def _holds(x: Any) -> bool:
    return any(map(has_operand, x.values())) if isinstance(x, dict) else has_operand(x)


def public_name(function: Any) -> str:
    """`scipy.linalg.inv`, for error messages."""
    parts = str(getattr(function, "__module__", "scipy")).split(".")
    module = ".".join(part for part in parts if not part.startswith("_"))
    return f"{module}.{getattr(function, '__qualname__', function)}"


def unsupported(what: str) -> UnsupportedError:
    """The error that says what has no derivative here, with the user's line."""
    return UnsupportedError(f"{what} is not supported on Tensors, at {where(*user_place(3))}; sd.detach takes them out")


def mirrors(original: Any) -> Callable[[F], F]:
    """Give `original` a counterpart: what is decorated takes SciPy's arguments under SciPy's names.

    Keywords that say how SciPy computes are dropped; `check_finite` is heeded here. A keyword the counterpart lacks is
    refused by name.
    """
    theirs = inspect.signature(original).parameters

    def register(implementation: F) -> F:
        ours = inspect.signature(implementation).parameters
        takes_all = any(p.kind is p.VAR_KEYWORD for p in ours.values())
        name = public_name(original)
        positional = [p.name for p in theirs.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        finite_by_default = getattr(theirs.get("check_finite"), "default", False) is True

        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            if not any_traced(args, kwargs):
                return original(*args, **kwargs)
            if len(args) > len(positional) and len(positional) == len(theirs):
                raise TypeError(f"{name}() takes at most {len(positional)} arguments ({len(args)} given)")
            given = dict(zip(positional, args, strict=False))
            rest = args[len(given) :]
            given.update(kwargs)
            if "check_finite" in theirs and given.pop("check_finite", finite_by_default):
                _check_finite(list(given.values()))
            for key in HOW & given.keys():
                if key not in ours and not takes_all:
                    del given[key]
            foreign = [key for key in given if not takes_all and key not in ours and key in theirs and not rest]
            if foreign:
                neutral = [key for key in foreign if _is_default(given[key], theirs[key].default)]
                if len(neutral) < len(foreign):
                    key = next(key for key in foreign if key not in neutral)
                    raise unsupported(f"{name}: the keyword {key}={given[key]!r}")
                for key in neutral:
                    del given[key]
            return implementation(*rest, **given)

        if "check_finite" in ours:
            raise TypeError(f"{name}: check_finite is heeded by the decorator")
        return replayed(call)  # type: ignore[return-value]

    return register


def _is_default(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and not hasattr(value, "shape") and bool(value == default))


def _check_finite(values: list[Any]) -> None:
    for value in values:
        if isinstance(value, (list, tuple)):
            _check_finite(list(value))
        elif not isinstance(value, (TensorBase, np.ndarray)) or value.dtype.kind not in "fc":
            continue
        elif not every(np.isfinite, value):
            raise ValueError("array must not contain infs or NaNs")


def every(condition: Callable[[Any], Any], *xs: Any) -> bool:
    """Whether a condition on values, which takes no part in a derivative, holds for all elements. Where a call is being
    recorded it is one of the things that decide what the call does.
    """
    if modes.recorder is None:
        xs = tuple(map(plain, xs))
    return bool(np.all(condition(*xs)))


def rest_of(module: ModuleType) -> Callable[[str], Any]:
    """A module's `__getattr__`: what has no counterpart is SciPy's own, and refuses values under differentiation."""

    def find(name: str) -> Any:
        found = getattr(module, name)
        if isinstance(found, ModuleType):
            ours = f"srcdiff.{found.__name__}"
            return import_module(ours) if not name.startswith("_") and find_spec(ours) is not None else found
        if name.startswith("_") or not callable(found) or isinstance(found, (type, np.ufunc)):
            return found
        return _refusing(found)

    return find


def _refusing(original: Any) -> Any:
    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        if any_traced(args, kwargs):
            if _needs_gradient([*args, *kwargs.values()]):
                raise unsupported(public_name(original))
            args, kwargs = tuple(map(constant, args)), {key: constant(value) for key, value in kwargs.items()}
        return original(*args, **kwargs)

    return call


def _needs_gradient(xs: Any) -> bool:
    if isinstance(xs, TensorBase):
        return bool(modes.recording) and xs._edge is not None
    if isinstance(xs, dict):
        return _needs_gradient(list(xs.values()))
    return isinstance(xs, (list, tuple)) and any(map(_needs_gradient, xs))


def needs_gradient(*xs: Any) -> bool:
    """Whether something among nested lists, tuples and dicts is part of a graph."""
    return _needs_gradient(xs)


def constant(x: Any) -> Any:
    """Plain arrays in place of Tensors, in nested containers; only for what decides nothing that is differentiated."""
    if isinstance(x, dict):
        return {key: constant(value) for key, value in x.items()}
    if isinstance(x, (list, tuple)) and not hasattr(x, "_fields"):
        return type(x)(map(constant, x))
    return plain(x)


def number(x: Any, name: str) -> Any:
    """A parameter that must not be under differentiation, as a plain value; an error says so otherwise."""
    if needs_gradient(x):
        raise lost(f"the parameter {name}", "its derivative is not known; sd.detach it")
    return constant(x)
