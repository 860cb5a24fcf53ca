"""Watching a call that has effects: its program, and what is done with the program's values, in order.

A `StepRecorder` watches the real call. What a replay could not repeat makes it stop watching; the call goes on as if
nobody had. Effects (`effects`) happen at a replay after the program has run. What is computed with a tensor that a Call
has changed is done after that, in a later stage (`stages`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from srcdiff.core.primitive import REGISTRY, Primitive
from srcdiff.core.program import Node
from srcdiff.random import watch
from srcdiff.replay.effects import Call, Change, Returned, Target
from srcdiff.replay.recorder import AbandonedError, Recorder
from srcdiff.replay.tensors import Tensors
from srcdiff.tape.modes import modes
from srcdiff.tape.value import TensorBase

F = TypeVar("F", bound=Callable[..., Any])


_CONSTANTS = (int, float, bool, str, type(None))


def _patient(method: F) -> F:
    """A method of a recorder that stops watching where its base refuses to go on."""

    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self.stopped:
            return None
        if self.inside:
            return method(self, *args, **kwargs)
        self.inside = True
        try:
            return method(self, *args, **kwargs)
        except AbandonedError:
            self.stop()
            if self.rehearses:
                raise
            return None
        finally:
            self.inside = False

    return call  # type: ignore[return-value]


class StepRecorder(Tensors):
    """`outside` are the tensors that what is guarded leads to, by id, with names for them; `stand_in` is the class of
    Tensors that take the place of arrays among the arguments.
    """

    differentiates = silent = False

    def __init__(self, outside: dict[int, tuple[Any, str]], numbers_returned: bool, stand_in: Any) -> None:
        super().__init__(outside)
        self._numbers_returned = numbers_returned
        #: tensors whose gradients the call looked at before it decided whether there are any; whether there was none
        self.looked: dict[Target, bool] = {}
        #: tensors whose gradients have been taken off in the call; and those that got one, and whether it was the first
        self._cleared: set[Target] = set()
        self._added: dict[Target, bool] = {}
        #: the Tensors among the arguments
        self.given_tensors: list[Any] = []
        self._numbers: list[tuple[Any, Node | Returned]] = []
        #: the nodes of the leaves of the result, None for those that are the same in every call
        self.results: list[Node | Returned | None] = []
        self._returned: list[Any] = []
        self._waiting: list[Any] = []
        self.inside = self.stopped = False
        #: nothing of the call is to outlast it: it ends where it cannot be repeated
        self.rehearses = False
        self._stand_in = stand_in
        #: there are some
        self.stands = False

    # -------------------------------------------------------------------------------------------------------- the call

    def start(self) -> None:
        """Watch from here on, in this thread."""
        modes.recorder = self
        watch.recorder = self
        modes.update()

    def stop(self) -> None:
        """Watch no longer. What is made of stand-ins goes on to be one until the call is over."""
        if not self.stopped:
            self.stopped = True
            watch.recorder = None
            if not self.stands:
                self.leave()
            self._unmark()

    def leave(self) -> None:
        """The call is over."""
        self.stopped = True
        modes.recorder = watch.recorder = None
        modes.update()
        self._unmark()

    def finish(self, leaves: Sequence[Any] = ()) -> None:
        """The call is over, with these leaves of its result."""
        if not self.stopped:
            self._check_written()
        self.results = [self._result(leaf) for leaf in leaves]
        self.stop()

    @_patient
    def _result(self, leaf: Any) -> Node | Returned | None:
        """The node of a leaf of the result; None for what is the same in every call."""
        returned = self._returned_by(leaf)
        if returned is not None and not any(leaf is each for each in self._returned):
            self._returned.append(leaf)
            return returned
        if isinstance(leaf, TensorBase):
            target = self.target(leaf)
            if target is not None and not target.gradient and target.argument is None:
                return None
            if any(np.may_share_memory(each._value, leaf._value) for each, _ in self._lasting()):
                self._refuse("its result shares memory with an argument or something from outside")
            if any(np.may_share_memory(each._value, leaf._value) for each in self._returned):
                self._refuse("parts of its result share memory")
            self._returned.append(leaf)
            return self._node(leaf)
        if isinstance(leaf, (np.ndarray, np.generic)):
            self._refuse("it returns an array that was not seen")
        return next((node for known, node in self._numbers if known is leaf), None)

    def _returned_by(self, value: Any) -> Returned | None:
        """The effect that gave a Tensor, if one did, and it is what it was."""
        for k, effect in enumerate(self.effects):
            if isinstance(effect, Call) and isinstance(value, TensorBase) and effect.result is value:
                return Returned(k) if value._edge is None and not value._version else None
        return None

    def fail(self, reason: str) -> None:
        """Something happened that a replay could not repeat."""
        if self.stopped:
            return
        try:
            self._refuse(reason)
        except AbandonedError:
            if self.inside:
                raise
            self.stop()
            if self.rehearses:
                raise

    # ------------------------------------------------------------------------------------------------------- operations

    def note(
        self, prim: Primitive, operands: tuple[Any, ...], params: dict[str, Any], out: Any, writing: bool = False
    ) -> None:
        """An operation was done. What NumPy makes of arrays alone is an array."""
        self._note(prim, operands, params, out, writing)
        if self.stands and all(each._stands for each in operands if isinstance(each, TensorBase)):
            for part in out if prim.multi else (out,):
                part.__class__ = self._stand_in

    _note = _patient(Recorder.note)
    same = _patient(Recorder.same)
    saved = _patient(Recorder.saved)
    made = _patient(Recorder.made)
    branch = _patient(Recorder.branch)
    decides = _patient(Recorder.decides)
    drawing = _patient(Recorder.drawing)
    drawn = _patient(Recorder.drawn)
    constant = _patient(Recorder.constant)

    @_patient
    def aliased(self, tensor: Any, other: Any) -> None:
        """It has the value of the other."""
        self._mark(tensor, self._node(other))

    def created(self, tensor: Any) -> None:
        """A constant whose dtype may be the default one."""
        self.uses_default_dtype = True
        self.made(tensor)

    # ---------------------------------------------------------------------------------------------------------- effects

    def effect(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], written: Any, cleared: Any) -> Any:
        """Call it, unwatched, and remember that."""
        owner = self.target(args[0]) if isinstance(args[0], TensorBase) else args[0]
        if not all(type(part) in _CONSTANTS for part in (*args[1:], *kwargs.values())):
            self.fail(f"{function.__qualname__} is given arguments that may change")
        touched = list(written(args[0]))
        gradients = {id(each) for each, target in self._lasting() if target.gradient}
        moved = () if any(id(tensor) in gradients for tensor in touched) else tuple(touched)
        skipped = self.rehearses and function.__name__ == "step"  # of an optimizer or schedule, which has a state
        out = None if skipped else self._unwatched(functools.partial(function, *args, **kwargs))
        if not self.stopped and owner is not None:
            self.effects.append(Call(function, (owner, *args[1:]), kwargs, out, written, moved))
            self._touched += [tensor for tensor in touched if id(tensor) not in gradients]
            self._forget(touched)
            self._cleared.update(filter(None, map(self.target, cleared(*args, **kwargs))))
        return out

    def _changed(self, how: str, target: Target, node: Node, value: Any, prefix: str) -> None:
        self.effects.append(Change(how, target, node, np.array(value), f"{prefix}_{self._name(target)}"))

    def starts_backward(self, cts: list[Any]) -> bool:
        """Note the cotangents, which are ones unless they were given."""
        for ct in cts:
            if ct.__dict__.get("_node") is None:
                self.made(ct)
        return not self.stopped

    def accumulates(self, leaf: Any, ct: Any, accumulate: Callable[[], None]) -> None:
        """Do it, and remember it; the gradient is known from here on if there was none."""
        grad = leaf._grad
        self._unwatched(accumulate)
        self._accumulated(leaf, ct, grad)

    @_patient
    def _accumulated(self, leaf: Any, ct: Any, before: Any) -> None:
        target, node = self.target(leaf), self._node(ct)
        if target is None and "_node" not in leaf.__dict__:
            self._refuse("backward reaches a leaf that is not guarded")
        if target is not None:
            self._added.setdefault(target, before is None)
        if before is not None:
            known = None if self._is_lost(before) else self._node_of(before, False)
            if known is None:
                self._forget([before])
            else:
                node_of_sum = self.builder.emit(REGISTRY["add"], (known, node), {})
                self._by_value.pop(id(before._value), None)
                self._drawn.pop(id(before._value), None)
                self._mark(before, node_of_sum)
        else:
            self._mark(leaf._grad, node)
            self._dirty.pop(id(leaf._grad), None)
        if target is not None:  # that of a leaf made in the call does not outlast it
            self._changed("accumulate", target, node, ct._value, "g")

    @_patient
    def becomes_leaf(self, tensor: Any) -> None:
        """One that the call has made: what it does with its gradient is seen."""
        if self.target(tensor) is not None or self._node_of(tensor, False) is None:
            self._refuse("it changes whether a tensor from outside requires grad")

    @_patient
    def sets_grad(self, tensor: Any, value: Any) -> None:
        """The value is the gradient from here on, which must be that of no other tensor."""
        target = self.target(tensor)
        if target is None or self.target(value) is not None or value._edge is not None or value._view is not None:
            self._refuse(
                "it sets .grad to a tensor that lasts, is a view or is part of a graph, or that of one it made"
            )
        node = self._node(value)
        self._cleared.add(target)
        self._changed("assign", target, node, value._value, "g")

    @_patient
    def looks_at_grad(self, tensor: Any) -> None:
        """Whether there is a gradient, or was before one was added, is then a condition, unless the call has decided
        it.
        """
        target = self.target(tensor)
        if target is None or target in self._cleared:
            return
        if target not in self._added:
            self.looked.setdefault(target, tensor._grad is None)
        elif self._added[target]:
            self.looked.setdefault(target, True)

    def number(self, tensor: Any) -> Any:
        """The number itself."""
        value = tensor._value.item()
        if self._numbers_returned:
            self._remember(value, tensor)
        elif type(value) in (int, bool):
            self.decides(tensor, value)
        else:
            self.fail("more is done with what item() gives than return it")
        return value

    @_patient
    def _remember(self, value: Any, tensor: Any) -> None:
        returned = self._returned_by(tensor)
        self._numbers.append((value, self._node(tensor) if returned is None else Returned(returned.effect, True)))

    @_patient
    def written(self, tensors: list[Any]) -> None:
        """The memory of these tensors is about to be written: by an operation, if `attached` follows."""
        self._check_written()
        self._before = {}
        for tensor in tensors:
            if any(tensor is argument for argument in self.arguments):
                self._refuse("it writes into an argument")
            node = None if self._is_lost(tensor) else self._node_of(tensor, False)
            self._by_value.pop(id(tensor._value), None)
            self._drawn.pop(id(tensor._value), None)
            tensor.__dict__.pop("_node", None)
            self._before[id(tensor)] = (tensor, node)
        self._waiting = [tensor for tensor in tensors if self.target(tensor) is not None]

    @_patient
    def attached(self, tensor: Any, new: Any) -> None:
        """The tensor, and all others on the same array, have become what `new` is."""
        node = new.__dict__.get("_node")
        if node is None or node.builder is not self.builder:
            self._refuse("it writes in place something that was not seen")
        for other, target in self._lasting():
            counted = id(other) in self._before
            if other._value is tensor._value:
                self._mark(other, node)
                self._changed("overwrite" if counted else "replace", target, node, other._value, "new")
            elif np.may_share_memory(other._value, tensor._value):
                self._refuse("it writes a part of a tensor through another one")
        for other in (*(each for each, _ in self._before.values()), *self._marked.values()):
            if other._value is tensor._value:
                self._mark(other, node)
        self._mark(tensor, node)
        self._before, self._waiting = {}, []

    @_patient
    def _check_written(self) -> None:
        if self._waiting:
            self._refuse("it writes a tensor in a way that is not looked into")

    def _unwatched(self, function: Callable[[], Any]) -> Any:
        if modes.recorder is not self:
            return function()
        drawn = watch.recorder
        modes.recorder = watch.recorder = None
        modes.update()
        try:
            return function()
        finally:
            modes.recorder, watch.recorder = self, drawn
            modes.update()
