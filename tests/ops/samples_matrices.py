"""Samples of the linear and matrix functions that SciPy evaluates."""

from __future__ import annotations

import numpy as np

from tests.ops.sample import Array, Drawer, Sample, cplx, real, sample
from tests.ops.samples_arrays import complex_regular, regular


def dominant(*shape: int) -> Drawer:
    """Matrices whose eigenvalues are real parts of 2 to 5."""

    def draw(rng: np.random.Generator) -> Array:
        return np.asarray(rng.uniform(-0.3, 0.3, shape) + np.diag([2.0, 3.5, 5.0][: shape[-1]]))

    return draw


def complex_dominant(*shape: int) -> Drawer:
    return lambda rng: np.asarray(dominant(*shape)(rng) + 1j * rng.uniform(-1.0, 1.0, shape))


FUNCTIONS: dict[str, list[Sample]] = {
    name: [sample(dominant(3, 3)), sample(dominant(2, 2, 2)), sample(complex_dominant(2, 2)), sample(dominant(0, 1, 1))]
    for name in ("logm", "sqrtm")
}

TRANSFORMS: list[Sample] = [
    sample(real(2, 5), kind=kind, number=number, axis=axis, transposed=transposed)
    for kind in ("dct", "dst")
    for number in (1, 2, 3, 4)
    for axis, transposed in ((1, False), (0, True))
]

#: [[1.5, 0, -2], [0, 0, 0.5]] and [[2, 0.5], [0, -1]] in compressed rows
ROWS = (np.array([1.5, -2.0, 0.5]), np.array([0, 2, 2]), np.array([0, 2, 3]))
SQUARE = (np.array([2.0, 0.5, -1.0]), np.array([0, 1, 1]), np.array([0, 2, 3]))

SAMPLES: dict[str, list[Sample]] = {
    **FUNCTIONS,
    "sparse_product": [
        sample(real(3), *ROWS, shape=(2, 3), transposed=False),
        sample(real(3, 2), *ROWS, shape=(2, 3), transposed=False),
        sample(cplx(2), *ROWS, shape=(2, 3), transposed=True), sample(real(2, 0), *ROWS, shape=(2, 3), transposed=True),
        sample(cplx(3), ROWS[0] * 1j, *ROWS[1:], shape=(2, 3), transposed=False),
    ],
    "sparse_solve": [
        sample(real(2), *SQUARE, transposed=False), sample(real(2, 3), *SQUARE, transposed=True),
        sample(cplx(2), SQUARE[0] * (1 + 0.5j), *SQUARE[1:], transposed=False),
        sample(real(2, 0), *SQUARE, transposed=False),
    ],
    "trigonometric": [*TRANSFORMS, sample(cplx(4), kind="dct", number=2, axis=0, transposed=False)],
    "sylvester": [
        sample(dominant(3, 3), dominant(2, 2), real(3, 2)),
        sample(complex_dominant(2, 2), dominant(3, 3), cplx(2, 3)),
        sample(dominant(2, 2, 2), dominant(2, 2), real(2, 2)),
        sample(dominant(0, 2, 2), dominant(2, 2), real(2, 2)),
    ],
    "all_pole": [
        sample(real(2, 5), real(2)), sample(real(3), real(4)), sample(cplx(4), cplx(2)), sample(real(0, 3), real(1)),
        sample(real(1), real(1)),
    ],
    "polar_factor": [
        sample(regular(3, 3)), sample(regular(2, 2, 2)), sample(complex_regular(2, 2)), sample(real(4, 2)),
        sample(cplx(3, 2)),
    ],
    "lu": [
        sample(regular(3, 3)), sample(complex_regular(3, 3)), sample(real(4, 2)), sample(real(2, 3)),
        sample(regular(2, 2, 2)), sample(real(2, 3, 2)), sample(real(1, 1)),
    ],
}  # fmt: skip
