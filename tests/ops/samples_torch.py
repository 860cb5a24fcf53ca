"""Samples of the primitives that exist for PyTorch's names."""

from __future__ import annotations

import numpy as np

from tests.ops.sample import Sample, apart, bools, cplx, ints, real, sample

SAMPLES: dict[str, list[Sample]] = {
    **{
        name: [sample(apart(3, 4)), sample(apart()), sample(real(0, 2))]
        for name in ("flat_sign", "flat_floor", "flat_ceil", "flat_trunc")
    },
    "flat_round": [
        sample(apart(3, 4), decimals=0),
        sample(np.array([0.12, -3.37]), decimals=1),
        sample(real(0, 2), decimals=0),
    ],
    "flat_floor_divide": [sample(apart(3, 4), 0.7), sample(apart(3), np.array([0.9, -1.3, 2.0]))],
    "swap_axes": [sample(real(2, 3, 4), axis1=0, axis2=2), sample(cplx(2, 3), axis1=1, axis2=0)],
    "matrix_t": [sample(real(2, 3)), sample(cplx(2, 0)), sample(real(3))],
    "flip_copy": [sample(real(2, 3), axis=(0, 1)), sample(cplx(3), axis=(0,)), sample(real(0, 2), axis=(1,))],
    "dot": [sample(real(3), real(3)), sample(cplx(3), cplx(3)), sample(real(0), real(0))],
    "mv": [sample(real(2, 3), real(3)), sample(cplx(2, 3), cplx(3)), sample(real(0, 3), real(3))],
    "bmm": [sample(real(2, 3, 4), real(2, 4, 5)), sample(cplx(1, 2, 2), cplx(1, 2, 2))],
    "picked": [
        sample(real(3, 4), np.array([[0, 0, 1], [3, 2, 1], [1, 1, 1]]), axis=1, label="Topk"),
        sample(cplx(3), np.array([2, 0]), axis=0, label="Sort"),
    ],
    "picked_one": [
        sample(real(3, 4), np.array([0, 3, 1]), axis=1, label="Max"),
        sample(real(3, 2), np.array([0, 0]), axis=0, label="Min"),
        sample(real(4), np.array(1), axis=0, label="Max"),
    ],
    "index_select": [
        sample(real(3, 4), np.array([1, 1, 0]), axis=0),
        sample(real(2, 3), np.array([2, 0, 2, 2]), axis=1),
        sample(real(3), np.array([], dtype=int), axis=0),
    ],
    "masked_fill": [
        sample(real(2, 3), bools(2, 3), real()),
        sample(real(2, 3), bools(3), 0.5),
        sample(cplx(2), bools(2), 1.0),
    ],
    "scatter_add": [
        sample(real(3, 4), np.array([[0, 0, 1], [3, 2, 1]]), real(2, 3), axis=1),
        sample(real(5), ints(7), real(7), axis=0),
        sample(cplx(3, 2), np.array([[0, 2]]), cplx(1, 2), axis=0),
    ],
}
