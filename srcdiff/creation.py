"""Making tensors: from data, filled, in sequence. All take `dtype=`, `device=` ("cpu") and `requires_grad=`.

Lists and Python numbers take the default dtype, arrays and NumPy scalars keep theirs. `tensor` copies, `as_tensor` and
`from_numpy` share memory.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from srcdiff.autograd.tensor_api import set_requires_grad
from srcdiff.conversion import lost
from srcdiff.device import check_device, check_layout
from srcdiff.dtypes import default_complex, default_dtype, numpy_dtype
from srcdiff.errors import AutogradError, DTypeError, ShapeError
from srcdiff.ops.structural import cast
from srcdiff.tape.heard import warn
from srcdiff.tape.modes import modes
from srcdiff.tape.record import plain
from srcdiff.tape.value import TensorBase

Array = np.ndarray[Any, np.dtype[Any]]


def made(value: Any, requires_grad: bool = False, traced: bool = False) -> Any:
    """A new tensor of an array: a leaf that requires grad if so asked."""
    out = plain(value, traced)
    if requires_grad:
        if value.dtype.kind not in "fc":
            raise AutogradError("Only Tensors of floating point and complex dtype can require gradients")
        set_requires_grad(out, True)
    if modes.recorder is not None:
        modes.recorder.created(out)
    return out


def alias(array: Any) -> Any:
    """A Tensor on the memory of an array, in whose place one stands that is watched."""
    out = plain(array._value)
    modes.recorder.aliased(out, array)
    return out


# ---------------------------------------------------------------------------------------------------------- from data


def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Any:
    """A new tensor holding a copy of the data: a number, a nested list, an array or a tensor (its value, out of the
    graph).

    >>> tensor([1, 2.5])
    tensor([1.0000, 2.5000])
    """
    check_device(device)
    check_layout("tensor", pin_memory=pin_memory)
    if isinstance(data, TensorBase):
        warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than tensor(sourceTensor).",
            UserWarning, stacklevel=2,
        )  # fmt: skip
        _leaves_graph(data, "tensor(x)", "use x.clone(), which is differentiable")
        data = data._value
    return made(array_of(data, dtype, copy=True), requires_grad)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:
    """A tensor of the data: the tensor itself, an array's memory, or a copy of a list."""
    check_device(device)
    if isinstance(data, TensorBase):
        if data._stands:
            data = alias(data)
        return (
            data if dtype is None or data._value.dtype == numpy_dtype(dtype) else cast(data, dtype=numpy_dtype(dtype))
        )
    return plain(array_of(data, dtype, copy=False))


def asarray(
    obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None, requires_grad: bool = False
) -> Any:
    """A tensor of `obj` that shares memory if it can, unless `copy` is True; ValueError if `copy` is False and it
    cannot."""
    found = as_tensor(obj, dtype, device)
    shares = isinstance(obj, (TensorBase, np.ndarray)) and np.shares_memory(found._array, getattr(obj, "_array", obj))
    if copy is False and not shares:
        raise ValueError("cannot alias the given data without copying it")
    if copy and shares:
        found = made(found._array.copy())
    return made(found._value, True) if requires_grad else found


def from_numpy(ndarray: Any) -> Any:
    """A tensor on an array's memory."""
    if not isinstance(ndarray, np.ndarray):
        raise DTypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    if ndarray.dtype.kind not in "biufc":
        raise DTypeError(f"can't convert np.ndarray of type {ndarray.dtype}: only numbers and booleans have tensors")
    return plain(ndarray)


def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Any:
    """A one-dimensional tensor on the memory of an object with Python's buffer interface."""
    return made(np.frombuffer(buffer, numpy_dtype(dtype), count, offset), requires_grad)


def scalar_tensor(s: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """A 0-d tensor of a number, of the default dtype whatever the number."""
    check_device(device)
    return made(np.asarray(s, default_dtype() if dtype is None else numpy_dtype(dtype)), requires_grad)


def array_of(data: Any, dtype: Any = None, copy: bool = True) -> Array:
    """Data as an array: of `dtype`, else of its own if it has one, else of the default dtype."""
    wanted = None if dtype is None else numpy_dtype(dtype)
    if isinstance(data, (list, tuple)):
        data, owns = _values(data), True
        typed = _first(data) is not None
    else:
        owns = not isinstance(data, np.ndarray)
        typed = isinstance(data, (np.ndarray, np.generic)) or hasattr(data, "__array__")
    try:
        found = np.array(data) if copy or owns else np.asarray(data)
    except ValueError as error:
        raise ShapeError(f"tensor: {error}") from None
    if found.dtype.kind not in "biufc":
        raise DTypeError(f"tensor: cannot make numbers of {type(data).__name__} (NumPy finds {found.dtype})")
    if wanted is None:
        wanted = found.dtype.newbyteorder("=") if typed else _default_for(found)
    return found if found.dtype == wanted else found.astype(wanted)


def _default_for(found: Array) -> np.dtype[Any]:
    """The dtype of Python numbers that NumPy made `found` of."""
    if found.size == 0 or found.dtype.kind == "f":
        return default_dtype()
    return default_complex() if found.dtype.kind == "c" else found.dtype


def _first(data: Any) -> Any:
    """The first entry of a nested list if it is an array or NumPy scalar, else None."""
    while isinstance(data, (list, tuple)) and len(data):
        data = data[0]
    return data if isinstance(data, (np.ndarray, np.generic)) else None


def _values(data: Any) -> Any:
    """A nested list with tensors replaced by their values."""
    if isinstance(data, TensorBase):
        _leaves_graph(data, "a list of tensors given to tensor()", "use stack, which is differentiable")
        return data._value
    if isinstance(data, (list, tuple)) and any(isinstance(part, (list, tuple, TensorBase)) for part in data):
        return [_values(part) for part in data]
    return data


def _leaves_graph(x: TensorBase, what: str, instead: str) -> None:
    """Raise for a value being differentiated, warn about an eager tensor that requires grad."""
    if x._edge is None or not modes.grad:
        return
    if x._traced:
        raise lost(what, instead)
    if "list" in what:
        warn(
            f"Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior: "
            f"{what} would lose "
            f"the gradient; {instead}. Consider using tensor.detach() first.",
            UserWarning, stacklevel=4,
        )  # fmt: skip


# ------------------------------------------------------------------------------------------------------------- filled


def sizes(size: tuple[Any, ...], name: str = "size") -> tuple[int, ...]:
    """A shape given as arguments or as one sequence. Raises for negative lengths, as PyTorch does."""
    if len(size) == 1 and isinstance(size[0], (list, tuple, np.ndarray)):
        size = tuple(size[0])
    try:
        shape = tuple(map(operator.index, size))
    except TypeError:
        raise DTypeError(f"{name}: expected a shape of ints, got {size}") from None
    if any(n < 0 for n in shape):
        raise AutogradError(f"Trying to create tensor with negative dimension {min(shape)}: {list(shape)}")
    return shape


def shape_of(shape: tuple[Any, ...], size: Any) -> tuple[int, ...]:
    """A shape given as arguments, as one sequence, or by the keyword `size`."""
    if not shape and size is None:
        raise DTypeError("missing the shape: give lengths, or a sequence of them")
    return sizes(shape if size is None else (size,))


def _fresh(
    name: str, dtype: Any, device: Any, layout: Any, pin_memory: Any, memory_format: Any = None
) -> np.dtype[Any]:
    """Check what is common to all constructors; the dtype."""
    check_device(device)
    if layout is not None or pin_memory or memory_format is not None:
        check_layout(name, layout, memory_format, pin_memory)
    return default_dtype() if dtype is None else numpy_dtype(dtype)


def zeros(
    *shape: Any, size: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Any:  # fmt: skip
    """Zeros of a shape."""
    return made(np.zeros(shape_of(shape, size), _fresh("zeros", dtype, device, layout, pin_memory)), requires_grad)


def ones(
    *shape: Any, size: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Any:  # fmt: skip
    """Ones of a shape."""
    return made(np.ones(shape_of(shape, size), _fresh("ones", dtype, device, layout, pin_memory)), requires_grad)


def empty(
    *shape: Any, size: Any = None, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False, memory_format: Any = None,
) -> Any:  # fmt: skip
    """A tensor of a shape, its values not set."""
    return made(
        np.empty(shape_of(shape, size), _fresh("empty", dtype, device, layout, pin_memory, memory_format)),
        requires_grad,
    )


def full(
    size: Any, fill_value: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool =
    False, pin_memory: bool = False,
) -> Any:  # fmt: skip
    """A shape filled with a number, whose kind decides the dtype if none is given."""
    _fresh("full", dtype, device, layout, pin_memory)
    if isinstance(fill_value, TensorBase):
        _leaves_graph(fill_value, "full(size, x)", "use x.expand(size), which is differentiable")
        fill_value = fill_value._value
    fill = array_of(fill_value, dtype)
    if fill.ndim:
        raise ShapeError(f"full: expected a number to fill with, got an array of shape {fill.shape}")
    shape = (size,) if isinstance(size, int) else size
    return made(np.full(sizes((shape,)), fill), requires_grad)


def eye(
    n: int, m: int | None = None, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """The identity matrix, n by m."""
    return made(np.eye(n, m, dtype=_fresh("eye", dtype, device, layout, False)), requires_grad)


# -------------------------------------------------------------------------------------------------------- in sequence


def _number(x: Any) -> Any:
    return x._value.item() if isinstance(x, TensorBase) else x.item() if isinstance(x, (np.ndarray, np.generic)) else x


def arange(
    *bounds: Any, start: Any = 0, end: Any = None, step: Any = 1, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """`arange(end)`, `arange(start, end, step=1)`: start, start + step, ... up to but without end; int64 if all are
    ints."""
    _fresh("arange", dtype, device, layout, False)
    given = [*bounds, *(() if end is None else (end,))] if len(bounds) <= 1 else list(bounds)
    if not 1 <= len(given) <= 3:
        raise DTypeError(f"arange: expected end, or start, end and perhaps step, got {bounds}")
    first, stop = (start, given[0]) if len(given) == 1 else given[:2]
    first, stop, step = map(_number, (first, stop, given[2] if len(given) == 3 else step))
    if step == 0:
        raise AutogradError("step must be nonzero")
    if (stop - first) * step < 0:
        raise AutogradError("upper bound and lower bound inconsistent with step sign")
    if all(type(x) is int for x in (first, stop, step)):
        found = np.arange(first, stop, step, dtype=np.int64)
        return made(found if dtype is None else found.astype(numpy_dtype(dtype)), requires_grad)
    found = first + step * np.arange(math.ceil((stop - first) / step))
    return made(found.astype(default_dtype() if dtype is None else numpy_dtype(dtype)), requires_grad)


def linspace(
    start: Any, end: Any, steps: int, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """`steps` numbers from start to end, both included."""
    kind = _fresh("linspace", dtype, device, layout, False)
    start, end = _number(start), _number(end)
    if dtype is None and (isinstance(start, complex) or isinstance(end, complex)):
        kind = default_complex()
    if steps < 0:
        raise AutogradError("number of steps must be non-negative")
    return made(np.linspace(start, end, steps).astype(kind), requires_grad)


def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """`base` to the powers `linspace(start, end, steps)`."""
    kind = _fresh("logspace", dtype, device, layout, False)
    return made(np.logspace(_number(start), _number(end), steps, base=base).astype(kind), requires_grad)


def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = np.int64, device: Any = None) -> Any:
    """The row and column numbers of a matrix's lower triangle, as a tensor of two rows."""
    check_device(device)
    return made(np.stack(np.tril_indices(row, offset, col)).astype(numpy_dtype(dtype)))


def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = np.int64, device: Any = None) -> Any:
    """The row and column numbers of a matrix's upper triangle, as a tensor of two rows."""
    check_device(device)
    return made(np.stack(np.triu_indices(row, offset, col)).astype(numpy_dtype(dtype)))


def legacy(data: tuple[Any, ...], dtype: Any = None) -> Any:
    """The array of `Tensor(...)`: of one sequence or array its values, of ints a shape; of the default dtype."""
    kind = default_dtype() if dtype is None else numpy_dtype(dtype)
    if len(data) == 1 and not isinstance(data[0], int):
        return array_of(data[0]._value if isinstance(data[0], TensorBase) else data[0], kind)
    return np.empty(sizes(data) if data else (0,), kind)
