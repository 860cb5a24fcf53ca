"""Running a user's function on values under differentiation.

`trace` replaces the chosen arguments by traced Tensors that share the caller's arrays, runs the function with recording
on, and gives what came out with the edges of the inputs. Inside another trace, an input is an identity of the outer
value, so that derivatives of derivatives find their way; seen from outside, the graph of an inner call starts at its
inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from srcdiff.api.tree import Rebuild, flatten, leaf_names
from srcdiff.aval import TensorType, aval
from srcdiff.config import config
from srcdiff.core.primitive import REGISTRY
from srcdiff.errors import DTypeError, GradientLostError
from srcdiff.replay.active import active
from srcdiff.replay.clone import cloned
from srcdiff.tape import record
from srcdiff.tape.modes import modes
from srcdiff.tape.node import Edge, InputNode, next_seq
from srcdiff.tape.storage import SharedByArguments, share
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


def trace(
    function: Callable[..., Any],
    args: list[Any],
    kwargs: dict[str, Any],
    chosen: Sequence[int | str],
    names: Any,
    constant: Container[tuple[int | str, int]] = (),
) -> Trace:
    """Run `function` with the arguments `chosen` (positions or keywords) under differentiation. `names(k)` names
    argument k. Leaf j of argument k is left as it is if `constant` has (k, j); it gets no edge.
    """
    start = next_seq()
    arguments = []
    edges: list[Edge] = []
    shared: dict[int, Any] = {}
    for key in chosen:
        given = args[key] if isinstance(key, int) else kwargs[key]
        leaves, rebuild = taken_apart(given)
        tensors = []
        for j, leaf in enumerate(leaves):
            if (key, j) in constant:
                tensors.append(leaf)
                continue
            tensor = enter(leaf, shared, (name_leaf, names, key, given, j))
            tensors.append(tensor)
            edges.append(tensor._edge)
        arguments.append(Argument(leaves, rebuild, tensors))
        if isinstance(key, int):
            args[key] = rebuild(tensors)
        else:
            kwargs[key] = rebuild(tensors)
    cloning = config.options.clone
    if cloning:
        function = cloned(function)
        active.depth += 1
    before = modes.grad, modes.recording
    try:
        if not before[0]:
            modes.update(grad=True)
        result = function(*args, **kwargs)
    except (ValueError, TypeError, RuntimeError, SystemError) as error:
        # NumPy hides what a Tensor's __float__ raises behind "setting an array element with a sequence", C code of
        # SciPy's behind "returned a result with an exception set"
        cause = error.__cause__
        if isinstance(cause, GradientLostError):
            raise cause from None
        raise
    finally:
        if not before[0]:
            modes.grad, modes.recording = before
        if cloning:
            active.depth -= 1
    return Trace(result, arguments, edges, start)


def taken_apart(given: Any) -> tuple[list[Any], Rebuild]:
    """`flatten`, with shortcuts for an array or Tensor, and for a list or tuple of arrays."""
    kind = type(given)
    if kind in _ARRAYS or isinstance(given, TensorBase):
        return [given], _only
    if (kind is list or kind is tuple) and all(type(part) in _ARRAYS for part in given):
        return list(given), kind
    return flatten(given)


def _only(values: list[Any]) -> Any:
    return values[0]


_ARRAYS = frozenset({np.ndarray, float, np.float64, np.float32})

#: what `enter` needs to know of a shape and dtype; strong references to what `aval` interns weakly
_types: dict[Any, TensorType] = {}


def _traced_type(value: Any) -> TensorType:
    key = (value.shape, value.dtype)
    found = _types.get(key)
    if found is None:
        if len(_types) > 4_096:
            _types.clear()
        found = _types[key] = aval(*key).types[3]
    return found


def name_leaf(names: Callable[[Any], str], key: Any, given: Any, j: int) -> str:
    """The name of leaf j of an argument: `params_w`."""
    return leaf_names(given, names(key))[j]


def enter(leaf: Any, shared: dict[int, Any], label: tuple[Any, ...]) -> Any:
    """A traced Tensor for an argument; it shares the caller's memory. Raises DTypeError for what cannot be
    differentiated.
    """
    if isinstance(leaf, TensorBase):
        return _enter_tensor(leaf, label)
    kind = type(leaf)
    if kind is float:
        value: Any = np.float64(leaf)
    elif kind is np.ndarray or (isinstance(leaf, (np.ndarray, np.generic)) and not issubclass(kind, record.UNLIKE)):
        value = leaf
    elif kind is complex:
        value = np.complex128(leaf)
    else:
        raise DTypeError(
            f"cannot differentiate with respect to argument {name_leaf(*label[1:])!r} ({kind.__name__}): it must be a "
            "float array or number"
        )
    if value.dtype.kind not in "fc":
        raise _no_gradient(label, value)
    tensor = _new(record.Tensor)
    tensor._value = value
    tensor._traced = True
    tensor._edge = InputNode(label)
    tensor._type = _traced_type(value)
    if modes.recorder is not None:
        modes.recorder.made(tensor)  # an argument of an inner call that is no value of the outer one
    if kind is np.ndarray:
        other = shared.setdefault(id(value), tensor)
        if other is not tensor:
            other._storage = tensor._storage = SharedByArguments()  # in common or not, it only refuses
    return tensor


_new = object.__new__


def _enter_tensor(leaf: Any, label: tuple[Any, ...]) -> Any:
    value, outer = leaf._value, leaf._edge
    if value.dtype.kind not in "fc":
        raise _no_gradient(label, value)
    tensor = record.plain(value, traced=True)
    if outer is None:
        tensor._edge = InputNode(label)
        tensor._type = _traced_type(value)
    else:
        tensor._edge = REGISTRY["identity"](leaf)._edge
        tensor._detached = True
    if modes.recorder is not None:
        modes.recorder.same(tensor, leaf)
    if isinstance(value, np.ndarray):
        share(tensor, leaf)
    return tensor


def _no_gradient(label: tuple[Any, ...], value: Any) -> DTypeError:
    return DTypeError(
        f"cannot differentiate with respect to argument {name_leaf(*label[1:])!r} ({value.dtype} array): only "
        "floating-point and complex arrays have gradients; convert it with .astype(float) or float()"
    )
