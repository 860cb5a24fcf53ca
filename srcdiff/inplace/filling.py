"""Methods that fill a tensor or write to some of its elements: PyTorch's with a trailing underscore, and ndarray's
`fill`, `put`, `sort` and `partition`."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff import random
from srcdiff.core.primitive import REGISTRY
from srcdiff.errors import AutogradError
from srcdiff.functions.dispatch import FUNCTIONS, operand, plain
from srcdiff.functions.indexing import index_of
from srcdiff.index import FULL, Dynamic, Index
from srcdiff.inplace.arithmetic import scaled
from srcdiff.inplace.functions import fill_diagonal, put
from srcdiff.inplace.rules import WriteDTypeError, guard
from srcdiff.inplace.views import as_axis
from srcdiff.inplace.write import copy_into, overwrite, store, update
from srcdiff.ops import catalogue  # noqa: F401
from srcdiff.tape.value import TensorBase

_reshape, _getitem, _masked_fill = REGISTRY["reshape"], REGISTRY["getitem"], REGISTRY["masked_fill"]


class FillingMethods(TensorBase):
    """Each gives the tensor itself, but for the methods of ndarray, which give None."""

    # --------------------------------------------------------------------------------------------------------- filling

    def fill_(self, value: Any) -> Any:
        """Set every element to one value."""
        if getattr(value, "ndim", 0):
            raise AutogradError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions."
            )
        return _filled(self, value, "Fill")

    def zero_(self) -> Any:
        """Set every element to 0."""
        return _filled(self, 0, "Zero")

    def copy_(self, src: Any, non_blocking: bool = False) -> Any:
        """Take over the (broadcast) values of another tensor; gradients flow to it."""
        return copy_into(self, operand(src))

    def normal_(self, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Any:
        """Fill with normal random numbers."""
        return _filled(self, random._normal(mean, std, self._value.shape, self._value.dtype, generator), "Normal")

    def uniform_(self, from_: float = 0.0, to: float = 1.0, *, generator: Any = None, **rest: Any) -> Any:
        """Fill with random numbers from `from` up to `to`."""
        low = rest.pop("from", from_)
        if rest:
            raise TypeError(f"uniform_() got an unexpected keyword argument {next(iter(rest))!r}")
        return _filled(self, random._uniform(low, to, self._value.shape, self._value.dtype, generator), "Uniform")

    def bernoulli_(self, p: Any = 0.5, *, generator: Any = None) -> Any:
        """Fill with 1 where chance `p` has it, else 0."""
        return _filled(self, random._bernoulli(plain(p), self._value.shape, self._value.dtype, generator), "Bernoulli")

    def random_(self, from_: int = 0, to: int | None = None, *, generator: Any = None) -> Any:
        """Fill with random integers: below the one number given, or from the first up to the second."""
        if to is None:
            from_, to = 0, from_ or _integers_of(self._value.dtype)
        drawn = random._randint(from_, to, self._value.shape, np.int64, generator)
        return _filled(self, drawn.astype(self._value.dtype), "Random")

    def fill_diagonal_(self, fill_value: Any, wrap: bool = False) -> Any:
        """Set the diagonal to one value."""
        fill_diagonal(self, fill_value, wrap)
        return self

    # ------------------------------------------------------------------------------------------------ selected elements

    def masked_fill_(self, mask: Any, value: Any) -> Any:
        """Set the elements where the mask is True to one value."""
        mask = np.asarray(plain(mask))
        if mask.dtype != bool:
            raise AutogradError("masked_fill_ only supports boolean masks, but got mask with dtype " + str(mask.dtype))
        value = operand(value)
        kind = getattr(value, "dtype", np.result_type(type(value)) if type(value) is complex else self._value.dtype)
        if kind.kind == "c" and self._value.dtype.kind != "c":
            raise WriteDTypeError(f"value cannot be converted to type {self._value.dtype} without overflow")
        if not isinstance(value, TensorBase):
            value = self._value.dtype.type(value) if self._value.dtype.kind in "biu" else value
        return update(self, _masked_fill, mask, value)

    def masked_scatter_(self, mask: Any, source: Any) -> Any:
        """Set the elements where the mask is True to the first elements of `source`."""
        where = np.broadcast_to(np.asarray(plain(mask)), self._value.shape)
        source = operand(source)
        flat = _reshape(source, shape=(source.size,))
        count = int(np.count_nonzero(where))
        static, dynamic = index_of(self, where)
        store(self, static, dynamic, _getitem(flat, index=_head((count,))), label="MaskedScatter")
        return self

    def index_add_(self, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
        """Add the slices of `source` to the slices at `index`; repeated ones add up."""
        source = scaled(operand(source), alpha)
        store(self, *_slices(self, dim, index, source, "index_add_"), source, add=True, label="IndexAdd")
        return self

    def index_copy_(self, dim: int, index: Any, source: Any) -> Any:
        """Replace the slices at `index` by those of `source`."""
        source = operand(source)
        store(self, *_slices(self, dim, index, source, "index_copy_"), source, label="IndexCopy")
        return self

    def index_fill_(self, dim: int, index: Any, value: Any) -> Any:
        """Set the slices at `index` to one value."""
        store(self, *_slices(self, dim, index), operand(value), label="IndexFill")
        return self

    def index_put_(self, indices: Any, values: Any, accumulate: bool = False) -> Any:
        """`self[indices] = values`, or with `accumulate` an addition in which repeated entries add up."""
        static, dynamic = index_of(self, tuple(indices))
        store(self, static, dynamic, operand(values), add=accumulate, label="IndexPut")
        return self

    def scatter_(self, dim: int, index: Any, src: Any = None, *, value: Any = None, reduce: str | None = None) -> Any:
        """Put the elements of `src` (or one value) where `index` says along an axis; `reduce` "add" adds them."""
        if reduce not in (None, "add", "sum"):
            raise AutogradError(f"scatter_: reduce={reduce!r} is not supported; it may be None or 'add'")
        given = operand(value if src is None else src)
        _scattered(self, dim, index, given, reduce is not None, "Scatter")
        return self

    def scatter_add_(self, dim: int, index: Any, src: Any) -> Any:
        """Add the elements of `src` where `index` says along an axis."""
        _scattered(self, dim, index, operand(src), True, "ScatterAdd")
        return self

    # ---------------------------------------------------------------------------------------------- methods of ndarray

    def fill(self, value: Any) -> None:
        """ndarray.fill."""
        self.fill_(operand(value))

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        """ndarray.put."""
        put(self, indices, values, mode)

    def sort(self, axis: int = -1, kind: Any = None, order: Any = None, **keywords: Any) -> Any:
        """ndarray.sort, in place; with a keyword of PyTorch's (`dim`, `descending`) its method, which gives values and
        indices."""
        if "dim" in keywords or "descending" in keywords or type(kind) is bool:
            pytorch: Any = super()
            return pytorch.sort(axis, kind, **keywords)
        update(self, FUNCTIONS[np.sort], axis=axis, kind=kind, order=order, **keywords)
        return None

    def partition(self, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None) -> None:
        """ndarray.partition, in place."""
        update(self, FUNCTIONS[np.partition], kth=kth, axis=axis, kind=kind, order=order)


# ---------------------------------------------------------------------------------------------------------- the parts


def _integers_of(dtype: np.dtype[Any]) -> int:
    """Up to where a dtype holds every integer."""
    if dtype.kind == "f":
        return int(2 ** (np.finfo(dtype).nmant + 1))
    return 2 if dtype.kind == "b" else int(np.iinfo(dtype).max)


def _filled(target: TensorBase, value: Any, label: str) -> TensorBase:
    overwrite(target, value, guard(target, value), label)
    return target


def _head(counts: tuple[int, ...]) -> Index:
    return Index(tuple(type(FULL)(None, n, None) for n in counts), len(counts) > 1)


def _slices(x: TensorBase, dim: int, index: Any, source: Any = None, name: str = "") -> tuple[Index, tuple[Any, ...]]:
    """The index of slices along an axis; `source`, if given, must have as many."""
    axis = as_axis(dim, max(x._value.ndim, 1))
    where = np.atleast_1d(np.asarray(plain(index)))
    if where.dtype.kind not in "iu":
        raise AutogradError(f"index must be a tensor of integers, not of {where.dtype}")
    width = source.shape[axis] if source is not None and axis < source.ndim else 1
    if source is not None and width != where.size:
        raise AutogradError(
            f"{name}(): Number of indices ({where.size}) should be equal to source.size(dim): ({width}), for dim: "
            f"{axis}"
        )
    return Index((*(FULL,) * axis, Dynamic(0)), axis > 0, where.size <= 1), (where,)


def _scattered(x: TensorBase, dim: int, index: Any, value: Any, add: bool, label: str) -> None:
    """The common part of `scatter_` and `scatter_add_`: index[..., i, ...] names the position along the axis."""
    where = np.asarray(plain(index))
    ndim = x._value.ndim
    if where.ndim != ndim:
        raise AutogradError("Index tensor must have the same number of dimensions as self tensor")
    if getattr(value, "ndim", 0):
        if value.ndim != ndim or any(n > m for n, m in zip(where.shape, value.shape, strict=True)):
            raise AutogradError(
                f"Expected index {list(where.shape)} to be no larger than src {list(value.shape)} in all dimensions"
            )
        if value.shape != where.shape:
            value = _getitem(value, index=_head(where.shape))
    if not ndim:
        store(x, *index_of(x, ()), value, add, label)
        return
    parts: list[Any] = list(np.ix_(*map(range, where.shape)))
    axis = as_axis(dim, ndim)
    if where.size and (where.min() < 0 or where.max() >= x._value.shape[axis]):
        raise AutogradError(
            f"index {where.max()} is out of bounds for dimension {axis} with size {x._value.shape[axis]}"
        )
    parts[axis] = where
    store(x, Index(tuple(map(Dynamic, range(ndim))), True, where.size <= 1), tuple(parts), value, add, label)
