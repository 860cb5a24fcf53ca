"""Functions of the user's that SciPy calls: SciPy sees plain numbers, and we see whether values under differentiation
were among what they returned, as arguments or from outside.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from srcdiff.api.transforms import detach
from srcdiff.functions.dispatch import operand, plain
from srcdiff.scipy.support import needs_gradient


class Watched:
    """`function(*arguments, *args)` as SciPy may call it; `found` says whether a result was part of a graph."""

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...] = (), part: Any = None) -> None:
        self.function = function
        self.args = args
        #: takes what is wanted out of a result
        self.part = part
        self.found = needs_gradient(args)
        with suppress(TypeError, ValueError):  # builtins have none
            #: SciPy counts the parameters of what it fits
            self.__signature__ = inspect.signature(function)

    def value(self, *arguments: Any) -> Any:
        """The result as a Tensor or array; a list of numbers as one array."""
        made = self.function(*arguments, *self.args)
        return operand(made if self.part is None else self.part(made))

    def __call__(self, *arguments: Any) -> Any:
        made = self.value(*arguments)
        self.found = self.found or needs_gradient(made)
        return plain(made)


def with_derivative(value: Any, replayed: Any) -> Any:
    """SciPy's value with the derivative of `replayed`, which is that value but for the errors of both."""
    return replayed + (np.asarray(value) - plain(detach(replayed)))


def as_tuple(args: Any) -> tuple[Any, ...]:
    """Further arguments as SciPy takes them: a tuple, or one that is none."""
    return args if isinstance(args, tuple) else (args,)
