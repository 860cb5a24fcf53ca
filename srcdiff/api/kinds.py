"""What is known of calls of one kind, and when one of them is worth recording.

Watching a call costs a few times what tracing it does; making an entry of it ten times that. A path of many branches,
such as a loop that runs until values are small takes, is one of many: after a path that no call came back to, it is
made an entry only if it has been watched before. The more paths were for nothing, or new, the longer the next one
waits, until the kind is given up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

#: entries of one kind of call (paths through the function) before it is given up, and how many of them for nothing
MOST_PATHS = 8
MOST_WASTED = 4
#: branches of a path that is like to come back, whatever the others did
FEW = 8
#: calls that were watched and took a path of their own, before the kind is given up
MOST_NEW = 4


@dataclass(slots=True)
class Kind:
    """What is known of the calls of one signature."""

    #: calls that were traced, and those among them since the last one that was watched
    seen: int = 0
    waiting: int = 0
    #: entries made, and those among them that no call came back to
    recorded: int = 0
    wasted: int = 0
    #: calls that were watched of which no entry was made, and the paths of all
    new: int = 0
    known: set[Any] = field(default_factory=set)
    #: such a call of a step has returned: one that raises does so as an ordinary call
    returned: bool = False

    @property
    def due(self) -> bool:
        """Whether it is time to watch a call."""
        return self.waiting >= max(2, 1 << (self.wasted + max(0, self.new - 1)))

    @property
    def hopeless(self) -> bool:
        """Whether paths do not come back."""
        return self.recorded >= MOST_PATHS or self.wasted >= MOST_WASTED or self.new >= MOST_NEW

    @property
    def paths(self) -> int:
        """The number of calls that were watched."""
        return self.recorded + self.new

    def expects(self, path: Sequence[Any]) -> bool:
        """Whether a path that a watched call took, one part for each branch, is worth an entry."""
        self.waiting = 0
        expected = self.wasted == 0 or len(path) <= FEW or path in self.known
        self.known.add(path)
        self.new += not expected
        return expected
