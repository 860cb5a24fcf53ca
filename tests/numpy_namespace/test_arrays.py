"""Making Tensors in `srcdiff.numpy`, and the protocols by which libraries exchange arrays."""

from __future__ import annotations

import importlib
import operator
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
import srcdiff.numpy as xp
from srcdiff.errors import GradientLostError, UnsupportedError


def test_data_keep_numpys_dtype() -> None:
    for data in (1, 1.5, True, 1j, [1, 2], [[1.0, 2]], np.float32(1), np.ones(2, np.int8), [np.float32(1), 2.0], []):
        made = xp.asarray(data)
        assert isinstance(made, sd.Tensor) and not made.requires_grad
        assert made.dtype == np.asarray(data).dtype and np.array_equal(made, np.asarray(data))
    assert xp.asarray(["a"]).dtype.kind == "U" and type(xp.asarray(["a"])) is np.ndarray
    assert xp.ones(2).dtype == xp.linspace(0, 1, 2).dtype == np.float64
    with pytest.raises(ValueError, match="inhomogeneous"):
        xp.asarray([[1.0], [1.0, 2.0]])


def test_memory_is_shared_unless_a_copy_is_asked_for() -> None:
    array = np.ones(2)
    xp.asarray(array)[0] = 5.0
    xp.array(array)[0] = 7.0
    xp.asarray(array, copy=True)[0] = 7.0
    xp.asarray(array, dtype=np.float32)[0] = 7.0
    assert array.tolist() == [5, 1]
    with pytest.raises(ValueError, match="avoid copy"):
        xp.asarray([1.0], copy=False)
    with pytest.raises(ValueError, match="avoid copy"):
        xp.asarray(array, dtype=np.float32, copy=False)


def test_tensors_are_taken_as_they_are() -> None:
    x = sd.tensor([1.0, 2.0], requires_grad=True)
    for function in (xp.asarray, xp.asanyarray, xp.ascontiguousarray):
        assert function(x) is x
    assert xp.asarray(x, copy=False) is x
    copied, cast = xp.asarray(x, copy=True), xp.asarray(x, dtype=np.float64)
    assert copied is not x and copied.requires_grad and cast.requires_grad and cast.dtype == np.float64
    with pytest.raises(ValueError, match="avoid copy"):
        xp.asarray(x, dtype=np.float64, copy=False)
    assert xp.asarray(sd.tensor(1.5, requires_grad=True), dtype=np.complex128).requires_grad
    assert xp.ascontiguousarray(sd.tensor(1.5, requires_grad=True)).shape == (1,)
    assert xp.array(x, ndmin=2).shape == (1, 2) and xp.array(x, ndmin=2).requires_grad
    with pytest.raises(ValueError, match="infs or NaNs"):
        xp.asarray_chkfinite(sd.tensor([np.inf]))


def test_there_is_one_device() -> None:
    x = xp.ones(2, device="cpu")
    for device in (None, "cpu", x.device, sd.device("cpu")):
        assert xp.zeros(2, device=device).device == "cpu"
        assert xp.asarray([1.0], device=device).device == xp.full(2, 1.0, device=device).device == "cpu"
    assert x.to_device(x.device) is x and x.to_device("cpu", stream=None) is x
    for call in (lambda: xp.ones(2, device="cuda"), lambda: x.to_device("cuda"), lambda: xp.asarray(1, device="cuda")):
        with pytest.raises(UnsupportedError, match="the device cuda does not exist here"):
            call()
    with pytest.raises(ValueError, match="no streams"):
        x.to_device("cpu", stream=1)


def test_arrays_name_their_namespace() -> None:
    x = sd.tensor([1.0])
    for version in (None, "2022.12", np.__array_api_version__):
        assert x.__array_namespace__(api_version=version) is xp
    with pytest.raises(ValueError, match="1999"):
        x.__array_namespace__(api_version="1999.12")


def test_memory_is_exchanged_with_other_libraries() -> None:
    for source in (xp.asarray([1.0, 2.0]), np.array([1.0, 2.0])):
        made = xp.from_dlpack(source)
        source[0] = 9.0  # `made` cannot be written with NumPy 2.0
        assert isinstance(made, sd.Tensor) and made.tolist() == [9, 2]
        copied = xp.from_dlpack(source, copy=True, device="cpu")
        copied[0] = 1.0
        assert source.tolist() == [9, 2]
    theirs = np.from_dlpack(xp.asarray([1.0, 2.0]))
    assert type(theirs) is np.ndarray and theirs.tolist() == [1, 2]
    assert xp.ones(1).__dlpack_device__() == (1, 0)


def test_memory_of_what_needs_a_gradient_is_not_given_away() -> None:
    x = sd.tensor([1.0], requires_grad=True)
    for call in (np.from_dlpack, xp.from_dlpack, lambda t: t.__dlpack__()):
        with pytest.raises(BufferError, match=r"would lose the gradient, at test_arrays.py:\d+: give x.detach\(\)"):
            call(x)
        with pytest.raises(GradientLostError):
            call(x * 2)
    with sd.no_grad():
        assert np.from_dlpack(x).tolist() == [1]
    with pytest.raises(GradientLostError):
        sd.grad(lambda t: np.from_dlpack(t).sum())(np.ones(2))


def test_python_numbers_stand_on_either_side_of_an_operator() -> None:
    x, i = xp.asarray([3.0, 4.0], dtype=np.float32), xp.asarray([3, 4], dtype=np.int8)
    for op in (operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, pow):
        assert op(2.0, x).dtype == op(x, 2.0).dtype == np.float32
        assert np.array_equal(op(2.0, x), op(2.0, x.numpy())) and np.array_equal(op(x, 2), op(x.numpy(), 2))
    for op in (operator.lshift, operator.rshift, operator.and_, operator.or_, operator.xor, divmod):
        assert np.array_equal(op(9, i), op(9, i.numpy())) and np.array_equal(op(i, 2), op(i.numpy(), 2))
        left, right = op(9, i), op(i, 2)
        assert (left[0] if op is divmod else left).dtype == (right[1] if op is divmod else right).dtype == np.int8
    assert [10, 20, 30][xp.asarray(1)] == 20 and complex(xp.asarray(1j)) == 1j


def test_what_is_an_array() -> None:
    for array in (xp.ones(2), np.ones(2)):
        assert isinstance(array, xp.ndarray)
    assert issubclass(sd.Tensor, xp.ndarray) and not isinstance([1.0], xp.ndarray) and not issubclass(list, xp.ndarray)
    assert isinstance(xp.ndarray((2, 3)), sd.Tensor) and xp.ndarray((2, 3)).dtype == np.float64


def test_everything_can_be_imported_at_once() -> None:
    names: dict[str, Any] = {}
    exec("from srcdiff.numpy import *", names)
    assert names["sum"]([1.0, 2.0]).item() == 3 and names["float64"] is np.float64 and "sort" in names


def test_random_numbers_are_numpys() -> None:
    random = importlib.import_module("srcdiff.numpy.random")
    assert random.default_rng is np.random.default_rng and "default_rng" in dir(random)
    assert xp.random.default_rng(0).random() == np.random.default_rng(0).random()
    with pytest.raises(AttributeError, match=r"module 'srcdiff.numpy.random' has no attribute 'nonsense'"):
        random.nonsense  # noqa: B018
