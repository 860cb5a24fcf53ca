"""What holds the functions, numbers and arrays of a program: namespaces, records, instances with slots, containers.

Whatever happens to it between calls, a replay gives what tracing gives.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

import srcdiff as sd

X = np.array([0.5, -1.0, 2.0])


def bend(x: Any) -> Any:
    return np.tanh(x)


def wave(x: Any) -> Any:
    return np.sin(x)


def calls_alike(function: Callable[..., Any], *args: Any, replays: bool = True) -> Callable[[], None]:
    """Has the gradient of a function replayed, and gives what compares one more call with tracing."""
    fast = sd.grad(function)
    for _ in range(6):
        fast(*args)
    assert (fast.cache_info().replayed > 0) is replays, fast.explain(*args)

    def compare() -> None:
        for _ in range(4):  # a new entry, if there is to be one, is recorded and used
            with sd.config(replay="never"):
                expected = sd.grad(function)(*args)
            np.testing.assert_array_equal(fast(*args), expected)

    compare()
    return compare


# ------------------------------------------------------------------------------------------------------- attributes


class Plain:
    def __init__(self, f: Any, k: Any, w: Any) -> None:
        self.f, self.k, self.w = f, k, w


class Slotted:
    __slots__ = ("f", "k", "w")

    def __init__(self, f: Any, k: Any, w: Any) -> None:
        self.f, self.k, self.w = f, k, w


class Inheriting(Slotted):
    """Slots, and a dict."""


class Renamed:
    __slots__ = ("_k", "f", "w")

    def __init__(self, f: Any, k: Any, w: Any) -> None:
        self.f, self._k, self.w = f, k, w

    @property
    def k(self) -> Any:
        return self._k

    @k.setter
    def k(self, value: Any) -> None:
        self._k = value


@dataclasses.dataclass
class Record:
    f: Any
    k: Any
    w: Any


@dataclasses.dataclass(slots=True)
class SlottedRecord:
    f: Any
    k: Any
    w: Any


@dataclasses.dataclass(frozen=True, slots=True)
class FrozenRecord:
    f: Any
    k: Any
    w: Any


class Named(NamedTuple):
    f: Any
    k: Any
    w: Any

    def applied(self, x: Any) -> Any:
        return self.f(x) * self.k


Short = namedtuple("Short", "f k w")
HOLDERS: list[Callable[..., Any]] = [
    Plain, Slotted, Inheriting, Renamed, Record, SlottedRecord, FrozenRecord, Named, Short,
    SimpleNamespace, argparse.Namespace,
]  # fmt: skip

held: Any = None


def changed(holder: Any, name: str, value: Any) -> Any:
    """The holder with another value there: itself, unless it is a named tuple."""
    if isinstance(holder, tuple):
        return holder._replace(**{name: value})
    object.__setattr__(holder, name, value)
    return holder


def of_global(x: Any) -> Any:
    return np.sum(held.f(x) * held.k * held.w)


class Owner:
    def __init__(self, part: Any) -> None:
        self.part = part

    def loss(self, x: Any) -> Any:
        return np.sum(self.part.f(x) * self.part.k * self.part.w)


CHANGES: list[tuple[str, Any]] = [
    ("k", 3.0), ("k", -0.0), ("k", 3), ("k", True), ("f", wave), ("f", np.cos),
    ("w", np.array([1.0, 0.0, -2.0])), ("w", 2.0),
]  # fmt: skip


@pytest.mark.parametrize("make", HOLDERS)
@pytest.mark.parametrize(("name", "value"), CHANGES, ids=[f"{name}={value}" for name, value in CHANGES])
def test_what_a_holder_has_is_looked_at_on_every_call(
    make: Callable[..., Any], name: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "held", make(f=bend, k=2.0, w=np.array([1.0, 2.0, 3.0])))
    compare = calls_alike(of_global, X)
    globals()["held"] = changed(held, name, value)
    compare()


@pytest.mark.parametrize("make", HOLDERS)
def test_arrays_in_a_holder_are_compared(make: Callable[..., Any]) -> None:
    weights = np.array([1.0, 2.0, 3.0])
    owner = Owner(make(f=bend, k=2.0, w=weights))
    compare = calls_alike(owner.loss, X)
    weights[1] = 5.0
    compare()
    owner.part = make(f=bend, k=7.0, w=weights)
    compare()


@pytest.mark.parametrize("make", [each for each in HOLDERS if each not in (Named, Short, FrozenRecord)])
def test_a_missing_attribute_is_missed(make: Callable[..., Any]) -> None:
    part = make(f=bend, k=2.0, w=np.ones(3))

    def loss(x: Any) -> Any:
        return np.sum(part.f(x)) * (part.k if hasattr(part, "k") else 10.0)

    compare = calls_alike(loss, X)
    delattr(part, "_k" if make is Renamed else "k")
    compare()
    part.k = 4.0
    compare()


@pytest.mark.parametrize("make", [each for each in HOLDERS if each not in (Named, Short, Record, SlottedRecord)])
def test_a_holder_may_be_an_argument(make: Callable[..., Any]) -> None:
    def loss(x: Any, part: Any) -> Any:
        return np.sum(part.f(x) * part.k * part.w)

    fast = sd.grad(loss)
    parts = [make(f=f, k=k, w=np.full(3, k)) for f, k in ((bend, 2.0), (wave, 3.0))]
    for _ in range(8):
        for part in parts:
            with sd.config(replay="never"):
                expected = sd.grad(loss)(X, part)
            np.testing.assert_array_equal(fast(X, part), expected)
    assert fast.cache_info().replayed >= 8
    for k in (4.0, 5.0):
        object.__setattr__(parts[0], "_k" if make is Renamed else "k", k)
        with sd.config(replay="never"):
            expected = sd.grad(loss)(X, parts[0])
        np.testing.assert_array_equal(fast(X, parts[0]), expected)


def test_methods_of_named_tuples() -> None:
    named = Named(bend, 2.0, np.ones(3))

    def loss(x: Any) -> Any:
        return np.sum(named.applied(x))

    def given(x: Any, part: Any) -> Any:
        return np.sum(part.applied(x) * part.w)

    calls_alike(loss, X)()
    calls_alike(given, X, Named(wave, 2.0, np.arange(3.0)))()


def test_a_property_decides_before_the_dict_of_an_instance() -> None:
    class Shadowed:
        def __init__(self) -> None:
            self.__dict__["k"] = 7.0
            self.inner = 2.0

        @property
        def k(self) -> float:
            return self.inner * 10

    shadowed = Shadowed()
    compare = calls_alike(lambda x: np.sum(x * shadowed.k), X)
    shadowed.inner = 5.0
    compare()


def test_instances_with_slots_are_made_inside() -> None:
    def loss(x: Any) -> Any:
        state = SlottedRecord(bend, 1.0, x)
        for _ in range(3):
            state = dataclasses.replace(state, w=state.f(state.w) * 2.0)
        mine = Slotted(wave, 2.0, state.w)
        return np.sum(mine.f(mine.w) * mine.k)

    calls_alike(loss, X)()


def test_what_more_than_slots_does_is_traced() -> None:
    class Listed(list):  # type: ignore[type-arg]
        __slots__ = ("k",)

    class Answering:
        __slots__ = ("k",)

        def __getattr__(self, name: str) -> float:
            return 2.0

    listed, answering = Listed(), Answering()
    listed.k = 2.0
    calls_alike(lambda x: np.sum(x * listed.k), X, replays=False)
    calls_alike(lambda x: np.sum(x * answering.other), X, replays=False)


# ------------------------------------------------------------------------------- read though no attribute is named


@dataclasses.dataclass
class Choice:
    size: float
    mode: str


@dataclasses.dataclass(order=True, slots=True)
class Ranked:
    size: float
    mode: str


UNNAMED: dict[str, Callable[[Any, Any, Any], Any]] = {
    "equal": lambda x, a, b: np.sum(x * x) if a == b else np.sum(x),
    "unequal": lambda x, a, b: np.sum(x * x) if a != b else np.sum(x),
    "in a list": lambda x, a, b: np.sum(x * x) if a in [b] else np.sum(x),
    "in a tuple": lambda x, a, b: np.sum(x) * (b, b, a).index(a),
    "counted": lambda x, a, b: np.sum(x) * [a, b].count(b),
    "in containers": lambda x, a, b: np.sum(x * x) if {"p": a} == {"p": b} else np.sum(x),
    "as text": lambda x, a, b: np.sum(x) * len(f"{a}{b!r}"),
    "in %": lambda x, a, b: np.sum(x) * len("%s and %s" % (a, b)),  # noqa: UP031
}


@pytest.mark.parametrize("how", UNNAMED)
@pytest.mark.parametrize("make", [Choice, Ranked, SimpleNamespace, argparse.Namespace])
def test_instances_that_are_compared_or_shown_are_looked_at_as_a_whole(make: Callable[..., Any], how: str) -> None:
    first, second = make(size=1.0, mode="a"), make(size=1.0, mode="a")
    read = UNNAMED[how]
    compare = calls_alike(lambda x: read(x, first, second), X)
    second.mode = "other"
    compare()
    second.mode, first.size = "a", 12.5
    compare()


@pytest.mark.parametrize("mode", ["a", "c"])
def test_the_order_of_records(mode: str) -> None:
    first, second = Ranked(1.5, "b"), Ranked(1.0, mode)
    compare = calls_alike(lambda x: np.sum(x) * max(first, second).size, X)
    second.size = 2.0
    compare()
    first.size, first.mode = 2.0, "z"
    compare()


def test_records_that_are_copied_with_a_change() -> None:
    known = Choice(2.0, "ab")
    compare = calls_alike(lambda x: np.sum(x) * dataclasses.replace(known, mode="abc").size, X)
    known.size = 3.0
    compare()


def test_names_in_a_namespace() -> None:
    options = argparse.Namespace(rate=2.0)
    compare = calls_alike(lambda x: np.sum(x) * (3.0 if "decay" in options else options.rate), X)
    options.decay = 1.0
    compare()


# ------------------------------------------------------------------------------------------------------- containers

CONTAINERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "dict": dict,
    "ordered": OrderedDict,
    "default": lambda content: defaultdict(float, content),
    "proxy": MappingProxyType,
    "deque": lambda content: deque(content.values()),
}


@pytest.mark.parametrize("kind", CONTAINERS)
def test_containers_are_looked_at_part_by_part(kind: str) -> None:
    weights = np.ones(3)
    content = {"f": bend, "k": 2.0, "w": weights}
    container = CONTAINERS[kind](content)
    changing = content if kind == "proxy" else container
    keys = dict(zip(content, range(3) if kind == "deque" else content, strict=True))

    def loss(x: Any) -> Any:
        return np.sum(container[keys["f"]](x) * container[keys["k"]] * container[keys["w"]])

    compare = calls_alike(loss, X)
    changing[keys["k"]] = 3.0
    compare()
    changing[keys["f"]] = wave
    compare()
    weights[0] = 9.0
    compare()


def test_order_and_length_of_containers() -> None:
    ordered = OrderedDict(a=2.0, b=3.0)
    queue = deque([2.0, 3.0], maxlen=3)

    def loss(x: Any) -> Any:
        total = 0.0
        for k, (_, value) in enumerate(ordered.items()):
            total = total + np.sum(x ** (k + 1)) * value
        return total + np.sum(x) * sum(queue)

    compare = calls_alike(loss, X)
    ordered.move_to_end("a")
    compare()
    queue.append(7.0)
    compare()
    queue.append(8.0)
    compare()


def test_a_default_that_would_be_put_in_is_an_effect() -> None:
    counts: Any = defaultdict(float)

    def loss(x: Any) -> Any:
        return np.sum(x) * (counts["new"] + 2.0)

    fast = sd.grad(loss)
    fast(X)
    assert list(counts) == ["new"]
    for _ in range(6):
        del counts["new"]
        fast(X)
        assert list(counts) == ["new"]


def test_ordered_dicts_of_parameters() -> None:
    params = OrderedDict(w=np.ones(3), b=np.zeros(3))

    def loss(params: Any, x: Any) -> Any:
        return np.sum((params["w"] * x + params["b"]) ** 2)

    fast = sd.grad(loss)
    for _ in range(6):
        gradient = fast(params, X)
        assert type(gradient) is OrderedDict
        assert list(gradient) == ["w", "b"]
        np.testing.assert_array_equal(gradient["b"], 2 * X)
    assert fast.cache_info().replayed == 3
    params.move_to_end("w")
    assert list(fast(params, X)) == ["b", "w"]
    assert type(fast({"w": np.ones(3), "b": np.zeros(3)}, X)) is dict


# -------------------------------------------------------------------------------------------------- fixed arguments


class Layer:
    def __init__(self, scale: float) -> None:
        self.scale = scale

    def applied(self, x: Any) -> Any:
        return np.sin(x) * self.scale

    def __call__(self, x: Any) -> Any:
        return np.cos(x) * self.scale


FIXED: list[tuple[Callable[[Any, Any], Any], Callable[[], Any]]] = [
    (lambda x, f: np.sum(f(x)), lambda: lambda z: z * z),
    (lambda x, f: np.sum(f(x)), lambda: Layer(2.0)),
    (lambda x, f: np.sum(f(x)), lambda: np.tanh),
    (lambda x, f: f(x * x), lambda: np.mean),
    (lambda x, f: np.sum(f(x)), lambda: functools.partial(np.multiply, 3.0)),
    (lambda x, d: np.sum(x.astype(d) * x), lambda: np.float32),
    (lambda x, d: np.sum(x.astype(d) * x), lambda: np.dtype("f4")),
    (lambda x, s: np.sum(x[s] ** 2), lambda: slice(1, 3)),
    (lambda x, s: np.sum(x[s] ** 2), lambda: slice(None, None, -2)),
    (lambda x, s: np.sum(x[s] ** 2), lambda: ...),
    (lambda x, r: np.sum(x) * sum(r), lambda: range(1, 4)),
    (lambda x, c: np.sum(c(2.0)(x)), lambda: Layer),
    (lambda x, fs: np.sum(fs[0](x) + fs[1](x)), lambda: [np.sin, bend]),
]


@pytest.mark.parametrize(("function", "make"), FIXED)
def test_functions_classes_and_stretches_as_arguments(function: Callable[..., Any], make: Callable[[], Any]) -> None:
    argument = make()
    calls_alike(function, X, argument)()


def test_bound_methods_as_arguments() -> None:
    def loss(x: Any, f: Any) -> Any:
        return np.sum(f(x))

    fast = sd.grad(loss)
    layers = [Layer(2.0), Layer(3.0)]
    for scale in (1.0, 4.0):
        for _ in range(4):
            for layer in layers:
                np.testing.assert_array_equal(fast(X, layer.applied), np.cos(X) * layer.scale)
        layers[0].scale = scale
    np.testing.assert_array_equal(fast(X, layers[0].applied), np.cos(X) * 4.0)
    assert fast.cache_info().replayed > 0


def test_a_function_made_anew_for_each_call_is_the_same_one() -> None:
    def loss(x: Any, f: Any) -> Any:
        return np.sum(f(x))

    fast = sd.grad(loss)
    for _ in range(10):
        np.testing.assert_array_equal(fast(X, lambda z: 3.0 * z), np.full(3, 3.0))
    assert fast.cache_info().replayed == 7
    np.testing.assert_array_equal(fast(X, lambda z: 2.0 * z), np.full(3, 2.0))


@pytest.mark.parametrize("how", ["cell", "default", "keyword", "attribute"])
def test_but_not_with_values_of_its_own(how: str) -> None:
    def loss(x: Any, f: Any) -> Any:
        return np.sum(f(x))

    def made(value: float) -> Any:
        if how == "cell":
            return lambda z: value * z
        if how == "default":
            return lambda z, value=value: value * z
        if how == "keyword":
            return lambda z, *, value=value: value * z

        def marked(z: Any) -> Any:
            return marked.__dict__["value"] * z

        marked.value = value  # type: ignore[attr-defined]
        return marked

    fast = sd.grad(loss)
    for k in range(40):
        np.testing.assert_array_equal(fast(X, made(float(k))), np.full(3, float(k)))
    assert fast.cache_info().entries <= 12  # one that never comes back is not recorded forever


# ------------------------------------------------------------------------------------------------ attributes of steps


class Holder:
    data: Any = None


class Setting:
    seen: Any = None

    @property
    def data(self) -> Any:
        return self.seen

    @data.setter
    def data(self, value: Any) -> None:
        self.seen = value


class SlottedHolder:
    __slots__ = ("data",)


@dataclasses.dataclass
class Batch:
    x: Any


def emptied() -> Any:
    return SimpleNamespace()


class Tracking(sd.nn.Module):
    def forward(self, x: Any) -> Any:
        return x


@pytest.mark.parametrize("make", [Holder, Setting, SlottedHolder, emptied, Tracking])
def test_data_of_what_is_no_tensor_is_stored_by_every_call(make: Callable[[], Any]) -> None:
    weight, holder = sd.tensor([1.0, 2.0], requires_grad=True), make()

    @sd.compile
    def step(x: Any) -> Any:
        loss = (weight * x).sum()
        loss.backward()
        weight.grad = None
        holder.data = loss.detach()
        return loss.detach()

    for k in range(7):
        step(sd.tensor([float(k), 1.0]))
        assert holder.data.item() == k + 2.0


def test_data_of_a_record_that_is_given_is_stored_by_every_call() -> None:
    weight = sd.tensor([1.0, 2.0], requires_grad=True)

    @sd.compile
    def step(batch: Any) -> Any:
        loss = (weight * batch.x).sum()
        loss.backward()
        weight.grad = None
        batch.data = 3
        return loss.detach()

    for k in range(7):
        batch = Batch(sd.tensor([float(k), 1.0]))
        assert step(batch).item() == k + 2.0
        assert batch.data == 3  # type: ignore[attr-defined]


def test_steps_read_holders() -> None:
    weight = sd.tensor([1.0, 2.0], requires_grad=True, dtype=sd.float64)
    options = SimpleNamespace(rate=0.5, model=weight)

    @sd.compile
    def step(x: Any, chosen: Any) -> Any:
        loss = (options.model * x * chosen.k).sum()
        loss.backward()
        with sd.no_grad():
            model = options.model
            model -= options.rate * model.grad
        model.grad = None
        return loss.detach()

    chosen = Slotted(None, 2.0, None)
    value = np.array([1.0, 2.0])
    for k in range(12):
        options.rate, chosen.k = 0.5 / (k + 1), 2.0 + (k > 7)
        x = np.array([1.0, float(k)])
        assert step(sd.tensor(x), chosen).item() == pytest.approx(float(np.sum(value * x) * chosen.k), rel=1e-12)
        value = value - options.rate * x * chosen.k
        np.testing.assert_allclose(weight.detach().numpy(), value, rtol=1e-12)
    assert step.cache_info().replayed > 0
