"""`copy.deepcopy`, `copy.copy` and pickles of Tensors."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff.errors import GradientLostError


def test_a_deep_copy_is_a_leaf_on_its_own_memory_with_its_own_grad() -> None:
    x = sd.tensor(np.array([1.0, 2.0]), requires_grad=True)
    x.note = ["kept"]
    (x * 3).sum().backward()
    y = copy.deepcopy(x)
    assert y.is_leaf and y.requires_grad and y.grad.tolist() == [3.0, 3.0] and y.note == ["kept"]
    assert (
        y.grad is not x.grad and y.note is not x.note and not np.shares_memory(y.detach().numpy(), x.detach().numpy())
    )


def test_results_cannot_be_copied_deeply() -> None:
    x = sd.tensor(np.ones(2), requires_grad=True)
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(x * 1)
    assert copy.deepcopy((x * 1).detach()).tolist() == [1.0, 1.0]


def test_identity_and_shared_memory_survive_one_deep_copy() -> None:
    base = sd.tensor(np.arange(6.0).reshape(2, 3).T)
    things = {"view": base[1:], "twice": [base, base], "alias": base.detach(), "last": base[2, 1]}
    made = copy.deepcopy(things)
    assert made["twice"][0] is made["twice"][1]
    made["twice"][0].mul_(10.0)
    assert made["view"].tolist() == [[10.0, 40.0], [20.0, 50.0]] and made["alias"].tolist()[0] == [0.0, 30.0]
    assert made["last"].item() == 50.0 and base[2, 1].item() == 5.0


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles(protocol: int) -> None:
    x = sd.tensor(np.array([1.0, 2.0]), requires_grad=True)
    x.note = "kept"
    y = sd.tensor(np.arange(4, dtype=np.int32))[1:3]
    a, b, c, d = pickle.loads(pickle.dumps([x, x, y, x.sum()], protocol))
    assert a is b and a.requires_grad and a.is_leaf and a.tolist() == [1.0, 2.0] and a.note == "kept"
    assert c.tolist() == [1, 2] and c.dtype == np.int32 and not c.requires_grad and d.item() == 3.0
    (a * a).sum().backward()
    assert a.grad.tolist() == [2.0, 4.0]


def test_a_shallow_copy_shares_memory() -> None:
    x = sd.tensor(np.array([1.0, 2.0]))
    y = copy.copy(x)
    assert y is not x and np.shares_memory(x.numpy(), y.numpy())


def copied_twice(x: Any) -> Any:
    """Copies of a value, of what is made of it, and of a container."""
    a, b = copy.copy(x), copy.deepcopy(x * 2)
    c = copy.deepcopy({"a": x, "same": x, "buffer": np.zeros(3)})
    c["buffer"][0] = x[0]
    a[1] = 0.0
    return np.sum(a**2 + b * c["same"]) + c["buffer"][0] ** 3 + np.sum(x)


def test_copies_of_values_under_differentiation_are_differentiated() -> None:
    x = np.array([0.5, 1.5, -2.0])
    want = 2 * x * [1, 0, 1] + 4 * x + [3 * x[0] ** 2, 0, 0] + 1
    gradient = sd.grad(copied_twice)
    for _ in range(4):
        np.testing.assert_allclose(gradient(x), want)
    np.testing.assert_allclose(sd.jvp(copied_twice, (x,), (np.ones(3),))[1], want.sum())


def test_pickling_a_value_under_differentiation_is_refused() -> None:
    def f(x: Any) -> Any:
        return np.sum(pickle.loads(pickle.dumps(x)))

    with pytest.raises(GradientLostError, match=r"pickling .* at test_copying.py:\d+: .*detach"):
        sd.grad(f)(np.ones(2))
    assert sd.grad(lambda x: np.sum(x * len(pickle.dumps(sd.detach(x)))))(np.ones(2))[0] > 10
