"""Checks an expression in `sp`: SciPy's values on arrays and on Tensors; gradients against differences, in both modes
and to second order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import srcdiff as sd
import srcdiff.scipy
from tests.ops.calculus import direction, pairing, slope


class _SciPy:
    """The real SciPy, its submodules imported when they are named."""

    def __getattr__(self, name: str) -> Any:
        from importlib import import_module

        return import_module(f"scipy.{name}")


SCIPY = _SciPy()


def parts_of(result: Any) -> list[Any]:
    """The numbers and arrays in a result, which may be nested."""
    if isinstance(result, (tuple, list)):
        return [part for inner in result for part in parts_of(inner)]
    return [result]


def run(expression: str, values: dict[str, Any], sp: Any, **more: Any) -> list[Any]:
    return parts_of(eval(expression, {"np": np, "sp": sp, **more, **values}))


def plain(x: Any) -> Any:
    return np.asarray(x.detach().numpy() if isinstance(x, sd.Tensor) else x)


def check_values(expression: str, values: dict[str, Any], rtol: float, **more: Any) -> None:
    """Arrays give what SciPy gives; Tensors the same to rounding, in the same shapes and dtypes."""
    want = run(expression, values, SCIPY, **more)
    same = run(expression, values, sd.scipy, **more)
    tensors = {name: sd.tensor(v, dtype=v.dtype, requires_grad=True) for name, v in values.items()}
    got = run(expression, tensors, sd.scipy, **more)
    assert len(want) == len(same) == len(got)
    for a, b, c in zip(want, same, got, strict=True):
        np.testing.assert_array_equal(b, a)
        a, c = np.asarray(a), plain(c)
        assert a.shape == c.shape
        assert a.dtype == c.dtype
        np.testing.assert_allclose(c, a, rtol=rtol, atol=rtol)


def check(
    expression: str, values: dict[str, Any], order: int = 2, rtol: float = 1e-11, accuracy: float = 1e-8,
    h: float = 1e-3, oracle: Any = None, **more: Any,
) -> None:  # fmt: skip
    """Values; gradients of a random combination of the results, by `grad` and by `jvp`; with order 2 also of a random
    combination of the gradients. `oracle` replaces the expression where SciPy's own is too rough for differences.
    """
    values = {name: np.array(v) for name, v in values.items()}
    check_values(expression, values, rtol, **more)
    rng = np.random.default_rng(7)
    names, start = list(values), list(values.values())
    weights = [
        direction(np.asarray(w), rng) if np.asarray(w).dtype.kind in "fc" else None
        for w in run(expression, values, SCIPY, **more)
    ]
    steps = [direction(v, rng) for v in start]

    def ours(*xs: Any) -> Any:
        parts = run(expression, dict(zip(names, xs, strict=True)), sd.scipy, **more)
        total = 0.0
        for part, w in zip(parts, weights, strict=True):
            if w is not None:
                total = total + np.sum(np.real(part * np.conj(w)))
        return total

    def theirs(a: float) -> float:
        moved = {n: v + a * t for n, v, t in zip(names, start, steps, strict=True)}
        parts = run(oracle or expression, moved, SCIPY, **more)
        return float(sum(np.sum(np.real(p * np.conj(w))) for p, w in zip(parts, weights, strict=True) if w is not None))

    def close(x: float, y: float) -> bool:
        return bool(abs(x - y) <= accuracy * (1 + abs(x) + abs(theirs(0.0))))

    which = tuple(range(len(start)))
    gradient = sd.grad(ours, argnums=which)
    got = gradient(*start)
    want = slope(theirs, h)
    assert all(g.shape == v.shape and g.dtype == v.dtype for g, v in zip(got, start, strict=True))
    assert close(pairing(list(got), steps), want), (pairing(list(got), steps), want)
    again = gradient(*start)  # now compiled
    for g, g2 in zip(got, again, strict=True):
        np.testing.assert_allclose(g2, g, rtol=1e-9, atol=1e-11)
    forward = float(sd.jvp(ours, start, steps)[1])
    assert close(forward, want), (forward, want)
    if order < 2:
        return
    others = [direction(v, rng) for v in start]

    def along(*xs: Any) -> Any:
        gs = sd.grad(ours, argnums=which)(*xs)
        return sum(np.sum(np.real(g * np.conj(t))) for g, t in zip(gs, others, strict=True))

    second = pairing(list(sd.grad(along, argnums=which)(*start)), steps)
    want = slope(lambda a: pairing(list(gradient(*(v + a * t for v, t in zip(start, steps, strict=True)))), others), h)
    assert close(second, want), (second, want)
