"""Structural zeros: cotangents of which some entries are nothing, rather than a number that happens to be zero.

What `where`, `max`, `clip` or an index did not choose gets a cotangent of exactly nothing. Multiplied by an infinite
slope further down it would become NaN, so a cotangent that comes from a choice is a `Partial`: the numbers, and where
they count. A pointwise slope is applied to the numbers and the choice made afterwards, `where(mask, ct * slope, 0)`
instead of `where(mask, ct, 0) * slope`, which costs the same; and the slope of `f(x)[index]` is computed at the index
only. A zero that is a number is left alone: `0 * sqrt(x)` has the slope NaN at 0.

Derivative rules know nothing of it. A rule that calls `where` or `scatter` on a `Partial` says by that what it chose;
an operation that is not listed at the end of this file gets plain numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.core.primitive import Operand, Primitive
from srcdiff.core.program import Node
from srcdiff.ops.elementwise import logical_not, not_equal, where
from srcdiff.ops.masks import Mask, Place, both, either, everywhere
from srcdiff.ops.structural import broadcast_to


class Partial(Operand):
    """A cotangent with structural zeros: `raw` where `mask` holds (None: everywhere), then put in its `place`.

    `exact`: raw is zero already where the mask does not hold. `land` gives the plain cotangent.
    """

    __slots__ = ("_landed", "_source", "exact", "mask", "name", "place", "raw")
    _priority = 3
    __array_ufunc__ = None

    def __init__(self, raw: Any, mask: Mask | None = None, exact: bool = True, place: Place | None = None) -> None:
        self.raw = raw
        self.mask = mask
        self.exact = exact
        self.place = place
        #: called with the landed value if there is one
        self.name: Callable[[Any], Any] | None = None
        self._landed: Any = None
        #: where in the user's program a node comes from that is made of this later
        self._source: Any = raw.builder.source if isinstance(raw, Node) else None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the cotangent."""
        shape: tuple[int, ...] = self.raw.shape if self.place is None else self.place.shape
        return shape

    @property
    def ndim(self) -> int:
        """Number of its axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of its entries."""
        return math.prod(self.shape)

    @property
    def dtype(self) -> Any:
        """Its dtype."""
        return self.raw.dtype

    def _chosen(self) -> Any:
        """`raw` with its zeros, before it is put in its place."""
        mask = self.mask
        if self.exact or mask is None:
            return self.raw
        if mask.condition is not None and not mask.positive:
            return where(mask.condition, 0.0, self.raw)
        return where(mask.value(), self.raw, 0.0)

    def land(self) -> Any:
        """The cotangent as an array, node or Tensor."""
        if self._landed is None:
            builder, now = None, None
            if self._source is not None:
                builder = self.raw.builder
                now, builder.source = builder.source, self._source
            made = self._chosen()
            self._landed = made if self.place is None else self.place.spread(made)
            if self.name is not None:
                self.name(self._landed)
            if builder is not None:
                builder.source = now
        return self._landed

    def outline(self) -> Mask | None:
        """Where the landed cotangent counts."""
        place, mask, shape, like = self.place, self.mask, self.raw.shape, self.raw
        if place is None:
            return mask
        return Mask(
            lambda: place.spread(everywhere(like, shape) if mask is None else mask.full(shape)),
            place.chosen or (mask is not None and mask.chosen),
        )

    def like(self, other: Any) -> bool:
        """Whether another operand has the same zeros."""
        return (
            type(other) is Partial
            and other.place is self.place
            and other.exact is self.exact
            and (other.mask is self.mask or (self.mask is not None and self.mask.same(other.mask)))
        )

    def _bind(self, prim: Primitive, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        handler = _HANDLERS.get(prim.name)
        made = None if handler is None else handler(prim, operands, params)
        return prim(*map(landed, operands), **params) if made is None else made


def landed(x: Any) -> Any:
    """A cotangent without its structure; anything else as it is."""
    return x.land() if type(x) is Partial else x


def marked(ct: Any) -> Any:
    """A cotangent of whose zeros a rule may say more."""
    return ct if ct is None or type(ct) is Partial else Partial(ct)


def unmarked(ct: Any) -> Any:
    """The plain cotangent if it has turned out to have no structural zeros."""
    return ct.raw if type(ct) is Partial and ct.mask is None and ct.place is None else ct


# -------------------------------------------------------------------------- what operations inside a rule do to zeros


def _pointwise(prim: Primitive, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Linear in one operand, or in all that have zeros, the same ones: done on the numbers."""
    first = next(x for x in operands if type(x) is Partial)
    partial = [type(x) is Partial for x in operands]
    if prim.name in ("add", "sub"):
        if not all(partial):
            return None
        if not first.like(operands[1]):
            return _sum(prim, operands)
    elif sum(partial) > 1:
        return None
    place = first.place
    shape = np.broadcast_shapes(*(getattr(x, "shape", ()) for x in operands))
    if place is not None and shape != place.shape:
        return None
    raws = [x.raw if type(x) is Partial else x if place is None else place.pick(x) for x in operands]
    return Partial(prim(*raws, **params), first.mask, first.exact, place)


def _sum(prim: Primitive, operands: tuple[Any, ...]) -> Any:
    x, y = operands
    if prim.name == "add" and _complete(x, y):
        first, second = (x, y) if x.mask.positive else (y, x)
        return where(x.mask.condition, first.raw, second.raw)
    made = prim(x.land(), y.land())
    mask = either(x.outline(), y.outline())
    return made if mask is None else Partial(made, mask)


def _complete(x: Partial, y: Partial) -> bool:
    """Whether two cotangents are what the two choices of one `where` got."""
    if x.mask is None or y.mask is None or x.exact or y.exact or x.place is not None or y.place is not None:
        return False
    one = x.mask.condition is not None and x.mask.condition is y.mask.condition
    return one and x.mask.positive is not y.mask.positive and x.raw.shape == y.raw.shape


def _choice(prim: Primitive, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """`where` with zeros for one of its choices, or with the same zeros in both."""
    condition, x, y = operands
    if type(condition) is Partial:
        return None
    if type(x) is Partial and type(y) is Partial:
        if not x.like(y) or x.place is not None:
            return None
        return Partial(where(condition, x.raw, y.raw), x.mask, x.exact)
    positive = type(x) is Partial
    ct, other = (x, y) if positive else (y, x)
    if type(other) not in (int, float) or other != 0:
        return None
    shape = np.broadcast_shapes(ct.shape, getattr(condition, "shape", ()))
    if shape != ct.shape:
        ct = broadcast_to(ct, shape=shape)
    place = ct.place
    if type(condition) is bool:
        condition = everywhere(ct.raw, ct.raw.shape, condition)
    elif place is not None:
        condition = place.pick(condition)
    here = condition
    mask = Mask(lambda: here if positive else logical_not(here), True, condition=here, positive=positive)
    return Partial(ct.raw, both(ct.mask, mask), False, place)


def _scattered(prim: Primitive, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
    x, *args = operands
    if type(x) is not Partial or any(type(arg) is Partial for arg in args):
        return None
    return Partial(x.land(), x.outline(), True, Place(prim, tuple(args), params))


def _moved(prim: Primitive, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Entries are moved or copied, and so is the mask."""
    x, *args = operands
    if type(x) is not Partial or any(type(arg) is Partial for arg in args):
        return None
    if x.place is not None or prim.name == "broadcast_to":
        x = Partial(x.land(), x.outline())  # before it is copied
    made, mask, shape = prim(x.raw, *args, **params), x.mask, x.raw.shape
    if mask is None:
        return Partial(made)
    moved = Mask(lambda: prim(mask.full(shape), *args, **params), mask.chosen)
    moved.copied = mask.copied or prim.name == "broadcast_to"
    return Partial(made, moved, x.exact)


def _spaced(prim: Primitive, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Zeros are put between or around the entries, or in place of some."""
    x, *args = operands
    if type(x) is not Partial or any(type(arg) is Partial for arg in args):
        return None
    value, mask, shape = x.land(), x.outline(), x.shape
    made = prim(value, *args, **params)
    if prim.name in ("index_set", "set_along_axis"):
        written = args[place := 0 if prim.name == "index_set" else 1]
        if type(written) not in (int, float) or written != 0:
            return None
        args[place] = False
    chosen = any(getattr(arg, "shape", ()) for arg in args) or (mask is not None and mask.chosen)

    def flags() -> Any:
        return prim(everywhere(value, shape) if mask is None else mask.full(shape), *args, **params)

    return Partial(made, Mask(flags, chosen))


def _summed(prim: Primitive, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """A sum counts where any of its terms does."""
    (x,) = operands
    value, mask, shape = x.land(), x.outline(), x.shape
    made = prim(value, **params)
    if mask is None:
        return made
    return Partial(made, Mask(lambda: not_equal(prim(mask.full(shape), **params), 0), mask.chosen))


def _joined(prim: Primitive, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
    parts = [(landed(x), x.outline() if type(x) is Partial else None) for x in operands]
    masks = [mask for _, mask in parts if mask is not None]
    made = prim(*(value for value, _ in parts), **params)
    if not masks:
        return made

    def mask() -> Any:
        flags = (everywhere(x, x.shape) if m is None else m.full(x.shape) for x, m in parts)
        return prim(*flags, **params)

    return Partial(made, Mask(mask, any(m.chosen for m in masks)))


_HANDLERS: dict[str, Callable[[Primitive, tuple[Any, ...], dict[str, Any]], Any]] = {
    **dict.fromkeys("neg positive conjugate real imag cast identity copy mul div ldexp add sub".split(), _pointwise),
    "where": _choice,
    **dict.fromkeys(("scatter", "scatter_along_axis"), _scattered),
    **dict.fromkeys(
        "reshape transpose broadcast_to getitem take_along_axis permute_along flip roll swap_axes matrix_t squeeze "
        "expand_dims diagonal".split(),
        _moved,
    ),
    **dict.fromkeys("pad tril triu diag diagonal_scatter index_set set_along_axis".split(), _spaced),
    **dict.fromkeys("sum sum_to mean cumsum cumsum_back overlap_add".split(), _summed),
    **dict.fromkeys(("concatenate", "stack"), _joined),
}
