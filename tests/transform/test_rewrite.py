"""Simplification changes no value by more than rounding; each identity does what its name says, and can be left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from srcdiff.core.builder import Builder, interpret
from srcdiff.core.program import Node, Program
from srcdiff.transform.reverse import reverse
from srcdiff.transform.rewrite import REWRITES, prepare, simplify, used_inputs
from tests.transform.programs import CASES, P, at, f32, f64, i64, inputs_of, programs, saved, total

F4 = np.dtype(np.float32)
F8 = np.dtype(np.float64)

#: rewrite -> what is built of x f64[2,3], y f64[2,3], v f64[3], t and s f64[], and what remains of it
EXAMPLES: dict[str, tuple[Callable[..., Any], str]] = {
    "plain_number": (
        lambda x, y, v, t, s: x * P["broadcast_to"](x.builder.literal(np.float64(0.3)), shape=(2, 3)), "mul(x, 0.3)"
    ),
    "broadcast_late": (lambda x, y, v, t, s: x * P["broadcast_to"](t, shape=(2, 3)), "mul(x, t)"),
    "reshape_late": (
        lambda x, y, v, t, s: P["reshape"](x * 2.0, shape=(3, 2)) * 0.5, "reshape(x, shape=(3, 2))"
    ),
    "cast_before_broadcast": (
        lambda x, y, v, t, s: P["cast"](P["broadcast_to"](v, shape=(2, 3)), dtype=F4),
        "cast(v, dtype=float32); broadcast_to(cast, shape=(2, 3))",
    ),
    "broadcast_once": (
        lambda x, y, v, t, s: P["broadcast_to"](P["reshape"](v, shape=(1, 3)), shape=(2, 3)),
        "broadcast_to(v, shape=(2, 3))",
    ),
    "rearranged_number": (
        lambda x, y, v, t, s: P["transpose"](P["broadcast_to"](t, shape=(2, 3)), axes=(1, 0)),
        "broadcast_to(t, shape=(3, 2))",
    ),
    "cast_once": (
        lambda x, y, v, t, s: P["cast"](P["cast"](P["cast"](x, dtype=F4), dtype=F8), dtype=F4),
        "cast(x, dtype=float32)",
    ),
    "sum_of_equals": (lambda x, y, v, t, s: P["sum_to"](P["broadcast_to"](v, shape=(2, 3)), shape=(3,)), "mul(v, 2)"),
    "sum_of_one": (
        lambda x, y, v, t, s: P["sum_to"](P["reshape"](v, shape=(1, 3)) + P["reshape"](v, shape=(1, 3)), shape=(3,)),
        "mul(v, 2.0)",
    ),
    "sum_once": (
        lambda x, y, v, t, s: P["sum_to"](P["sum_to"](x, shape=(3,)), shape=()), "sum_to(x, shape=())"
    ),
    "negative_sum": (lambda x, y, v, t, s: s - total(-x), "sum(x, axis=None, keepdims=False); add(s, sum)"),
    "turned_product": (
        lambda x, y, v, t, s: P["transpose"](P["transpose"](x, axes=(1, 0)) @ y, axes=(1, 0)),
        "transpose(y, axes=(1, 0)); matmul(transpose, x)",
    ),
    "vector_product": (
        lambda x, y, v, t, s: P["reshape"](P["reshape"](v, shape=(1, 3)) @ P["transpose"](x, axes=(1, 0)), shape=(2,)),
        "transpose(x, axes=(1, 0)); matmul(v, transpose)",
    ),
    "literal_last": (lambda x, y, v, t, s: 2.0 * x, "mul(x, 2.0)"),
    "unit": (lambda x, y, v, t, s: (x * 1.0 - 0) / 1, ""),
    "minus_one": (lambda x, y, v, t, s: x * -1.0, "neg(x)"),
    "double_negation": (lambda x, y, v, t, s: P["neg"](-x), ""),
    "negated_factor": (lambda x, y, v, t, s: -(x / t), "neg(t); div(x, neg)"),
    "signs_outward": (lambda x, y, v, t, s: (-x) / y, "div(x, y); neg(div)"),
    "sign_into_sum": (lambda x, y, v, t, s: x + -y, "sub(x, y)"),
    "negative_term": (lambda x, y, v, t, s: x - y * -2.0, "mul(y, 2.0); add(x, mul)"),
    "twice": (lambda x, y, v, t, s: x + x, "mul(x, 2.0)"),
    "merge_literals": (lambda x, y, v, t, s: (t * 2.0) / 100, "div(t, 50.0)"),
    "literal_into_scalar": (lambda x, y, v, t, s: (x * 3.0) * t, "mul(t, 3.0); mul(x, mul)"),
    "scalar_takes_literal": (lambda x, y, v, t, s: (x * t) / 100, "div(t, 100); mul(x, div)"),
    "literal_to_smaller": (
        lambda x, y, v, t, s: x * P["reshape"](v, shape=(3, 1, 1)) * 2.0,
        "mul(v, 2.0); reshape(mul, shape=(3, 1, 1)); mul(x, reshape)",
    ),
    "same_choice": (lambda x, y, v, t, s: P["where"](P["greater"](x, y), y, y), ""),
    "factor": (
        lambda x, y, v, t, s: (t * x) / y - v * t, "div(x, y); sub(div, v); mul(sub, t)",
    ),
}  # fmt: skip


def built(make: Callable[..., Any]) -> Program:
    b = Builder()
    avals = {"x": f64(2, 3), "y": f64(2, 3), "v": f64(3), "t": f64(), "s": f64()}
    nodes = tuple(b.input(aval, name) for name, aval in avals.items())
    return Program("f", nodes, (make(*nodes),))


def body(program: Program) -> str:
    """The operations of a program, on one line."""
    lines = str(program).split("\n")[1:-1]
    return "; ".join(map(_right, lines))


def _right(line: str) -> str:
    text = line.strip().split(" = ", 1)[1]
    return text[: text.rindex(")  ") + 1] if ")  " in text else text


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_identity_does_what_it_says(name: str) -> None:
    make, after = EXAMPLES[name]
    program = built(make)
    simple = simplify(program)
    assert body(simple) == after
    assert body(simplify(program, without=[name])) != after
    for got, want in zip(interpret(simple, inputs_of(program)), interpret(program, inputs_of(program)), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-14, atol=1e-15)


def test_every_identity_has_an_example() -> None:
    assert set(EXAMPLES) == {rewrite.name for rewrite in REWRITES} | {"factor"}


def largest(program: Program, values: tuple[Any, ...]) -> float:
    """The largest intermediate value, which bounds what rounding may do."""
    everything = Program(program.name, program.inputs, tuple(n for n in program.nodes() if not n.is_literal))
    return max(1.0, *(float(np.max(np.abs(value), initial=0.0)) for value in interpret(everything, values)))


def _aval(out: Node | None) -> Any:
    return None if out is None else out.aval


@given(programs())
def test_simplification_keeps_the_values(program: Program) -> None:
    values = inputs_of(program)
    simple = simplify(program)
    assert [_aval(out) for out in simple.outputs] == [_aval(out) for out in program.outputs]
    bound = 1e-13 * max(largest(program, values), largest(simple, values))
    for got, want in zip(interpret(simple, values), interpret(program, values), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-13, atol=bound)


@pytest.mark.parametrize("name", CASES)
def test_simplification_saves_work(name: str) -> None:
    """Elements computed, what only moves memory aside."""

    def work(program: Program) -> int:
        moves = ("reshape", "broadcast_to", "transpose", "getitem")
        return sum(n.aval.size for n in program.nodes() if n.prim is not None and n.prim.name not in moves)

    plain = reverse(*CASES[name]()).program
    assert work(simplify(plain)) < work(plain)


@pytest.mark.parametrize("name", CASES)
def test_a_simple_program_stays_as_it_is(name: str) -> None:
    simple = simplify(reverse(*CASES[name]()).program)
    assert str(simplify(simple)) == str(simple)


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_the_plain_rules(name: str) -> None:
    """Recognising formulas, reusing values and simplifying change a gradient by no more than rounding."""
    program, wrt = CASES[name]()
    nodes = program.nodes()
    values = inputs_of(program)
    known = dict(zip(nodes, interpret(Program("all", program.inputs, nodes), values), strict=True))
    keep = saved(program, wrt)
    prepared, new = prepare(program, keep, wrt)
    made = reverse(prepared, [new[node] for node in wrt], {new[node] for node in keep})
    back = {here: node for node, here in new.items()}
    seed = np.ones((), nodes[-1].dtype)[()]
    got = interpret(simplify(made.program), (seed, *(known[back[node]] for node in made.saved)))
    plain = reverse(program, wrt)
    want = interpret(plain.program, (seed, *(known[node] for node in plain.saved)))
    tol = 1e-4 if seed.dtype == np.float32 else 1e-12
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=tol, atol=tol * float(np.max(np.abs(b))))


def test_integers_are_left_alone() -> None:
    b = Builder()
    n = b.input(i64(3), "n")
    program = Program("f", (n,), (n * 2.0 * 0.5, P["neg"](-n) + n))
    values = (np.array([1, 2, -3]),)
    for got, want in zip(interpret(simplify(program), values), interpret(program, values), strict=True):
        np.testing.assert_array_equal(got, want, strict=True)


def test_a_float32_stays_one() -> None:
    b = Builder()
    x, t = b.input(f32(3), "x"), b.input(f32(), "t")
    program = Program("f", (x, t), (-(x * 2.0) * t / 3,))
    (out,) = simplify(program).outputs
    assert out is not None and out.aval is f32(3)


def test_zero_keeps_its_sign() -> None:
    b = Builder()
    x = b.input(f64(2), "x")
    program = Program("f", (x,), (x + 0.0, x - 0.0, -x + 0.0))
    values = (np.array([0.0, -0.0]),)
    for got, want in zip(interpret(simplify(program), values), interpret(program, values), strict=True):
        np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


def test_used_inputs() -> None:
    b = Builder()
    x, y = b.input(f64(2), "x"), b.input(f64(2), "y")
    assert used_inputs(Program("f", (x, y), (at(y, 0),))) == (False, True)


def test_a_number_that_is_not_finite_stays_what_it_is() -> None:
    """No Python number is as short as it, and rounds to it: it had been replaced by itself for ever."""
    builder = Builder()
    x = builder.input(f32(2, 3), "x")
    program = Program("f", (x,), (x * P["broadcast_to"](builder.literal(np.float32(np.inf)), shape=(2, 3)),))
    value = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(interpret(simplify(program), [value])[0], np.full((2, 3), np.inf, np.float32))
