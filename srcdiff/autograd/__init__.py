"""Backward passes over the tape, and PyTorch's interface to them.

`functional`, `forward_ad`, `gradcheck` and `gradgradcheck` are imported when they are first used.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from srcdiff.autograd import graph
from srcdiff.autograd.backward import GradientEdge, backward, grad
from srcdiff.autograd.function import Function
from srcdiff.autograd.modes import (
    detect_anomaly,
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_detect_anomaly,
    set_grad_enabled,
)
from srcdiff.autograd.variable import Variable

if TYPE_CHECKING:
    from srcdiff.autograd import forward_ad, functional
    from srcdiff.autograd.gradcheck import gradcheck, gradgradcheck

__all__ = [
    "Function",
    "GradientEdge",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_grad_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]


class _Package(ModuleType):
    """This package. The import of its module `gradcheck` does not take the place of the function of that name."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value.gradcheck if name == "gradcheck" and isinstance(value, ModuleType) else value)


def __getattr__(name: str) -> Any:
    if name in ("functional", "forward_ad"):
        return import_module(f"{__name__}.{name}")
    if name in ("gradcheck", "gradgradcheck"):
        return getattr(import_module(f"{__name__}.gradcheck"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


sys.modules[__name__].__class__ = _Package
