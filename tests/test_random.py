"""Generators repeat, save and restore their stream; draws have the dtype, range and distribution they promise."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff import random
from srcdiff.errors import DTypeError, RandomError, ShapeError
from srcdiff.random import Generator

Draw = Callable[[Generator | None], Any]

DRAWS: dict[str, Draw] = {
    "rand": lambda g: random._rand((3, 4), "f4", g),
    "rand f2": lambda g: random._rand((3, 4), "f2", g),
    "rand f8": lambda g: random._rand((3, 4), "f8", g),
    "rand c8": lambda g: random._rand((3, 4), "c8", g),
    "randn": lambda g: random._randn((3, 4), "f4", g),
    "randn f2": lambda g: random._randn((3, 4), "f2", g),
    "randn f8": lambda g: random._randn((3, 4), "f8", g),
    "randn c16": lambda g: random._randn((3, 4), "c16", g),
    "randint": lambda g: random._randint(-5, 1000, (3, 4), "i8", g),
    "randint i1": lambda g: random._randint(-128, 128, (3, 4), "i1", g),
    "randint f4": lambda g: random._randint(0, 1000, (3, 4), "f4", g),
    "randperm": lambda g: random._randperm(12, "i4", g),
    "normal": lambda g: random._normal(2.0, 0.5, (3, 4), "f4", g),
    "uniform": lambda g: random._uniform(-1.0, 3.0, (3, 4), "f8", g),
    "bernoulli": lambda g: random._bernoulli(0.5, (3, 40), "f4", g),
}
all_draws = pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS.keys())


@all_draws
def test_a_seed_repeats_the_draw_and_goes_on_from_it(draw: Draw) -> None:
    generator = Generator().manual_seed(7)
    first, second = draw(generator), draw(generator)
    np.testing.assert_array_equal(draw(generator.manual_seed(7)), first)
    assert (first != second).any()
    assert (draw(generator.manual_seed(8)) != first).any()


@all_draws
def test_a_state_continues_the_stream_in_any_generator(draw: Draw) -> None:
    generator = Generator().manual_seed(7)
    random._randint(0, 3, (1,), "i4", generator)  # leaves half of a 64-bit draw in the buffer
    state = generator.get_state()
    expected = draw(generator)
    for other in (generator, Generator()):
        other.set_state(state)
        np.testing.assert_array_equal(draw(other), expected)
        assert other.initial_seed() == 7


@all_draws
def test_the_default_generator_is_drawn_from_when_none_is_given(draw: Draw) -> None:
    with random.fork_rng():
        random.manual_seed(7)
        first = draw(None)
    np.testing.assert_array_equal(draw(Generator().manual_seed(7)), first)


def test_dtypes_are_those_asked_for() -> None:
    for dtype in (np.float16, np.float32, np.float64, np.complex64, np.complex128, np.longdouble):
        for draw in (random._rand, random._randn):
            values = draw((2, 3), dtype)
            assert values.dtype == dtype
            assert values.shape == (2, 3)
            assert isinstance(draw((), dtype), np.ndarray)
            assert draw((), dtype).shape == ()
            assert draw((0, 2), dtype).shape == (0, 2)
    assert random._randint(0, 2, (3,), bool).dtype == bool
    assert random._randint(0, 2, (3,), np.uint8).dtype == np.uint8
    assert random._randperm(5, np.int16).dtype == np.int16
    assert random._bernoulli(0.5, (3,), np.int64).dtype == np.int64
    assert random._normal(0.0, 1.0, (), np.float16).dtype == np.float16


def test_float32_is_drawn_as_float32() -> None:
    numpy = np.random.Generator(np.random.PCG64(7))
    generator = Generator().manual_seed(7)
    np.testing.assert_array_equal(random._rand((5,), "f4", generator), numpy.random(5, np.float32))
    np.testing.assert_array_equal(random._randn((5,), "f4", generator), numpy.standard_normal(5, np.float32))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_uniform_draws_fill_their_half_open_interval(dtype: str) -> None:
    generator = Generator().manual_seed(0)
    unit = random._rand((100_000,), dtype, generator).astype("f8")
    assert 0 <= unit.min() < 0.01
    assert 0.99 < unit.max() < 1
    assert abs(unit.mean() - 0.5) < 5 * (1 / 12 / unit.size) ** 0.5  # five standard errors
    narrow = random._uniform(1.0, 1.0 + 2 * float(np.finfo(dtype).eps), (1000,), dtype, generator)
    assert narrow.min() == 1
    assert narrow.max() < 1 + 2 * np.finfo(dtype).eps
    assert (random._uniform(2.0, 2.0, (3,), dtype, generator) == 2).all()


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
def test_normal_draws_have_mean_zero_and_variance_one(dtype: str) -> None:
    values = random._randn((100_000,), dtype, Generator().manual_seed(0)).astype("c16")
    error = values.size**-0.5
    assert abs(values.mean()) < 5 * error
    assert abs((abs(values) ** 2).mean() - 1) < 5 * 2**0.5 * error


def test_normal_takes_means_and_deviations_elementwise() -> None:
    values = random._normal(np.array([0.0, 100.0]), np.array([[1.0], [0.0]]), generator=Generator().manual_seed(0))
    assert values.shape == (2, 2)
    np.testing.assert_array_equal(values[1], [0, 100])
    assert random._normal([0.0, 100.0], 0.0, (3, 2)).tolist() == [[0, 100]] * 3


def test_bernoulli_follows_each_probability() -> None:
    generator = Generator().manual_seed(0)
    values = random._bernoulli(np.array([0.0, 0.25, 1.0]), (100_000, 3), generator=generator)
    assert set(np.unique(values)) == {0, 1}
    zeros, quarter, ones = values.mean(axis=0, dtype="f8")
    assert (zeros, ones) == (0, 1)
    assert abs(quarter - 0.25) < 5 * (0.25 * 0.75 / 100_000) ** 0.5
    assert random._bernoulli(np.ones((2, 3))).shape == (2, 3)


def test_randint_reaches_both_ends_and_randperm_every_number() -> None:
    generator = Generator().manual_seed(0)
    assert set(random._randint(-2, 3, (500,), "i8", generator).tolist()) == {-2, -1, 0, 1, 2}
    assert sorted(random._randperm(50, generator=generator).tolist()) == list(range(50))
    assert random._randperm(0).shape == (0,)


def test_seeds_wrap_as_in_pytorch() -> None:
    generator = Generator()
    assert generator.manual_seed(-1) is generator
    assert generator.initial_seed() == 2**64 - 1
    assert generator.manual_seed(np.int32(5)).initial_seed() == 5
    for seed in (2**64, -(2**63) - 1):
        with pytest.raises(RandomError, match=f"manual_seed: {seed} does not fit, expected"):
            generator.manual_seed(seed)
    assert generator.initial_seed() == 5


def test_new_generators_start_alike_and_seed_sets_them_apart() -> None:
    one, other = Generator(), Generator(device="cpu")
    assert random._rand((2,), generator=one).tolist() == random._rand((2,), generator=other).tolist()
    assert one.seed() == one.initial_seed() != other.initial_seed()


def test_copies_and_pickles_continue_apart() -> None:
    generator = Generator().manual_seed(7)
    random._rand((3,), generator=generator)
    copies = [copy.copy(generator), copy.deepcopy(generator), pickle.loads(pickle.dumps(generator))]
    expected = random._rand((3,), generator=generator).tolist()
    for twin in copies:
        assert random._rand((3,), generator=twin).tolist() == expected


def test_module_functions_act_on_the_default_generator() -> None:
    with random.fork_rng():
        assert random.manual_seed(3) is random.default_generator
        assert random.initial_seed() == 3
        state = random.get_rng_state()
        first = random._rand((2,)).tolist()
        random.set_rng_state(state)
        assert random._rand((2,)).tolist() == first
        assert random.seed() == random.initial_seed()


def test_fork_rng_restores_the_state_also_after_an_exception() -> None:
    before = random.get_rng_state()
    with pytest.raises(ShapeError), random.fork_rng():
        random._rand((random._randint(-2, -1, ()),))
    np.testing.assert_array_equal(random.get_rng_state(), before)
    with random.fork_rng():
        with random.fork_rng(enabled=False):
            random._rand((2,))
        assert (random.get_rng_state() != before).any()


def test_threads_share_a_generator_without_losing_or_repeating_draws() -> None:
    generator = Generator().manual_seed(7)
    drawn: list[float] = []

    def work() -> None:
        for _ in range(200):
            drawn.extend(random._rand((4,), "f8", generator).tolist())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(drawn) == sorted(random._rand((3200,), "f8", Generator().manual_seed(7)).tolist())


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: random._rand((2, -1)), ShapeError, r"rand: .*negative dimension -1: \[2, -1\]"),
        (lambda: random._rand((2,), "i4"), DTypeError, "rand: cannot draw int32, expected a floating-point"),
        (lambda: random._randn((2,), bool), DTypeError, "randn: cannot draw bool"),
        (lambda: random._randint(5, 5, (2,)), RandomError, "got from=5 >= to=5"),
        (lambda: random._randint(0, 500, (2,), "i1"), RandomError, "0 to 499 is out of bounds for int8"),
        (lambda: random._randint(0, 5, (2,), "c8"), DTypeError, "randint: cannot draw complex64"),
        (lambda: random._randperm(-1), ShapeError, "negative dimension -1"),
        (lambda: random._randperm(300, "u1"), RandomError, "299 is out of bounds for uint8"),
        (lambda: random._normal(0.0, -1.0, (2,)), RandomError, "expects std >= 0.0, but found std -1"),
        (
            lambda: random._normal([1.0, 2.0], [1.0, 2.0, 3.0]),
            ShapeError,
            r"normal: cannot broadcast \(2,\) and \(3,\)",
        ),
        (lambda: random._normal([1.0, 2.0], 1.0, (1,)), ShapeError, r"cannot broadcast \(2,\) and \(\) to \(1,\)"),
        (lambda: random._normal(0.0, 1.0, (-1,)), ShapeError, "negative dimension -1"),
        (lambda: random._uniform(2.0, 1.0, (2,)), RandomError, "found from=2.0 > to=1.0"),
        (lambda: random._uniform(-3e38, 3e38, (2,)), RandomError, "wider than float32 can hold"),
        (lambda: random._uniform(0.0, 1.0, (2,), "c8"), DTypeError, "uniform: cannot draw complex64"),
        (lambda: random._bernoulli(2.0, (2,)), RandomError, "p_in >= 0 && p_in <= 1"),
        (lambda: random._bernoulli([np.nan]), RandomError, "p_in >= 0 && p_in <= 1"),
        (lambda: Generator("cuda"), RandomError, "device 'cuda' does not exist here"),
        (lambda: Generator().set_state(np.zeros(4, np.uint8)), RandomError, r"expected a state of \d+ bytes"),
        (lambda: Generator().set_state(np.zeros(45)), RandomError, "got float64 of shape"),
    ],
)
def test_what_cannot_be_drawn_is_refused_by_name(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_going_back_gives_no_number_twice_to_two_threads() -> None:
    """A replay that strays puts back what it drew, unless another thread has drawn in between."""
    generator = random.default_generator
    with random.fork_rng():
        random.manual_seed(0)
        mark = generator.mark()
        first = sd.rand(3).numpy()
        generator.rewind(mark)
        np.testing.assert_array_equal(sd.rand(3).numpy(), first)

        mark, drawn = generator.mark(), []
        sd.rand(3)
        thread = threading.Thread(target=lambda: drawn.append(sd.rand(3).numpy()))
        thread.start()
        thread.join()
        generator.rewind(mark)
        assert not np.isin(sd.rand(6).numpy(), drawn[0]).any()
