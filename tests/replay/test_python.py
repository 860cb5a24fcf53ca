"""Python's own means in functions that are replayed: objects, patterns, tools of the standard library, texts. Each
function is called with changing values, and gives what tracing gives to the bit.

PYTEST_DONT_REWRITE: the functions are to be what is written.
"""
# ruff: noqa: B009, NPY002 - what is better not written stands here to be replayed

from __future__ import annotations

import bisect
import collections
import dataclasses
import functools
import heapq
import itertools
import math
import operator
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import srcdiff as sd

X = np.array([0.3, 1.2, -0.7, 0.9, 2.1])


@pytest.fixture(autouse=True)
def automatic() -> Iterator[None]:
    with sd.config(replay="auto", exact=True):
        yield


class Shape:
    def __init__(self, size: Any) -> None:
        self.size = size
        self.count = 0

    def area(self) -> Any:
        self.count += 1
        return self.size * self.size

    def __repr__(self) -> str:
        return f"shape {self.count}"


class Round(Shape):
    def __init__(self, size: Any, factor: float) -> None:
        super().__init__(size)
        self.factor = factor

    def area(self) -> Any:
        return super().area() * self.factor


@dataclasses.dataclass
class Pair:
    first: Any
    second: float = 2.0


class Named(typing.NamedTuple):
    first: Any
    second: float = 2.0

    def product(self) -> Any:
        return self.first * self.second

    @property
    def doubled(self) -> Any:
        return 2 * self.first


class OutOfRangeError(ValueError):
    """Nothing of its own."""


class Three:
    def __init__(self, x: Any) -> None:
        self.x, self.k = x, 0

    def __iter__(self) -> Three:
        return self

    def __next__(self) -> Any:
        if self.k >= 3:
            raise StopIteration
        self.k += 1
        return self.x[self.k - 1] * self.k


def objects(x: Any) -> Any:
    shape, other = Round(x[0], 3.0), Shape(x[1])
    return shape.area() + shape.area() * shape.count + other.area() * len(str(other)) + sum(Three(x))


def patterns(x: Any) -> Any:
    total = 0.0
    for case in (Pair(x[0]), Pair(x[1], 3.0), 4, "a", [x[2], x[3]], {"k": x[4]}):
        match case:
            case Pair(first, second=3.0):
                total = total + first**3
            case Pair(first=first):
                total = total + first**2
            case int(n):
                total = total * n
            case str():
                total = total + 1.0
            case [a, b]:
                total = total + a * b
            case {"k": v}:
                total = total - v
    return total


def a_position(x: Any) -> Any:
    match Pair(x, 3.0):
        case Pair(v):
            return np.sum(v * x)


def tuples(x: Any) -> Any:
    pair = Named(x, 3.0)
    return np.sum(pair.product() + pair.doubled + dataclasses.replace(Pair(x), second=4.0).second)


def by_name(x: Any) -> Any:
    pair = Pair(x)
    return np.sum(getattr(pair, "first") * getattr(x, "ndim", 0)) * (2 if hasattr(pair, "second") else 1)


def imports(x: Any) -> Any:
    import math as m

    import numpy.linalg as la
    from numpy import tanh

    return np.sum(tanh(x)) * m.pi + la.norm(x)


def raises(x: Any) -> Any:
    if x.ndim > 2:
        raise OutOfRangeError("no")
    if not np.all(np.isfinite(x)):
        raise OutOfRangeError
    return np.sum(x * x)


def types_asked(x: Any) -> Any:
    return np.sum(x) * (2 if type(x) is np.ndarray else 1) * (3 if isinstance(x, np.ndarray) else 1) * callable(sum)


def texts(x: Any) -> Any:
    key = "-".join(["A".lower(), str(len(x)), f"{x.shape[0]:>3}".strip(), "{}%d".format("b") % 3, repr(x.dtype)])
    return np.sum(x) * {"a-5-5-b3-dtype('float64')": 3.0}[key] * len(frozenset("aab"))


def whole_numbers(x: Any) -> Any:
    return np.sum(x) * int(np.floor(np.max(x))) + x[round(np.abs(x[0]))] * math.ceil(np.sum(x) - 3.5)


def iterators(x: Any) -> Any:
    it = iter(x)
    total = next(it) + next(it, 0.0)
    total = total + sum(a * b for a, b in itertools.combinations(x, 2)) + sum(itertools.accumulate(x, operator.mul))
    total = total + sum(itertools.chain.from_iterable([x, x])) + sum(itertools.islice(x, 1, 4))
    total = total + sum(a * b for a, b in zip(x, itertools.cycle([1.0, -1.0]), strict=False))
    total = total + sum(itertools.takewhile(lambda v: v > 0, x)) + sum(a * b for a, b in itertools.pairwise(x))
    return total + functools.reduce(
        operator.add, (k * sum(x[i] for i in g) for k, g in itertools.groupby(range(4), bool))
    )


def containers(x: Any) -> Any:
    queue = collections.deque(x, maxlen=3)
    queue.appendleft(x[0] * 2)
    table: Any = collections.defaultdict(list)
    for k, v in enumerate(x, 1):
        table[k % 2].append(v * k)
    counted, ordered = collections.Counter("abca"), collections.OrderedDict(a=x[0], b=x[1])
    ordered.move_to_end("a")
    heap: list[Any] = []
    for k in range(4):
        heapq.heappush(heap, (-k, x[k]))
    place = bisect.bisect([0.0, 0.5, 1.0], x[1])
    return queue.popleft() + sum(table[1]) * counted["a"] + ordered["a"] * heapq.heappop(heap)[1] + x[place]


def remembered(x: Any) -> Any:
    @functools.lru_cache(None)
    def fib(n: int) -> Any:
        return x[n] if n < 2 else fib(n - 1) + fib(n - 2) * x[n % 5]

    return fib(7)


def sent(x: Any) -> Any:
    def totals() -> Any:
        total = 0.0
        while True:
            total = total + (yield total)

    running = totals()
    next(running)
    return [running.send(v * v) for v in x][-1]


FUNCTIONS = [
    objects, patterns, a_position, tuples, by_name, imports, raises, types_asked, texts, whole_numbers, iterators,
    containers, remembered, sent,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
def test_replayed(function: Callable[[Any], Any]) -> None:
    fast, traced = sd.value_and_grad(function), sd.value_and_grad(function)
    for k in range(16):
        x = (X if k < 12 else -X) * (1 + k / 512)
        with sd.config(replay="never"):
            expected = traced(x)
        for got, want in zip(fast(x), expected, strict=True):
            np.testing.assert_array_equal(got, want)
        if k == 8:
            assert fast.cache_info().replayed >= 4, fast.explain(x)


def either_way(x: Any, c: Any) -> Any:
    return np.sum(x) * (2.0 if hasattr(c, "numpy") else 3.0)


def any_name(x: Any, name: str = "ndim") -> Any:
    return np.sum(x) * getattr(x, name)


def a_number_matched(x: Any, c: Any) -> Any:
    match c:
        case float():
            return np.sum(x) * 2
    return np.sum(x)


def random_by_import(x: Any) -> Any:
    import numpy.random as r

    return np.sum(x * r.rand(5))


def random_from_import(x: Any) -> Any:
    from numpy import random

    return np.sum(x * random.rand(5))


class FailingError(Exception):
    def __init__(self) -> None:
        helpers.calls.append(1)


helpers = types.SimpleNamespace(calls=[])


def raises_with_an_effect(x: Any) -> Any:
    try:
        raise FailingError
    except FailingError:
        return np.sum(x)


def text_with_an_effect(x: Any) -> Any:
    return np.sum(x) * len(f"{Telling()}")


class Telling:
    def __repr__(self) -> str:
        helpers.calls.append(1)
        return "x"


def made_with_an_effect(x: Any) -> Any:
    return np.sum(x) * type(counting)().scale


class Counting:
    scale = 2.0

    def __init__(self) -> None:
        helpers.calls.append(1)


counting = Counting()


@pytest.mark.parametrize(
    ("function", "arguments", "reason"),
    [
        (either_way, (X,), "hasattr() asks for .numpy, which is not the same"),
        (any_name, (), "getattr() is not called with a name that can be told"),
        (a_number_matched, (0.5,), "matches a class"),
        (random_by_import, (), "numpy.random is the module numpy.random"),
        (random_from_import, (), "random is the module numpy.random"),
        (raises_with_an_effect, (), "FailingError"),
        (text_with_an_effect, (), "helpers is changed, which is seen outside"),
        (made_with_an_effect, (), "helpers.calls is changed, which is seen outside"),
    ],
)
def test_traced_with_the_reason(function: Callable[..., Any], arguments: tuple[Any, ...], reason: str) -> None:
    fast = sd.grad(function)
    for _ in range(5):
        fast(X, *arguments)
    assert fast.cache_info().replayed == 0
    assert reason in fast.explain(X, *arguments)


# ------------------------------------------------------------------------------------------------ changed between calls


def _new_base_method(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Shape, "area", lambda self: self.size * 5)


def _new_tuple_method(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Named, "product", lambda self: self.first * 7)


def _other_positions(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Pair, "__match_args__", ("second", "first"))


def _other_import(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(np, "tanh", np.sinh)


def _other_repr(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Shape, "__repr__", lambda self: "x")


@pytest.mark.parametrize(
    ("function", "change"),
    [
        (objects, _new_base_method),
        (objects, _other_repr),
        (tuples, _new_tuple_method),
        (a_position, _other_positions),
        (imports, _other_import),
    ],
)
def test_a_change_is_seen(function: Callable[[Any], Any], change: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fast, traced = sd.value_and_grad(function), sd.value_and_grad(function)
    for _ in range(5):
        before = fast(X)
    assert fast.cache_info().replayed
    change(monkeypatch)
    with sd.config(replay="never"):
        expected = traced(X)
    assert not np.array_equal(before[0], expected[0])
    for _ in range(4):
        for got, want in zip(fast(X), expected, strict=True):
            np.testing.assert_array_equal(got, want)


def test_the_type_of_a_number_that_changes() -> None:
    def f(x: Any, c: Any) -> Any:
        return np.sum(x) * c if isinstance(c, float) and type(c) is float else np.sum(x * x)

    fast = sd.grad(f)
    for k in range(10):
        np.testing.assert_array_equal(fast(X, 0.5 + k), np.full(5, 0.5 + k))
    for _ in range(4):
        np.testing.assert_array_equal(fast(X, 3), 2 * X)
    assert fast.cache_info().replayed
