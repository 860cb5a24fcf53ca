"""`vmap`: a function of single examples made into one of batches.

The function runs once for each example, on slices of its inputs, and its results are stacked; so whatever it does
works, data-dependent branches too, and the result can be differentiated. Nothing is gained in speed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff import random
from srcdiff.api.tree import flatten, is_container
from srcdiff.autograd.modes import Mode
from srcdiff.errors import ArgumentError, AutogradError
from srcdiff.ops.shaping import stack
from srcdiff.tape.record import plain
from srcdiff.tape.value import TensorBase

_RANDOM = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
    "randomness flags on vmap or perform the randomness operation out of vmap"
)


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that maps `func` over an axis of its positional arguments; keyword arguments are passed as they are.

    `in_dims` says which axis, None for an argument that all examples share, in the structure of the arguments or a
    part of it; `out_dims` where the axis is in the results, None for one that does not depend on the example (the
    first is taken). Random numbers drawn inside: an error, or with `randomness` "different" or "same" for each
    example. `chunk_size` is accepted and changes nothing.
    """
    if randomness not in ("error", "different", "same"):
        raise AutogradError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and chunk_size <= 0:
        raise ArgumentError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    name = getattr(func, "__name__", repr(func))

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, dims, rebuild = _inputs(name, in_dims, args)
        size = _batch_size(leaves, dims)

        def one(k: int) -> list[Any]:
            parts = [leaf if d is None else _slice(leaf, d, k) for leaf, d in zip(leaves, dims, strict=True)]
            result = func(*rebuild(parts), **kwargs)
            outs, structure[0] = flatten(result)
            structure[1] = result
            return outs

        structure: list[Any] = [None, None]
        results = _all(one, size, randomness) if size else [_example(func, rebuild, leaves, dims, kwargs, structure)]
        places = _spread(out_dims, structure[1], "out_dims", f"vmap({name}, ..., out_dims={out_dims})(<inputs>)")
        columns = zip(*results, strict=True)
        return structure[0]([_joined(name, list(column), d, size) for column, d in zip(columns, places, strict=True)])

    return mapped


def _inputs(name: str, in_dims: Any, args: tuple[Any, ...]) -> tuple[list[Any], list[int | None], Callable[..., Any]]:
    """The leaves of the arguments, the axis to map over for each, and how to rebuild the arguments."""
    call = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, (int, tuple, list)):
        raise ArgumentError(
            f"{call}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
            f"got: {type(in_dims)}."
        )
    if not args:
        raise ArgumentError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a "
            f"function with no inputs. The latter is unsupported."
        )
    leaves, rebuild = flatten(args)
    given = tuple(in_dims) if isinstance(in_dims, list) else in_dims
    dims: list[int | None] = []
    for leaf, d in zip(leaves, _spread(given, args, "in_dims", call), strict=True):
        if d is None:
            dims.append(None)
            continue
        if not isinstance(leaf, (TensorBase, np.ndarray)):
            raise ArgumentError(
                f"{call}: Got in_dim={d} for an input but the input is of type {type(leaf)}. We cannot vmap over "
                f"non-Tensor arguments, please use None as the respective in_dim"
            )
        if not -leaf.ndim <= d < leaf.ndim:
            raise ArgumentError(
                f"{call}: Got in_dim={d} for some input, but that input is a Tensor of dimensionality {leaf.ndim} so "
                f"expected in_dim to satisfy -{leaf.ndim} <= in_dim < {leaf.ndim}."
            )
        dims.append(d % leaf.ndim)
    return leaves, dims, rebuild


def _spread(dims: Any, values: Any, what: str, call: str) -> list[int | None]:
    """`dims` for every leaf of `values`: a number or None counts for all leaves below it."""
    if dims is None or type(dims) is int:
        return [dims] * len(flatten(values)[0])
    matching = (
        is_container(values)
        and is_container(dims)
        and isinstance(dims, dict) == isinstance(values, dict)
        and isinstance(dims, (tuple, list)) == isinstance(values, (tuple, list))
    )
    if matching and isinstance(dims, dict):
        matching = dims.keys() == values.keys()
        pairs = [(dims[key], values[key]) for key in values] if matching else []
    elif matching:
        matching = len(dims) == len(values)
        pairs = list(zip(dims, values, strict=False))
    elif what == "out_dims" and isinstance(dims, tuple) and len(dims) == 1:
        return _spread(dims[0], values, what, call)
    if not matching:
        kind = "inputs" if what == "in_dims" else "outputs"
        raise ArgumentError(
            f"{call}: {what} is not compatible with the structure of `{kind}`: {dims} and a {type(values).__name__}"
        )
    return [d for part, value in pairs for d in _spread(part, value, what, call)]


def _batch_size(leaves: list[Any], dims: list[int | None]) -> int:
    sizes = [leaf.shape[d] for leaf, d in zip(leaves, dims, strict=True) if d is not None]
    if not sizes:
        raise ArgumentError("vmap: expected at least one argument to map over, but all of `in_dims` are None")
    if len(set(sizes)) > 1:
        raise ArgumentError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
            f"mapped dimension"
        )
    return int(sizes[0])


def _slice(leaf: Any, axis: int, k: int) -> Any:
    return leaf[(slice(None),) * axis + (k,)]


def _all(one: Callable[[int], list[Any]], size: int, randomness: str) -> list[list[Any]]:
    """The results for all examples, with random numbers as asked for."""
    if randomness == "different":
        return [one(k) for k in range(size)]
    state = random.get_rng_state()
    results = []
    for k in range(size):
        if randomness == "same" and k:
            random.set_rng_state(state)
        results.append(one(k))
        if randomness == "error" and not np.array_equal(state, random.get_rng_state()):
            raise AutogradError(_RANDOM)
    return results


def _example(
    func: Callable[..., Any],
    rebuild: Callable[..., Any],
    leaves: list[Any],
    dims: list[int | None],
    kwargs: dict[str, Any],
    structure: list[Any],
) -> list[Any]:
    """What the function gives for an example of zeros: for an empty batch, whose results have no elements."""
    parts = []
    for leaf, d in zip(leaves, dims, strict=True):
        if d is None:
            parts.append(leaf)
            continue
        array = leaf._value if isinstance(leaf, TensorBase) else leaf
        zeros = np.zeros(array.shape[:d] + array.shape[d + 1 :], array.dtype)
        parts.append(plain(zeros) if isinstance(leaf, TensorBase) else zeros)
    with Mode(grad=False), random.fork_rng():
        structure[1] = func(*rebuild(parts), **kwargs)
    outs, structure[0] = flatten(structure[1])
    return outs


def _plain(x: Any) -> Any:
    return x._value if isinstance(x, TensorBase) else x


def _joined(name: str, outs: list[Any], axis: int | None, size: int) -> Any:
    """One output of all examples, stacked along an axis."""
    first = outs[0]
    if axis is None:
        if any(out is not first and not np.array_equal(_plain(out), _plain(first), equal_nan=True) for out in outs[1:]):
            raise ArgumentError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return first
    if not isinstance(first, (TensorBase, np.ndarray, np.generic)):
        raise ArgumentError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(first)}. Did you mean to set "
            f"out_dims= to None for output?"
        )
    ndim = first.ndim + 1
    if not -ndim <= axis < ndim:
        raise ArgumentError(f"vmap({name}, ...): out_dim={axis} is out of range for an output of {ndim - 1} dimensions")
    if not size:
        outs = [plain(np.zeros(first.shape, first.dtype))]
    made = stack(*(out if isinstance(out, TensorBase) else plain(out) for out in outs), axis=axis % ndim)
    return made if size else plain(made._value.take([], axis=axis % ndim))
