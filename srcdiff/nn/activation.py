"""Activation functions as modules. Those with the same options share a base that keeps and prints them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from srcdiff.dtypes import default_dtype, numpy_dtype
from srcdiff.nn import functional as F
from srcdiff.nn.module import Module
from srcdiff.nn.parameter import Parameter


class _Options(Module):
    """A function of one tensor with options. Subclasses say the function, and the options in order with their
    defaults."""

    _function: Callable[..., Any]
    _defaults: ClassVar[dict[str, Any]] = {}
    #: how `repr` shows them: all as name=value, or the values alone
    _bare = False
    #: options that `repr` leaves out
    _hidden: tuple[str, ...] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        names = list(self._defaults)
        if len(args) > len(names) or not kwargs.keys() <= self._defaults.keys():
            raise TypeError(f"{type(self).__name__} takes {', '.join(names) or 'no arguments'}")
        for name, value in {**self._defaults, **dict(zip(names, args, strict=False)), **kwargs}.items():
            setattr(self, name, value)

    def forward(self, input: Any) -> Any:
        """The function of the input, element by element."""
        return type(self)._function(input, **{name: getattr(self, name) for name in self._defaults})

    def extra_repr(self) -> str:
        """The options; `inplace` only if it is set."""
        shown = [(n, getattr(self, n)) for n in self._defaults if n not in self._hidden]
        shown = [(n, v) for n, v in shown if n != "inplace" or v]
        return ", ".join(f"{v}" if self._bare else f"{n}={v!r}" for n, v in shown)


class _Plain(Module):
    """A function of one tensor without options."""

    _function: Callable[..., Any]

    def forward(self, input: Any) -> Any:
        """The function of the input, element by element."""
        return type(self)._function(input)


class Sigmoid(_Plain):
    """1 / (1 + exp(-x))."""

    _function = staticmethod(F.sigmoid)


class Tanh(_Plain):
    """The hyperbolic tangent."""

    _function = staticmethod(F.tanh)


class LogSigmoid(_Plain):
    """log(sigmoid(x))."""

    _function = staticmethod(F.logsigmoid)


class Softsign(_Plain):
    """x / (1 + |x|)."""

    _function = staticmethod(F.softsign)


class Tanhshrink(_Plain):
    """x - tanh(x)."""

    _function = staticmethod(F.tanhshrink)


class _Switch(_Options):
    """Functions whose only option is to work in place."""

    _defaults: ClassVar[dict[str, Any]] = {"inplace": False}

    inplace: bool

    def forward(self, input: Any) -> Any:
        """The function of the input, element by element."""
        return type(self)._function(input, True) if self.inplace else type(self)._function(input)


class ReLU(_Switch):
    """max(x, 0)."""

    _function = staticmethod(F.relu)


class ReLU6(_Switch):
    """x within 0 and 6."""

    _function = staticmethod(F.relu6)


class SELU(_Switch):
    """The self-normalizing ELU."""

    _function = staticmethod(F.selu)


class SiLU(_Switch):
    """x * sigmoid(x)."""

    _function = staticmethod(F.silu)


class Mish(_Switch):
    """x * tanh(softplus(x))."""

    _function = staticmethod(F.mish)


class Hardsigmoid(_Switch):
    """(x + 3) / 6 within 0 and 1."""

    _function = staticmethod(F.hardsigmoid)


class Hardswish(_Switch):
    """x * hardsigmoid(x)."""

    _function = staticmethod(F.hardswish)


class LeakyReLU(_Options):
    """x where positive, else negative_slope * x."""

    _function = staticmethod(F.leaky_relu)
    _defaults: ClassVar[dict[str, Any]] = {"negative_slope": 1e-2, "inplace": False}


class ELU(_Options):
    """x where positive, else alpha * (exp(x) - 1)."""

    _function = staticmethod(F.elu)
    _defaults: ClassVar[dict[str, Any]] = {"alpha": 1.0, "inplace": False}


class CELU(_Options):
    """x where positive, else alpha * (exp(x / alpha) - 1)."""

    _function = staticmethod(F.celu)
    _defaults: ClassVar[dict[str, Any]] = {"alpha": 1.0, "inplace": False}


class GELU(_Options):
    """x times the normal distribution function of x."""

    _function = staticmethod(F.gelu)
    _defaults: ClassVar[dict[str, Any]] = {"approximate": "none"}


class Softplus(_Options):
    """log(1 + exp(beta x)) / beta."""

    _function = staticmethod(F.softplus)
    _defaults: ClassVar[dict[str, Any]] = {"beta": 1.0, "threshold": 20.0}


class Hardtanh(_Options):
    """x within the bounds."""

    _function = staticmethod(F.hardtanh)
    _defaults: ClassVar[dict[str, Any]] = {"min_val": -1.0, "max_val": 1.0, "inplace": False}


class Threshold(_Options):
    """x above the threshold, else the value."""

    _function = staticmethod(F.threshold)
    _defaults: ClassVar[dict[str, Any]] = {"threshold": None, "value": None, "inplace": False}


class Softshrink(_Options):
    """x moved towards 0 by lambd."""

    _function = staticmethod(F.softshrink)
    _defaults: ClassVar[dict[str, Any]] = {"lambd": 0.5}
    _bare = True


class Hardshrink(_Options):
    """x, and 0 within -lambd and lambd."""

    _function = staticmethod(F.hardshrink)
    _defaults: ClassVar[dict[str, Any]] = {"lambd": 0.5}
    _bare = True


class GLU(_Options):
    """The first half along `dim` times the sigmoid of the second."""

    _function = staticmethod(F.glu)
    _defaults: ClassVar[dict[str, Any]] = {"dim": -1}


class Softmax(_Options):
    """exp(x) / sum(exp(x)) along `dim`."""

    _function = staticmethod(F.softmax)
    _defaults: ClassVar[dict[str, Any]] = {"dim": None}


class LogSoftmax(_Options):
    """log(softmax(x)) along `dim`."""

    _function = staticmethod(F.log_softmax)
    _defaults: ClassVar[dict[str, Any]] = {"dim": None}


class Softmin(_Options):
    """softmax(-x) along `dim`."""

    _function = staticmethod(F.softmin)
    _defaults: ClassVar[dict[str, Any]] = {"dim": None}


class PReLU(Module):
    """x where positive, else weight * x, the weight being a parameter: one, or one per channel."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        kind = default_dtype() if dtype is None else numpy_dtype(dtype)
        self.weight = Parameter(np.full((num_parameters,), init, kind))

    def forward(self, input: Any) -> Any:
        """The function of the input, element by element."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """How many weights."""
        return f"num_parameters={self.num_parameters}"
