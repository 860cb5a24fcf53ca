"""Elementwise functions that are more than one primitive, or have parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.errors import AutogradError
from srcdiff.ops import elementwise as el
from srcdiff.ops import selection, special, transcendental
from srcdiff.ops import torchlike as ops
from srcdiff.ops.structural import cast, imag_part, real_part
from srcdiff.torchlike.support import lift, result, value_of

# ---------------------------------------------------------------------------------------------------------- arithmetic


def add(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """input + alpha * other."""
    return el.add(lift(input), lift(other) if type(alpha) is int and alpha == 1 else el.mul(lift(other), alpha))


def sub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """input - alpha * other."""
    return el.sub(lift(input), lift(other) if type(alpha) is int and alpha == 1 else el.mul(lift(other), alpha))


def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """other - alpha * input."""
    return sub(other, input, alpha=alpha)


def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    """The quotient; rounded toward zero ("trunc") or down ("floor"), then with the derivative 0."""
    if rounding_mode is None:
        return el.div(lift(input), lift(other))
    if rounding_mode == "floor":
        return ops.flat_floor_divide(lift(input), lift(other))
    if rounding_mode == "trunc":
        quotient = ops.flat_trunc(el.div(lift(input), lift(other)))
        dtypes = [x.dtype for x in (lift(input), lift(other)) if hasattr(x, "dtype")]
        integral = all(d.kind in "iu" for d in dtypes) and not any(isinstance(x, float) for x in (input, other))
        return cast(quotient, dtype=np.result_type(*dtypes)) if integral else quotient
    raise AutogradError(
        f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
    )


def round(input: Any, *, decimals: int = 0) -> Any:
    """Rounded to the nearest, halves to even."""
    return ops.flat_round(lift(input), decimals=decimals)


def addcmul(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """input + value * tensor1 * tensor2."""
    return add(input, el.mul(lift(tensor1), lift(tensor2)), alpha=value)


def addcdiv(input: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """input + value * tensor1 / tensor2."""
    return add(input, el.div(lift(tensor1), lift(tensor2)), alpha=value)


def lerp(input: Any, end: Any, weight: Any) -> Any:
    """input + weight * (end - input)."""
    return el.add(lift(input), el.mul(el.sub(lift(end), lift(input)), lift(weight)))


# ------------------------------------------------------------------------------------------------------- within bounds


def clamp(input: Any, min: Any = None, max: Any = None) -> Any:
    """The nearest value between the bounds; the derivative is 1 from bound to bound, both included."""
    x, low, high = lift(input), lift(min) if min is not None else None, lift(max) if max is not None else None
    if low is None and high is None:
        raise AutogradError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if x.dtype.kind not in "fc":
        if low is None or high is None:
            return selection.minimum(x, high) if low is None else selection.maximum(x, low)
        return selection.clip(x, low, high)
    return selection.clip(x, -np.inf if low is None else low, np.inf if high is None else high)


def clamp_min(input: Any, min: Any) -> Any:
    """The larger of input and a bound."""
    return clamp(input, min)


def clamp_max(input: Any, max: Any) -> Any:
    """The smaller of input and a bound."""
    return clamp(input, None, max)


def nan_to_num(input: Any, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Any:
    """NaN and the infinities replaced, these by the largest and the smallest number of the dtype unless given."""
    x = lift(input)
    if x.dtype.kind not in "fc":
        return x
    return selection.nan_to_num(x, nan=nan or 0.0, posinf=posinf, neginf=neginf)


# ----------------------------------------------------------------------------------------------------- complex numbers


def real(input: Any) -> Any:
    """The real part; real tensors are returned as they are."""
    x = lift(input)
    return real_part(x) if x.dtype.kind == "c" else x


def imag(input: Any) -> Any:
    """The imaginary part. AutogradError for real tensors."""
    x = lift(input)
    if x.dtype.kind != "c":
        raise AutogradError("imag is not implemented for tensors with non-complex dtypes.")
    return imag_part(x)


def conj(input: Any) -> Any:
    """The complex conjugate; real tensors are returned as they are."""
    return el.conj(lift(input))


def angle(input: Any) -> Any:
    """The angle in the plane; of real numbers 0 or pi, with the derivative 0."""
    x = lift(input)
    if x.dtype.kind == "c":
        return transcendental.arctan2(imag_part(x), real_part(x))
    return el.where(el.isnan(x), x, el.where(el.less(x, 0), np.pi, 0.0 * ops.flat_sign(x)))


def sgn(input: Any) -> Any:
    """The sign; x / |x| for complex x, and 0 at 0."""
    x = lift(input)
    return el.unit(x) if x.dtype.kind == "c" else ops.flat_sign(x)


def complex(real: Any, imag: Any) -> Any:
    """real + i imag."""
    re, im = lift(real), lift(imag)
    if re.dtype != im.dtype or re.dtype.kind != "f":
        raise AutogradError(
            f"Expected both inputs to be Half, Float or Double tensors but got {re.dtype} and {im.dtype}"
        )
    return el.add(re, el.mul(im, 1j))


def polar(abs: Any, angle: Any) -> Any:
    """The complex numbers with these absolute values and angles."""
    size, turn = lift(abs), lift(angle)
    return complex(size * transcendental.cos(turn), size * transcendental.sin(turn))


def is_complex(input: Any) -> bool:
    """Whether the dtype is complex."""
    return bool(input.dtype.kind == "c")


def is_floating_point(input: Any) -> bool:
    """Whether the dtype is of real floating-point numbers."""
    return bool(input.dtype.kind == "f")


def is_signed(input: Any) -> bool:
    """Whether the dtype has negative numbers."""
    return bool(input.dtype.kind in "ifc")


# -------------------------------------------------------------------------------------------------------------- others


def logit(input: Any, eps: float | None = None) -> Any:
    """log(x / (1 - x)); x is first clamped to [eps, 1 - eps] if eps is given."""
    x = lift(input)
    return special.logit(x if eps is None else selection.clip(x, eps, 1.0 - eps))


def polygamma(n: int, input: Any) -> Any:
    """The n-th derivative of the digamma function."""
    return special.polygamma(lift(input), n=n)


def isposinf(input: Any) -> Any:
    """Where the value is infinity."""
    return el.equal(lift(input), np.inf)


def isneginf(input: Any) -> Any:
    """Where the value is minus infinity."""
    return el.equal(lift(input), -np.inf)


def isreal(input: Any) -> Any:
    """Where the imaginary part is 0."""
    return result(np.isreal(value_of(lift(input))), input)


def positive(input: Any) -> Any:
    """The tensor itself."""
    return lift(input)


def modf(input: Any) -> tuple[Any, Any]:
    """Fractional and integral part."""
    x = lift(input)
    return el.frac(x), ops.flat_trunc(x)


def frexp(input: Any) -> tuple[Any, Any]:
    """Mantissa, between 0.5 and 1, and exponent of 2."""
    x = lift(input)
    return el.mantissa(x), el.exponent(x)


def threshold(input: Any, threshold: float, value: float) -> Any:
    """x where it exceeds the threshold, else `value`."""
    x = lift(input)
    return el.where(el.greater(x, threshold), x, value)


def where(condition: Any, input: Any = None, other: Any = None) -> Any:
    """`input` where the condition holds, else `other`; with the condition alone, the positions where it holds."""
    c = lift(condition)
    if input is None and other is None:
        return tuple(np.nonzero(c))
    if c.dtype != bool:
        if c.dtype != np.uint8:
            raise AutogradError(
                f"where expected condition to be a boolean tensor, but got a tensor with dtype {c.dtype}"
            )
        c = el.not_equal(c, 0)
    return el.where(c, lift(input), lift(other))


def isclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    """|input - other| <= atol + rtol * |other|, elementwise."""
    close = np.isclose(value_of(lift(input)), value_of(lift(other)), rtol=rtol, atol=atol, equal_nan=equal_nan)
    return result(close, input, other)


def allclose(input: Any, other: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements are close."""
    return bool(np.allclose(value_of(lift(input)), value_of(lift(other)), rtol=rtol, atol=atol, equal_nan=equal_nan))


def equal(input: Any, other: Any) -> bool:
    """Whether shapes and all elements are equal."""
    x, y = value_of(lift(input)), value_of(lift(other))
    return bool(np.shape(x) == np.shape(y) and np.all(np.equal(x, y)))
