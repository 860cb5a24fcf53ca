"""Methods that write: PyTorch's with a trailing underscore, and those of ndarray (`fill`, `sort`, `put`, `partition`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff import random
from srcdiff.core.primitive import REGISTRY
from srcdiff.errors import AutogradError
from srcdiff.functions.dispatch import FUNCTIONS, operand, plain
from srcdiff.functions.indexing import index_of
from srcdiff.index import FULL, Dynamic, Index
from srcdiff.inplace.functions import fill_diagonal, put
from srcdiff.inplace.rules import WriteDTypeError, guard
from srcdiff.inplace.write import copy_into, overwrite, store, update
from srcdiff.ops import catalogue  # noqa: F401
from srcdiff.tape.value import TensorBase

_new_value = REGISTRY.__getitem__


def _of_self(name: str, **params: Any) -> Callable[[Any], Any]:
    """The method that replaces a tensor by a primitive of it."""
    prim = _new_value(name)

    def apply(self: Any) -> Any:
        return update(self, prim, **params)

    apply.__doc__ = f"Replace each element by {prim.expr}."
    return apply


def _of_two(name: str) -> Callable[[Any, Any], Any]:
    """The method that replaces a tensor by a primitive of it and another operand."""
    prim = _new_value(name)

    def apply(self: Any, other: Any) -> Any:
        return update(self, prim, operand(other))

    apply.__doc__ = f"Replace each element x by {prim.expr}, y being the other operand's."
    return apply


def _scaled(x: Any, factor: Any) -> Any:
    return x if type(factor) is int and factor == 1 else x * factor


class WritingMethods(TensorBase):
    """Each gives the tensor itself, but for the methods of ndarray, which give None."""

    abs_ = absolute_ = _of_self("abs")
    neg_ = negative_ = _of_self("neg")
    exp_ = _of_self("exp")
    exp2_ = _of_self("exp2")
    expm1_ = _of_self("expm1")
    log_ = _of_self("log")
    log2_ = _of_self("log2")
    log10_ = _of_self("log10")
    log1p_ = _of_self("log1p")
    sqrt_ = _of_self("sqrt")
    rsqrt_ = _of_self("rsqrt")
    square_ = _of_self("square")
    reciprocal_ = _of_self("reciprocal")
    sin_ = _of_self("sin")
    cos_ = _of_self("cos")
    tan_ = _of_self("tan")
    asin_ = arcsin_ = _of_self("arcsin")
    acos_ = arccos_ = _of_self("arccos")
    atan_ = arctan_ = _of_self("arctan")
    sinh_ = _of_self("sinh")
    cosh_ = _of_self("cosh")
    tanh_ = _of_self("tanh")
    asinh_ = arcsinh_ = _of_self("arcsinh")
    acosh_ = arccosh_ = _of_self("arccosh")
    atanh_ = arctanh_ = _of_self("arctanh")
    sigmoid_ = _of_self("sigmoid")
    relu_ = _of_self("relu")
    erf_ = _of_self("erf")
    erfc_ = _of_self("erfc")
    frac_ = _of_self("frac")
    sign_ = _of_self("flat_sign")
    floor_ = _of_self("flat_floor")
    ceil_ = _of_self("flat_ceil")
    trunc_ = _of_self("flat_trunc")
    conj_physical_ = _of_self("conjugate")
    logical_not_ = _of_self("logical_not")
    bitwise_not_ = _of_self("invert")

    mul_ = multiply_ = _of_two("mul")
    pow_ = _of_two("pow")
    floor_divide_ = _of_two("floor_divide")
    remainder_ = _of_two("remainder")
    fmod_ = _of_two("fmod")
    atan2_ = arctan2_ = _of_two("arctan2")
    hypot_ = _of_two("hypot")
    copysign_ = _of_two("copysign")
    xlogy_ = _of_two("xlogy")
    bitwise_and_ = _of_two("bitwise_and")
    bitwise_or_ = _of_two("bitwise_or")
    bitwise_xor_ = _of_two("bitwise_xor")
    logical_and_ = _of_two("logical_and")
    logical_or_ = _of_two("logical_or")
    logical_xor_ = _of_two("logical_xor")
    eq_ = _of_two("equal")
    ne_ = _of_two("not_equal")
    lt_ = _of_two("less")
    le_ = _of_two("less_equal")
    gt_ = _of_two("greater")
    ge_ = _of_two("greater_equal")

    # ------------------------------------------------------------------------------------------------------ arithmetic

    def add_(self, other: Any, *, alpha: Any = 1) -> Any:
        """Add `alpha * other`."""
        return update(self, _new_value("add"), _scaled(operand(other), alpha))

    def sub_(self, other: Any, *, alpha: Any = 1) -> Any:
        """Subtract `alpha * other`."""
        return update(self, _new_value("sub"), _scaled(operand(other), alpha))

    subtract_ = sub_

    def div_(self, other: Any, *, rounding_mode: str | None = None) -> Any:
        """Divide; `rounding_mode` "floor" or "trunc" rounds the quotient."""
        other = operand(other)
        if rounding_mode is None:
            return update(self, _new_value("div"), other)
        rounded = {"floor": "flat_floor", "trunc": "flat_trunc"}.get(rounding_mode)
        if rounded is None:
            raise AutogradError(
                f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
            )
        return update(self, lambda x, y: _new_value(rounded)(_new_value("div")(x, y)), other)

    divide_ = true_divide_ = div_

    def addcmul_(self, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
        """Add `value * tensor1 * tensor2`."""
        return update(self, lambda x, y, z: x + _scaled(y * z, value), operand(tensor1), operand(tensor2))

    def addcdiv_(self, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
        """Add `value * tensor1 / tensor2`."""
        return update(self, lambda x, y, z: x + _scaled(y / z, value), operand(tensor1), operand(tensor2))

    def lerp_(self, end: Any, weight: Any) -> Any:
        """Go the share `weight` of the way to `end`."""
        return update(self, lambda x, y, w: x + w * (y - x), operand(end), operand(weight))

    def addmm_(self, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
        """`beta * self + alpha * (mat1 @ mat2)`."""
        return update(self, lambda x, y, z: _scaled(x, beta) + _scaled(y @ z, alpha), operand(mat1), operand(mat2))

    def round_(self, *, decimals: int = 0) -> Any:
        """Round half to even."""
        return update(self, _new_value("flat_round"), decimals=decimals)

    def clamp_(self, min: Any = None, max: Any = None) -> Any:
        """Bound the elements from below and above."""
        if min is None and max is None:
            raise AutogradError("torch.clamp: At least one of 'min' or 'max' must not be None")
        if max is None:
            return update(self, _new_value("maximum" if isinstance(min, TensorBase) else "clip"), *_bounds(min, np.inf))
        if min is None:
            return update(self, _new_value("minimum" if isinstance(max, TensorBase) else "clip"), *_bounds(-np.inf, max))
        return update(self, _new_value("clip"), operand(min), operand(max))

    clip_ = clamp_

    def clamp_min_(self, min: Any) -> Any:
        """Bound the elements from below."""
        return self.clamp_(min=min)

    def clamp_max_(self, max: Any) -> Any:
        """Bound the elements from above."""
        return self.clamp_(max=max)

    def leaky_relu_(self, negative_slope: float = 0.01) -> Any:
        """Multiply negative elements by the slope."""
        return update(self, _new_value("leaky_relu"), slope=negative_slope)

    def cumsum_(self, dim: int) -> Any:
        """Running sums along an axis."""
        return update(self, FUNCTIONS[np.cumsum], axis=dim)

    def cumprod_(self, dim: int) -> Any:
        """Running products along an axis."""
        return update(self, FUNCTIONS[np.cumprod], axis=dim)

    def tril_(self, diagonal: int = 0) -> Any:
        """Zero what is above a diagonal."""
        return update(self, _new_value("tril"), k=diagonal)

    def triu_(self, diagonal: int = 0) -> Any:
        """Zero what is below a diagonal."""
        return update(self, _new_value("triu"), k=diagonal)

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
        return _filled(
            self, random._bernoulli(plain(p), self._value.shape, self._value.dtype, generator), "Bernoulli"
        )

    def random_(self, from_: int = 0, to: int | None = None, *, generator: Any = None) -> Any:
        """Fill with random integers: below the one number given, or from the first up to the second."""
        if to is None:
            kind = self._value.dtype
            limit = 2 ** (np.finfo(kind).nmant + 1) if kind.kind == "f" else 2 if kind.kind == "b" else np.iinfo(kind).max
            from_, to = (0, from_) if from_ else (0, limit)
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
        return update(self, _new_value("masked_fill"), mask, value)

    def masked_scatter_(self, mask: Any, source: Any) -> Any:
        """Set the elements where the mask is True to the first elements of `source`."""
        where = np.broadcast_to(np.asarray(plain(mask)), self._value.shape)
        source = operand(source)
        flat = _new_value("reshape")(source, shape=(source.size,))
        count = int(np.count_nonzero(where))
        static, dynamic = index_of(self, where)
        store(self, static, dynamic, _new_value("getitem")(flat, index=_head((count,))), label="MaskedScatter")
        return self

    def index_add_(self, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
        """Add the slices of `source` to the slices at `index`; repeated ones add up."""
        source = _scaled(operand(source), alpha)
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
        if "dim" in keywords or "descending" in keywords:
            pytorch: Any = super()
            return pytorch.sort(**keywords)
        update(self, FUNCTIONS[np.sort], axis=axis, kind=kind, order=order, **keywords)
        return None

    def partition(self, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None) -> None:
        """ndarray.partition, in place."""
        update(self, FUNCTIONS[np.partition], kth=kth, axis=axis, kind=kind, order=order)


# ------------------------------------------------------------------------------------------------------------- the parts


def _bounds(low: Any, high: Any) -> tuple[Any, ...]:
    if isinstance(low, TensorBase) or isinstance(high, TensorBase):
        return (low,) if isinstance(low, TensorBase) else (high,)
    return operand(low), operand(high)


def _filled(target: TensorBase, value: Any, label: str) -> TensorBase:
    overwrite(target, value, guard(target, value), label)
    return target


def _head(counts: tuple[int, ...]) -> Index:
    return Index(tuple(type(FULL)(None, n, None) for n in counts), len(counts) > 1)


def _slices(
    x: TensorBase, dim: int, index: Any, source: Any = None, name: str = ""
) -> tuple[Index, tuple[Any, ...]]:
    """The index of slices along an axis; `source`, if given, must have as many."""
    if not -x._value.ndim <= dim < max(x._value.ndim, 1):
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-x._value.ndim}, {x._value.ndim - 1}], but got {dim})"
        )
    where = np.atleast_1d(np.asarray(plain(index)))
    if where.dtype.kind not in "iu":
        raise AutogradError(f"index must be a tensor of integers, not of {where.dtype}")
    axis = dim % max(x._value.ndim, 1)
    width = source.shape[axis] if source is not None and axis < source.ndim else 1
    if source is not None and width != where.size:
        raise AutogradError(
            f"{name}(): Number of indices ({where.size}) should be equal to source.size(dim): ({width}), for dim: {axis}"
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
            value = _new_value("getitem")(value, index=_head(where.shape))
    if not ndim:
        store(x, *index_of(x, ()), value, add, label)
        return
    parts: list[Any] = list(np.ix_(*map(range, where.shape)))
    axis = dim % ndim
    if where.size and (where.min() < 0 or where.max() >= x._value.shape[axis]):
        raise AutogradError(
            f"index {where.max()} is out of bounds for dimension {axis} with size {x._value.shape[axis]}"
        )
    parts[axis] = where
    store(x, Index(tuple(map(Dynamic, range(ndim))), True, where.size <= 1), tuple(parts), value, add, label)
