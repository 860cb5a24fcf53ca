"""Calls of NumPy functions that come again give what the first call gave, for every kind of argument that decides
it.
"""

from __future__ import annotations

import numpy as np
import pytest

import srcdiff as sd
from srcdiff.tape.site import Site, tables

X = np.arange(6.0).reshape(2, 3) + 0.5

CALLS = {
    "sum": lambda x: np.sum(x),
    "sum of an axis": lambda x: np.sum(x, axis=1, keepdims=True),
    "max": lambda x: np.max(x, axis=0),
    "reshape": lambda x: np.reshape(x, (3, 2)),
    "swapaxes": lambda x: np.swapaxes(x, 0, 1),
    "dot": lambda x: np.dot(x, np.swapaxes(x, 0, 1)),
    "concatenate": lambda x: np.concatenate([x, x * 2.0], axis=1),
    "where": lambda x: np.where(x > 2.0, x, -1.5),
    "clip": lambda x: np.clip(x, 0.0, 3.0),
    "var": lambda x: np.var(x, axis=0, ddof=1),
}


@pytest.mark.parametrize("name", CALLS)
def test_later_calls_equal_the_first(name: str) -> None:
    call = CALLS[name]
    results = []
    for _ in range(4):
        x = sd.tensor(X, requires_grad=True)
        out = call(x)
        out.backward(sd.ones_like(out))
        results.append((out.detach().numpy().copy(), x.grad.numpy().copy(), type(out.grad_fn).__name__))
    for value, gradient, label in results[1:]:
        assert np.array_equal(value, results[0][0])
        assert np.array_equal(gradient, results[0][1])
        assert label == results[0][2]


def test_a_call_that_comes_down_to_one_operation_is_remembered() -> None:
    def call(x):
        return np.sum(x, axis=1)

    for _ in range(3):
        call(sd.tensor(X, requires_grad=True))
    assert [type(known) for known in tables[id(call.__code__)].calls.values()] == [Site]


def test_arguments_that_decide_are_part_of_the_key() -> None:
    def call(x, axis, keepdims):
        return np.sum(x, axis=axis, keepdims=keepdims)

    for _ in range(4):
        for axis, keepdims in ((0, True), (0, False), (1, True), (None, False), ((0, 1), True), (True, False)):
            if axis is True:
                continue
            expected = np.sum(X, axis=axis, keepdims=keepdims)
            out = call(sd.tensor(X, requires_grad=True), axis, keepdims)
            assert np.array_equal(out.detach().numpy(), expected) and out.shape == np.shape(expected)


def test_zeros_of_either_sign_are_different_literals() -> None:
    def call(x, low):
        return np.maximum(np.where(x > 100.0, x, low), low)

    made = [call(sd.tensor(X, requires_grad=True), low) for low in [0.0, -0.0] * 3]
    signs = [bool(np.signbit(value.detach().numpy()).all()) for value in made]
    assert signs == [False, True] * 3


def test_errors_of_remembered_calls_name_the_line() -> None:
    def call(x, shape):
        return np.reshape(x, shape)

    for _ in range(3):
        call(sd.tensor(X, requires_grad=True), (3, 2))
    with pytest.raises(ValueError, match=r"test_again\.py"):
        call(sd.tensor(X, requires_grad=True), (4, 2))


def test_views_stay_views() -> None:
    def call(x):
        return np.reshape(x, (6,))

    for _ in range(4):
        y = sd.tensor(X, requires_grad=True) * 1.0
        view = call(y)
        view[0] = 7.0
        assert y[0, 0].item() == 7.0
        (y * y).sum().backward()
