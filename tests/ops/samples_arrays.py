"""Samples of the primitives that move, join, select and multiply arrays.

What depends on the phase of vectors, or reads one triangle of a symmetric matrix, is not smooth in the sense of the
laws; `tests/functions/test_linalg.py` checks those on functions that do not depend on the choice.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.index import Index, split
from tests.ops.sample import Array, Drawer, Sample, cplx, ints, real, sample


def regular(*shape: int) -> Drawer:
    """Square matrices far from singular ones."""
    return lambda rng: np.asarray(rng.uniform(-1.0, 1.0, shape) + np.diag([3.0, -3.0, 4.5][: shape[-1]]))


def complex_regular(*shape: int) -> Drawer:
    return lambda rng: np.asarray(regular(*shape)(rng) + 1j * rng.uniform(-1.0, 1.0, shape))


def spectrum(*shape: int) -> Drawer:
    """Matrices with singular values 1, 2, 3 ... in some basis."""

    def draw(rng: np.random.Generator) -> Array:
        u, _, v = np.linalg.svd(rng.standard_normal(shape), full_matrices=False)
        return np.asarray((u * np.arange(1.0, u.shape[-1] + 1)) @ v)

    return draw


def symmetric(*shape: int) -> Drawer:
    def draw(rng: np.random.Generator) -> Array:
        u = np.linalg.qr(rng.standard_normal(shape))[0]
        return np.asarray((u * np.arange(1.0, shape[-1] + 1)) @ np.swapaxes(u, -1, -2))

    return draw


def rank(r: int, *shape: int) -> Drawer:
    """Matrices of a rank lower than full."""
    inner = (*shape[:-1], r), (*shape[:-2], r, shape[-1])
    return lambda rng: np.asarray(rng.standard_normal(inner[0]) @ rng.standard_normal(inner[1]))


def at(index: Any, *shape: int, vary: bool = False) -> tuple[Index, tuple[Any, ...]]:
    return split(index, shape, vary)


INDICES: list[tuple[Any, tuple[int, ...]]] = [
    (1, (3, 4)),
    ((slice(1, None), slice(None, None, 2)), (3, 4)),
    ((Ellipsis, None, -1), (2, 3)),
    ((), (2, 3)),
    (slice(None, None, -1), (4,)),
    (slice(3, 1), (4,)),
    (np.array([0, 2, 2, -1]), (4, 2)),
    ((np.array([[0], [1]]), slice(None), np.array([0, 2])), (2, 2, 3)),
    ((slice(None), np.array([1, 1]), 0), (2, 3, 2)),
    (np.array([True, False, True]), (3, 2)),
    (np.array([[True, False], [True, True]]), (2, 2)),
    ((True, 0), (2, 2)),
    (np.array([], dtype=int), (3, 2)),
    (np.array(1), (3, 2)),
]


def getitems(vary: bool) -> list[Sample]:
    out = []
    for index, shape in INDICES:
        static, dynamic = at(index, *shape, vary=vary)
        out.append(sample(real(*shape), *dynamic, index=static))
    return out


def writes(values: Drawer | None = None, **params: Any) -> list[Sample]:
    out = []
    for index, shape in INDICES:
        static, dynamic = at(index, *shape)
        selected = np.zeros(shape)[index].shape
        more = {"unique": static.unique} if params else {}
        out.append(sample(real(*shape), values or real(*selected), *dynamic, index=static, **more))
    return out


def scatters() -> list[Sample]:
    out = []
    for index, shape in INDICES:
        static, dynamic = at(index, *shape)
        selected = np.zeros(shape)[index].shape
        out.append(sample(real(*selected), *dynamic, index=static, shape=shape, unique=static.unique))
    many, dynamic = at(np.arange(100) % 7, 9, 2)
    out.append(sample(real(100, 2), *dynamic, index=many, shape=(9, 2), unique=False))
    out.append(sample(cplx(100, 2), *dynamic, index=many, shape=(9, 2), unique=False))
    return out


def last_writes() -> list[Sample]:
    out = []
    for index, shape in INDICES:
        static, dynamic = at(index, *shape)
        if dynamic:
            out.append(sample(*dynamic, index=static, shape=shape))
    return out


MOVES: dict[str, list[Sample]] = {
    "squeeze": [sample(real(1, 3, 1), axis=(0, 2)), sample(real(1), axis=(0,))],
    "expand_dims": [sample(real(3), axis=(0, 2)), sample(real(), axis=(0,))],
    "copy": [sample(real(2, 3)), sample(real())],
    "compact": [sample(real(2, 3)), sample(real())],
    "contiguous": [sample(real(2, 3)), sample(real(3))],
    "flip": [sample(real(3, 4), axis=0), sample(cplx(3, 4), axis=(0, 1)), sample(real(0, 2), axis=(1,))],
    "roll": [sample(real(5), shift=2, axis=0), sample(real(3, 4), shift=(-1, 6), axis=(0, 1))],
    "repeat": [sample(real(3, 2), repeats=3, axis=1), sample(real(3), repeats=0, axis=0),
        sample(cplx(2), repeats=2, axis=0)],
    "tile": [sample(real(3), reps=(2, 2)), sample(real(2, 3), reps=(1, 3)), sample(real(), reps=(2,))],
    "pad": [sample(real(2, 3), pad_width=((1, 0), (0, 2)))],
    "diagonal": [
        sample(real(3, 4), offset=0, axis1=0, axis2=1),
        sample(real(3, 2, 4), offset=-1, axis1=2, axis2=0),
        sample(real(2, 2), offset=5, axis1=0, axis2=1),
    ],
    "diag": [sample(real(3), k=0), sample(cplx(2), k=-2)],
    "diagonal_scatter": [
        sample(real(3), shape=(3, 4), offset=0, axis1=0, axis2=1),
        sample(real(2, 2), shape=(3, 2, 4), offset=2, axis1=0, axis2=2),
    ],
    "trace": [sample(real(3, 4), offset=1, axis1=0, axis2=1), sample(real(3, 2, 3), offset=0, axis1=2, axis2=0)],
    "tril": [sample(real(3, 4), k=1), sample(real(2, 3, 3), k=-1)],
    "triu": [sample(real(3, 4), k=-1), sample(cplx(2, 2), k=0)],
    "windows": [sample(real(5), window=(3,), axis=(0,)), sample(real(4, 3), window=(2, 2), axis=(0, 1)),
                sample(real(2, 5), window=(4,), axis=(1,))],
    "overlap_add": [sample(real(3, 3), shape=(5,), axis=(0,)), sample(real(3, 2, 2, 2), shape=(4, 3), axis=(0, 1))],
    "concatenate": [sample(real(2, 3), real(2, 1), axis=1), sample(real(2), cplx(3), real(0), axis=0),
        sample(real(2), axis=0)],
    "stack": [sample(real(2, 3), real(2, 3), axis=1), sample(real(), 1.5, real(), axis=0),
        sample(real(2), cplx(2), axis=1)],
    "split": [
        sample(real(5, 2), sections=(2, 3), axis=0),
        sample(real(2, 4), sections=(1, 1), axis=1),
        sample(real(4), sections=(3, 1), axis=0),
        sample(real(4), sections=(), axis=0),
    ],
    "unbind": [sample(real(3, 2), axis=1), sample(real(3), axis=0)],
    "full": [sample(real(), shape=(2, 3)), sample(real(), shape=())],
}  # fmt: skip

SELECTIONS: dict[str, list[Sample]] = {
    "getitem": [*getitems(False), *getitems(True)],
    "scatter": scatters(),
    "scatter_scaled": [
        sample(real(5, 3), real(5), ints(5, high=4), rows=4),
        sample(real(90, 30), real(90), ints(90, high=7), rows=7),
        sample(real(0, 3), real(0), ints(0, high=4), rows=4),
    ],
    "index_set": [*writes(), *writes(real()), sample(real(3, 2), real(1, 2), index=at(0, 3)[0])],
    "index_add": [*writes(unique=True), *writes(real(), unique=True)],
    "last_writes": last_writes(),
    "take_along_axis": [
        sample(real(3, 4), ints(3, 2, high=4), axis=1),
        sample(real(3, 4), ints(5, 4, high=3), axis=0),
        sample(real(4), ints(70, high=4), axis=0),
    ],
    "scatter_along_axis": [sample(real(3, 2), ints(3, 2, high=4), axis=1, shape=(3, 4))],
    "set_along_axis": [
        sample(real(3, 4), ints(3, 2, high=4), real(3, 2), axis=1),
        sample(real(3, 2), ints(4, 2, high=3), real(4, 2), axis=0),
    ],
    "last_along_axis": [sample(ints(3, 2, high=4), axis=1, shape=(3, 4))],
}

PRODUCTS: dict[str, list[Sample]] = {
    "matmul": [
        sample(real(2, 3), real(3, 4)), sample(real(3), real(3)), sample(real(3), real(3, 2)),
        sample(real(2, 3), real(3)),
        sample(real(2, 4, 3), real(3, 2)), sample(real(4, 3), real(2, 3, 2)), sample(real(2, 1, 4, 3), real(5, 3, 2)),
        sample(real(3), real(2, 3, 4)), sample(real(2, 4, 3), real(3)), sample(cplx(2, 3), cplx(3, 2)),
        sample(cplx(3), real(3)), sample(cplx(2, 3), cplx(3)), sample(real(3), cplx(3, 2)),
        sample(real(2, 0), real(0, 3)),
        sample(cplx(2, 2, 3), cplx(3, 2)), sample(cplx(2, 2, 3), cplx(3)),
    ],
    "addmm": [sample(real(2), real(3, 4), real(4, 2)), sample(real(3, 1), real(3, 4), real(4, 2)),
              sample(real(2), real(2, 3, 4), real(4, 2))],
    "tensordot": [
        sample(real(2, 3, 4), real(4, 3), axes=((2,), (0,))),
        sample(real(2, 3, 4), real(4, 2, 5), axes=((2, 0), (0, 1))),
        sample(cplx(2, 3), cplx(3, 2), axes=((1, 0), (0, 1))),
        sample(real(2), real(3), axes=((), ())),
    ],
    "cross": [sample(real(3), real(3)), sample(real(2, 3), cplx(3))],
    "einsum": [
        sample(real(2, 3), real(3, 4), spec="ij,jk->ik", optimize=False),
        sample(real(3, 3), spec="ii->i", optimize=False), sample(real(3, 3), spec="ii->", optimize=False),
        sample(real(2, 2, 2), real(2), spec="iii,i->i", optimize=False),
        sample(real(2, 3, 2), spec="iji->j", optimize=False),
        sample(real(2, 3), spec="ij->ji", optimize=False), sample(real(2, 3), spec="ij->", optimize=False),
        sample(real(2), real(1), spec="i,i->", optimize=False),
        sample(real(2, 1), real(1, 3), spec="ij,ij->ij", optimize=False),
        sample(real(2, 3), real(3, 2), real(2), spec="ij,jk,k->i", optimize=True),
        sample(cplx(2, 3), cplx(3, 2), spec="ij,jk->ki", optimize=False),
        sample(real(2, 3), real(4, 5), spec="ij,kl->il", optimize=False),
        sample(real(), real(2), spec=",i->i", optimize=False),
    ],
}  # fmt: skip

MATRICES: dict[str, list[Sample]] = {
    "inv": [sample(regular(3, 3)), sample(regular(2, 2, 2)), sample(complex_regular(3, 3))],
    "pinv": [
        sample(real(4, 2), rcond=1e-15), sample(real(2, 3), rcond=1e-15), sample(complex_regular(3, 3), rcond=1e-15),
        sample(real(2, 4, 3), rcond=1e-15), sample(rank(1, 3, 3), rcond=1e-10, smooth=False),
    ],
    "solve": [
        sample(regular(3, 3), real(3)), sample(regular(3, 3), real(3, 2)), sample(regular(2, 3, 3), real(3)),
        sample(regular(2, 3, 3), real(3, 1)), sample(regular(3, 3), real(2, 3, 2)),
        sample(complex_regular(3, 3), cplx(3)),
        sample(complex_regular(3, 3), real(3, 2)),
    ],
    "solve_triangular": [
        sample(regular(3, 3), real(3, 2), lower=True, unit=False),
        sample(regular(3, 3), real(3, 2), lower=False, unit=True),
        sample(regular(2, 3, 3), real(2, 3, 1), lower=True, unit=True),
        sample(complex_regular(3, 3), cplx(3, 2), lower=False, unit=False),
    ],
    "det": [
        sample(regular(3, 3)), sample(regular(2, 2, 2)), sample(complex_regular(3, 3)), sample(real(1, 1)),
        sample(rank(1, 3, 3)), sample(rank(2, 3, 3)), sample(np.zeros((2, 2))), sample(real(2, 0, 0)),
        sample(rank(1, 2, 2)),
    ],
    "cofactor": [sample(regular(3, 3)), sample(complex_regular(3, 3)), sample(real(1, 1)), sample(regular(2, 2, 2))],
    "cofactor_tangent": [sample(regular(3, 3), real(3, 3)), sample(complex_regular(2, 2), cplx(2, 2))],
    "slogdet": [sample(regular(3, 3)), sample(regular(2, 2, 2)), sample(complex_regular(3, 3))],
    "norm": [
        sample(real(3, 4), axis=None, keepdims=False), sample(real(3, 4), axis=1, keepdims=True),
        sample(real(2, 3, 4), axis=(0, 2), keepdims=False), sample(cplx(3), axis=0, keepdims=False),
        sample(np.zeros((2, 3)), axis=1, keepdims=False, smooth=False),
    ],
}  # fmt: skip

DECOMPOSITIONS: dict[str, list[Sample]] = {
    "cholesky": [sample(symmetric(3, 3), smooth=False), sample(symmetric(2, 2, 2), smooth=False)],
    "qr": [sample(regular(3, 3)), sample(real(4, 2)), sample(real(2, 4)), sample(real(2, 3, 2)),
        sample(complex_regular(3, 3)),
           sample(cplx(3, 2))],
    "qr_complete": [sample(real(4, 2))],
    "svd": [
        sample(spectrum(3, 3)), sample(spectrum(4, 2)),
        sample(spectrum(2, 4)), sample(spectrum(2, 3, 2)),
        sample(complex_regular(3, 3), smooth=False),
    ],
    "svd_full": [sample(spectrum(3, 3))],
    "eigh": [sample(symmetric(3, 3), uplo="L", smooth=False), sample(symmetric(2, 2, 2), uplo="U", smooth=False)],
    "eig": [sample(regular(3, 3), smooth=False), sample(complex_regular(2, 2, 2), smooth=False)],
    "expm": [sample(real(3, 3)), sample(regular(2, 2, 2)), sample(complex_regular(2, 2)), sample(np.zeros((2, 2)))],
    "coincide": [sample(np.arange(4.0)), sample(np.array([1.0, 1.0, 2.0]))],
    "unknown": [sample(np.arange(4.0)), sample(np.array([1.0, 1.0, 2.0]))],
    "recovered": [sample(real(3, 3), real(3), np.arange(3.0)),
        sample(np.ones((2, 2)), np.ones(2), np.ones(2), singular=True)],
}  # fmt: skip

FOURIER: dict[str, list[Sample]] = {
    "fftn": [sample(real(4), axes=(0,), norm="backward"), sample(cplx(3, 4), axes=(0, 1), norm="ortho")],
    "ifftn": [sample(cplx(5), axes=(0,), norm="backward"), sample(real(3, 4), axes=(1,), norm="forward")],
    "rfft": [sample(real(n), axis=0, norm=norm) for n in (1, 2, 4, 5) for norm in ("backward", "forward", "ortho")],
    "irfft": [
        *(sample(cplx(n // 2 + 1), n=n, axis=0, norm=norm) for n in range(1, 6) for norm in ("backward", "forward")),
        sample(cplx(2, 3), n=4, axis=1, norm="ortho"),
    ],
}  # fmt: skip

SAMPLES: dict[str, list[Sample]] = {**MOVES, **SELECTIONS, **PRODUCTS, **MATRICES, **DECOMPOSITIONS, **FOURIER}
