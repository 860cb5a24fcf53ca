"""Formulas are recognised where their parts serve nothing else, and never ask for what was not saved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from srcdiff.core.builder import interpret
from srcdiff.core.program import Node, Program
from srcdiff.index import FULL, Index, Slice
from srcdiff.transform.recognise import prepare
from srcdiff.transform.reverse import reverse
from tests.transform.programs import P, Tape, at, average, f64, inputs_of, peak, rnn, saved, total


def pull(program: Program, wrt: Sequence[Node], values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Gradients by way of `prepare`, from what the tape saves."""
    keep = saved(program, wrt)
    nodes = program.nodes()
    with np.errstate(over="ignore"):
        known = dict(zip(nodes, interpret(Program("all", program.inputs, nodes), values), strict=True))
    prepared, new = prepare(program, keep, wrt)
    made = reverse(prepared, [new[node] for node in wrt], {new[node] for node in keep})
    back = {here: node for node, here in new.items()}
    return interpret(made.program, (np.float64(1.0), *(known[back[node]] for node in made.saved)))


def logistic(z: Node, sign: float = -1.0) -> Any:
    return 1.0 / (1.0 + P["exp"](-z if sign < 0 else z * 1.5))


@pytest.mark.parametrize("read", [lambda p: total(p * p), lambda p: total(p)], ids=["saved", "not saved"])
def test_the_logistic_function_is_flat_far_out(read: Callable[[Any], Any]) -> None:
    """Step by step its slope at -800 is 0 * 0 * inf."""
    b = Tape()
    z = b.input(f64(3), "z")
    program = Program("f", (z,), (read(logistic(z)),))
    values = np.array([-800.0, 0.0, 2.0])
    (slope,) = pull(program, (z,), (values,))
    with np.errstate(over="ignore"):
        p = 1 / (1 + np.exp(-values))
    factor = 2 * p if read(z).operands[0].prim is P["mul"] else np.ones(3)
    np.testing.assert_allclose(slope, factor * p * (1 - p), rtol=1e-14)


def test_the_argument_need_not_be_negated() -> None:
    b = Tape()
    z = b.input(f64(3), "z")
    p = logistic(z, 1.0)
    values = (np.array([-1.0, 0.5, 2.0]),)
    (slope,) = pull(Program("f", (z,), (total(p * p),)), (z,), values)
    share = 1 / (1 + np.exp(1.5 * values[0]))
    np.testing.assert_allclose(slope, -2 * share * 1.5 * share * (1 - share), rtol=1e-14)


def recognised(program: Program, wrt: Sequence[Node] = ()) -> bool:
    prepared, _ = prepare(program, None, wrt)
    return prepared is not program


def test_parts_that_are_wanted_keep_a_formula_as_it_is() -> None:
    b = Tape()
    z = b.input(f64(3), "z")
    p = logistic(z)
    below = p.operands[1]
    assert recognised(Program("f", (z,), (p,)), (z,))
    assert not recognised(Program("f", (z,), (p,)), (z, below))
    assert not recognised(Program("f", (z,), (p, below)), (z,))
    assert not recognised(Program("f", (z,), (p * below,)), (z,))


def log_softmax(x: Node) -> Any:
    shifted = x - peak(x, (1,))
    return shifted - P["log"](total(P["exp"](shifted), (1,), True))


def softmax(x: Node) -> Any:
    e = P["exp"](x - peak(x, (1,)))
    return e / total(e, (1,), True)


def logsumexp(x: Node) -> Any:
    top = peak(x, (1,))
    return P["log"](total(P["exp"](x - top), (1,))) + at(top, FULL, 0)


def logsumexp_kept(x: Node) -> Any:
    top = peak(x, (1,))
    return P["log"](total(P["exp"](x - top), (1,), True)) + top


def logsumexp_again(x: Node) -> Any:
    return P["log"](total(P["exp"](x - peak(x, (1,))), (1,))) + P["max"](x, axis=1, keepdims=False)


def logsumexp_of_columns(x: Node) -> Any:
    """Without keeping the first axis, which broadcasting adds again."""
    top = P["max"](x, axis=0, keepdims=False)
    return P["log"](total(P["exp"](x - top), (0,))) + top


def softmax_of_columns(x: Node) -> Any:
    e = P["exp"](x - P["max"](x, axis=0, keepdims=False))
    return e / total(e, (0,))


SHIFTS = [log_softmax, softmax, logsumexp, logsumexp_kept, logsumexp_of_columns, softmax_of_columns]


@pytest.mark.parametrize("function", [*SHIFTS, logsumexp_again])
def test_nothing_flows_through_the_maximum_that_is_subtracted(function: Callable[[Node], Any]) -> None:
    b = Tape()
    x, weights = b.input(f64(4, 3), "x"), b.input(f64(4, 3), "weights")
    y = function(x)
    program = Program("f", (x, weights), (total(y * weights if y.ndim == 2 and y.shape[1] == 3 else y * y),))
    prepared, new = prepare(program, None, (x,))
    backward = reverse(prepared, [new[x]]).program
    assert "attains" in str(reverse(program, [x]).program)
    assert "attains" not in str(backward)
    values = inputs_of(program)
    plain = reverse(program, [x])
    nodes = program.nodes()
    known = dict(zip(nodes, interpret(Program("all", program.inputs, nodes), values), strict=True))
    (want,) = interpret(plain.program, (np.float64(1.0), *(known[node] for node in plain.saved)))
    (got,) = pull(program, (x,), values)
    np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("function", SHIFTS)
def test_a_maximum_that_is_used_otherwise_is_differentiated(function: Callable[[Node], Any]) -> None:
    b = Tape()
    x = b.input(f64(4, 3), "x")
    y = function(x)
    (top,) = (node for node in Program("f", (x,), (y,)).nodes() if node.prim is P["max"])
    assert not recognised(Program("f", (x,), (total(y) + total(top),)), (x,))
    assert not recognised(Program("f", (x,), (total(y),)), (x, top))


def test_a_maximum_that_is_computed_again_is_as_it_was() -> None:
    b = Tape()
    x = b.input(f64(4, 3), "x")
    y = logsumexp_again(x)
    first, again = (node for node in Program("f", (x,), (y,)).nodes() if node.prim is P["max"])
    assert recognised(Program("f", (x,), (total(y),)), (x,))
    for top in (first, again):
        assert not recognised(Program("f", (x,), (total(y) + total(top),)), (x,))
        assert not recognised(Program("f", (x,), (total(y),)), (x, top))
    other = P["log"](total(P["exp"](x - peak(x, (1,))), (1,)))
    for added in (P["max"](x, axis=0, keepdims=False), P["max"](x * 2.0, axis=1, keepdims=False)):
        assert not recognised(Program("f", (x,), (total(other), total(added))), (x,))


def test_a_maximum_that_is_added_back_in_another_order_is_differentiated() -> None:
    b = Tape()
    x = b.input(f64(4, 4), "x")
    top = P["max"](x, axis=0, keepdims=False)
    level = P["log"](total(P["exp"](x - top), (0,)))
    for part in (Slice(None, None, -1), Slice(3, None, -1)):
        y = level + P["getitem"](top, index=Index((part,), False))
        assert not recognised(Program("f", (x,), (total(y),)), (x,))


def test_the_maximum_of_a_row_is_no_shift_of_columns() -> None:
    """x - max(x, axis=1) of a square array takes from each column the maximum of a row."""
    b = Tape()
    x = b.input(f64(3, 3), "x")
    top = P["max"](x, axis=1, keepdims=False)
    e = P["exp"](x - top)
    for y in (P["log"](total(e, (1,))) + top, e / total(e, (1,))):
        assert not recognised(Program("f", (x,), (total(y),)), (x,))


def test_a_shift_without_a_sum_is_differentiated() -> None:
    b = Tape()
    x = b.input(f64(4, 3), "x")
    assert not recognised(Program("f", (x,), (average(P["exp"](x - peak(x, (1,)))),)), (x,))


def test_values_of_one_name_are_numbered_as_they_were_computed() -> None:
    program, wrt = rnn(3)
    prepared, new = prepare(program, None, wrt)
    names = [new[node].name for node in program.nodes() if node.name == "h"]
    assert names == ["h", "h_2", "h_3", "h_4"]
    assert prepared.outputs[0] is new[program.outputs[0]]  # type: ignore[index]


def test_nothing_to_do_gives_the_program_back() -> None:
    b = Tape()
    x = b.input(f64(3), "x")
    program = Program("f", (x,), (total(P["sin"](x)),))
    prepared, new = prepare(program)
    assert prepared is program
    assert all(here is there for here, there in new.items())
