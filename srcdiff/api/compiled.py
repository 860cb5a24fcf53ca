"""`compile`: the function as it is, with its backward generated at once rather than when it repeats."""

from __future__ import annotations

from typing import Any

from srcdiff.api.gradient import Transformed
from srcdiff.api.tree import flatten
from srcdiff.tape.lower import edge_node
from srcdiff.tape.value import TensorBase


class Compiled(Transformed):
    """What `sd.compile` returns. The forward runs on every call, so whatever the function does, it does."""

    def __init__(self, function: Any, argnums: Any = None, argnames: Any = None, has_aux: bool = False) -> None:
        super().__init__(function, argnums, argnames, has_aux)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._counts.traced += 1
        result = self._function(*args, **kwargs)
        for leaf in flatten(result)[0]:
            if isinstance(leaf, TensorBase) and leaf._edge is not None:
                edge_node(leaf._edge).site.compile_now = True
        return result
