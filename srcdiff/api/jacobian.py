"""`vjp`, `jacobian`, `jacrev`, `jacfwd`, `hessian`: derivatives of functions with array results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from srcdiff.api.gradient import Grad, like, outside, release
from srcdiff.api.trace import Trace, trace
from srcdiff.api.transformed import Transformed
from srcdiff.api.tree import flatten
from srcdiff.autograd.cache import Counts
from srcdiff.autograd.engine import gradients, trace_gradients
from srcdiff.autograd.pushing import Pushforward
from srcdiff.errors import ShapeError
from srcdiff.tape import record
from srcdiff.tape.lower import collect_inner
from srcdiff.tape.value import TensorBase


def vjp(function: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """`(function(*primals), pullback)`, and aux as a third with `has_aux`.

    `pullback(ct)` takes a cotangent in the structure of the function's result and gives a tuple of cotangents, one per
    primal; it may be called any number of times.
    """
    run = trace(function, list(primals), {}, range(len(primals)), lambda k: f"primal{k}")
    result, aux = run.result if has_aux else (run.result, None)
    outs, rebuild = flatten(result)
    is_open = _open(outs, run)

    def pullback(*cts: Any) -> tuple[Any, ...]:
        given = cts[0] if len(cts) == 1 else cts
        leaves, _ = flatten(given)
        found = _pull(outs, leaves, run)
        return tuple(run.rebuild(found))

    value = rebuild([outside(out, run, is_open) for out in outs])
    return (value, pullback, aux) if has_aux else (value, pullback)


def _open(outs: Sequence[Any], run: Trace) -> bool:
    edges = [out._edge for out in outs if isinstance(out, TensorBase) and out._edge is not None]
    return bool(edges) and collect_inner(edges, run.start)[1]


def _pull(outs: Sequence[Any], cts: Sequence[Any], run: Trace) -> list[Any]:
    """Cotangents of the trace's leaves from cotangents of its outputs."""
    if len(outs) != len(cts):
        raise ShapeError(f"vjp: the result has {len(outs)} arrays, but {len(cts)} cotangents were given")
    edges, given = [], []
    for out, ct in zip(outs, cts, strict=True):
        if not isinstance(out, TensorBase) or out._edge is None or ct is None:
            continue
        if not isinstance(ct, TensorBase):
            ct = np.asarray(ct, dtype=out._value.dtype)
        if tuple(ct.shape) != out._value.shape:
            raise ShapeError(f"vjp: a cotangent has shape {tuple(ct.shape)}, the output {out._value.shape}")
        edges.append(out._edge)
        given.append(ct)
    if not edges:
        return [like(leaf, None) for leaf in run.leaves]
    if any(isinstance(ct, TensorBase) and ct._edge is not None for ct in given):
        tensors = [ct if isinstance(ct, TensorBase) else record.plain(ct) for ct in given]
        found = _differentiable(edges, tensors, run)
    else:
        values = [ct._value if isinstance(ct, TensorBase) else ct[()] for ct in given]
        found, _ = trace_gradients(edges, values, run.edges, run.start, True)
    return [like(leaf, g) for leaf, g in zip(run.leaves, found, strict=True)]


def _differentiable(edges: Sequence[Any], cts: Sequence[Any], run: Trace) -> list[Any]:
    return gradients(edges, cts, run.edges, retain=True, create_graph=True)


class Jacobian(Transformed):
    """What `sd.jacobian` returns: one array of shape `output.shape + input.shape` per pair of output and input leaf."""

    #: None: whatever takes fewer passes
    by_columns: bool | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        run = self._trace(args, kwargs)
        result, aux = run.result if self._has_aux else (run.result, None)
        outs, rebuild = flatten(result)
        by_columns = _fewer_columns(outs, run) if self.by_columns is None else self.by_columns
        blocks = _columns(outs, run, self._counts) if by_columns else [_rows(out, run) for out in outs]
        per_output = [self._structured(run.rebuild(block)) for block in blocks]
        jacobians = rebuild(per_output)
        return (jacobians, release(aux, run)) if self._has_aux else jacobians


class JacobianByRows(Jacobian):
    """What `sd.jacrev` returns."""

    by_columns = False


class JacobianByColumns(Jacobian):
    """What `sd.jacfwd` returns."""

    by_columns = True


def _fewer_columns(outs: Sequence[Any], run: Trace) -> bool:
    """Whether forward mode takes fewer passes and gives the same: all values are real and of one dtype."""
    results, arguments = [np.asarray(_plain(out)) for out in outs], [np.asarray(_plain(leaf)) for leaf in run.leaves]
    kinds = {x.dtype for x in (*results, *arguments)}
    if len(kinds) != 1 or kinds.pop().kind != "f":
        # rows have the dtype of the argument, columns of the result; and of complex results rows are conjugate
        return False
    return sum(x.size for x in arguments) < sum(x.size for x in results)


def _columns(outs: Sequence[Any], run: Trace, counts: Counts) -> list[list[Any]]:
    """For each output the Jacobian with respect to each input leaf, by one forward derivative per element of these."""
    push = Pushforward(outs, run.edges, run.start, counts)
    blocks: list[list[Any]] = [[] for _ in outs]
    for j, leaf in enumerate(run.leaves):
        value = np.asarray(_plain(leaf))
        columns = []
        for k in range(value.size):
            tangent = np.zeros(value.size, value.dtype)
            tangent[k] = 1
            tangents: list[Any] = [None] * len(run.edges)
            tangents[j] = tangent.reshape(value.shape)[()]
            columns.append(push(tangents, None))
        for block, (i, out) in zip(blocks, enumerate(outs), strict=True):
            here = np.asarray(_plain(out))
            parts = [np.zeros_like(here, dtype=_inexact(here)) if c[i] is None else c[i] for c in columns]
            whole = here.shape + value.shape
            if not parts:
                joined = np.zeros(whole, _inexact(here))
            else:
                joined = np.reshape(np.stack(parts, axis=here.ndim), whole)
            block.append(_finish(leaf, joined))
    return blocks


def _inexact(x: Any) -> Any:
    return x.dtype if x.dtype.kind in "fc" else np.dtype(float)


def _rows(out: Any, run: Trace) -> list[Any]:
    """For each input leaf, the Jacobian of one output."""
    leaves = run.leaves
    shapes = [np.shape(leaf._value if isinstance(leaf, TensorBase) else leaf) for leaf in leaves]
    value = out._value if isinstance(out, TensorBase) else np.asarray(out)
    if not isinstance(out, TensorBase) or out._edge is None:
        return [_finish(leaf, np.zeros(value.shape + shape)) for leaf, shape in zip(leaves, shapes, strict=True)]
    rows: list[list[Any]] = [[] for _ in leaves]
    for k in range(value.size):
        ct = np.zeros(value.size, value.dtype)
        ct[k] = 1
        found, _ = trace_gradients([out._edge], [ct.reshape(value.shape)[()]], run.edges, run.start, True)
        for column, leaf, g in zip(rows, leaves, found, strict=True):
            column.append(like(np.asarray(_plain(leaf)), g))
    return [
        _finish(leaf, _stack(column, value.shape + shape, value.dtype))
        for leaf, column, shape in zip(leaves, rows, shapes, strict=True)
    ]


def _plain(leaf: Any) -> Any:
    return leaf._value if isinstance(leaf, TensorBase) else leaf


def _stack(rows: list[Any], shape: tuple[int, ...], dtype: Any) -> Any:
    if not rows:
        return np.zeros(shape, dtype)
    return np.reshape(np.stack(rows), shape)


def _finish(leaf: Any, jacobian: Any) -> Any:
    if isinstance(jacobian, TensorBase):
        return jacobian
    if isinstance(leaf, TensorBase):
        return record.plain(jacobian)
    return float(jacobian) if type(leaf) is float and jacobian.ndim == 0 else jacobian


def hessian_of(function: Callable[..., Any], argnums: Any, argnames: Any, has_aux: bool) -> Jacobian:
    """The Jacobian of the gradient."""
    return Jacobian(Grad(function, argnums, argnames, has_aux), argnums, argnames, has_aux)
