"""`srcdiff.numpy` has all that the array API standard names, and gives NumPy's values as Tensors of NumPy's dtype."""

from __future__ import annotations

import inspect
import operator
import pickle
import warnings
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
import srcdiff.numpy as xp
from tests.numpy_namespace.calls import CALLS, DTYPES, NAMES
from tests.versions import newer


def sample(dtype: str) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(3)
    values = rng.integers(1, 6, (3, 3)).astype(dtype) if np.dtype(dtype).kind != "b" else rng.random((3, 3)) > 0.4
    return values / np.asarray(7, dtype) + np.eye(3, dtype=dtype) / 9 if values.dtype.kind in "fc" else values


def result(call: str, module: ModuleType, x: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return eval(f"np.{call}", {"np": module, "x": x})
        except AttributeError:
            raise
        except Exception as error:
            return error


def in_numpy(call: str) -> bool:
    """Whether this NumPy has the function."""
    return operator.attrgetter(call.split("(", maxsplit=1)[0])(xp) is not None


def check(found: Any, wanted: Any) -> None:
    if isinstance(wanted, Exception):
        assert isinstance(found, Exception), f"NumPy refuses: {wanted!r}"
    elif isinstance(wanted, (tuple, list)):
        assert isinstance(found, type(wanted)) or type(found).__name__ == type(wanted).__name__
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            check(one, other)
    elif isinstance(wanted, (np.ndarray, np.generic)):
        assert isinstance(found, sd.Tensor), repr(found)
        assert found.dtype == wanted.dtype and found.shape == wanted.shape and not found.requires_grad
        rtol = 1e-5 if wanted.dtype in (np.float32, np.complex64) else 1e-12
        np.testing.assert_allclose(found.numpy(), wanted, rtol=rtol, atol=rtol)
    else:
        assert type(found) is type(wanted) and found == wanted


@pytest.mark.parametrize("call", [pytest.param(call, marks=newer(call)) for call in CALLS])
def test_values_and_dtypes_are_numpys(call: str) -> None:
    try:
        operator.attrgetter(call.split("(", maxsplit=1)[0])(np)
    except AttributeError:
        pytest.skip("this NumPy has no such function")
    for dtype in DTYPES:
        wanted = result(call, np, sample(dtype))
        check(result(call, xp, xp.asarray(sample(dtype))), wanted)


def test_calls_are_not_refused_without_need() -> None:
    for call in CALLS:
        if "bitwise" not in call and call.split("(", maxsplit=1)[0] in dir(np):
            assert not isinstance(result(call, xp, xp.asarray(sample("float64"))), Exception), call


def test_every_name_of_the_standard_is_there() -> None:
    def known(module: Any, name: str) -> bool:
        return all(hasattr(module := getattr(module, part, None), "__class__") for part in name.split(".")) and (
            module is not None or name == "newaxis"
        )

    missing = {name for name in NAMES if known(np, name) and not known(xp, name)}
    assert not missing


@pytest.mark.parametrize("modules", [(np, xp), (np.linalg, xp.linalg), (np.fft, xp.fft)])
def test_every_name_of_numpys_is_there(modules: tuple[ModuleType, ModuleType]) -> None:
    theirs, ours = modules
    public = {name for name in dir(theirs) if not name.startswith("_")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert {name for name in public if not hasattr(ours, name)} == set()
    assert public <= set(dir(ours))
    with pytest.raises(AttributeError, match=f"module '{ours.__name__}' has no attribute 'nonsense'"):
        ours.nonsense  # noqa: B018


@pytest.mark.parametrize("module", [xp, xp.linalg, xp.fft])
def test_functions_pickle(module: ModuleType) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        offered = [getattr(module, name) for name in dir(module) if not name.startswith("_")]
    for function in offered:
        if hasattr(function, "__wrapped__"):
            again = pickle.loads(pickle.dumps(function))
            assert again is function or again.__wrapped__ is function.__wrapped__


def test_functions_look_like_numpys() -> None:
    assert xp.concat is xp.concatenate
    assert xp.where.__doc__ == np.where.__doc__ and inspect.signature(xp.linalg.svd) == inspect.signature(np.linalg.svd)


def test_types_constants_and_modules_are_numpys() -> None:
    for name in ("float32", "int64", "bool", "dtype", "generic", "integer", "pi", "newaxis", "ma", "errstate"):
        assert getattr(xp, name) is getattr(np, name)
    x = xp.ones(2, dtype=xp.float32)
    assert x.dtype == xp.float32 and xp.float32 == x.dtype and xp.float64 != x.dtype
    assert xp.isdtype(x.dtype, "real floating") and xp.zeros(2, dtype=sd.float32).dtype == np.float32


@newer("__array_namespace_info__")
def test_the_namespace_says_what_it_can() -> None:
    assert xp.__array_api_version__ == np.__array_api_version__
    info = xp.__array_namespace_info__()
    assert info.default_device() == "cpu" and list(info.devices()) == ["cpu"]
    kinds = info.default_dtypes(device=xp.ones(1).device)
    assert xp.ones(1).dtype == kinds["real floating"] and xp.arange(1).dtype == kinds["integral"]
    assert set(info.capabilities()) >= {"boolean indexing", "data-dependent shapes"}


def test_limits_are_python_numbers_and_taken_of_arrays_too() -> None:
    for given in (np.float32, "float32", np.dtype("f4"), sd.float32, xp.ones(1, dtype=np.float32), np.complex64):
        limits = xp.finfo(given)
        assert type(limits.eps) is float and limits.eps == 2.0**-23 and limits.dtype == np.float32
        assert limits.bits == 32 and float(limits.max) == float(np.finfo(np.float32).max) and limits.nmant == 23
    assert xp.iinfo(xp.ones(1, dtype=np.int8)).max == 127 and xp.finfo(float).eps == np.finfo(float).eps
    with pytest.raises(ValueError, match=r"data type .* not"):
        xp.finfo(int)


@pytest.mark.parametrize("axis", [0, -1, None])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "bool", "float32", "complex64"])
def test_descending_order_is_stable(axis: int | None, dtype: str) -> None:
    values = np.array([[2, 0, 1, 2], [0, 1, 1, 0], [1, 1, 2, 1]]).astype(dtype)
    # of equal elements the first stays first: by the key and then by the position
    flat = values.ravel() if axis is None else np.moveaxis(values, axis, -1)
    wanted = np.argsort(-flat.real.astype(int), axis=-1, kind="stable")
    wanted = wanted if axis is None else np.moveaxis(wanted, -1, axis)
    found = xp.argsort(values, axis, descending=True)
    assert found.dtype == np.int64 and np.array_equal(found, wanted)
    assert np.array_equal(
        xp.sort(values, axis=axis, descending=True),
        np.take_along_axis(values.ravel() if axis is None else values, wanted, 0 if axis is None else axis),
    )


def test_descending_order_needs_an_axis_that_exists() -> None:
    for function in (xp.sort, xp.argsort):
        with pytest.raises(np.exceptions.AxisError):
            function(xp.ones((2, 2)), axis=2, descending=True)
        with pytest.raises(np.exceptions.AxisError):
            function(xp.asarray(1.0), descending=True)
        assert function(xp.zeros((0, 2)), axis=0, descending=True).shape == (0, 2)


def test_bounds_have_two_names() -> None:
    x = xp.asarray([1.0, 2.0, 3.0])
    assert xp.clip(x, a_min=2.0, a_max=None).tolist() == xp.clip(x, min=2.0).tolist() == [2, 2, 3]
    out = xp.zeros(3)
    assert xp.clip(x, None, 2.0, out) is out and out.tolist() == [1, 2, 2]
    with pytest.raises(ValueError, match="a bound is given twice"):
        xp.clip(x, 1.0, a_min=2.0)


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_frequencies_have_a_dtype(name: str) -> None:
    found = getattr(xp.fft, name)(5, d=0.5, dtype=xp.float32, device="cpu")
    assert found.dtype == np.float32 and np.allclose(found, getattr(np.fft, name)(5, 0.5))
