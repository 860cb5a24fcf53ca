"""Reductions over axes. Parameters: `axis` (None, a non-negative int, or an ascending tuple of them) and `keepdims`."""

from __future__ import annotations

import math
from typing import Any

from srcdiff.ops.cumulative import product_of_others
from srcdiff.ops.elementwise import conj, equal, isnan, where
from srcdiff.ops.families import infer_reduction, linear, nondiff, normalize_axes, primitive
from srcdiff.ops.structural import cast, expand, inverse, reshape, transpose
from srcdiff.ops.transcendental import exp


def counted(shape: tuple[int, ...], axis: Any) -> int:
    """How many elements of an array of this shape go into one element of the result."""
    return math.prod(shape[k] for k in normalize_axes(axis, len(shape)))


def centre(x: Any, axis: Any) -> Any:
    """x minus its mean over the axes."""
    return x - mean(x, axis=axis, keepdims=True)


def _numbered(name: str) -> Any:
    """PyTorch's class of the node: the overload without an axis has the number 0, the one with axes 1."""
    return lambda params: name if params["axis"] is None else f"={name}Backward1"


# ------------------------------------------------------------------------------------------------------ sum and mean

sum = linear(
    "sum", "x", "np.sum(x, axis=axis, keepdims=keepdims)",
    lambda ct, out, x, *, axis, keepdims: expand(ct, x.shape, axis, keepdims),
    infer=infer_reduction("sum"), params="axis keepdims", fast="np.add.reduce(x, axis=axis, keepdims=keepdims)",
    label_of=_numbered("Sum"),
)  # fmt: skip
mean = linear(
    "mean", "x", "np.mean(x, axis=axis, keepdims=keepdims)",
    lambda ct, out, x, *, axis, keepdims: expand(ct / max(counted(x.shape, axis), 1), x.shape, axis, keepdims),
    infer=infer_reduction("mean"), params="axis keepdims", fast="rt.mean(x, axis, keepdims)",
    label_of=_numbered("Mean"),
)  # fmt: skip
nansum = primitive(
    "nansum", "x", "np.nansum(x, axis=axis, keepdims=keepdims)",
    [lambda ct, out, x, *, axis, keepdims: where(isnan(x), 0.0, expand(ct, x.shape, axis, keepdims))],
    infer=infer_reduction("nansum"), params="axis keepdims", selects=True,
)  # fmt: skip


# ----------------------------------------------------------------------------------------------------------- spread


def _spread_aval(name: str) -> Any:
    """As of any reduction; `ddof` has no say, and would make NumPy warn."""
    infer = infer_reduction(name)
    return lambda x, *, axis, ddof, keepdims: infer(x, axis=axis, keepdims=keepdims, ddof=0)


def _spread(ct: Any, x: Any, axis: Any, ddof: float, keepdims: bool) -> Any:
    """ct / (n - ddof) * (x - mean x), NaN where that divides by 0 as the value does."""
    freedom = counted(x.shape, axis) - ddof
    return expand(ct * (1.0 / freedom if freedom > 0 else math.nan), x.shape, axis, keepdims) * centre(x, axis)


def _std_x(ct: Any, out: Any, x: Any, *, axis: Any, ddof: float, keepdims: bool) -> Any:
    # where all are equal there is no slope; 0 is the middle of those there are
    flat = equal(out, 0)
    return _spread(where(flat, 0.0, ct / where(flat, 1.0, out)), x, axis, ddof, keepdims)


def _var_x(ct: Any, out: Any, x: Any, *, axis: Any, ddof: float, keepdims: bool) -> Any:
    return _spread(2.0 * ct, x, axis, ddof, keepdims)


var = primitive(
    "var", "x", "np.var(x, axis=axis, ddof=ddof, keepdims=keepdims)", [_var_x],
    infer=_spread_aval("var"), params="axis ddof keepdims",
)  # fmt: skip
std = primitive(
    "std", "x", "np.std(x, axis=axis, ddof=ddof, keepdims=keepdims)", [_std_x],
    infer=_spread_aval("std"), params="axis ddof keepdims", squared=(_var_x,),
)  # fmt: skip

# ---------------------------------------------------------------------------------------------------------- product


def _prod_x(ct: Any, out: Any, x: Any, *, axis: Any, keepdims: bool) -> Any:
    return expand(ct, x.shape, axis, keepdims) * conj(_others(x, axis))


def _others(x: Any, axis: Any) -> Any:
    """For each element the product of the others of its group: the reduced axes are made one, last, and put back."""
    axes = normalize_axes(axis, len(x.shape))
    if len(axes) == 1:
        return product_of_others(x, axis=axes[0])
    order = (*(k for k in range(x.ndim) if k not in axes), *axes)
    last = transpose(x, axes=order)
    kept = last.shape[: x.ndim - len(axes)]
    flat = product_of_others(reshape(last, shape=(*kept, counted(x.shape, axis))), axis=len(kept))
    return transpose(reshape(flat, shape=last.shape), axes=inverse(order))


prod = primitive(
    "prod", "x", "np.prod(x, axis=axis, keepdims=keepdims)", [_prod_x], infer=infer_reduction("prod"),
    params="axis keepdims", saves="x out", fast="np.multiply.reduce(x, axis=axis, keepdims=keepdims)",
    label_of=_numbered("Prod"),
)  # fmt: skip

# --------------------------------------------------------------------------------------------- maximum and minimum

attains = nondiff("attains", "x extreme", "rt.attains(x, extreme)")


def _extreme_x(ct: Any, out: Any, x: Any, *, axis: Any, keepdims: bool) -> Any:
    """Those that tie share evenly."""
    ties = attains(x, expand(out, x.shape, axis, keepdims))
    number = cast(sum(ties, axis=axis, keepdims=keepdims), dtype=ct.dtype)
    return where(ties, expand(ct / number, x.shape, axis, keepdims), 0.0)


max_ = primitive(
    "max", "x", "np.max(x, axis=axis, keepdims=keepdims)", [_extreme_x], infer=infer_reduction("max"),
    params="axis keepdims", fast="np.maximum.reduce(x, axis=axis, keepdims=keepdims)",
    label_of=lambda params: "=MaxBackward1" if params["axis"] is None else "Amax", selects=True,
)  # fmt: skip
min_ = primitive(
    "min", "x", "np.min(x, axis=axis, keepdims=keepdims)", [_extreme_x], infer=infer_reduction("min"),
    params="axis keepdims", fast="np.minimum.reduce(x, axis=axis, keepdims=keepdims)",
    label_of=lambda params: "=MinBackward1" if params["axis"] is None else "Amin", selects=True,
)  # fmt: skip

# -------------------------------------------------------------------------------------------------------- logsumexp


def _logsumexp_x(ct: Any, out: Any, x: Any, *, axis: Any, keepdims: bool) -> Any:
    # where out is -inf so is every x, and no x has a share
    level = where(equal(out, -math.inf), 0.0, out)
    return expand(ct, x.shape, axis, keepdims) * conj(exp(x - expand(level, x.shape, axis, keepdims)))


logsumexp = primitive(
    "logsumexp", "x", "rt.logsumexp(x, axis, keepdims)", [_logsumexp_x], infer=infer_reduction("logsumexp"),
    params="axis keepdims",
)  # fmt: skip

# ---------------------------------------------------------------------------------------------- counting and finding

all_ = nondiff(
    "all", "x", "np.all(x, axis=axis, keepdims=keepdims)", infer_reduction("all"), "axis keepdims",
    fast="np.logical_and.reduce(x, axis=axis, keepdims=keepdims)",
)  # fmt: skip
any_ = nondiff(
    "any", "x", "np.any(x, axis=axis, keepdims=keepdims)", infer_reduction("any"), "axis keepdims",
    fast="np.logical_or.reduce(x, axis=axis, keepdims=keepdims)",
)  # fmt: skip
count_nonzero = nondiff(  # np.count_nonzero is a Python number before NumPy 2.3
    "count_nonzero", "x", "np.sum(x != 0, axis=axis, keepdims=keepdims)", infer_reduction("count_nonzero"),
    "axis keepdims",
)  # fmt: skip
argmax = nondiff(
    "argmax", "x", "np.argmax(x, axis=axis, keepdims=keepdims)", infer_reduction("argmax"), "axis keepdims"
)
argmin = nondiff(
    "argmin", "x", "np.argmin(x, axis=axis, keepdims=keepdims)", infer_reduction("argmin"), "axis keepdims"
)
