"""`Function`: operations whose backward the user writes, as in PyTorch.

    class Cube(sd.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x ** 3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 3 * x ** 2

    y = Cube.apply(x)

Graphs with such nodes are walked; under create_graph the user's backward runs with recording on, so it can be differentiated.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.autograd.modes import Mode
from srcdiff.errors import AutogradError
from srcdiff.ops.structural import fit
from srcdiff.tape import record
from srcdiff.tape.node import FREED_MESSAGE, LEAF, Edge, GradNode, next_seq, stale_message
from srcdiff.tape.storage import cell_of
from srcdiff.tape.value import TensorBase

_TWICE = "trying to differentiate twice a function that was marked with @once_differentiable"


class FunctionNode(GradNode):
    """The node of one call of a Function: `grad_fn` of its results, and the `ctx` that its backward gets."""

    __slots__ = ("__dict__",)

    def __init__(self) -> None:
        self.site = LEAF
        self.inputs = ()
        self.saved = ()
        self.seq = next_seq()
        self.needs_input_grad: tuple[bool, ...] = ()
        self._edges: list[Edge] = []
        self._to_save: tuple[Any, ...] = ()
        self._dirty: tuple[Any, ...] = ()
        self._non_differentiable: tuple[Any, ...] = ()
        self._materialize = True
        self._outputs: list[tuple[tuple[int, ...], Any]] = []
        self._function: Any = None

    # ------------------------------------------------------------------------------------------- what the user calls: ctx

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for backward; overwriting them in place before it is then an error."""
        self._to_save = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        """Say that forward changed these inputs in place."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Say that these outputs have no gradient."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether gradients of outputs nobody used arrive as zeros (the default) or as None."""
        self._materialize = value

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` kept. Raises AutogradError once freed, or if it was overwritten."""
        if self.saved is None:
            raise AutogradError(FREED_MESSAGE)
        return tuple(self._unpacked(entry) for entry in self.saved)

    def _unpacked(self, entry: Any) -> Any:
        if not isinstance(entry, tuple):
            return entry
        cell, edge = entry
        try:
            array = cell.array
        except AttributeError:
            raise AutogradError(stale_message(self, cell)) from None
        out = record.plain(array)
        if edge is not None:
            out._edge = self if edge is _SELF else edge
        return out

    @property
    def next_functions(self) -> tuple[tuple[GradNode | None, int], ...]:
        """Where gradients go, for each tensor argument."""
        return tuple(edge if type(edge) is tuple else (edge, 0) for edge in self.inputs)

    # ------------------------------------------------------------------------------------------------------ running it

    def apply(self, ct: Any, create_graph: bool) -> list[Any]:  # type: ignore[override]
        """The user's backward: cotangents of the tensor arguments."""
        parts = ct if type(ct) is dict else {0: ct}
        grads = []
        for k, (shape, dtype) in enumerate(self._outputs):
            part = parts.get(k)
            if part is None and self._materialize:
                part = np.zeros(shape, dtype)
            grads.append(part if part is None or isinstance(part, TensorBase) else record.plain(part))
        if self.saved is None:
            raise AutogradError(FREED_MESSAGE)
        with Mode(grad=create_graph):
            made = self._function.backward(self, *grads)
        results = list(made) if isinstance(made, (tuple, list)) else [made]
        count = len(self.needs_input_grad)
        if len(results) > count and all(extra is None for extra in results[count:]):
            results = results[:count]
        if len(results) != count:
            raise AutogradError(
                f"function {self.name()} returned an incorrect number of gradients (expected {count}, got {len(results)})"
            )
        return [self._checked(k, g, create_graph) for k, g in enumerate(results) if self._is_tensor[k]]

    def _checked(self, k: int, g: Any, create_graph: bool) -> Any:
        if g is None or not self.needs_input_grad[k]:
            return None
        aval = self._avals[k]
        if not isinstance(g, TensorBase):
            if not isinstance(g, (np.ndarray, np.generic, float, int)):
                raise TypeError(f"{self.name()}: expected a Tensor or None as gradient {k}, got {type(g).__name__}")
            g = record.plain(np.asarray(g, dtype=aval[1]))
        shape = g._value.shape
        if shape != aval[0]:
            try:
                np.broadcast_shapes(shape, aval[0])
            except ValueError:
                raise AutogradError(
                    f"Function {self.name()} returned an invalid gradient at index {k} - got {list(shape)} but expected shape "
                    f"compatible with {list(aval[0])}"
                ) from None
        if create_graph:
            return fit(g, _Like(*aval))
        return fit(g._value, _Like(*aval))


class _Like:
    """A shape and dtype for `fit`."""

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape = shape
        self.dtype = dtype


_SELF = object()


class Function:
    """Subclass it, give it static methods `forward(ctx, *args)` and `backward(ctx, *grads)`, and call `apply`.

    With `setup_context(ctx, inputs, output)` defined, `forward` takes no ctx.
    """

    _node_class: Any = None

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result from Tensors; runs without recording."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Give a gradient, or None, for each argument of `forward`."""
        raise NotImplementedError("You must implement the backward function for custom autograd.Function.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run `forward` and record it."""
        if "_node_class" not in cls.__dict__ or cls._node_class is None:
            cls._node_class = type(
                f"{cls.__name__}Backward", (FunctionNode,), {"__slots__": (), "__module__": cls.__module__}
            )
        node = cls._node_class()
        node._function = cls
        node._is_tensor = tuple(isinstance(a, TensorBase) for a in args)
        node._avals = [(a._value.shape, a._value.dtype) if isinstance(a, TensorBase) else None for a in args]
        node.needs_input_grad = tuple(isinstance(a, TensorBase) and a._edge is not None for a in args)
        recording = record.modes.grad and any(node.needs_input_grad)
        with Mode(grad=False):
            if "setup_context" in _methods(cls):
                result = cls.forward(*args, **kwargs)
                cls.setup_context(node, args, result)  # type: ignore[attr-defined]
            else:
                result = cls.forward(node, *args, **kwargs)
        if not recording:
            return result
        node.inputs = tuple(a._edge for a in args if isinstance(a, TensorBase))
        single = not isinstance(result, tuple)
        outs = [result] if single else list(result)
        made = [_output(node, k, out, args, single) for k, out in enumerate(outs)]
        node.saved = tuple(_kept(node, t, outs, made, args, single) for t in node._to_save)
        node._to_save = node._dirty = node._non_differentiable = ()
        return made[0] if single else tuple(made)


def _methods(cls: type) -> set[str]:
    return {name for base in cls.__mro__ if base is not Function for name in vars(base)}


def _output(node: FunctionNode, k: int, out: Any, args: tuple[Any, ...], single: bool) -> Any:
    """An output with its place in the graph; an input that was changed in place keeps its identity."""
    if not isinstance(out, TensorBase):
        node._outputs.append(((), np.float64))
        return out
    value = out._value
    node._outputs.append((value.shape, value.dtype))
    if value.dtype.kind not in "fc" or any(out is t for t in node._non_differentiable):
        return out
    if any(out is t for t in node._dirty):
        if out._requires:
            raise AutogradError("a leaf Variable that requires grad is being used in an in-place operation.")
        target = out
    else:
        target = record.plain(value, out._traced)
        if any(out is a for a in args):  # returned as it came: a view of the input
            target._storage = out._storage
    target.__dict__.pop("_type", None)
    target._edge = node if single else (node, k)
    return target


def _kept(node: FunctionNode, t: Any, outs: list[Any], made: list[Any], args: tuple[Any, ...], single: bool) -> Any:
    """How a saved tensor is kept: its cell, and its edge; an output's edge is the node itself, which must not hold itself."""
    if not isinstance(t, TensorBase):
        return t
    for k, out in enumerate(outs):
        if t is out and not any(t is a for a in args):
            cell = cell_of(made[k])
            return (cell, _SELF if single else None)
    return (cell_of(t), t._edge)


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator for a `backward` that cannot be differentiated: it runs without recording, and a second derivative raises."""

    @functools.wraps(backward)
    def wrapper(ctx: Any, *grads: Any) -> Any:
        recording = record.modes.grad
        with Mode(grad=False):
            made = backward(ctx, *grads)
        if not recording or not any(isinstance(g, TensorBase) and g._edge is not None for g in grads):
            return made
        results = made if isinstance(made, tuple) else (made,)
        refused = tuple(_refusing(r, grads) if isinstance(r, TensorBase) else r for r in results)
        return refused if isinstance(made, tuple) else refused[0]

    return wrapper


def _refusing(result: Any, grads: tuple[Any, ...]) -> Any:
    """The same value with a node that refuses to run."""
    out = record.plain(result._value)
    node = _Refusal()
    node.inputs = tuple(g._edge for g in grads if isinstance(g, TensorBase) and g._edge is not None)
    out._edge = node
    return out


class _Refusal(GradNode):
    """The node of a result that cannot be differentiated again."""

    __slots__ = ()

    def __init__(self) -> None:
        self.site = LEAF
        self.saved = ()
        self.seq = next_seq()

    def apply(self, ct: Any, create_graph: bool) -> list[Any]:  # type: ignore[override]
        """Refuse."""
        raise AutogradError(_TWICE)

