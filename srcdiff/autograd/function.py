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

Graphs with such nodes are walked; under create_graph the user's backward runs with recording on, so it can be
differentiated. In forward mode `jvp(ctx, *tangents)` runs if it is defined.
"""

from __future__ import annotations

import inspect
from typing import Any

from srcdiff.autograd.function_node import FunctionCtx, FunctionNode, Like
from srcdiff.autograd.keeping import Kept
from srcdiff.autograd.modes import Mode
from srcdiff.autograd.once_differentiable import once_differentiable
from srcdiff.errors import AutogradError
from srcdiff.inplace.graph import attach
from srcdiff.tape import record
from srcdiff.tape.extras import finish
from srcdiff.tape.modes import modes
from srcdiff.tape.storage import share
from srcdiff.tape.value import TensorBase, View

__all__ = ["Function", "FunctionCtx", "FunctionNode", "once_differentiable"]


class Function:
    """Subclass it, give it static methods `forward(ctx, *args)` and `backward(ctx, *grads)`, and call `apply`.

    With `setup_context(ctx, inputs, output)` defined, `forward` takes no ctx.
    """

    _node_class: Any = None
    #: accepted as in PyTorch: `srcdiff.func.vmap` runs functions example by example, so it needs no rule
    generate_vmap_rule = False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """RefusedError: functions are called through `apply`."""
        raise AutogradError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
            f"function with static forward method: {type(self).__name__}.apply(...)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result from Tensors; runs without recording."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """If defined, it fills the ctx, and `forward` gets none."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Give a gradient, or None, for each argument of `forward`."""
        raise NotImplementedError("You must implement the backward function for custom autograd.Function.")

    @staticmethod
    def vjp(ctx: Any, *grads: Any) -> Any:
        """Another name for `backward`."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function."
        )

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        """If defined, it gives the tangent of each output from those of the arguments of `forward` (None for what is
        no tensor), for derivatives in forward mode; else these are made of `backward`.
        """
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function.")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run `forward` and record it. Tensors given by keyword are not differentiated."""
        if cls.setup_context is not Function.setup_context and (kwargs or getattr(cls.forward, "__defaults__", None)):
            bound = inspect.signature(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        ctx = FunctionCtx()
        ctx.needs_input_grad = tuple(isinstance(a, TensorBase) and a._edge is not None for a in args)
        recording = (modes.grad or modes.dual or modes.forward) and any(ctx.needs_input_grad)
        inputs = tuple(a._edge for a in args if isinstance(a, TensorBase))  # before forward writes to any
        with Mode(grad=False, dual=None, forward=False):
            if cls.setup_context is not Function.setup_context:
                result = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, result)
            else:
                result = cls.forward(ctx, *args, **kwargs)
        single = not isinstance(result, tuple)
        outs = (result,) if single else result
        if not recording:
            made = tuple(
                _alias(out) if _is_one_of(out, args) and not _is_one_of(out, ctx._dirty) else out for out in outs
            )
            return made[0] if single else made
        for dirty in ctx._dirty:
            if not _is_one_of(dirty, outs):
                raise AutogradError(
                    "Some elements marked as dirty during the forward method were not returned as output. The inputs "
                    "that are modified inplace must all be outputs of the Function."
                )
        node = _node_class(cls)(cls, ctx, args, inputs)
        node._single = single or len(outs) == 1
        if modes.anomaly:
            finish(node, record.plain)
        made = tuple(_output(node, k, out, args) for k, out in enumerate(outs))
        node.saved = tuple(_keep(t, outs, made, args) for t in ctx._to_save)
        if ctx._to_save_forward is not None:
            node.forward_saved = tuple(_keep(t, outs, made, args) for t in ctx._to_save_forward)
        ctx._to_save = ctx._dirty = ctx._non_differentiable = ()
        return made[0] if single else made


def _node_class(cls: Any) -> Any:
    """The class of the nodes of a Function, made once: `CubeBackward`."""
    found = cls.__dict__.get("_node_class")
    if found is None:
        found = type(f"{cls.__name__}Backward", (FunctionNode,), {"__slots__": (), "__module__": cls.__module__})
        cls._node_class = found
    if cls.jvp is not Function.jvp:
        found.has_jvp = True
    if cls.backward is Function.backward and cls.vjp is not Function.vjp:
        cls.backward = staticmethod(cls.vjp)
    return found


def _is_one_of(x: Any, several: tuple[Any, ...]) -> bool:
    return isinstance(x, TensorBase) and any(x is each for each in several)


def _alias(out: Any) -> Any:
    """Another tensor on the same memory, outside the graph."""
    alias = record.plain(out._value, out._traced)
    share(alias, out)
    return alias


def _output(node: FunctionNode, k: int, out: Any, args: tuple[Any, ...]) -> Any:
    """An output with its place in the graph; an input that was changed in place keeps its identity."""
    if not isinstance(out, TensorBase):
        node._outputs.append(None)
        return out
    value = out._value
    node._outputs.append(Like(value.shape, value.dtype))
    edge = node if node._single else (node, k)
    if value.dtype.kind not in "fc" or _is_one_of(out, node.ctx._non_differentiable):
        return _alias(out) if out._edge is not None else out
    if _is_one_of(out, node.ctx._dirty):
        return _changed(node, out, edge)
    target = record.plain(value, out._traced)
    base = out if out._view is None else out._view.base
    if _is_one_of(base, args) or (out._view is not None and any(_same_memory(base, a) for a in args)):
        target._view = View(base, (), False, node._function.__name__)
    if out._storage is not None or target._view is not None:
        share(target, out)
    target._edge = edge
    return target


def _changed(node: FunctionNode, out: Any, edge: Any) -> Any:
    """An input that was written to: it, or what it is a view of, has its place after the node from now on."""
    root = out if out._view is None else out._view.base
    if root._requires:
        view = "" if root is out else "a view of "
        raise AutogradError(f"{view}a leaf Variable that requires grad has been used in an in-place operation.")
    new = record.plain(out._value, out._traced)
    new._edge = edge
    attach(out, new)
    return out


def _same_memory(base: Any, a: Any) -> bool:
    return isinstance(a, TensorBase) and a._view is not None and a._view.base is base


def _keep(t: Any, outs: tuple[Any, ...], made: tuple[Any, ...], args: tuple[Any, ...]) -> Any:
    """How a saved tensor is kept; the edge of an output is the node itself, which must not hold itself."""
    if not isinstance(t, TensorBase):
        return t
    for k, out in enumerate(outs):
        if t is out and (made[k] is t or not _is_one_of(t, args)):
            return Kept(made[k], k if made[k]._edge is not None else None)
    return Kept(t)
