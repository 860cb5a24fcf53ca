"""`jvp`, `linearize`, `hvp`: derivatives along tangents, in forward mode."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from srcdiff.api.along import Call, sequence
from srcdiff.api.gradient import Grad
from srcdiff.api.inspect import ALWAYS_TRACED
from srcdiff.api.making import make_entry
from srcdiff.api.player import Entry, style_of
from srcdiff.api.proof import prove
from srcdiff.api.replayed import Replayed, Traced
from srcdiff.api.trace import taken_apart
from srcdiff.autograd.cache import count_traced
from srcdiff.codegen.emit import emit
from srcdiff.config import config
from srcdiff.core.program import Program
from srcdiff.errors import ArgumentError
from srcdiff.replay.findings import Findings, RefusedError
from srcdiff.tangents import Tangents


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
    args = sequence("primals", primals)
    pushed = Call("jvp", function, args, {}, range(len(args)), tangents, _names_of(function), has_aux).pushed()
    return pushed if has_aux else pushed[:2]


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

    def _given(self, value: Any, derivative: Any, aux: Any) -> Any:
        return (value, derivative, aux) if self._has_aux else (value, derivative)

    def _traced_call(self, args: tuple[Any, ...], kwargs: dict[str, Any], compiling: bool = True) -> Traced:
        return self._call(*args, **kwargs).pushed()

    def _wanted(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sequence[Any]:
        return ()  # those of the function that is called with the primals; here there are two arguments

    def _always_traced(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
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
            signature = player.signature(args, kwargs, (), style_of(config.options))
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

    def _entry(self, signature: Any, args: tuple[Any, ...], kwargs: dict[str, Any], findings: Findings) -> Entry | None:
        """An entry for calls like this one; None if it takes a path that is not expected to come back. Raises
        RefusedError where there is more than one array to give.
        """
        made: list[Any] = []

        def pushed(primals: Any, tangents: Any) -> Any:
            call = Call("jvp", self._function, primals, {}, range(len(primals)), tangents, self._name, False)
            out, tangent = call.single()
            made[:] = [tangent]
            return out

        name = getattr(self._function, "__name__", "function")
        names = ("primals", "tangents").__getitem__
        watched = self._watched(pushed, signature, args, kwargs, names, findings)
        if watched is None:
            return None
        label = name if name.isidentifier() else "function"
        return make_entry(watched, args, kwargs, lambda parts: parts[0], label, names, made)

    def source(self, *args: Any, forward: bool = False, **kwargs: Any) -> str:
        """The generated tangent function for primals and tangents of these shapes and dtypes, as text; `forward` adds
        the program of the function itself.
        """
        primals, tangents = args
        return text_of(self._call(primals, tangents, **kwargs).compiled(), forward)

    def program(self, primals: Sequence[Any], tangents: Sequence[Any], **kwargs: Any) -> Program:
        """The tangent program (the IR) for these arguments; it prints."""
        return self._call(primals, tangents, **kwargs).compiled().linear.program

    def explain(self, primals: Sequence[Any], tangents: Sequence[Any], **kwargs: Any) -> str:
        """How a call with these arguments runs: what is generated, what is saved, and what was compiled and why."""
        found = self._call(primals, tangents, **kwargs).compiled()
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

    def _call(self, primals: Sequence[Any], tangents: Sequence[Any], **kwargs: Any) -> Call:
        args = sequence("primals", primals)
        every = self._argnums is None and self._argnames is None
        chosen = range(len(args)) if every else self._chosen(args, kwargs)
        count_traced(self._counts)
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


def text_of(found: Tangents, forward: bool) -> str:
    """The source of a compiled derivative, the program of the function itself before it if asked for."""
    return f"{emit(found.linear.primal, None, plain=True)}\n\n{found.source}" if forward else found.source


def _names_of(function: Callable[..., Any]) -> Callable[[Any], str]:
    """What parameter k of a function is called; found out when asked."""

    def name(key: int) -> str:
        try:
            return list(inspect.signature(function).parameters)[key]
        except (TypeError, ValueError, IndexError):
            return f"arg{key}"

    return name
