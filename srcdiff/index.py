"""Index expressions as hashable values: what stands between the brackets of `x[...]`.

`split` takes a user's index apart into an `Index` (static: hashable, printable) and the dynamic parts (index arrays,
and integers or slice positions that vary from call to call); `Index.__call__(*dynamic)` puts it together again:

    index, dynamic = split((slice(1, None), rows, 0), x.shape)
    x[index(*dynamic)]                      # the same as x[1:, rows, 0]

Guarantees: `Index.shape` gives the shape of the selection from shapes alone. For that boolean masks are replaced by the
integer arrays that select the same elements, and a slice at a varying position becomes a `Window` of static length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Dynamic:
    """The place of the k-th dynamic part: an integer array, or an integer that varies."""

    k: int
    array: bool = True


@dataclass(frozen=True, slots=True)
class Slice:
    """A hashable slice."""

    start: int | None
    stop: int | None
    step: int | None


@dataclass(frozen=True, slots=True)
class Window:
    """The slice `start : start + length * step : step` whose start is the k-th dynamic part; `step` is positive."""

    k: int
    length: int
    step: int


@dataclass(frozen=True, slots=True)
class Truth:
    """An index that is True or False by itself: adds an axis of length 1 or 0."""

    value: bool


@dataclass(frozen=True, slots=True)
class Index:
    """A static index expression with holes. `tuple_like` is False for a bare index such as `x[0]`.

    `unique` promises that no element is selected twice, whatever the dynamic parts are.
    """

    parts: tuple[Any, ...]
    tuple_like: bool
    unique: bool = True

    def __call__(self, *dynamic: Any) -> Any:
        """The index itself, as NumPy takes it."""
        full = tuple(_restore(part, dynamic) for part in self.parts)
        return full if self.tuple_like else full[0]

    @property
    def basic(self) -> bool:
        """Whether NumPy gives a view: no part is an array."""
        return not any(type(part) is Truth or (type(part) is Dynamic and part.array) for part in self.parts)

    def selects_all(self, shape: Shape) -> bool:
        """Whether it gives an array of that shape as it is: only full slices and ellipses."""
        return all(
            part is Ellipsis or (type(part) is Slice and range(n)[_restore(part, ())] == range(n))
            for part, n in zip(self.parts, (*shape, 0), strict=False)
        ) and (Ellipsis not in self.parts[:-1])

    def reshapes(self, shape: Shape) -> bool:
        """Whether it gives all elements of an array of that shape in their order: full slices and new axes."""
        kept = Index(tuple(part for part in self.parts if part is not None), True)
        return kept.selects_all(shape)

    @property
    def label(self) -> str:
        """PyTorch's name for the operation: that of the last part that selects something."""
        if not self.basic:
            return "Index"
        for part in reversed(self.parts):
            if type(part) in (int, Dynamic):
                return "Select"
            if type(part) in (Slice, Window):
                return "Slice"
            if part is None:
                return "Unsqueeze"
        return "Alias"

    def shape(self, of: Shape, *dynamic: Shape) -> Shape:
        """The shape of `x[self(*dynamic)]` for x of shape `of` and dynamic parts of the given shapes."""
        parts = expand_ellipsis(self.parts, len(of))
        together = any(type(part) is Truth or (type(part) is Dynamic and dynamic[part.k]) for part in parts)
        out: list[int] = []
        broadcast: list[Shape] = []
        places: list[int] = []  # where in `parts` the parts are that select together, as arrays
        position = 0  # where in `out` the axes of the arrays go
        axis = 0
        for place, part in enumerate(parts):
            if part is None or part is Ellipsis:
                out.extend([1] if part is None else [])
                continue
            if type(part) is Truth:
                selected: Shape | None = (int(part.value),)
            elif type(part) is Slice:
                selected = None
                out.append(len(range(of[axis])[_restore(part, ())]))
            elif type(part) is Window:
                selected = None
                out.append(part.length)
            else:
                selected = dynamic[part.k] if type(part) is Dynamic else ()
            axis += type(part) is not Truth
            if selected is not None and together:
                position = len(out) if not places else position
                broadcast.append(selected)
                places.append(place)
        if not together:
            return tuple(out)
        if places[-1] - places[0] != len(places) - 1:
            position = 0  # separated by a slice or a new axis: NumPy puts the axes of the arrays first
        return (*out[:position], *np.broadcast_shapes(*broadcast), *out[position:])


FULL = Slice(None, None, None)


def expand_ellipsis(parts: tuple[Any, ...], ndim: int) -> tuple[Any, ...]:
    """The parts with full slices added for the axes not mentioned, after the ellipsis. Raises IndexError as NumPy does.

    The ellipsis stays, because it keeps arrays to its left and right apart even where it stands for no axis.
    """
    used = sum(part is not None and part is not Ellipsis and type(part) is not Truth for part in parts)
    if used > ndim:
        raise IndexError(f"too many indices for array: array is {ndim}-dimensional, but {used} were indexed")
    rest = (FULL,) * (ndim - used)
    where = [k for k, part in enumerate(parts) if part is Ellipsis]
    if len(where) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    k = where[0] if where else len(parts)
    return (*parts[:k], Ellipsis, *rest, *parts[k + 1 :])


def window(axis: int, start: int, stop: int) -> Index:
    """The index of `start:stop` along one axis."""
    return Index((*(FULL,) * axis, Slice(start, stop, None)), axis > 0)


def at(axis: int, k: int) -> Index:
    """The index of position k along one axis."""
    return Index((*(FULL,) * axis, k), axis > 0)


def _restore(part: Any, dynamic: tuple[Any, ...]) -> Any:
    kind = type(part)
    if kind is Dynamic:
        return dynamic[part.k]
    if kind is Slice:
        return slice(part.start, part.stop, part.step)
    if kind is Window:
        start = int(dynamic[part.k])
        return slice(start, start + part.length * part.step, part.step)
    return part.value if kind is Truth else part


def _is_empty_mask(mask: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Whether a mask that selects nothing fits: as for NumPy, its axes of length 0 fit any."""
    return (
        0 in mask
        and len(mask) <= len(shape)
        and all(n in (0, length) for n, length in zip(mask, shape, strict=False))
    )  # fmt: skip


def split(index: Any, shape: Shape, vary: bool = False) -> tuple[Index, tuple[Any, ...]]:
    """Take an index of an array of `shape` apart. With `vary`, integers and positions of slices become dynamic parts.

    Dynamic parts are integer arrays or ints; lists are converted. Tensors must have been replaced by their arrays
    before. Raises IndexError for what NumPy would refuse too.
    """
    tuple_like = isinstance(index, tuple)
    given = [_array_part(part) for part in (index if tuple_like else (index,))]
    axes = _axes_of(given, len(shape))
    parts: list[Any] = []
    dynamic: list[Any] = []
    unique = True
    for part, axis in zip(given, axes, strict=True):
        if part is None or part is Ellipsis or type(part) is Truth:
            parts.append(part)
        elif type(part) is int:
            parts.append(Dynamic(len(dynamic), False) if vary else part)
            dynamic.extend([part] if vary else [])
        elif type(part) is slice:
            bounds = Slice(*(None if b is None else b.__index__() for b in (part.start, part.stop, part.step)))
            found = range(shape[axis])[_restore(bounds, ())] if axis < len(shape) else range(0)
            if vary and found.step > 0 and (bounds.start, bounds.stop) != (None, None):
                parts.append(Window(len(dynamic), len(found), found.step))
                dynamic.append(found.start)
            else:
                parts.append(bounds)
        elif part.dtype.kind == "b":
            if part.shape != shape[axis : axis + part.ndim] and not _is_empty_mask(part.shape, shape[axis:]):
                raise IndexError(
                    f"boolean index of shape {part.shape} did not match the indexed axes of shape "
                    f"{shape[axis : axis + part.ndim]}"
                )
            for rows in np.nonzero(part):
                parts.append(Dynamic(len(dynamic)))
                dynamic.append(rows)
            tuple_like = tuple_like or part.ndim > 1
        else:
            unique = unique and part.size <= 1
            parts.append(Dynamic(len(dynamic)))
            dynamic.append(part)
    return Index(tuple(parts), tuple_like, unique), tuple(dynamic)


def _array_part(part: Any) -> Any:
    """One part of an index as None, Ellipsis, an int, a slice, a Truth or an array of integers or booleans."""
    if part is None or part is Ellipsis or type(part) in (int, slice):
        return part
    if isinstance(part, (bool, np.bool_)):
        return Truth(bool(part))
    if not isinstance(part, np.ndarray) and hasattr(part, "__index__"):
        return part.__index__()
    array = np.asarray(part)
    if array.size == 0 and array.dtype.kind == "f" and not isinstance(part, np.ndarray):
        array = array.astype(np.intp)
    if array.dtype.kind == "b" and not array.ndim:
        return Truth(bool(array))
    if array.dtype.kind not in "iub":
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and integer or boolean arrays are valid indices, got "
            f"{type(part).__name__} of dtype {array.dtype}"
        )
    return array


def _axes_of(given: list[Any], ndim: int) -> list[int]:
    """The first axis each part refers to."""
    widths = [
        0 if part is None or part is Ellipsis or type(part) is Truth
        else part.ndim if isinstance(part, np.ndarray) and part.dtype.kind == "b"
        else 1
        for part in given
    ]  # fmt: skip
    if sum(widths) > ndim:
        raise IndexError(f"too many indices for array: array is {ndim}-dimensional, but {sum(widths)} were indexed")
    axes: list[int] = []
    axis = 0
    for part, width in zip(given, widths, strict=True):
        axes.append(axis)
        axis += ndim - sum(widths) if part is Ellipsis else width
    return axes
