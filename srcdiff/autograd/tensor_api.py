"""What a Tensor has to do with gradients: flags, `.grad`, `backward`, hooks. A mixin, put on Tensor when imported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from srcdiff.autograd.backward import backward
from srcdiff.autograd.hooks import retain_grad
from srcdiff.errors import AutogradError, DTypeError
from srcdiff.size import Size
from srcdiff.tape.effects import effect
from srcdiff.tape.heard import warn
from srcdiff.tape.modes import modes
from srcdiff.tape.node import Edge, GradNode, Handle
from srcdiff.tape.value import TensorBase

_CHANGE_NON_LEAF = (
    "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph "
    "that doesn't require differentiation use var_no_grad = var.detach()."
)
_NON_LEAF_GRAD = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
    "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, "
    "use .retain_grad() on the non-leaf Tensor."
)


def set_requires_grad(tensor: TensorBase, flag: bool) -> None:
    """Make a tensor outside the graph a leaf that requires grad, or not; no checks."""
    tensor._requires = flag
    if flag:
        del tensor._edge
    else:
        tensor._edge = None
    tensor.__dict__.pop("_type", None)


def change_requires_grad(tensor: TensorBase, flag: bool, message: str) -> None:
    """The same with PyTorch's checks; `message` is for dtypes that cannot require grad."""
    if not tensor._requires and tensor._edge is not None:
        if not flag:
            raise AutogradError(_CHANGE_NON_LEAF)
        return
    if flag == tensor._requires:
        return
    if flag and tensor._value.dtype.kind not in "fc":
        raise AutogradError(message)
    if flag and tensor._inference and not modes.inference:
        raise AutogradError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
    if modes.recorder is not None:
        modes.recorder.becomes_leaf(tensor)
    set_requires_grad(tensor, flag)


@effect(cleared=lambda tensor: [tensor])
def _forget_grad(tensor: Any) -> None:
    tensor._grad = None


class GradientMethods(TensorBase):
    """Properties and methods about gradients."""

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to or through this tensor."""
        return self._edge is not None

    @requires_grad.setter
    def requires_grad(self, flag: bool) -> None:
        change_requires_grad(self, bool(flag), "only Tensors of floating point and complex dtype can require gradients")

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Set `requires_grad` of a leaf; gives the tensor itself."""
        change_requires_grad(self, bool(requires_grad), "only Tensors of floating point dtype can require gradients")
        return self

    @property
    def is_leaf(self) -> bool:
        """True unless the tensor is the result of a recorded operation."""
        return self._requires or self._edge is None

    @property
    def grad_fn(self) -> GradNode | None:
        """The node of the operation that made this tensor; None for leaves."""
        if self._requires:
            return None
        edge: Edge | None = self._edge
        return edge[0] if type(edge) is tuple else edge

    @property
    def output_nr(self) -> int:
        """Which output of `grad_fn` this tensor is."""
        edge = self._edge
        return edge[1] if type(edge) is tuple else 0

    @property
    def grad(self) -> Any:
        """The accumulated gradient, or None."""
        found = self._grad
        if modes.recorder is not None:
            modes.recorder.looks_at_grad(self)
        if found is None and not self._requires and self._edge is not None and not self.retains_grad:
            warn(_NON_LEAF_GRAD, UserWarning, stacklevel=2)
        return found

    @grad.setter
    def grad(self, value: Any) -> None:
        if value is None:
            _forget_grad(self)
            return
        if value is self._grad:  # as `tensor.grad *= 2` does in the end
            return
        if not isinstance(value, TensorBase):
            kind = type(value).__name__
            raise DTypeError(f"assigned grad expected to be a Tensor or None but got grad of type {kind}")
        if value._value.shape != self._value.shape:
            raise AutogradError(
                f"attempting to assign a gradient of size '{list(Size(value._value.shape))}' to a tensor of size "
                f"'{list(Size(self._value.shape))}'. Please ensure that the gradient and the tensor are the same size"
            )
        if value._value.dtype != self._value.dtype:
            raise AutogradError(
                f"attempting to assign a gradient with dtype '{value._value.dtype}' to a tensor with dtype "
                f"'{self._value.dtype}'. Please ensure that the gradient and the tensor have the same dtype"
            )
        if value is self:
            raise AutogradError("can't assign Variable as its own grad")
        if modes.recorder is not None:
            modes.recorder.sets_grad(self, value)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        _forget_grad(self)

    def backward(
        self, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
    ) -> None:
        """Add the gradient of this tensor to the `.grad` of the leaves it depends on; see `autograd.backward`."""
        backward(self, gradient, retain_graph, create_graph, inputs)

    # ------------------------------------------------------------------------------------------------------------ hooks

    def _marked_node(self) -> tuple[GradNode, int]:
        edge = self._edge
        node, k = edge if type(edge) is tuple else (edge, 0)
        node.mark()
        return node, k

    def register_hook(self, hook: Callable[[Any], Any]) -> Handle:
        """Call `hook(grad)` when this tensor's gradient is known; a returned Tensor takes its place."""
        if self._edge is None:
            raise AutogradError("cannot register a hook on a tensor that doesn't require gradient")
        node, k = self._marked_node()
        return Handle(node.options.tensor_hooks.setdefault(k, {}), hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Any], Any]) -> Handle:
        """Call `hook(tensor)` after a gradient has been added to this leaf's `.grad`."""
        if self._edge is None:
            raise AutogradError("cannot register a hook on a tensor that doesn't require gradient")
        if not self._requires:
            raise AutogradError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        return Handle(self._edge.options.post_accumulate, hook)

    def retain_grad(self) -> None:
        """Have this tensor's `.grad` filled in by backward, though it is no leaf."""
        retain_grad(self)

    @property
    def retains_grad(self) -> bool:
        """Whether `retain_grad` was called on this non-leaf tensor."""
        edge = self._edge
        if edge is None or self._requires:
            return False
        node, k = edge if type(edge) is tuple else (edge, 0)
        extra = getattr(node, "extra", None)
        return extra is not None and k in extra.retain
