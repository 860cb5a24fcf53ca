"""A function whose calls may be replayed: in which order a call is entered, played, traced and recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from srcdiff.api.agreement import agrees
from srcdiff.api.player import Entry, style_of
from srcdiff.api.proof import prove
from srcdiff.api.transformed import Transformed
from srcdiff.api.watching import Watched, watch
from srcdiff.autograd.cache import STATS, count_replayed
from srcdiff.config import Options, config
from srcdiff.errors import CompileError, ReplayError
from srcdiff.random import default_generator, kept
from srcdiff.replay.entry import Enter
from srcdiff.replay.findings import EffectError, Findings, RefusedError, UnclearError
from srcdiff.replay.number import UnfitError
from srcdiff.runtime_arrays import StrayError
from srcdiff.tape.modes import modes

#: the function's value, the derivative, aux
Traced = tuple[Any, Any, Any]


class Replayed(Transformed):
    """Says what is traced and given; a kind of function says how."""

    #: the caller gets the value besides the derivative
    with_value = True

    def _traced_call(self, args: tuple[Any, ...], kwargs: dict[str, Any], compiling: bool = True) -> Traced:
        """Run the function. `compiling`: its backward may be compiled if it comes back."""
        raise NotImplementedError

    def _given(self, value: Any, derivative: Any, aux: Any) -> Any:
        """What the caller gets."""
        raise NotImplementedError

    def _always_traced(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """Why no call like this one is replayed, if none is: the end of a sentence."""
        raise NotImplementedError

    def _entry(self, signature: Any, args: tuple[Any, ...], kwargs: dict[str, Any], findings: Findings) -> Entry | None:
        """An entry for calls like this one; None if it takes a path that is not expected to come back."""
        raise NotImplementedError

    def _wanted(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sequence[Any]:
        """The arguments that are differentiated."""
        return self._chosen(args, kwargs)

    def _proved(self, args: tuple[Any, ...], kwargs: dict[str, Any], chosen: Sequence[Any]) -> Findings:
        """What the function reads from outside; raises RefusedError if it is not proved pure."""
        return prove(self._function, args, kwargs, chosen)

    def _watched(
        self, function: Any, signature: Any, args: tuple[Any, ...], kwargs: dict[str, Any], names: Any,
        findings: Findings,
    ) -> Watched | None:  # fmt: skip
        """A call, watched, with numbers that have changed as inputs, as far as they are fit for that. None if it takes
        a path that is not expected to come back.
        """
        player, (*_, chosen, style) = self._player, signature
        numbers, known = player.numbers, [entry.constants for entry in player.entries]
        watched = None
        while watched is None:
            places = numbers.changed(args, kwargs, chosen, findings, known)
            try:
                watched = watch(function, args, kwargs, chosen, names, findings, places)
            except UnclearError:
                numbers.unclear(places)
                return None
            except UnfitError as error:
                numbers.keep([places[k] for k in error.numbers] or places)
        watched.signature = player.signature(args, kwargs, chosen, style)
        return watched if player.expects(watched.signature, watched.recorder.path) else None

    # ------------------------------------------------------------------------------------------------------- the order

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        enter = self._player.enter
        try:
            found = enter(args, kwargs)
        except StrayError:
            found = ()
        except Exception:  # tracing raises it from the user's line
            found = None
        if found:  # counted here, since a call of `count_replayed` takes a twentieth of the time of the entry
            STATS.replayed += 1
            self._counts.replayed += 1
            return found if self.with_value else found[1]
        return self._given(*self._played(args, kwargs, enter, found))

    def _played(self, args: tuple[Any, ...], kwargs: dict[str, Any], tried: Enter, found: Any) -> Traced:
        """`found` is what an entry said that was tried and does not serve this call."""
        options, player = config.options, self._player
        if modes.recorder is not None and options.exact:
            modes.recorder.fail("a gradient inside is computed by other operations, to rounding, where it is replayed")
        if player.refused is not None or self._always_traced(args, kwargs) is not None:
            return self._traced_call(args, kwargs)
        style, barred = style_of(options), False
        if player.entries:
            entry, result = player.play(args, kwargs, style, tried, found)
            if entry is not None:
                return self._checked(entry, result, args, kwargs, options)
            barred = result
        signature = None if barred else player.wants(args, kwargs, self._wanted(args, kwargs), style)
        if signature is None or not player.recording.acquire(blocking=False):
            return self._traced_call(args, kwargs)
        try:
            mark = default_generator.mark()
            # a call that is about to be replayed needs no compiled backward
            traced = self._traced_call(args, kwargs, compiling=False)
            if player.due(signature):
                with kept():
                    self._record(signature, args, kwargs, traced[:2], options, mark)
        finally:
            player.recording.release()
        return traced

    def _checked(
        self, entry: Entry, result: tuple[Any, Any], args: tuple[Any, ...], kwargs: dict[str, Any], options: Options
    ) -> Traced:
        """What a replay gives; what tracing as well if it is time to compare them."""
        entry.plays += 1
        asked = options.check_replay and entry.plays % options.check_replay == 0
        if not entry.checks and not asked:
            count_replayed(self._counts)
            return (*result, None)
        if entry.checks:
            entry.checks -= 1
            self._player.arrange(self._player.entries)
        if entry.draws:
            default_generator.rewind(entry.mark)
        traced = self._traced_call(args, kwargs, compiling=False)
        if not agrees(result, traced[:2]):
            name = getattr(self._function, "__name__", "function")
            self._player.disagreed(
                f"a replay of {name} gave another result than tracing it; please report this as a bug"
            )
            if asked:
                raise ReplayError(self._player.refused)
        return traced

    def _record(
        self, signature: Any, args: tuple[Any, ...], kwargs: dict[str, Any], traced: tuple[Any, Any], options: Options,
        mark: Any,
    ) -> None:  # fmt: skip
        """Run a call that was traced once more, watched, and make it an entry if it can be replayed. `mark` is where
        the stream of random numbers was before it was traced.
        """
        player = self._player
        drew = default_generator.mark() != mark
        if drew:  # the same numbers again, each time
            default_generator.rewind(mark)
        try:
            vouched = options.replay == "always"
            findings = Findings() if vouched else self._proved(args, kwargs, signature[2])
        except RefusedError as reason:
            player.failed(signature, str(reason), True)
            return
        try:
            entry = self._entry(signature, args, kwargs, findings)
            if entry is None:
                return
            if drew:
                default_generator.rewind(mark)
            played = entry.play(args, kwargs)
        except FloatingPointError:
            player.failed(signature, "an operation warned or would have warned, which the user should hear of", False)
            return
        except (RefusedError, CompileError) as reason:
            player.failed(signature, str(reason), isinstance(reason, EffectError))
            return
        except Exception as error:  # the call itself went well
            player.failed(signature, f"recording it raised {type(error).__name__}: {error}", False)
            return
        if not played or not agrees(played, traced):
            player.failed(signature, "the recorded call computes something else than the traced one", True)
            return
        player.add(entry)
