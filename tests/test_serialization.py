"""What `save` writes `load` reads, and `load` makes nothing but tensors and plain data."""

from __future__ import annotations

import collections
import io
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import srcdiff as sd


def through_a_file(obj: Any, **keywords: Any) -> Any:
    buffer = io.BytesIO()
    sd.save(obj, buffer)
    buffer.seek(0)
    return sd.load(buffer, **keywords)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int64", "uint8", "bool", "complex64"])
@pytest.mark.parametrize("shape", [(), (0, 2), (2, 3)])
def test_tensors_keep_value_dtype_and_shape(dtype: str, shape: tuple[int, ...]) -> None:
    x = sd.ones(shape, dtype=getattr(sd, dtype) if dtype != "bool" else sd.bool)
    y = through_a_file(x)
    assert y.dtype == x.dtype and y.shape == shape and np.array_equal(y.numpy(), x.numpy())


def test_a_leaf_stays_a_leaf_and_a_result_becomes_one() -> None:
    w = sd.tensor([1.0], requires_grad=True)
    leaf, result = through_a_file([w, w * 2])
    assert leaf.requires_grad and leaf.is_leaf
    assert result.tolist() == [2.0] and result.is_leaf


def test_containers_come_back_as_they_were(tmp_path: Path) -> None:
    state = collections.OrderedDict(a=sd.ones(2), b=[1, 2.5, None, True, "text", b"bytes"], c=(1j, {3}, slice(1, 2)))
    sd.save(state, tmp_path / "state.sd")
    back = sd.load(tmp_path / "state.sd", map_location="cpu")
    assert type(back) is collections.OrderedDict and list(back) == list(state)
    assert back["b"] == state["b"] and back["c"] == state["c"] and back["a"].tolist() == [1, 1]
    assert through_a_file({"shape": sd.ones(2).shape, "dtype": sd.float32}) == {"shape": (2,), "dtype": sd.float32}
    assert np.array_equal(through_a_file(np.arange(3)), np.arange(3)) and through_a_file(np.float32(2)) == 2


def test_models_and_optimizers_are_saved_by_their_state() -> None:
    model = sd.nn.Linear(2, 1)
    optimizer = sd.optim.Adam(model.parameters())
    model(sd.ones(1, 2)).sum().backward()
    optimizer.step()
    back, steps = through_a_file((model.state_dict(), optimizer.state_dict()))
    other = sd.nn.Linear(2, 1)
    other.load_state_dict(back)
    assert np.array_equal(other.weight.detach().numpy(), model.weight.detach().numpy())
    sd.optim.Adam(other.parameters()).load_state_dict(steps)
    assert type(through_a_file(model.weight)) is sd.nn.Parameter


class Attack:
    def __reduce__(self) -> Any:
        return (os.getcwd, ())


def test_code_in_a_file_does_not_run_unless_trusted() -> None:
    with pytest.raises(pickle.UnpicklingError, match=r"posix.getcwd|nt.getcwd"):
        through_a_file(Attack())
    assert through_a_file(Attack(), weights_only=False) == os.getcwd()


def test_other_files_are_refused() -> None:
    with pytest.raises(pickle.UnpicklingError, match="not a file written by save"):
        sd.load(io.BytesIO(pickle.dumps({})))
    buffer = io.BytesIO()
    sd.save(sd.ones(100), buffer)
    with pytest.raises(pickle.UnpicklingError):
        sd.load(io.BytesIO(buffer.getvalue()[:60]))
