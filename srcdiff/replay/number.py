"""A number that changes from call to call, an argument or read from outside, while a call is being recorded.

It stands for the number where that is added, multiplied and so on. What is computed of such numbers alone is an
expression that the entry of the compiled step evaluates, as Python does; where one meets a Tensor it becomes an input
of the program, and what it is compared with a condition. Whatever else would be done with it ends the recording, and
the number remains a constant.

An integer becomes an input as a float: where it is added to or multiplied with values of floating-point types, NumPy
makes no difference. Tensors of integers are not met by a number that changes.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable
from string import Formatter
from typing import Any

import numpy as np

from srcdiff.replay.findings import RefusedError
from srcdiff.replay.recorder import Recorder
from srcdiff.tape.value import TensorBase

#: longer expressions, as loops build them, end the recording
_LONGEST = 200
_KINDS = (float, int, np.float64)
#: functions that an expression may name
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{f"math_{name}": getattr(math, name) for name in "sqrt exp log log2 log10 log1p expm1 sin cos tanh fabs".split()},
    **{f"np_{name}": getattr(np, name) for name in "sqrt exp log log2 log10 log1p expm1 sin cos tanh".split()},
    "float": float,
    "abs": abs,
}
_NAMES = {function: name for name, function in FUNCTIONS.items()}
#: what may be done with a number and a Tensor; the derivative of a power depends on what the exponent is
_SIGNS = ("+", "-", "*", "/")
_UFUNCS = frozenset((
    np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.fmax, np.fmin, np.less, np.less_equal,
    np.greater, np.greater_equal, np.equal, np.not_equal,
))  # fmt: skip


class UnfitError(RefusedError):
    """More is done with numbers than arithmetic; `numbers` says with which ones, by their numbers."""

    def __init__(self, message: str, numbers: frozenset[int]) -> None:
        super().__init__(message)
        self.numbers = numbers


class Number:
    """An int, a float or a np.float64, and the expression of it: `{k}` stands for number k, `{name}` for a function."""

    __slots__ = ("recorder", "text", "value")

    def __init__(self, value: Any, text: str, recorder: Recorder) -> None:
        self.value = value
        self.text = text
        self.recorder = recorder
        if len(text) > _LONGEST:
            self.refuse("a long expression is made of it")

    def refuse(self, why: str) -> Any:
        """End the recording."""
        self.recorder.unfit |= numbers_in(self.text)
        self.recorder.fail(f"a number that changes from call to call: {why}")

    def beside(self, tensor: Any) -> Any:
        """What stands for it in an operation with a Tensor: an object by which the recorder knows it."""
        if type(self.value) is int and tensor._value.dtype.kind not in "fc":
            self.refuse("it meets an array of integers")
        if self.value != self.value:
            self.refuse("it is NaN, which is like no other")
        known: Any
        if type(self.value) is np.float64:
            known, text = np.array(self.value)[()], self.text
        else:
            known, text = float.fromhex(float(self.value).hex()), self.text
            if type(self.value) is int:
                text = as_float(text)
        self.recorder.numbers[id(known)] = (known, text)
        return known

    def __bool__(self) -> bool:
        return self.decided(self.text, bool(self.value))

    def decided(self, text: str, outcome: bool) -> bool:
        """A condition on which it depends what the call does."""
        if type(self.value) is np.float64:
            self.refuse("what NumPy made of it is compared")
        self.recorder.conditions.append(text if outcome else f"not {text}")
        return outcome

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        tensor = next((each for each in inputs if isinstance(each, TensorBase)), None)
        if method != "__call__":
            self.refuse("a NumPy function reads it")
        if tensor is not None:
            if ufunc not in _UFUNCS:
                self.refuse(f"np.{ufunc.__name__} is called with it and a tensor")
            return ufunc(*(each.beside(tensor) if isinstance(each, Number) else each for each in inputs), **kwargs)
        if len(inputs) == 1 and not kwargs and ufunc in _NAMES:
            return applied(ufunc, self)
        return self.refuse("a NumPy function is called with it alone")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return self.refuse("an array is made of it")

    def __neg__(self) -> Number:
        return Number(-self.value, f"(-{self.text})", self.recorder)

    def __pos__(self) -> Number:
        return self

    def __abs__(self) -> Number:
        return applied(abs, self)


def applied(function: Any, number: Number) -> Number:
    """A function of a number alone. What it raises or warns of, it raises and warns of in the ordinary call too."""
    made = function(number.value)
    if type(made) not in _KINDS:
        number.refuse("a result is no number")
    return Number(made, f"{{{_NAMES[function]}}}({_unwrapped(number.text)})", number.recorder)


def of_math(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """A function of `math`, or `float`, called with numbers that change among its arguments."""
    number = next(each for each in args if isinstance(each, Number))
    if len(args) == 1 and function in _NAMES:
        return applied(function, number)
    return number.refuse(f"{function.__name__} is called with it")


def sum_(items: Iterable[Any], /, start: Any = 0) -> Any:
    """`sum` while numbers stand in: Python adds up floats in a way of its own."""
    parts = list(items)
    for each in (*parts, start):
        if isinstance(each, Number):
            each.refuse("it is summed up")
    return sum(parts, start)


def as_float(text: str) -> str:
    """The expression of an integer as a float."""
    return f"{{float}}({_unwrapped(text)})"


def numbers_in(text: str) -> frozenset[int]:
    """Which numbers an expression is made of."""
    return frozenset(map(int, re.findall(r"\{(\d+)\}", text)))


def written(text: str, numbers: list[str], bind: Callable[[Any, str], str]) -> str:
    """The expression with variables for the numbers, and the names that `bind` gives to functions."""
    names = {name: bind(FUNCTIONS[name], name) for name in FUNCTIONS if f"{{{name}}}" in text}
    return _unwrapped(Formatter().vformat(text, numbers, names))


def real(text: str, numbers: list[str], bind: Callable[[Any, str], str]) -> str:
    """The same of an input, a float: powers may be of other types, and are left to the function then."""
    found = written(text, numbers, bind)
    return f"{bind(_as_real, 'real')}({found})" if "**" in text else found


def _as_real(value: Any) -> Any:
    if type(value) not in (float, np.float64):
        raise ValueError("a power is no float")
    return value


def _unwrapped(text: str) -> str:
    """An expression without parentheses around it."""
    return text[1:-1] if text[:1] == "(" and text.find(")") == len(text) - 1 else text


def _text(x: Any) -> str | None:
    """The expression of an operand, None if it is no number."""
    if isinstance(x, Number):
        return x.text
    return repr(x) if type(x) in (int, bool) or (type(x) is float and x - x == 0) else None


def _value(x: Any) -> Any:
    return x.value if isinstance(x, Number) else x


def _arithmetic(sign: str, function: Callable[[Any, Any], Any], reflected: bool) -> Callable[[Number, Any], Any]:
    def apply(self: Number, other: Any) -> Any:
        pair = (other, self) if reflected else (self, other)
        if isinstance(other, TensorBase):
            if sign not in _SIGNS:
                self.refuse(f"{sign} is applied to it and a tensor")
            return function(*(each.beside(other) if isinstance(each, Number) else each for each in pair))
        texts = [_text(each) for each in pair]
        if None in texts:
            return NotImplemented
        made = function(*map(_value, pair))
        if type(made) not in _KINDS:
            return self.refuse("a result is no number")
        return Number(made, f"({texts[0]} {sign} {texts[1]})", self.recorder)

    return apply


def _comparison(sign: str, function: Callable[[Any, Any], Any]) -> Callable[[Number, Any], Any]:
    def apply(self: Number, other: Any) -> Any:
        if isinstance(other, TensorBase):
            return function(self.beside(other), other)
        text = _text(other)
        if text is None:
            return NotImplemented
        return self.decided(f"({self.text} {sign} {text})", bool(function(self.value, _value(other))))

    return apply


def _refusal(name: str) -> Callable[..., Any]:
    return lambda self, *args: self.refuse(f"{name} is called")


for _name, _sign in {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "pow": "**", "floordiv": "//", "mod": "%",
}.items():  # fmt: skip
    _function = getattr(operator, _name)
    setattr(Number, f"__{_name}__", _arithmetic(_sign, _function, False))
    setattr(Number, f"__r{_name}__", _arithmetic(_sign, _function, True))
for _name, _sign in {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}.items():
    setattr(Number, f"__{_name}__", _comparison(_sign, getattr(operator, _name)))
for _name in (
    "float", "int", "index", "complex", "hash", "str", "repr", "format", "round", "floor", "ceil", "trunc", "divmod",
    "rdivmod", "matmul", "rmatmul", "reduce_ex", "lshift", "rlshift", "rshift", "rrshift", "and", "rand", "or", "ror",
    "xor", "rxor", "invert",
):  # fmt: skip
    setattr(Number, f"__{_name}__", _refusal(f"__{_name}__"))
