"""The proof: what is accepted, and its neighbours that are refused, with the reason and the place.

PYTEST_DONT_REWRITE: the functions are to be what is written.
"""
# ruff: noqa: UP028, RUF034, NPY002, T201 - what is better not written stands here to be refused

from __future__ import annotations

import collections
import functools
import itertools
import math
import operator
import random
import time
import typing
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff.replay.allowed import INSTRUCTIONS
from srcdiff.replay.findings import RefusedError
from srcdiff.replay.purity import examine

G = 1.5
A = np.array([0.5, 1.5])
LARGE = np.zeros(5_000)
OBJECTS = np.array([None, 1], dtype=object)
LOG: list[Any] = []
PAIR = (1, (2.0, A))
TENSOR = sd.tensor([1.0, 2.0])
Point = collections.namedtuple("Point", "x y")


class Typed(typing.NamedTuple):
    x: float
    y: float = 2.0


class Clever(typing.NamedTuple):
    x: float

    def mean(self) -> float:
        return time.time()


class Sub(Point):
    pass


class Doctored(np.float64):
    pass


def helper(x: Any, b: Any = 0.5, *, c: Any = A) -> Any:
    return x * b + c


def impure(x: Any) -> Any:
    LOG.append(x)
    return x


def with_attribute(x: Any) -> Any:
    return x


with_attribute.size = 2  # type: ignore[attr-defined]
python_ufunc = np.frompyfunc(lambda v: v, 1, 1)
inner_gradient = sd.grad(lambda v: np.sum(v * v))
doctored = Doctored(2.0)


# ------------------------------------------------------------------------------------------------------------- accepted


def constants(x: Any) -> Any:
    return np.sum(x * G * A + PAIR[0]) + math.pi


def calls(x: Any) -> Any:
    return np.sum(helper(x, b=2) + functools.reduce(operator.add, [x, x]) + sum(map(np.sin, [x])))


def control(x: Any) -> Any:
    total = 0.0
    for i, v in enumerate(x):
        while total < 3 and not v > 2:
            total += v * i + 1.0
            if total is None:
                break
        else:
            continue
    return total


def containers(x: Any) -> Any:
    parts = [v for v in x if v > 0]
    table = {"a": x, "b": 2}
    parts.append(x[0])
    table["c"] = table.pop("a")
    return sum(parts) + np.sum(table["c"])


def functions(x: Any) -> Any:
    def recursive(n: int) -> Any:
        return x if n == 0 else recursive(n - 1) * 2

    scale = [lambda v, i=i: v * i for i in range(3)]
    return np.sum(recursive(3) + scale[1](x) + sum(v for v in x))


def generators(x: Any) -> Any:
    def each() -> Any:
        for v in x:
            yield v
        yield from x

    return sum(each())


def nonlocals(x: Any) -> Any:
    count = 0

    def step() -> Any:
        nonlocal count
        count += 1
        return x * count

    return np.sum(step() + step())


def matches(x: Any, kind: Any = (1, 2)) -> Any:
    match kind:
        case (1, *_):
            return np.sum(x)
        case {"a": b}:
            return b
        case _:
            raise ValueError(f"{kind} is none of {1:>3}")


def records(x: Any) -> Any:
    p = Point(x, 2.0)._replace(y=3.0)
    return np.sum(p.x * p.y * Typed(1.0).y)


def raises(x: Any) -> Any:
    assert x.shape == (2,), "two"
    if len(x) > 5:
        raise RuntimeError
    return np.sum(x)


def tools(x: Any) -> Any:
    part = functools.partial(helper, b=2.0)
    return np.sum(sum(part(a) for a, _ in itertools.product(x, [1, 2])))


def constructed(x: Any) -> Any:
    out = np.zeros_like(x)
    out[0] = x[0]
    out += np.array([1.0, G])
    return np.sum(out @ np.eye(2)) + np.linalg.norm(x)


def nested(x: Any) -> Any:
    return np.sum(inner_gradient(x) + sd.grad(lambda v: np.sum(v))(x))


ACCEPTED = [
    constants,
    calls,
    control,
    containers,
    functions,
    generators,
    nonlocals,
    matches,
    records,
    raises,
    tools,
    constructed,
    nested,
]


@pytest.mark.parametrize("function", ACCEPTED)
def test_accepted(function: Callable[..., Any]) -> None:
    examine(function)


@pytest.mark.parametrize("function", ACCEPTED)
def test_accepted_functions_are_replayed_or_the_recorder_says_why(function: Callable[..., Any]) -> None:
    with sd.config(replay="auto"):
        step = sd.value_and_grad(function)
        plain = sd.value_and_grad(function)
        for k in range(5):
            x = np.array([0.5, 1.25]) + k / 16
            value, gradient = step(x)
            with sd.config(replay="never"):
                expected = plain(x)
            np.testing.assert_allclose(value, expected[0], rtol=1e-14)
            np.testing.assert_allclose(gradient, expected[1], rtol=1e-14)
        assert step.cache_info().replayed == 2, step._player.refused or step._player.failures


# -------------------------------------------------------------------------------------------------------------- refused


def appends_outside(x: Any) -> Any:
    LOG.append(1)
    return np.sum(x)


def writes_a_global(x: Any) -> Any:
    global G
    G = 1.5
    return np.sum(x)


def imports(x: Any) -> Any:
    import json

    return np.sum(x) + len(json.dumps(1))


def defines_a_class(x: Any) -> Any:
    class Local:
        pass

    return np.sum(x) + len(Local.__name__)


def sets_an_attribute(x: Any) -> Any:
    helper.count = 1  # type: ignore[attr-defined]
    return np.sum(x)


def reads_a_functions_attribute(x: Any) -> Any:
    return np.sum(x) * with_attribute.size  # type: ignore[attr-defined]


def asks_for_identity(x: Any) -> Any:
    y = x
    return np.sum(x) if y is x else 0.0


def identity_of_either(x: Any, flag: Any = None) -> Any:
    return np.sum(x) if x is (x if flag else None) else np.sum(x)


def draws(x: Any) -> Any:
    return np.sum(x) * np.random.rand()


def draws_plainly(x: Any) -> Any:
    return np.sum(x) * random.random()


def tells_the_time(x: Any) -> Any:
    return np.sum(x) * time.time()


def prints(x: Any) -> Any:
    print(end="")
    return np.sum(x)


def evaluates(x: Any) -> Any:
    return eval("np.sum(x)")


def uses_a_large_array(x: Any) -> Any:
    return np.sum(x) + np.sum(LARGE)


def uses_objects(x: Any) -> Any:
    return np.sum(x) + len(OBJECTS)


def uses_a_tensor(x: Any) -> Any:
    return np.sum(x * TENSOR)


def calls_impure(x: Any) -> Any:
    return np.sum(impure(x))


def calls_a_ufunc_of_python(x: Any) -> Any:
    return np.sum(x) + python_ufunc(np.arange(2)).sum()


def uses_a_clever_tuple(x: Any) -> Any:
    return np.sum(x) * Clever(2.0).mean()


def uses_a_subclass(x: Any) -> Any:
    return np.sum(x) * Sub(1, 2).x


def uses_a_doctored_number(x: Any) -> Any:
    return np.sum(x) * doctored


def looks_up(x: Any) -> Any:
    return np.sum(x) * len(globals())


def undefined(x: Any) -> Any:
    return np.sum(x) * nowhere  # type: ignore[name-defined] # noqa: F821


async def waits(x: Any) -> Any:
    return x


REFUSED = {
    writes_a_global: "writes a global",
    imports: "json is the module json",
    defines_a_class: "defines a class",
    sets_an_attribute: "writes an attribute",
    reads_a_functions_attribute: ".size",
    asks_for_identity: "compares identities",
    identity_of_either: "compares identities",
    draws: ".random",
    draws_plainly: "random.random is not known",
    tells_the_time: "time.time is not known",
    prints: "print()",
    evaluates: "eval()",
    uses_a_large_array: "large array",
    uses_objects: "array of object",
    uses_a_tensor: "Tensor",
    calls_a_ufunc_of_python: "python_ufunc is not known",
    uses_a_clever_tuple: "time.time is not known",
    uses_a_subclass: "Sub",
    uses_a_doctored_number: "Doctored",
    looks_up: "globals()",
    undefined: "nowhere",
    waits: "asynchronous",
}


@pytest.mark.parametrize("function", list(REFUSED))
def test_refused_with_reason_and_place(function: Callable[..., Any]) -> None:
    with pytest.raises(RefusedError, match=r"^test_purity\.py:\d+: ") as caught:
        examine(function)
    assert REFUSED[function] in str(caught.value)


def test_a_container_from_outside_is_read_with_its_parts() -> None:
    holder = [1.0]
    findings = examine(lambda x: np.sum(x) * holder[0])
    assert [(read.kind, read.value) for read in findings.reads if read.holder is holder] == [("content", (1.0,))]


def test_a_container_from_outside_with_something_unknown() -> None:
    holder = [bytearray()]
    with pytest.raises(RefusedError, match=r"the variable holder is a builtins\.bytearray"):
        examine(lambda x: np.sum(x) * len(holder))


def test_a_write_to_an_outer_variable() -> None:
    count = 0

    def counts(x: Any) -> Any:
        nonlocal count
        count += 1
        return np.sum(x)

    with pytest.raises(RefusedError, match="writes the outer variable count"):
        examine(counts)


def test_an_outer_variable_without_a_value() -> None:
    def early(x: Any) -> Any:
        return np.sum(x) * later

    with pytest.raises(RefusedError, match="has no value yet"):
        examine(early)
    later = 2.0


def keeps(x: Any, seen: Any = []) -> Any:  # noqa: B006
    seen.append(1)
    return np.sum(x) + len(seen)


@pytest.mark.parametrize("function", [appends_outside, calls_impure, keeps])
def test_what_is_changed_outside_is_found_by_recording(function: Callable[..., Any]) -> None:
    LOG.clear()
    with sd.config(replay="auto"):
        fast = sd.grad(function)
        for k in range(1, 5):
            fast(np.ones(2))
            assert len(LOG if function is not keeps else keeps.__defaults__[0]) == k  # type: ignore[index]
        assert fast.cache_info().replayed == 0
        assert any(reason in fast.explain(np.ones(2)) for reason in ("is changed, which is seen outside", "LOG is a"))
    LOG.clear()
    keeps.__defaults__[0].clear()  # type: ignore[index]


def test_builtins_of_its_own() -> None:
    space = {"np": np, "__builtins__": {"len": lambda x: 7}}
    exec("def f(x): return np.sum(x) * len(x)", space)
    with pytest.raises(RefusedError, match="builtins of its own"):
        examine(space["f"])  # type: ignore[arg-type]


def test_a_replaced_builtin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builtins.divmod", lambda a, b: (a, b))
    with pytest.raises(RefusedError, match="builtin divmod is not what it was"):
        examine(lambda x: np.sum(x) * divmod(5, 2)[0])


def test_a_replaced_numpy_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np, "sin", impure)
    with pytest.raises(RefusedError, match=r"numpy\.sin is not what it was"):
        examine(lambda x: np.sum(np.sin(x)))


def test_every_instruction_is_listed_or_refused() -> None:
    import dis

    dangerous = {
        "STORE_GLOBAL",
        "STORE_ATTR",
        "STORE_NAME",
        "IMPORT_NAME",
        "LOAD_BUILD_CLASS",
        "IS_OP",
        "LOAD_NAME",
        "DELETE_GLOBAL",
        "DELETE_DEREF",
        "MATCH_CLASS",
        "CALL_INTRINSIC_2",
    }
    assert not dangerous & INSTRUCTIONS
    assert {"LOAD_FAST", "BINARY_OP", "CALL", "RETURN_VALUE"} <= INSTRUCTIONS & set(dis.opmap)
