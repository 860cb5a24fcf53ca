"""Running a user's function on values under differentiation.

`trace` replaces the chosen arguments by traced Tensors that share the caller's arrays, runs the function with recording on, and
gives what came out with the edges of the inputs. Inside another trace, an input is an identity of the outer value, so
that derivatives of derivatives find their way; seen from outside, the graph of an inner call starts at its inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from srcdiff.api.tree import Rebuild, flatten, leaf_names
from srcdiff.aval import aval
from srcdiff.core.primitive import REGISTRY
from srcdiff.errors import DTypeError
from srcdiff.tape import record
from srcdiff.tape.modes import modes
from srcdiff.tape.node import Edge, InputNode, next_seq
from srcdiff.tape.storage import storage_of
from srcdiff.tape.value import TensorBase


@dataclass(slots=True)
class Argument:
    """One differentiated argument."""

    leaves: list[Any]
    rebuild: Rebuild
    tensors: list[Any]


@dataclass(slots=True)
class Trace:
    """A finished run."""

    result: Any
    arguments: list[Argument]
    #: where the gradient of each leaf of each argument arrives
    edges: list[Edge]
    #: nodes with a smaller sequence number are outside
    start: int

    def rebuild(self, values: Sequence[Any]) -> list[Any]:
        """Values given per leaf, in the structure of each argument."""
        out, k = [], 0
        for argument in self.arguments:
            n = len(argument.leaves)
            out.append(argument.rebuild(list(values[k : k + n])))
            k += n
        return out

    @property
    def leaves(self) -> list[Any]:
        """The caller's leaves of all arguments."""
        return [leaf for argument in self.arguments for leaf in argument.leaves]


def trace(function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any], chosen: Sequence[int | str], names: Any) -> Trace:
    """Run `function` with the arguments `chosen` (positions or keywords) under differentiation. `names(k)` names argument k."""
    start = next_seq()
    arguments = []
    edges: list[Edge] = []
    shared: dict[int, Any] = {}
    for key in chosen:
        given = args[key] if isinstance(key, int) else kwargs[key]
        leaves, rebuild = ([given], _only) if type(given) in _ARRAYS else flatten(given)
        tensors = []
        for j, leaf in enumerate(leaves):
            tensor = enter(leaf, shared, lambda j=j, key=key, given=given: leaf_names(given, names(key))[j])
            tensors.append(tensor)
            edges.append(tensor._edge)
        arguments.append(Argument(leaves, rebuild, tensors))
        if isinstance(key, int):
            args[key] = rebuild(tensors)
        else:
            kwargs[key] = rebuild(tensors)
    recording = modes.grad
    if not recording:
        modes.update(grad=True)
    try:
        result = function(*args, **kwargs)
    finally:
        if not recording:
            modes.update(grad=False)
    return Trace(result, arguments, edges, start)


def _only(values: list[Any]) -> Any:
    return values[0]


_ARRAYS = frozenset({np.ndarray, float, np.float64, np.float32})


def enter(leaf: Any, shared: dict[int, Any], name: Callable[[], str]) -> Any:
    """A traced Tensor for an argument; it shares the caller's memory. Raises DTypeError for what cannot be differentiated."""
    if isinstance(leaf, TensorBase):
        value = leaf._value
        outer = leaf._edge
    else:
        outer = None
        kind = type(leaf)
        if kind is float:
            value = np.float64(leaf)
        elif kind is complex:
            value = np.complex128(leaf)
        elif isinstance(leaf, (np.ndarray, np.generic)):
            value = leaf
        else:
            raise DTypeError(f"cannot differentiate with respect to {_describe(leaf, name)}: it must be a float array or number")
    dtype = value.dtype
    if dtype.kind not in "fc":
        raise DTypeError(
            f"cannot differentiate with respect to {_describe(leaf, name)}: only floating-point and complex arrays have "
            "gradients; convert it with .astype(float) or float()"
        )
    tensor = record.plain(value, traced=True)
    if outer is None:
        tensor._edge = InputNode(name)
        tensor._type = aval(value.shape, dtype).types[3]
    else:
        with_outer = REGISTRY["identity"](leaf)
        tensor._edge = with_outer._edge
        storage = storage_of(leaf)
        tensor._storage = storage
        storage.add_alias(tensor)
        tensor._detached = True
    if outer is None and isinstance(value, np.ndarray):
        other = shared.setdefault(id(value), tensor)
        if other is not tensor:
            tensor._storage = storage_of(other)
            tensor._storage.add_alias(tensor)
    return tensor


def _describe(leaf: Any, name: Callable[[], str]) -> str:
    kind = f"{leaf.dtype} array" if isinstance(leaf, (np.ndarray, TensorBase)) else type(leaf).__name__
    return f"argument {name()!r} ({kind})"
