"""Helpers for parameters: clipping gradients, and all parameters as one vector. Nothing here is recorded but the
vector."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from srcdiff.errors import ArgumentError, AutogradError, ShapeError
from srcdiff.ops.shaping import concatenate
from srcdiff.ops.structural import reshape
from srcdiff.tape.effects import effect
from srcdiff.tape.overwrite import begin_write, overwrite
from srcdiff.tape.record import plain
from srcdiff.tape.value import TensorBase


def _listed(parameters: Any) -> list[Any]:
    return [parameters] if isinstance(parameters, TensorBase) else list(parameters)


def _grads(parameters: list[Any]) -> list[Any]:
    return [p._grad for p in parameters if p._grad is not None]


def get_total_norm(
    tensors: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Any:
    """The norm of all tensors together, as if they were one vector."""
    arrays = [t._array for t in ([tensors] if isinstance(tensors, TensorBase) else tensors)]
    if not arrays:
        return plain(np.zeros((), np.float32))
    p = float(norm_type)
    dtype = np.result_type(*arrays)
    if p == math.inf:
        total = max(float(np.abs(a).max(initial=0)) for a in arrays)
    elif p == 2.0:
        total = math.sqrt(sum(float(np.vdot(a, a).real) for a in arrays))
    elif p == 0.0:
        total = float(sum(bool(a.any()) for a in arrays))
    else:
        total = sum(float((np.abs(a) ** p).sum()) for a in arrays) ** (1.0 / p)
    if error_if_nonfinite and not math.isfinite(total):
        raise AutogradError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot "
            "be clipped. To "
            "disable this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return plain(np.asarray(total, dtype))


def clip_grad_norm_(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Any:
    """Scale the gradients of all parameters so that their norm together is at most `max_norm`; gives the norm
    before."""
    return _clip_norm(_listed(parameters), max_norm, norm_type, error_if_nonfinite)


@effect(_grads)
def _clip_norm(parameters: list[Any], max_norm: float, norm_type: float, error_if_nonfinite: bool) -> Any:
    grads = _grads(parameters)
    total = get_total_norm(grads, norm_type, error_if_nonfinite)
    factor = float(max_norm) / (float(total._array) + 1e-6)
    if not factor >= 1.0:  # NaN scales too
        for grad in grads:
            array = begin_write(grad)
            np.multiply(array, factor, out=array)
    return total


def clip_grad_value_(parameters: Any, clip_value: float, foreach: bool | None = None) -> None:
    """Clip every element of the gradients to [-clip_value, clip_value]."""
    _clip_value(_listed(parameters), clip_value)


@effect(_grads)
def _clip_value(parameters: list[Any], clip_value: float) -> None:
    for grad in _grads(parameters):
        array = begin_write(grad)
        np.clip(array, -float(clip_value), float(clip_value), out=array)


def parameters_to_vector(parameters: Iterable[Any]) -> Any:
    """All parameters one after another, as a tensor of one axis; differentiable."""
    flat = [reshape(p, shape=(math.prod(p.shape),)) for p in parameters]
    return concatenate(*flat, axis=0)


def vector_to_parameters(vec: Any, parameters: Iterable[Any]) -> None:
    """Give the parameters the values in the vector."""
    if not isinstance(vec, TensorBase):
        raise ArgumentError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    parameters = list(parameters)
    count = sum(math.prod(p.shape) for p in parameters)
    if vec._array.size < count:
        raise ShapeError(f"vector_to_parameters: {vec._array.size} values for parameters of {count} elements")
    start = 0
    for p in parameters:
        stop = start + math.prod(p.shape)
        overwrite(p, vec._array[start:stop].reshape(p.shape))
        start = stop
