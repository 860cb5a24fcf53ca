"""What `import srcdiff` offers, and that it stays cheap."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import srcdiff as sd


def test_everything_listed_exists_once() -> None:
    assert len(sd.__all__) == len(set(sd.__all__))
    assert all(hasattr(sd, name) for name in sd.__all__)


def test_what_only_numpy_names_is_found_too() -> None:
    x = sd.tensor([1.0, 2.0], requires_grad=True)
    made = sd.expand_dims(x, 0)
    assert made.shape == (1, 2) and made.requires_grad
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        sd.nonsense  # noqa: B018


def test_names_mean_what_they_mean_in_pytorch() -> None:
    x = np.array([[1.0, 4.0], [3.0, 2.0]])
    values, indices = sd.max(sd.tensor(x), 1)
    assert values.tolist() == [4, 3] and indices.tolist() == [1, 0]
    assert sd.std(sd.tensor(x)).item() == np.std(x, ddof=1)
    assert sd.transpose(sd.tensor(x), 0, 1).tolist() == x.T.tolist()


def test_functions_take_arrays_and_then_give_arrays() -> None:
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    for made, wanted in ((sd.exp(x), np.exp(x)), (sd.sum(x, 0), x.sum(0)), (sd.cat([x, x]), np.concatenate([x, x]))):
        assert type(made) is np.ndarray and np.array_equal(made, wanted)


def test_pytorchs_functions_are_differentiated_by_grad() -> None:
    gradient = sd.grad(lambda x: sd.topk(x, 2)[0].sum() + sd.logsumexp(x, 0))(np.array([1.0, 3.0, 2.0]))
    p = np.exp([1.0, 3.0, 2.0]) / np.exp([1.0, 3.0, 2.0]).sum()
    np.testing.assert_allclose(gradient, p + [0, 1, 1])


def test_importing_imports_no_optional_package() -> None:
    code = "import sys, srcdiff; print(sorted({'scipy', 'torch', 'matplotlib', 'llvmlite'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_size_is_a_tuple_that_counts() -> None:
    shape = sd.ones(2, 3).shape
    assert repr(shape) == "Size([2, 3])" and shape.numel() == 6 and shape == (2, 3)
    assert isinstance(shape + (1,), sd.Size) and isinstance(shape[1:], sd.Size) and shape[0] == 2
