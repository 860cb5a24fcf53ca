"""The two halves of one call of a custom Function: the `ctx` its author fills, and the node in the graph that holds it.

Guarantee: the node holds the ctx and the ctx holds no node, so both die with the last result of the call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from srcdiff.autograd.keeping import Kept
from srcdiff.autograd.modes import Mode
from srcdiff.errors import AutogradError, DTypeError
from srcdiff.ops.structural import fit
from srcdiff.tape import record
from srcdiff.tape.node import FREED_MESSAGE, LEAF, GradNode, next_seq
from srcdiff.tape.value import TensorBase


class Like(NamedTuple):
    """What `fit` needs to know of the value a gradient belongs to."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class FunctionCtx:
    """What `forward`, `setup_context` and `backward` of a Function get first; its author may set any other
    attribute.
    """

    #: for each argument of `apply`, whether it is a tensor that requires grad
    needs_input_grad: tuple[bool, ...] = ()
    _to_save: tuple[Any, ...] = ()
    _to_save_forward: tuple[Any, ...] | None = None
    _dirty: tuple[Any, ...] = ()
    _non_differentiable: tuple[Any, ...] = ()
    _materialize: bool = True
    _node: Any = None

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors (or None) for backward; overwriting them in place before it is then an error."""
        for k, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, (TensorBase, np.ndarray, np.generic)):
                raise DTypeError(
                    f"save_for_backward can only save variables, but argument {k} is of type {type(tensor).__name__}"
                )
        self._to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for `jvp`, which finds them in `saved_tensors`; without it, it finds what is kept for
        backward.
        """
        self._to_save_forward = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        """Say that forward changed these inputs in place; it must return them."""
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
        node = None if self._node is None else self._node()
        return () if node is None else node.saved_tensors

    def name(self) -> str:
        """The name of the node."""
        node = None if self._node is None else self._node()
        return "" if node is None else node.name()


class FunctionNode(GradNode):
    """`grad_fn` of the results of a Function. Attributes that its author set on `ctx` can be read here as well."""

    __slots__ = (
        "_arguments", "_function", "_outputs", "_pushing", "_single", "ctx", "forward_saved", "needs_input_grad",
    )  # fmt: skip
    #: whether the author wrote a `jvp`
    has_jvp = False

    def __init__(self, function: Any, ctx: FunctionCtx, args: tuple[Any, ...], inputs: tuple[Any, ...]) -> None:
        self.site = LEAF
        self.inputs = inputs
        self.saved = ()
        self.seq = next_seq()
        self.ctx = ctx
        self.needs_input_grad = ctx.needs_input_grad
        self._function = function
        self._single = True
        #: what `save_for_forward` was given, if it was, and whether `jvp` is running
        self.forward_saved: tuple[Any, ...] | None = None
        self._pushing = False
        #: None for arguments and outputs that are no tensors
        self._arguments = tuple(
            Like(a._value.shape, a._value.dtype) if isinstance(a, TensorBase) else None for a in args
        )
        self._outputs: list[Like | None] = []
        ctx._node = ref(self)

    def __getattr__(self, name: str) -> Any:
        if name in ("extra", "ctx") or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.ctx, name)

    @property
    def outputs(self) -> int:
        """How many outputs the node has."""
        return len(self._outputs)

    @property
    def several(self) -> bool:
        """Whether edges to this node say which output they mean."""
        return not self._single

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `ctx.save_for_backward` kept."""
        saved = self.forward_saved if self._pushing and self.forward_saved is not None else self.saved
        if saved is None:
            raise AutogradError(FREED_MESSAGE)
        return tuple(kept.restore(self, self._single) if type(kept) is Kept else kept for kept in saved)

    @property
    def next_functions(self) -> tuple[tuple[GradNode | None, int], ...]:
        """Where gradients go, for each tensor argument."""
        return tuple(edge if type(edge) is tuple else (edge, 0) for edge in self.inputs)

    def apply(self, ct: Any, create_graph: bool) -> list[Any]:
        """The cotangents of the tensor arguments, by the user's backward."""
        if self.saved is None:
            raise AutogradError(FREED_MESSAGE)
        parts = ct if type(ct) is dict else {0: ct}
        grads = []
        for k, like in enumerate(self._outputs):
            part = parts.get(k)
            if part is None and like is not None and self.ctx._materialize:
                part = np.zeros(like.shape, like.dtype)
            grads.append(part if part is None or isinstance(part, TensorBase) else record.plain(part))
        with Mode(grad=create_graph, place=None):
            made = self._function.backward(self.ctx, *grads)
        results = list(made) if isinstance(made, (tuple, list)) else [made]
        count = len(self._arguments)
        if len(results) > count and all(extra is None for extra in results[count:]):
            results = results[:count]
        if len(results) != count:
            raise AutogradError(
                f"function {self.name()} returned an incorrect number of gradients (expected {count}, got "
                f"{len(results)})"
            )
        with Mode(grad=create_graph):
            checked = [self._checked(k, g, create_graph) for k, g in enumerate(results)]
        return [g for g, like in zip(checked, self._arguments, strict=True) if like is not None]

    def ends(self) -> list[Any]:
        """A tensor of the type of each tensor argument, with its place in the graph, but without its values."""
        likes = (like for like in self._arguments if like is not None)
        return [_placed(like, edge) for like, edge in zip(likes, self.inputs, strict=True)]

    def results(self) -> list[Any]:
        """The same for the outputs, None for those that have no gradient."""
        return [
            None if like is None or like.dtype.kind not in "fc" else _placed(like, self if self._single else (self, k))
            for k, like in enumerate(self._outputs)
        ]

    def push(self, tangents: Sequence[Any], create_graph: bool) -> list[Any] | None:
        """The tangents of the outputs, by the user's jvp, from those of the tensor arguments: Tensors, or None.

        None for all if jvp says NotImplemented.
        """
        found = iter(tangents)
        fill = self.ctx._materialize and not getattr(self._function, "takes_absent_tangents", False)
        given: list[Any] = []
        for like in self._arguments:
            tangent = None if like is None else next(found)
            if like is not None and tangent is None and fill and like.dtype.kind in "fc":
                tangent = np.zeros(like.shape, like.dtype)
            given.append(tangent if tangent is None or isinstance(tangent, TensorBase) else record.plain(tangent))
        self._pushing = True
        try:
            with Mode(grad=create_graph, dual=None, forward=False, place=None):
                made = self._function.jvp(self.ctx, *given)
        finally:
            self._pushing = False
        if made is NotImplemented:
            return None
        results = list(made) if isinstance(made, (tuple, list)) else [made]
        count = len(self._outputs)
        if len(results) != count:
            raise AutogradError(
                f"Function's jvp returned an invalid number of forward gradients (expected {count} but got "
                f"{len(results)})"
            )
        for t, like in zip(results, self._outputs, strict=True):
            if t is not None and not isinstance(t, TensorBase):
                raise AutogradError(f"{self.name()}: expected jvp to return Tensors or None, got {type(t).__name__}")
            if t is not None and like is not None and t._value.shape != like.shape:
                raise AutogradError(
                    "Trying to set a forward gradient that has a different size than that of the original Tensor, this "
                    f"is not supported. Tensor is of size {list(like.shape)} while the given forward gradient is of "
                    f"size {list(t._value.shape)}."
                )
        return results

    def _checked(self, k: int, g: Any, create_graph: bool) -> Any:
        like = self._arguments[k]
        if g is None:
            return None
        if like is None:
            raise AutogradError(
                f"function {self.name()} returned a gradient different than None at position {k + 1}, but the "
                f"corresponding forward input was not a Variable"
            )
        if not self.needs_input_grad[k]:
            return None
        if not isinstance(g, TensorBase):
            if not isinstance(g, (np.ndarray, np.generic)):
                raise AutogradError(f"{self.name()}: expected Variable or None (got {type(g).__name__})")
            g = record.plain(g)
        shape = g._value.shape
        if not _reducible(shape, like.shape):
            raise AutogradError(
                f"Function {self.name()} returned an invalid gradient at index {k} - got {list(shape)} but expected "
                f"shape compatible with {list(like.shape)}"
            )
        return fit(g if create_graph else g._value, like)


def _placed(like: Like, edge: Any) -> Any:
    tensor = record.plain(np.broadcast_to(np.zeros((), like.dtype), like.shape))
    tensor._edge = edge
    return tensor


def _reducible(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether summing over axes takes `shape` to `target`."""
    try:
        return np.broadcast_shapes(shape, target) == shape
    except ValueError:
        return False
