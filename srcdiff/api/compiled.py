"""`compile`: the function as it is, with its backward generated at once rather than when it repeats; and training steps
as one generated function.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from srcdiff.api.inspect import ALWAYS_TRACED, explanation
from srcdiff.api.player import Entry, style_of, unreplayable
from srcdiff.api.proof import prove_step
from srcdiff.api.rehearsal import rehearse
from srcdiff.api.steps import Watched, confirms, make_step, ready_step, watch_step
from srcdiff.api.transformed import Transformed
from srcdiff.api.tree import flatten
from srcdiff.autograd.cache import count_replayed, count_traced
from srcdiff.config import config
from srcdiff.core.program import Program
from srcdiff.errors import CompileError, ReplayError
from srcdiff.random import kept
from srcdiff.replay.findings import RefusedError, UnclearError
from srcdiff.replay.number import UnfitError
from srcdiff.replay.places import Place, alone
from srcdiff.tape.lower import edge_node
from srcdiff.tape.modes import modes
from srcdiff.tape.node import Edge
from srcdiff.tape.site import Site
from srcdiff.tape.value import TensorBase


class Compiled(Transformed):
    """What `sd.compile` returns. A call whose work is proved to be decided by its arguments and by what it reads is
    replayed, effects of backward and of optimizers included; others run, so that whatever the function does, it does.
    """

    replayed_in_steps = True

    def __init__(self, function: Any, argnums: Any = None, argnames: Any = None, has_aux: bool = False) -> None:
        super().__init__(function, argnums, argnames, has_aux)
        self._player.step = True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        found = self._player.enter(args, kwargs)
        if found:
            count_replayed(self._counts)
            return found[0]
        player = self._player
        if config.replay == "never" or player.refused is not None or unreplayable() is not None:
            return self._traced_call(args, kwargs)
        serving = self._serving(args, kwargs)
        if serving is not None:
            return self._entered(*serving, args, kwargs)
        style = style_of(config.options)
        signature = player.wants(args, kwargs, (modes.grad,), style)
        if signature is None or not player.kinds[signature].returned:
            return self._sighted(args, kwargs, style)
        return self._record(signature, args, kwargs)

    def _serving(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Entry, Sequence[Any]] | None:
        """The entry that serves a call, and the values that its program gives: nothing is changed."""
        style = style_of(config.options)
        with kept():
            for entry in self._player.entries:
                if entry.style != style:
                    continue
                entry.tried = True
                if (values := entry.enter(args, kwargs, True, True)) is not False:
                    return entry, values
        return None

    def _entered(self, entry: Entry, values: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that an entry serves: replayed, or watched if that is still to be compared."""
        player = self._player
        entry.plays += 1
        options = config.options
        asked = options.check_replay and entry.plays % options.check_replay == 0
        if not entry.checks and not asked:
            player.arrange([entry, *(other for other in player.entries if other is not entry)])
            count_replayed(self._counts)
            return entry.enter(args, kwargs, True)[0]
        watched = self._watch(entry.signature, args, kwargs)
        if watched is None:
            return self._traced_call(args, kwargs)
        entry.checks = max(entry.checks - 1, 0)
        if confirms(values, watched, entry.recorded):
            player.arrange(player.entries)
            return watched.result
        if not entry.checks and entry.plays == 1 and player.numbers.inputs:  # a rehearsal was not like the call
            player.numbers.keep(player.numbers.inputs.copy())
            player.arrange([other for other in player.entries if other is not entry])
            return watched.result
        name = getattr(self._function, "__name__", "function")
        player.disagreed(f"a replay of {name} would do something else than running it")
        if asked:
            raise ReplayError(player.refused)
        return watched.result

    def _sighted(self, args: tuple[Any, ...], kwargs: dict[str, Any], style: Any) -> Any:
        """A call of a kind that was not seen before, or is not recorded."""
        result = self._traced_call(args, kwargs)
        kind = self._player.kind(args, kwargs, (modes.grad,), style)
        if kind is not None:
            kind.returned = True
        return result

    def _watch(self, signature: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Watched | None:
        """The call, watched; None if it was not run, since it cannot be repeated."""
        try:
            ready = ready_step(prove_step(self._function, args, kwargs), args, kwargs, self._name)
        except RefusedError as reason:
            self._player.failed(signature, str(reason), True)
            return None
        count_traced(self._counts)
        watched = watch_step(self._function, ready, signature)
        self._compile_now(watched.result)
        return watched

    def _record(self, signature: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._rehearsed(signature, args, kwargs):
            serving = self._serving(args, kwargs)
            return self._traced_call(args, kwargs) if serving is None else self._entered(*serving, args, kwargs)
        watched = self._watch(signature, args, kwargs)
        if watched is None:
            return self._traced_call(args, kwargs)
        if not self._player.expects(signature, watched.recorder.path):
            return watched.result
        name = getattr(self._function, "__name__", "function")
        try:
            entry = make_step(watched, args, kwargs, name if name.isidentifier() else "function")
        except (RefusedError, CompileError) as reason:
            self._player.failed(signature, str(reason), False)
            return watched.result
        self._player.add(entry)
        return watched.result

    def _rehearsed(self, signature: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether there is an entry now in which numbers that have changed are inputs: made by rehearsing this call."""
        player = self._player
        numbers, known = player.numbers, [entry.constants for entry in player.entries]
        if not (numbers.inputs or known) or not alone():
            return False
        name = getattr(self._function, "__name__", "function")
        places: list[Place] = []
        try:
            findings = prove_step(self._function, args, kwargs)
            while places := numbers.changed(args, kwargs, (), findings, known):
                try:
                    watched = rehearse(self._function, args, kwargs, findings, self._name, places, signature)
                except UnfitError as error:
                    numbers.keep([places[k] for k in error.numbers] or places)
                    continue
                watched.signature = player.signature(args, kwargs, *signature[2:])
                if not player.expects(watched.signature, watched.recorder.path):
                    return False
                entry = make_step(watched, args, kwargs, name if name.isidentifier() else "function")
                player.add(entry)
                return True
        except UnclearError:
            numbers.unclear(places)
        except (RefusedError, CompileError):
            numbers.keep(places)
        return False

    def _traced_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        count_traced(self._counts)
        result = self._function(*args, **kwargs)
        self._compile_now(result)
        return result

    def _compile_now(self, result: Any) -> None:
        """Have the backward of what the function returned compiled when it first runs."""
        for leaf in flatten(result)[0]:
            if isinstance(leaf, TensorBase) and leaf._edge is not None:
                site = edge_node(leaf._edge).site
                if type(site) is Site:
                    site.compile_now = True
                    site.counts = self._counts

    # --------------------------------------------------------------------------------------------------- looking inside

    def source(self, *args: Any, forward: bool = False, **kwargs: Any) -> str:
        """The generated step that serves a call with these arguments, without running it. If there is none, the
        function runs, with its effects, and this is the generated backward of its result.
        """
        entry = self._shown(args, kwargs)
        return super().source(*args, forward=forward, **kwargs) if entry is None else entry.source

    def program(self, *args: Any, **kwargs: Any) -> Program:
        """The program of what `source` shows, the first one if these are several functions; it prints."""
        entry = self._shown(args, kwargs)
        return super().program(*args, **kwargs) if entry is None else entry.program

    def explain(self, *args: Any, **kwargs: Any) -> str:
        """How a call with these arguments runs. Where none is replayed yet, the function runs, with its effects."""
        name = getattr(self._function, "__name__", "function")
        entry = self._shown(args, kwargs)
        if entry is not None:
            parts = [part.program for part in entry.recorded.parts]
            count = sum(node.prim is not None for part in parts for node in part.nodes())
            functions = "one generated function" if len(parts) == 1 else f"{len(parts)} generated functions"
            how = f"replayed: the step runs as {functions} of {count} operations"
            if entry.checks:
                how = "recorded: the next call is compared with what its generated function gives, then it is replayed"
            return f"{name}\n  step      {how}"
        result = self._traced_call(args, kwargs)
        if any(isinstance(leaf, TensorBase) and leaf._edge is not None for leaf in flatten(result)[0]):
            return explanation(self._function, self._depending(result), None, self._counts, self._forward(args, kwargs))
        return f"{name}\n  step      {self._forward(args, kwargs)}"

    def _shown(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Entry | None:
        if config.replay == "never" or self._player.refused is not None or unreplayable() is not None:
            return None
        serving = self._serving(args, kwargs)
        return None if serving is None else serving[0]

    def _root(self, args: Any, kwargs: dict[str, Any]) -> tuple[list[Edge] | None, Any]:
        return None, self._depending(self._traced_call(args, kwargs))

    def _forward(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        if config.replay == "never":
            return ALWAYS_TRACED
        reason = self._player.refused or next(iter(self._player.traced_only.values()), None)
        return ALWAYS_TRACED if reason is None else f"{ALWAYS_TRACED}, because {reason}"
