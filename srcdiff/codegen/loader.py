"""Makes functions of generated text.

Guarantees: the function's globals are exactly the namespace given; its text is in `linecache` as long as the function
lives, under a file name of its own, so tracebacks and pdb show its lines and `inspect.getsource` finds it; the same
text loaded again under the same name shares the code object.
"""

from __future__ import annotations

import linecache
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from itertools import count
from types import CodeType
from typing import Any

KEPT = 256  # texts whose code is kept for the next load, least recently used dropped first


class _Text:
    """One compiled text: its code, and its entry in `linecache` while any of its functions is alive."""

    __slots__ = ("alive", "code", "entry", "filename")

    def __init__(self, source: str, filename: str) -> None:
        self.filename = filename
        self.code: CodeType = compile(source, filename, "exec", dont_inherit=True)
        # Without a modification time `linecache.checkcache` leaves the entry alone.
        self.entry = (len(source), None, source.splitlines(keepends=True), filename)
        self.alive = 0


class _Texts:
    """The bounded cache of compiled texts. Its lock is reentrant: the garbage collector may call `release` anywhere."""

    def __init__(self) -> None:
        self._texts: OrderedDict[tuple[str, str, str], _Text] = OrderedDict()
        self._numbers = count(1)
        self._lock = threading.RLock()

    def hold(self, source: str, name: str, filename_hint: str) -> _Text:
        """The compiled text, shown by `linecache` until it has been released as often as it was held."""
        key = (source, name, filename_hint)
        with self._lock:
            text = self._texts.get(key)
            if text is None:
                text = _Text(source, f"<srcdiff {filename_hint}#{next(self._numbers)}>")
                self._texts[key] = text
                if len(self._texts) > KEPT:
                    self._texts.popitem(last=False)
            else:
                self._texts.move_to_end(key)
            text.alive += 1
            linecache.cache[text.filename] = text.entry
        return text

    def release(self, text: _Text) -> None:
        with self._lock:
            text.alive -= 1
            if not text.alive:
                linecache.cache.pop(text.filename, None)


_texts = _Texts()


def load(source: str, name: str, filename_hint: str, namespace: dict[str, Any]) -> Callable[..., Any]:
    """The function `name` that `source` defines, with `namespace` as its globals.

    The name itself is taken out of the namespace again, so that the two do not keep each other alive. `filename_hint`
    says in tracebacks what the text is: `File "<srcdiff loss_backward#3>", line 9`.
    """
    text = _texts.hold(source, name, filename_hint)
    try:
        exec(text.code, namespace)
        function: Callable[..., Any] = namespace.pop(name)
    except BaseException:
        _texts.release(text)
        raise
    weakref.finalize(function, _texts.release, text).atexit = False
    return function
