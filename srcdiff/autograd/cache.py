"""The executables known at the root of a graph, and the counts that `sd.cache_info()` shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from srcdiff.config import config


@dataclass(slots=True)
class Stats:
    """Counts over the whole process."""

    hits: int = 0
    misses: int = 0
    walked: int = 0
    failed: int = 0


STATS = Stats()


def remember(site: Any, key: Any, executable: Any) -> None:
    """Make an executable the first that is tried at this root; the least recently used one goes if there are too many."""
    others = tuple(e for e in site.executables if e is not executable)
    site.executables = (executable, *others)[: config.cache_size]
    site.sightings[key] = executable
