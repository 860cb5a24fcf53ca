"""Derivatives of derivatives of random programs: every combination of modes gives the same, on every call of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import srcdiff as sd
from tests.property.programs import Program, programs
from tests.property.test_programs import assert_close, random_direction, tame

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

Arrays = list[Any]


def dot(xs: Any, ys: Any) -> Any:
    return sum(np.sum(x * y) for x, y in zip(xs, ys, strict=True))


def calls(function: Callable[..., Any], args: Arrays, want: Any, tolerance: float, single: bool = False) -> Any:
    """The result of the first of some calls, which all give `want` (None: what the first gives)."""
    for _ in range(4):  # walked or interpreted, compiled or recorded, matched or replayed, and once more
        got = function(*[a.copy() for a in args])
        got = [np.asarray(got)] if single else [np.asarray(g) for g in got]
        want = got if want is None else want
        assert_close(got, want, tolerance)
    return want


@given(programs(steps=8), st.sampled_from(["auto", "never"]))
@settings(max_examples=40)
def test_all_orders_of_modes_agree_to_third_order(program: Program, replay: str) -> None:
    args = program.data()
    assume(tame(program, args))
    ts = random_direction(args, program.seed)
    every = tuple(range(len(args)))
    gradient = sd.grad(program, argnums=every)
    with sd.config(replay=replay):
        first = calls(gradient, args, None, 1e-10)
        calls(lambda *xs: sd.jvp(program, xs, ts)[1], args, [np.asarray(dot(first, ts))], 1e-9, single=True)

        second = calls(lambda *xs: sd.hvp(program, xs, ts, argnums=every), args, None, 1e-9)
        calls(sd.grad(lambda *xs: sd.jvp(program, xs, ts)[1], argnums=every), args, second, 1e-8)
        calls(sd.grad(lambda *xs: dot(gradient(*xs), ts), argnums=every), args, second, 1e-8)
        calls(lambda *xs: sd.linearize(gradient, *xs)[1](*ts), args, second, 1e-8)
        calls(lambda *xs: sd.vjp(gradient, *xs)[1](tuple(ts)), args, second, 1e-8)

        def curvature(*xs: Any) -> Any:
            return sd.jvp(lambda *ys: sd.jvp(program, ys, ts)[1], xs, ts)[1]

        third = calls(
            sd.grad(lambda *xs: dot(sd.hvp(program, xs, ts, argnums=every), ts), argnums=every), args, None, 1e-8
        )
        calls(sd.grad(curvature, argnums=every), args, third, 1e-7)
        calls(lambda *xs: sd.jvp(curvature, xs, ts)[1], args, [np.asarray(dot(third, ts))], 1e-7, single=True)
