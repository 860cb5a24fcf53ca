"""Making tensors like another one, and random ones. The draws themselves are in `srcdiff.random`."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff import random
from srcdiff.creation import array_of, made, shape_of, sizes
from srcdiff.device import check_device, check_layout
from srcdiff.dtypes import default_dtype, numpy_dtype
from srcdiff.errors import AutogradError, DTypeError
from srcdiff.tape.value import TensorBase

# --------------------------------------------------------------------------------------------------------------- like


def _pattern(x: Any, dtype: Any, device: Any, layout: Any = None, memory_format: Any = None) -> tuple[Any, Any, bool]:
    """The shape of x, the dtype asked for or that of x, and whether x is being differentiated."""
    check_device(device)
    check_layout("*_like", layout, memory_format)
    value = x._value if isinstance(x, TensorBase) else np.asarray(x)
    return value.shape, value.dtype if dtype is None else numpy_dtype(dtype), isinstance(x, TensorBase) and x._traced


def zeros_like(
    input: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
    memory_format: Any = None,
) -> Any:  # fmt: skip
    """Zeros of the shape and dtype of another."""
    shape, kind, traced = _pattern(input, dtype, device, layout, memory_format)
    return made(np.zeros(shape, kind), requires_grad, traced)


def ones_like(
    input: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
    memory_format: Any = None,
) -> Any:  # fmt: skip
    """Ones of the shape and dtype of another."""
    shape, kind, traced = _pattern(input, dtype, device, layout, memory_format)
    return made(np.ones(shape, kind), requires_grad, traced)


def empty_like(
    input: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, requires_grad: bool = False,
    memory_format: Any = None,
) -> Any:  # fmt: skip
    """A tensor of the shape and dtype of another, its values not set."""
    shape, kind, traced = _pattern(input, dtype, device, layout, memory_format)
    return made(np.empty(shape, kind), requires_grad, traced)


def full_like(
    input: Any, fill_value: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
    requires_grad: bool = False, memory_format: Any = None,
) -> Any:  # fmt: skip
    """A number in the shape and dtype of another."""
    shape, kind, traced = _pattern(input, dtype, device, layout, memory_format)
    return made(np.full(shape, array_of(fill_value), kind), requires_grad, traced)


# ------------------------------------------------------------------------------------------------------------- random


def rand(
    *shape: Any, size: Any = None, generator: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Any:  # fmt: skip
    """Numbers drawn uniformly from [0, 1)."""
    check_device(device)
    check_layout("rand", layout, pin_memory=pin_memory)
    kind = default_dtype() if dtype is None else numpy_dtype(dtype)
    return made(random._rand(shape_of(shape, size), kind, generator), requires_grad)


def randn(
    *shape: Any, size: Any = None, generator: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Any:  # fmt: skip
    """Numbers drawn from the standard normal distribution."""
    check_device(device)
    check_layout("randn", layout, pin_memory=pin_memory)
    kind = default_dtype() if dtype is None else numpy_dtype(dtype)
    return made(random._randn(shape_of(shape, size), kind, generator), requires_grad)


def randint(
    *bounds: Any, low: int = 0, high: int | None = None, size: Any = None, generator: Any = None, dtype: Any = np.int64,
    layout: Any = None, device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """`randint(high, size)`, `randint(low, high, size)`: integers from low (0) to high - 1."""
    check_device(device)
    check_layout("randint", layout)
    given = [*bounds, *(() if high is None else (high,)), *(() if size is None else (size,))]
    if len(given) not in (2, 3):
        raise DTypeError("randint: expected (high, size) or (low, high, size)")
    start = low if len(given) == 2 else given[0]
    drawn = random._randint(int(start), int(given[-2]), sizes((given[-1],)), numpy_dtype(dtype), generator)
    return made(drawn, requires_grad)


def randperm(
    n: int, *, generator: Any = None, dtype: Any = np.int64, layout: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """The integers below n in random order."""
    check_device(device)
    check_layout("randperm", layout)
    return made(random._randperm(n, numpy_dtype(dtype), generator), requires_grad)


def rand_like(input: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """Uniform numbers of the shape and dtype of another."""
    shape, kind, traced = _pattern(input, dtype, device)
    return made(random._rand(shape, kind), requires_grad, traced)


def randn_like(input: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """Normal numbers of the shape and dtype of another."""
    shape, kind, traced = _pattern(input, dtype, device)
    return made(random._randn(shape, kind), requires_grad, traced)


def randint_like(
    input: Any, low: int = 0, high: int | None = None, *, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Integers from low to high - 1 of the shape and dtype of another; `randint_like(x, high)` starts at 0."""
    shape, kind, traced = _pattern(input, dtype, device)
    start, stop = (0, low) if high is None else (low, high)
    return made(random._randint(start, stop, shape, kind), requires_grad, traced)


def normal(
    mean: Any, std: Any = 1.0, size: Any = None, *, generator: Any = None, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Normal numbers of given mean and standard deviation: of `size`, or of the shape the two broadcast to."""
    check_device(device)
    values = [x._value if isinstance(x, TensorBase) else x for x in (mean, std)]
    dtypes = [x.dtype for x in values if isinstance(x, (np.ndarray, np.generic))]
    kind = numpy_dtype(dtype) if dtype is not None else np.result_type(*dtypes) if dtypes else default_dtype()
    return made(
        random._normal(values[0], values[1], None if size is None else sizes((size,)), kind, generator), requires_grad
    )


def bernoulli(input: Any, p: float | None = None, *, generator: Any = None) -> Any:
    """1 with the probability given for each element (or `p` for all), else 0; of the dtype of `input`."""
    value = input._value if isinstance(input, TensorBase) else np.asarray(input)
    return made(random._bernoulli(value if p is None else p, value.shape, value.dtype, generator))


def multinomial(input: Any, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Any:
    """Positions drawn with probabilities proportional to the rows of `input`; a row of `num_samples` for each.

    Without replacement by the largest of log(u) / weight (Efraimidis and Spirakis 2006).
    """
    weights = np.asarray(input._value if isinstance(input, TensorBase) else input, float)
    if weights.ndim not in (1, 2):
        raise AutogradError("prob_dist must be 1 or 2 dim")
    if not np.all(np.isfinite(weights) & (weights >= 0)):
        raise AutogradError("probability tensor contains either `inf`, `nan` or element < 0")
    if np.any(weights.sum(-1) <= 0):
        raise AutogradError("invalid multinomial distribution (sum of probabilities <= 0)")
    if not replacement:
        if num_samples > weights.shape[-1] or np.any(np.count_nonzero(weights, -1) < num_samples):
            raise AutogradError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
        u = random._rand(weights.shape, np.float64, generator)
        with np.errstate(divide="ignore"):
            keys = np.where(weights > 0, np.log1p(-u) / np.where(weights > 0, weights, 1.0), -np.inf)
        return made(np.argsort(-keys, -1, kind="stable")[..., :num_samples])
    u = random._rand((*weights.shape[:-1], num_samples), np.float64, generator)
    edges = np.cumsum(weights, -1)
    edges = edges / edges[..., -1:]
    rows = [np.searchsorted(e, v, "right") for e, v in zip(np.atleast_2d(edges), np.atleast_2d(u), strict=True)]
    return made(np.asarray(rows).reshape(u.shape))
