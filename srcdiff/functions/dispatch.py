"""The tables that `__array_ufunc__` and `__array_function__` look functions up in, and how entries get there.

    @implements(np.diff)
    def diff(a, n=1, axis=-1, prepend=no_value, append=no_value): ...

An implementation takes NumPy's arguments by NumPy's names, except `out`, which the dispatcher handles for all. It is
called when any argument is a Tensor, and works on arrays too. A keyword it does not take is refused with an error,
never ignored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from srcdiff.aval import SCALARS
from srcdiff.core.primitive import REGISTRY, Operand, Primitive
from srcdiff.errors import UnsupportedError
from srcdiff.tape.modes import modes
from srcdiff.tape.record import exact, plain_like
from srcdiff.tape.value import TensorBase

F = TypeVar("F", bound=Callable[..., Any])

no_value: Any = np._NoValue

#: NumPy function -> implementation
FUNCTIONS: dict[Any, Callable[..., Any]] = {}
#: NumPy (or SciPy) ufunc -> primitive
UFUNCS: dict[Any, Primitive] = {}
#: Names of methods of ndarray -> implementation with the array as first argument
METHODS: dict[str, Callable[..., Any]] = {}


def implements(*functions: Any, method: str | None = None) -> Callable[[F], F]:
    """Register the decorated function for NumPy functions and, with `method`, as the ndarray method of that name."""

    def register(implementation: F) -> F:
        for function in functions:
            FUNCTIONS[function] = implementation
        if method is not None:
            METHODS[method] = implementation
        return implementation

    return register


def refuse(name: str, reason: str = "", **keywords: Any) -> None:
    """Raise UnsupportedError if any keyword has a value other than None or NumPy's no-value marker."""
    for keyword, value in keywords.items():
        if value is not None and value is not no_value:
            raise UnsupportedError(
                f"{name}: the keyword {keyword}={value!r} is not supported{reason and ': ' + reason}"
            )


def has_operand(x: Any) -> bool:
    """Whether x is, or a nested list or tuple of it contains, a Tensor (or an IR node)."""
    if isinstance(x, Operand):
        return True
    return isinstance(x, (list, tuple)) and any(map(has_operand, x))


def plain(x: Any) -> Any:
    """The array behind a Tensor, also inside lists and tuples; everything else as it is. For what has no derivative."""
    if isinstance(x, TensorBase):
        if modes.recorder is not None:
            modes.recorder.fail("a function without a derivative reads a value")
        return x._value
    if type(x) is tuple:
        return tuple(map(plain, x))
    return list(map(plain, x)) if type(x) is list else x


def like(value: Any, *sources: Any) -> Any:
    """An array without a gradient: a Tensor if any of the sources is or contains one, else as it is."""
    found = [part for source in sources for part in _tensors_in(source)]
    return plain_like(value, found) if found and not isinstance(value, TensorBase) else value


def _tensors_in(x: Any) -> list[Any]:
    if isinstance(x, TensorBase):
        return [x]
    return [part for inner in x for part in _tensors_in(inner)] if isinstance(x, (list, tuple)) else []


def values_of(x: Any) -> Any:
    """The plain array of a Tensor, which so becomes a constant; within lists and tuples too. Anything else as it is."""
    if isinstance(x, (list, tuple)):
        return type(x)(map(values_of, x))
    return plain(x)


def operand(x: Any) -> Any:
    """`x` as something primitives take: Tensors, arrays and numbers as they are; lists become arrays or stacks."""
    if isinstance(x, (Operand, np.ndarray, np.generic)) or type(x) in SCALARS:
        return x
    if isinstance(x, SCALARS):
        return exact(x)
    if isinstance(x, (list, tuple)) and has_operand(x):
        return stack_nested(x)
    return np.asarray(x)


def stack_nested(x: Any) -> Any:
    """A nested list of Tensors, arrays and numbers as one Tensor: what `np.array` does with a list."""
    return REGISTRY["stack"](*(operand(part) for part in x), axis=0)
