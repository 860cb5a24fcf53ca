"""What may not be written, in PyTorch's words; nothing has changed after a refusal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff.tape.modes import modes

Write = Callable[[Any], Any]


def leaf(*values: float) -> Any:
    return sd.tensor(np.array(values or (1.0, 2.0)), requires_grad=True)


def assign(index: Any, value: Any) -> Write:
    return lambda t: t.__setitem__(index, value)


@pytest.mark.parametrize(
    "write",
    [
        lambda t: t.add_(1), lambda t: t.__iadd__(1), lambda t: t.zero_(), lambda t: t.copy_(t * 2),
        assign([0], 1.0), assign(..., 1.0), lambda t: np.copyto(t, 1.0), lambda t: np.add(t, 1, out=t),
        lambda t: t.sort(), lambda t: t.fill(0.0),
    ],
)  # fmt: skip
def test_leaves_that_require_grad(write: Write) -> None:
    x = leaf()
    with pytest.raises(
        RuntimeError, match=r"^a leaf Variable that requires grad is being used in an in-place operation\."
    ):
        write(x)
    assert x.tolist() == [1.0, 2.0] and x._version == 0 and x.is_leaf
    with sd.no_grad():
        write(x)
    assert x.is_leaf and x.requires_grad


def test_views_of_such_leaves() -> None:
    x = leaf()
    with pytest.raises(RuntimeError, match=r"^a view of a leaf Variable that requires grad"):
        x[0] = 1.0
    for view in (x[0], x[:1], x.view(2), x.reshape(2, 1), x.unsqueeze(0)):
        with pytest.raises(
            RuntimeError, match="a view of a leaf Variable that requires grad is being used in an in-place"
        ):
            view.add_(1)
    assert x.tolist() == [1.0, 2.0]


def test_views_made_in_no_grad_mode() -> None:
    y = leaf() * 1
    with sd.no_grad():
        view = y[:1]
    with pytest.raises(
        RuntimeError, match="A view was created in no_grad mode and is being modified inplace with grad mode"
    ):
        view.add_(1)
    y.add_(1)
    with pytest.raises(RuntimeError, match="no_grad mode and its base or another view of its base has been modified"):
        _ = view.grad_fn


def test_parts_that_one_operation_gave() -> None:
    y = leaf() * 1
    with pytest.raises(RuntimeError, match=r"Output 0 of Unbind.* is a view and is being modified inplace"):
        y.unbind()[0].add_(1)


def test_inference_tensors() -> None:
    with sd.inference_mode():
        x = sd.zeros(2)
        x.add_(1)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode is not allowed"):
        x.add_(1)
    with pytest.raises(RuntimeError, match="Inference tensors do not track version counter"):
        _ = x._version


def test_expanded_memory() -> None:
    for write in (lambda t: t.add_(1), assign([0], 1.0), assign(..., 1.0), lambda t: t.zero_()):
        with pytest.raises(
            RuntimeError, match="more than one element of the written-to tensor refers to a single memory"
        ):
            write(sd.ones(1).expand(3))
    sd.ones(3).expand(1, 3).add_(1)


def test_read_only_arrays() -> None:
    array = np.zeros(2)
    array.flags.writeable = False
    x = sd.from_numpy(array)
    with pytest.raises(ValueError, match="read-only"):
        x.add_(1)


@pytest.mark.parametrize(
    ("target", "write", "made", "into"),
    [
        (sd.int64, lambda t: t.add_(0.5), "Float", "Long"),
        (sd.int64, lambda t: t.div_(2), "Float", "Long"),
        (sd.int64, lambda t: t.__itruediv__(2), "Float", "Long"),
        (sd.int32, lambda t: t.mul_(sd.ones(2, dtype=sd.float64)), "Double", "Int"),
        (sd.bool, lambda t: t.add_(1), "Long", "Bool"),
        (sd.float32, lambda t: t.add_(1j), "ComplexFloat", "Float"),
    ],
)
def test_results_of_a_dtype_that_does_not_fit(target: Any, write: Write, made: str, into: str) -> None:
    x = sd.zeros(2, dtype=target)
    with pytest.raises(RuntimeError, match=f"result type {made} can't be cast to the desired output type {into}"):
        write(x)
    assert x._version == 0 and x.dtype == target


def test_narrower_floats_and_assignments_are_cast() -> None:
    x = sd.zeros(2, dtype=sd.float32)
    x.add_(sd.ones(2, dtype=sd.float64))
    assert x.dtype == np.float32 and x.tolist() == [1.0, 1.0]
    k = sd.zeros(2, dtype=sd.int64)
    k[0] = 2.7
    assert k.tolist() == [2, 0]


def test_shapes_do_not_grow() -> None:
    x = sd.zeros(2)
    with pytest.raises(RuntimeError, match=r"output with shape \[2\] doesn't match the broadcast shape \[3, 2\]"):
        x.add_(sd.ones(3, 2))
    assert x.shape == (2,) and x._version == 0


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (0, r"The expanded size of the tensor \(2\) must match the existing size \(3\) at non-singleton dimension 0"),
        (
            [0, 1],
            r"shape mismatch: value tensor of shape \[3\] cannot be broadcast to indexing result of shape \[2, 2\]",
        ),
    ],
)
def test_assigned_values_must_broadcast(index: Any, message: str) -> None:
    x = sd.zeros(3, 2)
    for kind in (RuntimeError, ValueError):
        with pytest.raises(kind, match=message):
            x[index] = sd.ones(3)
    assert x._version == 0


@pytest.mark.parametrize("index", [5, (0, 7), [0, 9], (slice(None), 0, 0)])
def test_an_index_out_of_bounds_changes_nothing(index: Any) -> None:
    x = sd.zeros(3, 2)
    saved = (leaf(1.0) * x).sum()
    with pytest.raises(IndexError):
        x[index] = 1.0
    assert x._version == 0
    saved.backward()


# ------------------------------------------------------------------------------------------------------- saved values


def test_an_overwritten_saved_value_is_an_error_that_names_both_places() -> None:
    x = leaf()
    y = x.exp()
    z = y * 2
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"saved by ExpBackward0 is at version 1; expected version 0") as caught:
        z.sum().backward()
    assert str(caught.value).count("test_rules.py:") == 2


@pytest.mark.parametrize("name", ["exp", "sigmoid", "tanh", "sqrt"])
def test_saved_results_live_in_the_memory_that_is_written(name: str) -> None:
    x = leaf()
    y = x * 1
    getattr(y, name + "_")()
    expected = sd.autograd.grad(getattr(x, name)().sum(), x)[0]
    (found,) = sd.autograd.grad(y.sum(), x, retain_graph=True)
    np.testing.assert_allclose(found.numpy(), expected.numpy())
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_what_an_operation_saves_itself_survives_its_own_write() -> None:
    x = leaf()
    w = leaf(3.0, 4.0)
    y = x * 1
    y.mul_(w)
    y.sin_()
    y.pow_(2)
    y.sum().backward()
    s, c = np.sin(np.array([3.0, 8.0])), np.cos(np.array([3.0, 8.0]))
    np.testing.assert_allclose(w.grad.numpy(), 2 * s * c * [1.0, 2.0])


def test_a_write_to_an_unsaved_value_is_fine() -> None:
    x = leaf()
    z = x / 2
    z.add_(1)
    (z + 1).sum().backward()
    assert x.grad.tolist() == [0.5, 0.5]


def test_hooks_on_saved_tensors_get_the_value_before_the_write() -> None:
    x = leaf()
    packed: list[Any] = []
    modes.update(pack_hooks=((lambda t: packed.append(t) or t, lambda t: t),))
    try:
        y = x * 1
        y.sin_()
        y *= y
    finally:
        modes.update(pack_hooks=())
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.sin(2 * np.array([1.0, 2.0])))
    assert packed[0].tolist() == [1.0, 2.0]


def of_a_library(source: str) -> dict[str, Any]:
    """The names that code defines which lies where NumPy is installed."""
    names: dict[str, Any] = {"np": np}
    path = Path(np.__file__).parents[1] / "somebodys" / "library.py"
    exec(compile(source, str(path), "exec"), names)
    return names


@pytest.mark.parametrize("write", ["y *= 3.0", "y[0] = 0.0", "y.mul_(3.0)", "np.multiply(y, 3.0, out=y)", "y.sort()"])
def test_what_an_installed_library_writes_is_copied_first(write: str) -> None:
    source = f"def library(x):\n    y = np.exp(x)\n    z = np.sum(y * y)\n    {write}\n    return z\n"
    users: dict[str, Any] = {"np": np}
    exec(compile(source, __file__, "exec"), users)
    x = leaf()
    of_a_library(source)["library"](x).backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp([2.0, 4.0]))
    with pytest.raises(sd.errors.AutogradError, match="modified by an inplace operation"):
        users["library"](x).backward()


def test_a_library_writes_into_arrays_without_axes() -> None:
    source = "def largest(x):\n    y = np.max(x)\n    y[...] = 3.0 * y\n    return y\n"
    largest = of_a_library(source)["largest"]
    assert sd.grad(lambda x: largest(x) ** 2)(np.array([1.0, 2.0])).tolist() == [0, 36]
    x = leaf()
    (largest(x) ** 2).backward()
    assert x.grad.tolist() == [0, 36]
