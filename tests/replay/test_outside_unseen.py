"""What a differentiated function reads from outside, changed between calls where no attribute that it names is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import srcdiff as sd

X = np.array([1.0, 2.0, 3.0])
#: yields what each call gives; the argument makes a gradient function
Story = Callable[[Callable[[Any], Any]], Iterator[Any]]


def a_method_of_a_class_between(grad: Callable[[Any], Any]) -> Iterator[Any]:
    class First:
        def scaled(self, x: Any) -> Any:
            return 2 * x

    class Second(First):
        spare = 1

    thing = Second()
    f = grad(lambda x: np.sum(thing.scaled(x) * x))
    for k in range(8):
        if k == 5:  # as many attributes as before
            del Second.spare
            Second.scaled = lambda self, x: 3 * x  # type: ignore[method-assign]
        yield f(X)


def other_bases(grad: Callable[[Any], Any]) -> Iterator[Any]:
    class First:
        def scaled(self, x: Any) -> Any:
            return 2 * x

    class Second(First):
        def scaled(self, x: Any) -> Any:
            return 3 * x

    class Third(Second):
        pass

    thing = Third()
    f = grad(lambda x: np.sum(thing.scaled(x) * x))
    for k in range(8):
        if k == 5:
            Third.__bases__ = (First,)
        yield f(X)


def a_truth_that_comes_later(grad: Callable[[Any], Any]) -> Iterator[Any]:
    class Thing:
        pass

    thing = Thing()
    f = grad(lambda x: np.sum(x**2) if thing else np.sum(x**3))
    for k in range(8):
        if k == 5:
            Thing.__bool__ = lambda self: False  # type: ignore[attr-defined]
        yield f(X)


def another_dict_of_an_instance(grad: Callable[[Any], Any]) -> Iterator[Any]:
    class Thing:
        def __init__(self) -> None:
            self.scale = 2.0

    thing = Thing()
    f = grad(lambda x: np.sum(thing.scale * x**2))
    for k in range(8):
        if k == 5:
            thing.__dict__ = {"scale": 3.0}
        yield f(X)


def a_list_that_grows(grad: Callable[[Any], Any]) -> Iterator[Any]:
    numbers = [1.0]

    def grow(x: Any) -> Any:
        all_of_them = numbers
        all_of_them += [0.5]
        return np.sum(x**2) * sum(numbers)

    f = grad(grow)
    for _ in range(6):
        yield [f(X), len(numbers)]


def powers_that_become_complex(grad: Callable[[Any], Any]) -> Iterator[Any]:
    f = grad(lambda x, a, b: np.sum(x * a) + a**b)
    for a, b in [(1.0, 0.5), (2.0, 0.25), (3.0, 0.5), (4.0, 1.5), (5.0, 2.5), (6.0, 1.5), (-8.0, 0.5), (5.0, 2.0)]:
        try:
            yield f(X, a, b)
        except TypeError as error:
            yield str(error)


STORIES: list[Story] = [
    a_method_of_a_class_between, other_bases, a_truth_that_comes_later, another_dict_of_an_instance, a_list_that_grows,
    powers_that_become_complex,
]  # fmt: skip


@pytest.mark.parametrize("story", STORIES)
def test_what_is_changed_behind_its_back_is_seen(story: Story) -> None:
    told = []
    for replay in ("never", "auto"):
        with sd.config(replay=replay):
            told.append(list(story(sd.grad)))
    np.testing.assert_equal(told[1], told[0])
