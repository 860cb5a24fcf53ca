"""Sums of products as contractions: `np.sum(x * y, axis=0)` of large arrays becomes an einsum, and no array of
the products is made.

    sum(x * y, axis)                   einsum
    sum(x * y, axis), y without axis   sum(x, axis) * y
    sum(u[..., None] * v * w, axis)    the small factor is taken last: einsum(u, v * w)
    sum((u * v)**2, axis), u without   einsum(u * u, v * v), in float64 alone: a square of float32 may leave its range
    some other axis

Guarantees: sums of floats only, of at least `LEAST` products which serve nothing but such sums; the products
are those of the program before, in another order, and so are the sums.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from string import ascii_lowercase
from typing import Any

from srcdiff.core.builder import Builder, rebuild
from srcdiff.core.program import Node, Program
from srcdiff.ops.einsum import einsum
from srcdiff.ops.elementwise import mul, neg
from srcdiff.ops.families import normalize_axes
from srcdiff.ops.linalg import matmul
from srcdiff.ops.reductions import sum
from srcdiff.ops.structural import reshape
from srcdiff.transform.identity import made_by, number

LEAST = 8192  # products; below, making them and adding them up costs no more
LEAST_DOT = 64  # products, if they all go into one sum
LONGEST_SINGLE = 1 << 16  # float32 numbers added up; NumPy's sum of more is more accurate
LONGEST_DOT = 1 << 13  # of vectors; BLAS takes several threads for more, which is slow when cores are busy


def contract(program: Program) -> Program:
    """The program with contractions, or the program itself if it has none."""
    nodes = program.nodes()
    users: dict[Node, list[Node]] = {}
    for node in nodes:
        for x in dict.fromkeys(node.operands):
            users.setdefault(x, []).append(node)
    outputs = {out for out in program.outputs if out is not None}
    sums = _sums(nodes, users, outputs)
    if not sums:
        return program

    def rule(builder: Builder, node: Node, operands: tuple[Node, ...]) -> Node | None:
        return _contracted(node, sums[node], new) if node in sums else None

    new: dict[Node, Node] = {}
    return _rebuilt(program, rule, new)


def _sums(nodes: Sequence[Node], users: dict[Node, list[Node]], outputs: set[Node]) -> dict[Node, _Factors]:
    """The sums to be contracted, and what they are made of."""
    kept = set(outputs)
    while True:
        inner: dict[Node, bool] = {}
        for node in reversed(nodes):
            inner[node] = _only_summed(node, users.get(node, []), kept, inner)
        found = {node: factors for node in nodes if (factors := _factors_of_sum(node, inner)) is not None}
        # a product that some sum needs as it is serves the others as well
        needed = {x for node, factors in found.items() if not factors.fits for x in factors.inside if len(users[x]) > 1}
        if not needed:
            return {node: factors for node, factors in found.items() if factors.fits}
        kept |= needed


def _rebuilt(program: Program, rule: Any, new: dict[Node, Node]) -> Program:
    """As `rebuild`, with the nodes made so far at hand in `new`."""

    def noting(builder: Builder, node: Node, operands: tuple[Node, ...]) -> Node | None:
        new.update(zip(node.operands, operands, strict=True))
        return rule(builder, node, operands)  # type: ignore[no-any-return]

    return rebuild(program, noting)


def _is_product(node: Node) -> bool:
    return made_by(node, "mul") or made_by(node, "neg") or _is_square(node)


def _is_square(node: Node) -> bool:
    return made_by(node, "square") or (made_by(node, "pow") and node.operands[1].literal == 2)


def _is_sum(node: Node) -> bool:
    return made_by(node, "sum") or made_by(node, "sum_to")


def _only_summed(node: Node, users: Sequence[Node], outputs: set[Node], inner: dict[Node, bool]) -> bool:
    """Whether a large product is nothing but a factor of what is summed."""
    if not _is_product(node) or node in outputs or node.dtype.char not in "fd" or node.aval.size < LEAST_DOT:
        return False
    return bool(users) and all(
        _is_sum(user) or (inner[user] and user.shape == node.shape and (not _is_square(user) or node.dtype.char == "d"))
        for user in users
    )


@dataclass(slots=True)
class _Factors:
    """What is multiplied: a number, arrays of the shape of the product, and smaller ones."""

    value: float = 1.0
    full: list[Node] = field(default_factory=list)
    small: list[Node] = field(default_factory=list)
    #: of the small ones those that don't vary along the summed axes
    outside: list[Node] = field(default_factory=list)
    #: the products that are taken apart
    inside: list[Node] = field(default_factory=list)

    @property
    def fits(self) -> bool:
        """Whether one contraction does it."""
        parts = len(self.full) + len(self.small) + len(self.outside)
        one = len(self.small) <= 1 or (len({x.shape for x in self.small}) == 1 and self.small[0].dtype.char == "d")
        return bool(self.full) and one and parts > 1


def _factors_of_sum(node: Node, inner: dict[Node, bool]) -> _Factors | None:
    if not _is_sum(node) or not inner.get(node.operands[0], False):
        return None
    found = _Factors()
    product = node.operands[0]
    _collect(product, product.shape, inner, found)
    summed = _summed_axes(node)
    count = math.prod(product.shape[k] for k in summed)
    if not count or (product.dtype.char == "f" and count > LONGEST_SINGLE):
        return None
    found.outside = [x for x in found.small if not any(_varies(x, product.ndim, axis) for axis in summed)]
    found.small = [x for x in found.small if x not in found.outside]
    is_dot = len(found.full) == 2 and not found.small and not found.outside and len(summed) == product.ndim
    return found if product.aval.size >= LEAST or (is_dot and product.aval.size >= LEAST_DOT) else None


def _collect(x: Node, shape: tuple[int, ...], inner: dict[Node, bool], found: _Factors) -> None:
    value = number(x)
    if value is not None:
        found.value *= value
        return
    if not inner.get(x, False) or x.shape != shape:
        (found.full if x.shape == shape else found.small).append(x)
        return
    found.inside.append(x)
    if x.prim is neg:
        found.value = -found.value
        _collect(x.operands[0], shape, inner, found)
    elif _is_square(x):
        _collect(x.operands[0], shape, inner, found)
        _collect(x.operands[0], shape, inner, found)
    else:
        for operand in x.operands:
            _collect(operand, shape, inner, found)


# ------------------------------------------------------------------------------------------------------ the contraction


def _contracted(node: Node, factors: _Factors, new: dict[Node, Node]) -> Node | None:
    product = node.operands[0]
    summed = _summed_axes(node)
    kept = tuple(k for k in range(product.ndim) if k not in summed)
    full, small = [new[x] for x in factors.full], [new[x] for x in factors.small]
    while len(small) > 1:
        small = [mul(small[0], small[1]), *small[2:]]
    last = 1 if small else 2
    while len(full) > last:
        full = [mul(full[0], full[1]), *full[2:]]
    total = _summed(small + full, product.ndim, summed)
    for x in factors.outside:
        total = mul(total, reshape(new[x], shape=tuple(_padded(x.shape, product.ndim)[k] for k in kept)))
    total = reshape(total, shape=node.shape)
    return total if factors.value == 1 else mul(total, factors.value)  # type: ignore[no-any-return]


def _summed(xs: list[Node], ndim: int, summed: tuple[int, ...]) -> Node:
    """The sum over some axes of the product of one or two arrays, the second of full shape; without those axes."""
    if len(xs) == 1:
        return sum(xs[0], axis=summed, keepdims=False)  # type: ignore[no-any-return]
    first, second = xs
    if len(summed) == ndim and first.shape == second.shape and first.aval.size <= LONGEST_DOT:
        return matmul(reshape(first, shape=(first.aval.size,)), reshape(second, shape=(first.aval.size,)))  # type: ignore[no-any-return]
    shape = second.shape
    own = [k for k, n in enumerate(_padded(first.shape, ndim)) if n == shape[k]]
    first = reshape(first, shape=tuple(shape[k] for k in own))
    letters = "".join(ascii_lowercase[k] for k in own)
    kept = "".join(c for k, c in enumerate(ascii_lowercase[:ndim]) if k not in summed)
    return einsum(first, second, spec=f"{letters},{ascii_lowercase[:ndim]}->{kept}", optimize=False)  # type: ignore[no-any-return]


def _summed_axes(node: Node) -> tuple[int, ...]:
    shape = node.operands[0].shape
    if made_by(node, "sum"):
        return normalize_axes(node.kwargs["axis"], len(shape))
    target = _padded(node.shape, len(shape))
    return tuple(k for k, n in enumerate(target) if n != shape[k] or k < len(shape) - node.ndim)


def _padded(shape: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    return (1,) * (ndim - len(shape)) + shape


def _varies(x: Node, ndim: int, axis: int) -> bool:
    return _padded(x.shape, ndim)[axis] != 1
