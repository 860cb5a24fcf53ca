"""Watching a traced call: the program of everything it computes, differentiated or not.

While a `Recorder` is in `modes.recorder`, every operation on Tensors is noted, after it has been done as always: the
call stays an ordinary traced call, and what is noted is thrown away if anything happens that a replay could not repeat
(`fail`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from srcdiff.aval import SCALARS, aval, aval_of
from srcdiff.core.builder import Builder, item
from srcdiff.core.primitive import REGISTRY, Primitive
from srcdiff.core.program import Node, Source
from srcdiff.origin import describe, where
from srcdiff.random import Generator
from srcdiff.tape.modes import modes
from srcdiff.tape.site import user_place
from srcdiff.tape.value import TensorBase
from srcdiff.transform.identity import made_by


class AbandonedError(BaseException):
    """Raised through the user's function when its call turns out not to be replayable. No `except Exception` on the way
    catches it; `Recorder.failed` says what happened even where NumPy puts another error in its place."""


class Recorder:
    """The program of one call as it grows."""

    #: the program will be differentiated; NumPy ignores all errors while it is recorded
    differentiates = True
    silent = True

    def __init__(self) -> None:
        self.builder = Builder()
        self.inputs: list[Node] = []
        #: constants made inside the call, with their arrays
        self.constants: list[tuple[Node, Any]] = []
        self._constant_of: dict[int, tuple[Node, Any, Any]] = {}
        #: values whose truth decided what the call did, and the truth
        self.branches: list[tuple[Node, bool]] = []
        self.failed: str | None = None
        #: errors raise in the call whatever NumPy is told to do with them
        self.raises = False
        #: operations that may warn or raise
        self.done: list[Node] = []
        self.arguments: list[Any] = []
        #: id of an array or NumPy scalar -> it, and the node of its value
        self._by_value: dict[int, tuple[Any, Node]] = {}
        #: what tensors were just before the write that is going on
        self._before: dict[int, tuple[Any, Node | None]] = {}
        #: id of a float that was computed of numbers that change -> it, and the expression of it
        self.numbers: dict[int, tuple[Any, str]] = {}
        #: such expressions, which are inputs; conditions on such numbers
        self.expressions: dict[str, Node] = {}
        #: what such an expression is called, if it has a name
        self.names: dict[str, str] = {}
        self.conditions: list[str] = []
        #: those of the numbers with which more is done
        self.unfit: frozenset[int] = frozenset()
        #: one of the numbers cannot be told from a constant
        self.unclear = False
        #: random numbers: the input, and what draws it
        self.draws: list[tuple[Node, Callable[[], Any]]] = []
        #: arrays from outside, whose contents are guarded, by id
        self.known: dict[int, Any] = {}
        #: id of an array that was drawn, and has not been written -> it, and its input
        self._drawn: dict[int, tuple[Any, Node]] = {}
        #: the dtype that new Tensors have matters
        self.uses_default_dtype = False

    @property
    def path(self) -> tuple[Any, ...]:
        """What tells this call's path through the function from others: the outcomes of its branches."""
        compared = [tuple(repr(x.literal) for x in node.operands if x.is_literal) for node, _ in self.branches]
        return (*zip((outcome for _, outcome in self.branches), compared, strict=True), *self.conditions)

    def input(self, tensor: Any, name: str | None) -> Node:
        """An argument."""
        value = tensor._value
        node = self.builder.input(aval(value.shape, value.dtype), name, Source(name))
        self._mark(tensor, node)
        self.inputs.append(node)
        self.arguments.append(tensor)
        return node

    def _number(self, value: Any, text: str) -> Node:
        """The input that has the value of an expression of numbers."""
        node = self.expressions.get(text)
        if node is None:
            name = self.names.get(text, "number")
            node = self.expressions[text] = self.builder.input(aval_of(value), name, Source(name))
        return node

    def fail(self, reason: str) -> None:
        """This call cannot be replayed: it ends here, before it has done anything that could be seen."""
        self._refuse(reason)

    def _refuse(self, reason: str) -> NoReturn:
        if self.failed is None:
            self.failed = reason if modes.backward_run else f"{where(*user_place(4))}: {reason}"
        raise AbandonedError(reason)

    def note(
        self, prim: Primitive, operands: tuple[Any, ...], params: dict[str, Any], out: Any, writing: bool = False
    ) -> None:
        """An operation was done, with this result, a Tensor or a tuple. `writing`: as part of a write in place."""
        if self.silent and any(handling != "ignore" for handling in np.geterr().values()):
            self._refuse("it has NumPy tell of errors in a way of its own")
        nodes = tuple(self._node(operand, writing) for operand in operands)
        hash(tuple(params.values()))  # what stands for a number refuses to be a parameter
        place = user_place(3)
        origin = describe(*place)
        self.builder.source = Source(origin.target, origin.file, origin.line, origin.text)
        if prim.multi:
            avals = tuple(aval(o._value.shape, o._value.dtype) for o in out)
            made = self.builder.opaque(prim, nodes, params, avals, origin.target)
            for k, part in enumerate(out):
                self._mark(part, item(made, k))
            self.done.append(out[0]._node)
            return
        value = out._value
        self._mark(out, self.builder.opaque(prim, nodes, params, aval(value.shape, value.dtype), origin.target))
        if not prim.view:
            self.done.append(out._node)
        if self.differentiates and not modes.grad and out._value.dtype.kind in "fc" and prim.vjps is not None:
            self._refuse("it computes in no_grad mode")

    def unused(self, outputs: Sequence[Node]) -> list[Node]:
        """Operations that were done for nothing, as far as `outputs` show; what they raise or warn of must be heard."""
        needed: set[Node] = set()
        found = []
        for node in (*outputs, *reversed(self.done)):
            work = node.operands[0] if made_by(node, "item") else node
            if work not in needed and node not in outputs:
                found.append(node)
            waiting = [node]
            while waiting:
                one = waiting.pop()
                if one not in needed:
                    needed.add(one)
                    waiting.extend(one.operands)
        return found

    def same(self, tensor: Any, other: Any) -> None:
        """`tensor` is a new Tensor for the value of `other`."""
        node = other.__dict__.get("_node")
        if node is None:
            self._refuse("it differentiates with respect to a value that was not seen")
        tensor._node = node

    def saved(self, tensor: Any) -> None:
        """A new Tensor for a value that was saved for backward: it is the value it was."""
        known = self._by_value.get(id(tensor._value))
        if known is not None and known[0] is tensor._value:
            tensor._node = known[1]

    def _mark(self, tensor: Any, node: Node) -> None:
        tensor._node = node
        self._by_value[id(tensor._value)] = (tensor._value, node)
        if tensor._view is not None:
            tensor._of = tensor._view.base.__dict__.get("_node")

    def _node(self, operand: Any, writing: bool = False) -> Node:
        if isinstance(operand, TensorBase):
            node = self._node_of(operand, writing)
            if node is None or node.builder is not self.builder:
                self._refuse("it uses a Tensor that did not come from its arguments")
            return node
        if type(operand) in SCALARS or isinstance(operand, np.generic):
            known = self.numbers.get(id(operand))
            if known is not None and known[0] is operand:
                return self._number(*known)
            self._differs(operand)
            return self.builder.literal(operand)
        return self.constant(operand)

    def _differs(self, constant: Any) -> None:
        """End the recording if a constant is like a number that changes: a backward pass takes the numbers of an
        operation from its site, where they may come from an earlier call.
        """
        dtype = np.asarray(constant).dtype
        with np.errstate(all="ignore"):
            like = [
                constant == n or (dtype.kind == "f" and constant == dtype.type(n)) for n, _ in self.numbers.values()
            ]
        if any(like):
            self.unclear = True
            self._refuse("a number that changes is like a constant")

    def _node_of(self, tensor: Any, writing: bool) -> Node | None:
        view = tensor._view
        state: dict[str, Any] = tensor.__dict__
        if view is not None and view.steps:
            base = view.base.__dict__.get("_node")
            if base is not None and (base is not state.get("_of") or "_node" not in state):
                self._mark(tensor, self._through(base, view))
        if "_node" not in state and writing and id(tensor) in self._before:
            return self._before[id(tensor)][1]
        if "_node" not in state:
            array, node = self._drawn.get(id(tensor._value), (None, None))
            if node is not None and array is tensor._value:
                self._mark(tensor, node)
        return state.get("_node")

    def _through(self, base: Node, view: Any) -> Node:
        """What a view shows of its base, which has been written."""
        node = base
        for prim, dynamic, params in view.steps:
            node = self.builder.emit(prim, (node, *(self._node(d) for d in dynamic)), params)
        return node

    def constant(self, array: Any) -> Node:
        """An array made inside the call of things that are guarded; it is the same in every call."""
        known = self._constant_of.get(id(array))
        if known is not None and known[1] is array and _equal(known[2], array):
            return known[0]
        drawn = self._by_value.get(id(array))
        if drawn is not None and drawn[0] is array:
            return drawn[1]
        # what a derivative's rule makes, of shapes and of what was looked at before, is not random
        if self.draws and self.known.get(id(array)) is not array and modes.backward_run is None:
            self._refuse("an array that may be made of random numbers is used")
        if array.ndim == 0:
            self._differs(array)
        node, contents = self.builder.input(aval_of(array)), np.array(array)
        self._constant_of[id(array)] = (node, array, contents)
        self.constants.append((node, contents))
        return node

    def made(self, tensor: Any) -> None:
        """A Tensor was made of guarded things alone, by a function like np.zeros_like."""
        value = tensor._value
        self._mark(tensor, self.constant(value) if isinstance(value, np.ndarray) else self.builder.literal(value))

    def drawing(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Random numbers are about to be drawn, with these arguments."""
        if any(isinstance(part, (np.ndarray, TensorBase, Generator)) for part in (*args, *kwargs.values())):
            self._refuse("random numbers are drawn whose distribution is computed, or from a generator of their own")

    def drawn(self, array: Any, draw: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Random numbers were drawn from the default generator: a replay draws its own."""
        node = self.builder.input(aval_of(array), "random")
        self._by_value[id(array)] = self._drawn[id(array)] = (array, node)
        self.draws.append((node, functools.partial(draw, *args, **kwargs)))

    # ------------------------------------------------------------------------------------------------------- refusals

    def effect(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], written: Any, cleared: Any) -> Any:
        """`function(*args, **kwargs)` does something that outlives the call."""
        self._refuse(f"{function.__qualname__} has an effect")

    def starts_backward(self, cts: list[Any]) -> bool:
        """Backward is about to be run from these cotangents. False if that is not to be watched."""
        self._refuse("it runs backward")

    def accumulates(self, leaf: Any, ct: Any, accumulate: Callable[[], None]) -> None:
        """`accumulate` adds a cotangent to the gradient of a leaf."""
        self._refuse("it runs backward")

    def becomes_leaf(self, tensor: Any) -> None:
        """A Tensor outside of graphs is to require grad, or a leaf no more."""
        self._refuse("it makes a tensor that requires grad")

    def sets_grad(self, tensor: Any, value: Any) -> None:
        """`tensor.grad = value`, a Tensor."""
        self._refuse("it sets .grad to a tensor")

    def looks_at_grad(self, tensor: Any) -> None:
        """`tensor.grad` is read."""
        self._refuse("it reads .grad")

    def number(self, tensor: Any) -> Any:
        """`tensor.item()`."""
        value = tensor._value.item()
        if type(value) not in (int, bool):
            self._refuse("item() makes a plain value of one that changes from call to call")
        self.decides(tensor, value)
        return value

    def aliased(self, tensor: Any, other: Any) -> None:
        """`tensor` is `other` outside the graph, on the same memory."""

    def created(self, tensor: Any) -> None:
        """A Tensor was made of plain values by one of PyTorch's constructors: its dtype may be the default one."""
        if tensor._edge is not None:
            self._refuse("it makes a tensor that requires grad")
        self.uses_default_dtype = True
        self.made(tensor)

    def branch(self, tensor: Any, outcome: bool) -> None:
        """The truth of a value was asked for."""
        node = self._node(tensor)
        if not node.is_literal:
            self.branches.append((node, outcome))

    def decides(self, tensor: Any, value: Any) -> None:
        """An integer became a Python number: what the call does from here on may depend on it."""
        node = self._node(tensor)
        if not node.is_literal:
            self.branches.append((self.builder.emit(REGISTRY["equal"], (node, value), {}), True))

    # ------------------------------------------------------------------------------------------------ writes in place

    def written(self, tensors: list[Any]) -> None:
        """The memory of these tensors is about to be written."""
        for tensor in tensors:
            self._by_value.pop(id(tensor._value), None)
            self._drawn.pop(id(tensor._value), None)
        self._before = {}
        for tensor in tensors:
            if any(tensor is argument for argument in self.arguments):
                self._refuse("it writes into an argument")
            self._before[id(tensor)] = (tensor, tensor.__dict__.pop("_node", None))

    def attached(self, tensor: Any, new: Any) -> None:
        """A write is over: the tensor has become what `new` is."""
        node = new.__dict__.get("_node")
        self._before = {}
        if node is None:
            self._refuse("it writes in place something that was not seen")
        tensor._node = node


def _equal(a: Any, b: Any) -> bool:
    return bool(a.dtype == b.dtype) and a.shape == b.shape and a.tobytes() == np.ascontiguousarray(b).tobytes()
