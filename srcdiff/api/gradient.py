"""`grad` and `value_and_grad`: functions of arrays that return gradients as arrays."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from srcdiff.api.agreement import agrees
from srcdiff.api.inspect import ALWAYS_TRACED, CacheInfo, executable_of, explanation, forward_of, info_of, text_of
from srcdiff.api.player import Entry, Player, Players, style_of
from srcdiff.api.trace import Trace, trace
from srcdiff.api.tree import flatten
from srcdiff.api.watching import Watched, make_entry, prove, watch
from srcdiff.autograd.cache import STATS, Counts, forget
from srcdiff.autograd.engine import trace_gradients
from srcdiff.config import Options, config
from srcdiff.core.program import Program
from srcdiff.errors import CompileError, ReplayError
from srcdiff.replay.entry import Enter
from srcdiff.replay.findings import Findings, RefusedError
from srcdiff.tape import record
from srcdiff.tape.lower import collect_inner
from srcdiff.tape.modes import modes
from srcdiff.tape.node import Edge
from srcdiff.tape.value import TensorBase


class Transformed:
    """A function made of another: keeps its name, docstring and signature, binds as a method, pickles and copies like
    it.
    """

    def __init__(
        self, function: Callable[..., Any], argnums: Any = 0, argnames: Any = None, has_aux: bool = False
    ) -> None:
        if not callable(function):
            raise TypeError(f"expected a function, got {type(function).__name__}")
        self._function = function
        self._argnums = argnums
        self._argnames = argnames
        self._has_aux = has_aux
        self._counts = Counts()
        self._player = Player(self._counts)
        self._players = Players()
        wrapper: Any = self
        functools.update_wrapper(wrapper, function, updated=())

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        bound = type(self)(self._function.__get__(instance, owner), self._argnums, self._argnames, self._has_aux)
        bound._player = self._players.of(instance, bound._player)
        bound._counts = bound._player.counts = self._counts
        return bound

    def __reduce_ex__(self, protocol: Any) -> Any:
        name = getattr(self, "__qualname__", None)
        found: Any = sys.modules.get(getattr(self, "__module__", None) or "")
        for part in (name or "").split("."):
            found = getattr(found, part, None)
        if found is self:
            return name
        return (type(self), (self._function, self._argnums, self._argnames, self._has_aux))

    def __deepcopy__(self, memo: Any) -> Any:
        return type(self)(self._function, self._argnums, self._argnames, self._has_aux)

    def __repr__(self) -> str:
        return f"<srcdiff.{type(self).__name__} of {self._function!r}>"

    # --------------------------------------------------------------------------------------------------- looking inside

    def _root(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[list[Edge] | None, Any]:
        """Where gradients are wanted (None: at all leaves), and the Tensor whose backward is asked about, of a traced
        run.
        """
        run = self._trace(args, kwargs)
        return run.edges, self._depending(run.result[0] if self._has_aux else run.result)

    def _depending(self, result: Any) -> Any:
        """The first Tensor of the result that has a backward."""
        for leaf in flatten(result)[0]:
            if isinstance(leaf, TensorBase) and leaf._edge is not None:
                return leaf
        raise TypeError(
            "the result of the function does not depend on the differentiated arguments: there is no backward"
        )

    def source(self, *args: Any, forward: bool = False, **kwargs: Any) -> str:
        """The generated backward for arguments of these shapes and dtypes, as text; `forward` adds the forward
        program.
        """
        wanted, root = self._root(args, kwargs)
        return text_of(executable_of(root, wanted), forward)

    def program(self, *args: Any, **kwargs: Any) -> Program:
        """The backward program (the IR) for these arguments; it prints."""
        wanted, root = self._root(args, kwargs)
        return executable_of(root, wanted).program

    def explain(self, *args: Any, **kwargs: Any) -> str:
        """How a call with these arguments runs: traced or replayed and why, what was found in the cache, what is
        saved.
        """
        wanted, root = self._root(args, kwargs)
        return explanation(self._function, root, wanted, self._counts, self._forward(args, kwargs))

    def _forward(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """How the forward of a call runs."""
        return ALWAYS_TRACED

    def cache_info(self) -> CacheInfo:
        """Counts of this function: entries, hits, misses with reasons, calls traced and replayed, the bound."""
        return info_of(self._counts)

    def cache_clear(self) -> None:
        """Forget the compiled passes this function has used, and the counts."""
        for executable in list(self._counts.executables):
            forget(executable)
        self._counts.clear()
        self._player.clear()

    # ------------------------------------------------------------------------------------------------------- running

    def _chosen(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[int | str]:
        """Positions (or keywords) of the differentiated arguments of this call."""
        argnums = self._argnums
        if self._argnames is None and type(argnums) is int and 0 <= argnums < len(args):
            return [argnums]
        wanted: list[int | str] = []
        if argnums is not None and not (self._argnames is not None and argnums == 0):
            wanted += list(argnums) if isinstance(argnums, (tuple, list)) else [argnums]
        if self._argnames is not None:
            wanted += [self._argnames] if isinstance(self._argnames, str) else list(self._argnames)
        return [self._locate(key, args, kwargs) for key in wanted]

    def _locate(self, key: int | str, args: Sequence[Any], kwargs: dict[str, Any]) -> int | str:
        if isinstance(key, int):
            if -len(args) <= key < len(args):
                return key % len(args)
            names = self._parameters()
            if 0 <= key < len(names) and names[key] in kwargs:
                return names[key]
            raise TypeError(
                f"argnums={key} asks for an argument that was not given: got {len(args)} positional arguments"
            )
        if key in kwargs:
            return key
        names = self._parameters()
        if key in names and names.index(key) < len(args):
            return names.index(key)
        raise TypeError(f"argnames={key!r} asks for an argument that was not given")

    def _parameters(self) -> list[str]:
        try:
            return list(inspect.signature(self._function).parameters)
        except (TypeError, ValueError):
            return []

    def _name(self, key: int | str) -> str:
        if isinstance(key, str):
            return key
        names = self._parameters()
        return names[key] if key < len(names) else f"arg{key}"

    def _trace(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Trace:
        STATS.traced += 1
        self._counts.traced += 1
        return trace(self._function, list(args), dict(kwargs), self._chosen(args, kwargs), self._name)

    def _structured(self, per_argument: list[Any]) -> Any:
        """Gradients as the user asked for them: one, a tuple by position, a dict by name."""
        by_name = self._argnames is not None
        by_position = self._argnums is not None and not (by_name and self._argnums == 0)
        positions = per_argument
        named: Any = None
        if by_name:
            single = isinstance(self._argnames, str)
            count = 1 if single else len(self._argnames)
            cut = len(per_argument) - count
            positions, names = per_argument[:cut], per_argument[cut:]
            named = names[0] if single else dict(zip(self._argnames, names, strict=True))
        if not by_position:
            return named
        placed = tuple(positions) if isinstance(self._argnums, (tuple, list)) else positions[0]
        return (placed, named) if by_name else placed


class Replayed(Transformed):
    """A function made of another whose calls may be replayed."""

    def _proved(self, args: tuple[Any, ...], kwargs: dict[str, Any], chosen: Sequence[Any]) -> Findings:
        """What the function reads from outside; raises RefusedError if it is not proved pure."""
        return prove(self._function, args, kwargs, chosen)

    def _traced_again(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """What a traced call gives, without compiling."""
        raise NotImplementedError

    def _entry(self, signature: Any, args: tuple[Any, ...], kwargs: dict[str, Any], findings: Findings) -> Entry:
        """An entry for calls like this one."""
        raise NotImplementedError

    def _checked(
        self, entry: Entry, result: tuple[Any, Any], args: tuple[Any, ...], kwargs: dict[str, Any], options: Options
    ) -> tuple[Any, ...]:
        """The result of a replay; of tracing as well if it is time to compare them."""
        entry.plays += 1
        asked = options.check_replay and entry.plays % options.check_replay == 0
        if not entry.checks and not asked:
            STATS.replayed += 1
            self._counts.replayed += 1
            return result
        if entry.checks:
            entry.checks -= 1
            self._player.arrange(self._player.entries)
        traced = self._traced_again(args, kwargs)
        if not agrees(result, traced[:2]):
            name = getattr(self._function, "__name__", "function")
            self._player.disagreed(
                f"a replay of {name} gave another result than tracing it; please report this as a bug"
            )
            if asked:
                raise ReplayError(self._player.refused)
        return traced

    def _record(
        self, signature: Any, args: tuple[Any, ...], kwargs: dict[str, Any], traced: tuple[Any, Any], options: Options
    ) -> None:
        """Run a call that was traced once more, watched, and make it an entry if it can be replayed."""
        player = self._player
        try:
            vouched = options.replay == "always"
            findings = Findings() if vouched else self._proved(args, kwargs, signature[2])
        except RefusedError as reason:
            player.failed(signature, str(reason), True)
            return
        try:
            entry = self._entry(signature, args, kwargs, findings)
            played = entry.play(args, kwargs)
        except FloatingPointError:
            player.failed(signature, "an operation warned or would have warned, which the user should hear of", False)
            return
        except (RefusedError, CompileError) as reason:
            player.failed(signature, str(reason), False)
            return
        except Exception as error:  # the call itself went well
            player.failed(signature, f"recording it raised {type(error).__name__}: {error}", False)
            return
        if not played or not agrees(played, traced):
            player.failed(signature, "the recorded call computes something else than the traced one", True)
            return
        player.add(entry)


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

    @property
    def replayed_function(self) -> Any:
        """The function, to be examined where a replayable function calls this."""
        return self._function

    def _forward(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        if config.replay == "never":
            return ALWAYS_TRACED
        if self._has_aux:
            return f"{ALWAYS_TRACED}, because functions with aux values are"
        return forward_of(self._player, self._function, args, kwargs, self._chosen(args, kwargs))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        enter = self._player.enter
        try:
            found = enter(args, kwargs)
        except Exception:  # tracing raises it from the user's line
            found = None
        if found:
            STATS.replayed += 1
            self._counts.replayed += 1
            return found[1]
        _, gradient, aux = self._value_and_gradient(args, kwargs, enter, found)
        return (gradient, aux) if self._has_aux else gradient

    def _value_and_gradient(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], tried: Enter, found: Any
    ) -> tuple[Any, Any, Any]:
        """Value, gradients, aux. `found` is what an entry said that was tried and does not serve this call."""
        options = config.options
        if modes.recorder is not None and options.exact:
            modes.recorder.fail("a gradient inside is computed by other operations, to rounding, where it is replayed")
        player = self._player
        if options.replay == "never" or player.refused is not None or self._has_aux:
            return self._traced_call(args, kwargs)
        style = style_of(options)
        barred = False
        if player.entries:
            entry, result = player.play(args, kwargs, style, tried, found)
            if entry is not None:
                value, gradient, *_ = self._checked(entry, result, args, kwargs, options)
                return value, gradient, None
            barred = result
        signature = None if barred else player.wants(args, kwargs, self._chosen(args, kwargs), style)
        # a call that is about to be replayed needs no compiled backward
        traced = self._traced_call(args, kwargs, compiling=signature is None)
        if signature is not None:
            self._record(signature, args, kwargs, traced[:2], options)
        return traced

    def _traced_again(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        return self._traced_call(args, kwargs, compiling=False)

    def _entry(self, signature: Any, args: tuple[Any, ...], kwargs: dict[str, Any], findings: Findings) -> Entry:
        name = getattr(self._function, "__name__", "function")
        watched = self._watched(signature, args, kwargs, findings)
        label = name if name.isidentifier() else "function"
        return make_entry(signature, watched, args, kwargs, self._structured, label, self._name)

    def _traced_call(self, args: Sequence[Any], kwargs: dict[str, Any], compiling: bool = True) -> tuple[Any, Any, Any]:
        run = self._trace(args, kwargs)
        value, aux = scalar_result(run.result, self._has_aux, self._what)
        found, is_open = gradients_of(run, value, counts=self._counts, compiling=compiling)
        gradient = self._structured(run.rebuild(found))
        return outside(value, run, is_open), gradient, None if aux is None else release(aux, run)

    def _watched(self, signature: Any, args: tuple[Any, ...], kwargs: dict[str, Any], findings: Findings) -> Watched:
        """The call, watched; if calls like it have been recorded, with its numbers as inputs where that is possible."""
        if not findings.asks and any(entry.signature == signature for entry in self._player.entries):
            with suppress(RefusedError):
                return watch(self._function, args, kwargs, signature[2], self._name, findings, numbers=True)
        return watch(self._function, args, kwargs, signature[2], self._name, findings)

    @property
    def _what(self) -> str:
        return "sd.value_and_grad" if type(self) is ValueAndGrad else "sd.grad"


class ValueAndGrad(Grad):
    """What `sd.value_and_grad` returns."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        enter = self._player.enter
        try:
            found = enter(args, kwargs)
        except Exception:
            found = None
        if found:
            STATS.replayed += 1
            self._counts.replayed += 1
            return found
        value, gradient, aux = self._value_and_gradient(args, kwargs, enter, found)
        return ((value, aux), gradient) if self._has_aux else (value, gradient)


def gradients_of(
    run: Trace, value: Any, ct: Any = None, retain: bool = False, counts: Counts | None = None, compiling: bool = True
) -> tuple[list[Any], bool]:
    """The gradient for each leaf, in the caller's kind: array, NumPy scalar, float or Tensor; zeros if there is none.

    Also whether the value depends on something outside the trace that requires grad (the gradients are then Tensors).
    """
    edge = value._edge if isinstance(value, TensorBase) else None
    if edge is None:
        return [like(leaf, None) for leaf in run.leaves], False
    if ct is None:
        shape, dtype = value._value.shape, value._value.dtype
        ct = np.ones(shape, dtype) if shape else dtype.type(1)
    found, is_open = trace_gradients([edge], [ct], run.edges, run.start, retain, counts, compiling)
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


def outside(value: Any, run: Trace, is_open: bool) -> Any:
    """The function's value as the caller gets it: an array or number, or a Tensor where Tensors went in or grad flows
    on.
    """
    if not isinstance(value, TensorBase) or is_open:
        return value
    if any(isinstance(leaf, TensorBase) for leaf in run.leaves):
        return record.plain(value._value)
    return value._value


def release(aux: Any, run: Trace) -> Any:
    """Aux with its traced values turned into plain ones."""
    leaves, rebuild = flatten(aux)
    return rebuild([outside(leaf, run, _leads_outside(leaf, run)) for leaf in leaves])


def _leads_outside(value: Any, run: Trace) -> bool:
    edge = value._edge if isinstance(value, TensorBase) else None
    return edge is not None and collect_inner([edge], run.start)[1]
