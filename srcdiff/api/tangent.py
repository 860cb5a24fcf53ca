"""`jvp`, `linearize`, `hvp`: derivatives along tangents, in forward mode."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from srcdiff.api.gradient import Grad, Replayed, outside, release
from srcdiff.api.inspect import ALWAYS_TRACED
from srcdiff.api.player import Entry, signature_of, style_of
from srcdiff.api.trace import taken_apart, trace
from srcdiff.api.tree import flatten, leaf_names, paired
from srcdiff.api.watching import make_entry, prove, watch
from srcdiff.autograd.cache import STATS, Counts
from srcdiff.autograd.pushing import Pushforward
from srcdiff.codegen.emit import emit
from srcdiff.config import config
from srcdiff.core.program import Program
from srcdiff.errors import ArgumentError, DTypeError, ShapeError
from srcdiff.replay.findings import Findings, RefusedError
from srcdiff.tangents import Tangents
from srcdiff.tape import record
from srcdiff.tape.value import TensorBase


def jvp(
    function: Any = None,
    primals: Sequence[Any] | None = None,
    tangents: Sequence[Any] | None = None,
    has_aux: bool = False,
    *,
    argnums: Any = None,
    argnames: Any = None,
) -> Any:
    """`(function(*primals), tangent)`: a function's value and its derivative along tangents.

    `tangents` has one entry for each of `primals`, or for each that `argnums` (an int or a tuple) and `argnames` ask
    for, in the structure of the argument, of the same shapes; None anywhere stands for zero, and makes its argument a
    constant, which may be an integer. The tangent has the structure, shapes and dtypes of the value. With `has_aux` the
    function returns `(value, aux)`, and aux comes third. Raises ShapeError, DTypeError or ArgumentError for a tangent
    that does not fit its value.

    Without `primals` and `tangents`, a function that takes them, and keyword arguments; its `source(primals,
    tangents)` shows the generated code. So `jvp` can be a decorator. Its calls with arrays that are proved to be
    repeatable run as one generated function, value and tangent, like those of `grad`.

    >>> import numpy as np, srcdiff as sd
    >>> sd.jvp(np.sin, (np.array([0.0, 1.0]),), (np.array([1.0, 0.0]),))
    (array([0.        , 0.84147098]), array([1., 0.]))
    """
    if function is None:
        return lambda later: Jvp(later, argnums, argnames, has_aux)
    if primals is None and tangents is None:
        return Jvp(function, argnums, argnames, has_aux)
    if primals is None or tangents is None:
        raise ArgumentError("jvp: tangents come with primals: both are given, or neither")
    if argnums is not None or argnames is not None:
        return Jvp(function, argnums, argnames, has_aux)(primals, tangents)
    args = _sequence("primals", primals)
    return Call("jvp", function, args, {}, range(len(args)), tangents, _names_of(function), has_aux).pushed()


def linearize(function: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """`(function(*primals), push)`, and aux as a third with `has_aux`: `push(*tangents)` is the derivative along
    tangents, one for each of the primals, any number of times; the function runs once.

    Tangents as in `jvp`. `push.source()` shows the generated code.
    """
    call = Call("linearize", function, primals, {}, range(len(primals)), None, _names_of(function), has_aux)
    push = Linearized(call)
    return (call.value(), push, call.released()) if has_aux else (call.value(), push)


def hvp(function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], *, argnums: Any = 0) -> Any:
    """The derivative of the gradient along tangents: the product of the Hessian of a function that returns a real
    scalar with a vector, exact, at the cost of some gradients.

    The gradient is that with respect to `argnums`, and so is the structure of the result; primals and tangents as in
    `jvp`. `jvp(grad(function), primals, tangents)` gives the gradient as well.
    """
    return jvp(Grad(function, argnums), primals, tangents)[1]


class Jvp(Replayed):
    """What `sd.jvp` returns without primals."""

    def __init__(
        self, function: Callable[..., Any], argnums: Any = None, argnames: Any = None, has_aux: bool = False
    ) -> None:
        super().__init__(function, argnums, argnames, has_aux)

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any], **kwargs: Any) -> Any:
        args, enter = (primals, tangents), self._player.enter
        try:
            found = enter(args, kwargs)
        except Exception:  # tracing raises it from the user's line
            found = None
        if found:
            STATS.replayed += 1
            self._counts.replayed += 1
            return found
        options = config.options
        if self._always_traced(args, kwargs) is not None or self._player.refused is not None:
            return self._call(primals, tangents, kwargs).pushed()
        style, barred = style_of(options), False
        if self._player.entries:
            entry, result = self._player.play(args, kwargs, style, enter, found)
            if entry is not None:
                return self._checked(entry, result, args, kwargs, options)
            barred = result
        signature = None if barred else self._player.wants(args, kwargs, (), style)
        traced = self._call(primals, tangents, kwargs).pushed()
        if signature is not None:
            self._record(signature, args, kwargs, traced, options)
        return traced

    def _always_traced(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """Why no call like this one is replayed, if none is."""
        if config.options.replay == "never":
            return ""
        if self._has_aux or kwargs or self._argnums is not None or self._argnames is not None:
            return ", because calls with aux values, keywords or chosen arguments are"
        if any(type(leaf) in (float, complex) for part in args for leaf in taken_apart(part)[0]):
            return ", because a number among the arguments would be taken for a constant"
        return None

    def _forward(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """How the forward of a call runs."""
        why, player = self._always_traced(args, kwargs), self._player
        if why is not None:
            return ALWAYS_TRACED + why
        try:
            signature = signature_of(args, kwargs, (), style_of(config.options))
        except RefusedError as reason:
            return f"{ALWAYS_TRACED}, because {reason}"
        for entry in player.entries:
            if entry.signature == signature:
                count = sum(node.prim is not None for node in entry.program.nodes())
                return f"replayed: value and tangent are one generated function of {count} operations"
        refused = player.refused or player.traced_only.get(signature)
        if refused is not None:
            return f"{ALWAYS_TRACED}, because {refused}"
        return "traced: the second call like this one is recorded, if it is proved to be repeatable"

    def _proved(self, args: tuple[Any, ...], kwargs: dict[str, Any], chosen: Sequence[Any]) -> Findings:
        return prove(self._function, args[0], kwargs, range(len(args[0])))

    def _traced_again(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        primals, tangents = args
        traced: tuple[Any, ...] = self._call(primals, tangents, kwargs).pushed()
        return traced

    def _entry(self, signature: Any, args: tuple[Any, ...], kwargs: dict[str, Any], findings: Findings) -> Entry:
        """An entry for calls like this one. Raises RefusedError where there is more than one array to give."""
        primals, tangents = args
        made: list[Any] = []

        def pushed(primals: Any, tangents: Any) -> Any:
            call = Call("jvp", self._function, primals, {}, range(len(primals)), tangents, self._name, False)
            out, tangent = call.single()
            made.append(tangent)
            return out

        name = getattr(self._function, "__name__", "function")
        names = ("primals", "tangents").__getitem__
        watched = watch(pushed, (primals, tangents), kwargs, (), names, findings)
        label = name if name.isidentifier() else "function"
        return make_entry(signature, watched, args, kwargs, lambda parts: parts[0], label, names, made)

    def source(self, *args: Any, forward: bool = False, **kwargs: Any) -> str:
        """The generated tangent function for primals and tangents of these shapes and dtypes, as text; `forward` adds
        the program of the function itself.
        """
        primals, tangents = args
        return text_of(self._call(primals, tangents, kwargs).compiled(), forward)

    def program(self, primals: Sequence[Any], tangents: Sequence[Any], **kwargs: Any) -> Program:
        """The tangent program (the IR) for these arguments; it prints."""
        return self._call(primals, tangents, kwargs).compiled().linear.program

    def explain(self, primals: Sequence[Any], tangents: Sequence[Any], **kwargs: Any) -> str:
        """How a call with these arguments runs: what is generated, what is saved, and what was compiled and why."""
        found = self._call(primals, tangents, kwargs).compiled()
        before, after = (
            sum(node.prim is not None for node in each.nodes()) for each in (found.linear.primal, found.linear.program)
        )
        lines = [
            f"{getattr(self, '__name__', self._function)}",
            f"  forward   {self._forward((primals, tangents), kwargs)}",
            f"  tangent   {before} operations, {after} for their tangents after simplification",
            f"  saved     {found.saved_bytes} bytes",
        ]
        return "\n".join([*lines, *(f"  miss      {reason}" for reason in self._counts.reasons)])

    def _call(self, primals: Sequence[Any], tangents: Sequence[Any], kwargs: dict[str, Any]) -> Call:
        args = _sequence("primals", primals)
        every = self._argnums is None and self._argnames is None
        chosen = range(len(args)) if every else self._chosen(args, kwargs)
        self._counts.traced += 1
        return Call("jvp", self._function, args, kwargs, chosen, tangents, self._name, self._has_aux, self._counts)


class Linearized:
    """What `sd.linearize` returns: the derivative at one point, a linear function of tangents."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def __call__(self, *tangents: Any) -> Any:
        """The tangent of the function's value along tangents, one for each primal."""
        return self._call.tangent(self._call.taken(tangents))

    def source(self, forward: bool = False) -> str:
        """The generated tangent function, as text; `forward` adds the program of the function itself."""
        return text_of(self._call.compiled(), forward)

    def program(self) -> Program:
        """The tangent program (the IR); it prints."""
        return self._call.compiled().linear.program

    def __repr__(self) -> str:
        return f"<srcdiff.Linearized of {self._call.function!r}>"


class Call:
    """A call of a function whose derivative along tangents is wanted. Without `tangents` these come later."""

    def __init__(
        self,
        what: str,
        function: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any],
        chosen: Sequence[int | str],
        tangents: Any,
        names: Callable[[Any], str],
        has_aux: bool,
        counts: Counts | None = None,
    ) -> None:
        self.what = what
        self.function = function
        self._names = names
        self._chosen = chosen
        self._given = [args[key] if isinstance(key, int) else kwargs[key] for key in chosen]
        self._constant: set[tuple[int | str, int]] = set()
        if tangents is None:
            for key, value in zip(chosen, self._given, strict=True):
                self._constant |= {(key, j) for j, leaf in enumerate(flatten(value)[0]) if not _kind(leaf)}
            self._tangents: list[Any] = []
        else:
            taken = self.taken(_sequence("tangents", tangents))
            self._tangents = [t for t in taken if t is not None]
            if len(self._tangents) < len(taken):
                given = zip(chosen, self._given, strict=True)
                places = [(key, j) for key, x in given for j in range(len(taken_apart(x)[0]))]
                self._constant = {place for place, t in zip(places, taken, strict=True) if t is None}
        self._trace = trace(function, list(args), dict(kwargs), chosen, names, self._constant)
        result, self._aux = self._trace.result, None
        if has_aux:
            if not (isinstance(result, tuple) and len(result) == 2):
                raise TypeError(
                    f"sd.{what} with has_aux=True: the function must return (value, aux), got {type(result).__name__}"
                )
            result, self._aux = result
        self._has_aux = has_aux
        self._outs, self._rebuild = taken_apart(result)
        self._push = Pushforward(self._outs, self._trace.edges, self._trace.start, counts)

    def taken(self, tangents: Sequence[Any]) -> list[Any]:
        """The tangents of the leaves of the arguments that are not constant, checked; None for zero."""
        if len(tangents) != len(self._given):
            raise ArgumentError(f"{self.what}: {len(self._given)} primals, but {len(tangents)} tangents")
        found: list[Any] = []
        for key, value, tangent in zip(self._chosen, self._given, tangents, strict=True):
            several = type(value) in (list, tuple) and type(tangent) in (list, tuple) and len(value) == len(tangent)
            leaves, along = (value, tangent) if several else ((value,), (tangent,))
            if all(map(_fit, leaves, along)):
                found += along
                continue
            try:
                pairs = paired(value, tangent)
            except ArgumentError as error:
                raise ArgumentError(f"{self.what}: the tangent of {self._names(key)!r} {error}") from None
            for j, (leaf, along) in enumerate(pairs):
                checked = None if along is None else self._checked(key, value, j, leaf, along)
                if checked is not None or (key, j) not in self._constant:
                    found.append(checked)
        return found

    def _checked(self, key: int | str, value: Any, j: int, leaf: Any, tangent: Any) -> Any:
        """A tangent as an array or Tensor, in the dtype of its value."""

        def named() -> str:
            return f"{self.what}: the tangent of {leaf_names(value, self._names(key))[j]!r}"

        kind = _kind(leaf)
        if not kind:
            shown = f"{leaf.dtype} array" if hasattr(leaf, "dtype") else type(leaf).__name__
            raise DTypeError(
                f"{named()} must be None, which stands for zero: only floating-point and complex values have others, "
                f"and this is a value of type {shown}; convert it with .astype(float) or float()"
            )
        primal = leaf._value if isinstance(leaf, TensorBase) else leaf
        dtype = primal.dtype if hasattr(primal, "dtype") else np.dtype(type(primal))
        array = tangent._value if isinstance(tangent, TensorBase) else np.asarray(tangent)
        if array.dtype.kind not in "fciub" or (array.dtype.kind == "c" and kind != "c"):
            raise DTypeError(f"{named()} has dtype {array.dtype}, but its value {dtype}")
        if array.shape != np.shape(primal):
            raise ShapeError(f"{named()} has shape {array.shape}, but its value {np.shape(primal)}")
        if isinstance(tangent, TensorBase):
            return tangent if array.dtype == dtype else tangent.astype(dtype)
        return array.astype(dtype, copy=False)[()]

    def pushed(self) -> Any:
        """The function's value and its tangent, and aux."""
        tangent = self.tangent(self._tangents)
        return (self.value(), tangent, self.released()) if self._has_aux else (self.value(), tangent)

    def value(self) -> Any:
        """The function's value as the caller gets it."""
        is_open = self._push.is_open
        return self._rebuild([outside(out, self._trace, is_open) for out in self._outs])

    def released(self) -> Any:
        """Aux as the caller gets it."""
        return None if self._aux is None else release(self._aux, self._trace)

    def tangent(self, tangents: Sequence[Any]) -> Any:
        """The tangent of the value."""
        found = self._push(tangents, None)
        wrapped = any(isinstance(leaf, TensorBase) for leaf in self._trace.leaves)
        return self._rebuild([_like(out, t, wrapped) for out, t in zip(self._outs, found, strict=True)])

    def single(self) -> tuple[Any, Any]:
        """The value and its tangent as Tensors, while the call is watched. Raises RefusedError if they are not that."""
        found = self._push(self._tangents, None)
        if len(found) != 1 or not isinstance(self._trace.result, TensorBase) or not isinstance(found[0], TensorBase):
            raise RefusedError("its result is not one array that depends on its arguments")
        return self._trace.result, found[0]

    def compiled(self) -> Tangents:
        """The compiled derivative."""
        if not self._push.connected:
            raise TypeError(
                "the result of the function does not depend on arguments that have tangents: there is no derivative"
            )
        return self._push.compiled((True,) * len(self._trace.edges))


def text_of(found: Tangents, forward: bool) -> str:
    """The source of a compiled derivative, the program of the function itself before it if asked for."""
    return f"{emit(found.linear.primal, None, plain=True)}\n\n{found.source}" if forward else found.source


def _sequence(what: str, given: Any) -> Sequence[Any]:
    if not isinstance(given, (tuple, list)):
        raise ArgumentError(f"jvp: {what} must be a tuple or list of arguments, got {type(given).__name__}")
    return given


def _names_of(function: Callable[..., Any]) -> Callable[[Any], str]:
    """What parameter k of a function is called; found out when asked."""

    def name(key: int) -> str:
        try:
            return list(inspect.signature(function).parameters)[key]
        except (TypeError, ValueError, IndexError):
            return f"arg{key}"

    return name


def _fit(value: Any, tangent: Any) -> bool:
    """Whether both are arrays of one type, as they mostly are."""
    if type(value) is not np.ndarray or type(tangent) is not np.ndarray:
        return False
    return value.dtype is tangent.dtype and value.shape == tangent.shape and value.dtype.kind == "f"


def _kind(leaf: Any) -> str:
    """ "f" or "c" for values that can move, else nothing."""
    if type(leaf) in (float, complex):
        return "f" if type(leaf) is float else "c"
    value = leaf._value if isinstance(leaf, TensorBase) else leaf
    kind = value.dtype.kind if isinstance(value, (np.ndarray, np.generic)) else ""
    return kind if kind in "fc" else ""


def _like(out: Any, tangent: Any, wrapped: bool) -> Any:
    """A tangent in the kind of the value it belongs to; zeros for None."""
    if tangent is not None:
        return record.plain(tangent) if wrapped and not isinstance(tangent, TensorBase) else tangent
    value = out._value if isinstance(out, TensorBase) else out
    if not isinstance(value, (np.ndarray, np.generic, bool, int, float, complex)):
        return None
    dtype = np.result_type(value)
    zeros = np.zeros(np.shape(value), dtype if dtype.kind in "fc" else float)[()]
    return record.plain(zeros) if wrapped else zeros
