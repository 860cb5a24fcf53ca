"""Numbers that change from call to call: inputs of one program, wherever they are read, with Python's arithmetic."""

from __future__ import annotations

import dataclasses
import itertools
import math
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff.replay.places import alone, standing_in

X = np.array([0.5, 1.0, -1.5])
RATE: Any = 0.5
COUNT: Any = 1


@pytest.fixture(autouse=True)
def as_written() -> Iterator[None]:
    """Replays are on, and give the same bits; globals are as above."""
    before = RATE, COUNT
    with sd.config(replay="auto", exact=True):
        yield
    globals().update(RATE=before[0], COUNT=before[1])


def bits(result: Any) -> Any:
    """A result as what can be compared: types, dtypes and bits."""
    if isinstance(result, (tuple, list)):
        return [bits(part) for part in result]
    array = np.asarray(result)
    return (type(result), array.dtype, array.shape, array.tobytes())


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    """What a call gives or raises."""
    try:
        return bits(function(*args))
    except Exception as error:
        return (type(error), str(error))


class Pair:
    """A function whose calls are replayed, and compared with eager ones."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.replayed = sd.value_and_grad(function)
        self.eager = sd.value_and_grad(function)

    def __call__(self, *args: Any) -> bool:
        """Whether the call was replayed."""
        before = self.replayed.cache_info().replayed
        found = outcome(self.replayed, *args)
        with sd.config(replay="never"):
            assert found == outcome(self.eager, *args)
        return bool(self.replayed.cache_info().replayed > before)

    @property
    def entries(self) -> int:
        return len(self.replayed._player.entries)


# ----------------------------------------------------------------------------------------------- where numbers are read


class Thing:
    """An instance with a plain attribute."""

    def __init__(self, **state: Any) -> None:
        self.__dict__.update(state)

    def loss(self, x: Any) -> Any:
        return np.sum(x * self.rate + self.count)


@dataclasses.dataclass(frozen=True)
class Settings:
    rate: float
    count: int


Place = tuple[Callable[[Any], Any], Callable[[Any, Any], None]]


def a_global() -> Place:
    def change(rate: Any, count: Any) -> None:
        globals().update(RATE=rate, COUNT=count)

    return lambda x: np.sum(x * RATE + COUNT), change


def a_cell() -> Place:
    rate, count = 0.5, 1

    def change(r: Any, c: Any) -> None:
        nonlocal rate, count
        rate, count = r, c

    return lambda x: np.sum(x * rate + count), change


def an_attribute() -> Place:
    thing = Thing(rate=0.5, count=1)
    return lambda x: np.sum(x * thing.rate + thing.count), lambda r, c: thing.__dict__.update(rate=r, count=c)


def an_attribute_of_self() -> Place:
    thing = Thing(rate=0.5, count=1)
    return thing.loss, lambda r, c: thing.__dict__.update(rate=r, count=c)


def a_frozen_dataclass() -> Place:
    settings = Settings(0.5, 1)
    return (
        lambda x: np.sum(x * settings.rate + settings.count),
        lambda r, c: settings.__dict__.update(rate=r, count=c),
    )


def a_dict() -> Place:
    options: dict[str, Any] = {"rate": 0.5, "count": 1, "name": "sgd"}
    return (
        lambda x: np.sum(x * options["rate"] + options["count"]),
        lambda r, c: options.update(rate=r, count=c),
    )


def a_large_dict_in_a_dict() -> Place:
    options: dict[Any, Any] = {"inner": {**dict.fromkeys(range(20), 0.0), "rate": 0.5, 7: 1}}
    return (
        lambda x: np.sum(x * options["inner"]["rate"] + options["inner"][7]),
        lambda r, c: options["inner"].update({"rate": r, 7: c}),
    )


def a_list() -> Place:
    numbers: list[Any] = [0.5, 1, "name"]

    def change(r: Any, c: Any) -> None:
        numbers[:2] = [r, c]

    return lambda x: np.sum(x * numbers[0] + numbers[1]), change


def a_list_in_an_attribute() -> Place:
    thing = Thing(numbers=[0.5, 1])

    def change(r: Any, c: Any) -> None:
        thing.numbers = [r, c] if type(r) is str else thing.numbers
        thing.numbers[:] = [r, c]

    return lambda x: np.sum(x * thing.numbers[0] + thing.numbers[1]), change


def a_helper() -> Place:
    state = {"rate": 0.5}
    count = 1

    def scaled(x: Any) -> Any:
        return x * state["rate"]

    def change(r: Any, c: Any) -> None:
        nonlocal count
        state["rate"], count = r, c

    return lambda x: np.sum(scaled(x) + count), change


PLACES = [
    a_global, a_cell, an_attribute, an_attribute_of_self, a_frozen_dataclass, a_dict, a_large_dict_in_a_dict, a_list,
    a_list_in_an_attribute, a_helper,
]  # fmt: skip
places = pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)


@places
def test_numbers_become_inputs_wherever_they_are_read(place: Callable[[], Place]) -> None:
    function, change = place()
    pair = Pair(function)
    hits = 0
    for k in range(30):
        change(0.1 * k, k)
        hits += pair(X)
    assert hits >= 24 and pair.entries <= 2


@places
@pytest.mark.parametrize(
    "other",
    [3, True, np.float64(0.25), np.float32(0.25), 1j, "text", None, np.array(2.0), np.ones(3), [1.0], math.inf, -0.0],
    ids=repr,
)
def test_a_number_that_becomes_something_else(place: Callable[[], Place], other: Any) -> None:
    function, change = place()
    pair = Pair(function)
    for k in range(10):
        change(0.1 * k, k)
        pair(X)
    for rate, count in ((other, 1), (other, 2), (0.5, other), (0.25, 3), (other, other), (0.75, 4)):
        change(rate, count)
        for _ in range(3):
            pair(X)


@places
def test_each_number_on_its_own(place: Callable[[], Place]) -> None:
    """One changes, the other is a constant, and changes later."""
    function, change = place()
    pair = Pair(function)
    assert sum((change(0.1 * k, 5), pair(X))[1] for k in range(12)) >= 6
    for k in range(12):
        change(0.25, k)
        pair(X)
    change(0.5, 100)
    assert pair(X)


def test_a_deleted_number_raises_what_it_raises() -> None:
    thing = Thing(rate=0.5, count=1)
    pair = Pair(lambda x: np.sum(x * thing.rate) + RATE)
    for k in range(10):
        thing.rate = 0.5 + k
        pair(X)
    del thing.rate
    pair(X)
    Thing.rate = 7.0  # type: ignore[attr-defined]
    try:
        pair(X)
        Thing.rate = 8.0  # type: ignore[attr-defined]
        pair(X)
        thing.rate = 3.0
        pair(X)
    finally:
        del Thing.rate  # type: ignore[attr-defined]
    pair(X)
    del globals()["RATE"]
    pair(X)
    globals()["RATE"] = 0.5
    pair(X)


def test_objects_that_take_the_place_of_others() -> None:
    class Sub(Thing):
        @property
        def rate(self) -> float:
            return 11.0

    class Lazy:
        count = 1

        def __getattr__(self, name: str) -> Any:
            return 13.0

    class Slots:
        __slots__ = ("count", "rate")

    slots = Slots()
    slots.rate, slots.count = 17.0, 1  # type: ignore[attr-defined]
    holder = {"thing": Thing(rate=0.5, count=1)}
    pair = Pair(lambda x: np.sum(x * holder["thing"].rate))
    for k in range(10):
        holder["thing"].rate = 0.5 + k
        pair(X)
    for other in (Thing(rate=0.5, count=1), Sub(count=1), Lazy(), slots, Settings(0.5, 1), Thing(rate=2.5, count=1)):
        holder["thing"] = other  # type: ignore[assignment]
        for _ in range(4):
            pair(X)


def test_a_property_between_the_instance_and_its_number() -> None:
    thing = Thing(rate=0.5, count=1)
    pair = Pair(lambda x: np.sum(x * thing.rate))
    for k in range(10):
        thing.rate = 0.5 + k
        pair(X)
    Thing.rate = property(lambda self: 3.0)  # type: ignore[attr-defined]
    try:
        pair(X)
        pair(X)
    finally:
        del Thing.rate  # type: ignore[attr-defined]
    Thing.__getattribute__ = lambda self, name: 5.0  # type: ignore[method-assign, assignment]
    try:
        pair(X)
        pair(X)
    finally:
        del Thing.__getattribute__  # type: ignore[attr-defined]
    pair(X)


def test_one_number_in_two_places() -> None:
    """A dict that is an instance's, and is read as both."""
    thing = Thing(rate=0.5)
    state = thing.__dict__
    pair = Pair(lambda x: np.sum(x * thing.rate) + state["rate"])
    for k in range(16):
        thing.rate = 0.1 * k
        pair(X)


# ------------------------------------------------------------------------------------------------------------ arguments


def test_a_step_count_as_an_argument() -> None:
    """Adam written by hand: its count goes up on each call."""

    def update(w: Any, g: Any, m: Any, v: Any, t: int) -> Any:
        m, v = 0.9 * m + (1 - 0.9) * g, 0.999 * v + (1 - 0.999) * g * g
        size = RATE * math.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        return np.sum((w - size * m / (np.sqrt(v) + 1e-8)) ** 2) * np.sqrt(1 - 0.5**t)

    pair = Pair(update)
    hits = 0
    for t in range(1, 30):
        globals()["RATE"] = 0.1 / t
        hits += pair(X, X + t, 0.1 * X, X * X, t)
    assert hits >= 20 and pair.entries <= 3


def test_integers_in_arithmetic_are_inputs_and_in_shapes_constants() -> None:
    arithmetic = Pair(lambda x, n: np.sum(x * n + n))
    assert sum(arithmetic(X, n) for n in range(12)) >= 8 and arithmetic.entries == 1
    for use in (
        lambda x, n: np.sum(x[:n]),
        lambda x, n: x[n] ** 2,
        lambda x, n: np.sum(x**n),
        lambda x, n: np.sum(np.full(n + 1, 2.0)) * np.sum(x),
        lambda x, n: np.sum(x) * sum([k * 1.0 for k in range(n)]),
        lambda x, n: np.sum(x) * len(f"{n}"),
        lambda x, n: np.sum(x) * (n << 1),
        lambda x, n: np.sum(x) * (1, 2, 3)[n],
        lambda x, n: np.sum(np.arange(3) * n * x),
    ):
        pair = Pair(use)
        for n in [0, 1, 2] * 6:
            pair(X, n)
        assert pair.replayed.cache_info().replayed >= 3, use


@pytest.mark.parametrize("other", [2.0, True, np.int64(2), np.float64(2), None, 10**400, -1, 2**63])
def test_an_integer_that_becomes_something_else(other: Any) -> None:
    pair = Pair(lambda x, n: np.sum(x * n))
    for n in range(6):
        pair(X, n)
    for n in (other, 3, other, other, 4):
        pair(X, n)
    assert pair(X, 5)


def test_choices_by_an_integer_have_entries_of_their_own() -> None:
    """More of them than paths are recorded of one kind of call."""

    def chosen(x: Any, n: int) -> Any:
        for k in range(12):
            if n == k:
                return np.sum(x * (k + 1.5))
        return np.sum(x)

    pair = Pair(chosen)
    for _ in range(10):
        for n in range(12):
            pair(X, n)
    assert sum(pair(X, n) for n in range(12)) == 12


# ----------------------------------------------------------------------------------------------------------- arithmetic

USES: list[Callable[[Any, Any, Any], Any]] = [
    lambda x, n, r: np.sum(x * n - r / x),
    lambda x, n, r: np.sum((n - x) * (r - x) / (n + 1)),
    lambda x, n, r: np.sum(x * (n / 3) + n // 2 - n % 3),
    lambda x, n, r: np.sum(x * (r // 0.3) - x * (r % 0.7)),
    lambda x, n, r: np.sum(x) * (1 - r**n) + 2 ** (n - 3) * x[0],
    lambda x, n, r: np.sum(x) * abs(r - 0.3) * -n + (+r),
    lambda x, n, r: np.sum(np.maximum(x, r) + np.minimum(n, x)),
    lambda x, n, r: np.sum(np.where(x > r, x, 2 * x)) + np.sum((x < n) * x),
    lambda x, n, r: np.sum(x) * (2.0 if r > 0.5 else r) + (n if n % 3 == 0 else 1),
    lambda x, n, r: np.sum(x) * max(r, 0.3) * min(n, 4),
    lambda x, n, r: np.sum(x) * np.sqrt(n + 1) * np.exp(-r) + np.log1p(r) * n,
    lambda x, n, r: np.sum(x) * math.sqrt(n + 1) * math.exp(-r) + math.log(n + 2, 2.0) * x[1],
    lambda x, n, r: np.sum(x * float(n)) + int(n) * x[0] + bool(n) * x[1],
    lambda x, n, r: np.sum(x) / (n or 7) + (r and n) * x[2],
    lambda x, n, r: np.sum(x) * sum([r, n, 0.1, 1e100, r, -1e100]),
    lambda x, n, r: np.sum(x) * (n if 0 <= r < 1 else -n) * (r if n in (1, 2, 5) else 1),
    lambda x, n, r: np.sum(np.clip(x, -r, n)),
    lambda x, n, r: np.sum(x * r).astype(np.float32) * n if n else np.sum(x),
    lambda x, n, r: np.sum(np.add(x, n)) * np.multiply(r, x[0]),
    lambda x, n, r: np.sum(x) ** n + np.sum(np.abs(x)) ** r + n ** np.sum(x) + r**2,
    lambda x, n, r: np.sum(x) * round(r, 1) * divmod(n, 2)[0],
    lambda x, n, r: np.sum(x * np.array([n, r, 1.0])),
    lambda x, n, r: np.sum([x[0] * n, r, x[1]]) if isinstance(n, int) else x[0],
    lambda x, n, r: np.sum(x) * (True + n) * (r + False),
    lambda x, n, r: np.sum(x) / (r - 0.25),
    lambda x, n, r: np.sum(x) * (r - 2.0) ** 0.5 if r > 2 else np.sum(x) * abs((r - 2.0) ** 0.5),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("use", USES, ids=range(len(USES)))
def test_arithmetic_is_pythons(use: Callable[..., Any], dtype: Any) -> None:
    """As arguments and from outside: dtypes and bits are those of the ordinary call, also where Python raises."""
    state: dict[str, Any] = {}
    x = X.astype(dtype)
    as_arguments, outside = Pair(use), Pair(lambda x: use(x, state["n"], state["r"]))
    for k in range(16):
        n, r = k % 7, (k % 5) / 4 if k % 4 else 2.0 + k
        as_arguments(x, n, r)
        state.update(n=n, r=r)
        outside(x)


def test_numbers_of_both_signs_and_sizes() -> None:
    pair = Pair(lambda x, n, r: np.sum(x * n) + np.sum(x * r) * (r * n) + n * n * x[0])
    numbers = [0, -0.0, 0.0, -3, 10**30, 1e308, -1e-310, 2**53 + 1, 5e-324, 1e-20, 2**200]
    for _, (n, r) in itertools.product(range(3), itertools.product(numbers, numbers)):
        with np.errstate(all="ignore"):
            pair(X, n, r)


def test_integer_arrays_beside_integers() -> None:
    pair = Pair(lambda x, n: np.sum(x * (np.arange(3) * n)) + np.sum(x * np.int8(3)))
    for n in [1, 2, 300, 2**31, 2**62, 2**63, 2**64, 3]:
        pair(X, n)
        pair(X, n)


# ------------------------------------------------------------------------------------------------------------ recording


def test_numbers_are_put_back_whatever_happens() -> None:
    rate = RATE
    holder: dict[str, Any] = {"a": rate, "b": [1, 2]}

    def cell() -> Any:
        return rate

    inside = cell.__closure__[0]  # type: ignore[index]

    def interrupted() -> None:
        with standing_in([(holder, "a", "x"), (holder["b"], 1, "y"), (inside, "", "z"), (holder, "a", "w")]):
            assert holder == {"a": "w", "b": [1, "y"]} and cell() == "z"
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert holder == {"a": 0.5, "b": [1, 2]} and holder["a"] is rate and cell() is rate


def test_a_recording_that_fails_leaves_numbers_as_they_were() -> None:
    number = 0.1234567
    thing = Thing(rate=number, log=[])
    pair = Pair(lambda x: np.sum(x * thing.rate) * len(str(thing.rate)))
    for k in range(8):
        thing.rate = number * k
        before = thing.rate
        pair(X)
        assert thing.rate is before


def test_numbers_from_outside_are_constants_while_other_threads_run() -> None:
    """They could meet what stands in for a number."""
    assert alone()
    stop = threading.Event()

    def idle() -> None:
        while not stop.wait(0.001):
            pass

    thread = threading.Thread(target=idle)
    thread.start()
    try:
        assert not alone()
        thing = Thing(rate=0.5, count=1)
        pair = Pair(lambda x: np.sum(x * thing.rate))
        for k in range(10):
            thing.rate = 0.1 * (k // 3)
            pair(X)
        assert not pair.replayed._player.numbers.inputs
    finally:
        stop.set()
        thread.join()


def test_what_is_not_fit_is_a_constant_and_the_others_are_inputs() -> None:
    options: dict[str, Any] = {"rate": 0.5, "axis": 0, "name": 1}
    x = np.ones((2, 3))
    pair = Pair(lambda x: np.sum(np.sum(x * options["rate"], axis=options["axis"]) ** 2) * len(str(options["name"])))
    hits = 0
    for k in range(40):
        options.update(rate=0.1 * k, axis=k // 20, name=k // 20)
        hits += pair(x)
    assert hits >= 25


def test_tangents_take_numbers_from_outside_as_inputs() -> None:
    thing = Thing(rate=0.5, count=1)
    pushed, eager = (sd.jvp(lambda x: np.sum(x * thing.rate) * thing.count) for _ in range(2))
    for k in range(14):
        thing.rate, thing.count = 0.1 * k, k
        found = bits(pushed((X,), (X + k,)))
        with sd.config(replay="never"):
            assert found == bits(eager((X,), (X + k,)))
    assert pushed.cache_info().replayed >= 7
