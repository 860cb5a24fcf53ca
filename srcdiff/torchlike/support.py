"""What PyTorch's functions have in common: dimensions, operands, keywords, named results."""

from __future__ import annotations

import functools
import operator
from collections import namedtuple
from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from srcdiff.core.primitive import Operand
from srcdiff.dtypes import numpy_dtype
from srcdiff.errors import DTypeError, ShapeError
from srcdiff.functions.dispatch import operand
from srcdiff.ops.structural import cast, reshape
from srcdiff.tape.modes import modes
from srcdiff.tape.node import AccumulateGrad, node_class
from srcdiff.tape.record import plain_like
from srcdiff.tape.value import TensorBase

F = TypeVar("F", bound=Callable[..., Any])


class DimensionError(ShapeError, IndexError):
    """A dimension that a tensor does not have."""


# ---------------------------------------------------------------------------------------------------------- dimensions


def one_dim(dim: Any, ndim: int) -> int:
    """A dimension as a non-negative int; a 0-d tensor has the dimensions 0 and -1."""
    dim = operator.index(dim)
    bound = ndim or 1
    if not -bound <= dim < bound:
        raise DimensionError(
            f"Dimension out of range (expected to be in range of [{-bound}, {bound - 1}], but got {dim})"
        )
    return int(dim % bound)


def many_dims(dim: Any, ndim: int) -> tuple[int, ...] | None:
    """Dimensions as an ascending tuple; None and an empty sequence mean all, as does any dimension of a 0-d tensor."""
    if dim is None:
        return None
    if not isinstance(dim, (list, tuple)):
        found = one_dim(dim, ndim)
        return (found,) if ndim else None
    dims = sorted(one_dim(d, ndim) for d in dim)
    for a, b in pairwise(dims):
        if a == b:
            raise ShapeError(f"dim {a} appears multiple times in the list of dims")
    return tuple(dims) if dims and ndim else None


def as_sizes(size: tuple[Any, ...]) -> tuple[int, ...]:
    """Sizes given as arguments or as one sequence; -1 is kept."""
    if len(size) == 1 and isinstance(size[0], (list, tuple)):
        size = tuple(size[0])
    return tuple(operator.index(n) for n in size)


# ------------------------------------------------------------------------------------------------------------ operands


def lift(x: Any) -> Any:
    """An operand: tensors, arrays and numbers as they are, lists as arrays."""
    return x if isinstance(x, (TensorBase, Operand)) else operand(x)


def arrayed(x: Any) -> Any:
    """An operand that has a shape."""
    x = lift(x)
    return np.asarray(x) if isinstance(x, (bool, int, float, complex)) else x


def value_of(x: Any) -> Any:
    """The plain value of a tensor; anything else is returned as it is."""
    if not isinstance(x, TensorBase):
        return x
    if modes.recorder is not None:
        modes.recorder.fail("a function without a derivative reads a value")
    return x._value


def result(value: Any, *like: Any) -> Any:
    """A value that has no gradient: a tensor if one of `like` is."""
    tensors = [x for x in like if isinstance(x, TensorBase)]
    return plain_like(np.asarray(value), tensors) if tensors else value


def in_dtype(x: Any, dtype: Any) -> Any:
    """`x` in a dtype, if one is given."""
    if dtype is None or x.dtype == (found := numpy_dtype(dtype)):
        return x
    return cast(x, dtype=found)


def integer_index(index: Any, name: str) -> Any:
    """An index tensor, checked to be of integers."""
    index = arrayed(index)
    if index.dtype.kind not in "iu":
        raise DTypeError(f"{name}(): Expected dtype int32/int64 for index, got {index.dtype}")
    return index


def at_least_1d(x: Any) -> Any:
    """A 0-d operand with one axis."""
    return x if x.ndim else reshape(x, shape=(1,))


def relabel(made: Any, label: str) -> Any:
    """A result just made, its node under another of PyTorch's names."""
    edge = made._edge if isinstance(made, TensorBase) else None
    if edge is not None and type(edge) is not tuple and not isinstance(edge, AccumulateGrad):
        edge.__class__ = node_class(label)
    return made


# ------------------------------------------------------------------------------------------------------------ keywords

_SPELLINGS = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other"}


def numpy_keywords(function: F) -> F:
    """Let a function take `axis` for `dim`, `keepdims` for `keepdim` and NumPy's names for the operands."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            for name in _SPELLINGS.keys() & kwargs.keys():
                kwargs[_SPELLINGS[name]] = kwargs.pop(name)
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]


# ------------------------------------------------------------------------------------------------------- named results


def _named(name: str, fields: str) -> Any:
    return namedtuple(name, fields, module="srcdiff.torchlike.support")


max_result = _named("max_result", "values indices")
min_result = _named("min_result", "values indices")
sort_result = _named("sort_result", "values indices")
topk_result = _named("topk_result", "values indices")
kthvalue_result = _named("kthvalue_result", "values indices")
median_result = _named("median_result", "values indices")
nanmedian_result = _named("nanmedian_result", "values indices")
mode_result = _named("mode_result", "values indices")
cummax_result = _named("cummax_result", "values indices")
cummin_result = _named("cummin_result", "values indices")
aminmax_result = _named("aminmax_result", "min max")
