"""Methods have NumPy's meaning, with PyTorch's where the call says so, and warn where the two would go unnoticed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcdiff as sd

#: Calls that must give on Tensors what they give on arrays.
CALLS = """
a.sum() a.sum(0) a.sum(axis=(0,1)) a.sum(0,keepdims=True) a.sum(dtype=np.float32) a.sum(axis=()) a.sum(where=a>0)
a.sum(initial=2.0) a.mean() a.mean(axis=(0,1)) a.mean(keepdims=True) a.mean(where=a>0) a.prod() a.prod(1)
a.std(ddof=1) a.std(axis=0) a.std(axis=0,ddof=1) a.var(axis=(0,1),keepdims=True) a.var(0,None,None,1) a.max() a.max(0)
a.max(axis=1,keepdims=True) a.max(initial=9) a.max(axis=0,where=a>0,initial=-3) a.min(1) a.argmax() a.argmin(axis=1)
a.argmax(axis=1,keepdims=True) a.all() a.any(0) a.cumsum() a.cumsum(0) a.cumprod(1) a.trace(1) z.trace(0,1,2)
a.reshape(12) a.reshape((4,3)) a.reshape(-1,6) a.reshape(4,3,order='F') a.transpose() a.transpose(1,0)
z.transpose(2,0,1) z.transpose((2,0,1)) z.transpose(None) a.swapaxes(0,1) a.flatten() a.flatten('F') a.ravel('F')
o.squeeze() o.squeeze(0) o.squeeze(axis=(0,2)) a.squeeze(axis=0) a.diagonal(1) z.diagonal(0,1,2) a.repeat(2,axis=0)
v.repeat([1,2,3,0,1],axis=0) a.clip(-.5,.5) a.clip(min=0) a.clip(max=0) a.round(1) a.conj() a.dot(a.T) v.dot(v)
a.dot(2) z.dot(a.T) a.copy() a.astype(np.float32) a.astype(int) a.astype(complex) a.astype('f4',casting='safe')
a.take([0,1]) a.take([0,2],axis=0) a.take([0,9],mode='wrap') a.compress([True,False,True],axis=0)
i.choose([v[:3],v[2:]])
a.nonzero() v.searchsorted([0.1]) a.argsort() a.argsort(0) a.argsort(axis=None) a.argpartition(1) a.T a.shape a.ndim
a.size a.itemsize a.nbytes a.strides a.real a.imag a.tobytes() a.tolist() len(a) a.item(1,2) z.mT
a.view(np.int64) a.view(np.float64) i.view(np.float64)
a.sum(5) a.reshape(5) a.transpose(0,0) a.swapaxes(0,5) a.std(axis=1,dtype=np.float64) list(a.flat)
a.flat[3] a.flat[1:4] abs(a) divmod(a,0.3)[0] 2**a ~i i<<1 1<<i 9>>i divmod(9,i+1)[1] divmod(9,i+1)[0]
np.add.reduce(a)
"""


def operands(make: Callable[[Any], Any]) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    made = {"a": rng.uniform(-1, 1, (3, 4)), "v": rng.uniform(-1, 1, 5), "z": rng.uniform(-1, 1, (2, 3, 4)),
            "i": np.array([2, 0, 1]), "o": np.ones((1, 3, 1))}  # fmt: skip
    return {name: make(array) for name, array in made.items()} | {"np": np}


def run(call: str, make: Callable[[Any], Any]) -> Any:
    try:
        return eval(call, operands(make))
    except Exception as error:
        return error


def plain(x: Any) -> Any:
    if isinstance(x, (tuple, list)):
        return [plain(part) for part in x]
    return x.detach().numpy() if isinstance(x, sd.Tensor) else x


@pytest.mark.parametrize("call", CALLS.split())
def test_as_on_arrays(call: str) -> None:
    wanted = run(call, lambda array: array)
    found = run(call, lambda array: sd.tensor(array, requires_grad=array.dtype.kind == "f"))
    if isinstance(wanted, Exception):
        assert isinstance(found, Exception) and isinstance(found, (ValueError, IndexError, TypeError))
        return
    if isinstance(wanted, (tuple, list)):
        np.testing.assert_equal(plain(found), plain(list(wanted)))
        return
    found, wanted = np.asarray(plain(found)), np.asarray(wanted)
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    np.testing.assert_array_equal(found, wanted) if wanted.dtype.kind in "SV" else np.testing.assert_allclose(
        found, wanted
    )


X = np.array([[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]])


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        (lambda x: x.max(dim=1), ([5, 6], [1, 2])),
        (lambda x: x.max(1, True), ([[5], [6]], [[1], [2]])),
        (lambda x: x.min(dim=0), ([1, 3, 2], [0, 1, 0])),
        (lambda x: x.sort(dim=1), ([[1, 2, 5], [3, 4, 6]], [[0, 2, 1], [1, 0, 2]])),
        (lambda x: x.sort(1, True)[0], [[5, 2, 1], [6, 4, 3]]),
        (lambda x: x.sort(descending=True)[1], [[1, 2, 0], [2, 0, 1]]),
        (lambda x: x.std(dim=1), np.std(X, 1, ddof=1)),
        (lambda x: x.var(unbiased=False), np.var(X)),
        (lambda x: x.var(correction=1), np.var(X, ddof=1)),
        (lambda x: x.sum(0, True), X.sum(0, keepdims=True)),
        (lambda x: x.mean(dim=0, keepdim=True), X.mean(0, keepdims=True)),
        (lambda x: x.sum(dim=()), X.sum()),
        (lambda x: x.argmax(dim=1, keepdim=True), [[1], [2]]),
        (lambda x: x.flatten(0), X.ravel()),
        (lambda x: x[None].transpose(0, 2), X[None].swapaxes(0, 2)),
        (lambda x: x.squeeze(0), X),
        (lambda x: x.diagonal(dim1=1, dim2=0), [1, 3]),
        (lambda x: x.repeat(2, 1, 1), np.tile(X, (2, 1, 1))),
        (lambda x: x.nonzero(as_tuple=False), np.argwhere(X)),
        (lambda x: x.argsort(descending=True), [[1, 2, 0], [2, 0, 1]]),
    ],
)
def test_forms_that_only_pytorch_knows(call: Any, wanted: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = plain(call(sd.tensor(X)))
    for a, b in zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]:
        np.testing.assert_allclose(a, b)


def test_sort_without_such_a_form_sorts_in_place() -> None:
    x = sd.tensor([3.0, 1.0, 2.0])
    assert x.sort() is None and x.tolist() == [1, 2, 3]


def test_size_is_a_number_that_can_be_called() -> None:
    x = sd.ones(2, 3)
    assert x.size == 6 and x.size() == (2, 3) and x.size(-1) == 3 and isinstance(x.size, int)
    with pytest.raises(IndexError, match="Dimension out of range"):
        x.size(2)


def test_flat_can_be_written() -> None:
    x = sd.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x * 1
    y.flat[1] = 9.0
    y.flat[2:] = 0.0
    assert y.tolist() == [[1, 9], [0, 0]]
    y.sum().backward()
    assert x.grad.tolist() == [[1, 0], [0, 0]]


# ------------------------------------------------------------------------------------------------ ambiguous names


def unpacked(x: Any) -> None:
    _values, _indices = x.max(1)


AMBIGUOUS = [unpacked, lambda x: x.min(1)[0], lambda x: x.transpose(0, 1), lambda x: x.std(), lambda x: x.var(0),
             lambda x: x.repeat(2)]  # fmt: skip
CLEAR = [lambda x: x.max(1), lambda x: x.max(axis=1)[0], lambda x: x.transpose(1, 0), lambda x: x.std(ddof=0),
         lambda x: x.std(axis=0), lambda x: x.var(dim=0), lambda x: np.repeat(x, 2), lambda x: sd.std(x),
         lambda x: x.repeat(2, axis=0), lambda x: np.std(x)]  # fmt: skip


@pytest.mark.parametrize("call", AMBIGUOUS)
def test_ambiguous_forms_warn(call: Any) -> None:
    with pytest.warns(sd.AmbiguousName, match="Write .* for PyTorch's meaning") as caught:
        call(sd.tensor(X[:, :2]))
    assert caught[0].filename == __file__


@pytest.mark.parametrize("call", CLEAR)
def test_clear_forms_do_not(call: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call(sd.tensor(X))


def test_values_under_differentiation_do_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sd.grad(lambda x: x.std() + x.repeat(2).sum())(np.array([1.0, 2.0]))
