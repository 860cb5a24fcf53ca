"""An array made while tracing is a plain array for everybody, until something differentiated is written into it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff.errors import GradientLostError
from srcdiff.tape.record import plain


def constant(value: Any) -> Any:
    """What a constructor gives while tracing."""
    return plain(value, traced=True)


A = np.array([[1.5, -2.0], [0.25, 3.0]])

USES: dict[str, Callable[[Any], Any]] = {
    "repr": repr,
    "str": str,
    "format": lambda a: f"{a} {a[0, 0]:.3f}",
    "key": lambda a: {1.5: "found"}[a[0, 0]],
    "member": lambda a: a[0, 0] in {1.5},
    "round": lambda a: round(a[0, 0]),
    "element": lambda a: type(a[0, 0]),
    "iteration": lambda a: [type(v) for v in a[0]],
    "tolist": lambda a: a.tolist(),
    "index": lambda a: [1, 2, 3][int(a[0, 0])],
    "layout": lambda a: (a.strides, a.flags.c_contiguous, a.base, a.nbytes, a.ctypes.shape[:]),
    "asarray": lambda a: np.asarray(a).sum(),
    "rank": lambda a: np.linalg.matrix_rank(a),
    "histogram": lambda a: np.histogram(a, bins=3)[0].tolist(),
    "unsupported": lambda a: np.unwrap(a).tolist(),
    "generator": lambda a: np.random.default_rng(0).normal(a).tolist(),
    "bytes": lambda a: a.tobytes(),
    "nditer": lambda a: [float(v) for v in np.nditer(a)],
    "mask": lambda a: A[a > 0].tolist(),
}


@pytest.mark.parametrize("name", USES)
def test_used_as_a_plain_array(name: str) -> None:
    assert USES[name](constant(A.copy())) == USES[name](A.copy())


def test_writes_through_a_converted_array_arrive() -> None:
    a = constant(np.zeros(3))
    np.asarray(a)[1] = 2.0
    np.testing.assert_array_equal(a._value, [0.0, 2.0, 0.0])


def test_saved_values_do_not_see_writes_through_a_converted_array() -> None:
    def f(x: Any) -> Any:
        a = np.zeros_like(x)
        early = x * a
        array = np.asarray(a)
        late = x * a
        array[:] = 5.0
        return np.sum(early) + np.sum(late)

    with sd.config(clone=False):
        np.testing.assert_array_equal(sd.grad(f)(np.ones(3)), np.zeros(3))


@pytest.mark.parametrize("view", [lambda a: a, lambda a: a[1:][0], lambda a: a.reshape(2, 2).T])
def test_a_plain_array_on_the_memory_forbids_differentiated_writes(view: Any) -> None:
    def f(x: Any) -> Any:
        a = np.zeros_like(x)
        kept = view(np.asarray(a))
        a[0] = x[0]
        return np.sum(a) + np.sum(kept)

    with sd.config(clone=False), pytest.raises(GradientLostError, match="plain array shares"):
        sd.grad(f)(A)


def test_a_plain_array_that_is_gone_does_not() -> None:
    def f(x: Any) -> Any:
        a = np.zeros_like(x)
        np.linalg.matrix_rank(a)
        np.asarray(a)[0] = 1.0
        a[0] = x[0]
        return np.sum(a)

    with sd.config(clone=False):
        np.testing.assert_array_equal(sd.grad(f)(A), [[1.0, 1.0], [0.0, 0.0]])
