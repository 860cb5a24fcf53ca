"""Functions made of others, by srcdiff or `functools`, and objects that are called: alone and in one another."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import srcdiff as sd

X = np.array([0.5, -1.0, 2.0])


@pytest.fixture(autouse=True)
def automatic() -> Iterator[None]:
    """Replays are on."""
    with sd.config(replay="auto"):
        yield


def loss(x: Any) -> Any:
    return np.sum(np.tanh(x) * x)


both = sd.value_and_grad(loss)
slope = sd.grad(loss)


def constant(x: Any) -> Any:
    return sd.grad(lambda y: 3.0)(x)


#: steps of one array: they give arrays, and are replayed
STEPS: list[Callable[[Any], Any]] = [
    lambda x: both(x),
    lambda x: slope(x),
    lambda x: x - 0.1 * slope(x),
    lambda x: (slope(x), {"value": both(x)[0] * 2.0}),
    lambda x: slope(x - 0.1 * slope(x)),
    lambda x: sd.grad(lambda y: np.sum(slope(y) ** 2))(x),
    lambda x: slope(x)[0] * x,
    constant,
]


@pytest.mark.parametrize("step", STEPS, ids=range(len(STEPS)))
def test_gradients_inside_of_steps_are_arrays_on_every_call(step: Callable[[Any], Any]) -> None:
    compiled = sd.compile(step)
    for k in range(8):
        found = compiled(X + k)
        with sd.config(replay="never"):
            expected = step(X + k)
        same(found, expected)
    assert compiled.cache_info().replayed == 5, compiled.explain(X)


def same(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    if isinstance(found, dict):
        found, expected = tuple(found.values()), tuple(expected.values())
    if isinstance(found, tuple):
        for one, other in zip(found, expected, strict=True):
            same(one, other)
        return
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_gradients_inside_with_respect_to_arrays_from_outside() -> None:
    compiled = sd.compile(lambda x: slope(X) * x)
    for k in range(6):
        found = compiled(X + k)
        assert type(found) is np.ndarray
        np.testing.assert_allclose(found, slope(X) * (X + k))


TRANSFORMED: dict[str, Callable[[Any], Any]] = {
    "jacobian": sd.jacobian(np.tanh),
    "by rows": sd.jacrev(np.tanh),
    "by columns": sd.jacfwd(np.tanh),
    "hessian": sd.hessian(loss),
    "tangent": functools.partial(lambda push, x: push((x,), (x,)), sd.jvp(np.tanh)),
    "tangent at once": lambda x: sd.jvp(np.tanh, (x,), (x,)),
    "backward": lambda x: sd.vjp(np.tanh, x)[1](x)[0],
    "with aux": lambda x: sd.value_and_grad(lambda y: (loss(y), y * 2), has_aux=True)(x)[0],
    "gradient of a gradient": sd.grad(lambda x: np.sum(slope(x) ** 2)),
    "compiled": sd.compile(loss),
}


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("name", TRANSFORMED)
def test_transformed_functions_inside_of_steps_give_arrays(name: str, exact: bool) -> None:
    given = TRANSFORMED[name]
    step = sd.compile(lambda x: given(x))
    with sd.config(exact=exact):
        for k in range(6):
            found = step(X + k)
            with sd.config(replay="never"):
                same(found, given(X + k))


def test_gradients_inside_with_respect_to_tensors() -> None:
    w = sd.tensor(X, requires_grad=True)
    compiled = sd.compile(lambda x: (sd.grad(lambda y: (y * y * w).sum())(x), both(x)))
    for k in range(6):
        t = sd.tensor(X + k)
        inner, (value, gradient) = compiled(t)
        assert inner.requires_grad and not value.requires_grad and type(gradient) is sd.Tensor
        np.testing.assert_allclose(inner.detach().numpy(), 2 * (X + k) * X)
        np.testing.assert_allclose(gradient.numpy(), slope(X + k))


# ----------------------------------------------------------------------------------- partials, and objects to be called


def scaled(x: Any, scale: Any, shift: Any = 0.0) -> Any:
    return np.sum(np.tanh(x) * scale + shift)


class Scaled:
    """An instance that is called."""

    def __init__(self, scale: Any) -> None:
        self.scale = scale

    def __call__(self, x: Any) -> Any:
        return np.sum(np.tanh(x) * self.scale)

    def method(self, x: Any) -> Any:
        return self(x) + np.sum(x)


class Inherited(Scaled):
    pass


CALLED: dict[str, Callable[..., Any]] = {
    "partial": functools.partial(scaled, scale=2.0),
    "partial in front": functools.partial(lambda scale, x: scaled(x, scale), np.arange(3.0)),
    "partial of a partial": functools.partial(functools.partial(scaled, scale=2.0), shift=1.0),
    "partial of a method": functools.partial(Scaled(3.0).method),
    "partial of an instance": functools.partial(Scaled(3.0)),
    "instance": Scaled(3.0),
    "instance of a subclass": Inherited(3.0),
    "method": Scaled(3.0).method,
    "compiled": sd.compile(loss),
    "compiled twice": sd.compile(sd.compile(loss)),
    "gradient": sd.grad(lambda x: np.sum(x**3)),
    "jacobian": sd.jacobian(np.tanh),
    "function of NumPy": np.sum,
    "ufunc": np.sin,
}


@pytest.mark.parametrize("inside", [False, True], ids=["itself", "inside"])
@pytest.mark.parametrize("name", CALLED)
def test_what_can_be_called_is_replayed(name: str, inside: bool) -> None:
    given = CALLED[name]

    def scalar(x: Any) -> Any:
        return np.sum(given(x) ** 2)

    function = scalar if inside or name in ("gradient", "jacobian", "ufunc") else given
    step = sd.value_and_grad(function)
    for k in range(8):
        found = step(X + k)
        with sd.config(replay="never"):
            same(found, sd.value_and_grad(function)(X + k))
    assert step.cache_info().replayed == 5, step.explain(X)


def agrees(step: Callable[..., Any], function: Callable[..., Any], times: int = 3) -> None:
    for _ in range(times):
        found = step(X)
        with sd.config(replay="never"):
            same(found, sd.value_and_grad(function)(X))


@pytest.mark.parametrize("inside", [False, True], ids=["itself", "inside"])
def test_a_partial_that_changes(inside: bool) -> None:
    array = np.arange(3.0)
    bound = functools.partial(scaled, scale=array, shift=1.0)
    function = (lambda x: bound(x)) if inside else bound
    step = sd.value_and_grad(function)
    agrees(step, function, 6)
    bound.keywords["shift"] = 2.0
    agrees(step, function)
    array[0] = 5.0
    agrees(step, function)
    bound.keywords["scale"] = array * 2
    agrees(step, function)
    bound.__setstate__((scaled, (), {"scale": 4.0}, None))  # type: ignore[attr-defined]
    agrees(step, function)
    bound.__setstate__((lambda x: np.sum(x), (), {}, None))  # type: ignore[attr-defined]
    agrees(step, function)


def test_numbers_of_a_partial_become_inputs() -> None:
    bound = functools.partial(scaled, scale=1.0, shift=1)
    step = sd.value_and_grad(bound)
    for k in range(20):
        bound.keywords.update(scale=0.5 * k, shift=k)
        agrees(step, bound, 1)
    assert step.cache_info().replayed >= 12


@pytest.mark.parametrize("inside", [False, True], ids=["itself", "inside"])
def test_an_instance_that_changes(inside: bool) -> None:
    class First:
        scale: Any = 2.0

        def __call__(self, x: Any) -> Any:
            return np.sum(x**2) * self.scale

    class Second:
        scale: Any = 2.0

        def __call__(self, x: Any) -> Any:
            return np.sum(x**3)

    thing: Any = First()
    function = (lambda x: thing(x)) if inside else thing
    step = sd.value_and_grad(function)
    agrees(step, function, 6)
    thing.scale = 3.0
    agrees(step, function)
    First.__call__ = lambda self, x: np.sum(x) * self.scale  # type: ignore[method-assign]
    agrees(step, function)
    thing.__class__ = Second
    agrees(step, function)
    Second.__call__ = staticmethod(lambda x: np.sum(np.exp(x)))  # type: ignore[method-assign, assignment]
    agrees(step, function)


def test_effects_of_what_is_called_happen_on_every_call() -> None:
    seen: list[int] = []

    def effect(x: Any) -> Any:
        seen.append(1)
        return x

    class ByPartial:
        __call__ = staticmethod(functools.partial(effect))

    class ByInstance:
        class Inner:
            def __call__(self, x: Any) -> Any:
                return effect(x)

        __call__ = Inner()

    class Static:
        __call__ = staticmethod(effect)

    things: list[Any] = [
        functools.partial(effect), ByPartial(), ByInstance(), Static(), sd.compile(effect), sd.jacobian(effect),
        sd.jacrev(effect), sd.grad(lambda x: np.sum(effect(x))), sd.hessian(lambda x: np.sum(effect(x))),
    ]  # fmt: skip
    for thing in things:
        for make in (sd.value_and_grad, sd.compile):
            step = make(lambda x, thing=thing: (thing(x), np.sum(x**2))[1])
            step(X)
            before, seen[:] = len(seen), []
            for _ in range(8):
                step(X)
            assert len(seen) == 8 * before > 0, thing
            seen.clear()
