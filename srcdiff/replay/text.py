"""Source text that a clone evaluates: `eval(text)`, `exec(text)`, and code that it compiles itself.

    eval(text, names)     runs as     rec(eval)(prepared(eval, text), names)

`prepared` gives code compiled from the text in which calls are routed as in the clone. The builtin itself evaluates it,
so namespaces, and the frame whose names it reads where none are given, are the builtin's affair. What has no code of
that kind (a text with errors, code from elsewhere) is handed on as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType
from typing import Any
from weakref import ref

from srcdiff.replay.active import active
from srcdiff.replay.original import FUTURE
from srcdiff.replay.rewrite import rewritten_text

_MODES = {eval: "eval", exec: "exec"}
_MOST = 256


class Texts:
    """The rewritten code of texts. `finish` completes compiled code: it puts the recorders in."""

    def __init__(self, finish: Callable[[CodeType], CodeType]) -> None:
        self.finish = finish
        #: (text, mode, flags ...) -> its rewritten code, None if there is none
        self._made: dict[Any, CodeType | None] = {}
        #: id of code that a clone compiled -> it, and how it was compiled; entries go when the code dies
        self._compiled: dict[int, tuple[ref[CodeType], tuple[Any, ...]]] = {}

    def prepared(self, evaluator: Any, text: Any) -> Any:
        """What to evaluate instead of `text`."""
        mode = _MODES.get(evaluator) if evaluator is eval or evaluator is exec else None
        if mode is None or not active.depth:
            return text
        if type(text) is CodeType:
            _, how = self._compiled.get(id(text), (None, None))
            made = None if how is None else self._code(*how)
            return text if made is None else made
        if type(text) is not str:
            return text
        flags = sys._getframe(1).f_code.co_flags & FUTURE
        made = self._code(text.lstrip(" \t") if mode == "eval" else text, "<string>", mode, flags, -1)
        return text if made is None else made

    def compile(
        self, source: Any, filename: Any, mode: Any, flags: int = 0, dont_inherit: bool = False, optimize: int = -1,
        *, _feature_version: int = -1,
    ) -> Any:  # fmt: skip
        """The builtin `compile`, remembering what the code was made of."""
        if not dont_inherit:
            flags |= sys._getframe(1).f_code.co_flags & FUTURE
        code = compile(source, filename, mode, flags, True, optimize, _feature_version=_feature_version)
        if active.depth and type(code) is CodeType and type(source) is str and type(filename) is str:
            key = id(code)

            def forget(_: Any, compiled: dict[int, Any] = self._compiled) -> None:
                compiled.pop(key, None)

            text = source.lstrip(" \t") if mode == "eval" else source
            self._compiled[key] = ref(code, forget), (text, filename, mode, flags, optimize)
        return code

    def _code(self, text: str, filename: str, mode: str, flags: int, optimize: int) -> CodeType | None:
        key = text, filename, mode, flags, optimize
        if key not in self._made:
            if len(self._made) >= _MOST:
                self._made.clear()
            try:
                made: CodeType | None = self.finish(rewritten_text(*key))
            except (SyntaxError, ValueError, RecursionError):
                made = None  # the builtin says what is wrong
            self._made[key] = made
        return self._made[key]
