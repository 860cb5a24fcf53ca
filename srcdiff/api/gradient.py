"""`grad` and `value_and_grad`: functions of arrays that return gradients as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from srcdiff.api.inspect import ALWAYS_TRACED, forward_of
from srcdiff.api.making import make_entry
from srcdiff.api.player import Entry
from srcdiff.api.replayed import Replayed, Traced
from srcdiff.api.trace import Trace
from srcdiff.api.tree import flatten
from srcdiff.autograd.cache import Counts
from srcdiff.autograd.engine import trace_gradients
from srcdiff.config import config
from srcdiff.replay.findings import Findings
from srcdiff.tape import record
from srcdiff.tape.lower import collect_inner
from srcdiff.tape.modes import modes
from srcdiff.tape.value import TensorBase


def scalar_result(result: Any, has_aux: bool, what: str) -> tuple[Any, Any]:
    """The function's value and aux; raises TypeError unless the value is a scalar."""
    aux = None
    if has_aux:
        if not (isinstance(result, tuple) and len(result) == 2):
            raise TypeError(
                f"{what} with has_aux=True: the function must return (value, aux), got {type(result).__name__}"
            )
        result, aux = result
    if isinstance(result, TensorBase):
        if result._value.size == 1:
            if result._value.dtype.kind == "c":
                raise TypeError(
                    f"{what} needs a real scalar, but the function returned a complex one ({result._value.dtype}); "
                    "take its real part, or its absolute value"
                )
            return result, aux
        raise TypeError(
            f"{what} needs a function that returns a scalar, got shape {tuple(result._value.shape)}; use sd.jacobian "
            "or sd.vjp, or reduce the result, for example with np.sum"
        )
    if isinstance(result, (bool, int, float, np.generic)) or (isinstance(result, np.ndarray) and result.size == 1):
        return result, aux
    kind = "None" if result is None else f"a {type(result).__name__}"
    if isinstance(result, np.ndarray):
        kind = f"an array of shape {result.shape}"
    raise TypeError(f"{what} needs a function that returns a scalar, got {kind}")


class Grad(Replayed):
    """What `sd.grad` returns."""

    with_value = False
    replayed_in_steps = True

    def _always_traced(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        if config.options.replay == "never":
            return ""
        return ", because functions with aux values are" if self._has_aux else None

    def _forward(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        why = self._always_traced(args, kwargs)
        if why is not None:
            return ALWAYS_TRACED + why
        return forward_of(self._player, self._function, args, kwargs, self._chosen(args, kwargs))

    def _given(self, value: Any, derivative: Any, aux: Any) -> Any:
        if self.with_value:
            return ((value, aux), derivative) if self._has_aux else (value, derivative)
        return (derivative, aux) if self._has_aux else derivative

    def _entry(self, signature: Any, args: tuple[Any, ...], kwargs: dict[str, Any], findings: Findings) -> Entry | None:
        name = getattr(self._function, "__name__", "function")
        watched = self._watched(self._function, signature, args, kwargs, self._name, findings)
        if watched is None:
            return None
        label = name if name.isidentifier() else "function"
        return make_entry(watched, args, kwargs, self._structured, label, self._name)

    def _traced_call(self, args: tuple[Any, ...], kwargs: dict[str, Any], compiling: bool = True) -> Traced:
        run = self._trace(args, kwargs)
        value, aux = scalar_result(run.result, self._has_aux, self._what)
        found, is_open = gradients_of(run, value, counts=self._counts, compiling=compiling)
        gradient = self._structured(run.rebuild(found))
        return outside(value, run, is_open), gradient, None if aux is None else release(aux, run)

    @property
    def _what(self) -> str:
        return "sd.value_and_grad" if self.with_value else "sd.grad"


class ValueAndGrad(Grad):
    """What `sd.value_and_grad` returns."""

    with_value = True


def gradients_of(
    run: Trace, value: Any, ct: Any = None, retain: bool = False, counts: Counts | None = None, compiling: bool = True
) -> tuple[list[Any], bool]:
    """The gradient for each leaf, in the caller's kind: array, NumPy scalar, float or Tensor; zeros if there is none.

    Also whether the value depends on something outside the trace that requires grad (the gradients are then Tensors).
    """
    edge = value._edge if isinstance(value, TensorBase) else None
    if edge is None:
        kind = like if modes.recorder is None or modes.recorder.differentiates else watched_like
        return [kind(leaf, None) for leaf in run.leaves], False
    if ct is None:
        shape, dtype = value._value.shape, value._value.dtype
        ct = np.ones(shape, dtype) if shape else dtype.type(1)
    found, is_open = trace_gradients([edge], [ct], run.edges, run.start, retain, counts, compiling)
    if modes.recorder is not None and not is_open:
        return [watched_like(leaf, g) for leaf, g in zip(run.leaves, found, strict=True)], False
    return [like(leaf, g) for leaf, g in zip(run.leaves, found, strict=True)], is_open


def like(leaf: Any, g: Any) -> Any:
    """A gradient in the kind of the argument it belongs to."""
    if isinstance(g, TensorBase):
        return g
    kind = type(leaf)
    if kind is np.ndarray:
        if g is None:
            return np.zeros(leaf.shape, leaf.dtype)
        return g if type(g) is np.ndarray else np.asarray(g)
    if isinstance(leaf, TensorBase):
        return record.plain(np.zeros(leaf._value.shape, leaf._value.dtype) if g is None else g)
    if kind is float:
        return 0.0 if g is None else float(g)
    if kind is complex:
        return 0j if g is None else complex(g)
    if isinstance(leaf, np.ndarray):
        return np.zeros(leaf.shape, leaf.dtype) if g is None else np.asarray(g)
    return kind(0) if g is None else g


def watched_like(leaf: Any, g: Any) -> Any:
    """The same in a step that is watched, where gradients are Tensors: without the graph they have then."""
    recorder = modes.recorder
    if not isinstance(leaf, TensorBase):
        recorder.fail("a gradient inside is one with respect to an array that is no argument of the step")
        return like(leaf, g._value if isinstance(g, TensorBase) else g)
    made = like(leaf, g._value if isinstance(g, TensorBase) else g)
    if isinstance(g, TensorBase):
        recorder.aliased(made, g)
    else:
        recorder.made(made)
    if leaf._stands:
        made.__class__ = type(leaf)
    return made


def outside(value: Any, run: Trace, is_open: bool) -> Any:
    """The function's value as the caller gets it: an array or number, or a Tensor where Tensors went in or grad flows
    on.
    """
    if not isinstance(value, TensorBase) or is_open:
        return value
    tensors = [leaf for leaf in run.leaves if isinstance(leaf, TensorBase)]
    if not tensors:
        return value._value
    made = record.plain(value._value)
    if modes.recorder is not None:
        modes.recorder.aliased(made, value)
        if all(leaf._stands for leaf in tensors):
            made.__class__ = type(tensors[0])
    return made


def release(aux: Any, run: Trace) -> Any:
    """Aux with its traced values turned into plain ones."""
    leaves, rebuild = flatten(aux)
    return rebuild([outside(leaf, run, _leads_outside(leaf, run)) for leaf in leaves])


def _leads_outside(value: Any, run: Trace) -> bool:
    edge = value._edge if isinstance(value, TensorBase) else None
    return edge is not None and collect_inner([edge], run.start)[1]
