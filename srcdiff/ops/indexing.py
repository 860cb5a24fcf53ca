"""Selecting and replacing elements.

`index` is an `Index` (see `srcdiff.index`); its dynamic parts are the last operands.

    getitem(x, *args)              x[index]                         scatter(ct)
    scatter(x, *args)              zeros with x added at index      getitem(ct)
    scatter_scaled(x, scale, i)    scatter(x * scale[:, None], i)   none: it is made after differentiation
    index_set(x, v, *args)         x after x[index] = v             ct with zeros at index, getitem(ct)
    index_add(x, v, *args)         x after x[index] += v            ct, getitem(ct)

Where an index selects an element twice, reading counts it twice, `scatter` and `index_add` add up, and `index_set`
keeps what is written last: only that entry of v gets a gradient. The same exists along one axis, for
`np.take_along_axis`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.aval import Aval, aval
from srcdiff.core.primitive import Primitive
from srcdiff.errors import ShapeError
from srcdiff.index import FULL, Dynamic, Index, Slice, at
from srcdiff.ops.elementwise import where
from srcdiff.ops.families import linear, nondiff, primitive
from srcdiff.ops.structural import reshape

Shape = tuple[int, ...]

ROWS = Index((Dynamic(0),), False, False)  # x[places]

#: all operands after the first (after the second), as `saves` names them; an index has at most 64 parts
_ARGS = " ".join(map(str, range(1, 65)))
_ARGS_2 = " ".join(map(str, range(2, 66)))


def _label(params: dict[str, Any]) -> str:
    return str(params["index"].label)


def _selected(x: Aval, *args: Aval, index: Index) -> Aval:
    return aval(index.shape(x.shape, *(a.shape for a in args)), x.dtype)


def _winners(ct: Any, shape: Shape, args: tuple[Any, ...], index: Index) -> Any:
    """`ct` for the written value: zero where a later entry overwrote the same element."""
    ct = getitem(ct, *args, index=index)
    return ct if index.unique else where(last_writes(*args, index=index, shape=shape), ct, 0.0)


getitem: Primitive = linear(
    "getitem", "x *args", "x[index(*args)]",
    lambda ct, out, x, *args, index: (
        reshape(ct, shape=x.shape) if index.reshapes(x.shape)
        else scatter(ct, *args, index=index, shape=x.shape, unique=index.unique)
    ),
    infer=_selected, params="index", saves=[_ARGS], view=True, label_of=_label, selects=True,
)  # fmt: skip
scatter: Primitive = linear(
    "scatter", "x *args", "rt.scatter(x, np.s_[index(*args)], shape, unique)",
    lambda ct, out, x, *args, index, shape, unique: getitem(ct, *args, index=index),
    infer=lambda x, *args, index, shape, unique: aval(shape, x.dtype), params="index shape unique", saves=[_ARGS],
    label="IndexPut",
)  # fmt: skip
scatter_scaled: Primitive = nondiff(
    "scatter_scaled", "x scale places", "rt.scatter_scaled(x, scale, places, rows)",
    infer=lambda x, scale, places, *, rows: aval((rows, *x.shape[1:]), x.dtype), params="rows", label="IndexPut",
    reason="it takes the place of a product and a scatter after differentiation",
)  # fmt: skip
index_set: Primitive = primitive(
    "index_set", "x v *args", "rt.index_set(x, np.s_[index(*args)], v)",
    [
        lambda ct, out, x, v, *args, index: index_set(ct, 0.0, *args, index=index),
        lambda ct, out, x, v, *args, index: _winners(ct, x.shape, args, index),
    ],
    infer=lambda x, v, *args, index: aval(x.shape, x.dtype), params="index", saves=[_ARGS_2, _ARGS_2], label="IndexPut",
    linear="all", selects=True,
)  # fmt: skip
index_add: Primitive = primitive(
    "index_add", "x v *args", "rt.index_add(x, np.s_[index(*args)], v, unique)",
    [
        lambda ct, out, x, v, *args, index, unique: ct,
        lambda ct, out, x, v, *args, index, unique: getitem(ct, *args, index=index),
    ],
    infer=lambda x, v, *args, index, unique: aval(x.shape, x.dtype), params="index unique", saves=["", _ARGS_2],
    label="IndexPut", linear="all",
)  # fmt: skip
last_writes: Primitive = nondiff(
    "last_writes", "*args", "rt.last_writes(np.s_[index(*args)], shape)",
    infer=lambda *args, index, shape: aval(index.shape(shape, *(a.shape for a in args)), np.dtype(bool)),
    params="index shape", reason="it says which entries of an assignment remain",
)  # fmt: skip

# ------------------------------------------------------------------------------------------------------- along one axis


def _along(x: Aval, indices: Aval, *, axis: int) -> Aval:
    rest = [(n, m) for k, (n, m) in enumerate(zip(x.shape, indices.shape, strict=True)) if k != axis]
    if any(n != m for n, m in rest):
        raise ShapeError(f"take_along_axis: {x} and indices {indices} differ elsewhere than along axis {axis}")
    return aval(indices.shape, x.dtype)


#: x and indices have one shape but for the axis
take_along_axis: Primitive = linear(
    "take_along_axis", "x indices", "np.take_along_axis(x, indices, axis)",
    lambda ct, out, x, indices, *, axis: scatter_along_axis(ct, indices, axis=axis, shape=x.shape),
    infer=_along, params="axis", label="Gather", saves=["indices"], selects=True,
)  # fmt: skip
scatter_along_axis: Primitive = linear(
    "scatter_along_axis", "x indices", "rt.scatter_along_axis(x, indices, axis, shape)",
    lambda ct, out, x, indices, *, axis, shape: take_along_axis(ct, indices, axis=axis),
    infer=lambda x, indices, *, axis, shape: aval(shape, x.dtype), params="axis shape", label="ScatterAdd",
    saves=["indices"],
)  # fmt: skip
set_along_axis: Primitive = primitive(
    "set_along_axis", "x indices v", "rt.set_along_axis(x, indices, v, axis)",
    [
        lambda ct, out, x, indices, v, *, axis: set_along_axis(ct, indices, 0.0, axis=axis),
        None,
        lambda ct, out, x, indices, v, *, axis: where(
            last_along_axis(indices, axis=axis, shape=x.shape), take_along_axis(ct, indices, axis=axis), 0.0
        ),
    ],
    infer=lambda x, indices, v, *, axis: aval(x.shape, x.dtype), params="axis", label="Scatter",
    saves=["indices", "", "indices"], linear="all", selects=True,
)  # fmt: skip
last_along_axis: Primitive = nondiff(
    "last_along_axis", "indices", "rt.last_along_axis(indices, axis, shape)",
    infer=lambda indices, *, axis, shape: aval(indices.shape, np.dtype(bool)),
    params="axis shape", reason="it says which entries of an assignment remain",
)  # fmt: skip

# ------------------------------------------------------------------------------------------------------- static indices


def take_at(x: Any, axis: int, k: int) -> Any:
    """`x[k]` along an axis."""
    return getitem(x, index=at(axis, k))


def take_window(x: Any, bounds: tuple[tuple[int, int], ...]) -> Any:
    """`x[a:b, c:d, ...]` for one pair of non-negative bounds an axis; `x` itself if that is all of it."""
    parts = [FULL if (a, b) == (0, n) else Slice(a or None, b if b != n else None, None)
             for (a, b), n in zip(bounds, x.shape, strict=True)]  # fmt: skip
    while parts and parts[-1] == FULL:
        parts.pop()
    return getitem(x, index=Index(tuple(parts), len(parts) > 1)) if parts else x
