"""A call of a function whose derivative along tangents is wanted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from srcdiff.api.gradient import outside, release
from srcdiff.api.trace import taken_apart, trace
from srcdiff.api.tree import flatten, leaf_names, paired
from srcdiff.autograd.cache import Counts
from srcdiff.autograd.pushing import Pushforward
from srcdiff.errors import ArgumentError, DTypeError, ShapeError
from srcdiff.replay.findings import RefusedError
from srcdiff.tangents import Tangents
from srcdiff.tape import record
from srcdiff.tape.value import TensorBase


class Call:
    """A traced call. Without `tangents` these come later."""

    def __init__(
        self,
        what: str,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any],
        chosen: Sequence[int | str],
        tangents: Any,
        names: Callable[[Any], str],
        has_aux: bool,
        counts: Counts | None = None,
    ) -> None:
        self.what = what
        self.function = function
        self._names = names
        self._chosen = chosen
        self._given = [args[key] if isinstance(key, int) else kwargs[key] for key in chosen]
        self._constant: set[tuple[int | str, int]] = set()
        if tangents is None:
            for key, value in zip(chosen, self._given, strict=True):
                self._constant |= {(key, j) for j, leaf in enumerate(flatten(value)[0]) if not _kind(leaf)}
            self._tangents: list[Any] = []
        else:
            taken = self.taken(sequence("tangents", tangents))
            self._tangents = [t for t in taken if t is not None]
            if len(self._tangents) < len(taken):
                given = zip(chosen, self._given, strict=True)
                places = [(key, j) for key, x in given for j in range(len(taken_apart(x)[0]))]
                self._constant = {place for place, t in zip(places, taken, strict=True) if t is None}
        self._trace = trace(function, list(args), dict(kwargs), chosen, names, self._constant)
        result, self._aux = self._trace.result, None
        if has_aux:
            if not (isinstance(result, tuple) and len(result) == 2):
                raise TypeError(
                    f"sd.{what} with has_aux=True: the function must return (value, aux), got {type(result).__name__}"
                )
            result, self._aux = result
        self._outs, self._rebuild = taken_apart(result)
        self._push = Pushforward(self._outs, self._trace.edges, self._trace.start, counts)

    def taken(self, tangents: Sequence[Any]) -> list[Any]:
        """The tangents of the leaves of the arguments that are not constant, checked; None for zero."""
        if len(tangents) != len(self._given):
            raise ArgumentError(f"{self.what}: {len(self._given)} primals, but {len(tangents)} tangents")
        found: list[Any] = []
        for key, value, tangent in zip(self._chosen, self._given, tangents, strict=True):
            several = type(value) in (list, tuple) and type(tangent) in (list, tuple) and len(value) == len(tangent)
            leaves, along = (value, tangent) if several else ((value,), (tangent,))
            if all(map(_fit, leaves, along)):
                found += along
                continue
            try:
                pairs = paired(value, tangent)
            except ArgumentError as error:
                raise ArgumentError(f"{self.what}: the tangent of {self._names(key)!r} {error}") from None
            for j, (leaf, along) in enumerate(pairs):
                checked = None if along is None else self._checked(key, value, j, leaf, along)
                if checked is not None or (key, j) not in self._constant:
                    found.append(checked)
        return found

    def _checked(self, key: int | str, value: Any, j: int, leaf: Any, tangent: Any) -> Any:
        """A tangent as an array or Tensor, in the dtype of its value."""

        def named() -> str:
            return f"{self.what}: the tangent of {leaf_names(value, self._names(key))[j]!r}"

        kind = _kind(leaf)
        if not kind:
            shown = f"{leaf.dtype} array" if hasattr(leaf, "dtype") else type(leaf).__name__
            raise DTypeError(
                f"{named()} must be None, which stands for zero: only floating-point and complex values have others, "
                f"and this is a value of type {shown}; convert it with .astype(float) or float()"
            )
        primal = leaf._value if isinstance(leaf, TensorBase) else leaf
        dtype = primal.dtype if hasattr(primal, "dtype") else np.dtype(type(primal))
        array = tangent._value if isinstance(tangent, TensorBase) else np.asarray(tangent)
        if array.dtype.kind not in "fciub" or (array.dtype.kind == "c" and kind != "c"):
            raise DTypeError(f"{named()} has dtype {array.dtype}, but its value {dtype}")
        if array.shape != np.shape(primal):
            raise ShapeError(f"{named()} has shape {array.shape}, but its value {np.shape(primal)}")
        if isinstance(tangent, TensorBase):
            return tangent if array.dtype == dtype else tangent.astype(dtype)
        return array.astype(dtype, copy=False)[()]

    def pushed(self) -> tuple[Any, Any, Any]:
        """The function's value, its tangent, and aux."""
        tangent = self.tangent(self._tangents)
        return self.value(), tangent, self.released()

    def value(self) -> Any:
        """The function's value as the caller gets it."""
        is_open = self._push.is_open
        return self._rebuild([outside(out, self._trace, is_open) for out in self._outs])

    def released(self) -> Any:
        """Aux as the caller gets it."""
        return None if self._aux is None else release(self._aux, self._trace)

    def tangent(self, tangents: Sequence[Any]) -> Any:
        """The tangent of the value."""
        found = self._push(tangents, None)
        wrapped = any(isinstance(leaf, TensorBase) for leaf in self._trace.leaves)
        return self._rebuild([_like(out, t, wrapped) for out, t in zip(self._outs, found, strict=True)])

    def single(self) -> tuple[Any, Any]:
        """The value and its tangent as Tensors, while the call is watched. Raises RefusedError if they are not that."""
        found = self._push(self._tangents, None)
        if len(found) != 1 or not isinstance(self._trace.result, TensorBase) or not isinstance(found[0], TensorBase):
            raise RefusedError("its result is not one array that depends on its arguments")
        return self._trace.result, found[0]

    def compiled(self) -> Tangents:
        """The compiled derivative."""
        if not self._push.connected:
            raise TypeError(
                "the result of the function does not depend on arguments that have tangents: there is no derivative"
            )
        return self._push.compiled((True,) * len(self._trace.edges))


def sequence(what: str, given: Any) -> Sequence[Any]:
    """Primals or tangents as they were given. Raises ArgumentError unless they are a tuple or a list."""
    if not isinstance(given, (tuple, list)):
        raise ArgumentError(f"jvp: {what} must be a tuple or list of arguments, got {type(given).__name__}")
    return given


def _fit(value: Any, tangent: Any) -> bool:
    """Whether both are arrays of one type, as they mostly are."""
    if type(value) is not np.ndarray or type(tangent) is not np.ndarray:
        return False
    return value.dtype is tangent.dtype and value.shape == tangent.shape and value.dtype.kind == "f"


def _kind(leaf: Any) -> str:
    """ "f" or "c" for values that can move, else nothing."""
    if type(leaf) in (float, complex):
        return "f" if type(leaf) is float else "c"
    value = leaf._value if isinstance(leaf, TensorBase) else leaf
    kind = value.dtype.kind if isinstance(value, (np.ndarray, np.generic)) else ""
    return kind if kind in "fc" else ""


def _like(out: Any, tangent: Any, wrapped: bool) -> Any:
    """A tangent in the kind of the value it belongs to; zeros for None."""
    if tangent is not None:
        return record.plain(tangent) if wrapped and not isinstance(tangent, TensorBase) else tangent
    value = out._value if isinstance(out, TensorBase) else out
    if not isinstance(value, (np.ndarray, np.generic, bool, int, float, complex)):
        return None
    dtype = np.result_type(value)
    zeros = np.zeros(np.shape(value), dtype if dtype.kind in "fc" else float)[()]
    return record.plain(zeros) if wrapped else zeros
