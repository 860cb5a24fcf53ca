"""`einsum` as one primitive: linear in each operand, and its adjoint is another einsum.

`spec` is explicit and has letters only ("ij,jk->ik"): ellipses, implicit outputs and the list format are resolved
before. As in NumPy a letter of size 1 in one operand broadcasts against its size elsewhere.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from srcdiff.aval import Aval, aval
from srcdiff.core.primitive import Primitive
from srcdiff.errors import ShapeError
from srcdiff.ops.elementwise import conj
from srcdiff.ops.families import primitive
from srcdiff.ops.shaping import diagonal_scatter
from srcdiff.ops.structural import broadcast_to, reshape, sum_to

Sizes = dict[str, int]
Shapes = tuple[tuple[int, ...], ...]

_LARGEST = 1 << 20  # numbers in a result in between
_FEW = 5  # operands, of which all orders are tried


@lru_cache(maxsize=1024)
def letters(spec: str) -> tuple[list[str], str]:
    """The letters of each operand, and of the result."""
    given, out = spec.split("->")
    return given.split(","), out


@lru_cache(maxsize=1024)
def sizes_of(spec: str, shapes: Shapes) -> Sizes:
    """The size of each letter; ShapeError where two sizes differ and neither is 1."""
    sizes: Sizes = {}
    for given, shape in zip(letters(spec)[0], shapes, strict=True):
        if len(given) != len(shape):
            raise ShapeError(f"einsum: {given!r} in {spec!r} does not fit an operand of shape {shape}")
        for letter, size in zip(given, shape, strict=True):
            known = sizes.setdefault(letter, size)
            if known == 1:
                sizes[letter] = size
            elif size not in (1, known):
                raise ShapeError(f"einsum: {letter!r} in {spec!r} stands for sizes {known} and {size}")
    return sizes


def work(spec: str, shapes: Shapes) -> int:
    """The number of products a single loop over all letters takes."""
    total = 1
    for size in sizes_of(spec, shapes).values():
        total *= size
    return total


@lru_cache(maxsize=1024)
def plan(spec: str, shapes: Shapes) -> Any:
    """How np.einsum should go about it: below some thousand products a single loop is faster than products of two."""
    if len(shapes) < 2 or work(spec, shapes) <= 10_000:
        return False
    return True if len(shapes) == 2 else ("einsum_path", *path_of(spec, shapes))


@lru_cache(maxsize=1024)
def path_of(spec: str, shapes: Shapes) -> tuple[tuple[int, ...], ...]:
    """Which operands to take together, one product of two after the other, for the fewest multiplications.

    Results in between may be somewhat larger than the operands, which NumPy does not allow them to be unless told.
    """
    samples = [np.broadcast_to(np.float32(0), shape) for shape in shapes]
    largest = max(_LARGEST, *(4 * sample.size for sample in samples))
    method = "optimal" if len(shapes) <= _FEW else "greedy"
    return tuple(np.einsum_path(spec, *samples, optimize=(method, largest))[0][1:])


def _contracted(*xs: Aval, spec: str, optimize: Any) -> Aval:
    sizes = sizes_of(spec, tuple(tuple(x.shape) for x in xs))
    return aval(tuple(sizes[c] for c in letters(spec)[1]), np.result_type(*(x.dtype for x in xs)))


def _rule(k: int, ct: Any, out: Any, *xs: Any, spec: str, optimize: Any) -> Any:
    given, result = letters(spec)
    sizes = sizes_of(spec, tuple(tuple(x.shape) for x in xs))
    others = [j for j in range(len(xs)) if j != k]
    target = given[k]
    distinct = "".join(dict.fromkeys(target))
    known = "".join(c for c in distinct if c in result or any(c in given[j] for j in others))
    names, operands = [given[j] for j in others], [conj(xs[j]) for j in others]
    if result:
        made = _contract([result, *names], [ct, *operands], known, optimize)
    else:
        made = ct if not others else ct * _contract(names, operands, known, optimize)
    # a letter that only this operand has was summed: every element gets the same
    made = reshape(made, shape=tuple(made.shape[known.index(c)] if c in known else 1 for c in distinct))
    # back from the size of the letter to the size it has here
    made = broadcast_to(made, shape=tuple(sizes[c] for c in distinct))
    own = dict(zip(target, xs[k].shape, strict=True))
    made = sum_to(made, shape=tuple(own[c] for c in distinct))
    return _spread(made, distinct, target, own)


def _contract(given: list[str], xs: list[Any], result: str, optimize: Any) -> Any:
    """An einsum, or its operand where that is all it would give."""
    if given == [result]:
        return xs[0]
    spec = ",".join(given) + "->" + result
    shapes = tuple(tuple(x.shape) for x in xs)
    return einsum(*xs, spec=spec, optimize=optimize if optimize is False else plan(spec, shapes))


def _spread(x: Any, have: str, target: str, sizes: Sizes) -> Any:
    """`x` put on the diagonals that repeated letters of `target` stand for; `have` are the letters of x."""
    repeated = next((c for c in target if target.count(c) > 1), None)
    if repeated is None:
        order = "".join(target)
        return x if order == have else einsum(x, spec=f"{have}->{order}", optimize=False)
    first, last = target.index(repeated), target.rindex(repeated)
    inner = "".join(c for p, c in enumerate(target) if p not in (first, last)) + repeated
    made = _spread(x, have, inner, sizes)
    return diagonal_scatter(made, shape=tuple(sizes[c] for c in target), offset=0, axis1=first, axis2=last)


_NAMES = [str(k) for k in range(64)]

einsum: Primitive = primitive(
    "einsum", "*xs", "np.einsum(spec, *xs, optimize=optimize)", _rule, infer=_contracted, params="spec optimize",
    saves=[" ".join(name for name in _NAMES if name != own) for own in _NAMES], linear="each",
)  # fmt: skip
