"""Tensors print as PyTorch prints them: fixed texts for each rule, and a comparison over random arrays."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from srcdiff.printing import format_tensor, get_printoptions, set_printoptions

nan, inf = np.nan, np.inf
DTYPES = ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?", "c8", "c16"]


@pytest.fixture(autouse=True)
def default_options() -> Iterator[None]:
    set_printoptions(profile="default")
    yield
    set_printoptions(profile="default")


def shown(values: Any, dtype: str = "f4", **options: Any) -> str:
    return format_tensor(np.array(values, dtype), **options)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (1.0, "tensor(1.)"),
        (0.1, "tensor(0.1000)"),
        ([-1.0, 2.0], "tensor([-1.,  2.])"),
        ([1.0, 2.5], "tensor([1.0000, 2.5000])"),
        ([0.0, 0.0], "tensor([0., 0.])"),
        ([-0.0, 1.0], "tensor([-0., 1.])"),
        ([nan, inf, 1.0], "tensor([nan, inf, 1.])"),
        ([nan, 0.0, -inf], "tensor([nan, 0., -inf])"),
        ([1.5, nan, -inf], "tensor([1.5000,    nan,   -inf])"),
        ([1.0, 1000.0], "tensor([   1., 1000.])"),
        ([1.0, 1001.0], "tensor([1.0000e+00, 1.0010e+03])"),
        ([1.5, 1500.0], "tensor([   1.5000, 1500.0000])"),
        ([1.5, 1501.0], "tensor([1.5000e+00, 1.5010e+03])"),
        ([1e8], "tensor([100000000.])"),
        ([2e8], "tensor([2.0000e+08])"),
        ([1e-8, 1.0], "tensor([1.0000e-08, 1.0000e+00])"),
        ([1e-5, 0.0], "tensor([1.0000e-05, 0.0000e+00])"),
        ([2e-4, 0.05], "tensor([0.0002, 0.0500])"),
        ([9e-5, 0.05], "tensor([9.0000e-05, 5.0000e-02])"),
    ],
)
def test_one_notation_is_chosen_for_all_values(values: Any, text: str) -> None:
    assert shown(values) == text


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (1 + 2j, "tensor(1.+2.j)"),
        ([1 + 2j, -3.5 - 1e-6j], "tensor([ 1.0000+2.0000e+00j, -3.5000-1.0000e-06j])"),
        ([complex(nan, 1), complex(0, inf), complex(-0.0, -0.0)], "tensor([nan+1.j, 0.+infj, -0.-0.j])"),
        ([1 + 1j, 1 + 100j, 1 - 1j], "tensor([1.+1.j, 1.+100.j, 1.-1.j])"),
    ],
)
def test_parts_of_complex_numbers_choose_apart(values: Any, text: str) -> None:
    assert shown(values, "c8") == text


@pytest.mark.parametrize(
    ("values", "dtype", "text"),
    [
        ([1, -20], "i8", "tensor([  1, -20])"),
        ([1, 2], "i4", "tensor([1, 2], dtype=int32)"),
        ([True, False], "?", "tensor([ True, False])"),
        (True, "?", "tensor(True)"),
        ([1.0], "f8", "tensor([1.], dtype=float64)"),
        ([65504.0], "f2", "tensor([65504.], dtype=float16)"),
        ([5e-324, 1.0], "f8", "tensor([4.9407e-324,  1.0000e+00], dtype=float64)"),
        ([1e308, 1e-308], "f8", "tensor([1.0000e+308, 1.0000e-308], dtype=float64)"),
        ([1j], "c16", "tensor([0.+1.j], dtype=complex128)"),
        ([], "f4", "tensor([])"),
        ([], "i8", "tensor([], dtype=int64)"),
        ([], "?", "tensor([], dtype=bool)"),
        ([], "c8", "tensor([], dtype=complex64)"),
        (np.zeros((2, 0, 3)), "f8", "tensor([], size=(2, 0, 3), dtype=float64)"),
        (np.zeros((0, 2)), "f4", "tensor([], size=(0, 2))"),
    ],
)
def test_dtype_and_size_are_named_where_the_values_do_not_tell(values: Any, dtype: str, text: str) -> None:
    assert shown(values, dtype) == text


def test_the_default_dtype_goes_without_saying() -> None:
    assert shown([1.0], "f8", default_dtype="f8") == "tensor([1.])"
    assert shown([1.0], "f4", default_dtype="f8") == "tensor([1.], dtype=float32)"
    assert shown([1j], "c16", default_dtype="f8") == "tensor([0.+1.j])"


def test_rows_are_aligned_under_the_prefix() -> None:
    text = shown([[1.0, 2.5], [3.0, 4.0]], suffixes=["requires_grad=True"])
    assert text == "tensor([[1.0000, 2.5000],\n        [3.0000, 4.0000]], requires_grad=True)"
    assert shown([[1, 2], [3, 4]], prefix="leaf(") == "leaf([[1., 2.],\n      [3., 4.]])"


def test_blocks_are_separated_by_blank_lines() -> None:
    assert shown(np.arange(8).reshape(2, 2, 2), "i8") == textwrap.dedent("""\
        tensor([[[0, 1],
                 [2, 3]],

                [[4, 5],
                 [6, 7]]])""")


def test_long_rows_wrap_at_the_line_width() -> None:
    assert shown(np.arange(30), "i8") == textwrap.dedent("""\
        tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,
                18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29])""")


def test_suffixes_wrap_at_the_line_width() -> None:
    text = shown(np.arange(14) / 2, suffixes=["grad_fn=<DivBackward0>"])
    assert text == textwrap.dedent("""\
        tensor([0.0000, 0.5000, 1.0000, 1.5000, 2.0000, 2.5000, 3.0000, 3.5000, 4.0000,
                4.5000, 5.0000, 5.5000, 6.0000, 6.5000], grad_fn=<DivBackward0>)""")
    text = shown(np.arange(9) / 2, suffixes=["grad_fn=<DivBackward0>"])
    assert text == textwrap.dedent("""\
        tensor([0.0000, 0.5000, 1.0000, 1.5000, 2.0000, 2.5000, 3.0000, 3.5000, 4.0000],
               grad_fn=<DivBackward0>)""")


def test_more_than_a_thousand_elements_are_summarised() -> None:
    assert "..." not in shown(np.zeros(1000))
    assert shown(np.zeros(1001)) == "tensor([0., 0., 0.,  ..., 0., 0., 0.])"
    assert shown(np.arange(1200).reshape(2, 600), "i8") == textwrap.dedent("""\
        tensor([[   0,    1,    2,  ...,  597,  598,  599],
                [ 600,  601,  602,  ..., 1197, 1198, 1199]])""")
    assert shown(np.zeros((40, 40))) == textwrap.dedent("""\
        tensor([[0., 0., 0.,  ..., 0., 0., 0.],
                [0., 0., 0.,  ..., 0., 0., 0.],
                [0., 0., 0.,  ..., 0., 0., 0.],
                ...,
                [0., 0., 0.,  ..., 0., 0., 0.],
                [0., 0., 0.,  ..., 0., 0., 0.],
                [0., 0., 0.,  ..., 0., 0., 0.]])""")


def test_hidden_elements_do_not_choose_the_notation() -> None:
    values = np.zeros(2000)
    values[1000] = 1e-9
    assert shown(values) == "tensor([0., 0., 0.,  ..., 0., 0., 0.])"


def test_printoptions_change_and_the_default_profile_restores_them() -> None:
    before = get_printoptions()
    set_printoptions(precision=2)
    assert shown([0.123]) == "tensor([0.12])"
    set_printoptions(sci_mode=True)
    assert shown([1.0, nan, 0.0]) == "tensor([1.00e+00,      nan, 0.00e+00])"
    set_printoptions(sci_mode=False)
    assert shown([1.5, 20000.0]) == "tensor([    1.50, 20000.00])"
    set_printoptions(profile="short", threshold=4)
    assert shown([1.5] * 5) == "tensor([1.50, 1.50,  ..., 1.50, 1.50])"
    set_printoptions(edgeitems=0)
    assert shown([[1.5] * 5]) == "tensor([...], size=(1, 5))"
    set_printoptions(profile="full", linewidth=20)
    assert "..." not in shown(np.zeros(2000))
    assert shown([1.0] * 4) == "tensor([1., 1., 1.,\n        1.])"
    set_printoptions(profile="default")
    assert get_printoptions() == before


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown profile 'tiny', expected one of default, short, full"):
        set_printoptions(profile="tiny")


def random_values(rng: np.random.Generator, size: int, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    if dtype.kind == "b":
        return rng.random(size) < 0.5
    if dtype.kind in "iu":
        info, reach = np.iinfo(dtype), rng.choice([5, 2000, 2**63])
        return rng.integers(max(info.min, -reach), min(info.max, reach - 1), size, dtype, endpoint=True)
    if dtype.kind == "c":
        real, imag = (random_values(rng, size, np.dtype("f8")) for _ in range(2))
        return (real + 1j * imag).astype(dtype)
    values = rng.standard_normal(size) * 10.0 ** rng.choice([0, rng.integers(-6, 10)])
    values *= 10.0 ** (rng.uniform(-6, 6, size) * rng.choice([0, 0, 0, 1]))
    values = rng.choice([values, np.round(values), np.round(4 * values) / 4, np.abs(values)])
    special = rng.random(size) < rng.choice([0, 0, 0.1, 0.5, 1])
    return np.where(special, rng.choice([nan, inf, -inf, 0.0, -0.0], size), values).astype(dtype)


def random_array(rng: np.random.Generator) -> np.ndarray[Any, Any]:
    ndim = int(rng.integers(5))
    longest = ([1, 1200, 60, 14, 8] if rng.random() < 0.1 else [1, 40, 9, 5, 4])[ndim]
    shape = rng.integers(int(rng.random() < 0.9), longest, ndim, endpoint=True)
    return random_values(rng, int(np.prod(shape)), np.dtype(rng.choice(DTYPES))).reshape(shape)


def random_options(rng: np.random.Generator) -> dict[str, Any]:
    if rng.random() < 0.7:
        return {"profile": "default"}
    return {
        "profile": "default",
        "precision": int(rng.integers(8)),
        "threshold": int(rng.integers(1, 100)),
        "edgeitems": int(rng.integers(5)),
        "linewidth": int(rng.integers(20, 130)),
        "sci_mode": [None, True, False][rng.integers(3)],
    }


@pytest.mark.filterwarnings("ignore:overflow encountered in cast:RuntimeWarning")  # float64 values made float16
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")  # and complex numbers made of inf
def test_random_arrays_print_as_in_pytorch() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    try:
        for _ in range(3000):
            array, options = random_array(rng), random_options(rng)
            torch.set_printoptions(**options)
            set_printoptions(**options)
            peer, suffixes = torch.from_numpy(array.copy()), []
            if array.dtype.kind in "fc" and rng.random() < 0.5:
                peer, suffixes = peer.requires_grad_().clone(), ["grad_fn=<CloneBackward0>"]
            assert format_tensor(array, suffixes=suffixes) == repr(peer).replace("torch.", "")
    finally:
        torch.set_printoptions(profile="default")
