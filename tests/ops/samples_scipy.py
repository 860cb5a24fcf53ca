"""Samples of the special functions that SciPy evaluates, and of the structural primitives."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ops.sample import Drawer, Sample, apart, cplx, ints, positive, real, sample
from tests.ops.samples_math import array, between, binary, tests, unary


def of_order(*orders: Any, draw: Drawer | None = None) -> list[Sample]:
    """Each order with a vector, and all of them with a matrix."""
    made = [sample(order, draw or positive(3)) for order in orders]
    return [*made, sample(np.array(orders)[:, None], draw or positive(3))]


def two_and_01() -> tuple[Drawer, Drawer, Drawer]:
    """Two positive parameters and a number between 0 and 1, which broadcast."""
    return positive(3), positive(2, 1), real(2, 3, low=0.1, high=0.9)


def between_01_of_two() -> list[Sample]:
    return [sample(1.5, 0.7, real(3, low=0.1, high=0.9)), sample(*two_and_01()), sample(positive(), 2.0, array(0.3))]


def of_modulus() -> list[Sample]:
    """An angle and a constant modulus."""
    return [sample(positive(3), 0.4), sample(positive(2, 1), real(3, low=0.1, high=0.8)), sample(positive(), 0.0)]


def of_probability() -> list[Sample]:
    """A positive parameter and a probability, either of them a number, or all broadcast."""
    p = between(0.1, 0.9)
    return [sample(1.5, p(3)), sample(positive(3), 0.3), sample(positive(2, 1), p(3)), sample(positive(), p())]


SCIPY = {
    **{name: unary(positive) for name in ("erfcx", "dawsn", "exp1", "expi", "exp10", "cosm1", "entr", "gamma")},
    **{name: unary(positive) for name in ("j0", "j1", "y0", "y1", "i1", "k0", "k1", "i0e", "i1e", "k0e", "k1e")},
    **{name: of_order(0, 1, 2) for name in ("expn", "yn", "kn")},
    **{name: of_order(0.0, 0.5, 2.0) for name in ("jv", "yv", "iv", "kv", "ive", "kve")},
    **{name: of_order(0, 1, 4, draw=real(3, low=-1.0, high=1.0)) for name in ("eval_legendre", "eval_chebyt")},
    **{name: of_order(0, 1, 4, draw=real(3, low=-1.0, high=1.0)) for name in ("eval_chebyu", "eval_laguerre")},
    "eval_hermite": of_order(0, 1, 4, draw=real(3)),
    "eval_gegenbauer": [sample(n, 1.5, real(3, low=-1.0, high=1.0)) for n in (0, 1, 4)],
    "eval_genlaguerre": [sample(n, 1.5, real(3)) for n in (0, 1, 4)],
    "erfcinv": unary(between(0.1, 1.9)),
    "ndtri": unary(between(0.1, 0.9)),
    "sine_integral": unary(positive, sample(array(0.0))),
    "cosine_integral": unary(positive),
    "exprel": unary(real, sample(array(0.0, 1e-4, -0.01, 2.0))),
    "spence": unary(positive, sample(array(1.0, 1.0001, 0.99, 2.0))),
    "ellipk": unary(between(-1.0, 0.8), sample(array(0.0, 1e-4, -0.01))),
    "ellipe": unary(between(-1.0, 0.8), sample(array(0.0, 1e-4, -0.01))),
    "loggamma": unary(positive),
    "gammasgn": tests(real(3)),
    "zeta": [*of_order(2.0, 3.5), sample(real(2, 1, low=1.5, high=4.0), positive(3))],
    "riemann_zeta": [sample(real(3, low=1.5, high=4.0)), sample(real(low=-2.0, high=0.9))],
    "zeta_slope": [sample(real(2, 1, low=1.5, high=4.0), positive(3), n=n) for n in (1, 2)],
    **{name: binary(positive) for name in ("beta", "betaln", "poch", "rel_entr", "kl_divergence", "xlog1py")},
    "binom": [sample(real(3, low=3.1, high=4.0), positive(3)), sample(real(2, 1, low=3.1, high=4.0), positive(3))],
    **{name: binary(positive, positive, *of_order(0.7, 2.5)) for name in ("gammainc", "gammaincc")},
    **{name: of_probability() for name in ("gammaincinv", "gammainccinv", "stdtrit")},
    **{name: of_probability() for name in ("vonmises_ppf", "invgauss_isf", "invgauss_ppf")},
    **{name: between_01_of_two() for name in ("betainc", "betaincc", "betaincinv", "betainccinv")},
    "gammainc_slope": [sample(positive(2, 1), positive(3), n=n) for n in (1, 2)],
    "betainc_slope": [sample(*two_and_01(), m=m, n=n) for m, n in ((1, 0), (0, 1), (1, 1))],
    "stdtr": binary(positive, real, sample(positive(2), array(0.0, 1e-9))),
    "ndtri_exp": unary(between(-3.0, -0.1)),
    "owens_t": binary(real),
    "vonmises_cdf": [sample(positive(2, 1), real(3), n=n) for n in (0, 1, 2)],
    "huber": [sample(0.71, apart(5)), sample(positive(3), apart(2, 3)), sample(array(1.0), array(1.0), smooth=False)],
    "boxcox": binary(positive, real, sample(positive(3), np.zeros(3)), sample(positive(3), 0.5)),
    "hyp0f1": of_order(0.7, 2.0),
    "hyp1f1": [sample(1.5, 2.5, real(3)), sample(positive(3), 2.0, real(3))],
    "hyp2f1": [sample(1.5, 0.5, 2.5, real(3, low=-0.5, high=0.5))],
    **{name: unary(positive) for name in ("erfi", "fresnel_sine", "fresnel_cosine", "airy_ai", "airy_ai_slope")},
    **{name: unary(positive) for name in ("airy_bi", "airy_bi_slope", "sindg", "cosdg", "tandg")},
    "wofz": unary(cplx),
    "ellipkm1": unary(between(0.2, 0.8)),
    **{name: of_modulus() for name in ("ellipkinc", "ellipeinc")},
    "boxcox1p": binary(positive, real, sample(positive(3), np.zeros(3)), sample(positive(3), 0.5)),
    **{name: binary(positive, positive, sample(positive(3), np.zeros(3))) for name in ("inv_boxcox", "inv_boxcox1p")},
    "powm1": binary(positive, real),
    "pseudo_huber": binary(positive, real),
    "hyperu": [sample(1.5, 0.5, positive(3)), sample(positive(3), 2.0, positive(3))],
    "eval_jacobi": [sample(n, 1.5, 0.5, real(3, low=-0.9, high=0.9)) for n in (0, 1, 4)],
    "lambertw": [sample(positive(3), 0, 1e-8), sample(cplx(3), 0, 1e-8), sample(cplx(3), 1, 1e-8)],
}

STRUCTURAL = {
    "cast": [
        sample(real(2, 3), dtype=np.dtype("f4"), smooth=False),
        sample(real(), dtype=np.dtype("c16")),
        sample(cplx(2), dtype=np.dtype("c8"), smooth=False),
        sample(ints(2), dtype=np.dtype("f8")),
    ],
    "reshape": [sample(real(2, 3), shape=(3, 2)), sample(real(), shape=(1, 1)), sample(real(0, 2), shape=(0,))],
    "transpose": [sample(real(2, 3, 4), axes=(1, 2, 0)), sample(cplx(2, 3), axes=(1, 0)), sample(real(), axes=())],
    "broadcast_to": [sample(real(3, 1), shape=(2, 3, 4)), sample(real(), shape=(2,)), sample(real(1), shape=(0,))],
    "sum_to": [sample(real(2, 3, 4), shape=(3, 1)), sample(real(2), shape=()), sample(real(0), shape=(1,))],
    "stop_gradient": [sample(real(2))],
    "identity": [sample(real(2)), sample(cplx(2))],
}

SAMPLES: dict[str, list[Sample]] = {**SCIPY, **STRUCTURAL}
