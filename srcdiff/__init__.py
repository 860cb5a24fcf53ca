"""Source-transformation automatic differentiation for Python and NumPy."""

from __future__ import annotations

from srcdiff import autograd, errors, tensor as _tensor  # noqa: F401
from srcdiff.api.inspect import cache_clear, cache_info, program, source
from srcdiff.api.jacobian import jvp, vjp
from srcdiff.api.transforms import compile, detach, grad, hessian, jacobian, value_and_grad
from srcdiff.autograd.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from srcdiff.config import config
from srcdiff.creation import arange, as_tensor, empty, eye, from_numpy, full, linspace, ones, tensor, zeros
from srcdiff.tensor import Tensor

__version__ = "0.1.0"
