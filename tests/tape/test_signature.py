"""The signature of a graph: equal exactly where the same backward code serves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff.tape.lower import collect
from srcdiff.tape.signature import signature


def leaf(*shape: int, fill: float = 1.0) -> Any:
    return sd.from_numpy(np.full(shape, fill)).requires_grad_()


def signature_of(*roots: Any, wanted: Any = None) -> Any:
    edges = [t._edge for t in roots]
    return signature(collect(edges), edges, None if wanted is None else [t._edge for t in wanted])


def twice(f: Callable[..., Any], first: Any, second: Any) -> tuple[Any, Any]:
    """The signatures of one function on two sets of arguments."""
    found = [signature_of(f(*args)) for args in (first, second)]
    return found[0], found[1]


def test_equal_for_other_data() -> None:
    one, other = twice(lambda x, y: np.sum(np.sin(x * y)), (leaf(3), leaf(3)), (leaf(3, fill=2.0), leaf(3, fill=3.0)))
    assert one == other and hash(one) == hash(other)


def test_leaves_are_told_apart_by_identity() -> None:
    x = leaf(3)
    one, other = twice(lambda x, y: np.sum(x * y), (x, x), (x, leaf(3)))
    assert one != other


@pytest.mark.parametrize("pattern", ["aab", "aba", "abb", "aaa", "abc"])
def test_sharing_patterns_are_all_different(pattern: str) -> None:
    def run(p: str) -> Any:
        leaves = {name: leaf(3) for name in "abc"}
        x, y, z = (leaves[name] for name in p)
        return signature_of(np.sum(x * y + z))

    patterns = ["aab", "aba", "abb", "aaa", "abc"]
    same = [run(p) == run(pattern) for p in patterns]
    assert same == [p == pattern for p in patterns]


def test_shared_subexpressions_count() -> None:
    def f(x: Any, y: Any) -> Any:
        return np.sum(x * y)

    x = leaf(3)
    h = np.sin(x)
    made = []
    for left, right in ((h, h), (h, np.sin(x))):
        made.append(signature_of(f(left, right)))
    assert made[0] != made[1]


def test_shapes_count() -> None:
    one, other = twice(lambda x: np.sum(np.sin(x)), (leaf(3),), (leaf(4),))
    assert one != other


def test_constants_are_not_merged() -> None:
    c, d = np.ones(3), np.ones(3)
    one, other = twice(lambda x, a, b: np.sum(x * a + x * b), (leaf(3), c, c), (leaf(3), c, d))
    assert one == other


def test_what_the_root_does_not_reach_does_not_count() -> None:
    def f(x: Any, metric: bool) -> Any:
        h = np.sin(x)
        if metric:
            _ = np.max(h) * 2.0
        return np.sum(h)

    one, other = twice(f, (leaf(3), False), (leaf(3), True))
    assert one == other


def test_what_is_wanted_counts() -> None:
    x, y = leaf(3), leaf(3)
    h = x * y
    out = np.sum(h)
    unrelated = leaf(3)
    found = [
        signature_of(out, wanted=wanted)
        for wanted in (None, [x], [y], [x, y], [y, x], [h], [x, x], [unrelated], [x, unrelated])
    ]
    assert len(set(found)) == len(found)


def test_roots_count() -> None:
    x = leaf(3)
    h = np.sin(x)
    a, b = np.sum(h), np.max(h)
    assert len({signature_of(a), signature_of(b), signature_of(a, b), signature_of(b, a), signature_of(a, a)}) == 5


def test_outputs_of_one_operation_count() -> None:
    left, right = np.split(leaf(4), 2)
    assert signature_of(left) != signature_of(right)
