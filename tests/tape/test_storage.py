"""Versions, aliases and saved values: what a write does to all that share its memory."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import srcdiff as sd
from srcdiff.tape.storage import Cell, Storage, cell_of, share, storage_of


def tensor(*values: float) -> sd.Tensor:
    return sd.tensor(np.array(values))


def test_a_write_makes_saved_values_unreadable_and_says_where() -> None:
    x = tensor(1.0, 2.0)
    cell = cell_of(x)
    storage_of(x).before_write(snapshot=False)
    assert storage_of(x).version == 1 and x._cell is None
    with pytest.raises(AttributeError):
        _ = cell.array
    code, _ = cell.written
    assert code.co_name == "test_a_write_makes_saved_values_unreadable_and_says_where"


def test_a_snapshot_keeps_the_value_as_it_was_for_all_who_saved_it() -> None:
    x = tensor(1.0, 2.0)
    cell = cell_of(x)
    assert cell_of(x) is cell
    storage_of(x).before_write(snapshot=True)
    x._value[:] = 0.0
    assert cell.array.tolist() == [1.0, 2.0] and cell_of(x) is not cell


def test_a_value_saved_before_the_storage_existed_is_protected_too() -> None:
    x = tensor(1.0, 2.0)
    cell = cell_of(x)
    view = x[:1]
    view.zero_()
    assert not hasattr(cell, "array")


def test_what_is_saved_after_a_write_is_not_touched_by_it() -> None:
    x = tensor(1.0, 2.0)
    x.add_(1.0)
    cell = cell_of(x)
    assert cell.version == 1 and cell.array.tolist() == [2.0, 3.0]


def test_a_storage_keeps_nothing_alive() -> None:
    storage = Storage()
    x, cell = tensor(1.0), Cell(np.zeros(1))
    storage.add_alias(x)
    storage.add_cell(cell)
    watch = weakref.ref(x), weakref.ref(cell)
    del x, cell
    assert [w() for w in watch] == [None, None] and storage.tensors() == []


def test_the_lists_of_a_storage_do_not_grow_with_what_has_died() -> None:
    x = tensor(1.0, 2.0, 3.0)
    for _ in range(1000):
        _ = x[1:]
        storage_of(x).add_cell(Cell(x._value))
    assert len(storage_of(x).aliases) <= 16 and len(storage_of(x).cells) <= 16


def test_sharing_is_mutual() -> None:
    x, y = tensor(1.0), tensor(1.0)
    share(y, x)
    assert y._storage is x._storage
    assert [id(t) for t in storage_of(x).tensors()] == [id(x), id(y)]


def test_tensors_that_were_written_die_by_reference_count_alone() -> None:
    gc.collect()
    gc.disable()
    try:
        x = sd.tensor(np.ones(3), requires_grad=True)
        y = x * 2
        view = y[1:]
        view.mul_(3.0)
        y.exp_()
        watch = [weakref.ref(t) for t in (y, view, y.grad_fn)]
        y.sum().backward()
        del y, view
        assert [w() for w in watch] == [None] * 3
    finally:
        gc.enable()


def test_a_chain_of_a_hundred_thousand_writes_is_differentiated_and_freed() -> None:
    x = sd.tensor(1.0, dtype=sd.float64, requires_grad=True)
    y = x * 1
    for _ in range(100_000):
        y.add_(1.0)
    y.backward()
    assert x.grad.item() == 1.0
    del y


def test_zero_dimensional_results_become_arrays_when_they_are_shared() -> None:
    x = sd.tensor(np.arange(3.0), requires_grad=True)
    total = x.sum()
    saved = total * total
    alias = total.detach()
    alias.zero_()
    assert total.item() == 0.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        saved.backward()
