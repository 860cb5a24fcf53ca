"""Whether the thread is tracing. Code of a clone that outlives the trace, or runs in another thread, finds it off."""

from __future__ import annotations

import threading


class Active(threading.local):
    """The traces of clones that are running in this thread, one inside the other."""

    depth: int = 0


active = Active()
