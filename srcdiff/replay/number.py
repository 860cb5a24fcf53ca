"""A Python number among the arguments that changes from call to call, while a call is being recorded.

It stands for the number where that is added, multiplied and so on. What is computed of such numbers alone is an
expression that the entry of the compiled step evaluates, as Python does; where one meets a Tensor it becomes an input
of the program, and what it is compared with a condition. Whatever else would be done with it ends the recording.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from srcdiff.replay.recorder import Recorder
from srcdiff.tape.value import TensorBase

#: longer expressions, as loops build them, end the recording
_LONGEST = 200


class Number:
    """A float, and the expression of it: `{k}` stands for number k among the arguments."""

    __slots__ = ("recorder", "text", "value")

    def __init__(self, value: float, text: str, recorder: Recorder) -> None:
        self.value = float.fromhex(value.hex())  # an object of its own, by which the recorder knows it
        self.text = text
        self.recorder = recorder
        recorder.numbers[id(self.value)] = (self.value, text)
        if len(text) > _LONGEST:
            self.refuse("a long expression is made of it")

    def refuse(self, why: str) -> Any:
        """End the recording."""
        self.recorder.fail(f"a number that changes from call to call: {why}")

    def __bool__(self) -> bool:
        return self.decided(self.text, self.value != 0.0)

    def decided(self, text: str, outcome: bool) -> bool:
        """A condition on which it depends what the call does."""
        self.recorder.conditions.append(text if outcome else f"not {text}")
        return outcome

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or not any(isinstance(each, TensorBase) for each in inputs):
            self.refuse("a NumPy function is called with it alone")
        return ufunc(*(each.value if isinstance(each, Number) else each for each in inputs), **kwargs)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return self.refuse("an array is made of it")

    def __neg__(self) -> Number:
        return Number(-self.value, f"(-{self.text})", self.recorder)

    def __pos__(self) -> Number:
        return self


def _text(x: Any) -> str | None:
    """The expression of an operand, None if it is no number."""
    if isinstance(x, Number):
        return x.text
    return repr(x) if type(x) is int or (type(x) is float and x - x == 0) else None


def _value(x: Any) -> Any:
    return x.value if isinstance(x, Number) else x


def _arithmetic(sign: str, function: Callable[[Any, Any], Any], reflected: bool) -> Callable[[Number, Any], Any]:
    def apply(self: Number, other: Any) -> Any:
        pair = (other, self) if reflected else (self, other)
        if isinstance(other, TensorBase):
            return function(*map(_value, pair))
        texts = [_text(each) for each in pair]
        if None in texts:
            return NotImplemented
        made = function(*map(_value, pair))
        if type(made) is not float:
            return self.refuse("a result is no float")
        return Number(made, f"({texts[0]} {sign} {texts[1]})", self.recorder)

    return apply


def _comparison(sign: str, function: Callable[[Any, Any], bool]) -> Callable[[Number, Any], Any]:
    def apply(self: Number, other: Any) -> Any:
        if isinstance(other, TensorBase):
            return function(self.value, other)
        text = _text(other)
        if text is None:
            return NotImplemented
        return self.decided(f"({self.text} {sign} {text})", function(self.value, _value(other)))

    return apply


def _refusal(name: str) -> Callable[..., Any]:
    return lambda self, *args: self.refuse(f"{name} is called")


for _name, _sign in {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "pow": "**"}.items():
    _function = getattr(operator, _name)
    setattr(Number, f"__{_name}__", _arithmetic(_sign, _function, False))
    setattr(Number, f"__r{_name}__", _arithmetic(_sign, _function, True))
for _name, _sign in {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}.items():
    setattr(Number, f"__{_name}__", _comparison(_sign, getattr(operator, _name)))
for _name in (
    "float", "int", "index", "complex", "hash", "str", "repr", "format", "round", "floor", "ceil", "trunc", "divmod",
    "rdivmod", "floordiv", "rfloordiv", "mod", "rmod", "matmul", "rmatmul", "abs", "reduce_ex",
):  # fmt: skip
    setattr(Number, f"__{_name}__", _refusal(f"__{_name}__"))
