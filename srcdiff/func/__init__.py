"""Transforms of functions of Tensors, with PyTorch's names: derivatives, batches, modules as functions."""

from __future__ import annotations

from srcdiff.func.jacobians import hessian, jacfwd, jacrev
from srcdiff.func.modules import functional_call, stack_module_state
from srcdiff.func.transforms import grad, grad_and_value, jvp, linearize, vjp
from srcdiff.func.vmap import vmap

__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "stack_module_state",
    "vjp",
    "vmap",
]
