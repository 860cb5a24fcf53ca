"""`copy.deepcopy`, `copy.copy` and pickles of Tensors."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import srcdiff as sd


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
