"""Samples of the mathematical primitives. Shapes include 0-d, empty and broadcast ones; edges are given by value."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.ops.sample import Drawer, Sample, apart, bools, cplx, ints, nonzero, positive, real, sample

nan, inf = np.nan, np.inf


def array(*values: Any) -> Any:
    return np.array(values)


def unary(draw: Any, *more: Sample, **bounds: float) -> list[Sample]:
    """A matrix, a 0-d array, an empty array, and `more`."""
    return [sample(draw(3, 4, **bounds)), sample(draw(**bounds)), sample(draw(0, 2, **bounds)), *more]


def binary(first: Any, second: Any = None, *more: Sample) -> list[Sample]:
    """Equal shapes, broadcasting either way, 0-d, empty, a number on either side, and `more`."""
    second = second or first
    return [
        sample(first(2, 3), second(2, 3)),
        sample(first(2, 1), second(3)),
        sample(first(), second(2)),
        sample(first(), second()),
        sample(first(0, 3), second(3)),
        sample(first(3), 1.25),
        sample(1.25, second(3)),
        *more,
    ]


def tests(*draws: Drawer) -> list[Sample]:
    """A sample of something without derivative, and one with empty arrays."""
    return [sample(*draws), sample(*(draw(np.random.default_rng(7))[..., :0] for draw in draws))]


def between(low: float, high: float) -> Any:
    return lambda *shape: real(*shape, low=low, high=high)


def reduced(draw: Any, *more: Sample, **params: Any) -> list[Sample]:
    """Reductions over all, one, two and no axes, with and without keepdims; of 0-d and of empty arrays."""
    choices = [
        ((2, 3), None, False), ((2, 3), None, True), ((2, 3), 1, False), ((2, 3), 0, True), ((2, 3, 2), (0, 2), False),
        ((2, 3, 2), (1, 2), True), ((), None, False), ((3, 1), 1, False), ((0, 3), 1, False),
    ]  # fmt: skip
    made = [sample(draw(*shape), axis=axis, keepdims=keepdims, **params) for shape, axis, keepdims in choices]
    return [*made, *more]


def counted(draw: Any) -> list[Sample]:
    return [
        sample(draw(2, 3), axis=axis, keepdims=keepdims) for axis, keepdims in ((None, False), (1, True), (0, False))
    ]


ARITHMETIC = {
    "neg": unary(real, sample(cplx(2))),
    "positive": unary(real),
    "add": binary(real, None, sample(cplx(2), real(2)), sample(real(2), 1j), sample(ints(2), real(2))),
    "sub": binary(real, None, sample(cplx(2), real(2)), sample(real(2), 1j)),
    "mul": binary(
        real, None, sample(cplx(2), real(2)), sample(cplx(2), cplx(2)), sample(real(2), 2j), sample(3, real(2))
    ),
    "div": binary(real, nonzero, sample(cplx(2), cplx(2)), sample(real(2), cplx(2)), sample(cplx(2), 2)),
    "floor_divide": tests(real(2, 3), nonzero(3)),
    "remainder": binary(apart, lambda *shape: real(*shape, low=3.1, high=3.2))
    + [sample(array(-5.0, 4.0), array(3.0, -3.0))],
    "fmod": binary(apart, lambda *shape: real(*shape, low=3.1, high=3.2))
    + [sample(array(-5.0, 4.0), array(3.0, -3.0))],
    "abs": unary(
        nonzero, sample(cplx(3)), sample(array(-1.0, 0.0, 2.0), smooth=False), sample(array(0j, 1j), smooth=False)
    ),
    "fabs": unary(nonzero),
    "copysign": binary(nonzero),
    "heaviside": [sample(nonzero(3), real(3)), sample(array(-1.0, 0.0, 1.0), real(3), smooth=False)],
    "conjugate": unary(cplx, sample(real(2))),
    "real": unary(cplx, sample(real(2))),
    "imag": unary(cplx, sample(real(2))),
    "sign": tests(real(3)),
    "floor": tests(real(3)),
    "ceil": tests(real(3)),
    "trunc": tests(real(3)),
    "rint": tests(real(3)),
    "round": [sample(real(3), decimals=0), sample(real(3), decimals=2), sample(ints(3), decimals=-1)],
    "spacing": tests(real(3)),
    "nextafter": binary(nonzero),
    "frac": unary(apart),
    "exponent": tests(real(3)),
    "mantissa": unary(between(1.1, 1.9)),
    "ldexp": [sample(real(3), ints(3)), sample(real(2, 1), ints(3, low=-3))],
}

COMPARISON = {
    **{
        name: [sample(ints(2, 3), ints(3)), sample(real(3), 0.5), sample(array(nan, 1.0), array(1.0, 1.0))]
        for name in ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal")
    },
    **{name: tests(real(3)) for name in ("isnan", "isinf", "isfinite", "signbit", "logical_not")},
    **{name: tests(bools(2, 3), bools(3)) for name in ("logical_and", "logical_or", "logical_xor")},
    **{name: tests(ints(2, 3), ints(3)) for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift")},
    **{name: tests(ints(2, 3), ints(3)) for name in ("right_shift", "gcd", "lcm")},
    "invert": tests(ints(3)),
    "bitwise_count": tests(ints(3)),
    "where": [
        sample(bools(2, 3), real(2, 3), real(3)),
        sample(bools(3), real(), 0.0),
        sample(bools(2, 1), 1.0, real(3)),
        sample(bools(), real(2), real()),
        sample(bools(0), real(0), real()),
        sample(bools(2), cplx(2), real(2)),
    ],
    "attains": [sample(array(1.0, 2.0, nan), array(2.0, 2.0, nan))],
}

CORNER = [
    sample(array(0.0, 0.0, 0.0, 2.0), array(0, 1, 2, 3)),
    sample(array(-1.5, -2.0), array(2, 3)),
    sample(array(0.0, 0.0), array(2.0, 3.0), smooth=False),
    sample(array(2.0, 3.0), array(0.0, 1.0)),
]
STATIC = [sample(real(3), 2), sample(real(3), 3), sample(real(3), 1), sample(real(3), 0), sample(positive(3), -0.5)]

POWERS = {
    "pow": binary(
        positive, real, *CORNER, *STATIC, sample(cplx(2), cplx(2)), sample(cplx(2), 3), sample(0.0, positive(2))
    ),
    "float_power": binary(positive, real, *CORNER, *STATIC),
    "square": unary(real, sample(cplx(2)), sample(array(0.0))),
    "reciprocal": unary(nonzero, sample(cplx(2))),
    "sqrt": unary(positive, sample(cplx(2)), sample(array(0.0), singular=True)),
    "rsqrt": unary(positive, sample(cplx(2))),
    "cbrt": unary(nonzero),
    "hypot": binary(nonzero, None, sample(array(0.0, 1.0), array(0.0, 0.0), smooth=False)),
}

TRANSCENDENTAL = {
    **{
        name: unary(real, sample(cplx(3))) for name in ("exp", "expm1", "sin", "cos", "sinh", "cosh", "tanh", "arcsinh")
    },
    **{name: unary(positive, sample(cplx(3))) for name in ("log", "log2", "log10", "log1p")},
    **{name: unary(between(-0.9, 0.9), sample(cplx(3))) for name in ("arcsin", "arccos", "arctanh")},
    "exp2": unary(real),
    "tan": unary(between(-1.0, 1.0), sample(cplx(3))),
    "arctan": unary(real, sample(cplx(3))),
    "arccosh": unary(between(1.5, 3.0), sample(cplx(3))),
    "arctan2": binary(nonzero, None, sample(array(0.0, 0.0), array(0.0, -1.0), smooth=False)),
    "deg2rad": unary(real),
    "rad2deg": unary(real),
    "logaddexp": binary(
        real,
        None,
        sample(array(0.0, 0.0), array(0.0, 800.0)),
        sample(array(-inf, 1.0, inf), array(-inf, -inf, inf), smooth=False),
    ),
    "logaddexp2": binary(real, None, sample(array(-inf, 1.0), array(-inf, -inf), smooth=False)),
    "sigmoid": unary(real, sample(cplx(3)), sample(array(-800.0, 0.0, 800.0))),
}

SPECIAL = {
    **{name: unary(real) for name in ("erf", "erfc", "ndtr")},
    "log_ndtr": unary(real, sample(array(-30.0, 0.0, 30.0))),
    "erfinv": unary(between(-0.9, 0.9)),
    "lgamma": unary(positive, sample(array(-1.5, -0.5, 12.5))),
    "digamma": unary(positive, sample(array(-1.5, -0.5, 12.5))),
    "polygamma": [sample(positive(3), n=1), sample(positive(2, 2), n=3), sample(array(0.7, 12.5), n=0)],
    "xlogy": binary(nonzero, positive, sample(array(0.0, 0.0), array(0.0, 2.0), smooth=False)),
    "logit": unary(between(0.1, 0.9)),
    "sinc": unary(real, sample(array(0.0, 1e-9, 0.3, 1.0, -2.0))),
    "sinc_slope": [sample(array(0.0, 1e-9, 0.3, 1.0, -2.0, 30.0), n=n) for n in (0, 1, 2, 3)],
    "i0": unary(real, sample(array(0.0, 9.0))),
    "bessel_i": [sample(array(0.0, 0.5, -2.0, 9.0), n=n) for n in (0, 1, 2)],
}


def spread() -> list[Sample]:
    """Reductions of at least two elements, with either denominator."""
    samples = [made for ddof in (0, 1) for made in reduced(real, ddof=ddof)]
    return [made for made in samples if made.values()[0].shape not in ((), (3, 1))]


ZEROS = np.array([[2.0, 0.0, 3.0], [0.0, 0.0, 5.0]])
TIES = np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]])

REDUCTIONS = {
    "sum": reduced(real, sample(cplx(2, 2), axis=0, keepdims=False), sample(bools(4), axis=None, keepdims=False)),
    "mean": reduced(real, sample(cplx(2, 2), axis=0, keepdims=False), sample(ints(4), axis=None, keepdims=False)),
    "nansum": reduced(real, sample(array(nan, 1.0, 2.0), axis=None, keepdims=False, smooth=False)),
    "prod": reduced(
        real,
        sample(ZEROS, axis=1, keepdims=False),
        sample(ZEROS, axis=None, keepdims=True),
        sample(ZEROS, axis=0, keepdims=False),
        sample(np.stack([ZEROS, ZEROS + 1.0]), axis=(0, 2), keepdims=False),
        sample(cplx(2, 3), axis=1, keepdims=False),
    ),
    "var": spread()
    + [
        sample(np.ones(3), axis=None, keepdims=False, ddof=1),
        sample(cplx(2, 3), axis=1, keepdims=False, ddof=0),
        sample(real(4), axis=0, keepdims=False, ddof=0.5),
    ],
    "std": spread()
    + [
        sample(cplx(2, 3), axis=1, keepdims=False, ddof=0),
        sample(np.ones(3), axis=None, keepdims=False, ddof=0, smooth=False),
    ],
    "max": reduced(
        apart, sample(TIES, axis=1, keepdims=False, smooth=False), sample(TIES, axis=None, keepdims=True, smooth=False)
    ),
    "min": reduced(
        apart, sample(TIES, axis=1, keepdims=False, smooth=False), sample(TIES, axis=None, keepdims=True, smooth=False)
    ),
    "logsumexp": reduced(
        real,
        sample(array(1000.0, 0.0, -inf), axis=None, keepdims=False, smooth=False),
        sample(array(-inf, -inf), axis=0, keepdims=True, smooth=False),
    ),
    **{name: counted(real) for name in ("all", "any", "count_nonzero", "argmax", "argmin")},
}


def along(draw: Any, *more: Sample, **params: Any) -> list[Sample]:
    """Along each axis of a matrix, of a vector, of an empty array."""
    shapes = [((2, 3), 0), ((2, 3), 1), ((4,), 0), ((2, 0), 1), ((1, 2), 0)]
    return [*(sample(draw(*shape), axis=axis, **params) for shape, axis in shapes), *more]


PRODUCTS = [
    sample(ZEROS, axis=1),
    sample(ZEROS, axis=0),
    sample(array(0.0, 2.0, 0.0, 3.0), axis=0),
    sample(cplx(3), axis=0),
]

CUMULATIVE = {
    "cumsum": along(real, sample(cplx(3), axis=0), sample(ints(3), axis=0)),
    "cumsum_back": along(real, sample(cplx(3), axis=0)),
    "cumprod": along(real, *PRODUCTS),
    "cumprod_back": along(real, *PRODUCTS),
    "product_of_others": along(real, *PRODUCTS),
    "shift": [s for n in (1, -1, 2, -5) for s in along(real, n=n, fill=1.0)],
    "scan": [
        sample(draw(*shape), draw(*shape), axis=axis, reverse=reverse)
        for draw in (real, cplx)
        for shape, axis in (((4,), 0), ((2, 3), 1), ((3, 2), 0), ((0,), 0))
        for reverse in (False, True)
    ],
}

SELECTION = {
    **{
        name: [
            *(sample(first, second) for first, second in ((apart(2, 3), 0.2), (apart(4), apart()), (0.2, apart(2, 2)))),
            sample(np.arange(6.0).reshape(2, 3), array(0.5, 5.5, 1.5)),
            sample(array(1.0, 2.0), array(1.0, 1.0), smooth=False),
            sample(real(0, 2), real(2)),
        ]
        for name in ("maximum", "minimum", "fmax", "fmin")
    },
    "clip": [
        sample(apart(3, 4), -0.71, 0.71),
        sample(apart(3, 4), np.full((4,), -0.71), np.full((3, 1), 0.71)),
        sample(array(-1.0, 0.0, 1.0, 2.0), 0.0, 1.0, smooth=False),
        sample(apart(4), array(0.5), array(-0.5)),
        sample(apart(4), -inf, 0.3),
        sample(real(0), 0.0, 1.0),
    ],
    "nan_to_num": [
        sample(real(3), nan=0.0, posinf=None, neginf=None),
        sample(array(nan, inf, -inf, 1.0), nan=0.0, posinf=1.0, neginf=None, smooth=False),
    ],
    "argsort": along(apart),
    "cummax_index": along(apart),
    "cummin_index": along(apart),
    "places": [
        sample(array(0.5, 0.0, -1.0, 2.0), count=3),
        sample(np.array([[True, False], [True, True]]), count=3),
        sample(real(0), count=0),
        sample(np.zeros((2, 0, 3)), count=0),
    ],
    "searchsorted": [
        sample(np.arange(4.0), array(0.5, -1.0, 3.0, 7.0), side="left"),
        sample(np.arange(4.0), np.arange(6.0).reshape(2, 3), side="right"),
        sample(np.arange(4.0), 2.0, side="left"),
        sample(real(0), real(2), side="left"),
        sample(np.arange(4.0), real(0), side="left"),
    ],
    "isclose": [
        sample(
            array(1.0, 2.0, nan, inf), array(1.0, 2.5, nan, inf), rtol=1e-5, atol=1e-8, equal_nan=False, smooth=False
        ),
        sample(real(2, 3), real(3), rtol=1e-5, atol=0.5, equal_nan=True),
        sample(real(3), 0.5, rtol=1e-5, atol=1e-8, equal_nan=False),
        sample(real(0), real(0), rtol=1e-5, atol=1e-8, equal_nan=False),
    ],
    "argpartition": [sample(apart(5), kth=2, axis=0)],
    "permute_along": [
        sample(real(2, 3), np.array([[2, 0, 1], [1, 0, 2]]), axis=1),
        sample(real(3, 2), np.array([[2, 0], [0, 1], [1, 2]]), axis=0),
    ],
}

NEURAL = {
    "relu": unary(nonzero, sample(array(-1.0, 0.0, 1.0), smooth=False)),
    "leaky_relu": [sample(nonzero(3), slope=0.01), sample(array(0.0), slope=0.1, smooth=False)],
    "hardtanh": [sample(apart(3), low=-1.0, high=1.0), sample(array(-1.0, 1.0), low=-1.0, high=1.0, smooth=False)],
    "elu": [
        sample(nonzero(3), alpha=1.0, scale=1.0, rate=1.0),
        sample(nonzero(3), alpha=2.0, scale=1.5, rate=0.5),
        sample(array(-900.0, 900.0), alpha=1.0, scale=1.0, rate=1.0),
    ],
    "log_sigmoid": unary(real, sample(array(-900.0, 900.0))),
    "softplus": [sample(real(3), beta=2.0, threshold=20.0), sample(array(-900.0, 900.0), beta=1.0, threshold=math.inf)],
    "silu": unary(real),
    "mish": unary(real),
    "gelu": unary(real),
    "gelu_tanh": unary(real),
    "softmax": along(real, sample(array(-inf, 0.0, 800.0), axis=0, smooth=False)),
    "log_softmax": along(real, sample(array(0.0, 800.0), axis=0)),
}

SAMPLES: dict[str, list[Sample]] = {
    **ARITHMETIC,
    **COMPARISON,
    **POWERS,
    **TRANSCENDENTAL,
    **SPECIAL,
    **REDUCTIONS,
    **CUMULATIVE,
    **SELECTION,
    **NEURAL,
}
