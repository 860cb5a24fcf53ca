"""Programs of single numbers give NumPy's bits, errors and warnings when they run on Python's floats."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcdiff import runtime
from srcdiff.codegen.loader import load
from srcdiff.codegen.numbers import emit_numbers, of_numbers
from srcdiff.core.builder import Builder, interpret
from srcdiff.core.program import Program
from tests.transform.programs import P, f32, f64


def program(make: Callable[..., Any], times: int = 5, aval: Any = f64) -> Program:
    b = Builder()
    x, y = b.input(aval(), "x"), b.input(aval(), "y")
    a, c = x, y
    for _ in range(times):
        a, c = make(a, c)
    return Program("step", (x, y), (a, None, c))


def swing(a: Any, c: Any) -> Any:
    return a + 0.01 * c, c - 0.01 * P["sin"](a)


def mixed(a: Any, c: Any) -> Any:
    return P["tanh"](a * c) / (1.0 + c**2) - P["exp"](-(a * a)), P["sqrt"](c * c + 1.0) + P["log"](2.0 + P["cos"](a))


def step(made: Program) -> Any:
    return load(emit_numbers(made), "step", "step", {"np": np, "rt": runtime})


@pytest.mark.parametrize("make", [swing, mixed])
@pytest.mark.parametrize("kind", [np.float64, np.asarray, float])
def test_the_bits_are_numpys(make: Any, kind: Any) -> None:
    made = program(make)
    got = step(made)(kind(0.7), kind(-1.3))
    want = interpret(made, (np.float64(0.7), np.float64(-1.3)))
    assert got == tuple(want) and got[1] is None
    assert type(got[0]) is type(got[2]) is np.float64


def test_the_statements_are_written_once_and_functions_are_arguments() -> None:
    text = emit_numbers(program(swing))
    assert text.startswith("def step_of_numbers(x, y, sin):\n")
    assert text.endswith('\n\ndef step(x, y):\n    return rt.in_floats(step_of_numbers, ("sin",), x, y)\n')
    assert "np." not in text


def test_what_python_refuses_is_numpys() -> None:
    made = program(lambda a, c: (a / c, c), 12)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        got = step(made)(1.0, 0.0)
    assert got[0] == math.inf and any("divide by zero" in str(each.message) for each in caught)
    made = program(lambda a, c: (a * c, c), 12)
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert step(made)(1e300, 1e10)[0] == math.inf
    with np.errstate(all="ignore"):
        assert math.isnan(step(program(lambda a, c: (P["log"](a) * c, c), 6))(-1.0, 1.0)[0])
        assert math.isnan(step(program(swing))(math.inf, 1.0)[0])


def test_other_programs_are_not_taken() -> None:
    assert of_numbers(program(swing))
    assert not of_numbers(program(swing, 1)), "too short to be worth it"
    assert not of_numbers(program(swing, aval=f32))
    assert not of_numbers(program(lambda a, c: (P["arctan"](a), a + c), 12))
    assert not of_numbers(program(lambda a, c: (a**c, c + a), 12)), "of a negative number a complex one, or an error"
    assert not of_numbers(program(swing, aval=lambda: f64(3)))
