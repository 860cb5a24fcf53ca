"""PyTorch's methods that replace a tensor by a function of it: `exp_`, `add_`, `clamp_` ..."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.core.primitive import REGISTRY
from srcdiff.errors import AutogradError
from srcdiff.functions.dispatch import FUNCTIONS, operand, plain
from srcdiff.inplace.write import direct, update
from srcdiff.ops import catalogue  # noqa: F401
from srcdiff.tape.modes import modes
from srcdiff.tape.value import TensorBase

_new_value = REGISTRY.__getitem__


def _of_self(name: str, **params: Any) -> Callable[[Any], Any]:
    """The method that replaces a tensor by a primitive of it."""
    prim = _new_value(name)

    def apply(self: Any) -> Any:
        return update(self, prim, **params)

    apply.__doc__ = f"Replace each element by {prim.expr}."
    return apply


def _of_two(name: str, ufunc: Any = None) -> Callable[[Any, Any], Any]:
    """The method that replaces a tensor by a primitive of it and another operand; `ufunc` spares a temporary."""
    prim = _new_value(name)

    def apply(self: Any, other: Any) -> Any:
        other = operand(other)
        if ufunc is not None and not modes.recording and direct(self, ufunc, other):
            return self
        return update(self, prim, other)

    apply.__doc__ = f"Replace each element x by {prim.expr}, y being the other operand's."
    return apply


def _added(self: Any, name: str, ufunc: Any, other: Any, alpha: Any) -> Any:
    if not modes.recording and type(alpha) in (int, float) and direct(self, ufunc, scaled(plain(other), alpha)):
        return self
    return update(self, _new_value(name), scaled(other, alpha))


def scaled(x: Any, factor: Any) -> Any:
    return x if type(factor) is int and factor == 1 else x * factor


class ArithmeticMethods(TensorBase):
    """Each gives the tensor itself."""

    abs_ = absolute_ = _of_self("abs")
    neg_ = negative_ = _of_self("neg")
    exp_ = _of_self("exp")
    exp2_ = _of_self("exp2")
    expm1_ = _of_self("expm1")
    log_ = _of_self("log")
    log2_ = _of_self("log2")
    log10_ = _of_self("log10")
    log1p_ = _of_self("log1p")
    sqrt_ = _of_self("sqrt")
    rsqrt_ = _of_self("rsqrt")
    square_ = _of_self("square")
    reciprocal_ = _of_self("reciprocal")
    sin_ = _of_self("sin")
    cos_ = _of_self("cos")
    tan_ = _of_self("tan")
    asin_ = arcsin_ = _of_self("arcsin")
    acos_ = arccos_ = _of_self("arccos")
    atan_ = arctan_ = _of_self("arctan")
    sinh_ = _of_self("sinh")
    cosh_ = _of_self("cosh")
    tanh_ = _of_self("tanh")
    asinh_ = arcsinh_ = _of_self("arcsinh")
    acosh_ = arccosh_ = _of_self("arccosh")
    atanh_ = arctanh_ = _of_self("arctanh")
    sigmoid_ = _of_self("sigmoid")
    relu_ = _of_self("relu")
    erf_ = _of_self("erf")
    erfc_ = _of_self("erfc")
    frac_ = _of_self("frac")
    sign_ = _of_self("flat_sign")
    floor_ = _of_self("flat_floor")
    ceil_ = _of_self("flat_ceil")
    trunc_ = _of_self("flat_trunc")
    conj_physical_ = _of_self("conjugate")
    logical_not_ = _of_self("logical_not")
    bitwise_not_ = _of_self("invert")

    mul_ = multiply_ = _of_two("mul", np.multiply)
    pow_ = _of_two("pow")
    floor_divide_ = _of_two("floor_divide")
    remainder_ = _of_two("remainder")
    fmod_ = _of_two("fmod")
    atan2_ = arctan2_ = _of_two("arctan2")
    hypot_ = _of_two("hypot")
    copysign_ = _of_two("copysign")
    xlogy_ = _of_two("xlogy")
    bitwise_and_ = _of_two("bitwise_and")
    bitwise_or_ = _of_two("bitwise_or")
    bitwise_xor_ = _of_two("bitwise_xor")
    logical_and_ = _of_two("logical_and")
    logical_or_ = _of_two("logical_or")
    logical_xor_ = _of_two("logical_xor")
    eq_ = _of_two("equal")
    ne_ = _of_two("not_equal")
    lt_ = _of_two("less")
    le_ = _of_two("less_equal")
    gt_ = _of_two("greater")
    ge_ = _of_two("greater_equal")

    # ------------------------------------------------------------------------------------------------------ arithmetic

    def add_(self, other: Any, *, alpha: Any = 1) -> Any:
        """Add `alpha * other`."""
        return _added(self, "add", np.add, operand(other), alpha)

    def sub_(self, other: Any, *, alpha: Any = 1) -> Any:
        """Subtract `alpha * other`."""
        return _added(self, "sub", np.subtract, operand(other), alpha)

    subtract_ = sub_

    def div_(self, other: Any, *, rounding_mode: str | None = None) -> Any:
        """Divide; `rounding_mode` "floor" or "trunc" rounds the quotient."""
        other = operand(other)
        if rounding_mode is None:
            if not modes.recording and direct(self, np.true_divide, other):
                return self
            return update(self, _new_value("div"), other)
        rounded = {"floor": "flat_floor", "trunc": "flat_trunc"}.get(rounding_mode)
        if rounded is None:
            raise AutogradError(
                f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
            )
        return update(self, lambda x, y: _new_value(rounded)(_new_value("div")(x, y)), other)

    divide_ = true_divide_ = div_

    def addcmul_(self, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
        """Add `value * tensor1 * tensor2`."""
        return update(self, lambda x, y, z: x + scaled(y * z, value), operand(tensor1), operand(tensor2))

    def addcdiv_(self, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
        """Add `value * tensor1 / tensor2`."""
        return update(self, lambda x, y, z: x + scaled(y / z, value), operand(tensor1), operand(tensor2))

    def lerp_(self, end: Any, weight: Any) -> Any:
        """Go the share `weight` of the way to `end`."""
        return update(self, lambda x, y, w: x + w * (y - x), operand(end), operand(weight))

    def addmm_(self, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
        """`beta * self + alpha * (mat1 @ mat2)`."""
        return update(self, lambda x, y, z: scaled(x, beta) + scaled(y @ z, alpha), operand(mat1), operand(mat2))

    def round_(self, *, decimals: int = 0) -> Any:
        """Round half to even."""
        return update(self, _new_value("flat_round"), decimals=decimals)

    def clamp_(self, min: Any = None, max: Any = None) -> Any:
        """Bound the elements from below and above."""
        if min is None and max is None:
            raise AutogradError("torch.clamp: At least one of 'min' or 'max' must not be None")
        if max is None:
            return update(self, _new_value("maximum" if isinstance(min, TensorBase) else "clip"), *_bounds(min, np.inf))
        if min is None:
            name = "minimum" if isinstance(max, TensorBase) else "clip"
            return update(self, _new_value(name), *_bounds(-np.inf, max))
        return update(self, _new_value("clip"), operand(min), operand(max))

    clip_ = clamp_

    def clamp_min_(self, min: Any) -> Any:
        """Bound the elements from below."""
        return self.clamp_(min=min)

    def clamp_max_(self, max: Any) -> Any:
        """Bound the elements from above."""
        return self.clamp_(max=max)

    def leaky_relu_(self, negative_slope: float = 0.01) -> Any:
        """Multiply negative elements by the slope."""
        return update(self, _new_value("leaky_relu"), slope=negative_slope)

    def cumsum_(self, dim: int) -> Any:
        """Running sums along an axis."""
        return update(self, FUNCTIONS[np.cumsum], axis=dim)

    def cumprod_(self, dim: int) -> Any:
        """Running products along an axis."""
        return update(self, FUNCTIONS[np.cumprod], axis=dim)

    def tril_(self, diagonal: int = 0) -> Any:
        """Zero what is above a diagonal."""
        return update(self, _new_value("tril"), k=diagonal)

    def triu_(self, diagonal: int = 0) -> Any:
        """Zero what is below a diagonal."""
        return update(self, _new_value("triu"), k=diagonal)


def _bounds(low: Any, high: Any) -> tuple[Any, ...]:
    if isinstance(low, TensorBase) or isinstance(high, TensorBase):
        return (low,) if isinstance(low, TensorBase) else (high,)
    return operand(low), operand(high)
