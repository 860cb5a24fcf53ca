"""Contractions as products of matrices: what `np.einsum` and `np.tensordot` find out on each call is decided once.

    ik,kj->ij              x @ y
    bhto,bhso->bhts        x @ y.swapaxes(-1, -2)
    bti,hio->bhto          one product of matrices of merged axes
    bchw,oc->bohw          the matrix times a stack of them
    bk,bd->bkd             x[:, :, None] * y[:, None]
    three operands         two at a time, in the order that `np.einsum_path` finds best

Guarantees: the products are the same, and added up in another order; integers, and operands with a letter twice, are
left to einsum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from string import ascii_letters
from typing import Any

from srcdiff.core.primitive import Primitive
from srcdiff.core.program import Node
from srcdiff.ops.einsum import einsum, letters, path_of, work
from srcdiff.ops.elementwise import mul
from srcdiff.ops.linalg import matmul
from srcdiff.ops.reductions import sum
from srcdiff.ops.shaping import contiguous
from srcdiff.ops.structural import reshape, transpose
from srcdiff.transform.identity import made_by

FEW = 500  # products of more than two numbers that one loop does faster than several products
LONGEST = 1 << 16  # numbers that einsum adds up in one loop; beyond, float32 loses digits
MATRIX = 50  # the time of one more matrix in a stack, in that of an element copied (about 1 ns)
COPY = 1000  # the time of any copy, in the same


def einsum_is_product(prim: Primitive, xs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    """An einsum of floats as products of matrices, or of numbers."""
    spec, shapes = params["spec"], tuple(tuple(x.shape) for x in xs)
    given, out = letters(spec)
    if len(xs) < 2 or any(x.is_literal or x.dtype is not xs[0].dtype for x in xs) or xs[0].dtype.char not in "fdFD":
        return None
    if any(len(set(names)) < len(names) for names in given) or 0 in (n for shape in shapes for n in shape):
        return None
    if len(xs) > 2:
        return _two_at_a_time(list(xs), list(given), out) if work(spec, shapes) > FEW and all(shapes) else None
    if not any(1 in shape for shape in shapes):
        return _product((xs[0], given[0]), (xs[1], given[1]), out, params["optimize"])
    # axes of length 1 are no part of a product; where they are broadcast, the letter is the other operand's alone
    x, y = (_without_ones(x, names) for x, names in zip(xs, given, strict=True))
    made = _product(x, y, "".join(c for c in out if c in x[1] + y[1]), params["optimize"])
    return None if made is None else reshape(made, shape=prim.infer(*(x.aval for x in xs), **params).shape)


def tensordot_is_product(prim: Primitive, xs: tuple[Node, ...], params: dict[str, Any]) -> Node | None:
    """The same for a tensordot."""
    x, y = xs
    of_x = ascii_letters[: x.ndim]
    same = dict(zip(params["axes"][1], params["axes"][0], strict=True))
    of_y = "".join(of_x[same[k]] if k in same else ascii_letters[x.ndim + k] for k in range(y.ndim))
    out = "".join(c for c in of_x + of_y if (c in of_x) != (c in of_y))
    return einsum_is_product(einsum, xs, {"spec": f"{of_x},{of_y}->{out}", "optimize": True})


Named = tuple[Node, str]


def _without_ones(x: Node, names: str) -> Named:
    kept = [(n, c) for n, c in zip(x.shape, names, strict=True) if n != 1]
    return reshape(x, shape=tuple(n for n, _ in kept)), "".join(c for _, c in kept)


def _two_at_a_time(xs: list[Node], given: list[str], out: str) -> Node | None:
    """An einsum of several operands as einsums of two."""
    path = path_of(",".join(given) + "->" + out, tuple(tuple(x.shape) for x in xs))
    if any(len(pair) > 2 for pair in path):
        return None
    for k, pair in enumerate(path):
        taken = [(xs.pop(j), given.pop(j)) for j in sorted(pair, reverse=True)][::-1]
        here = "".join(dict.fromkeys("".join(names for _, names in taken)))
        rest = out + "".join(given)
        result = out if k == len(path) - 1 else "".join(c for c in here if c in rest)
        spec = ",".join(names for _, names in taken) + "->" + result
        xs.append(einsum(*(x for x, _ in taken), spec=spec, optimize=True))
        given.append(result)
    return xs[0]


def _product(first: Named, second: Named, out: str, optimize: Any) -> Node | None:
    """A product of two operands without axes of length 1; None if einsum does it as well."""
    first, second = _summed_alone(first, second[1] + out), _summed_alone(second, first[1] + out)
    (x, of_x), (y, of_y) = first, second
    shared = [c for c in of_x if c in of_y]
    inner = "".join(c for c in shared if c not in out)
    if not inner:
        return mul(_aligned(first, out), _aligned(second, out))  # type: ignore[no-any-return]
    if set(of_x) == set(of_y) and len(shared) > len(inner):
        # a row times a row, for each row
        spec = f"{of_x},{of_y}->{out}"
        small = math.prod(_sizes(first)[c] for c in inner) <= LONGEST
        return einsum(x, y, spec=spec, optimize=False) if small and optimize is not False else None
    layouts = [
        _Layout(a, b, out, inner, lead)
        for a, b in ((first, second), (second, first))
        for lead in ("", _leading(a, b, out), _leading(b, a, out))
    ]  # fmt: skip
    return min(layouts, key=lambda layout: layout.cost).product()


def _summed_alone(operand: Named, others: str) -> Named:
    """An operand without the axes that nothing else has."""
    x, names = operand
    alone = tuple(k for k, c in enumerate(names) if c not in others)
    return (sum(x, axis=alone, keepdims=False), "".join(c for c in names if c in others)) if alone else operand


def _aligned(operand: Named, out: str) -> Node:
    """An operand with the axes of `out`, of length 1 where it has none."""
    sizes = _sizes(operand)
    ordered = _ordered(operand, "".join(c for c in out if c in sizes))
    return reshape(ordered, shape=tuple(sizes.get(c, 1) for c in out))  # type: ignore[no-any-return]


def _ordered(operand: Named, order: str) -> Node:
    x, names = operand
    return x if names == order else transpose(x, axes=tuple(map(names.index, order)))


def _sizes(*operands: Named) -> dict[str, int]:
    return {c: n for x, names in operands for c, n in zip(names, x.shape, strict=True)}


def _leading(a: Named, b: Named, out: str) -> str:
    """The letters of a alone that come first in the result, before one of b alone."""
    alone = next((k for k, c in enumerate(out) if c in b[1] and c not in a[1]), len(out))
    return "".join(c for c in out[:alone] if c not in b[1]) if alone < len(out) else ""


@dataclass(frozen=True, eq=False, slots=True)
class _Layout:
    """A product as a stack of matrices: rows of a's own axes, columns of b's own axes, summed over `inner`.

    The axes `lead` of one operand number the matrices too; the other one is the same for all of them.
    """

    a: Named
    b: Named
    out: str
    inner: str
    lead: str

    @property
    def stack(self) -> str:
        """The axes that both have and that are not summed, after those that lead."""
        return self.lead + "".join(c for c in self.out if c in self.a[1] and c in self.b[1])

    def own(self, operand: Named, other: Named) -> str:
        """The axes that an operand alone has, in its order."""
        return "".join(c for c in operand[1] if c not in other[1] and c not in self.lead)

    @property
    def result(self) -> str:
        """The axes of the product, in order."""
        return self.stack + self.own(self.a, self.b) + self.own(self.b, self.a)

    @property
    def cost(self) -> float:
        sizes = _sizes(self.a, self.b)
        copies = 0.0
        for operand, other in ((self.a, self.b), (self.b, self.a)):
            if self.is_copied(operand, self.own(operand, other)):
                copies += COPY + operand[0].aval.size
        if self.result != self.out:
            copies += math.prod(sizes[c] for c in self.out) / 2  # what reads it takes longer
        return copies + MATRIX * math.prod(sizes[c] for c in self.stack)

    def is_copied(self, operand: Named, own: str) -> bool:
        """Whether merging the axes of an operand takes a copy."""
        x, names = operand
        merged = max(len(own), len(self.inner)) > 1
        return names[-1] in self.stack or (
            merged and (own not in names or self.inner not in names or made_by(x, "getitem") or made_by(x, "transpose"))
        )

    def product(self) -> Node:
        x = self.matrices(self.a, self.own(self.a, self.b), self.inner)
        y = self.matrices(self.b, self.inner, self.own(self.b, self.a))
        sizes = _sizes(self.a, self.b)
        made = reshape(matmul(x, y), shape=tuple(sizes[c] for c in self.result))
        return _ordered((made, self.result), self.out)

    def matrices(self, operand: Named, rows: str, columns: str) -> Node:
        """An operand as a stack of matrices; as a vector if it has no axes of its own and there is no stack."""
        sizes = _sizes(operand)
        stack = "".join(c for c in self.stack if c in sizes)
        ordered = _ordered(operand, stack + rows + columns)
        if operand[1][-1] in stack:
            ordered = contiguous(ordered)  # BLAS takes matrices with rows or columns in one piece
        axes = [*stack, *(of for of in (rows, columns) if of or self.stack)]
        return reshape(ordered, shape=tuple(math.prod(sizes[c] for c in of) for of in axes))  # type: ignore[no-any-return]
