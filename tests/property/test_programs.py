"""Laws of whole programs: gradients are the same however computed, they are derivatives, and they are the caller's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings

import srcdiff as sd
from tests.property.programs import Program, programs

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

WALK, COMPILE, INTERPRET = {"compile_after": 10**9}, {"compile_after": 1}, {"compile_after": 1, "backend": "interpret"}
Arrays = list[Any]


def gradients(program: Program, args: Arrays, **options: Any) -> Arrays:
    """By `sd.grad` of a fresh copy of the arguments."""
    with sd.config(**options):
        return list(sd.grad(program, argnums=tuple(range(len(args))))(*[a.copy() for a in args]))


def backward(program: Program, args: Arrays, **options: Any) -> Arrays:
    """By eager tensors; those refuse what overwrites saved values, as in PyTorch."""
    if not program.eager:
        return gradients(program, args, **options)
    leaves = [sd.from_numpy(a.copy()).requires_grad_() for a in args]
    with sd.config(**options):
        program(*leaves).backward()
    return [np.zeros_like(a) if leaf.grad is None else leaf.grad.numpy() for a, leaf in zip(args, leaves, strict=True)]


def tame(program: Program, args: Arrays) -> bool:
    """Whether the program stays where floating-point differences say something about derivatives."""
    value = program(*[a.copy() for a in args])
    return bool(np.isfinite(value)) and abs(float(value)) < 1e6


def magnitude(arrays: Arrays) -> float:
    return max((float(np.max(np.abs(a), initial=0.0)) for a in arrays), default=0.0)


def assert_close(got: Arrays, expected: Arrays, tolerance: float) -> None:
    """Relative to the largest gradient of all: cancellation leaves errors of that size."""
    scale = 1.0 + magnitude(expected)
    for a, b in zip(got, expected, strict=True):
        assert np.shape(a) == np.shape(b) and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * scale)


def directional(function: Callable[..., Any], args: Arrays, direction: Arrays, step: float) -> tuple[float, float]:
    """The central difference quotient of a scalar function, and how much it changes with the step."""

    def quotient(h: float) -> float:
        up = function(*[a + h * d for a, d in zip(args, direction, strict=True)])
        down = function(*[a - h * d for a, d in zip(args, direction, strict=True)])
        return float(up - down) / (2.0 * h)

    coarse, fine = quotient(step), quotient(step / 2.0)
    return fine, abs(coarse - fine)


def along(gradient: Arrays, direction: Arrays) -> float:
    return float(sum(np.sum(g * d) for g, d in zip(gradient, direction, strict=True)))


def random_direction(args: Arrays, seed: int) -> Arrays:
    rng = np.random.default_rng([seed, 7])
    return [rng.normal(size=a.shape) for a in args]


#: a part of a sum along an axis: what goes back to the part is broadcast along that axis, not added to it
PART_OF_A_SUM = Program(
    inputs=(((2, 3), "float64"), ((), "float64"), ((2, 3), "float64")),
    steps=(
        ("columns", 3, 1), ("matmul", 5, 5), ("rectified", 1, 3), ("column", 2, 0), ("exp", 4, 3), ("divide", 5, 5),
        ("maximum", 3, 1), ("double", 5, 4), ("mean", 2, 0), ("matmul", 5, 5),
    ),
    seed=0,
)  # fmt: skip


@given(programs())
@example(PART_OF_A_SUM)
@settings(max_examples=120)
def test_all_executors_agree(program: Program) -> None:
    args = program.data()
    assume(tame(program, args))
    walked = gradients(program, args, **WALK)
    eps = float(np.finfo(float).eps)
    for options in (COMPILE, INTERPRET, COMPILE):
        assert_close(gradients(program, args, **options), walked, 64 * eps)
        assert_close(backward(program, args, **options), walked, 64 * eps)
    for known, again in zip(gradients(program, args, **COMPILE), gradients(program, args, **COMPILE), strict=True):
        np.testing.assert_array_equal(known, again)


@given(programs(dtypes=("float32", "float64")))
@settings(max_examples=60)
def test_executors_agree_in_mixed_precision(program: Program) -> None:
    args = program.data()
    assume(tame(program, args))
    walked = gradients(program, args, **WALK)
    for options in (COMPILE, INTERPRET):
        assert_close(gradients(program, args, **options), walked, 1e-5)
        assert_close(backward(program, args, **options), walked, 1e-5)


@given(programs(dtypes=("float32", "float64")))
@example(PART_OF_A_SUM)
@settings(max_examples=100)
def test_compiled_passes_have_the_bits_of_the_walk_if_they_shall(program: Program) -> None:
    args = program.data()
    assume(tame(program, args))
    walked = gradients(program, args, exact=True, replay="never", **WALK)
    for found in (
        gradients(program, args, exact=True, replay="never", **COMPILE),
        backward(program, args, exact=True, **COMPILE),
    ):
        for a, b in zip(found, walked, strict=True):
            np.testing.assert_array_equal(a, b)


@given(programs())
@settings(max_examples=100)
def test_the_gradient_is_the_derivative(program: Program) -> None:
    args = program.data()
    assume(tame(program, args))
    value, gradient = sd.value_and_grad(program, argnums=tuple(range(len(args))))(*[a.copy() for a in args])
    assert value == program(*[a.copy() for a in args])
    direction = random_direction(args, program.seed)
    expected, doubt = directional(lambda *a: program(*a), args, direction, 1e-5)
    scale = 1.0 + magnitude(gradient) + abs(float(value))
    assume(doubt < 1e-5 * scale)  # else a kink lies between
    assert along(gradient, direction) == pytest.approx(expected, abs=1e-4 * scale)


@given(programs(steps=6))
@settings(max_examples=50)
def test_the_second_derivative_is_the_derivative_of_the_first(program: Program) -> None:
    args = program.data()
    assume(tame(program, args))
    direction = random_direction(args, program.seed)
    numbers = tuple(range(len(args)))

    def slope(*xs: Any) -> Any:
        found = sd.grad(program, argnums=numbers)(*xs)
        return sum(np.sum(g * d) for g, d in zip(found, direction, strict=True)) + 0.0 * np.sum(xs[0])

    copies = [a.copy() for a in args]
    with sd.config(**WALK):
        walked = list(sd.grad(slope, argnums=numbers)(*copies))
    with sd.config(**COMPILE):
        assert_close(list(sd.grad(slope, argnums=numbers)(*copies)), walked, 1e-9)
    expected, doubt = directional(slope, args, direction, 1e-5)
    scale = 1.0 + magnitude(walked) + abs(expected)
    assume(doubt < 1e-4 * scale)
    assert along(walked, direction) == pytest.approx(expected, abs=1e-3 * scale)


@given(programs())
@settings(max_examples=50)
def test_gradients_belong_to_the_caller(program: Program) -> None:
    args = program.data()
    assume(tame(program, args))
    copies = [a.copy() for a in args]
    for options in (WALK, COMPILE):
        with sd.config(**options):
            found = sd.grad(program, argnums=tuple(range(len(args))))(*copies)
            again = sd.grad(program, argnums=tuple(range(len(args))))(*copies)
        owned = [*copies, *again]
        for k, gradient in enumerate(found):
            assert gradient.flags.writeable
            for other in [*owned, *found[:k]]:
                assert not np.shares_memory(gradient, other)
        kept = [g.copy() for g in again]
        for gradient in found:
            gradient[...] = 17.0
        for before, after in zip(kept, again, strict=True):
            np.testing.assert_array_equal(before, after)
    for a, b in zip(args, copies, strict=True):
        np.testing.assert_array_equal(a, b)


@given(programs())
@settings(max_examples=50)
def test_what_was_compiled_for_one_call_is_right_for_others(program: Program) -> None:
    """Other data may take another branch, and shapes that depend on data change; one function serves them all."""
    numbers = tuple(range(len(program.inputs)))
    with sd.config(**COMPILE):
        function = sd.grad(program, argnums=numbers)
        for variant in (0, 1, 2, 0, 1):
            args = program.data(variant)
            if tame(program, args):
                found = list(function(*[a.copy() for a in args]))
                assert_close(found, gradients(program, args, **WALK), 1e-12)


@given(programs(), programs())
@settings(max_examples=60)
def test_programs_do_not_disturb_each_other(first: Program, second: Program) -> None:
    """All programs run at the same lines, on tensors of the same types: only the graph tells them apart."""
    for program in (first, second, first):
        args = program.data()
        if tame(program, args):
            assert_close(backward(program, args, **COMPILE), backward(program, args, **WALK), 1e-12)


@given(programs(steps=6))
@settings(max_examples=30)
def test_some_arguments_can_be_left_out(program: Program) -> None:
    args = program.data()
    assume(tame(program, args))
    every = gradients(program, args, **WALK)
    for options in (WALK, COMPILE, COMPILE):
        for k, expected in enumerate(every):
            with sd.config(**options):
                found = sd.grad(program, argnums=k)(*[a.copy() for a in args])
            assert_close([found], [expected], 1e-12 * (1.0 + magnitude(every)))
