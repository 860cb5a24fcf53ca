"""Helpers that primitives' expressions and generated code may call, as `rt.name`. They take and give plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.runtime_arena import Arena  # noqa: F401
from srcdiff.runtime_arrays import (  # noqa: F401
    diagonal_scatter,
    index_add,
    index_set,
    last_along_axis,
    last_writes,
    overlap_add,
    places,
    scatter,
    scatter_along_axis,
    scatter_scaled,
    set_along_axis,
    unbind,
)
from srcdiff.runtime_choice import where  # noqa: F401
from srcdiff.runtime_conv import (  # noqa: F401
    conv,
    conv_filter,
    conv_input,
    max_pool_index,
    sum_pool,
    sum_unpool,
)
from srcdiff.runtime_floats import in_floats  # noqa: F401
from srcdiff.runtime_incomplete import (  # noqa: F401
    betainc_slope,
    gammainc_slope,
    invgauss_isf,
    invgauss_ppf,
    vonmises_cdf,
    vonmises_ppf,
    zeta_slope,
)
from srcdiff.runtime_linalg import (  # noqa: F401
    cofactor,
    cofactor_tangent,
    coincide,
    eig,
    expm,
    recovered,
    solve_triangular,
    unknown,
)
from srcdiff.runtime_math import (  # noqa: F401
    attains,
    clip,
    cummax_index,
    cummin_index,
    elu,
    gelu,
    gelu_tanh,
    leaky_relu,
    log_sigmoid,
    log_softmax,
    logit,
    logsumexp,
    mean,
    mish,
    product_of_others,
    row_max,
    scan,
    shift,
    sigmoid,
    silu,
    softmax,
    softplus,
    xlogy,
)
from srcdiff.runtime_nn import (  # noqa: F401
    binary_cross_entropy,
    class_shares,
    cross_entropy,
    embedding,
    embedding_adjoint,
    huber,
    kl_div,
    nll_loss,
    one_hot,
    standardize,
)
from srcdiff.runtime_scipy import (  # noqa: F401
    all_pole,
    logm,
    lu,
    polar_factor,
    sparse_product,
    sparse_solve,
    sqrtm,
    sylvester,
    trigonometric,
)
from srcdiff.runtime_special import (  # noqa: F401
    bessel_i,
    erf,
    erfc,
    erfinv,
    gammaln,
    log_ndtr,
    ndtr,
    polygamma,
    scipy_special,
    sinc,
    special,
)

Array = Any


def sum_to(x: Array, shape: tuple[int, ...]) -> Array:
    """`x` summed over the axes along which `shape` was broadcast to x's shape; the adjoint of broadcasting.

    `shape` may have fewer axes than x, and size 1 where x is larger.
    """
    have = x.shape
    if have == shape:
        return x
    extra = len(have) - len(shape)
    axes = tuple(range(extra)) + tuple(
        k + extra for k, length in enumerate(shape) if length == 1 and have[k + extra] != 1
    )
    out = np.add.reduce(x, axis=axes)
    return out if out.shape == shape else out.reshape(shape)


def broadcast_to(x: Array, shape: tuple[int, ...]) -> Array:
    """`np.broadcast_to`, some ten times faster for small arrays; the result is read-only."""
    return np.broadcast_to(x, shape)
