"""Samples of the layers and losses of neural networks."""

from __future__ import annotations

import numpy as np

from tests.ops.sample import Sample, apart, ints, nonzero, real, sample

_TARGET = np.array([2, 0, 1])
_SOME_IGNORED = np.array([2, -100, 1])
_GRID = np.array([[2, 0], [1, 1]])
_WEIGHT = np.array([0.5, 1.0, 2.0, 1.5])
_PROBABILITY = {"low": 0.1, "high": 0.9}


def _losses(name: str, *samples: Sample) -> dict[str, list[Sample]]:
    """The same calls of a loss's three primitives."""
    return {name + reduction: list(samples) for reduction in ("", "_mean", "_sum")}


def _classes() -> list[Sample]:
    """The calls of a loss of numbers per class and a class."""
    common = {"axis": 1, "ignored": -100}
    return [
        *(sample(real(3, 4), _TARGET, 1.0, reduction=reduction, **common) for reduction in ("mean", "sum", "none")),
        sample(real(3, 4), _SOME_IGNORED, 1.0, reduction="mean", **common),
        sample(real(3, 4), _TARGET, _WEIGHT, reduction="mean", **common),
        sample(real(2, 4, 2), _GRID, _WEIGHT, reduction="sum", **common),
        sample(real(2, 3, 2), _GRID, 1.0, reduction="mean", axis=1, ignored=0),
        sample(real(4), np.array(2), 1.0, reduction="mean", axis=0, ignored=-100),
    ]


SAMPLES: dict[str, list[Sample]] = {
    # layers
    "affine": [sample(real(3), real(5, 2), real(3, 2)), sample(real(3), real(2), real(3, 2)),
               sample(real(3), real(2, 4, 2), real(3, 2))],
    "linear_map": [sample(real(5, 2), real(3, 2)), sample(real(2), real(3, 2)), sample(real(2, 4, 2), real(3, 2))],
    "embedding": [sample(real(5, 2), np.array([[0, 4, 4], [1, 0, 0]]), padding=None),
                  sample(real(5, 2), np.array([0, 4, 4]), padding=None), sample(real(5), np.array(3), padding=None)],
    "embedding_adjoint": [sample(real(2, 3, 2), np.array([[0, 4, 4], [1, 0, 0]]), rows=6, padding=None),
                          sample(real(4, 2), np.array([0, 4, 4, 1]), rows=5, padding=4)],
    "standardize": [sample(real(4, 3), axis=(1,), eps=1e-5), sample(real(4, 3, 2), axis=(0, 2), eps=1e-5)],
    "standardize_affine": [sample(real(4, 3), real(3), real(3), axis=(1,), eps=1e-5),
                           sample(real(4, 3, 2), real(3, 1), real(3, 1), axis=(0, 2), eps=1e-5)],
    "identities": [sample(real(2, 3)), sample(real(2), real(3))],
    # convolution and pooling
    "conv": [sample(real(2, 4, 5), real(6, 2, 3), stride=(2,), padding=(1,), dilation=(1,), groups=2),
             sample(real(2, 2, 6, 5), real(3, 2, 3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=1)],
    "conv_input": [sample(real(2, 6, 3), real(6, 2, 3), size=(5,), stride=(2,), padding=(1,), dilation=(1,), groups=2),
                   sample(real(2, 3, 3, 3), real(3, 2, 3, 2), size=(6, 5), stride=(2, 1), padding=(1, 0), dilation=(1,
                   2),
                          groups=1)],
    "conv_filter": [sample(real(2, 4, 5), real(2, 6, 3), kernel=(3,), stride=(2,), padding=(1,), dilation=(1,),
    groups=2),
                    sample(real(2, 2, 6, 5), real(2, 3, 3, 3), kernel=(3, 2), stride=(2, 1), padding=(1, 0),
                           dilation=(1, 2), groups=1)],
    "sum_pool": [sample(real(2, 3, 5), kernel=(2,), stride=(1,), padding=(1,)),
                 sample(real(2, 1, 5, 4), kernel=(3, 2), stride=(2, 2), padding=(1, 0))],
    "sum_unpool": [sample(real(2, 3, 6), size=(5,), kernel=(2,), stride=(1,), padding=(1,)),
                   sample(real(2, 1, 3, 2), size=(5, 4), kernel=(3, 2), stride=(2, 2), padding=(1, 0))],
    "max_pool_index": [sample(real(2, 3, 5), kernel=(2,), stride=(1,), padding=(1,), dilation=(1,)),
                       sample(real(2, 1, 5, 4), kernel=(2, 2), stride=(2, 1), padding=(1, 0), dilation=(2, 1))],
    # activations
    "hardsigmoid": [sample(real(3, 2)), sample(np.array([-3.0, 3.0, 0.0, 4.0, -4.0]), smooth=False)],
    "hardswish": [sample(real(3, 2)), sample(np.array([-3.0, 3.0, 0.0, 4.0, -4.0]), smooth=False)],
    "softshrink": [sample(apart(3, 4), bound=0.5), sample(np.array([0.5, -0.5, 0.0]), bound=0.5, smooth=False)],
    "hardshrink": [sample(apart(3, 4), bound=0.5), sample(np.array([0.5, -0.5, 0.0]), bound=0.5, smooth=False)],
    "threshold": [sample(apart(3, 4), level=0.2, value=-7.0)],
    "prelu": [sample(nonzero(3, 2), real(2)), sample(nonzero(3, 2), 0.2)],
    # losses
    **_losses("mse_loss", sample(real(3, 4), real(3, 4)), sample(real(3, 4), real(4)), sample(real(3), 0.5)),
    **_losses("l1_loss", sample(apart(3, 4), nonzero(4)), sample(np.ones(2), np.ones(2), smooth=False)),
    **_losses("smooth_l1_loss", sample(apart(3, 4), np.array(0.011), beta=0.9)),
    **_losses("huber_loss", sample(apart(3, 4), np.array(0.011), delta=0.9)),
    **_losses("binary_cross_entropy", sample(real(3, 4, **_PROBABILITY), real(3, 4, **_PROBABILITY))),
    **_losses("binary_cross_entropy_with_logits", sample(real(3, 4), real(3, 4)), sample(real(3), 1.0)),
    **_losses("kl_div", sample(real(3, 4), real(3, 4, **_PROBABILITY))),
    "one_hot": [sample(ints(2, 3), classes=5, axis=2, dtype=np.dtype(np.float32)),
                sample(np.array([-1, 7, 1]), classes=3, axis=0, dtype=np.dtype(np.int64))],
    "class_shares": [sample(_SOME_IGNORED, classes=4, ignored=-100, mean=True, dtype=np.dtype(np.float64)),
                     sample(_TARGET, classes=4, ignored=-100, mean=True, dtype=np.dtype(np.float32)),
                     sample(_GRID, classes=4, ignored=1, mean=False, dtype=np.dtype(np.float64))],
    "nll_loss": _classes(),
    "cross_entropy": _classes(),
}  # fmt: skip
