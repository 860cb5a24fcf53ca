"""`grad`, `grad_and_value`, `vjp`, `jvp`, `linearize`: functions of Tensors made into functions that give
derivatives.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from srcdiff.api.tree import flatten
from srcdiff.autograd.pushing import Pushforward
from srcdiff.errors import AutogradError
from srcdiff.func.run import Run, by_argument, chosen
from srcdiff.tape.modes import modes
from srcdiff.tape.record import plain
from srcdiff.tape.value import TensorBase


def grad(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the gradient of `func`, whose result must be a scalar Tensor.

    The gradient has the structure of the argument at position `argnums` (of a tuple of positions: a tuple). With
    `has_aux`, `func` returns `(value, aux)` and the result is `(gradient, aux)`. The result requires grad where what
    it depends on does.
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        slopes, value = both(*args, **kwargs)
        return (slopes, value[1]) if has_aux else slopes

    return gradient


def grad_and_value(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The same with the value: `(gradient, value)`, with `has_aux` `(gradient, (value, aux))`."""

    @functools.wraps(func)
    def gradient_and_value(*args: Any, **kwargs: Any) -> Any:
        run = Run("grad_and_value", func, args, kwargs, chosen(argnums, args), has_aux)
        out = run.result
        if not isinstance(out, TensorBase):
            raise AutogradError(f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(out)}")
        value = out._value
        if value.ndim != 0:
            raise AutogradError(
                f"grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with {value.ndim} "
                f"dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
            )
        if value.dtype.kind == "c":
            raise AutogradError(
                "grad_and_value(f)(*args): Expected f(*args) to return a real Tensor, got a complex one"
            )
        slopes = by_argument(argnums, run.structured(run.pull([out], [value.dtype.type(1)], retain=has_aux)))
        return (slopes, (run.value(), run.auxiliary())) if has_aux else (slopes, run.value())

    return gradient_and_value


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """`(func(*primals), pull)`, with `has_aux` and aux as a third.

    `pull(ct)` takes a cotangent in the structure of the result and gives a tuple with one for each primal, any
    number of times.
    """
    run = Run("vjp", func, primals, {}, range(len(primals)), has_aux)
    run.check_tensors("Expected f(*args) to return only tensors")

    def pull(*cotangents: Any) -> tuple[Any, ...]:
        cts, _ = flatten(cotangents[0] if len(cotangents) == 1 else cotangents)
        if len(cts) != len(run.outs):
            raise AutogradError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function: {len(cts)} cotangents were given for {len(run.outs)} outputs"
            )
        for k, (ct, out) in enumerate(zip(cts, run.outs, strict=True)):
            if not isinstance(ct, TensorBase):
                raise AutogradError(f"vjp: expected Tensors as cotangents, got {type(ct)}")
            if ct._value.shape != out._value.shape:
                raise AutogradError(
                    f"Mismatch in shape: grad_output[{k}] has a shape of {tuple(ct._value.shape)} and output[{k}] has "
                    f"a shape of {tuple(out._value.shape)}."
                )
        return tuple(run.structured(run.pull(run.outs, cts, retain=True)))

    return (run.value(), pull, run.auxiliary()) if has_aux else (run.value(), pull)


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """`(func(*primals), tangent)`, with `has_aux` and aux: the derivative along `tangents`, a tuple like `primals`.

    With `strict` an output that does not depend on the primals is an error, else its tangent is zero.
    """
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, tuple):
            raise AutogradError(
                f"jvp(f, primals, tangents): Expected {name} to be a tuple. E.g. it should be valid to call "
                f"f(*primals)."
            )
    run = Run("jvp", func, primals, {}, range(len(primals)), has_aux, forward=True)
    run.check_tensors("expected f(*primals) to return only tensors")
    pushed = push(run, tangents, strict)
    return (run.value(), pushed, run.auxiliary()) if has_aux else (run.value(), pushed)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """`(func(*primals), push)`: `push(*tangents)` is the derivative along tangents, any number of times."""
    run = Run("linearize", func, primals, {}, range(len(primals)), forward=True)
    run.check_tensors("expected f(*primals) to return only tensors")
    forward = Pushforward(run.outs, run.edges, run.start)

    def derivative(*tangents: Any) -> Any:
        return push(run, tangents, False, forward)

    return run.value(), derivative


def push(run: Run, tangents: tuple[Any, ...], strict: bool, forward: Pushforward | None = None) -> Any:
    """The tangent of a run's result, in its structure."""
    flat, _ = flatten(tangents)
    if len(flat) != len(run.leaves):
        raise AutogradError(
            f"jvp(f, primals, tangents): Expected primals and tangents to have the same python structure, got "
            f"{len(run.leaves)} primals and {len(flat)} tangents"
        )
    for tangent, leaf in zip(flat, run.leaves, strict=True):
        if tuple(tangent.shape) != leaf._value.shape:
            raise AutogradError(
                "Trying to set a forward gradient that has a different size than that of the original Tensor, this is "
                f"not supported. Tensor is of size {list(leaf._value.shape)} while the given forward gradient is of "
                f"size {list(tangent.shape)}."
            )
    is_open = modes.grad and (run.is_open or any(isinstance(t, TensorBase) and t._edge is not None for t in flat))
    found = (forward or Pushforward(run.outs, run.edges, run.start)).tensors(flat, is_open)
    made = []
    for k, (out, tangent) in enumerate(zip(run.outs, found, strict=True)):
        if strict and tangent is None:
            raise AutogradError(
                f"jvp(f, primals, tangents): output {k} does not depend on the primals, and strict=True"
            )
        made.append(plain(out._value * 0) if tangent is None else tangent)
    return run.rebuild(made)
