"""Dtypes stand where NumPy's stand, and numbers take the default dtype."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator

import numpy as np
import pytest

import srcdiff as sd
from srcdiff.dtypes import ALIASES, DType, numpy_dtype

ALL = ["float16", "float32", "float64", "complex64", "complex128", "int8", "int16", "int32", "int64", "uint8", "uint16",
       "uint32", "uint64"]  # fmt: skip


@pytest.fixture
def restored_default() -> Iterator[None]:
    before = sd.get_default_dtype()
    yield
    sd.set_default_dtype(before)


@pytest.mark.parametrize("name", ALL)
def test_a_dtype_is_equal_to_numpys_and_stands_for_it(name: str) -> None:
    dtype, peer = getattr(sd, name), np.dtype(name)
    assert dtype == peer and peer == dtype and hash(dtype) == hash(peer)
    assert repr(dtype) == str(dtype) == name
    assert np.zeros(2, dtype).dtype == peer and np.arange(2).astype(dtype).dtype == peer
    assert sd.zeros(2, dtype=dtype).dtype == dtype
    assert dtype.is_floating_point == (peer.kind == "f") and dtype.is_complex == (peer.kind == "c")
    assert dtype.itemsize == peer.itemsize
    assert pickle.loads(pickle.dumps(dtype)) == dtype == copy.deepcopy(dtype)


@pytest.mark.parametrize(("alias", "name"), [("float", "float32"), ("double", "float64"), ("half", "float16"),
                                             ("int", "int32"), ("long", "int64"), ("short", "int16"),
                                             ("cfloat", "complex64"), ("cdouble", "complex128")])  # fmt: skip
def test_other_names(alias: str, name: str) -> None:
    assert getattr(sd, alias) == ALIASES[alias] == getattr(sd, name)


def test_python_types_mean_what_they_mean_in_numpy() -> None:
    assert [numpy_dtype(t).name for t in (float, int, bool, complex)] == ["float64", "int64", "bool", "complex128"]
    assert sd.zeros(1, dtype=float).dtype == sd.float64


def test_dtypes_numpy_lacks_are_refused_by_name() -> None:
    with pytest.raises(sd.errors.UnsupportedError, match="bfloat16 does not exist in NumPy"):
        sd.zeros(2, dtype=sd.bfloat16)
    with pytest.raises(sd.errors.UnsupportedError, match="bfloat16"):
        sd.ones(2).bfloat16()


@pytest.mark.parametrize("wrong", ["nonsense", object, "U3", None])
def test_what_is_no_dtype_of_numbers(wrong: object) -> None:
    with pytest.raises(sd.errors.DTypeError, match="no dtype"):
        numpy_dtype(wrong)


def test_complex_and_real_counterparts() -> None:
    assert sd.float32.to_complex() == sd.complex64 and sd.float64.to_complex() == sd.complex128
    assert sd.complex64.to_real() == sd.float32 and sd.float64.to_real() == sd.float64


@pytest.mark.usefixtures("restored_default")
def test_the_default_dtype_is_that_of_python_numbers() -> None:
    assert sd.get_default_dtype() == sd.float32
    sd.set_default_dtype(sd.float64)
    assert sd.tensor([1.0]).dtype == sd.zeros(1).dtype == sd.rand(1).dtype == sd.float64
    assert sd.tensor([1j]).dtype == sd.complex128
    assert repr(sd.tensor([1.5])) == "tensor([1.5000])"
    with pytest.raises(TypeError, match="only floating-point types"):
        sd.set_default_dtype(sd.int32)


def test_limits() -> None:
    assert sd.finfo(sd.float32).eps == np.finfo(np.float32).eps and sd.finfo().max == np.finfo(np.float32).max
    assert sd.iinfo(sd.int8).max == 127


def test_dtypes_are_found_by_the_numpy_dtype_of_a_tensor() -> None:
    table: dict[DType, str] = {sd.float32: "single", sd.int64: "whole"}
    assert table[sd.ones(1).dtype] == "single" and table[sd.arange(2).dtype] == "whole"
