"""Malformed programs are refused, with what is wrong and the lines around it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import srcdiff.ops.catalogue  # noqa: F401  declares every primitive
from srcdiff.aval import aval
from srcdiff.core.builder import Builder
from srcdiff.core.primitive import REGISTRY, Operand
from srcdiff.core.program import Node, Program
from srcdiff.core.verify import verify
from srcdiff.errors import CompileError, SrcdiffError
from srcdiff.ops.families import nondiff

F64 = aval((3,), np.dtype(np.float64))


def inputs() -> tuple[Builder, Node, Node]:
    builder = Builder()
    return builder, builder.input(F64, "x"), builder.input(F64, "y")


def broken(change: Callable[[Builder, Node, Node, Any], Program]) -> Program:
    builder, x, y = inputs()
    return change(builder, x, y, x * y)


def program(args: tuple[Node, ...], out: Node) -> Program:
    return Program("f", args, (out,))


CASES: list[tuple[Callable[[Builder, Node, Node, Any], Program], str]] = [
    (lambda b, x, y, z: program((x, y, z), z), "is declared as an input but is none"),
    (lambda b, x, y, z: program((x,), z), "is an input that is not declared"),
    (lambda b, x, y, z: program((x, y), replace(z, number=x.number)), "before it is defined"),
    (lambda b, x, y, z: program((x, y), replace(z, builder=Builder())), "of another program"),
    (
        lambda b, x, y, z: program((x, y), replace(z, params=(("axis", 0),))),
        r"has parameters \('axis',\), but mul takes",
    ),
    (
        lambda b, x, y, z: program((x,), b.opaque(REGISTRY["reshape"], (x,), {"shape": [3]}, F64)),
        r"has an unhashable parameter shape=\[3\]",
    ),
    (
        lambda b, x, y, z: program((x, y), replace(z, aval=aval((2,), F64.dtype))),
        r"is said to be f64\[2\], but mul gives",
    ),
]


@pytest.mark.parametrize(("change", "text"), CASES)
def test_malformed_programs_are_refused(change: Callable[..., Program], text: str) -> None:
    with pytest.raises(CompileError, match=f"malformed program: .*{text}"):
        verify(broken(change))


def test_a_well_formed_program_is_given_back_and_shown_where_another_fails() -> None:
    _, x, y = inputs()
    good = program((x, y), x * y + 2.0)
    assert verify(good) is good
    bad = program((x, y), replace(x * y, params=(("axis", 0),)))
    with pytest.raises(CompileError, match=r"program f\(x: f64\[3\], y: f64\[3\]\)"):
        verify(bad)


def test_what_is_no_operand_is_refused() -> None:
    builder, x, _ = inputs()
    with pytest.raises(CompileError, match="a node of another program"):
        x * inputs()[1]
    with pytest.raises(CompileError, match="a rule read a value that its primitive does not save"):
        builder.lift(F64)
    with pytest.raises(CompileError, match="object cannot be an operand"):
        builder.lift(object())
    assert builder.lift(np.array(2.0)).literal == 2.0
    with pytest.raises(TypeError, match="has no truth value"):
        bool(x)


def test_operations_on_literals_are_literals_if_they_have_a_value() -> None:
    builder = Builder()
    assert (builder.literal(2.0) * 3).literal == 6.0
    assert not (1 / builder.literal(0)).is_literal


def test_nodes_and_primitives_show_themselves() -> None:
    builder, x, _ = inputs()
    assert repr(x) == "%1:x" and repr(x * 2.0).startswith("%") and repr(builder.literal(2.0)) == "2.0"
    assert repr(REGISTRY["mul"]) == "<primitive mul>"
    assert pickle.loads(pickle.dumps(REGISTRY["mul"])) is REGISTRY["mul"]


def test_operators_make_the_primitives_of_their_names() -> None:
    _, x, y = inputs()
    made = [
        x + 1.0,
        1.0 + x,
        x - y,
        1.0 - x,
        x * y,
        2.0 * x,
        x / y,
        1.0 / x,
        x**y,
        2.0**x,
        -x,
        x < y,
        x <= y,
        x > y,
        x >= y,
    ]
    names = [node.prim.name for node in made]
    assert names == [*"add add sub sub mul mul div div pow pow neg less less_equal greater greater_equal".split()]
    assert [(x @ y).prim.name, REGISTRY["matmul"](y, x).prim.name] == ["matmul", "matmul"]


def test_a_name_is_declared_once() -> None:
    with pytest.raises(SrcdiffError, match="primitive mul is declared twice"):
        nondiff("mul", "x y", "x * y")


def test_an_operand_must_say_how_it_binds() -> None:
    with pytest.raises(NotImplementedError):
        REGISTRY["neg"](Operand())
