"""Initial values have the moments and bounds that their formulas promise, come from the generator, and are not
recorded.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff.nn import Parameter, init, utils

SHAPE = (200, 50, 2)  # fan_in 100, fan_out 400

#: a filling and the half width of its uniform distribution
UNIFORM: list[tuple[Callable[[Any], Any], float]] = [
    (lambda t: init.uniform_(t, -0.5, 0.5), 0.5),
    (lambda t: init.xavier_uniform_(t, gain=2.0), 2.0 * math.sqrt(6 / 500)),
    (lambda t: init.kaiming_uniform_(t), math.sqrt(2.0) * math.sqrt(3 / 100)),
    (lambda t: init.kaiming_uniform_(t, a=1.0, mode="fan_out"), math.sqrt(3 / 400)),
    (lambda t: init.kaiming_uniform_(t, nonlinearity="tanh"), 5 / 3 * math.sqrt(3 / 100)),
]
#: a filling and the standard deviation of its normal distribution
NORMAL: list[tuple[Callable[[Any], Any], float]] = [
    (lambda t: init.normal_(t, std=0.3), 0.3),
    (lambda t: init.xavier_normal_(t), math.sqrt(2 / 500)),
    (lambda t: init.kaiming_normal_(t, mode="fan_out", nonlinearity="relu"), math.sqrt(2 / 400)),
    (lambda t: init.kaiming_normal_(t, nonlinearity="linear"), math.sqrt(1 / 100)),
]


def filled(fill: Callable[[Any], Any], shape: tuple[int, ...] = SHAPE) -> Any:
    sd.manual_seed(0)
    parameter = Parameter(np.zeros(shape))
    assert fill(parameter) is parameter
    assert parameter.is_leaf and parameter.requires_grad
    return parameter.detach().numpy()


@pytest.mark.parametrize(("fill", "bound"), UNIFORM)
def test_uniform(fill: Callable[[Any], Any], bound: float) -> None:
    values = filled(fill)
    assert 0.999 * bound < np.abs(values).max() <= bound
    assert abs(values.mean()) < 4 * bound / math.sqrt(3 * values.size)
    assert values.std() == pytest.approx(bound / math.sqrt(3), rel=0.02)


@pytest.mark.parametrize(("fill", "std"), NORMAL)
def test_normal(fill: Callable[[Any], Any], std: float) -> None:
    values = filled(fill)
    assert abs(values.mean()) < 4 * std / math.sqrt(values.size)
    assert values.std() == pytest.approx(std, rel=0.02)


def test_truncated_values_stay_inside() -> None:
    values = filled(lambda t: init.trunc_normal_(t, 0.5, 1.0, 0.0, 1.5))
    assert values.min() >= 0 and values.max() <= 1.5 and values.mean() == pytest.approx(0.7, abs=0.03)
    assert set(np.unique(filled(lambda t: init.trunc_normal_(t, 0.0, 1.0, 50.0, 51.0), (4,)))) == {50.0}


def test_constants() -> None:
    assert np.all(filled(lambda t: init.constant_(t, 2.5)) == 2.5)
    assert np.all(filled(init.ones_) == 1) and not filled(init.zeros_).any()
    assert np.array_equal(filled(init.eye_, (3, 4)), np.eye(3, 4))


def test_a_dirac_kernel_keeps_the_input() -> None:
    x = sd.randn(2, 4, 7)
    for groups in (1, 2):
        kernel = sd.zeros(4, 4 // groups, 3)
        init.dirac_(kernel, groups)
        assert np.array_equal(sd.nn.functional.conv1d(x, kernel, padding=1, groups=groups).numpy(), x.numpy())


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 2, 3)])
def test_orthogonal_rows_or_columns(shape: tuple[int, ...]) -> None:
    matrix = filled(lambda t: init.orthogonal_(t, gain=2.0), shape).reshape(shape[0], -1)
    small = matrix.T @ matrix if matrix.shape[0] >= matrix.shape[1] else matrix @ matrix.T
    np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=1e-12)


def test_each_column_has_its_zeros() -> None:
    values = filled(lambda t: init.sparse_(t, 0.3), (20, 5))
    assert np.array_equal((values == 0).sum(0), [6] * 5)


def test_a_generator_decides() -> None:
    one, two = (init.normal_(sd.zeros(3), generator=sd.Generator().manual_seed(4)).tolist() for _ in range(2))
    assert one == two


def test_gains() -> None:
    assert [init.calculate_gain(name) for name in ("conv2d", "sigmoid", "relu", "selu")] == [1, 1, math.sqrt(2), 0.75]
    assert init.calculate_gain("leaky_relu", 1.0) == 1.0


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: init.calculate_gain("odd"), "Unsupported nonlinearity"),
        (lambda: init.calculate_gain("leaky_relu", True), "not a valid number"),
        (lambda: init.xavier_normal_(sd.zeros(3)), "fewer than 2 dimensions"),
        (lambda: init.kaiming_normal_(sd.zeros(3, 3), mode="odd"), "Mode odd not supported"),
        (lambda: init.eye_(sd.zeros(3)), "Only tensors with 2 dimensions"),
        (lambda: init.dirac_(sd.zeros(3)), "Only tensors with 3, 4, or 5"),
        (lambda: init.dirac_(sd.zeros(3, 1, 1), 2), "divisible by groups"),
        (lambda: init.orthogonal_(sd.zeros(3)), "2 or more dimensions"),
        (lambda: init.sparse_(sd.zeros(3), 0.1), "Only tensors with 2 dimensions"),
    ],
)
def test_errors(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        call()


@pytest.mark.parametrize("fill", [init.kaiming_normal_, init.kaiming_uniform_])
def test_nothing_to_fill(fill: Callable[[Any], Any]) -> None:
    with pytest.warns(UserWarning, match="zero-element"):
        fill(sd.zeros(0, 3))


def with_gradients(*grads: Any) -> list[Any]:
    made = []
    for grad in grads:
        parameter = Parameter(np.zeros(np.shape(grad)))
        parameter.grad = sd.tensor(grad, dtype=sd.float64)
        made.append(parameter)
    return [*made, Parameter(np.zeros(2))]  # one without a gradient


@pytest.mark.parametrize("order", [2.0, 1.0, 3.0, math.inf])
def test_the_norm_of_all_gradients_is_clipped(order: float) -> None:
    grads = [[3.0, -4.0], [[12.0]]]
    parameters = with_gradients(*grads)
    whole = np.linalg.norm([3.0, -4.0, 12.0], order)
    assert utils.clip_grad_norm_(parameters, 100.0, order).item() == pytest.approx(whole)
    assert parameters[0].grad.tolist() == [3.0, -4.0]
    utils.clip_grad_norm_(parameters, 1.0, order)
    assert utils.get_total_norm([p.grad for p in parameters[:2]], order).item() == pytest.approx(1.0, rel=1e-5)
    np.testing.assert_allclose(parameters[0].grad.numpy(), np.array(grads[0]) / whole, rtol=1e-5)


def test_norms_at_the_edge() -> None:
    assert utils.get_total_norm([]).item() == 0.0
    assert utils.get_total_norm(sd.tensor([3.0, 4.0])).item() == 5.0
    assert utils.clip_grad_norm_(with_gradients([0.0, 2.0], [0.0])[0], 1.0, 0.0).item() == 1.0
    with pytest.raises(RuntimeError, match="is non-finite, so it cannot be clipped"):
        utils.clip_grad_norm_(with_gradients([math.nan]), 1.0, error_if_nonfinite=True)


def test_elements_of_gradients_are_clipped() -> None:
    parameters = with_gradients([3.0, -4.0, 0.5])
    utils.clip_grad_value_(parameters, 1.0)
    assert parameters[0].grad.tolist() == [1.0, -1.0, 0.5]


def test_parameters_as_one_vector_and_back() -> None:
    parameters = [Parameter(np.arange(6.0).reshape(2, 3)), Parameter(np.array(7.0))]
    vector = utils.parameters_to_vector(parameters)
    assert vector.tolist() == [0, 1, 2, 3, 4, 5, 7] and vector.requires_grad
    utils.vector_to_parameters(2 * vector.detach(), parameters)
    assert parameters[0].tolist() == [[0, 2, 4], [6, 8, 10]] and parameters[1].item() == 14
    with pytest.raises(TypeError, match=r"expected torch.Tensor"):
        utils.vector_to_parameters([1.0], parameters)
    with pytest.raises(RuntimeError, match="values for parameters of 7"):
        utils.vector_to_parameters(sd.zeros(3), parameters)
