"""Backward passes over the tape, and PyTorch's interface to them."""

from __future__ import annotations

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

__all__ = [
    "Function",
    "GradientEdge",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "graph",
    "inference_mode",
    "is_grad_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]
