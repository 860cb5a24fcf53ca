"""`backward` and `grad`: PyTorch's checks and messages around the engine."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from srcdiff.autograd.accumulate import accumulate
from srcdiff.autograd.engine import compilable, gradients, leaf_gradients
from srcdiff.autograd.hooks import retain_grad
from srcdiff.autograd.walk import walk
from srcdiff.aval import Aval
from srcdiff.errors import AutogradError, DTypeError
from srcdiff.size import Size
from srcdiff.tape import record
from srcdiff.tape.lower import collect
from srcdiff.tape.modes import modes
from srcdiff.tape.node import AccumulateGrad, Edge
from srcdiff.tape.value import TensorBase


class GradientEdge(tuple[Any, int]):
    """Where a tensor's gradient goes: a node and the number of its output. Takes the place of a tensor in `grad`."""

    __slots__ = ()

    def __new__(cls, node: Any, output_nr: int) -> GradientEdge:
        return tuple.__new__(cls, (node, output_nr))

    @property
    def node(self) -> Any:
        """The node."""
        return self[0]

    @property
    def output_nr(self) -> int:
        """The number of the node's output."""
        return self[1]


def _sequence(x: Any) -> list[Any]:
    if x is None or isinstance(x, (TensorBase, GradientEdge, np.ndarray, np.generic, bool, int, float, complex)):
        return [x]
    return list(x)


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add the gradients of `tensors` to the `.grad` of the leaves they depend on (or of `inputs` only).

    `grad_tensors` holds a cotangent of the same shape per tensor; None for a tensor of one element means 1. Raises
    AutogradError (a RuntimeError) for tensors outside any graph, non-scalar tensors without a cotangent, a graph that
    was freed, and saved values overwritten in place. Nothing is accumulated if anything fails.
    """
    if modes.recorder is not None and _watched_backward(tensors, grad_tensors, retain_graph, create_graph, inputs):
        return
    roots, cts = _roots(tensors, grad_tensors, create_graph)
    retain = create_graph if retain_graph is None else retain_graph
    if inputs is not None:
        chosen = _sequence(inputs)
        if not chosen:
            raise AutogradError("'inputs' argument to backward() cannot be empty.")
        edges = [_receiver(x) for x in dict.fromkeys(chosen)]
        for edge, ct in zip(edges, gradients(roots, cts, edges, retain=retain, create_graph=create_graph), strict=True):
            if ct is not None and type(edge) is AccumulateGrad:
                accumulate(edge, ct, False, create_graph)
        return
    for node, ct, copy in leaf_gradients(roots, cts, retain=retain, create_graph=create_graph):
        if type(node) is AccumulateGrad:
            accumulate(node, ct, copy, create_graph)


def _watched_backward(tensors: Any, grads: Any, retain: Any, create_graph: bool, inputs: Any) -> bool:
    """Backward where a recorder watches: the rules run on Tensors, so that it sees them. False if the recorder has
    given up, and nothing was done.
    """
    recorder = modes.recorder
    if create_graph or inputs is not None:
        recorder.fail("backward() with create_graph or inputs")
        return False
    begun = _watched_roots(recorder, tensors, grads, "backward")
    if begun is None:
        return False
    roots, cts, nodes = begun
    _, arriving = walk(roots, cts, None, retain=bool(retain), create_graph=True, nodes=nodes)
    for node, ct in arriving:
        if type(node) is AccumulateGrad:
            recorder.accumulates(node.variable, ct, functools.partial(accumulate, node, ct._value, True, False))
    return True


def _watched_roots(recorder: Any, tensors: Any, grads: Any, name: str) -> tuple[list[Edge], list[Any], Any] | None:
    """Where a watched pass starts, with Tensors for cotangents, and the nodes it goes through; None if it is not to be
    watched.
    """
    roots, cts = _roots(tensors, grads, True)
    nodes = collect(roots)
    if not compilable(nodes):
        recorder.fail(f"{name}() through hooks or custom functions")
        return None
    return (roots, cts, nodes) if recorder.starts_backward(cts) else None


def _watched_gradients(
    outputs: Any, grads: Any, edges: list[Edge], retain: bool, create_graph: bool
) -> list[Any] | None:
    """Gradients where a recorder watches, as Tensors that it knows; None if it has given up, and nothing was done."""
    recorder = modes.recorder
    begun = _watched_roots(recorder, outputs, grads, "grad")
    if begun is None:
        return None
    roots, cts, nodes = begun
    found, _ = walk(roots, cts, edges, retain=retain, create_graph=True, nodes=nodes)
    if create_graph:
        return found
    values = [None if ct is None else record.plain(np.array(ct._value)) for ct in found]
    for value, ct in zip(values, found, strict=True):
        if value is not None:
            recorder.aliased(value, ct)
    return values


def _receiver(x: Any) -> Edge:
    """The edge of a tensor named in `inputs=`; as in PyTorch, one that is no leaf retains its gradient from now on."""
    edge = _wanted(x)
    if isinstance(x, TensorBase):
        retain_grad(x)
    elif type(edge) is not AccumulateGrad:
        raise AutogradError("'inputs' argument to backward() can only be leaves' GradientEdges, or Tensors")
    return edge


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Any, ...]:
    """The gradients of `outputs` with respect to `inputs`, as Tensors, without touching any `.grad`.

    `grad_outputs` as in `backward`; with `is_grads_batched` it has one more leading axis, and so has the result. An
    input that outputs do not depend on is an error, unless `allow_unused` (None for it) or `materialize_grads` (zeros).
    """
    chosen = _sequence(inputs)
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    if allow_unused is None:
        allow_unused = materialize_grads
    for x in chosen:
        if isinstance(x, TensorBase) and x._edge is None:
            _roots(outputs, grad_outputs if not is_grads_batched else _first(grad_outputs), create_graph)
            raise AutogradError("One of the differentiated Tensors does not require grad")
    edges = [_wanted(x) for x in chosen]
    retain = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        return _batched(outputs, chosen, edges, grad_outputs, retain, create_graph, allow_unused, materialize_grads)
    found = None
    if modes.recorder is not None:
        found = _watched_gradients(outputs, grad_outputs, edges, retain, create_graph)
    if found is None:
        roots, cts = _roots(outputs, grad_outputs, create_graph)
        found = gradients(roots, cts, edges, retain=retain, create_graph=create_graph)
    return tuple(_finished(x, ct, allow_unused, materialize_grads) for x, ct in zip(chosen, found, strict=True))


def _first(grad_outputs: Any) -> Any:
    return [None if g is None else g[0] for g in _sequence(grad_outputs)]


def _batched(
    outputs: Any,
    chosen: list[Any],
    edges: list[Edge],
    batch: Any,
    retain: bool,
    create_graph: bool,
    unused: bool,
    zeros: bool,
) -> tuple[Any, ...]:
    batches = _sequence(batch)
    length = len(next(b for b in batches if b is not None))
    rows = []
    for k in range(length):
        roots, cts = _roots(outputs, [None if b is None else b[k] for b in batches], create_graph)
        last = k == length - 1
        found = gradients(roots, cts, edges, retain=retain or not last, create_graph=create_graph)
        rows.append([_finished(x, ct, unused, zeros) for x, ct in zip(chosen, found, strict=True)])
    return tuple(None if column[0] is None else np.stack(column) for column in zip(*rows, strict=True))


def _finished(x: Any, ct: Any, allow_unused: bool, zeros: bool) -> Any:
    if ct is None:
        if not allow_unused:
            raise AutogradError(
                "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True "
                "if this is the desired behavior."
            )
        return record.plain(np.zeros_like(x._value)) if zeros else None
    return ct if isinstance(ct, TensorBase) else record.plain(ct)


def _wanted(x: Any) -> Edge:
    if isinstance(x, GradientEdge):
        node, k = x
        return (node, k) if node.several else node
    return x._edge


def _roots(tensors: Any, grads: Any, create_graph: bool) -> tuple[list[Edge], list[Any]]:
    """Edges and cotangents to start from, checked."""
    outs = _sequence(tensors)
    given = [None] * len(outs) if grads is None else _sequence(grads)
    if len(given) == 1 and len(outs) > 1 and given[0] is None:
        given = [None] * len(outs)
    if len(given) != len(outs):
        raise AutogradError(f"got {len(outs)} tensors and {len(given)} gradients")
    if modes.inference:
        raise AutogradError("Calling backward or grad is not allowed in inference mode")
    edges, cts = [], []
    for k, (out, g) in enumerate(zip(outs, given, strict=True)):
        edge = out._edge if isinstance(out, TensorBase) else _wanted(out)
        if edge is None:
            if g is None and out._value.size != 1:
                raise AutogradError("grad can be implicitly created only for scalar outputs")
            raise AutogradError(f"element {k} of tensors does not require grad and does not have a grad_fn")
        edges.append(edge)
        cts.append(_cotangent(out, g, k, create_graph))
    return edges, cts


def _cotangent(out: Any, g: Any, k: int, create_graph: bool) -> Any:
    kind: Aval = out._type.aval
    if g is None:
        if kind.size != 1:
            raise AutogradError("grad can be implicitly created only for scalar outputs")
        if kind.dtype.kind == "c":
            raise AutogradError(f"grad can be implicitly created only for real scalar outputs but got {kind.dtype}")
        one = np.ones(kind.shape, kind.dtype) if kind.shape else kind.dtype.type(1)
        return record.plain(one) if create_graph else one
    if not isinstance(g, TensorBase):
        if not isinstance(g, (np.ndarray, np.generic)):
            raise DTypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
        g = record.plain(g)
    if g._value.shape != kind.shape:
        raise AutogradError(
            f"Mismatch in shape: grad_output[{k}] has a shape of {Size(g._value.shape)} and output[{k}] has a shape of "
            f"{Size(kind.shape)}."
        )
    if (g._value.dtype.kind == "c") != (kind.dtype.kind == "c"):
        raise AutogradError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output[{k}] has a dtype of {g._value.dtype} and output[{k}] has a dtype of {kind.dtype}."
        )
    if create_graph:
        return g if g._value.dtype == kind.dtype else g.astype(kind.dtype)
    value = g._value
    return value if value.dtype == kind.dtype else value.astype(kind.dtype)
