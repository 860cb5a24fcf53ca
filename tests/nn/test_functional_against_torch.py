"""Values and gradients of `nn.functional` are PyTorch's, in float64."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from srcdiff.creation import from_numpy
from srcdiff.nn import functional as F
from tests.nn.peer import Peer, gradients, here, there, torch

Array = np.ndarray[Any, Any]
Draw = Callable[[np.random.Generator], Array]


def real(*shape: int) -> Draw:
    return lambda rng: rng.uniform(-2, 2, shape)


def share(*shape: int) -> Draw:
    return lambda rng: rng.uniform(0.05, 0.95, shape)


def rows(*shape: int) -> Draw:
    """Probabilities along the axis 1."""

    def draw(rng: np.random.Generator) -> Array:
        values = rng.uniform(0.1, 1.0, shape)
        return np.asarray(values / values.sum(1, keepdims=True))

    return draw


X = real(4, 5)
KINKS = np.array([-6.0, -3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0, 6.0, 30.0])
CLASSES = np.array([0, 4, 2, 2])
IGNORED = np.array([0, -100, 2, 1])
GRID = np.array([[0, 1, 2], [2, -100, 0]])
WEIGHT = np.array([0.5, 1.0, 2.0, 1.5, 0.25])
SIGNS = np.array([1.0, -1.0, 1.0, -1.0])

ACTIVATIONS: list[tuple[str, dict[str, Any]]] = [
    ("relu", {}), ("leaky_relu", {}), ("leaky_relu", {"negative_slope": 0.3}), ("hardtanh", {}),
    ("hardtanh", {"min_val": -3.0, "max_val": 0.5}), ("relu6", {}), ("elu", {}), ("elu", {"alpha": 0.7}), ("selu", {}),
    ("celu", {"alpha": 1.3}), ("softplus", {}), ("softplus", {"beta": 2.0, "threshold": 3.0}), ("gelu", {}),
    ("gelu", {"approximate": "tanh"}), ("silu", {}), ("mish", {}), ("logsigmoid", {}), ("sigmoid", {}), ("tanh", {}),
    ("hardswish", {}), ("hardsigmoid", {}), ("tanhshrink", {}), ("softsign", {}), ("softshrink", {}),
    ("hardshrink", {"lambd": 0.7}), ("threshold", {"threshold": 0.5, "value": -2.0}), ("softmax", {"dim": 0}),
    ("log_softmax", {"dim": -1}), ("softmin", {"dim": 0}), ("glu", {}), ("rrelu", {}),
]  # fmt: skip

CASES: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("prelu", [X, np.array([0.2])], {}),
    ("prelu", [X, WEIGHT], {}),
    ("linear", [X, real(3, 5)], {}),
    ("linear", [X, real(3, 5), real(3)], {}),
    ("linear", [real(5), real(3, 5), real(3)], {}),
    ("linear", [real(2, 4, 5), real(3, 5), real(3)], {}),
    ("bilinear", [X, real(4, 3), real(2, 5, 3), real(2)], {}),
    ("embedding", [np.array([[1, 0, 1], [3, 1, 1]]), real(4, 2)], {}),
    ("embedding", [np.array([1, 0, 1]), real(4, 2)], {"padding_idx": 1}),
    ("layer_norm", [X, (5,)], {}),
    ("layer_norm", [real(2, 3, 4), (3, 4), real(3, 4), real(3, 4)], {}),
    ("layer_norm", [X, (5,), real(5)], {}),
    ("rms_norm", [X, (5,), real(5)], {}),
    ("batch_norm", [X, None, None, real(5), real(5)], {"training": True}),
    ("batch_norm", [real(3, 2, 4), None, None, real(2), real(2)], {"training": True}),
    ("batch_norm", [real(3, 2, 4), real(2), share(2), real(2), real(2)], {}),
    ("group_norm", [real(3, 4, 2), 2, real(4), real(4)], {}),
    ("instance_norm", [real(3, 4, 5)], {}),
    ("normalize", [X], {}),
    ("normalize", [X], {"p": 3.0, "dim": 0}),
    ("normalize", [X], {"p": 1.0}),
    ("cosine_similarity", [X, X], {}),
    ("pairwise_distance", [X, real(4, 5)], {}),
    ("pad", [X, (1, 2)], {"value": 3.0}),
    ("pad", [X, (-1, 2, 1, 0)], {}),
    ("pad", [real(2, 3, 5), (1, 2)], {"mode": "reflect"}),
    ("pad", [real(2, 3, 5), (1, 2)], {"mode": "replicate"}),
    ("pad", [real(2, 3, 5), (1, 2)], {"mode": "circular"}),
    ("conv1d", [real(2, 4, 9), real(6, 2, 3), real(6)], {"stride": 2, "padding": 1, "groups": 2}),
    ("conv1d", [real(2, 9), real(3, 2, 4)], {"padding": "same", "dilation": 3}),
    ("conv2d", [real(2, 3, 6, 5), real(4, 3, 3, 2), real(4)], {"stride": (2, 1), "padding": 1, "dilation": (1, 2)}),
    ("conv3d", [real(1, 2, 4, 4, 4), real(3, 2, 2, 2, 2)], {}),
    ("conv_transpose1d", [real(2, 4, 5), real(4, 3, 3), real(6)], {"stride": 2, "output_padding": 1, "groups": 2}),
    ("conv_transpose2d", [real(2, 3, 3, 4), real(3, 2, 3, 2), real(2)], {"stride": 2, "padding": 1}),
    ("max_pool1d", [real(2, 3, 8), 3], {"stride": 2, "padding": 1, "dilation": 2}),
    ("max_pool2d", [real(2, 3, 6, 5), 2], {}),
    ("max_pool2d", [real(3, 6, 5), (3, 2)], {"stride": 1, "padding": 1}),
    ("avg_pool1d", [real(2, 3, 7), 3], {"padding": 1}),
    ("avg_pool2d", [real(2, 3, 6, 5), (3, 2)], {"stride": 2, "padding": 1, "count_include_pad": False}),
    ("adaptive_avg_pool1d", [real(2, 3, 7), 3], {}),
    ("adaptive_avg_pool2d", [real(2, 3, 7, 6), (3, 4)], {}),
    ("mse_loss", [X, X], {}),
    ("l1_loss", [X, X], {}),
    ("smooth_l1_loss", [X, X], {"beta": 0.7}),
    ("smooth_l1_loss", [X, X], {"beta": 0.0}),
    ("huber_loss", [X, X], {"delta": 0.7}),
    ("binary_cross_entropy", [share(4, 5), share(4, 5)], {}),
    ("binary_cross_entropy_with_logits", [X, share(4, 5)], {}),
    ("binary_cross_entropy_with_logits", [X, share(4, 5)], {"pos_weight": WEIGHT}),
    ("binary_cross_entropy_with_logits", [X, share(4, 5)], {"weight": WEIGHT}),
    ("kl_div", [X, rows(4, 5)], {}),
    ("kl_div", [X, X], {"log_target": True}),
    ("poisson_nll_loss", [X, share(4, 5)], {"full": True}),
    ("poisson_nll_loss", [share(4, 5), share(4, 5)], {"log_input": False}),
    ("gaussian_nll_loss", [X, X, share(4, 5)], {"full": True}),
    ("gaussian_nll_loss", [X, X, share(4, 1)], {}),
    ("soft_margin_loss", [real(4), SIGNS], {}),
    ("hinge_embedding_loss", [real(4), SIGNS], {}),
    ("margin_ranking_loss", [real(4), real(4), SIGNS], {"margin": 0.3}),
    ("cosine_embedding_loss", [X, X, SIGNS], {"margin": 0.1}),
    ("triplet_margin_loss", [X, X, X], {"swap": True}),
    ("nll_loss", [X, CLASSES], {}),
    ("nll_loss", [X, IGNORED], {"weight": WEIGHT}),
    ("nll_loss", [real(5), np.array(3)], {}),
    ("nll_loss", [real(2, 4, 3), np.abs(GRID) % 4], {"ignore_index": 2}),
    ("cross_entropy", [X, CLASSES], {}),
    ("cross_entropy", [X, IGNORED], {}),
    ("cross_entropy", [X, CLASSES], {"weight": WEIGHT}),
    ("cross_entropy", [X, IGNORED], {"weight": WEIGHT, "label_smoothing": 0.2}),
    ("cross_entropy", [X, IGNORED], {"label_smoothing": 0.2}),
    ("cross_entropy", [X, CLASSES], {"ignore_index": 2}),
    ("cross_entropy", [real(5), np.array(3)], {}),
    ("cross_entropy", [real(2, 4, 3), GRID], {"label_smoothing": 0.1}),
    ("cross_entropy", [X, rows(4, 5)], {}),
    ("cross_entropy", [X, rows(4, 5)], {"weight": WEIGHT, "label_smoothing": 0.3}),
    ("cross_entropy", [real(2, 4, 3), rows(2, 4, 3)], {}),
]  # fmt: skip

#: PyTorch holds some constants (1/6, 1e-12) in float32
TOLERANCE = 1e-6
LOSSES = {name for name, _, _ in CASES if name.endswith(("loss", "entropy", "logits", "div"))}


def drawn(args: list[Any]) -> list[Any]:
    rng = np.random.default_rng(0)
    return [arg(rng) if callable(arg) else arg for arg in args]


@pytest.mark.parametrize(("name", "options"), ACTIVATIONS)
def test_activations(name: str, options: dict[str, Any], pytorch: Peer) -> None:
    for x in (drawn([real(4, 6)])[0], KINKS):
        if options.get("dim") == 0 and x.ndim == 1 and name == "log_softmax":
            continue
        ours, theirs = gradients(pytorch, name, [x], options)
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a, b, rtol=TOLERANCE, atol=1e-12)


def reduced(name: str, options: dict[str, Any]) -> list[dict[str, Any]]:
    """The options alone, and of a loss with each reduction."""
    kinds = [*(["mean", "sum", "none"] if name in LOSSES else []), *(["batchmean"] if name == "kl_div" else [])]
    return [options, *({**options, "reduction": kind} for kind in kinds)]


@pytest.mark.parametrize(
    ("name", "args", "options"), [(name, args, o) for name, args, options in CASES for o in reduced(name, options)]
)
def test_functions(name: str, args: list[Any], options: dict[str, Any], pytorch: Peer) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        ours, theirs = gradients(pytorch, name, drawn(args), options)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=TOLERANCE, atol=1e-12)


def test_batch_norm_moves_the_running_statistics(pytorch: Peer) -> None:
    x = np.random.default_rng(0).normal(size=(4, 3, 2))

    def moved(functional: Any, make: Any) -> list[Array]:
        statistics = [make(np.zeros(3)), make(np.ones(3))]
        functional.batch_norm(make(x), *statistics, training=True, momentum=0.3)
        return [each.numpy() for each in statistics]

    theirs = pytorch(lambda: moved(torch().nn.functional, torch().from_numpy))
    for a, b in zip(moved(F, from_numpy), theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_one_hot(pytorch: Peer) -> None:
    index = np.array([[0, 2], [1, 1]])
    for classes in (-1, 4):
        want = pytorch(lambda: torch().nn.functional.one_hot(torch().from_numpy(index), classes).numpy())  # noqa: B023
        got = F.one_hot(from_numpy(index), classes).numpy()
        assert np.array_equal(want, got) and got.dtype == want.dtype


def test_the_norm_of_zero_has_a_finite_gradient(pytorch: Peer) -> None:
    ours, theirs = gradients(pytorch, "normalize", [np.zeros((2, 3))], {})
    assert all(math.isfinite(v) for v in np.ravel(ours[1]))
    np.testing.assert_allclose(ours[1], theirs[1])


def test_binary_cross_entropy_of_certainty_is_clamped(pytorch: Peer) -> None:
    x, y = np.array([0.0, 1.0, 0.3]), np.array([1.0, 1.0, 0.0])

    def answer(functional: Any, make: Any, constant: Any) -> list[Any]:
        leaf = make(x)
        value = functional.binary_cross_entropy(leaf, constant(y))
        value.backward()
        return [value.item(), leaf.grad.numpy()]

    theirs = pytorch(lambda: answer(torch().nn.functional, there, torch().from_numpy))
    for a, b in zip(answer(F, here, from_numpy), theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=TOLERANCE)
