"""Checks an expression: our functions on arrays, NumPy's functions on Tensors, gradients against differences."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from srcdiff.autograd import tensor_api  # noqa: F401  completes Tensor
from srcdiff.autograd.backward import grad
from srcdiff.functions.dispatch import FUNCTIONS
from srcdiff.tensor import Tensor
from tests.ops.calculus import direction, moved, pairing, slope


class Ours:
    """NumPy with our implementations in place of its functions, also on plain arrays."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.module, name)
        if isinstance(found, ModuleType):
            return Ours(found)
        return FUNCTIONS.get(found, found) if callable(found) and not isinstance(found, type) else found


def leaf(array: Any) -> Tensor:
    """A Tensor that requires grad, on a copy."""
    out: Tensor = Tensor.__new__(Tensor)
    out._value = np.array(array)
    out._requires = True
    return out


def flat(result: Any) -> list[Any]:
    """The arrays in a result, which may be nested tuples and lists."""
    if isinstance(result, (tuple, list)):
        return [part for inner in result for part in flat(inner)]
    return [result]


def array(x: Any) -> Any:
    return np.asarray(x._value if isinstance(x, Tensor) else x)


def run(expression: str, values: dict[str, Any], module: Any = np) -> list[Any]:
    """The arrays an expression gives."""
    return flat(eval(expression, {"np": module, **values}))


def check_values(expression: str, values: dict[str, Any], module: Any, rtol: float) -> None:
    want = run(expression, values)
    got = run(expression, values if module is not np else {k: leaf(v) for k, v in values.items()}, module)
    assert len(want) == len(got)
    for a, b in zip(want, got, strict=True):
        a, b = np.asarray(a), array(b)
        assert a.shape == b.shape
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


def check_gradient(expression: str, values: dict[str, Any], order: int = 1) -> None:
    """Gradients of a random combination of the results; with order 2 of a random combination of the gradients too."""
    rng = np.random.default_rng(7)
    names = list(values)
    weights = [direction(np.asarray(part), rng) for part in run(expression, values)]
    steps = [direction(values[name], rng) for name in names]

    def first(leaves: list[Any], create_graph: bool) -> list[Any]:
        parts = run(expression, dict(zip(names, leaves, strict=True)))
        kept = [(part, w) for part, w in zip(parts, weights, strict=True) if w is not None and part._edge is not None]
        assert kept, "no result carries a gradient"
        return grad([p for p, _ in kept], leaves, [w for _, w in kept], create_graph=create_graph, allow_unused=True)

    def derivative(at: tuple[Any, ...]) -> float:
        parts = run(expression, dict(zip(names, at, strict=True)))
        return pairing(weights, [np.asarray(part) for part in parts])

    start = tuple(values[name] for name in names)
    leaves = [leaf(v) for v in start]
    got = [None if g is None else array(g) for g in first(leaves, False)]
    for g, v in zip(got, start, strict=True):
        assert g is None or (g.shape == v.shape and g.dtype == v.dtype)
    want = slope(lambda a: derivative(moved(start, steps, a)))
    assert abs(pairing(got, steps) - want) <= 1e-8 * (1 + abs(want) + abs(derivative(start)))
    if order < 2:
        return
    again = [direction(v, rng) for v in start]
    kept = [(g, w) for g, w in zip(first(leaves, True), again, strict=True) if g is not None and g._edge is not None]
    second = [None] * len(leaves)
    if kept:
        second = grad([g for g, _ in kept], leaves, [w for _, w in kept], allow_unused=True)

    def gradient_along(a: float) -> float:
        gs = first([leaf(v) for v in moved(start, steps, a)], False)
        return pairing([None if g is None else array(g) for g in gs], again)

    want = slope(gradient_along)
    got = pairing([None if g is None else array(g) for g in second], steps)
    assert abs(got - want) <= 1e-7 * (1 + abs(want) + abs(gradient_along(0.0)))
