"""Tensors from data, filled, in sequence and at random."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import srcdiff as sd


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (1, "int64"), (1.0, "float32"), (True, "bool"), (1j, "complex64"), ([], "float32"), ([1, 2.5], "float32"),
        ([[1], [2]], "int64"), (np.float64(1), "float64"), (np.float16(1), "float16"), (np.ones(2, "i2"), "int16"),
        ([np.float64(1)], "float64"), ([np.ones(2, "f4")], "float32"), (range(3), "int64"),
    ],
)  # fmt: skip
def test_lists_and_numbers_take_the_default_dtype_and_arrays_keep_theirs(data: Any, dtype: str) -> None:
    made = sd.tensor(data)
    assert made.dtype == dtype
    assert np.array_equal(made.numpy(), np.array(data))


def test_tensor_copies_and_as_tensor_shares() -> None:
    array = np.zeros(2)
    copied, shared, same = sd.tensor(array), sd.as_tensor(array), sd.from_numpy(array)
    array[0] = 1
    assert (copied[0].item(), shared[0].item(), same[0].item()) == (0, 1, 1)
    x = sd.ones(2)
    assert sd.as_tensor(x) is x and sd.as_tensor(x, dtype=sd.float64).dtype == sd.float64
    assert sd.asarray(array, copy=True).numpy() is not array
    with pytest.raises(ValueError, match="without copying"):
        sd.asarray([1.0], copy=False)


def test_foreign_byte_order_becomes_native() -> None:
    assert sd.tensor(np.array([1.0, 2.0], ">f8")).dtype.isnative


@pytest.mark.parametrize(
    ("wrong", "error", "text"),
    [
        (lambda: sd.tensor([[1], [2, 3]]), ValueError, "tensor"),
        (lambda: sd.tensor("text"), TypeError, "cannot make numbers"),
        (lambda: sd.tensor([1], requires_grad=True), RuntimeError, "Only Tensors of floating point and complex dtype"),
        (lambda: sd.from_numpy([1]), TypeError, r"expected np.ndarray \(got list\)"),
        (lambda: sd.zeros(-1), RuntimeError, "negative dimension -1"),
        (lambda: sd.zeros(2.5), TypeError, "shape of ints"),
        (lambda: sd.zeros(), TypeError, "missing the shape"),
        (lambda: sd.zeros(2, device="cuda"), NotImplementedError, "cuda"),
        (lambda: sd.zeros(2, pin_memory=True), NotImplementedError, "pin_memory"),
        (lambda: sd.arange(0, 1, 0), RuntimeError, "step must be nonzero"),
        (lambda: sd.arange(1, 0), RuntimeError, "inconsistent with step sign"),
        (lambda: sd.randint(0, 0, (2,)), RuntimeError, "from"),
        (lambda: sd.multinomial(sd.ones(2), 3), RuntimeError, "without replacement"),
    ],
)
def test_refusals(wrong: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text) as caught:
        wrong()
    assert isinstance(caught.value, sd.errors.SrcdiffError)


def test_a_list_of_tensors_does_not_lose_gradients_silently() -> None:
    x = sd.tensor(1.0, requires_grad=True)
    with pytest.warns(UserWarning, match="use stack"):
        assert sd.tensor([x, x]).tolist() == [1.0, 1.0]
    with pytest.raises(sd.errors.GradientLostError, match="use stack"):
        sd.grad(lambda t: np.sum(sd.tensor([t[0], t[1]])))(np.ones(2))


def test_requires_grad_makes_leaves() -> None:
    for made in (sd.zeros(2, requires_grad=True), sd.rand(2, requires_grad=True), sd.eye(2, requires_grad=True)):
        assert made.is_leaf and made.requires_grad
        made.sum().backward()
        assert np.array_equal(made.grad.numpy(), np.ones(made.shape))


def test_shapes_are_given_in_any_way() -> None:
    for made in (sd.ones(2, 3), sd.ones((2, 3)), sd.ones([2, 3]), sd.ones(sd.Size([2, 3])), sd.ones(size=(2, 3))):
        assert made.shape == (2, 3)
    assert sd.zeros([]).shape == () and sd.empty(0, 2).shape == (0, 2)


def test_sequences() -> None:
    assert sd.arange(5).tolist() == [0, 1, 2, 3, 4] and sd.arange(5).dtype == sd.int64
    assert sd.arange(5, 0, -2).tolist() == [5, 3, 1]
    assert sd.arange(1.0).dtype == sd.float32
    assert sd.arange(start=1, end=3).tolist() == [1, 2]
    assert sd.linspace(0, 1, 3).tolist() == [0, 0.5, 1] and sd.logspace(0, 2, 3).tolist() == [1, 10, 100]
    assert sd.tril_indices(2, 2).tolist() == [[0, 1, 1], [0, 0, 1]]


@pytest.mark.parametrize("name", ["zeros", "ones", "full", "empty", "rand", "randn"])
def test_like_takes_shape_and_dtype_but_not_the_graph(name: str) -> None:
    x = sd.ones(2, 3, dtype=sd.float64, requires_grad=True)
    extra = (7.0,) if name == "full" else ()
    made = getattr(sd, f"{name}_like")(x, *extra)
    assert made.shape == (2, 3) and made.dtype == sd.float64 and not made.requires_grad
    assert getattr(sd, f"{name}_like")(x, *extra, dtype=sd.float32).dtype == sd.float32


def test_equal_seeds_give_equal_draws() -> None:
    def draw() -> list[Any]:
        sd.manual_seed(3)
        return [
            sd.rand(2).tolist(), sd.randn(2).tolist(), sd.randint(9, (3,)).tolist(), sd.randperm(5).tolist(),
            sd.normal(0.0, 1.0, (2,)).tolist(), sd.bernoulli(sd.full((4,), 0.5)).tolist(),
            sd.multinomial(sd.tensor([0.2, 0.3, 0.5]), 2).tolist(),
        ]  # fmt: skip

    assert draw() == draw()


def test_multinomial_draws_in_proportion_and_never_what_has_weight_zero() -> None:
    sd.manual_seed(0)
    weights = sd.tensor([0.0, 1.0, 3.0])
    drawn = sd.multinomial(weights, 20_000, replacement=True).numpy()
    assert abs(np.mean(drawn == 2) - 0.75) < 5 * np.sqrt(0.75 * 0.25 / 20_000) and not np.any(drawn == 0)
    assert sorted(sd.multinomial(weights, 2).tolist()) == [1, 2]


def test_new_tensors_take_the_dtype_of_another() -> None:
    x = sd.ones(2, dtype=sd.float64)
    for made in (x.new_zeros(2, 3), x.new_ones((2,)), x.new_full((1,), 3), x.new_empty(2), x.new_tensor([1, 2])):
        assert made.dtype == sd.float64


def test_legacy_names() -> None:
    assert sd.Tensor([1, 2]).dtype == sd.FloatTensor([1]).dtype == sd.float32
    assert sd.LongTensor([1.7]).tolist() == [1] and sd.Tensor(2, 3).shape == (2, 3)
    assert isinstance(sd.ones(1), sd.FloatTensor) and not isinstance(sd.ones(1), sd.LongTensor)


def test_devices() -> None:
    cpu = sd.device("cpu")
    assert sd.ones(1).device == cpu and str(cpu) == "cpu" and repr(cpu) == "device(type='cpu')"
    assert sd.ones(1, device="cuda" if sd.cuda.is_available() else "cpu").to(cpu).device.type == "cpu"
    with pytest.raises(RuntimeError, match="Expected one of cpu"):
        sd.device("toaster")
