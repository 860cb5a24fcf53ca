"""The executables known at the root of a graph, and the counts that `cache_info()` shows."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any
from weakref import ReferenceType, WeakSet, ref

from srcdiff.config import config


@dataclass(slots=True)
class Counts:
    """What happened to backward passes: of one function or the whole process. `reasons` is about the last misses."""

    hits: int = 0
    misses: int = 0
    walked: int = 0
    traced: int = 0
    replayed: int = 0
    reasons: deque[str] = field(default_factory=lambda: deque(maxlen=32))
    executables: WeakSet[Any] = field(default_factory=WeakSet)
    #: id of the pass that was found last, which is in the set already
    latest: int = 0

    def hit(self, executable: Any) -> None:
        """A compiled pass was found."""
        self.hits += 1
        if id(executable) != self.latest:
            self.latest = id(executable)
            self.executables.add(executable)

    def miss(self, executable: Any, reason: str) -> None:
        """A pass was compiled."""
        self.misses += 1
        self.reasons.append(reason)
        self.executables.add(executable)

    def clear(self) -> None:
        """Start counting anew."""
        self.hits = self.misses = self.walked = self.traced = self.replayed = 0
        self.reasons.clear()
        self.executables.clear()
        self.latest = 0


#: of the whole process
STATS = Counts()


def count_traced(counts: Counts) -> None:
    """A call of a function ran as written."""
    STATS.traced += 1
    counts.traced += 1


def count_replayed(counts: Counts) -> None:
    """A call of a function ran generated code."""
    STATS.replayed += 1
    counts.replayed += 1


#: id of a site that has executables -> the site
_sites: dict[int, ReferenceType[Any]] = {}


def remember(site: Any, key: Any, executable: Any, kind: str = "executables") -> None:
    """Make an executable the first to be tried at this root; the least recently used goes if there are too many.

    `kind` is where the site keeps it: with the backward passes, or with the `tangents`.
    """
    others = tuple(e for e in getattr(site, kind) if e is not executable)
    kept = (executable, *others)
    if len(kept) > config.cache_size:
        gone = set(map(id, kept[config.cache_size :]))
        site.sightings = {k: e for k, e in site.sightings.items() if id(e) not in gone}
    setattr(site, kind, kept[: config.cache_size])
    site.sightings[key] = executable
    if id(site) not in _sites:
        number = id(site)
        _sites[number] = ref(site, lambda _: _sites.pop(number, None))


def forget_all() -> None:
    """Drop every compiled graph of the process."""
    for site in _known_sites():
        site.executables = site.tangents = ()
        site.sightings = {}
    _sites.clear()


def forget(executable: Any) -> None:
    """Drop one compiled graph."""
    for site in _known_sites():
        if any(e is executable for e in (*site.executables, *site.tangents)):
            site.executables = tuple(e for e in site.executables if e is not executable)
            site.tangents = tuple(e for e in site.tangents if e is not executable)
            site.sightings = {key: e for key, e in site.sightings.items() if e is not executable}


def _known_sites() -> list[Any]:
    return [site for site in (r() for r in list(_sites.values())) if site is not None]
