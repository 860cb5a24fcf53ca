"""Replay: running a call of `grad` or `value_and_grad` as one generated function.

    call -> an entry's guard accepts it and its branches go the same way -> the entry's function
         -> the same kind of call was seen before -> trace it, then record it for the next time (`watching`)
         -> else trace it, as always
The first replays of an entry are checked against tracing; should they ever disagree, the function is traced from then
on.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakSet, ref

from srcdiff.api.kinds import Kind
from srcdiff.api.signature import Numbers, signature_of
from srcdiff.autograd.cache import STATS, Counts
from srcdiff.config import Options, config
from srcdiff.core.program import Program
from srcdiff.random import default_generator
from srcdiff.replay.entry import Enter
from srcdiff.replay.findings import RefusedError
from srcdiff.replay.places import Place
from srcdiff.runtime_arrays import StrayError
from srcdiff.tape.modes import modes

#: calls in a row that take another path than an entry's before it is dropped
MOST_STRAYS = 8
#: recordings of a function that may fail before it is given up
MOST_FAILURES = 4
#: how many replays of an entry are compared with tracing
CHECKS = 1


@dataclass(slots=True, eq=False, weakref_slot=True)
class Entry:
    """One recorded path of one kind of call."""

    signature: Any
    enter: Enter
    outcomes: tuple[bool, ...]
    program: Program
    #: the texts of the step, and of `enter`
    source: str
    enter_source: str
    #: the options it was made under that change what is computed
    style: tuple[Any, ...]
    #: the numbers that are constants in it, by their places
    constants: dict[Place, Any]
    #: random numbers are drawn; where their stream was before they were drawn last
    draws: bool = False
    mark: Any = None
    #: what the recorded call did, if it had effects
    recorded: Any = ()
    checks: int = CHECKS
    #: whether a call was tried, and how many it served
    tried: bool = False
    plays: int = 0
    #: calls since the last replay that the guard accepted, and that took another path; what the count of replays was
    strays: int = 0
    replayed: int = 0

    @property
    def place(self) -> str:
        """Where in the user's code the result is computed."""
        out = next(iter(self.program.outputs), None)
        return "unknown place" if out is None or not out.source.file else f"{out.source.file}:{out.source.line}"

    def path(self) -> Any:
        """What tells the paths of one function apart."""
        return (self.signature, self.outcomes, self.source, self.enter_source)

    def play(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Value and gradients; False if this is another call, `()` if it takes another path. Raises FloatingPointError
        where NumPy would warn or raise while tracing, unless the user has asked it to be silent.
        """
        return self.enter(args, kwargs, True)


def style_of(options: Options) -> tuple[Any, ...]:
    """The options that change what is computed."""
    return (options.exact, options.backend, options.replay, config.current.flushes)


def _unknown(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """What is entered where there is no entry, or the first one is to be checked yet."""


@dataclass(slots=True, eq=False, weakref_slot=True)
class Player:
    """The entries of one function, and why it has none if it has none.

    The second call of a kind is recorded, in the time in which its backward pass would be compiled otherwise. If calls
    of the kind take other paths then, these are recorded too, as `kinds` says.
    """

    counts: Counts
    entries: list[Entry] = field(default_factory=list)
    #: how the first entry is entered
    enter: Enter = _unknown
    refused: str | None = None
    failures: list[str] = field(default_factory=list)
    kinds: dict[Any, Kind] = field(default_factory=dict)
    #: kinds of calls that are not recorded any more, and why
    traced_only: dict[Any, str] = field(default_factory=dict)
    #: which numbers are inputs
    numbers: Numbers = field(default_factory=Numbers)
    #: the calls are training steps, whose arguments may be Tensors
    step: bool = False
    #: held by the thread that records a call
    recording: Any = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        _players.add(self)

    def arrange(self, entries: list[Entry]) -> None:
        """The entries, in the order in which they are tried."""
        self.entries = entries
        self.enter = entries[0].enter if entries and not entries[0].checks else _unknown

    def play(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], style: Any, tried: Enter = _unknown, found: Any = None
    ) -> tuple[Entry | None, Any]:
        """An entry that serves this call, and its result. `(None, True)` if the call must be traced and not
        recorded. If `found` is not None, it is what `tried` gave, which does not serve the call.
        """
        if unreplayable() is not None:
            return None, True
        silenced = False
        for k, entry in enumerate(tuple(self.entries)):
            if entry.style != style:
                continue
            if entry.draws:
                entry.mark = default_generator.mark()
            try:
                result = entry.play(args, kwargs) if entry.enter is not tried or found is None else found
            except StrayError:
                result = ()
            except Exception:  # the traced call will raise it or warn, from the user's own line
                silenced = silenced or not entry.outcomes
                self.strayed(entry)
                continue
            if result:
                if k:
                    self.arrange([entry, *(other for other in self.entries if other is not entry)])
                return entry, result
            if result == ():
                self.strayed(entry)
        return None, silenced

    def strayed(self, entry: Entry) -> None:
        """A call ran an entry, and took another path than the entry's: if many do in a row, the entry goes."""
        if entry.replayed != self.counts.replayed:
            entry.replayed, entry.strays = self.counts.replayed, 0
        entry.strays += 1
        if entry.strays >= MOST_STRAYS:
            self.arrange([other for other in self.entries if other is not entry])

    def wants(self, args: tuple[Any, ...], kwargs: dict[str, Any], chosen: Sequence[Any], style: Any) -> Any:
        """The signature of a call that should be recorded once it has been traced, else None."""
        if unreplayable() is not None or modes.place is not None:
            return None
        try:
            news = self.numbers.notice(args, kwargs)
            signature = self.signature(args, kwargs, chosen, style)
            # a call that differs from others in a number has been seen
            kind = self.kinds.setdefault(signature, Kind(waiting=1) if news else Kind())
        except (RefusedError, TypeError):
            return None
        if len(self.kinds) > 256:
            self.kinds = {signature: kind}
        kind.seen += 1
        kind.waiting += 1
        if signature in self.traced_only or len(self.entries) >= config.cache_size:
            return None
        kind.wasted = kind.recorded - sum(entry.signature == signature and entry.plays > 0 for entry in self.entries)
        if not kind.due:
            return None
        if kind.hopeless:
            if self.numbers.settle(args, kwargs):  # a number that stands for a choice: each has its own entries
                return None
            self.arrange([entry for entry in self.entries if entry.signature != signature or entry.plays])
            self.traced_only[signature] = f"it took {kind.paths} paths through its branches, or values from outside"
            return None
        return signature

    def due(self, signature: Any) -> bool:
        """Whether a call of this kind is still wanted: another thread may have recorded one."""
        kind = self.kinds.get(signature)
        return kind is not None and kind.due

    def expects(self, signature: Any, path: Sequence[Any]) -> bool:
        """Whether a path that a watched call of this kind took is worth an entry."""
        return self.kinds.setdefault(signature, Kind()).expects(path)

    def kind(self, args: tuple[Any, ...], kwargs: dict[str, Any], chosen: Sequence[Any], style: Any) -> Kind | None:
        """What is known of calls like this one; None if nothing is."""
        try:
            return self.kinds.get(self.signature(args, kwargs, chosen, style))
        except (RefusedError, TypeError):
            return None

    def signature(self, args: Sequence[Any], kwargs: dict[str, Any], chosen: Sequence[Any], style: Any) -> Any:
        """What calls like this one have in common. Raises RefusedError for arguments that cannot be guarded."""
        return signature_of(args, kwargs, chosen, style, self.step, self.numbers.inputs)

    def add(self, entry: Entry) -> None:
        """Remember an entry, and count it with the reason why there was none, unless it is known: a path that is
        recorded again did not run as recorded.
        """
        reason = "a call like this one was seen for the second time"
        if self.entries:
            reason += f"; it has other shapes, dtypes or values than the {len(self.entries)} recorded before"
        for known in self.entries:
            if known.path() == entry.path() and not known.plays:
                if known.tried:  # else another thread has recorded the same just now
                    self.traced_only[entry.signature] = "it warned, or took another path, whenever it was replayed"
                return
            if known.signature == entry.signature:
                reason = "another path through its branches, or other values read from outside"
        kind = self.kinds.setdefault(entry.signature, Kind())
        kind.waiting, kind.recorded = 0, kind.recorded + 1
        entry.replayed = self.counts.replayed
        self.arrange([entry, *self.entries])
        for counts in (STATS, self.counts):
            counts.miss(entry, f"{entry.place}: {reason}")

    def clear(self) -> None:
        """Forget all calls."""
        self.arrange([])
        self.refused, self.failures, self.kinds, self.traced_only, self.numbers = None, [], {}, {}, Numbers()

    def failed(self, signature: Any, reason: str, forever: bool) -> None:
        """A call could not be recorded. Calls like it are traced; after several, or if it is `forever`, all calls,
        unless some are replayed already.
        """
        self.traced_only[signature] = reason
        self.failures.append(reason)
        if not self.entries and (forever or len(self.failures) >= MOST_FAILURES):
            self.refused = reason

    def disagreed(self, reason: str) -> None:
        """A replay and its trace gave different results: never replay this function again."""
        self.arrange([])
        self.refused = reason


class Players:
    """The players of a method, by instance; they go with it."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[ref[Any], type, Player]] = {}

    def of(self, instance: Any, new: Player) -> Player:
        """The player of an instance: `new` if it has none, or cannot be referred to weakly."""
        key, known = id(instance), self._known
        found = known.get(key)
        if found is not None and found[0]() is instance and found[1] is type(instance):
            return found[2]
        try:
            known[key] = (ref(instance, lambda _: known.pop(key, None)), type(instance), new)
        except TypeError:
            new.refused = "methods of objects that cannot be referred to weakly are traced on every call"
        return new


#: of all functions
_players: WeakSet[Player] = WeakSet()


def forget_entries() -> None:
    """Have every function forget the calls it can replay."""
    for player in list(_players):
        player.clear()


def unreplayable() -> str | None:
    """Why no call can be replayed as things are now, whatever the function; None if calls can."""
    if modes.recording == 3:
        return "it is called by a function that is being recorded"
    if modes.anomaly or modes.pack_hooks or modes.inference or modes.dual is not None or modes.forward:
        return "anomaly mode, hooks on saved tensors, inference mode and forward derivatives need every operation"
    if sys.gettrace() is not None or (_monitoring is not None and any(map(_monitoring.get_tool, (0, 1)))):
        return "a debugger or a tracer is watching"
    return None


_monitoring: Any = getattr(sys, "monitoring", None)
