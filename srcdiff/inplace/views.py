"""Aliases: tensors that share memory, what they know of each other, and changes of shape in place.

detach()   shares memory, version and the detection of overwritten saved values, but no graph
data       shares memory alone: writes through it go unnoticed, as in PyTorch
a view     shares all of it; see `srcdiff.tape.record.make_view`
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from srcdiff.core.primitive import REGISTRY
from srcdiff.errors import AutogradError, DTypeError
from srcdiff.index import window
from srcdiff.inplace.rules import guard
from srcdiff.tape.modes import modes
from srcdiff.tape.record import note, plain
from srcdiff.tape.storage import share, storage_of
from srcdiff.tape.value import TensorBase, View


def _aliased(x: TensorBase) -> Any:
    """A Tensor without gradient on x's memory."""
    scalar = x._traced and not isinstance(x._value, np.ndarray)
    out = plain(x._value if scalar else x.materialise())
    out._detached = True
    if x._inference:
        out._inference = True
    if modes.recorder is not None:
        modes.recorder.aliased(out, x)
    return out


class Views(TensorBase):
    """Methods about shared memory."""

    def detach(self) -> Any:
        """The same memory outside the graph; writing to it makes saved values stale, as writing to the tensor does."""
        out = _aliased(self)
        if isinstance(out._value, np.ndarray):
            share(out, self)
        return out

    def detach_(self) -> Any:
        """Cut the tensor off from the graph that made it; it becomes a leaf that does not require grad."""
        if self._view is not None:
            raise AutogradError(
                "Can't detach views in-place; use detach() instead. If you are using DistributedDataParallel (DDP) for "
                "training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and hence "
                "detach_() cannot be called on these gradients. To fix this error, please refer to the "
                "Optimizer.zero_grad() function in torch/optim/optimizer.py as a solution."
            )
        self._requires = False
        self._edge = None
        self.__dict__.pop("_type", None)
        if self._storage is not None:
            self._storage.renew_views(self)
        return self

    @property
    def data(self) -> Any:
        """The same memory outside the graph, with a version of its own: writes to it are not noticed by backward."""
        return _aliased(self)

    @data.setter
    def data(self, new: Any) -> None:
        if not isinstance(new, TensorBase):
            raise DTypeError(f"Variable data has to be a tensor, but got {type(new).__name__}")
        array = new.materialise()
        if array is self._value:
            return
        if modes.recorder is not None:
            modes.recorder.fail("it sets .data")
        if self._edge is not None and array.dtype.kind not in "fc":
            raise AutogradError("data set to a tensor that requires gradients must be floating point or complex dtype")
        self._value = array
        self._cell = self._storage = self._view = None
        self.__dict__.pop("_type", None)

    @property
    def _version(self) -> int:
        """How often the memory was written to, through whatever tensor."""
        if self._inference:
            raise AutogradError("Inference tensors do not track version counter.")
        return 0 if self._storage is None else self._storage.version

    @property
    def _base(self) -> Any:
        """The tensor this one is a view of, or None."""
        return None if self._view is None else self._view.base

    def _is_view(self) -> bool:
        return self._view is not None

    # ------------------------------------------------------------------------------------------------- shapes in place

    def squeeze_(self, dim: Any = None) -> Any:
        """Drop axes of length 1: all, or the given ones."""
        shape = self._value.shape
        given = range(len(shape)) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
        axes = sorted(as_axis(d, len(shape)) for d in given) if shape else []
        return _reshaped(self, "squeeze", {"axis": tuple(a for a in axes if shape[a] == 1)})

    def unsqueeze_(self, dim: int) -> Any:
        """Put an axis of length 1 in front of axis `dim`."""
        return _reshaped(self, "expand_dims", {"axis": (as_axis(dim, self._value.ndim + 1),)})

    def t_(self) -> Any:
        """Exchange the two axes of a matrix."""
        if self._value.ndim > 2:
            raise AutogradError(f"t_() expects a tensor with <= 2 dimensions, but self is {self._value.ndim}D")
        return _reshaped(self, "matrix_t", {}) if self._value.ndim == 2 else self

    def transpose_(self, dim0: int, dim1: int) -> Any:
        """Exchange two axes."""
        axes = as_axis(dim0, self._value.ndim), as_axis(dim1, self._value.ndim)
        return _reshaped(self, "swap_axes", {"axis1": axes[0], "axis2": axes[1]})

    swapaxes_ = swapdims_ = transpose_

    def resize(self, *new_shape: Any, refcheck: bool = True) -> None:
        """ndarray.resize: another shape in place, elements cut off or zeros added at the end."""
        shape = new_shape[0] if len(new_shape) == 1 and isinstance(new_shape[0], (tuple, list)) else new_shape
        if new_shape == (None,) or not new_shape:
            return
        shape = tuple(operator.index(n) for n in shape)
        if min(shape, default=0) < 0:
            raise ValueError("all elements of 'new_shape' must be non-negative")
        array = self.materialise()
        if modes.recorder is not None:
            modes.recorder.fail("it resizes an array in place")
        size, wanted = array.size, math.prod(shape)
        if not array.flags.c_contiguous:
            raise ValueError("resize only works on single-segment arrays")
        if size == wanted:
            _reshaped(self, "reshape", {"shape": shape})
            return
        if self._view is not None or (self._storage is not None and len(list(self._storage.tensors())) > 1):
            raise ValueError("cannot resize this array: it does not own its data, or others refer to it")
        guard(self)
        new = REGISTRY["reshape"](self, shape=(size,))
        if wanted < size:
            new = REGISTRY["getitem"](new, index=window(0, 0, wanted))
        else:
            new = REGISTRY["concatenate"](new, np.zeros(wanted - size, array.dtype), axis=0)
        new = REGISTRY["copy"](REGISTRY["reshape"](new, shape=shape))
        self._value, self._edge, self._cell, self._storage = new._value, new._edge, new._cell, None
        self.__dict__.pop("_type", None)


def as_axis(dim: int, ndim: int) -> int:
    """An axis as a non-negative number. Raises PyTorch's error if there is none such."""
    if not -ndim <= dim < ndim:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {dim})")
    return dim % ndim


def set_shape(x: TensorBase, shape: Any) -> None:
    """`x.shape = shape`."""
    given = shape if isinstance(shape, (tuple, list)) else (shape,)
    array = x.materialise()
    view = array.reshape(tuple(given))
    if array.size and not np.may_share_memory(view, array):
        raise AttributeError("Incompatible shape for in-place modification. Use `.reshape()` to make a copy")
    target = view.shape
    _reshaped(x, "reshape", {"shape": target})


def _reshaped(x: TensorBase, name: str, params: dict[str, Any]) -> TensorBase:
    """Give a tensor another shape. If it has views, a hidden tensor with the old shape becomes the base of them all."""
    prim = REGISTRY[name]
    needed = guard(x)
    array = x.materialise()
    storage = storage_of(x)
    value = prim.eval(array, **params)
    new = note(prim, (x,), params, value) if needed else None
    step = (prim, (), params)
    view = x._view
    if view is not None:
        view = View(view.base, (*view.steps, step), view.no_grad, view.multi)
    elif others := [t for t in storage.tensors() if t._view is not None and t._view.base is x]:
        owner = plain(array, x._traced)
        owner._edge = None if x._requires else x._edge
        share(owner, x)
        for other in others:
            seen = other._view
            other._view = View(owner, seen.steps, seen.no_grad, seen.multi)
        view = View(owner, (step,), not modes.recording)
    x._view, x._value, x._cell = view, value, None
    x.__dict__.pop("_type", None)
    if new is not None and modes.unwatched():
        x._edge = new._edge
    storage.version += 1
    return x
