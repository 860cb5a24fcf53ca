"""Derivatives of functions of Tensors, with PyTorch's signatures: `jacobian`, `hessian`, `vjp`, `jvp`, `vhp`, `hvp`.

Inputs are a Tensor or a tuple of Tensors, and so are a function's outputs and all results. With `create_graph` the
results can be differentiated; with `strict` an output that does not depend on an input is an error, else its
derivative is zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from srcdiff.autograd.backward import grad
from srcdiff.autograd.modes import enable_grad
from srcdiff.autograd.pushing import Pushforward
from srcdiff.core.primitive import REGISTRY
from srcdiff.errors import AutogradError, DTypeError, UnsupportedError
from srcdiff.ops import structural
from srcdiff.ops.shaping import stack
from srcdiff.tape import record
from srcdiff.tape.value import TensorBase

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Tensors = tuple[Any, ...]

_DIFFERENTIABLY = "The outputs must be computed in a differentiable manner from the input when running in strict mode."


class Call:
    """A call of the function on inputs that require grad."""

    def __init__(self, name: str, func: Callable[..., Any], inputs: Any, create_graph: bool, strict: bool) -> None:
        self.name = name
        self.create_graph = create_graph
        self.single_input = not isinstance(inputs, tuple)
        given = _tensors(inputs, f"The inputs given to {name}")
        with enable_grad():
            self.inputs = tuple(_entered(x, create_graph) for x in given)
            result = func(*self.inputs)
        self.single_output = not isinstance(result, tuple)
        self.outputs = _tensors(result, f"The outputs of the user-provided function given to {name}")
        if strict:
            for k, out in enumerate(self.outputs):
                if out._edge is None:
                    raise AutogradError(
                        f"Output {k} of the user-provided function does not require gradients. {_DIFFERENTIABLY}"
                    )

    def scalar(self) -> Any:
        """The only element of the only output."""
        if not self.single_output:
            raise AutogradError(f"The function given to {self.name} should return a single Tensor")
        if self.outputs[0]._value.size != 1:
            raise AutogradError(
                f"The Tensor returned by the function given to {self.name} should contain a single element"
            )
        return self.outputs[0]

    def result(self) -> Any:
        """The outputs as the caller gets them."""
        outputs = self.outputs if self.create_graph else tuple(map(_detached, self.outputs))
        return outputs[0] if self.single_output else outputs

    def structured(self, per_input: Tensors) -> Any:
        """Results for each input, as inputs were given; outside the graph unless `create_graph`."""
        if not self.create_graph:
            per_input = tuple(map(_detached, per_input))
        return per_input[0] if self.single_input else per_input

    def pull(self, outs: Tensors, cts: Tensors, create_graph: bool, strict: bool, what: str) -> Tensors:
        """Cotangents of the inputs; zeros, or in strict mode an error, for those that `outs` do not depend on."""
        live = [(out, ct) for out, ct in zip(outs, cts, strict=True) if out._edge is not None]
        found: Tensors = (None,) * len(self.inputs)
        if live:
            some, seeds = zip(*live, strict=True)
            found = grad(some, self.inputs, seeds, retain_graph=True, create_graph=create_graph, allow_unused=True)
        made = []
        for k, (x, g) in enumerate(zip(self.inputs, found, strict=True)):
            if strict and g is None:
                raise AutogradError(
                    f"{what} of the user-provided function is independent of input {k}. This is not allowed in strict "
                    f"mode."
                )
            if strict and self.create_graph and g._edge is None:
                raise AutogradError(
                    f"The derivative computed by {self.name} is independent of input {k}. This is not allowed in "
                    f"strict mode when create_graph=True."
                )
            made.append(_zeros(x) if g is None else g)
        return tuple(made)


def _tensors(given: Any, what: str) -> Tensors:
    several = given if isinstance(given, tuple) else (given,)
    for k, x in enumerate(several):
        if isinstance(x, TensorBase):
            continue
        where = f"the value at index {k} has" if isinstance(given, tuple) else "it has"
        raise DTypeError(f"{what} must be either a Tensor or a tuple of Tensors but {where} type {type(x).__name__}.")
    return several


def _entered(x: Any, create_graph: bool) -> Any:
    """An input as the function gets it: a leaf of its own, or under `create_graph` a part of the caller's graph."""
    if create_graph and x._edge is not None:
        return structural.identity(x)
    if x._value.dtype.kind not in "fc":
        raise AutogradError("only Tensors of floating point dtype can require gradients")
    leaf = x.detach()
    leaf._requires = True
    leaf.forget_place()
    return leaf


def _detached(x: Any) -> Any:
    return x.detach() if x._edge is not None else x


def _zeros(x: Any) -> Any:
    return record.plain(np.zeros(x._value.shape, x._value.dtype))


def _vectors(v: Any, like: Tensors, single: bool, missing: str) -> Tensors:
    """The vectors of a product, one per tensor in `like`; None means 1 for the only element there is."""
    if v is None:
        if not single or like[0]._value.size != 1:
            raise AutogradError(missing)
        return (record.plain(np.ones(like[0]._value.shape, like[0]._value.dtype)),)
    vectors = _tensors(v, "The vector v")
    if len(vectors) != len(like):
        raise AutogradError(f"v is a tuple of invalid length: should be {len(like)} but got {len(vectors)}.")
    for k, (vector, x) in enumerate(zip(vectors, like, strict=True)):
        if vector._value.shape != x._value.shape:
            raise AutogradError(
                f"{f'Entry {k} in ' if len(like) > 1 else ''}v has invalid size: should be {tuple(x._value.shape)} "
                f"but got {tuple(vector._value.shape)}."
            )
    return vectors


_NO_INPUT_VECTOR = (
    "The vector v can only be None if the input to the user-provided function is a single Tensor with a single element."
)
_NO_OUTPUT_VECTOR = (
    "The vector v can only be None if the user-provided function returns a single Tensor with a single element."
)


def vjp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The function's outputs, and the product of the vector `v` (of the outputs' shapes) with its Jacobian."""
    call = Call("vjp", func, inputs, create_graph, strict)
    vectors = _vectors(v, call.outputs, call.single_output, _NO_OUTPUT_VECTOR)
    return call.result(), call.structured(call.pull(call.outputs, vectors, create_graph, strict, "The output"))


def jvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The function's outputs, and the product of its Jacobian with the vector `v` (of the inputs' shapes)."""
    call = Call("jvp", func, inputs, create_graph, strict)
    vectors = _vectors(v, call.inputs, call.single_input, _NO_INPUT_VECTOR)
    found = Pushforward(call.outputs, [x._edge for x in call.inputs]).tensors(vectors, create_graph)
    made = []
    for k, (out, tangent) in enumerate(zip(call.outputs, found, strict=True)):
        if strict and tangent is None:
            raise AutogradError(
                f"Output {k} of the user-provided function is independent of the inputs. This is not allowed in "
                f"strict mode."
            )
        made.append(_zeros(out) if tangent is None else tangent)
    return call.result(), made[0] if call.single_output else tuple(made)


def vhp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The value of a scalar function, and the product of the vector `v` with its Hessian."""
    return _hessian_product("vhp", func, inputs, v, create_graph, strict)


def hvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The value of a scalar function, and the product of its Hessian with the vector `v`: the same, Hessians being
    symmetric.
    """
    return _hessian_product("hvp", func, inputs, v, create_graph, strict)


def _hessian_product(
    name: str, func: Callable[..., Any], inputs: Any, v: Any, create_graph: bool, strict: bool
) -> tuple[Any, Any]:
    call = Call(name, func, inputs, create_graph, strict)
    value = call.scalar()
    vectors = _vectors(v, call.inputs, call.single_input, _NO_INPUT_VECTOR)
    one = record.plain(np.ones(value._value.shape, value._value.dtype))
    slopes = call.pull((value,), (one,), True, strict, "The output")
    return call.result(), call.structured(call.pull(slopes, vectors, create_graph, strict, "The jacobian"))


def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian: for each output and each input a Tensor of shape `output.shape + input.shape`.

    `vectorize` is accepted and changes nothing; strategy "forward-mode" goes through the inputs' elements instead of
    the outputs' and, as in PyTorch, is for `vectorize=True` without `create_graph`.
    """
    if strategy not in ("reverse-mode", "forward-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs '
            'than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strict and vectorize:
        raise AutogradError("jacobian: `strict=True` and `vectorize=True` are not supported together.")
    if strategy == "forward-mode":
        if create_graph or not vectorize:
            raise UnsupportedError('jacobian: strategy="forward-mode" is for vectorize=True and create_graph=False')
        return _jacobian_by_columns(Call("jacobian", func, inputs, False, False))
    call = Call("jacobian", func, inputs, create_graph, strict)
    per_output = tuple(call.structured(_rows(call, k, out, strict)) for k, out in enumerate(call.outputs))
    return per_output[0] if call.single_output else per_output


def _rows(call: Call, number: int, out: Any, strict: bool) -> Tensors:
    """The Jacobian of one output, for each input."""
    shape, dtype = out._value.shape, out._value.dtype
    rows = []
    for k in range(out._value.size):
        ct = np.zeros(out._value.size, dtype)
        ct[k] = 1
        seed = (record.plain(ct.reshape(shape)),)
        rows.append(call.pull((out,), seed, call.create_graph, strict, f"Output {number}"))
    made = []
    for x, column in zip(call.inputs, zip(*rows, strict=True) if rows else [()] * len(call.inputs), strict=True):
        whole = shape + x._value.shape
        made.append(_joined(column, whole) if column else record.plain(np.zeros(whole, x._value.dtype)))
    return tuple(made)


def _joined(rows: Tensors, shape: tuple[int, ...]) -> Any:
    return REGISTRY["reshape"](stack(*rows, axis=0), shape=shape)


def _jacobian_by_columns(call: Call) -> Any:
    """The same, going through the elements of the inputs."""
    push = Pushforward(call.outputs, [x._edge for x in call.inputs])
    blocks = []
    for j, x in enumerate(call.inputs):
        columns = []
        for k in range(x._value.size):
            tangent = np.zeros(x._value.size, x._value.dtype)
            tangent[k] = 1
            tangents: list[Any] = [None] * len(call.inputs)
            tangents[j] = tangent.reshape(x._value.shape)
            columns.append(push.tensors(tangents, False))
        blocks.append([_block(out, [column[i] for column in columns], x) for i, out in enumerate(call.outputs)])
    per_output = tuple(call.structured(tuple(row)) for row in zip(*blocks, strict=True))
    return per_output[0] if call.single_output else per_output


def _block(out: Any, columns: list[Any], x: Any) -> Any:
    shape = out._value.shape
    arrays = [np.zeros(shape, out._value.dtype) if t is None else t._value for t in columns]
    whole = shape + x._value.shape
    return record.plain(np.stack(arrays, axis=-1).reshape(whole) if arrays else np.zeros(whole, out._value.dtype))


def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a scalar function: for each pair of inputs a Tensor of shape `input_i.shape + input_j.shape`."""
    if strict and outer_jacobian_strategy == "forward-mode":
        raise AutogradError('hessian: outer_jacobian_strategy="forward-mode" is not for strict=True')

    def slope(*xs: Any) -> Any:
        call = Call("hessian", func, xs, True, strict)
        one = record.plain(np.ones(call.scalar()._value.shape, call.scalar()._value.dtype))
        return call.pull(call.outputs, (one,), True, strict, "The output")

    given = inputs if isinstance(inputs, tuple) else (inputs,)
    blocks = jacobian(slope, given, create_graph, strict, vectorize, outer_jacobian_strategy)
    return blocks if isinstance(inputs, tuple) else blocks[0][0]
