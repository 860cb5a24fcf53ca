"""Short rows as columns: the same values, and outputs laid out as they were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from srcdiff import runtime
from srcdiff.codegen.emit import emit
from srcdiff.codegen.loader import load
from srcdiff.core.builder import Builder, interpret
from srcdiff.core.program import Node, Program
from srcdiff.core.verify import verify
from srcdiff.index import FULL, Index
from srcdiff.transform import lengthwise as passes
from srcdiff.transform.lengthwise import lengthwise
from tests.transform.programs import P, f64, inputs_of, total

N = 70
SHAPES = {
    "x": (N, 3),
    "y": (N, 1),
    "u": (N,),
    "w": (3,),
    "r": (1, 3),
    "z": (N, 2, 3),
    "m": (2, 3),
    "v": (3, 4),
    "s": (),
}


def column(x: Any, k: int) -> Any:
    return P["getitem"](x, index=Index((FULL, k), True))


def apply(kind: str, x: Node, y: Node, k: int) -> Node | None:
    """An operation, where the operands allow it."""
    if kind == "binary":
        try:
            if np.prod(np.broadcast_shapes(x.shape, y.shape)) > 10 * N:
                return None
        except ValueError:
            return None
        return [P["add"], P["sub"], P["mul"], P["maximum"]][k % 4](x, y)  # type: ignore[no-any-return]
    if kind == "unary":
        return [P["tanh"], P["sin"], P["neg"]][k % 3](x)  # type: ignore[no-any-return]
    if kind == "reduce" and x.ndim:
        prim = [P["sum"], P["max"], P["min"]][k % 3]
        axis = [k % x.ndim, (0, x.ndim - 1) if x.ndim > 1 else 0, None][k // 3 % 3]
        return prim(x, axis=axis, keepdims=bool(k % 2))  # type: ignore[no-any-return]
    if kind == "sum_to" and x.ndim > 1:
        return P["sum_to"](x, shape=[(1, *x.shape[1:]), x.shape[1:], (*x.shape[:-1], 1)][k % 3])  # type: ignore[no-any-return]
    if kind == "reshape":
        shape = [(*x.shape[:1], 1, *x.shape[1:]), (*x.shape, 1), tuple(n for n in x.shape if n != 1), (x.aval.size,)]
        return P["reshape"](x, shape=shape[k % 4]) if x.ndim < 3 or k % 4 > 1 else None
    if kind == "matmul" and x.ndim == 2 and y.ndim == 2 and x.shape[1] == y.shape[0]:
        return x @ y
    if kind == "turn" and x.ndim == 2:
        return P["transpose"](x, axes=(1, 0))  # type: ignore[no-any-return]
    if kind == "column" and x.ndim == 2:
        return column(x, k % x.shape[1])  # type: ignore[no-any-return]
    if kind == "spread" and x.ndim < 2 and x.shape in ((), (3,), (1, 3)):
        return P["broadcast_to"](x, shape=(N, 3))  # type: ignore[no-any-return]
    if kind == "einsum" and x.ndim == 3 and y.ndim == 2:
        spec = {
            x.shape[:2]: "abc,ab->" + ["bc", "ac", "a", "c"][k % 4],
            x.shape[1:]: "abc,bc->" + ["ab", "a", "ac"][k % 3],
        }
        text = spec.get(y.shape)
        return None if text is None else P["einsum"](x, y, spec=text, optimize=False)
    return None


KINDS = [
    "binary",
    "binary",
    "binary",
    "unary",
    "reduce",
    "sum_to",
    "reshape",
    "matmul",
    "turn",
    "column",
    "spread",
    "einsum",
]


@st.composite
def drawn(draw: Any) -> Program:
    builder = Builder()
    inputs = tuple(builder.input(f64(*shape), name) for name, shape in SHAPES.items())
    made: list[Node] = [*inputs, inputs[0] - inputs[3]]  # something to gain
    small = st.integers(0, 40)
    for _ in range(draw(st.integers(1, 14))):
        a, b = draw(small), draw(small)
        new = apply(draw(st.sampled_from(KINDS)), made[-1 - a % len(made)], made[-1 - b % len(made)], draw(small))
        if new is not None and new.aval.size <= 10 * N:
            made.append(new)
    outputs = tuple(made[-1 - draw(small) % min(len(made), 6)] for _ in range(draw(st.integers(1, 3))))
    return Program("f", inputs, outputs)


def check(program: Program) -> Program:
    """It gives what it gave, in arrays of the same order, as code too."""
    values = inputs_of(program)
    made = lengthwise(program)
    verify(made)
    want = interpret(program, values)
    code = load(emit(made, quick=True), program.name, program.name, {"np": np, "rt": runtime})
    for got in (interpret(made, values), code(*values)):
        for x, y in zip(got, want, strict=True):
            assert x.shape == y.shape and x.dtype == y.dtype
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-9)
            assert np.asarray(x).flags.c_contiguous or not np.asarray(y).flags.c_contiguous
    return made


@settings(max_examples=200, deadline=None)
@given(drawn())
def test_the_values_are_the_same(program: Program) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "LEAST", 1)
        patch.setattr(passes, "GAIN", 0)
        check(program)


def text_of(make: Callable[..., Any], *shapes: tuple[int, ...]) -> str:
    builder = Builder()
    inputs = tuple(builder.input(f64(*shape), name) for name, shape in zip("xyw", shapes, strict=False))
    made = make(*inputs)
    program = Program("f", inputs, made if type(made) is tuple else (made,))
    after = check(program)
    return "" if after is program else "\n".join(line.strip() for line in emit(after).split("\n")[1:-1])


def test_distances_are_computed_along_the_points() -> None:
    def distances(x: Any, y: Any) -> Any:
        near = P["reshape"](x, shape=(2000, 1, 3)) - y
        return total(P["sqrt"](total(near * near, 2)))

    assert text_of(distances, (2000, 3), (5, 3)) == (
        "diff = np.ascontiguousarray(x.T)[None] - y[..., None]           # f64[5,3,2000]\n"
        "product = np.multiply(diff, diff, out=diff)                     # f64[5,3,2000], reuses diff\n"
        "root = np.sqrt(np.sum(product, axis=1))                         # f64[5,2000]\n"
        "total = np.sum(root, axis=(0, 1))                               # f64[]\n"
        "return total,"
    )


def test_a_product_is_turned_for_nothing() -> None:
    """BLAS takes factors either way, so that what goes in and out is not laid out anew."""

    def classes(x: Any, w: Any) -> Any:
        score = x @ w
        power = P["exp"](score - P["max"](score, axis=1, keepdims=True))
        share = power / P["sum"](power, axis=1, keepdims=True)
        return P["transpose"](x, axes=(1, 0)) @ share

    text = text_of(classes, (8000, 20), (20, 7))
    assert "y.T @ x.T" in text and "contiguous" not in text
    assert "[7,8000]" in text


@pytest.mark.parametrize(
    ("make", "shapes"),
    [
        (lambda x, y: total(x * y, 1), [(400, 3), (3,)]),  # too little
        (lambda x, y: total(x * y, 1), [(4000, 64), (64,)]),  # rows that are long enough
        (lambda x, y: total(x * y), [(20_000, 3), (20_000, 3)]),  # one long run each
        (lambda x, y: x * y, [(20_000, 3), (3,)]),  # laid out anew twice for one operation
        (lambda x, y: total(x * y, 2), [(40, 100, 3), (3,)]),  # the first axis is short
    ],
)
def test_what_gains_nothing_is_left_alone(make: Any, shapes: Any) -> None:
    assert text_of(make, *shapes) == ""
