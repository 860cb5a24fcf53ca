"""`jacrev`, `jacfwd`, `hessian`: Jacobians row by row, or column by column."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from srcdiff.autograd.pushing import Pushforward
from srcdiff.errors import ArgumentError
from srcdiff.func.run import Run, by_argument, chosen
from srcdiff.ops.shaping import stack
from srcdiff.ops.structural import reshape
from srcdiff.tape.modes import modes
from srcdiff.tape.record import plain


def jacrev(
    func: Callable[..., Any],
    argnums: Any = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """A function that gives the Jacobian of `func`, by one backward pass per output element.

    For each Tensor of the result and each of the argument at `argnums` a Tensor of shape `output.shape +
    input.shape`, in the structure of the result, then of the argument. `chunk_size` is accepted: rows are computed
    one by one.
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ArgumentError(f"jacrev: `chunk_size` should be greater than 0, got {chunk_size}")

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        run = Run("jacrev", func, args, kwargs, chosen(argnums, args), has_aux)
        run.check_tensors("Expected f(*args) to return only tensors")
        made = run.rebuild([by_argument(argnums, run.structured(_rows(run, out))) for out in run.outs])
        return (made, run.auxiliary()) if has_aux else made

    return jacobian


def _rows(run: Run, out: Any) -> list[Any]:
    shape, dtype, size = out._value.shape, out._value.dtype, out._value.size
    rows = []
    for k in range(size):
        ct = np.zeros(size, dtype)
        ct[k] = 1
        rows.append(run.pull([out], [ct.reshape(shape)[()]], retain=True))
    return [
        _joined([row[j] for row in rows], shape + leaf._value.shape, 0) if rows else _zeros(shape, leaf)
        for j, leaf in enumerate(run.leaves)
    ]


def _joined(parts: Sequence[Any], shape: tuple[int, ...], axis: int) -> Any:
    return reshape(stack(*parts, axis=axis), shape=shape)


def _zeros(shape: tuple[int, ...], leaf: Any) -> Any:
    return plain(np.zeros(shape + leaf._value.shape, leaf._value.dtype))


def jacfwd(
    func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """The same by one forward derivative per input element. `randomness` is accepted: `func` runs once."""

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        run = Run("jacfwd", func, args, kwargs, chosen(argnums, args), has_aux, forward=True)
        run.check_tensors("expected f(*primals) to return only tensors")
        forward = Pushforward(run.outs, run.edges, run.start)
        columns = [_columns(run, forward, j) for j in range(len(run.leaves))]
        made = run.rebuild(
            [by_argument(argnums, run.structured([column[k] for column in columns])) for k in range(len(run.outs))]
        )
        return (made, run.auxiliary()) if has_aux else made

    return jacobian


def _columns(run: Run, forward: Pushforward, j: int) -> list[Any]:
    """For each output, its Jacobian with respect to leaf j."""
    leaf = run.leaves[j]
    shape, size = leaf._value.shape, leaf._value.size
    columns = []
    for k in range(size):
        tangent = np.zeros(size, leaf._value.dtype)
        tangent[k] = 1
        tangents: list[Any] = [None] * len(run.leaves)
        tangents[j] = tangent.reshape(shape)
        columns.append(forward.tensors(tangents, run.is_open and modes.grad))
    made = []
    for k, out in enumerate(run.outs):
        parts = [plain(np.zeros_like(out._value)) if column[k] is None else column[k] for column in columns]
        whole = out._value.shape + shape
        made.append(_joined(parts, whole, out._value.ndim) if parts else plain(np.zeros(whole, out._value.dtype)))
    return made


def hessian(func: Callable[..., Any], argnums: Any = 0) -> Callable[..., Any]:
    """A function that gives the Hessian of `func`: the Jacobian, by columns, of the Jacobian, by rows."""
    return jacfwd(jacrev(func, argnums), argnums)
