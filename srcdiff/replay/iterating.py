"""NumPy's loops over single elements, of traced values: `np.nditer`, `np.ndenumerate`, and functions made by
`np.vectorize`. An element is a traced value as well, and one of `nditer`'s can be written to.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from srcdiff.errors import GradientLostError, UnsupportedError
from srcdiff.functions.assembly import differentiated, has_tensor
from srcdiff.replay.active import active
from srcdiff.replay.constructors import array
from srcdiff.tape.value import TensorBase


def ndenumerate(arr: Any) -> Any:
    """`np.ndenumerate`."""
    if not has_tensor(arr) or not active.depth:
        return np.ndenumerate(arr)
    given = array(arr, copy=None)
    return ((index, given[index]) for index in np.ndindex(given.shape))


# --------------------------------------------------------------------------------------------------------------- nditer

_FLAGS = frozenset({"multi_index", "c_index", "f_index", "refs_ok", "zerosize_ok", "common_dtype", "copy_if_overlap"})


def nditer(op: Any, flags: Any = (), op_flags: Any = None, op_dtypes: Any = None, order: Any = "K", **rest: Any) -> Any:
    """`np.nditer`."""
    operands = list(op) if type(op) in (list, tuple) else [op]
    if not active.depth or not any(isinstance(x, TensorBase) for x in operands):
        return np.nditer(op, flags, op_flags, op_dtypes, order, **rest)
    given: dict[str, Any] = {"op_dtypes": op_dtypes, **rest}
    refused = [f"{name}={value!r}" for name, value in given.items() if value is not None]
    refused += [f"flag {flag!r}" for flag in flags if flag not in _FLAGS]
    refused += ["an operand to allocate" for x in operands if x is None]
    if refused:
        raise UnsupportedError(f"np.nditer over traced values does not take {', '.join(refused)}")
    return _Iterator([array(x, copy=None) for x in operands], flags, order)


class _Iterator:
    """What `np.nditer` gives, over Tensors. Elements are views."""

    def __init__(self, operands: list[Any], flags: Any, order: str) -> None:
        pattern = [x._value if isinstance(x, TensorBase) else x for x in operands]
        make: Any = np.nditer
        kinds = [["readonly"]] * len(operands)
        walk = make(pattern, ["multi_index", "refs_ok", "zerosize_ok"], kinds, order=order)
        self.operands = tuple(operands)
        self.shape = walk.shape
        self.ndim, self.nop, self.itersize = walk.ndim, walk.nop, walk.itersize
        self.dtypes = tuple(x.dtype for x in operands)
        self.iterindex = 0
        self._places = []
        while not walk.finished:
            self._places.append(walk.multi_index)
            walk.iternext()
        self._index_order = "C" if "c_index" in flags else "F" if "f_index" in flags else None

    def __len__(self) -> int:
        return int(self.itersize)

    def __iter__(self) -> Iterator[Any]:
        while not self.finished:
            yield self.value
            self.iterindex += 1

    def __next__(self) -> Any:
        if self.finished:
            raise StopIteration
        value = self.value
        self.iterindex += 1
        return value

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: Any) -> None:
        return None

    def __getitem__(self, k: Any) -> Any:
        parts = self._elements()
        return parts[k]

    def __setitem__(self, k: int, value: Any) -> None:
        self._elements()[k][...] = value

    @property
    def finished(self) -> bool:
        """Whether all elements have been visited."""
        return self.iterindex >= len(self._places)

    @property
    def multi_index(self) -> tuple[int, ...]:
        """Where the iterator is."""
        return self._places[self.iterindex]  # type: ignore[no-any-return]

    @property
    def index(self) -> int:
        """The same in the flat array, in the order that the flags say."""
        if self._index_order is None:
            raise ValueError("Iterator does not have an index")
        return int(np.ravel_multi_index(self.multi_index, self.shape, order=self._index_order)) if self.ndim else 0  # type: ignore[call-overload]

    def _elements(self) -> tuple[Any, ...]:
        place = self.multi_index
        return tuple(x[(*_within(place, x.shape), ...)] for x in self.operands)

    @property
    def value(self) -> Any:
        """The element, or a tuple with one of each operand."""
        parts = self._elements()
        return parts[0] if len(parts) == 1 else parts

    def iternext(self) -> bool:
        """Go on; whether there is an element."""
        self.iterindex += 1
        return not self.finished

    def reset(self) -> None:
        """Start again."""
        self.iterindex = 0

    def close(self) -> None:
        """Elements are written at once, so there is nothing left to do."""


def _within(place: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The place in an operand that is broadcast."""
    tail = place[len(place) - len(shape) :]
    return tuple(0 if n == 1 else i for i, n in zip(tail, shape, strict=True))


# ------------------------------------------------------------------------------------------------------------ vectorize


def vectorized(made: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """What `np.vectorize` made, calling `function` in place of its own one."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if made.pyfunc is np._NoValue:
            return made(*args, **kwargs)
        if not any(map(has_tensor, (*args, *kwargs.values()))):
            try:
                return made(*args, **kwargs)
            except (GradientLostError, ValueError) as error:
                if not isinstance(error.__cause__ if type(error) is ValueError else error, GradientLostError):
                    raise
        return _each(made, function, args, kwargs)

    return call


def _each(made: Any, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call the function for each element, or each core array of a signature, and stack what it gives."""
    excluded = made.excluded
    slots: list[Any] = [k for k in range(len(args)) if k not in excluded]
    slots += [name for name in kwargs if name not in excluded]
    given = [array(args[slot] if isinstance(slot, int) else kwargs[slot], copy=None) for slot in slots]
    cores = [0] * len(slots)
    if made.signature is not None:
        inputs = made.signature.replace(" ", "").split("->")[0]
        cores = [len([d for d in part.strip("()").split(",") if d]) for part in inputs.split("),(")]
        if len(cores) != len(slots):
            raise TypeError(f"wrong number of positional arguments: expected {len(cores)}, got {len(slots)}")
    loops = [x.shape[: len(x.shape) - core] for x, core in zip(given, cores, strict=True)]
    shape = np.broadcast_shapes(*loops)
    if math.prod(shape) == 0 and made.otypes is None:
        raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
    rows = []
    for place in np.ndindex(shape):
        positional, named = list(args), dict(kwargs)
        for slot, x, loop in zip(slots, given, loops, strict=True):
            (positional if isinstance(slot, int) else named)[slot] = x[_within(place, loop)]
        rows.append(function(*positional, **named))
    several = bool(rows) and isinstance(rows[0], tuple)
    columns: list[Any] = [[row[k] for row in rows] for k in range(len(rows[0]))] if several else [rows]
    results = tuple(_stacked(column, shape, made.otypes, k) for k, column in enumerate(columns))
    return results if several else results[0]


def _stacked(parts: list[Any], shape: tuple[int, ...], otypes: str | None, k: int) -> Any:
    """The results of all calls as one array, whose dtype is that of the first, as NumPy has it."""
    if not parts:
        return np.zeros(shape, otypes[k] if otypes else float)
    first = parts[0]._value if isinstance(parts[0], TensorBase) else np.asarray(parts[0])
    dtype = np.dtype(otypes[k]) if otypes else first.dtype
    if dtype.kind not in "fc" and any(map(differentiated, parts)):
        raise GradientLostError(
            f"np.vectorize gives an array of {dtype}, as its first result or otypes say, which cannot hold a gradient: "
            "give otypes=[float]"
        )
    made = array(parts, dtype)
    return np.reshape(made, (*shape, *made.shape[1:]))
